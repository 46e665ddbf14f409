"""Fixtures of the sample's tests: a tiny shape to make often, and the default sample in a folder that goes away."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from streamworthy.sample.make import ensure_sample
from streamworthy.sample.spec import DEFAULT_SIZE_BYTES, spec_for_size


@pytest.fixture(scope="session")
def tiny():
    """Give a shape of 20 MB, small enough to be made often, that is otherwise like the real ones."""
    return replace(spec_for_size(200 * 10**6), n_layer=4, n_ff=64)


@pytest.fixture(scope="session")
def default_sample():
    """Make the default sample once, and remove it: 225 MB are too much to keep among pytest's last three runs."""
    with tempfile.TemporaryDirectory() as folder:
        yield ensure_sample(Path(folder), spec_for_size(DEFAULT_SIZE_BYTES))


@pytest.fixture(scope="session")
def engine():
    """Give a function that runs a script in a child with the engine and returns the JSON that it prints."""
    if importlib.util.find_spec("llama_cpp") is None:
        pytest.skip("llama_cpp is not installed")

    def run(script, *arguments):
        command = [sys.executable, "-c", script, *map(str, arguments)]
        child = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert child.returncode == 0, child.stderr[-2000:]
        return json.loads(child.stdout)

    return run

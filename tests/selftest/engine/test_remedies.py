"""How to get an engine that works."""

from __future__ import annotations

import pytest

from streamworthy.engine.remedies import INSTALL, REBUILD, import_fix

LOADING = "RuntimeError: Failed to load shared library '/x/llama_cpp/lib/libllama.so': "
LACKING = ": cannot open shared object file: No such file or directory"


@pytest.mark.parametrize(
    ("told", "fix"),
    [
        ("ModuleNotFoundError: No module named 'llama_cpp'", INSTALL),
        ("ModuleNotFoundError: No module named 'numpy'", INSTALL),
        ("FileNotFoundError: Shared library with base name 'llama' not found", REBUILD),
        (f"{LOADING}libggml-base.so.0{LACKING}", REBUILD),
        (f"{LOADING}/x/libllama.so: file too short", REBUILD),
        (
            f"{LOADING}/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by libllama.so)",
            REBUILD,
        ),
        (f"{LOADING}/x/libllama.so: wrong ELF class: ELFCLASS32", REBUILD),
        (f"{LOADING}/x/libllama.so: undefined symbol: ggml_commit", REBUILD),
        (f"{LOADING}libcudart.so.12{LACKING}", f"{REBUILD}    # for the CPU: what is installed was built for a GPU"),
        (f"{LOADING}libamdhip64.so.6{LACKING}", f"{REBUILD}    # for the CPU"),
        (f"{LOADING}libgomp.so.1{LACKING}", "sudo apt install libgomp1"),
        (f"{LOADING}libstdc++.so.6{LACKING}", "install the package that holds libstdc++.so.6"),
    ],
)
def test_each_import_that_fails_has_its_remedy(told, fix):
    """What is installed is not installed again, and what the system lacks is named."""
    assert import_fix(told).startswith(fix)

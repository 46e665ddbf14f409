"""How to get an engine, or another build of it, into the Python that runs this suite.

A bare ``pip`` is another Python's where no environment is activated, and Debian 12 refuses it (PEP 668).
"""

from __future__ import annotations

import re
import shlex
import sys

_PIP = f"{shlex.quote(sys.executable)} -m pip install"
_ENGINE = "'llama-cpp-python>=0.3.36'"
INSTALL = f"{_PIP} {_ENGINE}"
UPGRADE = f"{_PIP} --upgrade {_ENGINE}"
REBUILD = f"{_PIP} --force-reinstall --no-cache-dir --no-binary llama-cpp-python {_ENGINE}"

_LACKING = re.compile(r"(lib[\w+.-]+\.so[\d.]*): cannot open shared object file")
_OF_GPUS = re.compile(r"lib(cuda|cublas|nv|amdhip|hip|hsa|roc|vulkan|sycl|ze_|OpenCL|musa)", re.IGNORECASE)
_OWN = ("libllama", "libggml", "libmtmd")


def import_fix(told: str) -> str:
    """Give the remedy for an engine that cannot be imported, by what Python or the dynamic linker said."""
    if "No module named" in told:
        return INSTALL
    lacking = _LACKING.search(told)
    if lacking is None or lacking[1].startswith(_OWN):  # cut short, half removed, for another system or C library
        return REBUILD
    if _OF_GPUS.match(lacking[1]):
        return f"{REBUILD}    # for the CPU: what is installed was built for a GPU, and lacks {lacking[1]}"
    if lacking[1].startswith("libgomp"):
        return "sudo apt install libgomp1    # or your distribution's package of libgomp"
    return f"install the package that holds {lacking[1]}: apt-file search {lacking[1]}\nor {REBUILD}"

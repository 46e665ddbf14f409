"""How to get an engine, or another build of it, into the Python that runs this suite.

A bare ``pip`` is another Python's where no environment is activated, and Debian 12 refuses it (PEP 668).
"""

from __future__ import annotations

import shlex
import sys

_PIP = f"{shlex.quote(sys.executable)} -m pip install"
_ENGINE = "'llama-cpp-python>=0.3.36'"
INSTALL = f"{_PIP} {_ENGINE}"
UPGRADE = f"{_PIP} --upgrade {_ENGINE}"
REBUILD = f"{_PIP} --force-reinstall --no-cache-dir --no-binary llama-cpp-python {_ENGINE}"

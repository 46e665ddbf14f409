"""Which build of the engine this machine needs, and where such a build is kept.

A native build uses the instructions of the CPU it was made on and is valid only there. A portable build holds one CPU
backend for each generation of CPUs; the engine picks one when it starts (llama.cpp, GGML_CPU_ALL_VARIANTS).
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.messages import Stop

ROOT = Path(__file__).resolve().parent.parent
# the vision library is not used here
_COMMON = ("-DLLAVA_BUILD=OFF",)
_NATIVE = ("-DGGML_NATIVE=ON",)
_PORTABLE = (
    "-DGGML_NATIVE=OFF",
    "-DGGML_BACKEND_DL=ON",
    "-DGGML_CPU_ALL_VARIANTS=ON",
    "-DGGML_OPENMP=OFF",  # libgomp comes with a compiler; a lab host has none
    "-DCMAKE_INSTALL_BINDIR=llama_cpp/lib",  # the variants beside libllama, not in site-packages/bin
    "-DCMAKE_INSTALL_LIBDIR=llama_cpp/lib",
)
# flags that say which instructions exist; the others change with the kernel and would cost a rebuild for nothing
_X86_INSTRUCTIONS = re.compile(
    r"(3dnow|abm|adx|aes|amx|avx|bmi|cl(flush|wb|zero)|cx16|f16c|fma|fsgsbase|gfni|lahf|mmx|movbe|pclmul|pni|popcnt|rdrand|"
    r"rdseed|sha|sse|ssse|vaes|vpclmul|xsave)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One way to build the engine. ``cpu`` is a hash of what it is built for, or ``any``."""

    kind: str  # "native", "portable", or "custom": the user's own CMAKE_ARGS are in force
    requirement: str
    cmake_args: tuple[str, ...]
    cpu: str

    @property
    def key(self) -> str:
        """Name what may share a build: the same CPU, flags, engine version and C library."""
        parts = (self.requirement, *self.cmake_args, self.cpu, libc())
        return f"{platform.machine()}-{self.kind}-{digest(*parts)}"


def digest(*parts: str) -> str:
    """Hash texts into 12 hex digits."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def libc() -> str:
    """Name the C library, e.g. ``glibc 2.36``; empty where it does not tell."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        return ""


def parse_instructions(cpuinfo: str, machine: str) -> str:
    """Take the instruction flags of the first CPU from /proc/cpuinfo (x86 ``flags``, Arm ``Features``)."""
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", cpuinfo, re.MULTILINE)
    flags = found.group(1).split() if found else []
    if machine == "x86_64":
        flags = [flag for flag in flags if _X86_INSTRUCTIONS.match(flag)]
    return " ".join(sorted(flags))


def cpu_mark() -> str:
    """Hash what a native build is bound to: architecture and instruction flags."""
    try:
        cpuinfo = Path("/proc/cpuinfo").read_text()
    except OSError:
        cpuinfo = ""
    return digest(platform.machine(), parse_instructions(cpuinfo, platform.machine()) or platform.processor())


def optional(extra: str) -> list[str]:
    """Read the requirements of an extra from pyproject.toml."""
    requirements: list[str] = read_pyproject()["project"]["optional-dependencies"][extra]
    return requirements


def read_pyproject() -> dict[str, Any]:
    """Read pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def native_recipe() -> Recipe:
    """Give the build for this very CPU; CMAKE_ARGS of the environment are added and named."""
    own = tuple(shlex.split(os.environ.get("CMAKE_ARGS", "")))
    return Recipe(
        kind="custom" if own else "native",
        requirement=optional("engine")[0],
        cmake_args=(*_COMMON, *_NATIVE, *own),
        cpu=cpu_mark(),
    )


def portable_recipe() -> Recipe:
    """Give the build that chooses its instructions when it starts."""
    return Recipe(kind="portable", requirement=optional("engine")[0], cmake_args=(*_COMMON, *_PORTABLE), cpu="any")


def cache_folder() -> Path:
    """Give the folder that keeps engine builds, outside the tree, so that `make clean` does not lose one."""
    candidates = [ROOT / "build"]
    if home := os.environ.get("HOME"):
        candidates.insert(0, Path(home) / ".cache" / "streamworthy")
    if cache := os.environ.get("XDG_CACHE_HOME"):
        candidates.insert(0, Path(cache) / "streamworthy")
    for folder in (candidate / "wheels" for candidate in candidates):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    raise Stop(
        f"no folder can be written for engine builds: {', '.join(map(str, candidates))}",
        fix="export XDG_CACHE_HOME=/a/folder/you/can/write",
    )

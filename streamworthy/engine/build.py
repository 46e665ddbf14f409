"""Which engine is installed, and for which CPUs it was built: numbers of different builds are not compared.

``make`` writes ``streamworthy-build.toml`` into the engine's package: ``flags = "native"`` or ``"portable"``, the
arguments for CMake and the compiler.
Without it, several CPU libraries (GGML_CPU_ALL_VARIANTS) prove a portable build, and anything else is unknown.
"""

from __future__ import annotations

import importlib.util
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from streamworthy.facts.episode import EngineBuild

MARKER = "streamworthy-build.toml"
_NAME = "llama-cpp-python"


def probe_build() -> EngineBuild | None:
    """Say which engine is installed, without importing it; None when there is none."""
    try:
        found = version(_NAME)
    except PackageNotFoundError:
        return None
    return engine_build(version=found, commit="", features="")


def engine_build(*, version: str, commit: str, features: str, folder: Path | None = None) -> EngineBuild:
    """Complete what the engine says of itself by how it was built; ``folder`` is its package, if it is another one."""
    folder = folder or engine_folder()
    marker = read_marker(folder)
    return EngineBuild(
        name=_NAME,
        version=version,
        commit=commit,
        flags=read_flags(folder),
        cmake_args=str(marker.get("cmake_args", "")),
        compiler=str(marker.get("compiler", "")),
        features=features,
    )


def engine_folder() -> Path | None:
    """Where the engine's package is; None when it is not installed."""
    spec = importlib.util.find_spec("llama_cpp")
    return Path(spec.origin).parent if spec and spec.origin else None


def read_marker(folder: Path | None) -> dict[str, object]:
    """Read what the build left in or beside a package folder; empty where it left nothing readable."""
    for marker in (folder / MARKER, folder.parent / MARKER) if folder is not None else ():
        try:
            return tomllib.loads(marker.read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError):
            continue
    return {}


def read_flags(folder: Path | None) -> str:
    """Give "native", "portable" or "unknown" for a package folder."""
    flags = read_marker(folder).get("flags")
    if flags is not None or folder is None:
        return str(flags or "unknown")
    return "portable" if len(list(folder.glob("lib/libggml-cpu-*.so"))) > 1 else "unknown"

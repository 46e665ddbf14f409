"""Which engine is installed, and for which CPUs it was built: numbers of different builds are not compared.

``make`` writes ``streamworthy-build.toml`` beside the engine's package with ``flags = "native"`` or ``"portable"``.
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


def engine_build(*, version: str, commit: str, features: str) -> EngineBuild:
    """Complete what the engine says of itself by how it was built."""
    return EngineBuild(name=_NAME, version=version, commit=commit, flags=read_flags(engine_folder()), features=features)


def engine_folder() -> Path | None:
    """Where the engine's package is; None when it is not installed."""
    spec = importlib.util.find_spec("llama_cpp")
    return Path(spec.origin).parent if spec and spec.origin else None


def read_flags(folder: Path | None) -> str:
    """Give "native", "portable" or "unknown" for a package folder."""
    if folder is None:
        return "unknown"
    for marker in (folder / MARKER, folder.parent / MARKER):
        try:
            return str(tomllib.loads(marker.read_text(encoding="utf-8"))["flags"])
        except (OSError, tomllib.TOMLDecodeError, KeyError):
            continue
    return "portable" if len(list(folder.glob("lib/libggml-cpu-*.so"))) > 1 else "unknown"

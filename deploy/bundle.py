"""Packs the tree, every package and a portable engine into one archive for hosts without compiler or internet.

The archive is tried before it is handed out: unpacked in a clean folder, installed with the index switched off, and a
real model is loaded from it. Run as ``python -m deploy.bundle`` from the tree's root.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from deploy.child import pip_environment, run_in_background
from deploy.engine_wheel import obtain_wheel
from deploy.environment import BUNDLE, PYTHON, WHEELHOUSE
from deploy.messages import Stop, say, say_stop
from deploy.recipe import ROOT, libc, optional, portable_recipe, read_pyproject

_NO_INDEX = {"PIP_NO_INDEX": "1", "PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_CONFIG_FILE": os.devnull}


def main() -> int:
    """Make dist/streamworthy-VERSION-linux-ARCH.tar.gz and its .sha256."""
    dist = ROOT / "dist"
    dist.mkdir(exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix="bundling-", dir=dist) as scratch:
            tree = Path(scratch) / f"streamworthy-{_version()}-linux-{platform.machine()}"
            _copy_tree(tree)
            _fill_wheelhouse(tree / WHEELHOUSE.name)
            archive = _pack(tree, Path(scratch))
            _try(archive)
            final = archive.rename(dist / archive.name)
    except Stop as stop:
        say_stop(stop)
        return 1
    digest = hashlib.sha256(final.read_bytes()).hexdigest()
    (dist / f"{final.name}.sha256").write_text(f"{digest}  {final.name}\n")
    size = f"{final.stat().st_size / 2**20:.0f} MiB"
    say(f"{final.relative_to(ROOT)}: {size}, for Python {_python_version()}")
    say(f"on the lab host: tar xf {final.name} && cd {tree.name} && sh install.sh")
    return 0


def _version() -> str:
    from streamworthy import __version__

    return __version__


def _python_version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _copy_tree(tree: Path) -> None:
    """Copy the files that git tracks, as they are in the folder now."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        raise Stop(
            "a bundle holds the files that git tracks, and this folder is no git clone", fix="git clone, then again"
        )
    for name in filter(None, listed.stdout.decode().split("\0")):
        target = tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target, follow_symlinks=False)
    shutil.copy2(ROOT / "deploy" / "install.sh", tree / "install.sh")


def _fill_wheelhouse(wheelhouse: Path) -> None:
    wheel = obtain_wheel(portable_recipe(), PYTHON)
    project = read_pyproject()
    requirements = [*project["build-system"]["requires"], *project["project"]["dependencies"], *optional("test")]
    say("collecting packages")
    log = ROOT / "dist" / "bundle.log"
    for wanted in ([*requirements, str(wheel)], ["--no-deps", *optional("models")]):
        command = [str(PYTHON), "-m", "pip", "wheel", "--wheel-dir", str(wheelhouse), *wanted]
        if run_in_background(command, pip_environment(str(wheelhouse.parent.parent)), log):
            fix = "check the network or the package index, then again"
            raise Stop(f"packages could not be collected; log: {log}", fix=fix)
    log.unlink()
    (wheelhouse / BUNDLE.name).write_text(f"{_python_version()}\n")
    (wheelhouse / "libc").write_text(f"{needed_libc(wheel)}\n")


def needed_libc(wheel: Path) -> str:
    """Find the newest symbol version of glibc that a wheel's libraries ask for, e.g. ``glibc 2.34``."""
    with zipfile.ZipFile(wheel) as archive:
        libraries = [archive.read(name) for name in archive.namelist() if ".so" in name]
    asked = {match for library in libraries for match in re.findall(rb"\0GLIBC_(\d+)\.(\d+)", library)}
    return "glibc {}.{}".format(*max((int(major), int(minor)) for major, minor in asked)) if asked else libc()


def _pack(tree: Path, folder: Path) -> Path:
    archive = folder / f"{tree.name}.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=1) as packed:  # wheels are compressed already
        packed.add(tree, arcname=tree.name, filter=_nobody)
    return archive


def _nobody(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry


def _try(archive: Path) -> None:
    say("trying the bundle in a clean folder with the index switched off")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")} | _NO_INDEX
    with tempfile.TemporaryDirectory(prefix="streamworthy bundle ") as clean:
        subprocess.run(["tar", "xf", archive], cwd=clean, check=True)
        tree = next(Path(clean).iterdir())
        scratch = str(Path(clean) / "scratch")
        answer = ["pytest", "-m", "qualify", "-k", "test_answer", "--depth", "quick", "--disturb", "--scratch", scratch]
        for command in (
            ["sh", "install.sh"],
            [".venv/bin/python", "-m", *answer],
            [".venv/bin/python", "-m", "deploy.trial"],
        ):
            done = subprocess.run(
                command,
                cwd=tree,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                for line in (done.stdout + done.stderr).strip().splitlines()[-30:]:
                    say(f"  {line}")
                raise Stop(f"the bundle does not work: {' '.join(command)}", fix="end the cause above, then again")
            say(f"  {done.stdout.strip().splitlines()[-1]}")


if __name__ == "__main__":
    sys.exit(main())

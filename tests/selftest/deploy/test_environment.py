"""The stamp of .venv: when nothing has to be done, and when something has. Run on a copy of the tree's set-up."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.environment import require_libc
from deploy.messages import Stop

ROOT = Path(__file__).parents[3]
NOT_CURRENT = 3


@pytest.fixture
def tree(tmp_path):
    """Copy what the set-up reads into a folder with a space in its name."""
    copy = tmp_path / "a tree"
    shutil.copytree(ROOT / "deploy", copy / "deploy", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


def _ask(tree, code, **variables):
    done = subprocess.run(
        [sys.executable, "-E", "-S", "-c", code],
        cwd=tree,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def _stamp(tree, **changed):
    inputs = _ask(tree, "import deploy.environment as e; print(e._inputs(), end='')")
    toolchain = _ask(tree, "import deploy.toolchain as t; print(t.mark_toolchain(), end='')")
    stamp = {
        "root": str(tree),
        "inputs": inputs,
        "extras": ["test"],
        "toolchain": toolchain,
        "engine": "k",
        "trouble": [],
    }
    path = tree / ".venv" / "share" / "streamworthy" / "environment.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(stamp | changed))


def _check(tree, *extras, **variables):
    command = [sys.executable, "-E", "-S", "-m", "deploy.environment", "--check", *extras]
    return subprocess.run(command, cwd=tree, env=os.environ | variables, capture_output=True, text=True, check=False)


def test_current(tree):
    """A stamp that fits says nothing and asks for nothing."""
    _stamp(tree)
    done = _check(tree, "test")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_no_stamp(tree):
    """An interrupted set-up left no stamp: it is done again."""
    assert _check(tree).returncode == NOT_CURRENT


def test_broken_stamp(tree):
    """A stamp cut short counts as none."""
    _stamp(tree)
    path = tree / ".venv" / "share" / "streamworthy" / "environment.json"
    path.write_text(path.read_text()[:20])
    assert _check(tree).returncode == NOT_CURRENT


def test_pyproject_changed(tree):
    """Another pyproject.toml is installed."""
    _stamp(tree)
    with (tree / "pyproject.toml").open("a") as file:
        file.write("\n# changed\n")
    assert _check(tree).returncode == NOT_CURRENT


def test_extra_missing(tree):
    """The environment of `make qualify` is completed for `make test`."""
    _stamp(tree, extras=[])
    assert (_check(tree).returncode, _check(tree, "test").returncode) == (0, NOT_CURRENT)


def test_moved_folder(tree, tmp_path):
    """A folder that was moved is set up again: scripts in .venv hold its path."""
    _stamp(tree)
    moved = tree.rename(tmp_path / "moved")
    assert _check(moved).returncode == NOT_CURRENT


def test_missing_engine_is_said_each_time(tree):
    """Without an engine every run says so, why, and what to do, and goes on."""
    _stamp(tree, engine="", trouble=["no C++ compiler: ...", "apt-get install g++"])
    done = _check(tree)
    assert done.returncode == 0
    assert "THE ENGINE IS NOT INSTALLED" in done.stdout
    assert "fix: apt-get install g++" in done.stdout


def test_new_compiler_tries_again(tree, tmp_path):
    """Once a compiler is there, the engine that could not be built is built."""
    _stamp(tree, engine="", trouble=["no C++ compiler: ...", "apt-get install g++"])
    compiler = tmp_path / "c++"
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    assert _check(tree, CXX=str(compiler)).returncode == NOT_CURRENT


@pytest.mark.parametrize(
    ("here", "fits"),
    [
        ("glibc 2.36", True),
        ("glibc 2.41", True),
        ("glibc 2.35", False),
        ("glibc 2.4", False),
        ("musl 2.36", False),
        ("", False),
    ],
)
def test_bundle_needs_its_c_library(here, fits):
    """A bundle's engine runs with the C library it was built with or a newer one; others are told so."""
    if fits:
        require_libc("glibc 2.36", here)
    else:
        with pytest.raises(Stop, match=r"needs glibc 2\.36 or newer"):
            require_libc("glibc 2.36", here)

"""The question for a compiler, asked with real search paths."""

from __future__ import annotations

import shutil

import pytest

from deploy import toolchain
from deploy.messages import Stop


@pytest.fixture
def only(monkeypatch, tmp_path):
    """Make PATH hold just the given scripts."""
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    def place(**scripts):
        for name, body in scripts.items():
            path = tmp_path / name.replace("_plus", "++")
            path.write_text(f"#!/bin/sh\n{body}\n")
            path.chmod(0o755)

    return place


def test_no_compiler_stops_with_the_install_line(only):
    """Without a compiler the message is one line and the fix fits the machine's package manager."""
    only(dnf="exit 0")
    with pytest.raises(Stop, match=r"^no C\+\+ compiler: .*looked for c\+\+, g\+\+, clang\+\+") as caught:
        toolchain.require_toolchain()
    assert caught.value.fix.removeprefix("sudo ") == "dnf install gcc-c++"


def test_no_package_manager(only):
    """Where no known package manager is found the fix is still a sentence."""
    only()
    assert toolchain.install_line() == "install a C++ compiler (g++ or clang++)"


def test_asked_compiler_must_exist(only, monkeypatch):
    """CXX is taken at its word: another compiler is not used in its place."""
    only(c_plus="exit 0", cc="exit 0")
    monkeypatch.setenv("CXX", "/no/such/compiler")
    with pytest.raises(Stop, match=r"CXX=/no/such/compiler, which is not there"):
        toolchain.require_toolchain()


def test_compiler_that_builds_nothing(only):
    """A compiler without headers is found and refused, with its own first error."""
    only(c_plus="echo 'trial.cpp:1:10: fatal error: filesystem: No such file' >&2; exit 1", cc="exit 0")
    with pytest.raises(Stop, match=r"does not build a two-line program: trial\.cpp:1:10: fatal error: filesystem"):
        toolchain.require_toolchain()


def test_mark_changes_when_a_compiler_comes(only):
    """A later run sees that a compiler was installed."""
    only()
    before = toolchain.mark_toolchain()
    only(c_plus="exit 0")
    assert (before, toolchain.mark_toolchain() == before) == ("none none", False)


@pytest.mark.skipif(not shutil.which("c++"), reason="needs a C++ compiler")
def test_real_compiler_works():
    """The compiler of this machine compiles and links the trial, and tells its version."""
    assert toolchain.require_toolchain().version

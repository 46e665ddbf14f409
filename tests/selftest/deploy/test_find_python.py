"""Which Python holds the suite, tried with search paths of small stand-ins that answer as a Python would."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

DEPLOY = Path(__file__).parents[3] / "deploy"


@pytest.fixture
def find(tmp_path):
    """Place stand-ins (name: answer, None for one that crashes) and run the search."""
    tree, path = tmp_path / "a tree", tmp_path / "bin"
    (tree / "deploy").mkdir(parents=True)
    path.mkdir()
    shutil.copy(DEPLOY / "find_python.sh", tree / "deploy")
    for tool in ("cat", "dirname", "id", "sh"):
        (path / tool).symlink_to(shutil.which(tool))

    def run(pythons, bundle="", **variables):
        for name, answer in pythons.items():
            script = path / name
            script.write_text("#!/bin/sh\nexit 1\n" if answer is None else f"#!/bin/sh\necho '{answer}'\n")
            script.chmod(0o755)
        if bundle:
            (tree / "wheelhouse").mkdir()
            (tree / "wheelhouse" / "python").write_text(bundle)
        environment = {"PATH": str(path), **variables}
        command = ["sh", "deploy/find_python.sh"]
        done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, Path(done.stdout.strip()).name, done.stderr

    return run


def test_newest_wins(find):
    """Of several the newest that can make a venv is taken."""
    assert find({"python3.11": "3.11 cpython True", "python3.13": "3.13 cpython True"})[:2] == (0, "python3.13")


def test_one_without_ensurepip_is_passed_over(find):
    """A newer Python that cannot make a venv does not stop an older one that can."""
    assert find({"python3.11": "3.11 cpython True", "python3.13": "3.13 cpython False"})[:2] == (0, "python3.11")


def test_shim_that_crashes_is_passed_over(find):
    """A version manager's shim for a version that is not chosen only exits with an error."""
    assert find({"python3.13": None, "python3": "3.12 cpython True"})[:2] == (0, "python3")


def test_debian_without_venv(find):
    """Debian's python3 without python3-venv gets the line that installs it."""
    code, found, said = find({"python3": "3.11 cpython False"})
    assert (code, found) == (1, "")
    assert "cannot make a venv" in said
    assert "apt-get install python3.11-venv" in said


@pytest.mark.parametrize("answer", ["3.10 cpython True", "3.11 pypy True"])
def test_too_old_or_another_python(find, answer):
    """An older Python or another implementation is not taken, and what was looked for is said."""
    code, _, said = find({"python3": answer})
    assert code == 1
    assert "no Python of these versions found: 3.14 3.13 3.12 3.11" in said


def test_asked_for(find, tmp_path):
    """PYTHON=... is taken although a newer one is there, and nothing else when it is not there."""
    asked = {"python3.11": "3.11 cpython True", "python3.13": "3.13 cpython True"}
    assert find(asked, PYTHON=str(tmp_path / "bin" / "python3.11"))[:2] == (0, "python3.11")
    assert find(asked, PYTHON="/no/python")[0] == 1


def test_bundle_needs_its_own_version(find):
    """A bundle's packages are for one version: a newer Python is not taken."""
    pythons = {"python3.12": "3.12 cpython True", "python3.13": "3.13 cpython True"}
    assert find(pythons, bundle="3.12\n")[:2] == (0, "python3.12")

"""What a stranger meets first: the Makefile, both READMEs, the licence, the workflow, the CI script."""

from __future__ import annotations

import datetime as dt
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READMES = ("README.md", "README.zh-CN.md")
TARGETS = (
    "help", "qualify", "test", "venv", "differential", "filesystems", "virtual", "benchmark", "truth", "lint", "bundle",
    "clean",
)  # fmt: skip
SHORT = 200


def _text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def _blocks(name, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", _text(name), re.MULTILINE | re.DOTALL)


def _commands(name):
    lines = [line.partition("#")[0].strip() for block in _blocks(name, "sh") for line in block.splitlines()]
    return [line for line in lines if line]


def _first_cells(name):
    rows = re.findall(r"^\| (.+?) \|", _text(name), re.MULTILINE)
    return [cell for row in rows for cell in re.findall(r"`([^`]+)`", row)]


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
@pytest.mark.parametrize("target", TARGETS)
def test_target_exists(target):
    """Each documented target is one that make knows."""
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
def test_help_names_each_target():
    """Plain `make` lists every target, and does nothing else."""
    done = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert re.findall(r"^make (\w+)", done.stdout, re.MULTILINE) == list(TARGETS[1:])


@pytest.mark.parametrize("readme", READMES)
def test_make_commands_of_the_readme(readme):
    """Each `make X` in a README is a target, and the two commands come first."""
    made = [command.split()[1] for command in _commands(readme) if command.startswith("make ")]
    assert made[:2] == ["qualify", "test"]
    assert set(made) <= set(TARGETS)


def test_readmes_say_the_same():
    """Both READMEs have the same commands, examples, options, tiers and sections."""
    for part in (_commands, _first_cells, lambda name: _blocks(name, "toml"), lambda name: _text(name).count("\n## ")):
        assert part(READMES[0]) == part(READMES[1])


@pytest.mark.parametrize("readme", READMES)
def test_readme_is_short(readme):
    """A README is read in one sitting."""
    assert len(_text(readme).splitlines()) <= SHORT


@pytest.mark.parametrize("document", [*READMES, "CONTRIBUTING.md"])
def test_links_lead_somewhere(document):
    """Each relative link is a file of the tree."""
    links = [link for link in re.findall(r"\]\(([^)#]+)", _text(document)) if "://" not in link]
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_options_of_the_readme(pytestconfig):
    """The options table is the command line: none missing, none that does not exist."""
    group = next(group for group in pytestconfig._parser._groups if group.name.startswith("streamworthy"))
    known = {name for option in group.options for name in option.names()}
    written = {cell.split()[0] for cell in _first_cells(READMES[0]) if cell.startswith("--")}
    assert written == known


def test_tiers_of_the_readme():
    """The tiers table is the folder `thresholds`."""
    files = {path.stem for path in (ROOT / "thresholds").glob("*.toml")}
    assert files
    table = _text(READMES[0]).partition("## Tiers")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE)) == files


def test_exit_codes_of_the_readme():
    """The verdict table holds the exit codes of the code."""
    from streamworthy.verdict import EXIT_CODES

    rows = re.findall(r"^\| ([A-Z ]+?) \|.*\| (\d+) \|$", _text(READMES[0]), re.MULTILINE)
    assert {word: int(code) for word, code in rows} == {str(word): code for word, code in EXIT_CODES.items()}


def test_words_of_the_readme():
    """The table of words is the list of words in the code, in its order."""
    from streamworthy.verdict import Word

    table = _text(READMES[0]).partition("## The words")[2].partition("| verdict |")[0]
    assert re.findall(r"^\| (?!word)([\w/]+) \|", table, re.MULTILINE) == [str(word) for word in Word]


def test_waiver_of_the_readme(tmp_path):
    """The example waiver is one that the suite accepts, and that holds on its last day."""
    from streamworthy.waivers import load_waivers

    example = _blocks(READMES[0], "toml")[0]
    path = tmp_path / "waivers.toml"
    path.write_text(example)
    last_day = tomllib.loads(example)["waiver"][0]["expires"]
    assert [len(load_waivers(path, day).valid) for day in (last_day, last_day + dt.timedelta(days=1))] == [1, 0]


@pytest.mark.parametrize("readme", READMES)
def test_real_run(readme):
    """The shown run is a real one with a failure: why, fix and see are in it, and a closing verdict."""
    shown = _text(readme).partition("<!-- real-run -->")[2].partition("<!-- /real-run -->")[0]
    assert all(part in shown for part in ("  why ", "  fix ", "  see ", "NOT QUALIFIED: "))


def test_licence():
    """The licence is MIT in the file, in the package's metadata and in both READMEs."""
    project = tomllib.loads(_text("pyproject.toml"))["project"]
    assert _text("LICENSE").startswith("MIT License\n")
    assert (project["license"], project["license-files"]) == ("MIT", ["LICENSE"])
    assert all("[MIT](LICENSE)" in _text(readme) for readme in READMES)


def test_changelog_knows_the_version():
    """The changelog has a section for what is unreleased, and one for each version but the first in work."""
    assert "\n## [Unreleased]\n" in _text("CHANGELOG.md")


def test_contributing_shows_a_real_gate():
    """The example gate is one of the gates, word by word."""
    gate = _blocks("CONTRIBUTING.md", "python") or re.findall(
        r"```python\n(.*?)```", _text("CONTRIBUTING.md"), re.DOTALL
    )
    lines = [line.strip() for line in gate[0].splitlines() if line.strip()]
    source = _text("tests/gates/host/test_memory.py")
    assert [line for line in lines if line not in source] == []


def test_ci_runs_the_readmes_test_command():
    """CI starts with the command that the README gives, and judges the exit code of pytest, not of make."""
    script = _text(".ci/run")
    assert "\nmake test\n" in script
    assert "pytest -m qualify --depth quick" in script
    assert ".ci/judge.py" in script


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
@pytest.mark.parametrize("script", [".ci/run", "deploy/environment.sh", "deploy/find_python.sh", "deploy/install.sh"])
def test_scripts_parse(script):
    """Each shell script is free of syntax errors."""
    shell = "bash" if script == ".ci/run" else "sh"
    done = subprocess.run([shell, "-n", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_workflow_keeps_the_report():
    """The example workflow calls pytest itself and uploads the report also when a gate failed."""
    workflow = _text("deploy/qualify-lab.yml")
    assert "self-hosted" in workflow
    assert ".venv/bin/python -m pytest -m qualify" in workflow
    assert re.search(r"if: always\(\)\n\s+uses: actions/upload-artifact@", workflow)

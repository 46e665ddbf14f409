"""The options of `pytest -m qualify`, known to pytest before it looks for the suite's own files.

pytest takes the value of an option that it does not know yet for a test path and derives its root folder from it
(pytest-dev/pytest#1435): `--model /mnt/big/x.gguf` would send it to /mnt/big. Installed as a plugin (entry point
``pytest11``) the options are known in time for all but the root folder, so a run with the wrong one begins anew with
the right one. Imports no pytest.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from itertools import combinations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

DEPTHS = ("quick", "standard", "full")
_MOST_MARKS = 8


def qualifying(config: Any) -> bool:  # noqa: ANN401 - pytest's Config, which the library does not import
    """Tell whether a session asks the machine (`-m qualify`) and not the code."""
    return selects_gates(config.getoption("markexpr") or "")


def selects_gates(expression: str) -> bool:
    """Tell whether a mark expression chooses tests for having the mark `qualify`; pytest names one that is wrong."""
    words = set(re.findall(r"\w+", expression)) - {"and", "or", "not"}
    if "qualify" not in words or len(words) > _MOST_MARKS:
        return "qualify" in words
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except SyntaxError:
        return True
    others = sorted(words - {"qualify"})
    return any(
        _holds(tree, {*present, "qualify"}) and not _holds(tree, set(present))
        for count in range(len(others) + 1)
        for present in combinations(others, count)
    )


def _holds(node: ast.expr, present: set[str]) -> bool:
    match node:
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_holds(value, present) for value in values)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_holds(value, present) for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _holds(operand, present)
        case ast.Call(func=func):  # device(serial=1)
            return _holds(func, present)
    return isinstance(node, ast.Name) and node.id in present


def pytest_addoption(parser: Any) -> None:  # noqa: ANN401 - pytest's Parser
    """Add the options of a qualification, in one group."""
    group = parser.getgroup("streamworthy", "qualification (pytest -m qualify)")
    add = group.addoption
    add("--model", metavar="PATH", help="any shard of the model, or its folder (default: the embedded sample model)")
    add("--tier", metavar="NAME|FILE", help="what is required (default: the one tier that applies to this machine)")
    add(
        "--sha256",
        metavar="FILE",
        help="manifest of the shards: of sha256sum or gguf-hash, or a folder of Git LFS pointers",
    )
    add("--rehash", action="store_true", help="hash the shards again even where a stored result stands")
    add("--depth", choices=DEPTHS, default="standard", help="time budget of the performance gates (default: standard)")
    add("--waivers", metavar="FILE", help="TOML file of waivers: gate, machine or tier, reason, owner, expires")
    add("--report", metavar="DIR", help="write junit.xml and facts.json there")
    add("--sysroot", metavar="DIR", help="judge a captured machine instead of this one")
    add("--disturb", action="store_true", help="allow evicting or loading what a running process uses")
    add("--self-check", action="store_true", help="try the decision rule on this run's own samples, at its end")
    add("--anonymous", action="store_true", help="salted ids instead of host names in everything written")
    add("--scratch", metavar="DIR", help="folder for the sample model and scratch files (default: the user's cache)")
    add("--sample-size", metavar="SIZE", default="220MB", help="size of the sample model, 200MB to 8GB")


def pytest_cmdline_main(config: Any) -> int | None:  # noqa: ANN401 - pytest's Config
    """Begin anew where pytest took a model's folder for its root."""
    if not qualifying(config):
        return None
    suite = _suite_above(config.invocation_params.dir)
    if suite is None:
        sys.stderr.write(
            "ERROR: the gates are not here: run `pytest -m qualify` in the folder that holds tests/gates\n"
        )
        return 4
    for option, given in (("-c", config.getoption("inifilename")), ("--rootdir", config.getoption("rootdir"))):
        if given and (config.invocation_params.dir / given).resolve() not in (suite, suite / "pyproject.toml"):
            sys.stderr.write(f"ERROR: {option} {given}: not possible in a qualification: its folder is {suite}\n")
            return 4
    if config.inipath is None or config.inipath.parent != suite:
        arguments = ["-c", str(suite / "pyproject.toml"), *map(str, config.invocation_params.args)]
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, "-m", "pytest", *arguments])  # noqa: S606 - no shell is wanted
    return None


def _suite_above(folder: Path) -> Path | None:
    for place in (folder, *folder.parents):
        if (place / "tests" / "gates").is_dir() and (place / "pyproject.toml").is_file():
            return place
    return None

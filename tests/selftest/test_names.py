"""A gate has one name: in its test, its criterion, a table in each tier, and with a why; what is missing is named."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from streamworthy.thresholds import declared_gates, load_tiers

ROOT = Path(__file__).parents[2]


def find_tests(folder):
    """Read the gates' tests: name -> function, with files named twice told apart by their count."""
    found = {}
    for file in sorted(folder.glob("*/test_*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                gate = f"{file.stem.removeprefix('test_')}.{node.name.removeprefix('test_')}"
                found.setdefault(gate, []).append(node)
    return found


def forgotten(tests, criteria, tiers):
    """Say for each gate that is somewhere in which of the places it is not."""
    gates = sorted({*tests, *criteria, *(gate for tables in tiers.values() for gate in tables)})
    lines = []
    for gate in gates:
        topic, _, name = gate.partition(".")
        if gate not in tests:
            lines.append(f"{gate}: no test_{name} in tests/gates/*/test_{topic}.py")
        if gate not in criteria:
            lines.append(f"{gate}: no {name} with bounds in streamworthy/criteria/{topic}.py")
        lines += [f"{gate}: no [{gate}] in thresholds/{tier}.toml" for tier in tiers if gate not in tiers[tier]]
    return lines


TESTS = find_tests(ROOT / "tests" / "gates")
CRITERIA = declared_gates()


def test_no_place_was_forgotten():
    """Every gate has a test, a criterion and a table in all tiers."""
    tiers = {tier.name: tier.limits for tier in load_tiers(ROOT / "thresholds")}
    assert len(tiers) == 6
    assert len(TESTS) >= 30
    assert forgotten(TESTS, CRITERIA, tiers) == []


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("test", "memory.total: no test_total in tests/gates/*/test_memory.py"),
        ("criterion", "memory.total: no total with bounds in streamworthy/criteria/memory.py"),
        ("tier", "memory.total: no [memory.total] in thresholds/sample.toml"),
    ],
)
def test_what_was_forgotten_is_named(place, said):
    """Leaving one place out gives the line that says which."""
    gates = {"memory.total", "memory.limit"}
    less = gates - {"memory.total"}
    tests, criteria = (less if place == name else gates for name in ("test", "criterion"))
    tiers = {"sample": less if place == "tier" else gates, "xeon-128g": gates}
    assert forgotten(tests, criteria, tiers) == [said]


@pytest.mark.parametrize("gate", TESTS)
def test_a_gate_asks_its_own_criterion_and_nothing_else(gate):
    """One docstring that is the why, one require() of the criterion of the same name, defined once."""
    (function,) = TESTS[gate]
    topic, _, name = gate.partition(".")
    why = ast.get_docstring(function)
    assert why, f"{gate}: no docstring: it is printed as the why when the gate fails"
    assert why.rstrip().endswith(".")
    _, statement = function.body
    asked = ast.unparse(statement)
    assert asked.startswith(f"require({topic}.{name}("), asked
    assert asked.endswith(", limit))"), asked


@pytest.mark.parametrize("gate", CRITERIA)
def test_a_criterion_has_a_module_of_facts_and_a_docstring(gate):
    """A criterion says what it judges, and takes a limit last."""
    judge = CRITERIA[gate]
    assert judge.__doc__
    assert tuple(judge.__annotations__)[-2:] == ("limit", "return")

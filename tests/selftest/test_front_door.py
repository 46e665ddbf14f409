"""Which mark expressions ask the machine."""

from __future__ import annotations

import pytest

from streamworthy.front_door import selects_gates


@pytest.mark.parametrize(
    ("expression", "gates"),
    [
        ("qualify", True),
        (" qualify ", True),
        ("qualify and slow", True),
        ("qualify or benchmark", True),
        ("not (not qualify)", True),
        ("qualify and not root(why=1)", True),
        ("qualify(", True),
        ("", False),
        ("benchmark", False),
        ("not benchmark", False),
        ("not qualify", False),
        ("not  qualify", False),
        ("not (qualify)", False),
        ("not (qualify or benchmark)", False),
        ("not qualify and not benchmark", False),
        ("slow or not qualify", False),
        ("qualifying", False),
    ],
)
def test_a_session_asks_the_machine_where_the_mark_chooses(expression, gates):
    """Whatever the spelling of a negation; one that pytest will refuse counts as meant for the machine."""
    assert selects_gates(expression) is gates

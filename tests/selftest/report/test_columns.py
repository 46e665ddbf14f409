"""Rows of cells as text."""

from streamworthy.report.columns import table


def test_columns_are_as_wide_as_their_widest_cell():
    """Numbers to the right, words to the left, nothing behind the last cell."""
    rows = [("name", "size", "note"), ("a", "1000", ""), ("longer", "7", "x")]
    assert list(table(rows, right=(1,))) == ["name    size  note", "a       1000", "longer     7  x"]

"""What a name holds does not reach the terminal as a command."""

from __future__ import annotations

import pytest

from streamworthy.report.visible import visible
from tests.selftest.commands import streamworthy


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, tab\tand\nnewline", "plain, tab\tand\nnewline"),
        ("\x1b]0;renamed\x07", r"\x1b]0;renamed\x07"),
        ("over\rwritten", r"over\rwritten"),
        ("\x9b2J", r"\x9b2J"),
        ("lagom\u202efugg.sh", r"lagom\u202efugg.sh"),
        ("modèle 模型 \udce8", "modèle 模型 \udce8"),
    ],
)
def test_control_characters_are_written_out(text, shown):
    """Letters of all languages, and bytes that are none, stay."""
    assert visible(text) == shown


def test_a_commands_error_and_its_lines_are_shown_so(tmp_path):
    """On both streams."""
    folder = tmp_path / "\x1b[31mred"
    folder.mkdir()
    code, out, err = streamworthy("inspect", folder / "model.gguf")
    assert code == 2
    assert r"\x1b[31mred" in err
    (folder / "model.gguf").write_bytes(b"GGUF")
    told = "".join(streamworthy("cache", "show", folder / "model.gguf")[1:])
    assert "model.gguf" in told
    assert "\x1b" not in out + err + told

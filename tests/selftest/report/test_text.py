"""Outcomes as people read them."""

from __future__ import annotations

from streamworthy.report.text import advice_lines, closing_line, failure_text, first_line, summary_lines
from streamworthy.verdict import Closing, Outcome, Word, not_applicable, unknown, verdict


def outcome(found, gate="memory.swap_in_use"):
    """One gate's outcome around a verdict."""
    return Outcome(
        gate=gate,
        verdict=found,
        why="Weights in swap are read back through the slowest path of all.",
        see="thresholds/laptop-32g.toml [memory.swap_in_use]",
        level="require",
        bounds=(("at_most", "64.0 MiB"),),
    )


FAILED = outcome(
    verdict(
        Word.FAIL,
        measured="3.1 GiB",
        required="at most 64.0 MiB",
        cause="pages were swapped out under memory pressure",
        fix=("sudo swapoff -a", "sudo swapon -a"),
    )
)


def test_a_failure_says_line_why_cause_fix_and_see():
    """The first line is complete alone; every fix line can be pasted."""
    assert failure_text("memory.swap_in_use", FAILED).splitlines() == [
        "memory.swap_in_use: 3.1 GiB, at most 64.0 MiB required",
        "  why   Weights in swap are read back through the slowest path of all.",
        "  cause pages were swapped out under memory pressure",
        "  fix   sudo swapoff -a",
        "        sudo swapon -a",
        "  see   thresholds/laptop-32g.toml [memory.swap_in_use]",
    ]


def test_first_lines_of_the_other_words():
    """Each word says what kept the gate from passing."""
    gate = "g.x"
    assert first_line(gate, outcome(unknown("/proc/swaps: gone"))) == "g.x: could not be decided: /proc/swaps: gone"
    assert first_line(gate, outcome(not_applicable("no swap"))) == "g.x: does not apply: no swap"
    assert (
        first_line(
            gate, outcome(verdict(Word.INCONCLUSIVE, measured="1.0 tok/s", required="at least 2", cause="noise"))
        )
        == "g.x: 1.0 tok/s, at least 2 required: inconclusive: noise"
    )
    assert (
        first_line(gate, outcome(verdict(Word.WAIVED, measured="3 GiB", cause="lab host, until 2027-01-01")))
        == "g.x: waived: lab host, until 2027-01-01 (measured 3 GiB)"
    )


def test_the_table_has_every_gate_and_cuts_long_cells():
    """One row a gate, in the order asked, no row wider than a report can hold."""
    long = outcome(verdict(Word.PASS, measured="x" * 200, required="y" * 200))
    rows = list(summary_lines({"a.b": long, "memory.swap_in_use": FAILED}))
    assert [row.split()[:2] for row in rows[1:]] == [["pass", "a.b"], ["FAIL", "memory.swap_in_use"]]
    assert all(len(row) < 160 for row in rows)
    assert not any(row.endswith(" ") for row in rows)


def test_the_table_says_whole_why_a_gate_does_not_apply():
    """The reason stands nowhere else on the screen, and does not push the other columns away."""
    rows = list(summary_lines({"a.b": outcome(not_applicable("x" * 200)), "memory.swap_in_use": FAILED}))
    assert rows[1].endswith("x" * 200)
    assert len(rows[2]) < 160


def test_the_table_has_one_line_a_gate():
    """All faults of a file stand in the text above it; the table has the first."""
    rows = list(summary_lines({"q.s": outcome(unknown("tier.toml: [a]: no such\ntier.toml: [b]: no such"))}))
    assert rows[1].endswith("tier.toml: [a]: no such")
    assert len(rows) == 2


def test_waived_gates_say_by_what_reason():
    """A waiver's reason and owner are read where the verdict is."""
    waived = outcome(verdict(Word.WAIVED, measured="3 GiB", required="at most 1", cause="lab host (owner ada)"))
    assert list(advice_lines({"m.s": waived})) == ["", "waived  m.s: waived: lab host (owner ada) (measured 3 GiB)"]


def test_advice_names_cause_and_first_fix():
    """Advice is listed with what to do."""
    advised = outcome(verdict(Word.ADVICE, measured="60", required="at most 10", cause="the default", fix=("do", "it")))
    assert list(advice_lines({"m.s": advised})) == [
        "",
        "advice  m.s: 60, at most 10 required",
        "        the default",
        "        fix: do",
    ]


def test_the_closing_line_counts_the_words():
    """The last line has the word, what it covers and what stands behind it."""
    outcomes = {"a": FAILED, "b": outcome(not_applicable("no swap"))}
    assert closing_line(Closing.NOT_QUALIFIED, "m on t", outcomes) == "NOT QUALIFIED: m on t: 1 FAIL, 1 n/a"
    assert closing_line(Closing.UNDECIDED, "m", {}) == "UNDECIDED: m: nothing was checked"

"""What a run makes of a gate's verdict, beside tier and waivers."""

from __future__ import annotations

import pytest

from streamworthy.facts.request import Request
from streamworthy.probes.machine import Machine
from streamworthy.qualification import Qualification
from streamworthy.thresholds import load_tier
from streamworthy.verdict import Word, verdict
from tests.selftest.face.running import ROOT
from tests.selftest.probes.test_frequency import INTEL, supply
from tests.selftest.probes.trees import tree

MISS = verdict(Word.FAIL, measured="0.3 tok/s", cause="disk (suspected): slow", fix=("lsblk",))


def run_on(root):
    """Give a run of laptop-16g on a machine."""
    asked = Request(
        model=None,
        tier="laptop-16g",
        tiers=ROOT / "thresholds",
        sha256=None,
        rehash=False,
        depth="quick",
        waivers=None,
        report=None,
        sysroot=None,
        disturb=False,
        anonymous=False,
        scratch=None,
        sample_size="220MB",
        self_check=False,
    )
    run = Qualification(asked, say=print)
    run.tier = load_tier("laptop-16g", ROOT / "thresholds")
    run.machine = Machine(root)
    return run


def test_a_plug_that_is_pulled_during_the_run_is_seen(tmp_path):
    """What was read at the beginning does not hold for an hour."""
    battery = supply("BAT0", type="Battery", status="Discharging")
    root = tree(tmp_path, files=INTEL | battery | supply("AC", type="Mains", online=1))
    run = run_on(root)
    assert run.settle("decode.warm_rate", MISS, why="").verdict.word is Word.FAIL
    root.path("sys/class/power_supply/AC/online").write_text("0\n")
    assert run.settle("decode.warm_rate", MISS, why="").verdict.word is Word.INCONCLUSIVE


@pytest.mark.parametrize(
    ("gate", "online", "word"),
    [
        ("decode.warm_rate", 0, Word.INCONCLUSIVE),
        ("decode.warm_rate", 1, Word.FAIL),
        ("decode.answer", 0, Word.FAIL),
        ("memory.total", 0, Word.FAIL),
    ],
)
def test_a_speed_that_misses_on_battery_is_open(tmp_path, gate, online, word):
    """The cause that was seen is kept, and what a battery cannot change stays."""
    battery = supply("BAT0", type="Battery", status="Discharging")
    run = run_on(tree(tmp_path, files=INTEL | battery | supply("AC", type="Mains", online=online)))
    found = run.settle(gate, MISS, why="").verdict
    assert found.word is word
    assert (found.fix[0] == "plug it in and run again") is (word is Word.INCONCLUSIVE)
    assert "disk (suspected): slow" in found.cause

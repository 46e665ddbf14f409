"""Pressure, as the kernel tells it or does not."""

from __future__ import annotations

import pytest

from streamworthy.errors import ParseError
from streamworthy.facts.conditions import PressureFacts
from streamworthy.probes.pressure import parse_pressure, probe_pressure
from tests.selftest.probes.trees import tree

LINES = "some avg10={} avg60=1.00 avg300=0.50 total=9\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n"
FILES = {
    "proc/pressure/cpu": LINES.format("12.50"),
    "proc/pressure/memory": LINES.format("0.00"),
    "proc/pressure/io": LINES.format("3.25"),
    "proc/loadavg": "1.57 1.20 0.90 2/345 6789\n",
}
FACTS = PressureFacts(cpu_share=0.125, memory_share=0.0, io_share=0.0325, load_average=1.57, busiest=())


def test_the_last_ten_seconds_are_read(tmp_path):
    """Whole record."""
    assert probe_pressure(tree(tmp_path, files=FILES)) == FACTS


def test_a_kernel_without_pressure_tells_its_load_average(tmp_path):
    """What is absent is None; what is switched off too."""
    root = tree(tmp_path / "a", files={"proc/loadavg": FILES["proc/loadavg"]})
    assert probe_pressure(root) == PressureFacts(
        cpu_share=None, memory_share=None, io_share=None, load_average=1.57, busiest=()
    )
    refused = "".join(
        f'[[unreadable]]\npath = "proc/pressure/{name}"\nreason = "Operation not supported"\n'
        for name in ("cpu", "memory", "io")
    )
    off = probe_pressure(tree(tmp_path / "b", files=FILES, answers=refused))
    assert (off.cpu_share, off.memory_share, off.io_share) == (None, None, None)


def test_nothing_at_all_is_nothing(tmp_path):
    """Not even a load average."""
    assert probe_pressure(tree(tmp_path)).load_average is None


@pytest.mark.parametrize("text", ["", "full avg10=0.00 avg60=0.00\n", "some avg10= \n", "some avg10=1,5 avg60=0\n"])
def test_another_text_is_a_parse_error(text):
    """File and what was found are named."""
    with pytest.raises(ParseError, match="/proc/pressure/io"):
        parse_pressure(text, where="/proc/pressure/io")

"""The texts that a reading is made of."""

from __future__ import annotations

import pytest

from streamworthy.bench.readings import DiskStat, parse_anonymous, parse_disk_stat, parse_paging, parse_stalled
from streamworthy.errors import ParseError

STAT = "  100 7 8000 50 3 1 64 9 0 2500 12000 0 0 0 0 1 2\n"


def test_the_time_that_tasks_waited_is_in_seconds():
    """Before 5.13 the pressure on the CPUs had no line "full"."""
    some, full = "some avg10=0.00 avg60=0.00 total=9000000\n", "full avg10=0.00 avg60=0.00 total=2500000\n"
    assert parse_stalled(some + full) == {"some": 9.0, "full": 2.5}
    assert parse_stalled(some) == {"some": 9.0}
    assert parse_stalled("") == {}


@pytest.mark.parametrize("text", [STAT, "100 7 8000 50 3 1 64 9 0 2500 12000", STAT.replace(" ", "\t")])
def test_a_disk_s_counters(text):
    """Sectors are of 512 bytes; kernels before 4.18 have eleven numbers."""
    assert parse_disk_stat(text) == DiskStat(read_bytes=8000 * 512, busy_milliseconds=2500, queue_milliseconds=12000)


@pytest.mark.parametrize("text", ["", "1 2 3", STAT.replace("8000", "-1"), STAT.replace("8000", "x"), "9" * 5000])
def test_another_stat_is_a_parse_error(text):
    """The file is named."""
    with pytest.raises(ParseError, match="/sys/class/block"):
        parse_disk_stat(text)


@pytest.mark.parametrize(
    ("text", "pages"),
    [
        ("workingset_refault_anon 5\nworkingset_refault_file 7\npswpin 3\npswpout 4\n", (7, 3)),
        ("workingset_refault 9\npswpin 0\n", (9, 0)),
        ("nr_free_pages 1\nworkingset_refault_file 7\n", (7, None)),
        ("", (None, None)),
    ],
)
def test_file_pages_that_came_back_and_pages_from_swap(text, pages):
    """Kernels before 5.9 count those of files and of memory in one; a kernel without swap counts none."""
    assert parse_paging(text) == pages


def test_the_engine_s_own_memory():
    """In bytes; a line that a kernel lacks is None."""
    assert parse_anonymous("VmRSS:\t  900 kB\nRssAnon:\t  200 kB\nVmSwap:\t   10 kB\n") == (200 * 1024, 10 * 1024)
    assert parse_anonymous("RssAnon:\t  200 kB\n") == (200 * 1024, None)
    assert parse_anonymous("") == (None, None)

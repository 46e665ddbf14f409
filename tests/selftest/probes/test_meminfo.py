"""Sizes in /proc/meminfo."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamworthy.errors import ParseError
from streamworthy.probes.meminfo import Meminfo, parse_meminfo
from tests.selftest.probes.folder import MACHINES

SOUND = (
    "MemTotal:        8000000 kB\n"
    "MemFree:          100000 kB\n"
    "MemAvailable:    7000000 kB\n"
    "Cached:          6500000 kB\n"
)


def test_sizes_are_read_in_bytes():
    """The kernel's kB is 1024 bytes; page cache is not taken for used memory."""
    assert parse_meminfo(SOUND) == Meminfo(
        total_bytes=8_192_000_000,
        free_bytes=102_400_000,
        available_bytes=7_168_000_000,
        page_cache_bytes=6_656_000_000,
        anonymous_bytes=None,
        shared_bytes=None,
        huge_pages_bytes=None,
        balloon_bytes=None,
        commit_limit_bytes=None,
        committed_bytes=None,
    )


@pytest.mark.parametrize(
    ("lines", "size_bytes"),
    [
        ("HugePages_Total:    9216\nHugepagesize:       2048 kB\nHugetlb:        23068672 kB\n", 22 * 2**30),
        ("HugePages_Total:    9216\nHugepagesize:       2048 kB\n", 18 * 2**30),
        ("Hugepagesize:       2048 kB\n", None),
    ],
)
def test_pools_of_huge_pages_of_all_sizes_count(lines, size_bytes):
    """Hugetlb adds pools of 1 GiB pages; kernels before 4.16 tell the default size only."""
    assert parse_meminfo(SOUND + lines).huge_pages_bytes == size_bytes


def test_a_count_below_zero_is_not_told():
    """What only explains a miss does not undo what is known."""
    found = parse_meminfo(SOUND + "AnonPages:        -34916 kB\nShmem:             1024 kB\n")
    assert (found.anonymous_bytes, found.shared_bytes) == (None, 2**20)


def test_kernels_before_3_14_tell_no_available_memory():
    """A missing estimate is None and never 0."""
    assert parse_meminfo(SOUND.replace("MemAvailable:    7000000 kB\n", "")).available_bytes is None


@pytest.mark.parametrize("name", ["MemTotal", "MemFree", "Cached"])
def test_a_size_that_every_kernel_writes_must_be_there(name):
    """Each missing line is named."""
    lines = [line for line in SOUND.splitlines() if not line.startswith(f"{name}:")]
    with pytest.raises(ParseError, match=f"{name}: /proc/meminfo: found 'no such line'"):
        parse_meminfo("\n".join(lines))


@pytest.mark.parametrize("broken", ["8000000", "8000000 MB", "-1 kB", "many kB", "", "8_000 kB", "1e3 kB"])
def test_a_size_in_another_shape_is_named_with_its_line(broken):
    """A number without kB, or no number, is an error and not a wrong size."""
    with pytest.raises(ParseError, match="MemTotal: /proc/meminfo, line 1"):
        parse_meminfo(SOUND.replace("8000000 kB", broken))


def test_every_captured_machine_can_be_read():
    """Real files of nine machines parse, with available memory between nothing and all."""
    files = sorted(MACHINES.glob("*/proc/meminfo"))
    assert len(files) >= 9
    for file in files:
        found = parse_meminfo(file.read_text())
        assert 0 < found.available_bytes < found.total_bytes


@given(st.text() | st.builds("MemTotal:{}\nMemFree: 1 kB\nCached: 1 kB".format, st.text()))
def test_any_text_is_sizes_or_a_parse_error(text):
    """No text makes the parser raise anything else."""
    with contextlib.suppress(ParseError):
        assert parse_meminfo(text).total_bytes >= 0

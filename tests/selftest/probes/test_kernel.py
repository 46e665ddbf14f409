"""Version of the kernel."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamworthy.errors import ParseError, ProbeError
from streamworthy.facts.kernel import KernelFacts
from streamworthy.probes.kernel import parse_osrelease, probe_kernel
from tests.selftest.probes.folder import captured, machine_of


@pytest.mark.parametrize(
    ("release", "version"),
    [
        ("6.18.44-fc-v857", (6, 18, 44)),
        ("5.15.0-91-generic", (5, 15, 0)),
        ("5.15.167.4-microsoft-standard-WSL2", (5, 15, 167, 4)),
        ("6.6.31+rpt-rpi-v8", (6, 6, 31)),
        ("5.14.0-427.13.1.el9_4.x86_64", (5, 14, 0)),
        ("4.18.0-553.5.1.el8_10.x86_64", (4, 18, 0)),
        ("6.12-rc3", (6, 12)),
        ("6.1.0-25-amd64", (6, 1, 0)),
    ],
)
def test_numbers_end_where_a_distribution_adds_its_own(release, version):
    """The version is the numbers at the front, whatever follows."""
    assert parse_osrelease(f"{release}\n") == KernelFacts(release=release, version=version)


@pytest.mark.parametrize("text", ["", "\n", "generic", "6", "6.", "v6.1", "6.1234567890"])
def test_a_text_without_version_is_a_parse_error(text):
    """What is no version is named with its file."""
    with pytest.raises(ParseError, match="/proc/sys/kernel/osrelease"):
        parse_osrelease(text)


def test_a_captured_machine_tells_its_own_kernel():
    """The version comes from the captured file, not from the machine that runs the test."""
    assert probe_kernel(captured("wsl2-drvfs")).version == (6, 6, 36, 6)


def test_a_missing_file_is_a_probe_error(tmp_path):
    """Without the file the version is unknown."""
    with pytest.raises(ProbeError, match="version: cannot be read"):
        probe_kernel(machine_of(tmp_path, {}))


def test_a_masked_proc_sys_leaves_another_file(tmp_path):
    """The same release stands in /proc/version, which starts with the system's name."""
    text = "Linux version 6.1.0-25-amd64 (debian-kernel@lists.debian.org) (gcc-12) #1 SMP Debian 6.1.106-3\n"
    assert probe_kernel(machine_of(tmp_path, {"proc/version": text})) == parse_osrelease("6.1.0-25-amd64")
    with pytest.raises(ParseError, match="/proc/version: found 'Darwin'"):
        probe_kernel(machine_of(tmp_path, {"proc/version": "Darwin Kernel Version 23.1.0"}))


@given(st.text())
def test_any_text_is_a_version_or_a_parse_error(text):
    """No text makes the parser raise anything else."""
    with contextlib.suppress(ParseError):
        assert parse_osrelease(text).version

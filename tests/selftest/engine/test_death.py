"""Why an engine ended."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from streamworthy.engine.death import OomCounters, explain_death, read_oom_counters
from streamworthy.probes.sysroot import Sysroot

LOGS = Path(__file__).parents[3] / "fixtures/logs"
_QUIET = OomCounters(machine_count=1, group_count=0)
_LOG = "load_tensors: loading\n/llama.cpp/ggml.c:10: GGML_ASSERT(n > 0) failed\nlast line\n"


def told(status, *, log=_LOG, before=_QUIET, after=_QUIET):
    """Give the line for an exit status."""
    return explain_death(status, doing="decode", log=log, before=before, after=after).message


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (-signal.SIGILL, "illegal instruction, the engine was built for another CPU"),
        (-signal.SIGBUS, "a mapped shard shrank or its device failed to read"),
        (-signal.SIGABRT, "SIGABRT: /llama.cpp/ggml.c:10: GGML_ASSERT(n > 0) failed"),
        (-signal.SIGSEGV, "crashed with SIGSEGV, last log line: last line"),
        (-signal.SIGKILL, "killed (SIGKILL) by another process: no OOM counter moved"),
        (1, "ended with exit status 1: last line"),
        (0, "ended with exit status 0: last line"),
        (128 + signal.SIGILL, "SIGILL: illegal instruction, the engine was built for another CPU"),
        (128 + signal.SIGKILL, "killed (SIGKILL) by another process"),
        (128 + signal.SIGBUS, "a mapped shard shrank"),
        (128, "ended with exit status 128: last line"),
        (255, "ended with exit status 255: last line"),
        (-99, "crashed with signal 99"),
    ],
)
def test_each_end_has_its_line(status, words):
    """One line, which begins with what the engine was asked to do."""
    assert told(status).startswith("engine: while asked to decode: ")
    assert words in told(status)
    assert "\n" not in told(status)


@pytest.mark.parametrize("number", [signal.SIGBUS, signal.SIGSEGV, signal.SIGILL])
def test_an_engine_that_dies_while_it_is_imported_is_to_be_built_again(number):
    """No shard is open by then; a library that was cut short gives SIGBUS."""
    error = explain_death(-number, doing="prepare", log="", before=_QUIET, after=_QUIET)
    assert "shard" not in error.message
    assert "--force-reinstall" in error.fix


def test_an_assertion_after_a_refused_allocation_is_a_lack_of_memory():
    """ggml only asserts that memory was given: it is not for the engine's authors, and retrying does not help."""
    log = (LOGS / "aborted-memory.log").read_text(encoding="utf-8")
    error = explain_death(-signal.SIGABRT, doing="load", log=log, before=_QUIET, after=_QUIET)
    assert "SIGABRT for lack of memory: ggml_aligned_malloc: insufficient memory" in error.message
    assert (error.out_of_memory, "context_tokens" in error.fix) == (True, True)


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (OomCounters(machine_count=2, group_count=1), "oom_kill of this cgroup 0 -> 1, of the machine 1 -> 2"),
        (OomCounters(machine_count=2, group_count=0), "oom_kill of the machine 1 -> 2"),
        (OomCounters(machine_count=2, group_count=None), "oom_kill of the machine 1 -> 2"),
    ],
)
def test_a_moved_oom_counter_is_the_evidence(after, words):
    """SIGKILL and a counter that moved mean a lack of memory."""
    assert "killed by the kernel for lack of memory" in told(-signal.SIGKILL, after=after)
    assert words in told(-signal.SIGKILL, after=after)


def test_without_counters_memory_is_only_likely():
    """Old kernels do not count OOM kills."""
    none = OomCounters(machine_count=None, group_count=None)

    assert "likely for lack of memory" in told(-signal.SIGKILL, before=none, after=none)


def test_an_empty_log_is_said():
    """The line stays whole."""
    assert told(-signal.SIGABRT, log="").endswith("SIGABRT: the log is empty")


def test_the_end_of_the_log_is_kept():
    """Twelve lines at most, without colours."""
    log = "".join(f"\x1b[0mline {number}\n" for number in range(20))
    error = explain_death(-signal.SIGSEGV, doing="load", log=log, before=_QUIET, after=_QUIET)

    assert error.log == tuple(f"line {number}" for number in range(8, 20))
    assert error.fix


@pytest.mark.parametrize(
    ("cgroup", "file", "text"),
    [
        ("4:cpu,memory:/a/b\n0::/\n", "sys/fs/cgroup/memory/a/b/memory.oom_control", "under_oom 0\noom_kill 3\n"),
        ("0::/user.slice/x\n", "sys/fs/cgroup/user.slice/x/memory.events", "oom 5\noom_kill 3\noom_group_kill 0\n"),
    ],
)
def test_counters_are_read_from_both_hierarchies(tmp_path, cgroup, file, text):
    """Version 1 keeps them in memory.oom_control, version 2 in memory.events."""
    for name, content in (
        ("machine.toml", 'source = "made by a test"\n'),
        ("proc/self/cgroup", cgroup),
        ("proc/vmstat", "pgmajfault 1\noom_kill 7\n"),
        (file, text),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)

    assert read_oom_counters(Sysroot(tmp_path)) == OomCounters(machine_count=7, group_count=3)


def test_absent_counters_are_none(tmp_path):
    """A kernel without them is not a kernel without OOM kills."""
    (tmp_path / "machine.toml").write_text('source = "made by a test"\n')

    assert read_oom_counters(Sysroot(tmp_path)) == OomCounters(machine_count=None, group_count=None)

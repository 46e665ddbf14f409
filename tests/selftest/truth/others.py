"""What else can be on a machine: a busy loop, a reader, one that takes memory, one that pages weights out. Not a test.

``python -m tests.selftest.truth.others KIND ARGUMENTS...`` runs until it is ended, at the latest with its parent.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
_PROCESS_MADVISE, _MADV_PAGEOUT = 440, 21  # asm-generic/unistd.h and mman-common.h
_MOST_AREAS = 1024  # UIO_MAXIOV
_READ_BYTES, _READERS = 2**17, 1  # more leave an engine that reads one slab at a time nearly nothing
_LOOK_SECONDS = 0.005
_EVICTED_EVERY_SECONDS = 0.2  # evicting takes CPU time, little beside the reads that it causes
_PROMPT_TICKS = 10  # of user time: more than a load takes, less than a prompt


def with_parent(number, command):
    """Give a command that gets a signal when its parent ends: setpriv(1) of util-linux 2.33."""
    return ["setpriv", "--pdeathsig", number, *map(str, command)]


@contextmanager
def other(kind, *arguments, before=()):
    """Run one of the others beside what is measured."""
    command = [*before, sys.executable, "-m", __name__, kind, *map(str, arguments)]
    process = subprocess.Popen(with_parent("KILL", command), cwd=REPOSITORY, start_new_session=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def hog():
    """Compute, for nothing."""
    while True:
        pass


def reader(path):
    """Read a file past the page cache, several requests in flight."""
    count = Path(path).stat().st_size // _READ_BYTES

    def read(first):
        descriptor, buffer = os.open(path, os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, _READ_BYTES)
        while True:
            os.preadv(descriptor, [buffer], first * _READ_BYTES)
            first = (first + 1) % count

    for number in range(_READERS):
        threading.Thread(target=read, args=(number * count // _READERS,), daemon=True).start()
    signal.pause()


def ballast(group, last_shard, size):
    """Take memory once the engine has computed with all of its weights in memory, and be charged to its group."""
    looks = computing(Path(group), last_shard)
    begun = next(ticks for _, ticks in looks)
    next(ticks for _, ticks in looks if ticks >= begun + _PROMPT_TICKS)
    taken = mmap.mmap(-1, int(size), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for place in range(0, int(size), mmap.PAGESIZE):
        taken[place] = 1
    signal.pause()


def pageout(group, last_shard):
    """Take the engine's weights from its memory as long as it computes: process_madvise(2), since Linux 5.10."""
    for pid, _ in computing(Path(group), last_shard):
        with suppress(OSError):
            _page_out(pid)
        time.sleep(_EVICTED_EVERY_SECONDS)


def computing(group, last_shard):
    """Give the engine's process id and user time each time that it has computed, all of its weights being mapped."""
    before = {}
    while True:
        with suppress(OSError):
            for pid in map(int, (group / "cgroup.procs").read_text().split()):
                ticks = _user_ticks(pid) if _maps(pid, last_shard) else None
                if ticks is not None and before.setdefault(pid, ticks) != ticks:
                    before[pid] = ticks
                    yield pid, ticks
        time.sleep(_LOOK_SECONDS)


def _maps(pid, name):
    return any(line.endswith(name) for line in Path(f"/proc/{pid}/maps").read_text().splitlines())


def _user_ticks(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])  # the 14th field, proc_pid_stat(5)


class _Area(ctypes.Structure):
    _fields_ = (("first", ctypes.c_void_p), ("size", ctypes.c_size_t))


def _page_out(pid):
    maps = Path(f"/proc/{pid}/maps").read_text()
    found = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) .*\.gguf$", maps, re.MULTILINE)[:_MOST_AREAS]
    areas = (_Area * len(found))(*((int(first, 16), int(end, 16) - int(first, 16)) for first, end in found))
    descriptor = os.pidfd_open(pid)
    try:
        syscall = ctypes.CDLL(None, use_errno=True).syscall
        done = syscall(_PROCESS_MADVISE, descriptor, areas, ctypes.c_size_t(len(areas)), _MADV_PAGEOUT, 0)
        if done < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    finally:
        os.close(descriptor)


def main(kind, *arguments):
    """Be one of the others."""
    {"hog": hog, "reader": reader, "ballast": ballast, "pageout": pageout}[kind](*arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])

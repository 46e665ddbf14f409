"""Mounts something, waits until its input ends, and unmounts it. Run by mounts.py, once for each mount.

It does and undoes in a process and a session of its own, because whoever asked for it may be interrupted at any
moment, also while it undoes: then its input ends like at any other end, and nobody has to be told what was done.

    python -m tests.selftest.filesystems.keeper attach IMAGE COMMAND...    a loop device, which the command prints
    python -m tests.selftest.filesystems.keeper mount TARGET COMMAND...    a command that ends
    python -m tests.selftest.filesystems.keeper serve TARGET COMMAND...    a command that stays, and serves

It prints a line when that is done, or ends with the reason on stderr.
"""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from streamworthy.probes.mountinfo import unescape

_PATIENCE_SECONDS = 10.0


def _mount_count(target):
    """Count what is mounted at a place; is_mount() does not see a bind mount within a filesystem."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    return [unescape(line.split()[4]) for line in lines].count(str(target))


def _until(condition):
    """Ask again until something is so; gives whether it came to be in time."""
    end = time.monotonic() + _PATIENCE_SECONDS
    while not (done := condition()) and time.monotonic() < end:
        time.sleep(0.01)
    return done


def _undone(is_so, *command):
    """Run a command until it succeeds: what lies above, or has files open there, may still be about to leave.

    ``is_so``: tells whether another keeper has undone it.
    """
    said = []

    def succeeds():
        if is_so():
            return True
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        said[:] = [done.stderr]
        return done.returncode == 0

    if not _until(succeeds):
        sys.exit(f"{' '.join(command)}: {said[0]}")


def _unmount(target, before):
    """Unmount what is mounted in a place, with all that is below it, down to what was there before."""
    _undone(lambda: _mount_count(target) <= before, "umount", "--recursive", target)


def _done(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout.strip()


@contextmanager
def attach(_image, command):
    """A loop device, detached as soon as nothing uses it."""
    device = _done(command)
    yield device
    _undone(lambda: False, "losetup", "--detach", device)


@contextmanager
def mount(target, command):
    """What a command that ends has mounted, and what was mounted below it since."""
    before = _mount_count(target)
    _done(command)
    yield target
    _unmount(target, before)


@contextmanager
def serve(target, command):
    """What a process mounts and serves; it ends when that is unmounted, or is killed."""
    before = _mount_count(target)
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **quiet) as server:
        try:
            _until(lambda: _mount_count(target) > before or server.poll() is not None)
            if server.poll() is not None:
                sys.exit(f"ended with {server.returncode}")
            yield target
            _unmount(target, before)
            with suppress(subprocess.TimeoutExpired):
                server.wait(timeout=_PATIENCE_SECONDS)
        finally:
            server.kill()


def main():
    """Do it, tell, wait, and undo it."""
    way, target, *command = sys.argv[1:]
    with {"attach": attach, "mount": mount, "serve": serve}[way](target, command) as told:
        with suppress(BrokenPipeError):  # nobody is left to be told
            sys.stdout.write(f"{told}\n")
            sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()

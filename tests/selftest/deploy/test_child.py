"""Running pip: what it sees, and that nothing of it stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from deploy import child

ROOT = Path(__file__).parents[3]


def test_pip_is_not_sent_elsewhere(monkeypatch):
    """A user's PIP_TARGET or PYTHONPATH does not reach the pip of .venv; an index does."""
    monkeypatch.setenv("PIP_TARGET", "/elsewhere")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror.example/simple")
    found = child.pip_environment("/scratch")
    assert {"PIP_TARGET", "PYTHONPATH"}.isdisjoint(found)
    assert (found["PIP_INDEX_URL"], found["TMPDIR"]) == ("https://mirror.example/simple", "/scratch")


def test_exit_code_and_log(tmp_path):
    """The exit code is the command's, and what it printed stands in the log, after what stood there."""
    log = tmp_path / "log"
    log.write_text("before\n")
    assert child.run_in_background(["sh", "-c", "echo out; echo err >&2; exit 3"], dict(os.environ), log) == 3
    assert log.read_text() == "before\nout\nerr\n"


def test_interrupt_ends_the_whole_group(tmp_path):
    """Ctrl-C ends the command and the children that it started."""
    code = (
        "import os, pathlib, signal; from deploy.child import run_in_background as run; "
        "signal.signal(signal.SIGINT, signal.default_int_handler); "  # a shell's background job ignores Ctrl-C
        "run(['sh', '-c', 'sleep 300 & echo $! > pid; wait'], dict(os.environ), pathlib.Path('log'))"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.DEVNULL,
    )
    pid = int(_when(lambda: (tmp_path / "pid").read_text() or None))
    parent.send_signal(signal.SIGINT)
    assert parent.wait(timeout=20) != 0
    assert _when(lambda: _is_gone(pid) or None)


def _is_gone(pid):
    try:
        return "Z" in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True


def _when(ask):
    """Wait up to 20 s for an answer other than None."""
    for _ in range(200):
        try:
            answer = ask()
        except OSError:
            answer = None
        if answer is not None:
            return answer
        time.sleep(0.1)
    raise AssertionError("no answer")

"""What an interruption does to an undoing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from tests.selftest.truth.others import REPOSITORY
from tests.selftest.truth.undo import ENDINGS, Undo


@pytest.fixture(params=[False, True], ids=["alone", "beside a thread"])
def beside(request):
    """Another thread, to which a signal may be delivered."""
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    if request.param:
        thread.start()
    yield
    ended.set()
    if request.param:
        thread.join()


@pytest.mark.usefixtures("beside")
@pytest.mark.parametrize("number", ENDINGS)
def test_an_interruption_is_heard_after_the_undoing(number):
    """All is undone, the processes that undo are spared, and then it is raised."""
    undone = []

    def undo():
        subprocess.run(["sh", "-c", f"kill -{number.value} $$"], check=True)
        os.kill(os.getpid(), number)
        time.sleep(0.1)  # for whichever thread takes it
        undone.append(number)

    before = signal.signal(number, signal.default_int_handler)
    try:
        stack = Undo()
        stack.callback(undo)
        stack.callback(undo)
        with pytest.raises(KeyboardInterrupt):
            stack.__exit__(None, None, None)
        assert undone == [number, number]
    finally:
        signal.signal(number, before)


def test_what_was_not_undone_is_when_the_process_ends():
    """As after an interruption that comes between the last step of a block and its undoing."""
    code = "from tests.selftest.truth.undo import Undo\nUndo().callback(print, 'undone')\n"
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout == "undone\n"

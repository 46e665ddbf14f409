"""A stack of what is to be undone, which an interruption cannot cut short. Not a test."""

from __future__ import annotations

import atexit
import signal
from contextlib import ExitStack

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Undo(ExitStack):
    """Undo at the end, or at the latest when this process ends; what interrupts it meanwhile is heard afterwards."""

    def __init__(self):
        """Have it undone also if the interruption comes just before the end of the block."""
        super().__init__()
        atexit.register(self.close)

    def __exit__(self, *error):
        """Undo; the processes started for it are left alone, too, as they inherit what is blocked."""
        before, heard = signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS), []
        # another thread blocks nothing, and what it takes is handled in this one
        handlers = {each: signal.signal(each, lambda number, _: heard.append(number)) for each in ENDINGS}
        try:
            return super().__exit__(*error)
        finally:
            atexit.unregister(self.close)
            for each, handler in handlers.items():
                signal.signal(each, handler)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            for number in heard:
                signal.raise_signal(number)

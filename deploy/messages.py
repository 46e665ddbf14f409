"""What a person sees while the environment is made: plain lines, with or without a terminal."""

from __future__ import annotations

import sys


class Stop(Exception):  # noqa: N818 - it stops the set-up, and is said as a message
    """The set-up cannot go on. ``message`` is one line; ``fix`` holds paste-ready lines."""

    def __init__(self, message: str, *, fix: str) -> None:
        """Take what is wrong and what to do."""
        super().__init__(message)
        self.message = message
        self.fix = fix


def say(text: str) -> None:
    """Print one line now, also into a pipe."""
    sys.stdout.write(f"streamworthy: {text}\n")
    sys.stdout.flush()


def say_stop(stop: Stop) -> None:
    """Print what is wrong and what to do."""
    say(stop.message)
    for line in stop.fix.splitlines():
        say(f"fix: {line}")

"""What all self-tests need of the process that they run in."""

from __future__ import annotations

import signal

import pytest
from hypothesis import settings

settings.register_profile("no deadline", deadline=None)  # a slow machine is no fault of the code
settings.load_profile("no deadline")


@pytest.fixture(scope="session", autouse=True)
def heeded_interrupt():
    """Undo what a background job passes on: an ignored SIGINT, which the tests' children would ignore for ever."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)

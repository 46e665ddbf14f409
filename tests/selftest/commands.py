"""Runs the streamworthy command as it is typed, in this process. Not a test."""

from __future__ import annotations

import contextlib
import io

from streamworthy.cli import main


def streamworthy(*arguments):
    """Give exit code, standard output and standard error; an exception that the command lets through fails a test."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = main([str(argument) for argument in arguments])
    return code, out.getvalue(), err.getvalue()

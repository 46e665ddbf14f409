"""The exceptions of the library: each is one clear line (what, where, found, expected) and a fix."""

from __future__ import annotations


class StreamworthyError(Exception):
    """Base of every error raised on purpose.

    ``message`` is complete alone and one line; ``fix`` says what to do, one paste-ready command or step a line.
    """

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message}\nfix: {self.fix}" if self.fix else self.message


class UsageError(StreamworthyError):
    """The user asked for something that cannot be done as asked: an option, a path, a tier file."""


class ProbeError(StreamworthyError):
    """A fact could not be learned. Never means that the fact is bad: unknown is its own outcome."""


class ParseError(ProbeError):
    """A kernel file or another text is not what its format says.

    Names the item, the file, the line (1-based) where one is known, what was found and what was expected.
    """

    def __init__(  # noqa: PLR0913 - a parse error is these six things
        self, item: str, *, where: str, found: str, expected: str, line: int | None = None, fix: str = ""
    ) -> None:
        place = where if line is None else f"{where}, line {line}"
        super().__init__(f"{item}: {place}: found {found!r}, expected {expected}", fix=fix)


class EngineError(ProbeError):
    """The engine gave no measurement: it crashed, hung, was killed, refused the model or cannot be imported."""

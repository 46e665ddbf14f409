"""The only door to /proc and /sys, of this machine or of a captured one.

A captured machine is a folder with ``proc/`` and ``sys/`` as text (links kept) and ``machine.toml``: where it comes
from, and the answers that are not files (statvfs, rlimits, uname, identity). The idea is that of
``lscpu --sysroot`` (util-linux): the option users have is the door tests use.
"""

from __future__ import annotations

import os
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamworthy.errors import ProbeError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

_AT_ONCE_BYTES = 2**16


class KeptFile:
    """A kernel file that is kept open to be read again: 3 us instead of 20, as nothing has to be looked up."""

    def __init__(self, path: Path | None) -> None:
        """Open it; none, and one that cannot be opened, reads as None."""
        self._descriptor: int | None = None
        with suppress(OSError):
            self._descriptor = None if path is None else os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self) -> str | None:
        """Read the text of this moment; None when it cannot be read, as of a process that has ended."""
        if self._descriptor is None:
            return None
        parts = [b""]
        with suppress(OSError):
            while part := os.pread(self._descriptor, _AT_ONCE_BYTES, sum(map(len, parts))):  # a page at most is given
                parts.append(part)
            return b"".join(parts).decode("utf-8", "surrogateescape")
        return None

    def close(self) -> None:
        """Close it; it reads as None from now on."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class Sysroot:
    """A machine's kernel files. Paths are given without a leading slash: ``proc/meminfo``.

    ``live`` is True for this machine; ``answers`` holds machine.toml of a captured one and is empty when live, and so
    does ``refusals``: what the captured machine did not let be read, with the reason.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root
        self.live = root == Path("/")
        self.answers: Mapping[str, Any] = {} if self.live else _read_answers(root)
        self.refusals = _read_refusals(self.answers)

    def path(self, name: str) -> Path:
        """Give the place of a kernel file below the root."""
        if "\0" in name:
            raise ProbeError(f"/{name}: found a NUL in a path, which no file's name holds")
        return self.root / name

    def note(self, table: str, answer: Mapping[str, Any]) -> None:
        """Take an answer of this machine that is no file, as machine.toml would hold it; a capture keeps it."""

    def _refuse(self, name: str) -> None:
        """Refuse what the machine refused when it was captured: what cannot be read is not absent."""
        if name in self.refusals:
            raise ProbeError(f"/{name}: cannot be read: {self.refusals[name]}")

    def read_text(self, name: str) -> str:
        """Read a kernel file; ProbeError when it cannot be read."""
        self._refuse(name)
        try:
            return self.path(name).read_text(encoding="utf-8", errors="surrogateescape")
        except OSError as error:
            raise _unreadable(name, error) from error

    def read_optional(self, name: str) -> str | None:
        """Read a kernel file that not every kernel has: None when it is absent, ProbeError when it cannot be read."""
        self._refuse(name)
        try:
            return self.path(name).read_text(encoding="utf-8", errors="surrogateescape")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _unreadable(name, error) from error

    def keep(self, name: str) -> KeptFile:
        """Open a kernel file to be read again and again; one that is absent or refused reads as None."""
        return KeptFile(None if name in self.refusals else self.path(name))

    def exists(self, name: str) -> bool:
        """Tell whether a kernel file or folder is there."""
        try:
            return self.path(name).exists()
        except OSError as error:  # what cannot be looked at is not absent
            raise _unreadable(name, error) from error

    def names(self, name: str) -> tuple[str, ...]:
        """List a folder, sorted; empty when it is absent."""
        self._refuse(name)
        try:
            return tuple(sorted(entry.name for entry in self.path(name).iterdir()))
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OSError as error:
            raise _unreadable(name, error, "listed") from error

    def resolve(self, name: str) -> str | None:
        """Follow links, staying below the root: the path without a leading slash, None when it is absent."""
        try:
            real = self.path(name).resolve(strict=True)
        except OSError:
            return None
        root = self.root.resolve()
        return str(real.relative_to(root)) if real.is_relative_to(root) else None


def _unreadable(name: str, error: OSError, how: str = "read") -> ProbeError:
    return ProbeError(
        f"/{name}: cannot be {how}: {error.strerror}",
        fix=f"findmnt --target /{name}; ls -ld /{name}  # masked, not mounted, or closed to this user?",
    )


def _read_refusals(answers: Mapping[str, Any]) -> dict[str, str]:
    # [[unreadable]] path = "sys/...", reason = "Permission denied"
    found = answers.get("unreadable", [])
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise UsageError(
            f"machine.toml: [[unreadable]]: found {found!r}, expected an array of tables", fix="repair the file"
        )
    return {str(each.get("path")): str(each.get("reason")) for each in found}


def _read_answers(root: Path) -> Mapping[str, Any]:
    file = root / "machine.toml"
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError(
            f"{file}: not found, expected the description of a captured machine",
            fix="give --sysroot a folder with proc/, sys/ and machine.toml, such as one below fixtures/machines/",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: not valid TOML: {error}", fix="repair the file") from error
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}", fix="check its permissions") from error

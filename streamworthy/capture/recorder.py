"""A door to kernel files that remembers what went through it, so that a capture holds what the probes read.

Links are remembered as such: /sys/class/block/sda leads to /sys/devices/..., and proc/self is kept as a folder.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamworthy.errors import ProbeError
from streamworthy.probes.sysroot import Sysroot

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MAX_HOPS = 40  # as the kernel's MAXSYMLINKS
_MAX_NAMES = 512  # of one folder
_FLEETING = "proc/self/fdinfo/"  # about descriptors of this process; what is learned there is noted
_KEPT_AS_FOLDER = ("proc/self", "proc/thread-self")


class RecordingSysroot(Sysroot):
    """A sysroot whose ``texts``, ``links``, ``folders``, ``refused`` and ``noted`` hold what was asked and answered.

    Keys of ``texts``, ``links`` and ``folders`` are places with links followed; those of ``refused`` as asked.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        super().__init__(root)
        self.texts: dict[str, str] = {}  # place: content; "" of a file that was only seen
        self.links: dict[str, str] = {}  # place of the link: place that it leads to
        self.folders: set[str] = set()
        self.refused: dict[str, str] = {}  # name as asked: reason
        self.noted: dict[str, list[Mapping[str, Any]]] = {}
        self._read: set[str] = set()

    def note(self, table: str, answer: Mapping[str, Any]) -> None:
        """Keep an answer that is no file, once."""
        answers = self.noted.setdefault(table, [])
        if answer not in answers:
            answers.append(dict(answer))

    def read_text(self, name: str) -> str:
        """Read a kernel file and keep it."""
        with self._keeping_refusals(name):
            text = super().read_text(name)
        self._keep(name, text)
        return text

    def read_optional(self, name: str) -> str | None:
        """Read a kernel file that not every kernel has and keep it where it is there."""
        with self._keeping_refusals(name):
            text = super().read_optional(name)
        if text is not None:
            self._keep(name, text)
        return text

    def _keep(self, name: str, text: str) -> None:
        place = self.place(name)
        if place not in self._read and not name.startswith(_FLEETING):
            self._read.add(place)  # later answers may differ: the first is what the facts were made of
            self.texts[place] = text

    @contextmanager
    def _keeping_refusals(self, name: str) -> Iterator[None]:
        try:
            yield
        except ProbeError as error:
            self._keep_refusal(name, error)
            raise

    def _keep_refusal(self, name: str, error: ProbeError) -> None:
        cause = error.__cause__
        if isinstance(cause, OSError) and not isinstance(cause, (FileNotFoundError, NotADirectoryError)):
            self.refused[name] = cause.strerror or "cannot be read"

    def exists(self, name: str) -> bool:
        """Tell whether a file or folder is there, and keep that it is; of a folder its files, as git keeps no other."""
        found = super().exists(name)
        if found:
            self._see(self.place(name))
            self.names(name)
        return found

    def names(self, name: str) -> tuple[str, ...]:
        """List a folder and keep its links and files; folders in it are kept when something in them is asked for."""
        with self._keeping_refusals(name):
            found = super().names(name)
        place = self.place(name) if found else ""
        for child in found[:_MAX_NAMES] if place else ():
            here = f"{place}/{child}"
            if self.path(here).is_symlink():
                self.place(here)
            elif not self.path(here).is_dir():
                self.texts.setdefault(here, "")
        return found

    def resolve(self, name: str) -> str | None:
        """Follow links and keep them, with the place that they lead to."""
        found = super().resolve(name)
        if found is not None:
            self._see(self.place(name))
        return found

    def _see(self, place: str) -> None:
        if self.path(place).is_dir():
            self.folders.add(place)
        else:
            self.texts.setdefault(place, "")

    def place(self, name: str) -> str:
        """Follow a name's links below the root one by one, keeping each; gives the place."""
        done: list[str] = []
        todo = name.split("/")
        for _ in range(_MAX_HOPS * len(todo) + len(todo)):
            if not todo:
                break
            part = todo.pop(0)
            if part == "..":
                del done[-1:]
            elif part not in ("", "."):
                self._step(done, part, todo)
        return "/".join(done)

    def _step(self, done: list[str], part: str, todo: list[str]) -> None:
        here = "/".join([*done, part])
        target = self._target(here)
        if target is None:
            done.append(part)
            return
        base = [] if target.startswith("/") else done
        self.links[here] = os.path.normpath("/".join([*base, *target.split("/")])).lstrip("/")
        if target.startswith("/"):
            done.clear()
        todo[:0] = target.split("/")

    def _target(self, place: str) -> str | None:
        if place in _KEPT_AS_FOLDER:
            return None
        try:
            return os.readlink(self.path(place))  # noqa: PTH115 - a text, so that nothing is normalised
        except OSError:
            return None

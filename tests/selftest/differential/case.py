"""One mutated set: how it is made, and what may be said of it that the engine does not say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.selftest.differential.model import make_set

if TYPE_CHECKING:
    from collections.abc import Callable

CASES: dict[str, Case] = {}


@dataclass(frozen=True, kw_only=True)
class Case:
    """``change`` alters the set before it is written, ``after`` the folder that holds it.

    ``says`` is what a cause has to name where the set is judged unfit. ``because`` is the reason, agreed with a user,
    for which a set that the engine loads may fail.
    """

    name: str
    family: str
    change: Callable | None
    after: Callable | None
    says: str
    because: str
    engine_only: str  # why nothing but loading it tells
    given: str  # the name that the user gives; empty: the folder
    handles: int  # limit of open files for the engine and for us; 0: a usual one

    def write(self, folder):
        """Write the set into a folder."""
        shards = make_set()
        if self.change is not None:
            self.change(shards)
        for shard in shards:
            (folder / shard.name).write_bytes(shard.raw())
        if self.after is not None:
            self.after(folder)


def case(family, name, change=None, *, after=None, says="", because="", engine_only="", given="", handles=0):
    """Add a case."""
    key = f"{family}: {name}"
    assert key not in CASES, key
    CASES[key] = Case(
        name=name,
        family=family,
        change=change,
        after=after,
        says=says,
        because=because,
        engine_only=engine_only,
        given=given,
        handles=handles,
    )


def name_of(number, count=3, prefix="tiny"):
    """Give a shard's name."""
    return f"{prefix}-{number:05d}-of-{count:05d}.gguf"

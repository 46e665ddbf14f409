"""Waivers: which gates are not asked of which machine, who answers for that, and until when.

A file of ``[[waiver]]`` tables with ``gate``, ``machine`` or ``tier`` (or both), ``reason``, ``owner`` and ``expires``
(a date; the last day on which it holds). InSpec's rules: a reason is required, and a date that is none is an error.
"""

from __future__ import annotations

import datetime as dt
import difflib
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamworthy.errors import UsageError
from streamworthy.thresholds import declared_gates

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

_REQUIRED = ("gate", "reason", "owner", "expires")
_KEYS = (*_REQUIRED, "machine", "tier")


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
    """One entry: the gate it waives, where, why, by whose word and until which day, that day included."""

    gate: str
    machine: str | None  # None: every machine of the tier
    tier: str | None  # None: every tier on the machine
    reason: str
    owner: str
    expires: dt.date
    see: str  # "waivers.toml, entry 2"

    def covers(self, *, machine: str, tier: str) -> bool:
        """Tell whether a machine under a tier is meant."""
        return self.machine in (None, machine) and self.tier in (None, tier)

    def __str__(self) -> str:
        """Name the entry as messages do: place, gate, scope, owner."""
        where = " and ".join(
            f"{kind} {name}" for kind, name in (("machine", self.machine), ("tier", self.tier)) if name
        )
        return f"{self.see}: {self.gate} for {where}, owner {self.owner}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Waivers:
    """The waivers of a file: those that hold today and those that have expired, in file order."""

    valid: tuple[Waiver, ...]
    expired: tuple[Waiver, ...]

    def find(self, gate: str, *, machine: str, tier: str) -> Waiver | None:
        """Give the waiver that holds for a gate on a machine under a tier; of several the one that holds longest."""
        found = [waiver for waiver in self.valid if waiver.gate == gate and waiver.covers(machine=machine, tier=tier)]
        return max(found, key=lambda waiver: waiver.expires, default=None)

    def notes(self, *, used: Collection[str], machine: str | None = None, tier: str | None = None) -> Iterator[str]:
        """Write a line for each waiver that has expired or waived nothing.

        ``used`` holds the gates that were waived. With ``machine`` and ``tier``, waivers meant for others are left out.
        """

        def meant(waiver: Waiver) -> bool:
            return waiver.covers(
                machine=(waiver.machine or "") if machine is None else machine,
                tier=(waiver.tier or "") if tier is None else tier,
            )

        for waiver in filter(meant, self.expired):
            yield f"waiver expired on {waiver.expires} and does not waive: {waiver}"
        for waiver in filter(meant, self.valid):
            if waiver.gate not in used:
                yield f"waiver not used, the gate needs none here: {waiver}"


NO_WAIVERS = Waivers(valid=(), expired=())


def load_waivers(path: Path, today: dt.date) -> Waivers:
    """Read a waiver file. UsageError names the file, the entry and all its faults at once."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}", fix=f"ls -lL {path}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not valid TOML: {error}", fix="repair the file") from error
    return parse_waivers(table, where=path.name, today=today)


def parse_waivers(table: dict[str, Any], *, where: str, today: dt.date) -> Waivers:
    """Turn the file's table into waivers. UsageError names all faults at once."""
    entries = table.get("waiver", [])
    faults = [f"unknown key {key!r}, expected [[waiver]]" for key in table if key != "waiver"]
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        faults.append("'waiver' is not a list of tables, expected [[waiver]]")
        entries = []
    for number, entry in enumerate(entries, start=1):
        faults += [f"entry {number}: {fault}" for fault in _find_faults(entry)]
    if faults:
        raise UsageError(
            f"{where}: {'; '.join(faults)}",
            fix="each [[waiver]] has gate, machine or tier, reason, owner, expires = 2026-12-31",
        )
    waivers = [_make(entry, f"{where}, entry {number}") for number, entry in enumerate(entries, start=1)]
    return Waivers(
        valid=tuple(waiver for waiver in waivers if waiver.expires >= today),
        expired=tuple(waiver for waiver in waivers if waiver.expires < today),
    )


def _find_faults(entry: dict[str, Any]) -> Iterator[str]:
    for key in entry:
        if key not in _KEYS:
            yield f"unknown key {key!r}{_suggest(key, _KEYS)}"
    for key in _REQUIRED:
        if key not in entry:
            yield f"{key!r} is missing"
    if "machine" not in entry and "tier" not in entry:
        yield "'machine' or 'tier' is missing"
    for key in ("gate", "machine", "tier", "reason", "owner"):
        if key in entry and not (isinstance(entry[key], str) and entry[key].strip()):
            yield f"{key!r}: found {entry[key]!r}, expected a text"
    gate = entry.get("gate")
    if isinstance(gate, str) and gate.strip() and gate not in declared_gates():
        yield f"'gate': found {gate!r}, expected a gate of this suite{_suggest(gate, tuple(declared_gates()))}"
    if "expires" in entry and _parse_date(entry["expires"]) is None:
        yield f"'expires': found {str(entry['expires'])!r}, expected a date such as 2026-12-31"


def _suggest(word: str, known: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f", did you mean {close[0]!r}?" if close else ""


def _parse_date(value: object) -> dt.date | None:
    """Take a TOML date or its text; a time of day would leave open in which time zone."""
    if isinstance(value, str):
        try:
            return dt.datetime.strptime(value, "%Y-%m-%d").replace(tzinfo=dt.UTC).date()
        except ValueError:
            return None
    return value if isinstance(value, dt.date) and not isinstance(value, dt.datetime) else None


def _make(entry: dict[str, Any], see: str) -> Waiver:
    expires = _parse_date(entry["expires"])
    assert expires is not None  # noqa: S101 - for the type checker: _find_faults has seen it
    return Waiver(
        gate=entry["gate"],
        machine=entry.get("machine"),
        tier=entry.get("tier"),
        reason=entry["reason"].strip(),
        owner=entry["owner"].strip(),
        expires=expires,
        see=see,
    )

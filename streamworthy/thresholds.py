"""Tiers: what is required of a machine, one complete TOML file each, no inheritance.

Which gates and bounds a file holds is not written here: it is what the criteria declare (criteria/spec.py).
"""

from __future__ import annotations

import hashlib
import importlib
import pkgutil
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamworthy import criteria
from streamworthy.criteria.spec import Bound, Criterion, Limit, optional, required
from streamworthy.errors import UsageError
from streamworthy.schema import TEXT, Faults, choice, read_table, suggest
from streamworthy.tier_tables import read_applies, read_plan, read_reference
from streamworthy.units import BYTES_PER_SECOND, FLAG, SECONDS, TOKENS_PER_SECOND

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamworthy.facts.plan import EnginePlan
    from streamworthy.facts.tier import Applies, Reference

# Topics whose gates time the engine: their numbers say how they were arrived at. So does any rate or duration.
_MEASURED_TOPICS = frozenset({"load", "first_token", "prefill", "decode"})
_MEASURED_KINDS = (SECONDS, BYTES_PER_SECOND, TOKENS_PER_SECOND)
_JUDGED = {
    "level": required(choice("require", "advise", "not_applicable")),
    "unknown": required(choice("error", "advise")),
    "reason": required(TEXT),
    "basis": optional(TEXT),
}
_EXCLUDED = {name: _JUDGED[name] for name in ("level", "reason")}
_HEAD = {"title": required(TEXT), "reason": required(TEXT), "deployment": required(FLAG)}
_OTHER = frozenset({"applies", "reference", "engine"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """One tier file, checked. ``limits`` has every gate, by name; ``sha256`` is the file's, in hex.

    ``deployment`` is False where a run can never qualify a machine (the sample).
    """

    name: str
    title: str
    reason: str
    path: Path
    sha256: str
    deployment: bool
    applies: tuple[Applies, ...]
    reference: Reference
    plan: EnginePlan
    limits: Mapping[str, Limit]


@cache
def declared_gates() -> Mapping[str, Criterion]:
    """Collect the criteria: gate ``memory.total`` is ``total`` in criteria/memory.py, if it declares its bounds."""
    found = {}
    for module in pkgutil.iter_modules(criteria.__path__):
        if module.name.startswith("_") or module.name == "spec":
            continue
        members = vars(importlib.import_module(f"{criteria.__name__}.{module.name}"))
        for name, member in members.items():
            if callable(member) and hasattr(member, "bounds") and member.__name__ == name:
                found[f"{module.name}.{name}"] = member
    return found


def load_tier(name_or_path: str, folder: Path) -> Tier:
    """Load a tier by its name in ``folder`` or by the path of a TOML file.

    Raises UsageError with all faults of the file, one line each: file, key, found, expected.
    """
    path = Path(name_or_path).expanduser()
    shown = str(path)
    if path.suffix != ".toml" and len(path.parts) == 1:
        path = folder / f"{name_or_path}.toml"
        shown = _shipped(path)
        if not path.exists():
            known = [file.stem for file in _tier_files(folder)]
            raise UsageError(
                f"tier: found {name_or_path!r}, expected the name or file of a tier: {suggest(name_or_path, known)}",
                fix=f"--tier {' | '.join(known)}, or the path of a TOML file",
            )
    return _read_tier(path, shown)


def load_tiers(folder: Path) -> tuple[Tier, ...]:
    """Load every tier of a folder, by name; UsageError when one is broken or there is none."""
    files = _tier_files(folder)
    if not files:
        raise UsageError(f"{folder}: found no tier file, expected NAME.toml", fix="--tier FILE")
    return tuple(_read_tier(file, _shipped(file)) for file in files)


def _tier_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.toml"))


def _shipped(file: Path) -> str:
    return f"{file.parent.name}/{file.name}"  # as in the suite's own folder, wherever that is


def _read_tier(path: Path, shown: str) -> Tier:
    """Read a tier file; ``shown`` is how messages and verdicts name it."""
    data = _read_bytes(path)
    faults = Faults(shown)
    table = _parse_toml(data, faults)
    head = read_table({key: table[key] for key in _HEAD if key in table}, _HEAD, key="", faults=faults)
    _note_unknown_tables(table, faults)
    applies = read_applies(table.get("applies"), faults)
    reference = read_reference(table.get("reference"), faults)
    plan = read_plan(table.get("engine"), faults)
    limits = {gate: _read_limit(gate, judge, table, faults) for gate, judge in declared_gates().items()}
    faults.raise_if_any(f"correct {path}; the files in thresholds/ are complete examples")
    return Tier(
        name=path.stem,
        title=head["title"],
        reason=head["reason"],
        path=path,
        sha256=hashlib.sha256(data).hexdigest(),
        deployment=head["deployment"],
        applies=applies,
        reference=reference,  # type: ignore[arg-type] # None only with a fault noted
        plan=plan,  # type: ignore[arg-type] # None only with a fault noted
        limits=limits,
    )


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path}: tier file cannot be read: {error.strerror}", fix="give --tier a readable TOML file"
        ) from error


def _parse_toml(data: bytes, faults: Faults) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{faults.file}: found what is not TOML: {error}", fix="correct the file at that place"
        ) from error


def _note_unknown_tables(table: Mapping[str, Any], faults: Faults) -> None:
    topics: dict[str, list[str]] = {}
    for gate in declared_gates():
        topic, _, name = gate.partition(".")
        topics.setdefault(topic, []).append(name)
    for key, value in table.items():
        if key in _HEAD or key in _OTHER:
            continue
        if key not in topics:
            known = [*_HEAD, *_OTHER, *topics]
            faults.add(f"[{key}]", found=key, expected=f"a known table: {suggest(key, known)}")
        elif not isinstance(value, dict):
            faults.add(key, found=value, expected=f"tables such as [{key}.{topics[key][0]}]")
        else:
            for name in sorted(value.keys() - set(topics[key])):
                faults.add(f"[{key}.{name}]", found=name, expected=f"a known gate: {suggest(name, topics[key])}")


def _read_limit(gate: str, judge: Criterion, table: Mapping[str, Any], faults: Faults) -> Limit:
    topic, _, name = gate.partition(".")
    gates = table.get(topic)
    found = gates.get(name) if isinstance(gates, dict) else None
    level = found.get("level") if isinstance(found, dict) else None
    if level == "not_applicable":
        values = read_table(found, _EXCLUDED, key=gate, faults=faults)
    else:
        values = read_table(found, _JUDGED | dict(judge.bounds), key=gate, faults=faults)
        if isinstance(found, dict):
            _check_bounds(gate, judge.bounds, values, found, faults)
    return Limit(
        gate=gate,
        level=values.get("level", ""),
        unknown=values.get("unknown", "error"),
        values={key: values[key] for key in judge.bounds if key in values},
        reason=values.get("reason", ""),
        basis=values.get("basis", ""),
        see=f"{faults.file} [{gate}]",
    )


def _check_bounds(
    gate: str, bounds: Mapping[str, Bound], values: Mapping[str, Any], found: Mapping[str, Any], faults: Faults
) -> None:
    given = [name for name in bounds if name in found]
    if bounds and not given and all(bound.optional for bound in bounds.values()):
        faults.add(f"[{gate}]", found=None, expected=f"at least one limit: {' or '.join(bounds)}")
    measured = gate.partition(".")[0] in _MEASURED_TOPICS or any(bounds[name].kind in _MEASURED_KINDS for name in given)
    if given and measured and "basis" not in found:
        faults.add(f"[{gate}] basis", found=None, expected="text: how the number was arrived at")
    low, high = values.get("at_least"), values.get("at_most")
    if low is not None and high is not None and bounds["at_least"].kind is bounds["at_most"].kind and low > high:
        faults.add(
            f"[{gate}] at_least", found=found["at_least"], expected=f"no more than at_most, {found['at_most']!r}"
        )
    if low == 0:
        faults.add(f"[{gate}] at_least", found=found["at_least"], expected="more than zero, which everything meets")

"""Whether a captured machine tells the same as the machine did: every fact of both, compared."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from streamworthy.errors import ProbeError
from streamworthy.probes.machine import Machine

if TYPE_CHECKING:
    from streamworthy.capture.scrubber import Scrubber

_OWN = frozenset(("name", "latencies_seconds"))  # the capture has a name of its own, and no single samples
FACTS = tuple(name for name, value in vars(Machine).items() if isinstance(value, cached_property))


def learn(machine: Machine) -> dict[str, Any]:
    """Ask a machine for every fact that it has a name for; one that cannot be learned is its ProbeError."""
    return {name: _ask(machine, name) for name in FACTS}


def _ask(machine: Machine, name: str) -> Any:  # noqa: ANN401 - any record of facts
    try:
        return getattr(machine, name)
    except ProbeError as error:
        return error


def differing(before: dict[str, Any], after: dict[str, Any], scrubber: Scrubber) -> tuple[str, ...]:
    """Name the parts of facts that differ: ``memory.groups``; names are compared by their stand-ins."""
    return tuple(
        place for name in before for place in _differing(name, plain(before[name], scrubber), plain(after[name], None))
    )


def plain(fact: Any, scrubber: Scrubber | None) -> Any:  # noqa: ANN401 - any record of facts, as dicts and tuples
    """Turn records into dicts, with stand-ins for names; what a capture does not keep is left out."""
    if isinstance(fact, ProbeError):
        return {"not_learned": True}
    if is_dataclass(fact) and not isinstance(fact, type):
        pairs = {each.name: getattr(fact, each.name) for each in fields(fact)}
        own = _OWN if "machine_class" in pairs or "latencies_seconds" in pairs else ()
        return {name: plain(value, scrubber) for name, value in pairs.items() if name not in own}
    if isinstance(fact, (tuple, list)):
        return tuple(plain(each, scrubber) for each in fact)
    return scrubber.answer(fact) if isinstance(fact, str) and scrubber else fact


def _differing(name: str, before: Any, after: Any) -> list[str]:  # noqa: ANN401 - plain values
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        return [place for key in before for place in _differing(f"{name}.{key}", before[key], after[key])]
    return [] if before == after else [name]

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
    """Name the parts of facts that differ: ``memory.groups``; a name equals its stand-in."""
    return tuple(
        place for name in before for place in _differing(name, _plain(before[name]), _plain(after[name]), scrubber)
    )


def _plain(fact: Any) -> Any:  # noqa: ANN401 - any record of facts, as dicts and tuples
    """Turn records into dicts; what a capture does not keep is left out."""
    if isinstance(fact, ProbeError):
        return {"not_learned": True}
    if is_dataclass(fact) and not isinstance(fact, type):
        pairs = {each.name: getattr(fact, each.name) for each in fields(fact)}
        own = _OWN if "machine_class" in pairs or "latencies_seconds" in pairs else ()
        return {name: _plain(value) for name, value in pairs.items() if name not in own}
    return tuple(_plain(each) for each in fact) if isinstance(fact, (tuple, list)) else fact


def _differing(name: str, before: Any, after: Any, scrubber: Scrubber) -> list[str]:  # noqa: ANN401 - plain values
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        return [place for key in before for place in _differing(f"{name}.{key}", before[key], after[key], scrubber)]
    if isinstance(before, tuple) and isinstance(after, tuple) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [place for index, pair in pairs for place in _differing(f"{name}.{index}", *pair, scrubber)]
    return [] if before == after or scrubber.answer(before) == after else [name]

"""Pressure on CPU, memory and disks: /proc/pressure (Documentation/accounting/psi.rst, 4.20) and /proc/loadavg."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streamworthy.errors import ParseError, ProbeError
from streamworthy.facts.conditions import PressureFacts

if TYPE_CHECKING:
    from streamworthy.probes.sysroot import Sysroot

_SOME = re.compile(r"^some avg10=([0-9]{1,3}\.[0-9]{1,4}) ", re.MULTILINE)
_LOAD = re.compile(r"[0-9]{1,7}\.[0-9]{1,4}")


def parse_pressure(text: str, *, where: str) -> float:
    """Read the share of the last ten seconds in which something waited; ParseError for another text."""
    match = _SOME.search(text)
    if match is None:
        raise ParseError("pressure", where=where, found=text[:40], expected="some avg10=PERCENT avg60=...")
    return float(match[1]) / 100


def probe_pressure(root: Sysroot) -> PressureFacts:
    """Read the pressure; what the kernel does not tell is None. ``busiest`` is for those who watch processes."""
    load = _LOAD.match(root.read_optional("proc/loadavg") or "")
    return PressureFacts(
        cpu_share=_share(root, "cpu"),
        memory_share=_share(root, "memory"),
        io_share=_share(root, "io"),
        load_average=float(load[0]) if load else None,
        busiest=(),
    )


def _share(root: Sysroot, resource: str) -> float | None:
    name = f"proc/pressure/{resource}"
    try:
        text = root.read_optional(name)
    except ProbeError:  # EOPNOTSUPP: compiled in and switched off with psi=0
        return None
    return None if text is None else parse_pressure(text, where=f"/{name}")

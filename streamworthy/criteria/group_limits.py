"""How the memory limit of a control group is raised, by who made the group. Pure."""

from __future__ import annotations

import math
import re
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamworthy.facts.memory import CgroupMemory

_ANYONE = (
    "container: docker run --memory=..., or resources.limits.memory of the pod",
    "service: systemctl set-property UNIT MemoryMax=infinity",
)
_UNIT = re.compile(r"[^/]+\.(?:slice|service|scope)")
_MAKERS = (  # first match wins: a pod's container may be Docker's
    (re.compile(r"kubepods"), "pod: raise resources.limits.memory of the container to {need} or more"),
    (re.compile(r"/slurm|slurmstepd"), "batch job: sbatch --mem={need}, or --mem=0 for all memory of the node"),
    (re.compile(r"/docker[-/]"), "container: docker update --memory={need} --memory-swap=-1 NAME"),
    (re.compile(r"libpod"), "container: podman update --memory={need} NAME"),
    (re.compile(r"/lxc"), "Proxmox: pct set ID --memory {mib}; Incus: incus config set NAME limits.memory={mib}MiB"),
)


def raise_limit(group: CgroupMemory | None, need_bytes: float, *, setting: str = "MemoryMax") -> tuple[str, ...]:
    """Give the lines that raise a group's limit to what is needed."""
    if group is None:
        return _ANYONE
    mib = math.ceil(need_bytes / 2**20)
    for made, line in _MAKERS:
        if made.search(group.path):
            return (line.format(need=f"{mib}M", mib=mib),)
    unit = group.path.rpartition("/")[2]
    if not _UNIT.fullmatch(unit):
        return _ANYONE if setting == "MemoryMax" else (f"service: systemctl set-property UNIT {setting}=infinity",)
    whose = "--user " if re.search(r"/user@[0-9]+\.service/", group.path) else ""
    sudo = "" if whose else "sudo "
    return (f"{sudo}systemctl {whose}set-property {shlex.quote(unit)} {setting}=infinity",)

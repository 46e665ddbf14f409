"""How a limit of a control group is raised, by who made the group. Pure."""

from __future__ import annotations

import math
import re
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamworthy.facts.memory import CgroupMemory
    from streamworthy.facts.storage import ReadLimit

_ANYONE = (
    "container: docker run --memory=..., or resources.limits.memory of the pod",
    "service: systemctl set-property UNIT MemoryMax=infinity",
)
_UNIT = re.compile(r"[^/]+\.(?:slice|service|scope)")
_MAKERS = {  # first match wins: a pod's container may be Docker's
    "pod": re.compile(r"kubepods"),
    "job": re.compile(r"/slurm|slurmstepd"),
    "docker": re.compile(r"/docker[-/]"),
    "podman": re.compile(r"libpod"),
    "lxc": re.compile(r"/lxc"),
}
_MEMORY = {
    "pod": "pod: raise resources.limits.memory of the container to {need} or more",
    "job": "batch job: sbatch --mem={need}, or --mem=0 for all memory of the node",
    "docker": "container: docker update --memory={need} --memory-swap=-1 NAME",
    "podman": "container: podman update --memory={need} NAME",
    "lxc": "Proxmox: pct set ID --memory {mib}; Incus: incus config set NAME limits.memory={mib}MiB",
}
_READS = {
    "own": "container: run it again without --device-read-bps and --device-read-iops (docker, podman)",
    "pod": "pod: give it another block I/O class (annotation blockio.resources.beta.kubernetes.io)",
    "job": "batch job: ask the cluster's administrators, whose prolog sets it",
    "docker": "container: docker run it again without --device-read-bps and --device-read-iops",
    "podman": "container: podman run it again without --device-read-bps and --device-read-iops",
    "lxc": "Incus: incus config device unset NAME DISK limits.read (or limits.max)",
}


def _maker_of(path: str) -> str | None:
    return next((name for name, made in _MAKERS.items() if made.search(path)), None)


def _set_property(path: str, settings: str) -> str | None:
    """Give the line that sets properties of a systemd unit; None when the group is none."""
    unit = path.rpartition("/")[2]
    if not _UNIT.fullmatch(unit):
        return None
    whose = "--user " if re.search(r"/user@[0-9]+\.service/", path) else ""
    return f"{'' if whose else 'sudo '}systemctl {whose}set-property {shlex.quote(unit)} {settings}"


def raise_limit(group: CgroupMemory | None, need_bytes: float, *, setting: str = "MemoryMax") -> tuple[str, ...]:
    """Give the lines that raise a group's limit to what is needed."""
    if group is None:
        return _ANYONE
    mib = math.ceil(need_bytes / 2**20)
    maker = _maker_of(group.path)
    if maker is not None:
        return (_MEMORY[maker].format(need=f"{mib}M", mib=mib),)
    line = _set_property(group.path, f"{setting}=infinity")
    if line is not None:
        return (line,)
    return _ANYONE if setting == "MemoryMax" else (f"service: systemctl set-property UNIT {setting}=infinity",)


def free_reads(limit: ReadLimit) -> tuple[str, ...]:
    """Give the lines that take a limit of reads away."""
    maker = "own" if limit.group == "/" else _maker_of(limit.group)  # a namespace's: the first group has no limits
    line = _READS[maker] if maker is not None else _set_property(limit.group, "IOReadBandwidthMax= IOReadIOPSMax=")
    if line is not None:
        return (line,)
    none = "rbps=max riops=max" if limit.file.endswith("/io.max") else "0"
    return (f"echo '{limit.major_minor} {none}' | sudo tee {shlex.quote(limit.file)}",)

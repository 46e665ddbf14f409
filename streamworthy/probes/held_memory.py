"""What holds memory besides programs, and which nodes of it a process may use.

Sources: /proc/meminfo; /proc/vmstat balloon_inflate and balloon_deflate, since Linux 3.8; OpenZFS's
/proc/spl/kstat/zfs/arcstats; Mems_allowed_list in /proc/self/status (cpuset(7)), the policy of this process in
/proc/self/numa_maps (numa(7)) and /sys/devices/system/node/nodeN/meminfo.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streamworthy.errors import ParseError
from streamworthy.facts.memory import BoundMemory, HeldMemory
from streamworthy.probes.captured import optional_table
from streamworthy.probes.meminfo import FILE
from streamworthy.probes.mountinfo import MOUNTINFO
from streamworthy.probes.process_limits import parse_cpu_list

if TYPE_CHECKING:
    from streamworthy.probes.meminfo import Meminfo
    from streamworthy.probes.sysroot import Sysroot

_ARC = "proc/spl/kstat/zfs/arcstats"
_VMSTAT = "proc/vmstat"
_NODES = "sys/devices/system/node"
_PAGE_BYTES = 4096  # of the machines that hypervisors with a balloon run; elsewhere the balloon is told too small


def probe_held(root: Sysroot, meminfo: Meminfo) -> HeldMemory | None:
    """Read what holds memory; None where meminfo is LXCFS's, which counts one container and not the machine."""
    mounts = (root.read_optional(MOUNTINFO) or "").split("\n")
    if any(line.split(" ")[4:5] == [f"/{FILE}"] for line in mounts):
        return None
    arc = parse_arcstats(root.read_optional(_ARC) or "")
    balloon = meminfo.balloon_bytes
    return HeldMemory(
        programs_bytes=meminfo.anonymous_bytes,
        huge_pages_bytes=meminfo.huge_pages_bytes,
        shared_bytes=meminfo.shared_bytes,
        balloon_bytes=parse_balloon(root.read_optional(_VMSTAT) or "") if balloon is None else balloon,
        zfs_cache_bytes=arc.get("size"),
        zfs_cache_least_bytes=arc.get("c_min"),
    )


def parse_arcstats(text: str) -> dict[str, int]:
    """Read ``name type data`` lines of a kstat; other lines, such as its two headings, are left out."""
    found = re.finditer(r"^(\w+)\s+[0-9]+\s+([0-9]{1,20})\s*$", text, re.MULTILINE | re.ASCII)
    return {line[1]: int(line[2]) for line in found}


def parse_balloon(text: str) -> int | None:
    """Read what is in the balloon from counters of pages that went in and came out; None without them."""
    counts = [re.search(rf"^balloon_{way} ([0-9]{{1,18}})$", text, re.MULTILINE) for way in ("inflate", "deflate")]
    if counts[0] is None or counts[1] is None:
        return None
    return max(0, int(counts[0][1]) - int(counts[1][1])) * _PAGE_BYTES


def probe_bound(root: Sysroot) -> BoundMemory | None:
    """Read the nodes that cpuset and memory policy allow; None where that is all of them, or there is but one.

    ParseError when a node's sizes cannot be read.
    """
    status = re.search(r"^Mems_allowed_list:\s*(\S*)$", root.read_optional("proc/self/status") or "", re.MULTILINE)
    name = next((each for each in ("has_memory", "has_normal_memory") if root.exists(f"{_NODES}/{each}")), None)
    if status is None or name is None:
        return None
    nodes = parse_cpu_list(root.read_text(f"{_NODES}/{name}"), where=f"/{_NODES}/{name}")
    allowed = {*nodes} & {*parse_cpu_list(status[1], where="/proc/self/status")}
    policy = parse_cpu_list(_policy(root), where="/proc/self/numa_maps") if len(nodes) > 1 else ()
    bound = tuple(sorted(allowed & {*policy} or allowed))
    if not bound or len(bound) == len(nodes):
        return None
    sizes = [parse_node(root.read_text(where), where=where) for where in map(_meminfo_of, bound)]
    return BoundMemory(
        nodes=bound,
        machine_nodes_count=len(nodes),
        by_policy=len(bound) < len(allowed),
        total_bytes=sum(each["MemTotal"] for each in sizes),
        available_bytes=sum(
            each["MemFree"] + each["Active(file)"] + each["Inactive(file)"] + each.get("SReclaimable", 0)
            for each in sizes
        ),
    )


def _policy(root: Sysroot) -> str:
    """Give the nodes that all memory of this process is bound to; empty without such a policy.

    A captured machine has them in ``[memory_policy]``: numa_maps itself would tell names of files.
    """
    if not root.live:
        return str(optional_table(root, "memory_policy").get("bind", ""))
    maps = root.keep("proc/self/numa_maps")
    found = parse_policy(maps.read() or "")
    maps.close()
    if found:
        root.note("memory_policy", {"bind": found})
    return found


def parse_policy(text: str) -> str:
    """Read the binding of the first map, which is the process's own: ``55d0c0de0000 bind:0 file=...``."""
    found = re.match(r"[0-9a-f]+ bind(?:=[a-z]+)?:([0-9,-]+)[ \n]", text, re.ASCII)
    return found[1] if found else ""


def _meminfo_of(node: int) -> str:
    return f"{_NODES}/node{node}/meminfo"


def parse_node(text: str, *, where: str) -> dict[str, int]:
    """Read ``Node N Name:  N kB`` lines in bytes; ParseError when one that every kernel writes is missing."""
    found = re.finditer(r"^Node\s+[0-9]+\s+([^\s:]+):\s+([0-9]{1,18}) kB\s*$", text, re.MULTILINE | re.ASCII)
    sizes = {line[1]: int(line[2]) * 2**10 for line in found}
    for name in ("MemTotal", "MemFree", "Active(file)", "Inactive(file)"):
        if name not in sizes:
            raise ParseError(name, where=f"/{where}", found="no such line", expected=f"'Node N {name}: N kB'")
    return sizes

"""In the virtual machine: tells what the probes learn of two memory nodes, NVMe drives and version 2 control groups."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

from streamworthy.bench.memory import measure_bandwidth
from streamworthy.bench.placed import read_placed
from streamworthy.gguf.subject import Subject
from streamworthy.preparation import find_machine
from streamworthy.probes.health import ask_drive, parse_health_log
from streamworthy.probes.link import parse_link
from streamworthy.probes.numa import probe_numa
from streamworthy.probes.sysroot import Sysroot
from tests.selftest.virtual.layouts import BEGIN, LAYOUTS
from tests.selftest.virtual.telling import shell, telling

_GROUPS = Path("/sys/fs/cgroup")
_MODEL = Path("/m/model.gguf")
_IN_GROUP = 'echo $$ > "$1/cgroup.procs" && shift && exec "$@"'
# name: settings of the outer and of the inner group
GROUPS = {
    "none": ({}, {}),
    "limit of the parent": ({"memory.max": "1500M"}, {}),
    "limit": ({}, {"memory.max": "1200M"}),
    "throttled": ({}, {"memory.high": "1G"}),
    "half a CPU": ({"cpu.max": "50000 100000"}, {}),
    "one CPU": ({"cpuset.cpus": "2"}, {}),
    "reads": ({"io.max": "{disk} rbps=8000000"}, {}),
    "count of reads": ({}, {"io.max": "{disk} riops=10"}),
}


def numa():
    """Near and interleaved memory of two nodes, and the sweep that the gate takes."""
    facts = probe_numa(Sysroot())
    cores = len(facts.nodes[0].cpus)
    placed = read_placed(facts.nodes, allowed=range(64), size=64 * 2**20, passes=3)
    whole = measure_bandwidth(Sysroot(), cores=cores, passes=2, available_bytes=2 * 2**30, slab_bytes=2**20)
    return {"facts": asdict(facts), "placed": asdict(placed), "whole": asdict(whole)}


def drive(name):
    """Health and link as the drive and the kernel tell them."""
    device = Path(f"/sys/class/nvme/{name}/device")
    told = {
        end: parse_link(*((device / f"{end}_link_{part}").read_text() for part in ("speed", "width")))
        for end in ("current", "max")
    }
    return {
        "health": asdict(parse_health_log(ask_drive(f"/dev/{name}"))),
        "link": {end: link and asdict(link) for end, link in told.items()},
    }


def inside():
    """What a process in a group learns, and the rate at which it reads."""
    machine = find_machine(Sysroot(), Subject(_MODEL))
    shell("echo 3 > /proc/sys/vm/drop_caches")
    begun = time.monotonic()
    size = len(_MODEL.read_bytes())
    rate = size / (time.monotonic() - begun)
    limiting, throttling = machine.memory.limiting_group, machine.memory.throttling_group
    return {
        "limit": limiting and [limiting.path, limiting.limit_bytes],
        "high": throttling and [throttling.path, throttling.high_bytes],
        "cores": machine.cpu.usable_cores_count,
        "reads": [
            [each.group, each.device, each.bytes_per_second, each.reads_per_second]
            for each in machine.read_limits.limits
        ],
        "rate": rate,
    }


def group(outer_settings, inner_settings, disk):
    """Ask in a group within a group."""
    outer, inner = _GROUPS / "outer", _GROUPS / "outer" / "inner"
    inner.mkdir(parents=True)
    try:
        for folder, settings in ((outer, outer_settings), (inner, inner_settings)):
            for name, value in settings.items():
                (folder / name).write_text(value.format(disk=disk))
            if folder == outer:
                (outer / "cgroup.subtree_control").write_text("+cpu +memory +io +cpuset")
        command = ["sh", "-c", _IN_GROUP, "sh", str(inner), sys.executable, "-m", __spec__.name, "inside"]
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    finally:
        inner.rmdir()
        outer.rmdir()


def main(*arguments):
    """Tell all, or be the process in the group."""
    if arguments:
        json.dump(inside(), sys.stdout)
        return
    with telling() as tell:
        shell(BEGIN)
        tell({"numa": numa()})
        for name in ("nvme0", "nvme1"):
            tell({name: drive(name)})
        shell(f"mkdir -p /m\n{LAYOUTS['NVMe'].up}\nhead -c 20000000 /dev/urandom > {_MODEL}; sync")
        shell(f"mount -t cgroup2 none {_GROUPS}; echo '+cpu +memory +io +cpuset' > {_GROUPS}/cgroup.subtree_control")
        disk = shell("cat /sys/class/block/$(grep ' /m ' /proc/mounts | cut -d' ' -f1 | cut -d/ -f3)/dev").strip()
        for name, settings in GROUPS.items():
            tell({name: group(*settings, disk)})


if __name__ == "__main__":
    main(*sys.argv[1:])

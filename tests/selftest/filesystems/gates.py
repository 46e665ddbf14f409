"""Asks every gate of storage, shards and integrity about a model where it lies, with a streaming tier's limits."""

from __future__ import annotations

import errno
import inspect
import mmap
import os
import signal
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from streamworthy.bench.disk import Disk, DiskBudget
from streamworthy.errors import StreamworthyError
from streamworthy.gguf.hash_cache import HashCache
from streamworthy.gguf.subject import Subject
from streamworthy.preparation import find_machine
from streamworthy.probes.sysroot import Sysroot
from streamworthy.thresholds import load_tier
from streamworthy.verdict import soften, unknown
from tests.gates.host import test_storage as host_gates
from tests.gates.model import test_integrity as content_gates
from tests.gates.model import test_shards as shard_gates
from tests.gates.performance import test_storage as measured_gates

ROOT = Path(__file__).parents[3]
TIER = load_tier("laptop-32g", ROOT / "thresholds")
MODULES = (host_gates, measured_gates, shard_gates, content_gates)
_BRIEF = DiskBudget(seconds=0.2, rounds_count=1, sustained=False)


def limit_of(gate):
    """Give a tier's limit; how fast the disk of whatever machine runs the tests is, is not what is tested."""
    limit = TIER.limits[gate]
    slow = {"random_read_at_most": 60.0} if "random_read_at_most" in limit.values else {}
    return replace(limit, values={**limit.values, **slow})


def gates(modules=MODULES):
    """Give every gate's name and question, as they stand below tests/gates."""
    for module in modules:
        topic = Path(module.__file__).stem.removeprefix("test_")
        for name, function in vars(module).items():
            if name.startswith("test_"):
                yield f"{topic}.{name.removeprefix('test_')}", function


def judge(path, manifest, modules=MODULES):
    """Give each gate's verdict on the model that a path names."""
    model = Subject(path, manifest=manifest, hash_cache=HashCache(None))
    machine = find_machine(Sysroot(), model)
    disk = Disk(machine, model, threads=2, budget=_BRIEF, disturb=True, scratch=lambda: manifest.parent)
    offered = {
        "machine": machine,
        "model": model,
        "plan": TIER.plan,
        "bench": SimpleNamespace(disk=disk),
        "settled": lambda look, _judge: look(machine),  # patience with others is tested elsewhere
    }
    return {gate: _ask(gate, question, offered) for gate, question in gates(modules)}


def _ask(gate, question, offered):
    taken, limit = [], limit_of(gate)
    offered = {**offered, "limit": limit, "require": taken.append}
    try:
        question(**{name: offered[name] for name in inspect.signature(question).parameters})
    except StreamworthyError as error:
        taken.append(unknown(error.message, error.fix))
    return soften(taken[0], level=limit.level, unknown=limit.unknown)


def map_of(path):
    """Map a page of a file as the engine does, shared and to be read, in a child; gives "maps" or the reason."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, _touch(path).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as said:
        told = said.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return told if status == 0 else signal.Signals(-status).name


def _touch(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with mmap.mmap(descriptor, mmap.PAGESIZE, mmap.MAP_SHARED, mmap.PROT_READ) as page:
            return "maps" if page[:4] == b"GGUF" else "other bytes"
    except OSError as error:
        return errno.errorcode[error.errno]


def flags_are_evidence(path):
    """Tell whether the disks below a model are known by their own flags, without a measurement."""
    volumes = find_machine(Sysroot(), Subject(path)).volumes.volumes
    return all(leaf.flags_are_evidence for volume in volumes for leaf in volume.leaves)

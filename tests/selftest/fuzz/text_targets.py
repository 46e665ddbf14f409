"""Every parser of texts that others write, and whole captured machines with one of their files changed."""

from __future__ import annotations

import datetime as dt
import re
import tomllib
from pathlib import Path

from streamworthy.bench.cpu_load import parse_cpu_line, parse_process_stat
from streamworthy.bench.disturbers import device_read_bytes, find_mappers, parse_read_bytes, process_read_bytes
from streamworthy.bench.readings import parse_anonymous, parse_disk_stat, parse_paging, parse_stalled
from streamworthy.engine.death import read_oom_counters
from streamworthy.engine.log import clean_log, explain_refusal, parse_log
from streamworthy.engine.selfview import parse_maps, parse_random, parse_status
from streamworthy.errors import StreamworthyError, UsageError
from streamworthy.gguf.hugging_face import expect_from_metadata
from streamworthy.gguf.leaks import find_leaks
from streamworthy.gguf.manifest import find_manifest
from streamworthy.gguf.names import is_model, parse_leftover, parse_name
from streamworthy.gguf.pieces import parse_piece
from streamworthy.gguf.strangers import parse_pointer, recognise
from streamworthy.probes import process_limits
from streamworthy.probes.cgroup import parse_amount, parse_cpu_max, parse_memberships, parse_stat
from streamworthy.probes.cpu import parse_cpuinfo
from streamworthy.probes.held_memory import parse_arcstats, parse_balloon, parse_node
from streamworthy.probes.kernel import parse_osrelease
from streamworthy.probes.link import parse_link
from streamworthy.probes.machine import Machine
from streamworthy.probes.meminfo import parse_meminfo
from streamworthy.probes.mountinfo import mount_of, parse_mountinfo
from streamworthy.probes.overlay import parse_layers
from streamworthy.probes.read_limits import parse_io_max, parse_throttle
from streamworthy.probes.settings import mapping_kind, parse_choice, parse_microcode, telling_parameters
from streamworthy.probes.swap import parse_swappiness, parse_swaps
from streamworthy.probes.sysroot import Sysroot, _read_refusals
from streamworthy.thresholds import load_tier
from streamworthy.waivers import load_waivers
from tests.selftest.gguf.test_kv_cache import PLAN

ROOT = Path(__file__).parents[3]
MACHINES = ROOT / "fixtures" / "machines"
SHARD = "model-00001-of-00002.gguf"
FACTS = (
    "cpu",
    "memory",
    "swap",
    "memlock",
    "kernel",
    "host",
    "volumes",
    "latency",
    "mapping",
    "address_space",
    "links",
)
TODAY = dt.date(2026, 1, 1)
EXPECTED = (StreamworthyError,)


class Changed(Sysroot):
    """A captured machine in which one file has another text."""

    def __init__(self, root, name, text):
        super().__init__(root)
        self.name, self.text = name, text
        if name == "machine.toml":
            self.answers = tomllib.loads(text)
            self.refusals = _read_refusals(self.answers)

    def read_text(self, name):
        return self.text if name == self.name else super().read_text(name)

    def read_optional(self, name):
        return self.text if name == self.name else super().read_optional(name)


def run_machine(folder, name, text):
    """Ask a captured machine with one changed file for all its facts."""
    try:
        root = Changed(MACHINES / folder, name, text)
    except (tomllib.TOMLDecodeError, UsageError):  # Sysroot itself reads a real machine.toml
        return
    machine = Machine(root, plan=PLAN)
    asked = [lambda fact=fact: getattr(machine, fact) for fact in FACTS]
    asked.append(lambda: device_read_bytes(root, ("sda", "nvme0n1")))
    asked.append(lambda: read_oom_counters(root))
    for ask in asked:
        try:
            ask()
        except EXPECTED as error:
            _check(error)


def _check(error):
    assert error.message
    assert str(error)


def run_file(scratch, name, text, ask):
    """Write a text as a file and ask about it."""
    path = scratch / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    ask(path)


def _manifest(path):
    shards = (path.with_name(SHARD), path.with_name("model-00002-of-00002.gguf"))
    find_manifest(shards, path)


def _metadata(path):
    expect_from_metadata(path.parents[3] / SHARD)


def _names(text):
    for name in text.split("\n"):
        parse_name(name)
        parse_leftover(name)
        parse_piece(name)
        is_model(name)


def _head(text):
    head = text.encode("utf-8", "surrogateescape")
    parse_pointer(head)
    recognise(head, SHARD)


def _mounts(text):
    mounts = parse_mountinfo(text)
    for mount in mounts:
        parse_layers(mount)
    mount_of(mounts, "/home/user/models/model.gguf")


def _settings(text):
    parse_choice(text)
    parse_microcode(text)
    mapping_kind(text)
    telling_parameters(text)


def _log(text):
    clean_log(text)
    parse_log(text)
    explain_refusal(text)


def _link(text):
    speed, _, width = text.partition("\n")
    parse_link(speed, width)


def _counters(text):
    parse_stalled(text)
    parse_paging(text)
    parse_anonymous(text)


def _leaks(text):
    for template in (False, True):
        for leak in find_leaks(text, template=template):
            assert 0 <= leak.start < leak.end <= len(text)
            assert leak.shown.isprintable()


def _held(text):
    parse_arcstats(text)
    parse_balloon(text)
    parse_node(text, where="node0/meminfo")


PARSERS = {
    "link": _link,
    "counters": _counters,
    "disk-stat": parse_disk_stat,
    "process-io": lambda text: parse_read_bytes(text, where="io"),
    "process-stat": parse_process_stat,
    "cpu-times": parse_cpu_line,
    "mountinfo": _mounts,
    "meminfo": parse_meminfo,
    "held-memory": _held,
    "cgroup": parse_memberships,
    "amount": lambda text: parse_amount(text, where="memory.max"),
    "stat": lambda text: parse_stat(text, where="memory.stat"),
    "cpu-max": lambda text: parse_cpu_max(text, where="cpu.max"),
    "io-max": lambda text: parse_io_max(text, where="io.max"),
    "throttle": lambda text: parse_throttle(text, where="blkio.throttle.read_bps_device"),
    "cpu-list": lambda text: process_limits.parse_cpu_list(text, where="online"),
    "limits": lambda text: process_limits.parse_limit(text, process_limits.LOCKED),
    "status": process_limits.parse_status,
    "engine-status": parse_status,
    "maps": lambda text: parse_maps(text, {12345}, {SHARD}),
    "smaps": lambda text: parse_random(text, {12345}, {SHARD}),
    "settings": _settings,
    "swaps": parse_swaps,
    "swappiness": parse_swappiness,
    "cpuinfo": parse_cpuinfo,
    "osrelease": parse_osrelease,
    "names": _names,
    "head": _head,
    "leaks": _leaks,
    "log": _log,
}
FILES = {
    "sha256sum": ("SHA256SUMS", _manifest),
    "hub-metadata": (f".cache/huggingface/download/{SHARD}.metadata", _metadata),
    "waivers": ("waivers.toml", lambda path: load_waivers(path, TODAY)),
    "tier": ("tier.toml", lambda path: load_tier(str(path), path.parent)),
}


def machine_files():
    """List the files of all captured machines that are worth changing: each once by its kind."""
    for folder in sorted(MACHINES.iterdir()):
        if (folder / "machine.toml").is_file():
            for path in sorted(folder.rglob("*")):
                if path.is_file() and not path.is_symlink():
                    yield folder.name, path.relative_to(folder).as_posix()


class OneProcess(Sysroot):
    """A /proc with one process, whose text is given."""

    def __init__(self, text):
        super().__init__()
        self.text = text

    def names(self, name):
        return ("4194305",) if name == "proc" else ()

    def read_text(self, _name):
        return self.text

    read_optional = read_text


def run_process(text):
    """Ask the search for disturbers about one process."""
    root = OneProcess(re.sub(r"\r", "", text))
    find_mappers(root, [Path(__file__)])
    process_read_bytes(root, 1)

"""The cache command, as it is typed, on real files and the real page cache."""

from __future__ import annotations

import contextlib
import json
import mmap
import re
import signal
import subprocess
import sys

import pytest

from streamworthy.bench.evict import evict
from streamworthy.bench.residency import residency
from tests.selftest.bench.disk_file import make_disk_file
from tests.selftest.commands import streamworthy
from tests.selftest.filesystems.mounts import need_root, served
from tests.selftest.gguf.moe_files import write_shards

MAP_AND_WAIT = """
import mmap, sys
with open(sys.argv[1], 'rb') as file:
    area = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    sum(area[::4096])
    print('mapped', flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def shards(tmp_path):
    """Make a set of three shards, all resident, on a disk that gives pages back."""
    make_disk_file(tmp_path, "probe").unlink()
    return write_shards(tmp_path)


def shares(model):
    """Ask show for JSON; give the resident share by kind."""
    code, out, err = streamworthy("cache", "show", model, "--json")
    assert (code, err) == (0, "")
    return {kind: part["resident_bytes"] / part["total_bytes"] for kind, part in json.loads(out)["kinds"]}


def test_show_tells_shards_kinds_and_layers(shards):
    """A wholly resident set is 100 % in all three tables."""
    with contextlib.ExitStack() as stack:
        for path in shards:  # mapped, so that nobody else on this machine can drop them meanwhile
            file = stack.enter_context(path.open("rb"))
            area = stack.enter_context(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))
            sum(area[:: mmap.PAGESIZE])
        code, out, _ = streamworthy("cache", "show", shards[1])
    assert code == 0
    assert re.search(r"^moe-00001-of-00003\.gguf .* 100\.0 % ", out, re.MULTILINE)
    assert re.search(r"^all .* 100\.0 %", out, re.MULTILINE)
    assert re.search(r"^routed experts .* 100\.0 %$", out, re.MULTILINE)
    assert re.search(r"^0-2 +100\.0 % +100\.0 %$", out, re.MULTILINE)


def test_to_show_is_not_to_warm(shards):
    """After an eviction nothing is resident, however often one asks."""
    evict(shards)
    assert set(shares(shards[0]).values()) == {0.0}
    assert set(shares(shards[0].parent).values()) == {0.0}
    assert residency(shards).resident_bytes == 0


def test_warm_keeps_to_its_order_and_budget(shards):
    """What every token reads comes before experts, and the first layer before the last."""
    evict(shards)
    code, out, _ = streamworthy("cache", "warm", shards[0], "--bytes", "1300 KiB")
    assert code == 0
    assert out.startswith("wanted 1.3 MiB, 0 B were there, read 1.3 MiB")
    found = shares(shards[0])
    assert [found[kind] for kind in ("dense", "shared experts", "output", "embeddings")] == [1.0] * 4
    assert 0 < found["routed experts"] < 1
    assert found["unused layers"] < 0.1


def test_warm_without_a_budget_takes_what_memory_allows(shards):
    """A small model is then wholly resident; a second time nothing is read."""
    evict(shards)
    assert streamworthy("cache", "warm", shards[0])[0] == 0
    assert residency(shards).share > 0.99
    assert "read 0 B\n" in streamworthy("cache", "warm", shards[0])[1]


def test_a_budget_beyond_memory_is_said(shards):
    """All of a small model is still brought."""
    code, out, _ = streamworthy("cache", "warm", shards[0], "--bytes", "900 TiB")
    assert code == 0
    assert out.startswith("900.0 TiB is more than there is to spare (")


def test_evict_is_verified(shards):
    """From what was resident to nothing."""
    code, out, _ = streamworthy("cache", "evict", shards[0])
    assert code == 0
    assert re.match(r"resident 100\.0 % -> 0\.0 % of 3\.\d MiB \(cachestat\), in ", out)
    assert residency(shards).resident_bytes == 0


def test_evict_refuses_under_a_process_that_maps_a_shard(shards):
    """It is named, nothing is dropped; with --disturb it is tried, and what stays is said with exit code 1."""
    with subprocess.Popen(
        [sys.executable, "-c", MAP_AND_WAIT, str(shards[1])], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        other.stdout.readline()
        code, out, err = streamworthy("cache", "evict", shards[0])
        kept = residency(shards).share
        forced = streamworthy("cache", "evict", shards[0], "--disturb")
        other.stdin.close()
    assert (code, out, kept) == (2, "", 1.0)
    assert re.match(rf"streamworthy: evict: found python\S* \(pid {other.pid}\) mapping the shards", err)
    assert "--disturb" in err
    assert forced[0] == 1
    assert f"(pid {other.pid})" in forced[1]
    assert residency([shards[0], shards[2]]).resident_bytes == 0


def test_hold_for_some_seconds(shards):
    """The effect is measured, and the end is said."""
    evict(shards)
    code, out, _ = streamworthy("cache", "hold", "--dense", shards[0], "--seconds", "0")
    assert code == 0
    assert re.search(r"^VmLck +0 B -> \d{3}\.\d KiB$", out, re.MULTILINE)
    assert re.search(r"^resident +0\.0 % -> 100\.0 % \(cachestat\)$", out, re.MULTILINE)
    assert re.search(r"^let go after .*, at 100\.0 % resident$", out, re.MULTILINE)


def test_ctrl_c_ends_a_hold_and_leaves_nothing(shards):
    """It is the way that a hold is meant to end: 0, and the pages can be evicted again."""
    with subprocess.Popen(
        [sys.executable, "-m", "streamworthy.cli", "cache", "hold", "--dense", str(shards[0])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as holder:
        assert any(line == "until Ctrl-C\n" for line in holder.stdout)
        code, _, err = streamworthy("cache", "evict", shards[0])
        holder.send_signal(signal.SIGINT)
        out, said = holder.communicate(timeout=30)
    assert (code, f"(pid {holder.pid})" in err) == (2, True)
    assert (holder.returncode, said) == (0, "")
    assert out.startswith("let go after ")
    assert streamworthy("cache", "evict", shards[0])[0] == 0


def test_a_part_of_a_set_is_shown_as_such(shards):
    """What is missing is said first."""
    shards[2].unlink()
    out = streamworthy("cache", "show", shards[0])[1]
    assert out.startswith("1 of 3 shards are missing: this is of those that are there\n")


def test_files_that_are_no_model_are_shown_without_a_layout(tmp_path):
    """The page cache holds any file; which tensors these are is not known."""
    path = make_disk_file(tmp_path, "model.gguf")
    code, out, _ = streamworthy("cache", "show", path)
    assert code == 0
    assert "model.gguf: not read: byte 0: magic" in out
    assert "which tensors these are is not known: model.gguf: " in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("warm", "--bytes", "lots"), "--bytes: found 'lots', expected a number with one of"),
        (("hold", "--dense", "--seconds", "-1"), "--seconds: found -1.0, expected 0 or more"),
    ],
)
def test_a_wrong_option_is_one_line(shards, arguments, message):
    """Option, found, expected; exit code 2."""
    code, out, err = streamworthy("cache", *arguments, shards[0])
    assert (code, out) == (2, "")
    assert err.startswith(f"streamworthy: {message}")


@pytest.mark.root
def test_fuse_is_not_asked(tmp_path, shards):
    """To open a file there drops its pages, so that any answer would be wrong afterwards."""
    need_root()
    with served(tmp_path / "mount", "bindfs", "-f", str(shards[0].parent)) as mount:
        code, out, err = streamworthy("cache", "show", mount / shards[0].name)
    assert (code, out) == (2, "")
    assert "lies on FUSE" in err


@pytest.mark.parametrize("action", ["show", "warm", "evict"])
def test_a_path_that_is_not_there_is_one_line(tmp_path, action):
    """Nothing to look at."""
    code, _, err = streamworthy("cache", action, tmp_path / "gone.gguf")
    assert (code, "gone.gguf: not found" in err) == (2, True)

"""The inspect command: sound, partial and broken models."""

import json
import re
from pathlib import Path

import pytest

from streamworthy.gguf.subject import Subject
from tests.selftest.bench.disk_file import make_disk_file
from tests.selftest.commands import streamworthy
from tests.selftest.gguf.build import build
from tests.selftest.gguf.moe_files import KEYS, write_model, write_shards


def inspected(*arguments):
    """Run it with success and give its lines."""
    code, out, err = streamworthy("inspect", *arguments)
    assert (code, err) == (0, "")
    return out


def test_a_whole_model_is_told_in_full(tmp_path):
    """Every number that the command promises has its line, and nothing is marked as a bound."""
    out = inspected(write_model(tmp_path))
    assert "Three layers and one spare: qwen3moe, 3 layers, 8 experts of which a token uses 2" in out
    for label in (
        "parameters",
        "dense",
        "shared experts",
        "routed experts",
        "embeddings",
        "unused layers",
        "slabs of 36.0 KiB",
        "cold token",
        "KV cache      1.5 KiB a token, 6.0 MiB at 4096 tokens (f16, grouped-query attention)",
        "left as cache",
        "cache : experts = ",
        "hit rate 0 %",
        "hit rate 50 %",
        "hit rate 90 %",
        "1.0 GB/s   3.0 GB/s   7.0 GB/s",
        "in bf16",
    ):
        assert label in out
    assert ">=" not in out
    assert "partial" not in out


def test_options_change_what_they_name(tmp_path):
    """Context and KV type change the cache, bandwidths the ceilings."""
    path = write_model(tmp_path)
    out = inspected(path, "--context", "1000", "--kv-type", "q8_0", "--disk", "2 GB/s", "--memory", "40GB/s")
    assert "816.0 KiB at 1024 tokens (q8_0" in out
    assert "2.0 GB/s" in out
    assert "for round bandwidths" not in out


def test_a_tier_gives_the_bandwidths_of_the_machine_that_just_meets_it(tmp_path):
    """Whoever plans a machine sees what it promises; a bandwidth that is given by hand counts first."""
    path = write_model(tmp_path)
    out = inspected(path, "--tier", "laptop-32g")
    assert "ceilings in tok/s of the machine that just meets tier laptop-32g: nothing real" in out
    assert re.search(r"by disk, .* 3\.0 GB/s$", out, re.MULTILINE)
    assert re.search(r"by memory, .* 30\.0 GB/s$", out, re.MULTILINE)
    assert re.search(
        r"by disk, .* 2\.0 GB/s$", inspected(path, "--tier", "laptop-32g", "--disk", "2 GB/s"), re.MULTILINE
    )


@pytest.mark.slow
def test_this_machines_bandwidths_can_be_measured(tmp_path):
    """Shards that are too small for it are helped out by a scratch file on the same disk, which leaves nothing."""
    make_disk_file(tmp_path, "probe").unlink()
    path = write_model(tmp_path)
    code, out, err = streamworthy("inspect", path, "--measure", "--disturb", "--scratch", tmp_path)
    if code:
        pytest.skip(err)  # a disk whose numbers are doubtful is refused with the reason
    assert "ceilings in tok/s of this machine, the best that was measured: nothing real" in out
    assert len(re.findall(r"hit rate \d+ % +(?:> )?\d\S*$", out, re.MULTILINE)) == 3
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_measured_is_one_line(tmp_path):
    """A scratch folder on another disk would give that one's bandwidth."""
    other = Path("/dev/shm")  # noqa: S108 - nothing is written there
    if not other.is_dir() or other.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no second file system is here")
    code, out, err = streamworthy("inspect", write_model(tmp_path), "--measure", "--disturb", "--scratch", other)
    assert (code, out) == (2, "")
    assert "the scratch folder /dev/shm is on another one" in err
    assert "Traceback" not in err


def test_json_has_the_numbers_of_the_text(tmp_path):
    """The same facts, unrounded."""
    path = write_model(tmp_path)
    found = json.loads(inspected(path, "--json"))
    sizes = Subject(path).sizes
    assert found["sizes"]["parameter_count"] == sizes.parameter_count
    assert found["intermediate_bytes"] == 2 * sizes.parameter_count
    assert found["kv"]["full_bytes"] == 6 * 2**20
    assert {kind["kind"] for kind in found["kinds"]} == {
        "dense", "shared experts", "output", "embeddings", "routed experts", "unused layers"
    }  # fmt: skip
    assert found["completeness"]["absent"] == []
    assert found["bits_per_weight"]["routed experts"] == 4.5
    assert found["kv_bytes"] == 6 * 2**20
    assert found["cache_to_experts_ratio"] == found["cache_bytes"] / sizes.expert_bytes
    assert (found["partial"], found["space_bytes"]) == (False, 2 * sizes.parameter_count + path.stat().st_size)


def test_the_first_shard_alone_says_what_is_partial(tmp_path):
    """While others are missing sums are lower bounds, and what the keys say is exact."""
    paths = write_shards(tmp_path)
    whole = Subject(paths[0]).sizes
    for path in paths[1:]:
        path.unlink()
    out = inspected(paths[0])
    assert "partial       7 of 23 tensors seen, 1 of 3 shards are there" in out
    assert "missing       moe-00002-of-00003.gguf" in out
    assert re.search(r"^parameters +>= ", out, re.MULTILINE)
    assert "left as cache" in out
    assert "<= " in out
    assert "KV cache      1.5 KiB a token" in out
    part = json.loads(inspected(paths[0], "--json"))["sizes"]
    assert part["parameter_count"] < whole.parameter_count


def test_a_shard_that_is_still_being_written_says_how_much_is_there(tmp_path):
    """Its header is whole, so every number is exact."""
    path = write_model(tmp_path)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)
    out = inspected(path)
    assert re.search(r"^unfinished +moe\.gguf: (49|50)\.\d % of 3\.\d MiB is there$", out, re.MULTILINE)
    assert ">=" not in out


def test_a_first_shard_under_its_temporary_name_knows_its_set(tmp_path):
    """A downloader's name does not say how many shards there are; the header does."""
    paths = write_shards(tmp_path)
    part = tmp_path / "elsewhere" / "download.incomplete"
    part.parent.mkdir()
    paths[0].rename(part)
    assert "7 of 23 tensors seen, 1 of 3 shards are there" in inspected(part)


def test_a_broken_second_shard_is_named(tmp_path):
    """The rest is told, as lower bounds."""
    paths = write_shards(tmp_path)
    paths[1].write_bytes(b"<!DOCTYPE html>" + paths[1].read_bytes()[15:])
    out = inspected(paths[0])
    assert "not read      moe-00002-of-00003.gguf: " in out
    assert ">= " in out


def test_an_unknown_architecture_leaves_the_kv_cache_unknown(tmp_path):
    """What does not follow from it is told all the same."""
    keys = tuple(
        (name.replace("qwen3moe", "novel"), kind, "novel" if value == "qwen3moe" else value)
        for name, kind, value in KEYS
    )
    out = inspected(write_model(tmp_path, keys=keys))
    assert re.search(r"^KV cache +not known: ", out, re.MULTILINE)
    assert re.search(r"^memory +ledger not known: ", out, re.MULTILINE)
    assert "hit rate 90 %" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--context", "0"), "--context: found 0"),
        (("--kv-type", "q4_k"), "--kv-type: found 'q4_k', which llama.cpp has no cache of"),
        (("--kv-type", "nonsense"), "--kv-type: found 'nonsense', expected one of f32, f16"),
        (("--disk", "3"), "--disk: found '3', expected a number with one of B/s"),
        (("--memory", "0 GB/s"), "--memory: found '0 GB/s', expected more than nothing"),
        (("--tier", "laptop-23g"), "tier: found 'laptop-23g', expected the name or file"),
    ],
)
def test_a_wrong_option_is_one_line(tmp_path, arguments, message):
    """Option, found, expected; exit code 2."""
    code, out, err = streamworthy("inspect", write_model(tmp_path), *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"streamworthy: {message}")


BROKEN = {
    "text": b"hello, this is no model",
    "empty": b"",
    "web page": b"<!DOCTYPE html><html></html>",
    "lfs": b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 123456\n",
    "cut": build(KEYS)[:200],
    "big-endian": build((("general.architecture", "str", "llama"),), order=">"),
    "no architecture": build((("general.name", "str", "x"),)),
    "no layers": build((("general.architecture", "str", "llama"),)),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_broken_model_is_one_line_with_its_name(tmp_path, content):
    """No table of half a model, no traceback."""
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    code, out, err = streamworthy("inspect", path)
    assert (code, out) == (2, "")
    assert err.startswith("streamworthy: model.gguf: ")


def test_a_missing_first_shard_and_a_missing_path_are_said(tmp_path):
    """Only the first shard names the architecture."""
    paths = write_shards(tmp_path)
    paths[0].unlink()
    code, _, err = streamworthy("inspect", paths[1])
    assert (code, "moe-00001-of-00003.gguf: not found, and it alone names" in err) == (2, True)
    code, _, err = streamworthy("inspect", tmp_path / "nowhere.gguf")
    assert (code, "nowhere.gguf: not found" in err) == (2, True)


def test_what_is_no_model_is_told_to_be_none(tmp_path):
    """An adapter has no layers to count, and pieces no sizes before they are joined."""
    adapter, pieces = tmp_path / "adapter", tmp_path / "pieces"
    adapter.mkdir()
    pieces.mkdir()
    keys = (("general.type", "str", "adapter"), ("general.architecture", "str", "llama"))
    (adapter / "m.gguf").write_bytes(build(keys))
    code, _, err = streamworthy("inspect", adapter)
    assert (code, "expected a language model. a LoRA adapter" in err) == (2, True)
    for number in (1, 2):
        (pieces / f"m.gguf.part{number}of2").write_bytes(build(KEYS)[:900])
    code, _, err = streamworthy("inspect", pieces)
    assert (code, "pieces of a file" in err, "cut short" in err) == (2, True, False)

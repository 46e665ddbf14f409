"""Hashes of single tensors against the manifest that llama-gguf-hash made of the tiny model."""

import hashlib
import re
from pathlib import Path

import pytest

from streamworthy.criteria.integrity import hashes
from streamworthy.errors import ProbeError, UsageError
from streamworthy.gguf.hash_cache import HashCache
from streamworthy.gguf.hashes import make_tensor_manifest
from streamworthy.gguf.manifest import find_manifest
from streamworthy.gguf.reader import read_header
from streamworthy.gguf.subject import Subject
from streamworthy.gguf.tensor_hashes import can_hash
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.differential.model import make_set
from tests.selftest.gguf.test_gguf_hash import FIXTURE

SECOND = "tiny-00002-of-00003.gguf"
DAMAGED = "blk.1.attn_k.weight"


@pytest.fixture
def model(tmp_path):
    """The tiny model, as it was when the manifest was made."""
    folder = tmp_path / "model"
    folder.mkdir()
    for shard in make_set():
        (folder / shard.name).write_bytes(shard.raw())
    return folder


@pytest.fixture
def judge(model, tmp_path):
    """Hold the model against a manifest; gives facts and verdict."""

    def ask(text):
        manifest = tmp_path / "tensors.manifest"
        manifest.write_text(text, encoding="utf-8")
        facts = Subject(model, manifest=manifest, hash_cache=HashCache(tmp_path / "store")).hashes
        return facts, hashes(facts, limit())

    return ask


def lines(pattern):
    """Give those lines of the tool's manifest that match."""
    text = FIXTURE.read_text(encoding="utf-8")
    return "".join(line for line in text.splitlines(keepends=True) if re.search(pattern, line))


def place_of(path, name):
    """Give where a tensor begins in a file."""
    header = read_header(path)
    return header.data_start_bytes + next(one.offset_bytes for one in header.tensors if one.name == name)


def damage(path, name, at=5):
    """Flip a bit of a tensor."""
    raw = bytearray(path.read_bytes())
    raw[place_of(path, name) + at] ^= 1
    path.write_bytes(raw)


@pytest.mark.parametrize("algorithm", ["sha256", "sha1", "xxh64", "sha256|sha1|xxh64"])
@pytest.mark.parametrize("kind", ["", ":", "gguf$"])
def test_the_tools_manifest_is_met(judge, algorithm, kind):
    """By tensor, by all of a file, and by both; of several algorithms by the one that proves most."""
    if algorithm == "xxh64" and not can_hash("xxh64"):
        pytest.skip("the package xxhash is not installed")
    facts, found = judge(lines(rf"^({algorithm}) .*{kind}"))
    assert (found.word, found.measured) == (Word.ADVICE, "3 of 3 shards match"), found.cause
    assert {one.expected.algorithm for one in facts.tensors} == {algorithm.split("|")[0]}
    assert sum(one.matching_count for one in facts.tensors) == 39


@pytest.mark.parametrize("algorithm", ["sha256", "sha1", "xxh64"])
def test_a_flipped_bit_is_found_in_its_tensor(model, judge, algorithm):
    """With the bytes that it is in."""
    if not can_hash(algorithm):
        pytest.skip("the package xxhash is not installed")
    damage(model / SECOND, DAMAGED)
    facts, found = judge(lines(f"^{algorithm} .*:"))
    ((wrong,),) = [one.wrong for one in facts.tensors if one.wrong]
    assert (wrong.name, wrong.offset_bytes) == (DAMAGED, place_of(model / SECOND, DAMAGED))
    assert found.word is Word.FAIL
    assert f"{SECOND}: not as in tensors.manifest: {DAMAGED} (bytes {wrong.offset_bytes} to" in found.cause


def test_all_of_a_file_together_tells_that_it_differs(model, judge):
    """Not where."""
    damage(model / SECOND, DAMAGED)
    _, found = judge(lines(r"^sha256 .*gguf$"))
    assert (found.word, found.cause) == (Word.FAIL, f"{SECOND}: its tensors are not those of tensors.manifest")


def test_a_shard_that_differs_is_searched_only_then(model, judge):
    """With hashes of whole shards beside those of tensors, the tensors of sound shards are not read once more."""
    sums = "".join(f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n" for p in sorted(model.iterdir()))
    facts, found = judge(sums + lines("^sha256 "))
    assert (found.word, facts.tensors) == (Word.PASS, ())
    damage(model / SECOND, DAMAGED)
    facts, found = judge(sums + lines("^sha256 "))
    assert [one.expected.path.name for one in facts.tensors] == [SECOND]
    assert DAMAGED in found.cause
    assert found.value == 1.0


def test_a_header_that_was_edited_is_no_damage_of_tensors(model, judge):
    """Hashes of tensors are made for it; what they do not cover is told."""
    path = model / SECOND
    shard = make_set()[1]
    shard.set_key("general.note", "str", "x" * 1000)
    path.write_bytes(shard.raw())
    _, found = judge(lines("^sha256 "))
    assert found.word is Word.ADVICE
    assert any("no hash" in line for line in found.evidence)


def test_lines_of_some_tensors_are_not_enough(judge):
    """The rest is not verified."""
    _, found = judge(lines(r"^sha256 .*:(?!blk\.1\.)"))
    assert found.word is Word.ERROR
    assert "tensors not in tensors.manifest, the first is blk.1." in found.cause


def test_a_tensor_that_is_only_in_the_manifest(judge):
    """Another model's manifest, or a tensor that was taken out."""
    _, found = judge(lines("^sha256 .*:") + f"sha256    {'a' * 64}  {SECOND}:blk.7.x\n")
    assert (found.word, "blk.7.x, which is not in it" in found.cause) == (Word.FAIL, True)


def test_shards_that_no_line_names(judge):
    """They are not verified, and a shard that is only named is missing."""
    facts, found = judge(lines("^sha256 .*00001"))
    assert facts.manifest.unlisted == (SECOND, "tiny-00003-of-00003.gguf")
    assert found.word is Word.ERROR
    _, found = judge(lines("^sha256 ") + lines("^sha256 .*00003").replace("00003-of", "00004-of"))
    assert "tiny-00004-of-00003.gguf is in the manifest and not there" in found.cause


def test_without_the_package_xxh64_lines_prove_nothing(judge):
    """They are named, with what to install."""
    if can_hash("xxh64"):
        pytest.skip("the package xxhash is installed")
    _, found = judge(lines("^xxh64 "))
    assert found.word is Word.ERROR
    assert "xxh64 hashes need a package" in found.cause
    assert found.fix[0].startswith("pip install xxhash")


def test_two_lines_that_contradict_each_other(judge):
    """Nobody knows which is right."""
    with pytest.raises(UsageError, match=f"different hashes for {DAMAGED}"):
        judge(lines("^sha256 .*:") + f"sha256    {'a' * 64}  {SECOND}:{DAMAGED}\n")


def test_a_manifest_beside_the_shards_is_found(model, tmp_path):
    """Under the name that the tool's README gives it; files of that name that are something else are not read."""
    shards = tuple(sorted(model.iterdir()))
    (model / "app.manifest").write_text("{}")
    assert find_manifest(shards, None) is None
    (model / "tiny.gguf.manifest").write_text(lines("^sha256 "))
    found = find_manifest(shards, None)
    assert (found.sources, len(found.tensors)) == (("tiny.gguf.manifest",), 3)
    (model / "two.manifest").write_text(lines("^sha256 "))
    assert find_manifest(shards, None) == found
    other = lines("^sha256 ").replace("871514908c0a", "000000000000")
    (model / "two.manifest").write_text(other)
    with pytest.raises(ProbeError, match=r"contradict each other on token_embd\.weight"):
        find_manifest(shards, None)


def test_the_manifest_that_is_made_is_the_tools(model, tmp_path):
    """Line for line, and the second one is made from the store."""
    store = HashCache(tmp_path / "store")
    paths = sorted(model.iterdir())
    made = [make_tensor_manifest(paths, cache=store, rehash=False, progress=None) for _ in range(2)]
    assert made == [lines("^sha256 ")] * 2


def test_a_result_is_not_read_twice(model, judge):
    """Unless the file changed."""
    judge(lines("^sha256 "))
    facts, _ = judge(lines("^sha256 "))
    assert (facts.read_bytes, {one.stored for one in facts.tensors}) == (0, {True})
    damage(model / SECOND, DAMAGED)
    facts, found = judge(lines("^sha256 "))
    assert [one.stored for one in facts.tensors] == [True, False, True]
    assert found.word is Word.FAIL


def test_a_shard_whose_header_is_broken(model, judge):
    """Where its tensors lie is not known."""
    (model / SECOND).write_bytes(b"GGUF" + b"\xff" * 100)
    _, found = judge(lines("^sha256 "))
    assert found.word is Word.ERROR
    assert f"{SECOND}: its header does not tell where tensors lie" in found.cause


def test_a_cut_shard_differs(model, judge):
    """In the tensor that was cut and in all behind it."""
    path = model / SECOND
    with path.open("rb+") as file:
        file.truncate(place_of(path, DAMAGED) + 100)
    facts, _ = judge(lines("^sha256 .*:"))
    wrong = [tensor.name for tensor in facts.tensors[1].wrong]
    assert wrong[0] == DAMAGED
    assert len(wrong) > 3
    assert Path(facts.tensors[1].expected.path).name == SECOND

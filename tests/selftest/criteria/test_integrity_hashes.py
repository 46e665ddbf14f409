"""integrity.hashes: pass, FAIL and error, and what each of them says."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from streamworthy.criteria.integrity import hashes
from streamworthy.criteria.spec import Limit
from streamworthy.facts.integrity import (
    ExpectedHash,
    ExpectedTensors,
    FileHash,
    HashFacts,
    Manifest,
    ShardHash,
    TensorHashes,
    WrongTensor,
)
from streamworthy.verdict import Word, verdict

LIMIT = Limit(
    gate="integrity.hashes", level="require", unknown="error", values={}, reason="", basis="", see="tier.toml"
)
A, B = "a" * 64, "b" * 64
NAMES = ("m-00001-of-00002.gguf", "m-00002-of-00002.gguf")
EXPECTED = tuple(
    ExpectedHash(
        path=Path("/models") / name,
        algorithm="sha256",
        digest=A,
        source=f"SHA256SUMS, line {line}",
        download=(),
        revision="",
    )
    for line, name in enumerate(NAMES, start=1)
)
LISTED = Manifest(sources=("SHA256SUMS",), expected=EXPECTED, tensors=(), unlisted=(), missing=(), unknown=())
FOUND = FileHash(digest=A, hashed_at="2026-01-31T12:00:00Z", stored=False)
SOUND = HashFacts(
    manifest=LISTED,
    shard_count=2,
    shards=tuple(ShardHash(expected=entry, found=FOUND) for entry in EXPECTED),
    tensors=(),
    unchecked=(),
    unread=(),
    read_bytes=2 * 2**30,
    read_seconds=1.0,
    store_note="",
    far="",
)


def with_manifest(**changes):
    """Give the sound facts with another manifest."""
    return replace(SOUND, manifest=replace(LISTED, **changes))


def with_wrong(**changes):
    """Give the sound facts with a second shard that differs."""
    expected = replace(EXPECTED[1], **changes)
    wrong = ShardHash(expected=expected, found=replace(FOUND, digest=B))
    return replace(SOUND, shards=(SOUND.shards[0], wrong))


def test_all_match():
    """Shards that are what the manifest says pass, with the manifest and the rate as evidence."""
    assert hashes(SOUND, LIMIT) == verdict(
        Word.PASS,
        measured="2 of 2 shards match",
        required="every shard as the manifest says",
        value=0.0,
        unit="count",
        evidence=("manifest=SHA256SUMS", "hashed=2.0 GiB in 1.0 s, 2.1 GB/s"),
    )


def test_a_stored_result_says_since_when():
    """A result from the store is told from one that was read now."""
    stored = tuple(replace(shard, found=replace(FOUND, stored=True)) for shard in SOUND.shards)
    found = hashes(replace(SOUND, shards=stored, read_bytes=0), LIMIT)
    assert (found.word, found.evidence) == (
        Word.PASS,
        (
            "manifest=SHA256SUMS",
            "stored=2 results stand since 2026-01-31T12:00:00Z (--rehash reads the shards again)",
        ),
    )


def test_a_wrong_shard():
    """A shard that differs fails, named with both hashes, the line it comes from and what to do."""
    found = hashes(with_wrong(), LIMIT)
    line = f"{NAMES[1]} has bbbbbbbbbbbb..., expected aaaaaaaaaaaa... (SHA256SUMS, line 2)"
    assert found == verdict(
        Word.FAIL,
        measured="1 of 2 shards wrong or missing",
        required="every shard as the manifest says",
        value=1.0,
        unit="count",
        cause=line,
        fix=(f"mv /models/{NAMES[1]} /models/{NAMES[1]}.wrong    # then download {NAMES[1]} again from where it came",),
        evidence=(f"wrong={line}", "manifest=SHA256SUMS", "hashed=2.0 GiB in 1.0 s, 2.1 GB/s"),
    )


def test_a_wrong_shard_of_a_known_origin():
    """Where the origin is known, the fix fetches that shard alone."""
    assert hashes(with_wrong(download=("hf download a/b m.gguf --force-download",)), LIMIT).fix == (
        "hf download a/b m.gguf --force-download",
    )


def test_a_listed_shard_that_is_not_there():
    """A shard that the manifest lists and that is missing fails."""
    found = hashes(with_manifest(missing=("m-00003-of-00002.gguf",)), LIMIT)
    assert (found.word, found.cause) == (Word.FAIL, "m-00003-of-00002.gguf is in the manifest and not there")


def test_many_wrong_shards():
    """Many wrong shards are counted in the cause and all named as evidence."""
    wrong = tuple(with_wrong(path=Path(f"/models/{number}.gguf")).shards[1] for number in range(20))
    found = hashes(replace(SOUND, shards=wrong, shard_count=20), LIMIT)
    assert found.cause.endswith("; and 12 more")
    assert len([line for line in found.evidence if line.startswith("wrong=")]) == 20
    assert len(found.fix) == 21


def test_a_manifest_that_no_shard_agrees_with_is_doubted_first():
    """Before hundreds of gigabytes are fetched again, the list is compared; one wrong shard of two is downloaded."""
    wrong = tuple(with_wrong(path=Path(f"/models/{number}.gguf")).shards[1] for number in range(2))
    found = hashes(replace(SOUND, shards=wrong), LIMIT)
    assert found.cause.startswith(
        "none of 2 agrees: a manifest of another upload, or of another program such as b3sum?;"
    )
    assert found.fix[0].startswith("compare the manifest with the publisher's list")
    alone = hashes(with_wrong(), LIMIT)
    assert "agrees" not in alone.cause
    assert alone.fix[0].startswith("mv ")


def test_shards_of_several_commits_are_advised_of():
    """Each is what its own commit says, and nobody says that they belong together."""

    def fetched(*revisions):
        pairs = zip(SOUND.shards, revisions, strict=True)
        shards = tuple(replace(one, expected=replace(one.expected, revision=revision)) for one, revision in pairs)
        return hashes(replace(SOUND, shards=shards), LIMIT)

    assert [fetched(*both).word for both in (("a" * 40, "a" * 40), ("", ""), ("a" * 40, ""))] == [Word.PASS] * 3
    found = fetched("a" * 40, "b" * 40)
    assert found.word is Word.ADVICE
    assert found.cause.startswith("fetched from 2 commits of the repository (aaaaaaaaaaaa..., bbbbbbbbbbbb...)")
    assert "all of one commit" in found.fix[0]


def test_a_hash_of_no_bytes_is_named():
    """Such a line was made while the file was still empty."""
    one = with_wrong().shards[1]
    nothing = replace(one, expected=replace(one.expected, digest=hashlib.sha256(b"").hexdigest()))
    assert "which is the hash of no bytes at all)" in hashes(replace(with_wrong(), shards=(nothing,)), LIMIT).cause


def test_a_wrong_shard_outweighs_an_unread_one():
    """What is known to be wrong fails, whatever else could not be read."""
    assert hashes(replace(with_wrong(), unread=("x: cannot be read",)), LIMIT).word is Word.FAIL


@pytest.mark.parametrize(
    ("facts", "cause"),
    [
        (
            replace(SOUND, manifest=None, shards=()),
            "content not verified: no manifest for 2 shards; wrong bytes of the right size load and run",
        ),
        (
            replace(with_manifest(unlisted=(NAMES[1],)), shards=SOUND.shards[:1]),
            f"content not verified: 1 of 2 shards: {NAMES[1]} is not in SHA256SUMS",
        ),
        (
            replace(SOUND, shards=SOUND.shards[:1], unread=(f"{NAMES[1]}: cannot be read: Input/output error",)),
            f"content not verified: 1 of 2 shards: {NAMES[1]}: cannot be read: Input/output error",
        ),
    ],
    ids=["no manifest", "not listed", "not read"],
)
def test_unverified_content_is_an_error(facts, cause):
    """Without a hash nothing is known of the content, and the fix says how to get one."""
    found = hashes(facts, LIMIT)
    assert (found.word, found.cause, bool(found.fix)) == (Word.ERROR, cause, True)


TENSORS = ExpectedTensors(
    path=Path("/models") / NAMES[1],
    algorithm="sha256",
    digests=(("blk.1.a", A), ("blk.1.b", A)),
    whole="",
    source="m.manifest",
)
HELD = TensorHashes(
    expected=TENSORS,
    matching_count=2,
    wrong=(),
    missing=(),
    unlisted=(),
    whole_differs=False,
    hashed_at="2026-01-31T12:00:00Z",
    stored=False,
)
DAMAGE = WrongTensor(name="blk.1.b", offset_bytes=4096, size_bytes=1000, expected=A, found=B)


def with_tensors(**changes):
    """The first shard by its own hash, the second by its tensors'."""
    listed = replace(LISTED, sources=("SHA256SUMS", "m.manifest"), expected=EXPECTED[:1], tensors=(TENSORS,))
    return replace(SOUND, manifest=listed, shards=SOUND.shards[:1], tensors=(replace(HELD, **changes),))


def test_tensors_that_match_verify_a_shard():
    """What their hashes do not cover is told."""
    found = hashes(with_tensors(), LIMIT)
    assert (found.word, found.measured) == (Word.ADVICE, "2 of 2 shards match")
    assert found.cause == "keys and vocabulary of 1 shard are in no hash: only tensors are"
    assert "tensors=2 as listed; the keys and the vocabulary before them are in no hash" in found.evidence


def test_damage_is_told_by_tensor_with_its_bytes():
    """And one tensor can be fetched alone."""
    found = hashes(with_tensors(matching_count=1, wrong=(DAMAGE,)), LIMIT)
    assert (found.word, found.measured) == (Word.FAIL, "1 of 2 shards wrong or missing")
    assert found.cause == f"{NAMES[1]}: not as in m.manifest: blk.1.b (bytes 4096 to 5095)"
    assert found.fix[1] == (
        f"curl -fL -r 4096-5095 ADDRESS/{NAMES[1]} | dd of=/models/{NAMES[1]} conv=notrunc oflag=seek_bytes seek=4096"
        "    # or only blk.1.b"
    )


def test_a_shard_that_differs_as_a_whole_is_searched_for_its_damage():
    """Both are in one sentence, and it counts once."""
    facts = replace(with_wrong(), tensors=(replace(HELD, wrong=(DAMAGE,)),))
    found = hashes(facts, LIMIT)
    assert found.value == 1.0
    assert "has bbbbbbbbbbbb..." in found.cause
    assert "blk.1.b (bytes 4096 to 5095)" in found.cause


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"missing": ("blk.9.x",)}, "blk.9.x, which is not in it"),
        ({"whole_differs": True}, "its tensors are not those of m.manifest"),
    ],
)
def test_other_differences_of_tensors(change, told):
    """A tensor that is not there, and all of them together."""
    found = hashes(with_tensors(**change), LIMIT)
    assert found.word is Word.FAIL
    assert told in found.cause


def test_many_damaged_tensors_are_fetched_with_their_shard():
    """No line for each of them."""
    many = tuple(replace(DAMAGE, name=f"blk.{number}") for number in range(4))
    assert len(hashes(with_tensors(wrong=many), LIMIT).fix) == 1


def test_tensors_in_no_line_leave_it_open():
    """What was not compared is not verified."""
    found = hashes(with_tensors(unlisted=("blk.1.c",)), LIMIT)
    assert (found.word, found.cause) == (
        Word.ERROR,
        f"content not verified: 1 of 2 shards: {NAMES[1]}: 1 tensor not in m.manifest, the first is blk.1.c",
    )


def test_a_hash_that_cannot_be_computed_here_leaves_it_open():
    """With what to install."""
    facts = replace(with_tensors(), tensors=(), unchecked=(f"{NAMES[1]}: xxh64 hashes need a package",))
    found = hashes(facts, LIMIT)
    assert found.word is Word.ERROR
    assert "xxh64" in found.cause
    assert found.fix[0].startswith("pip install xxhash")


def test_shards_on_a_network_are_not_read_unasked():
    """What stands from before counts; what does not is open, with both ways on."""
    far = replace(SOUND, shards=SOUND.shards[:1], read_bytes=0, far="nfs4 at /models")
    found = hashes(far, LIMIT)
    assert found.word is Word.ERROR
    assert found.cause == (
        "content not verified: 1 of 2 shards would be read over nfs4 at /models, and nobody asked for that"
    )
    assert found.fix[1].startswith("pytest -m qualify --rehash")
    assert hashes(replace(SOUND, far="nfs4 at /models"), LIMIT).word is Word.PASS

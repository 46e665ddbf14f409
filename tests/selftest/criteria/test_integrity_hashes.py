"""integrity.hashes: pass, FAIL and error, and what each of them says."""

from dataclasses import replace
from pathlib import Path

import pytest

from streamworthy.criteria.integrity import hashes
from streamworthy.criteria.spec import Limit
from streamworthy.facts.integrity import ExpectedHash, FileHash, HashFacts, Manifest, ShardHash
from streamworthy.verdict import Word, verdict

LIMIT = Limit(
    gate="integrity.hashes", level="require", unknown="error", values={}, reason="", basis="", see="tier.toml"
)
A, B = "a" * 64, "b" * 64
NAMES = ("m-00001-of-00002.gguf", "m-00002-of-00002.gguf")
EXPECTED = tuple(
    ExpectedHash(
        path=Path("/models") / name, algorithm="sha256", digest=A, source=f"SHA256SUMS, line {line}", download=()
    )
    for line, name in enumerate(NAMES, start=1)
)
LISTED = Manifest(sources=("SHA256SUMS",), expected=EXPECTED, unlisted=(), missing=(), unknown=())
FOUND = FileHash(digest=A, hashed_at="2026-01-31T12:00:00Z", stored=False)
SOUND = HashFacts(
    manifest=LISTED,
    shard_count=2,
    shards=tuple(ShardHash(expected=entry, found=FOUND) for entry in EXPECTED),
    unread=(),
    read_bytes=2 * 2**30,
    read_seconds=1.0,
    store_note="",
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
    wrong = with_wrong().shards[1]
    found = hashes(replace(SOUND, shards=(wrong,) * 20, shard_count=20), LIMIT)
    assert found.cause.endswith("; and 12 more")
    assert len([line for line in found.evidence if line.startswith("wrong=")]) == len(found.fix) == 20


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
            f"content not verified: 1 of 2 shards: {NAMES[1]} is in no manifest",
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

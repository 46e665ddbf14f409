"""Whether several headers describe one set: built sets with one named change."""

import pytest

from streamworthy.criteria import shards
from streamworthy.gguf.subject import Subject
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.gguf.build import F32, Q8_0, Tensor, build

NAMES = ("attn_q", "ffn_up", "ffn_down")


def layer(index, *, type_id=F32, width=32):
    """Give the tensors of a layer."""
    size = width * 4 if type_id == F32 else width // 32 * 34
    return [Tensor(f"blk.{index}.{name}.weight", (width, 4), type_id, bytes(size * 4)) for name in NAMES]


def keys(number, count=3, tensors=9, **kinds):
    """Give the split keys of a shard; ``kinds`` changes a key's type or leaves it out with None."""
    values = {"no": ("u16", number), "count": ("u16", count), "tensors_count": ("i32", tensors)}
    found = []
    for key, (kind, value) in values.items():
        changed = kinds.get(key, kind)
        if changed is not None:
            found.append(("split." + key.replace("_", "."), changed, value))
    return found


# an architecture that nobody knows: nothing is expected of its tensors but that they fit together
OWN = [
    ("general.architecture", "str", "toy"),
    ("tokenizer.ggml.model", "str", "no_vocab"),
    ("toy.block_count", "u32", 3),
    ("toy.embedding_length", "u32", 32),
    ("toy.context_length", "u32", 64),
]


@pytest.fixture
def judge(tmp_path):
    """Write three shards, each sound but for what is given for its number, and judge their headers."""

    def write_and_judge(changes=None, name="m-{:05d}-of-00003.gguf"):
        for number in (1, 2, 3):
            raw = (changes or {}).get(number)
            if raw is None:
                raw = build(OWN + keys(0) if number == 1 else keys(number - 1), layer(number - 1))
            (tmp_path / name.format(number)).write_bytes(raw)
        subject = Subject(tmp_path / name.format(1))
        return shards.headers(subject.listing, subject.headers, limit())

    return write_and_judge


def test_a_sound_set_passes(judge):
    """Three shards of three tensors agree."""
    found = judge()
    assert (found.word, found.measured, found.value) == (Word.PASS, "3 sound of 3 headers, 9 tensors", 0.0)


def test_a_set_whose_first_shard_holds_keys_alone_passes(judge):
    """gguf-split can leave the first shard without tensors."""
    first = build(OWN + keys(0, tensors=9), ())
    second = build(keys(1), layer(0) + layer(1))
    assert judge({1: first, 2: second}).word is Word.PASS


def test_two_versions_in_a_set_are_mentioned(judge):
    """Engines read both."""
    found = judge({2: build(keys(1), layer(1), version=2)})
    assert (found.word, found.evidence) == (Word.PASS, ("versions=2, 3 in one set",))


FAULTS = {
    "number of another shard": ({2: build(keys(2), layer(1))}, "split.no is 2, expected 1 from its name: renamed?"),
    "another count": ({2: build(keys(1, count=4), layer(1))}, "split.count is 4, expected 3"),
    "count in all": (
        {one: build((OWN if one == 1 else []) + keys(one - 1, count=2), layer(one - 1)) for one in (1, 2, 3)},
        "m-00003-of-00003.gguf: split.count is 2, expected 3",
    ),
    "no number": ({2: build(keys(1, no=None), layer(1))}, "split.no is missing"),
    "older keys": (
        {2: build([("general.split", "u32", 1), *keys(1, no=None)], layer(1))},
        "split.no is missing (an older general.split key is there",
    ),
    "number as u32": ({2: build(keys(1, no="u32"), layer(1))}, "split.no is of type u32, expected u16: the"),
    "total differs": ({2: build(keys(1, tensors=8), layer(1))}, "split.tensors.count differs between shards: 8, 9"),
    "a tensor less": ({2: build(keys(1), layer(1)[:2])}, "the shards hold 8 tensors, split.tensors.count says 9"),
    "tensors of another shard": ({3: build(keys(2), layer(1))}, "has 3 tensors of m-00002-of-00003.gguf too"),
    "a layer without tensors": ({3: build(keys(2), layer(7))}, "tensors: found 1 of 3, the first is layer 2"),
    "another quantisation": (
        {2: build(keys(1), layer(1, type_id=Q8_0))},
        "m-00002-of-00003.gguf: its tensors (Q8_0) are not of the other shards' types",
    ),
    "another width": ({2: build(keys(1), layer(1, width=64))}, "m-00002-of-00003.gguf: its tensors (F32)"),
    "another architecture": (
        {2: build([("general.architecture", "str", "qwen3"), *keys(1)], layer(1))},
        "m-00002-of-00003.gguf: of architecture qwen3, the first shard of toy",
    ),
    "a broken shard": ({2: b"<html>"}, "m-00002-of-00003.gguf: byte 0: magic"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTS)
def test_what_does_not_fit_together_fails(judge, case):
    """A sound set with one change is refused, and the message names the shard and what was expected."""
    changes, cause = FAULTS[case]
    found = judge(changes)
    assert found.word is Word.FAIL
    assert cause in found.cause
    assert found.fix


def test_one_change_is_one_fault(judge):
    """A shard of another quantisation does not accuse the sound ones."""
    assert judge(FAULTS["another quantisation"][0]).value == 1.0


def test_a_shard_that_mixes_types_as_quantisations_do_passes(judge):
    """Some kinds of tensors have another type in some layers; that is no foreign shard."""
    mixed = layer(1)
    mixed[2] = Tensor("blk.1.ffn_down.weight", (32, 4), Q8_0, bytes(136))
    assert judge({2: build(keys(1), mixed)}).word is Word.PASS


def test_a_plain_name_with_a_split_count_fails(tmp_path):
    """A shard that was renamed is given its name back."""
    (tmp_path / "m.gguf").write_bytes(build(OWN + keys(0), layer(0)))
    subject = Subject(tmp_path / "m.gguf")
    found = shards.headers(subject.listing, subject.headers, limit())
    assert found.word is Word.FAIL
    assert "split.count is 3, but its name has no number" in found.cause
    assert found.fix == ("give it back the name PREFIX-00001-of-00003.gguf, beside the other shards",)


def test_shards_that_were_joined_with_cat_are_told_from_a_renamed_one(tmp_path):
    """Behind the first one's tensors the next one begins; its name would not help."""
    (tmp_path / "m.gguf").write_bytes(build(OWN + keys(0), layer(0)) + build(keys(1), layer(1)))
    subject = Subject(tmp_path / "m.gguf")
    found = shards.headers(subject.listing, subject.headers, limit())
    assert "more follows behind its tensors: several shards joined with cat?" in found.cause
    assert found.fix[0].startswith("download the shards again, and leave them as they are")
    assert not any("give it back" in line for line in found.fix)


@pytest.mark.parametrize("name", ["m.gguf", "m-00001-of-00001.gguf"])
def test_a_set_of_one_needs_no_split_keys(tmp_path, name):
    """A whole file, numbered or not."""
    (tmp_path / name).write_bytes(build(OWN, layer(0) + layer(1) + layer(2)))
    subject = Subject(tmp_path / name)
    assert shards.headers(subject.listing, subject.headers, limit()).word is Word.PASS


def test_pieces_of_an_old_upload_are_not_judged_as_headers(tmp_path):
    """They are no files with headers; the gate for names says how to join them."""
    for letter in "ab":
        (tmp_path / f"m.gguf-split-{letter}").write_bytes(b"piece")
    subject = Subject(tmp_path)
    assert shards.headers(subject.listing, subject.headers, limit()).measured == "0 sound of 2 headers, 0 tensors"


def test_a_set_whose_names_have_another_count_than_its_headers_is_renamed(tmp_path):
    """Headers that agree know better than names, and no download is needed."""
    for number in (1, 2, 3):
        extra = (("general.architecture", "str", "llama"), ("llama.block_count", "u32", 3)) if number == 1 else ()
        raw = build((*keys(number - 1), *extra), layer(number - 1))
        (tmp_path / f"m-0000{number}-of-00004.gguf").write_bytes(raw)
    subject = Subject(tmp_path)
    found = shards.headers(subject.listing, subject.headers, limit())
    assert found.cause == "the names say that there are 4 shards, all headers say 3: renamed?"
    assert found.fix[1] == f"mv -n {tmp_path}/m-00002-of-00004.gguf {tmp_path}/m-00002-of-00003.gguf"
    assert len(found.fix) == 3

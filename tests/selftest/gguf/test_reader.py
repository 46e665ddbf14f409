"""The header reader: what it accepts, and what it says of everything else."""

import os
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamworthy.errors import ProbeError
from streamworthy.facts.gguf import HeaderFacts, SkippedValue, TensorFacts
from streamworthy.gguf.cursor import WINDOW_BYTES, GgufError
from streamworthy.gguf.reader import read_header, scan_header
from tests.selftest.gguf.build import F32, Q4_0, Tensor, build, text, value_of

KEYS = (
    ("general.architecture", "str", "llama"),
    ("llama.block_count", "u32", 2),
    ("llama.swa", "arr[bool]", [True, False]),
    ("tokenizer.ggml.tokens", "arr[str]", ["a", "", "long " * 100]),
)
TENSORS = (Tensor("token_embd.weight"), Tensor("output.weight", (64, 2), Q4_0, b"\x07" * 72))
SOUND = build(KEYS, TENSORS)


@pytest.fixture
def read(tmp_path):
    """Read bytes as a file named m.gguf."""

    def write_and_read(raw):
        path = tmp_path / "m.gguf"
        path.write_bytes(raw)
        return read_header(path)

    return write_and_read


def faults_of(read, raw):
    """Give the faults that a file's error lists."""
    with pytest.raises(GgufError) as caught:
        read(raw)
    return caught.value.faults


def test_a_sound_header_is_read_whole(read):
    """Keys, types, tensors and positions of a small file are all as written; the vocabulary is only located."""
    found = read(SOUND)
    assert found == HeaderFacts(
        version=3,
        keys={
            "general.architecture": "llama",
            "llama.block_count": 2,
            "llama.swa": (True, False),
            "tokenizer.ggml.tokens": SkippedValue(
                type_name="str", count=3, offset_bytes=SOUND.index(text("a") + text("") + text("long " * 100))
            ),
        },
        key_types={
            "general.architecture": "str",
            "llama.block_count": "u32",
            "llama.swa": "arr[bool]",
            "tokenizer.ggml.tokens": "arr[str]",
        },
        tensors=(
            TensorFacts(
                name="token_embd.weight", dims=(32, 4), type_id=0, type_name="F32", offset_bytes=0, size_bytes=512
            ),
            TensorFacts(
                name="output.weight", dims=(64, 2), type_id=2, type_name="Q4_0", offset_bytes=512, size_bytes=72
            ),
        ),
        alignment_bytes=32,
        header_bytes=found.header_bytes,
        data_start_bytes=len(SOUND) - 512 - 96,
        file_bytes=len(SOUND),
    )
    assert found.data_start_bytes - 32 < found.header_bytes <= found.data_start_bytes
    assert (found.need_bytes, found.tensor_bytes) == (found.data_start_bytes + 584, 584)


@pytest.mark.parametrize("version", [2, 3])
def test_both_living_versions_are_read(read, version):
    """Version 2 differs from 3 only in what big-endian files are allowed to be."""
    assert read(build(version=version)).version == version


@pytest.mark.parametrize(
    ("kind", "value"),
    [("u8", 255), ("i8", -1), ("u16", 9), ("i16", -9), ("u32", 7), ("i32", -7), ("u64", 2**63), ("i64", -(2**62)),
     ("bool", True), ("f32", 0.5), ("f64", 0.1), ("str", "é"), ("arr[u16]", (1, 2)), ("arr[f64]", (0.5,)),
     ("arr[i8]", ())],
)  # fmt: skip
def test_every_kind_of_value_is_read(read, kind, value):
    """A key of each type of the format comes back as it was written."""
    found = read(build((("general.architecture", "str", "x"), ("k", kind, value))))
    assert (found.keys["k"], found.key_types["k"]) == (value, kind)


def test_a_set_of_keys_alone_has_no_data_section(read):
    """The first shard of a set may hold no tensors; its file ends with its keys, without padding."""
    raw = build(KEYS, ())
    found = read(raw)
    assert (found.tensors, found.header_bytes, found.data_start_bytes) == ((), len(raw), len(raw))


def test_a_larger_alignment_moves_the_data(read):
    """general.alignment decides where data begins and how tensors are padded."""
    keys = (*KEYS, ("general.alignment", "u32", 128))
    found = read(build(keys, TENSORS, alignment=128))
    assert found.data_start_bytes % 128 == 0
    assert found.alignment_bytes == 128


def test_a_vocabulary_larger_than_a_window_is_walked(read):
    """Texts that lie across the borders of windows are walked over as all others, and later keys are read."""
    words = ["w" * (index % 50) for index in range(60_000)]
    assert sum(len(word) + 8 for word in words) > 1.5 * WINDOW_BYTES
    found = read(build((*KEYS[:1], ("words", "arr[str]", words), ("after", "u32", 5))))
    assert (found.keys["words"].count, found.keys["after"]) == (60_000, 5)


def test_a_text_longer_than_a_window_is_skipped(read):
    """A value of megabytes is located, not copied."""
    keys = (
        *KEYS[:1],
        ("blob", "str", "x" * (WINDOW_BYTES + 5)),
        ("words", "arr[str]", ["y" * (WINDOW_BYTES + 9), "z"]),
    )
    found = read(build((*keys, ("after", "u32", 5))))
    assert found.keys["blob"].count == WINDOW_BYTES + 5
    assert (found.keys["words"].count, found.keys["after"]) == (2, 5)


STRANGERS = {
    "empty": (b"", "empty", "did not begin"),
    "text": (b"these are not the weights you are looking for\n", "magic", "a text file"),
    "pointer": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 4242\n",
        "magic",
        "Git LFS pointer of a file of 4242 bytes",
    ),
    "page": (b"\xef\xbb\xbf \n<!doctype html><title>Sign in</title>", "magic", "a web page"),
    "json": (b'{"error":"Entry not found"}', "magic", "JSON"),
    "zeros": (bytes(4096), "magic", "allocates first"),
    "swapped": (b"FUGG" + bytes(60), "magic", "byte-swapped"),
    "zip": (b"PK\x03\x04" + bytes(60), "magic", "zip archive"),
    "gzip": (b"\x1f\x8b\x08" + bytes(60), "magic", "gzip"),
    "ggml": (b"tjgg\x03\0\0\0" + bytes(60), "magic", "GGJT"),
    "safetensors": (struct.pack("<Q", 900) + b'{"__metadata__":{}', "magic", "safetensors"),
    "piece": (bytes(range(128, 200)), "magic", "joined"),
    "v0": (build(version=0), "version", "damaged"),
    "v1": (build(version=1), "version", "no longer reads"),
    "v4": (build(version=4), "version", "newer engine"),
    "big_endian_v3": (build(order=">", version=3), "byte_order", "big-endian file of version 3"),
    "big_endian_v2": (build(order=">", version=2), "byte_order", "big-endian file of version 2"),
}


@pytest.mark.parametrize("case", STRANGERS)
def test_what_is_no_gguf_is_named_with_its_own_remedy(read, case):
    """Each kind of file that lies where a shard should gets its likely cause as a question and a remedy."""
    raw, kind, words = STRANGERS[case]
    (fault,) = faults_of(read, raw)
    assert fault.kind == kind
    assert words in fault.cause
    assert fault.cause.endswith("?")
    assert fault.fix


def test_the_message_is_one_line_that_says_file_place_found_and_expected(read):
    """An error is complete in its first line; the remedy follows."""
    with pytest.raises(GgufError) as caught:
        read(build(version=4))
    assert caught.value.message == (
        "m.gguf: byte 4: version: found 4, expected 2 or 3. made for a newer engine than this suite knows, or damaged?"
    )
    assert (
        caught.value.fix == "git pull    # in this suite's folder, for a version that knows it\ndownload the file again"
    )


def test_a_file_cut_at_any_byte_of_its_header_is_truncated(tmp_path):
    """Whatever byte a download ends at, the error says truncated, with the place."""
    path = tmp_path / "m.gguf"
    whole = build(KEYS, TENSORS)
    path.write_bytes(whole)
    header_bytes = read_header(path).header_bytes
    for end in range(header_bytes):
        path.write_bytes(whole[:end])
        header, faults = scan_header(path)
        assert header is None, end
        assert faults[-1].kind == ("truncated" if end else "empty"), end
        assert faults[-1].offset_bytes <= end
    path.write_bytes(whole[:header_bytes])
    assert read_header(path).need_bytes == len(whole) - 24  # the data is missing, which is the extents' business


HUGE = 2**62
ARCHITECTURE, BLOCKS = text("llama"), text("llama.block_count")


def swap(old, new):
    """Replace the one place in the sound file that reads so."""
    assert SOUND.count(old) == 1
    return SOUND.replace(old, new)


def longer(word):
    """Give a text's bytes behind a length that nothing has room for."""
    return struct.pack("<Q", HUGE) + word


def shaped(*dims, type_id=F32):
    """Give a file with one tensor of a shape, without its data."""
    return build(tensors=(Tensor("t", dims, type_id, b""),))


def named(name):
    """Give a file with one tensor of a name."""
    return build(tensors=(Tensor(name),))


def placed(*offsets):
    """Give a file whose tensors of 512 bytes begin where they are told to."""
    return build(tensors=tuple(Tensor(f"t{index}", offset=offset) for index, offset in enumerate(offsets)))


def with_key(*key):
    """Give the sound file with one more key."""
    return build((*KEYS, key), TENSORS)


ABSURD = {
    "tensors": (build(tensor_count=2**40), "count", "number of tensors"),
    "negative tensors": (build(tensor_count=2**64 - 1), "count", "number of tensors"),
    "keys": (build(key_count=2**40), "count", "number of keys"),
    "key length": (swap(BLOCKS, longer(b"llama.block_count")), "count", "length of key 1"),
    "value length": (swap(ARCHITECTURE + BLOCKS, longer(b"llama") + BLOCKS), "truncated", "general.architecture"),
    "array length": (swap(struct.pack("<IQ", 7, 2), struct.pack("<IQ", 7, HUGE)), "truncated", "llama.swa"),
    "vocabulary": (swap(struct.pack("<IQ", 8, 3), struct.pack("<IQ", 8, HUGE)), "count", "ggml.tokens"),
    "word length": (swap(text("a") + text(""), struct.pack("<Q", 2**64 - 1) + b"a" + text("")), "count", "ggml.tokens"),
    "value type": (swap(BLOCKS + struct.pack("<I", 4), BLOCKS + struct.pack("<I", 13)), "key", "llama.block_count"),
    "nested array": (swap(struct.pack("<IIQ", 9, 7, 2), struct.pack("<IIQ", 9, 9, 2)), "key", "llama.swa"),
    "five dimensions": (shaped(1, 1, 1, 1, 1), "tensor", "number of dimensions"),
    "no dimensions": (shaped(), "tensor", "number of dimensions"),
    "dimension of zero": (shaped(0, 4), "tensor", "shape of tensor 't'"),
    "product beyond int64": (shaped(2**33, 2**31), "tensor", "shape of tensor 't'"),
    "wrapping product": (shaped(2**64 - 1, 2), "tensor", "shape of tensor 't'"),
    "part of a block": (shaped(31, 4, type_id=Q4_0), "tensor", "shape of tensor 't'"),
    "name of 64 bytes": (named("n" * 64), "tensor", "name of tensor"),
    "empty name": (named(""), "tensor", "name of tensor"),
    "name length": (named("t").replace(text("t"), longer(b"t")), "count", "name of tensor 0"),
    "unknown type": (shaped(32, 4, type_id=156), "type", "type of tensor 't'"),
    "removed type": (shaped(32, 4, type_id=31), "type", "type of tensor 't'"),
    "tensor twice": (build(tensors=(Tensor("t"), Tensor("t"))), "tensor", "tensor 't'"),
    "key twice": (with_key("llama.block_count", "u32", 3), "key", "key 4"),
    "empty key": (with_key("", "u32", 3), "key", "key 4"),
    "alignment of 3": (with_key("general.alignment", "u32", 3), "alignment", "general.alignment"),
    "alignment of 0": (with_key("general.alignment", "u32", 0), "alignment", "general.alignment"),
    "alignment as u64": (with_key("general.alignment", "u64", 32), "alignment", "general.alignment"),
    "overlap": (placed(0, 480), "layout", "offset of tensor 't1'"),
    "gap": (placed(0, 544), "layout", "offset of tensor 't1'"),
    "misaligned": (placed(0, 513), "layout", "offset of tensor 't1'"),
    "first not at zero": (placed(32), "layout", "offset of tensor 't0'"),
}


@pytest.mark.parametrize("case", ABSURD)
def test_no_count_length_or_shape_is_trusted(read, case):
    """A sound file with one impossible number is refused at that number, whatever the number promises."""
    raw, kind, item = ABSURD[case]
    faults = faults_of(read, raw)
    assert [fault.kind for fault in faults] == [kind]
    assert item in faults[0].item


def test_all_faults_of_a_file_are_reported_at_once(read):
    """What does not stop the reading is collected: a doubled key, an unknown type and an overlap in one error."""
    tensors = (Tensor("a", (32, 4), 156, b"\0" * 512), Tensor("b", offset=512), Tensor("c", offset=600))
    faults = faults_of(read, build((*KEYS, KEYS[1]), tensors))
    assert [fault.kind for fault in faults] == ["key", "type", "layout"]


def test_a_tensor_of_unknown_type_takes_its_size_from_the_next(tmp_path):
    """A quantisation of a fork does not stop the reading: its tensors reach to the next one, or to the file's end."""
    path = tmp_path / "m.gguf"
    path.write_bytes(build(tensors=(Tensor("a", (32, 4), 156, b"\0" * 96), Tensor("b", (32, 4), 156, b"\0" * 64))))
    header, _ = scan_header(path)
    assert [(tensor.type_name, tensor.size_bytes) for tensor in header.tensors] == [("type 156", 96), ("type 156", 64)]


def test_a_zero_filled_tail_behind_a_huge_count_ends_soon(tmp_path):
    """A vocabulary of 2^30 empty texts in a sparse file is refused by its count, not walked for minutes."""
    path = tmp_path / "m.gguf"
    raw = build((*KEYS[:1], ("words", "arr[str]", [])), ())
    path.write_bytes(raw[:-8] + struct.pack("<Q", 2**30))
    os.truncate(path, 2**34)
    _, faults = scan_header(path)
    assert (faults[-1].kind, faults[-1].found) == ("count", str(2**30))


def test_an_unreadable_file_is_an_error_of_its_own(tmp_path):
    """A folder in the place of a shard, or a missing file, says what the system said; it is no fault of the content."""
    for path in (tmp_path, tmp_path / "absent.gguf"):
        with pytest.raises(ProbeError) as caught:
            read_header(path)
        assert not isinstance(caught.value, GgufError)
        assert "cannot be read" in caught.value.message


@given(at=st.integers(0, len(SOUND) - 1), byte=st.integers(0, 255), end=st.integers(0, len(SOUND)))
def test_any_change_gives_facts_or_faults(tmp_path_factory, at, byte, end):
    """No byte changed and no cut anywhere makes the reader raise anything but its own error."""
    path = tmp_path_factory.getbasetemp() / "mutated.gguf"
    raw = bytearray(SOUND)
    raw[at] = byte
    path.write_bytes(bytes(raw[:end]))
    header, faults = scan_header(path)
    assert header is not None or faults


@given(head=st.binary(max_size=200))
def test_any_bytes_behind_the_magic_give_facts_or_faults(tmp_path_factory, head):
    """Noise that begins like GGUF is refused in the reader's own words."""
    path = tmp_path_factory.getbasetemp() / "noise.gguf"
    path.write_bytes(b"GGUF\x03\0\0\0" + head)
    header, faults = scan_header(path)
    assert header is not None or faults


NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
VALUES = st.one_of(
    st.tuples(st.just("u32"), st.integers(0, 2**32 - 1)),
    st.tuples(st.just("i64"), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just("bool"), st.booleans()),
    st.tuples(st.just("f64"), st.floats(allow_nan=False)),
    st.tuples(st.just("str"), st.text(st.characters(codec="utf-8"))),
    st.tuples(st.just("arr[i32]"), st.lists(st.integers(-(2**31), 2**31 - 1)).map(tuple)),
)


@given(keys=st.dictionaries(NAMES, VALUES), tensors=st.lists(NAMES, unique=True, max_size=6))
def test_what_is_written_is_read(tmp_path_factory, keys, tensors):
    """Any keys and tensors come back as they were written."""
    path = tmp_path_factory.getbasetemp() / "round.gguf"
    keys.pop("general.alignment", None)
    path.write_bytes(build([(name, *value) for name, value in keys.items()], [Tensor(name) for name in tensors]))
    found = read_header(path)
    assert dict(found.keys) == {name: value for name, (_, value) in keys.items()}
    assert [tensor.name for tensor in found.tensors] == tensors


def test_values_are_built_as_the_format_says():
    """The builder that the other tests rely on writes type, length and bytes."""
    assert value_of("str", "ab") == struct.pack("<IQ", 8, 2) + b"ab"

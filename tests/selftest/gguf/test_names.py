"""Shard names: what the engine finds, what only people read as a shard, and what is no model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamworthy.gguf.names import (
    ShardName,
    engine_name,
    is_blob,
    is_companion,
    is_model,
    parse_leftover,
    parse_name,
)


@given(
    prefix=st.text(st.characters(codec="utf-8", exclude_characters="/\x00"), max_size=40),
    number=st.integers(0, 99_999),
    total=st.integers(0, 99_999),
)
def test_what_the_engine_writes_is_taken_apart_strictly(prefix, number, total):
    """A name made by the engine's format gives back its parts, whatever the prefix looks like."""
    found = parse_name(engine_name(prefix, number, total))
    name = engine_name(prefix, number, total)
    assert found == ShardName(name, prefix, number, total, strict=True, copy=False)


@given(st.text())
def test_any_name_is_judged_without_an_error(name):
    """No file name makes the judging fail."""
    assert parse_name(name) is None or parse_name(name).name == name
    assert isinstance(is_model(name), bool)
    assert parse_leftover(name) is None or parse_leftover(name)[0] in name


@pytest.mark.parametrize(
    ("name", "number", "total", "copy"),
    [
        ("m-1-of-3.gguf", 1, 3, False),
        ("m-001-of-003.gguf", 1, 3, False),
        ("m-00001-of-00003.GGUF", 1, 3, False),
        ("m_00001_of_00003.gguf", 1, 3, False),
        ("m.part-1-of-3.gguf", 1, 3, False),
        ("m-00002-of-00003 (1).gguf", 2, 3, True),
        ("m-00002-of-00003 - Copy.gguf", 2, 3, True),
        ("m-00002-of-00003 - 副本.gguf", 2, 3, True),
        ("m-00002-of-00003 - Copy (2).gguf", 2, 3, True),
        ("m-00002-of-00003.gguf?download=true", 2, 3, False),
    ],
)
def test_what_only_people_read_as_a_shard_is_not_strict(name, number, total, copy):
    """Other digits, letters or separators are understood, and known not to be found by the engine."""
    found = parse_name(name)
    assert (found.prefix, found.number, found.total, found.strict, found.copy) == ("m", number, total, False, copy)


@pytest.mark.parametrize(
    "name", ["m.gguf", "m-00001-of-00003.gguf.part", "m-00001-of-00003.safetensors", "out-of-5.gguf"]
)
def test_other_names_are_no_shards(name):
    """A plain file, a download in progress and another format have no number."""
    assert parse_name(name) is None


@pytest.mark.parametrize(("number", "total", "fits"), [(0, 3, False), (1, 3, True), (3, 3, True), (4, 3, False)])
def test_numbers_run_from_one_to_the_total(number, total, fits):
    """Names are one-based: 00000 and 4 of 3 belong to no set."""
    assert parse_name(engine_name("m", number, total)).fits is fits


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("m.gguf.part", ("m.gguf", False)),
        ("m.gguf.crdownload", ("m.gguf", False)),
        ("m.gguf.aria2", ("m.gguf", True)),
        ("m.gguf.incomplete", ("m.gguf", False)),
        ("m.gguf.part.tmp", ("m.gguf", False)),
        ("m.gguf.downloadInProgress", ("m.gguf", False)),
        ("m.gguf.1a2b3c4d.partial", ("m.gguf", False)),
        ("m.gguf_.gstmp", ("m.gguf", False)),
        (".m.gguf.aXb3Qz", ("m.gguf", False)),
        (".syncthing.m.gguf.tmp", ("m.gguf", False)),
        ("m.gguf.xltd", ("m.gguf", False)),
        ("m.gguf.st", ("m.gguf", True)),
        ("m.gguf.lftp-pget-status", ("m.gguf", True)),
        ("m.gguf.aria2__temp", ("m.gguf", True)),
        ("m.gguf.sha256", None),
        ("._m.gguf", None),
        ("m.zip.part", None),
        ("m.gguf", None),
    ],
)
def test_leftovers_name_what_they_are_to_become(name, found):
    """Browsers, clients and tools that copy have a form each; what aria2, axel and lftp keep beside is for control."""
    assert parse_leftover(name) == found


@pytest.mark.parametrize(
    "name", ["mmproj-F16.gguf", "m-mmproj.gguf", "imatrix.gguf", "m.imatrix.gguf", "m.imatrix.dat"]
)
def test_companions_are_no_models(name):
    """A vision projector and an importance matrix lie beside a model without being one."""
    assert is_companion(name)
    assert not is_model(name)


@pytest.mark.parametrize(
    ("name", "model"),
    [("m.gguf", True), ("M.GGUF", True), ("._m.gguf", False), ("m.bin", False), ("m.gguf?download=true", True)],
)
def test_models_are_told_by_their_ending(name, model):
    """The ._ files that macOS leaves beside each copied file are none."""
    assert is_model(name) is model


@pytest.mark.parametrize(("name", "blob"), [("a" * 64, True), ("a" * 63, False), ("g" * 64, False)])
def test_blobs_are_named_by_their_hash(name, blob):
    """The name of a blob in a Hugging Face cache is a SHA-256."""
    assert is_blob(name) is blob

"""From a path to the set: folders as downloads, renames and caches leave them."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamworthy.errors import ProbeError, UsageError
from streamworthy.facts.shards import Misnamed, ShardFile, ShardListing
from streamworthy.gguf.names import engine_name
from streamworthy.gguf.shards import list_shards

THREE = tuple(engine_name("m", number, 3) for number in (1, 2, 3))


@pytest.fixture
def folder(tmp_path):
    """Fill a folder with files of a few bytes and list the set that a name (or the folder) gives."""

    def fill(*names, given=""):
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(name.encode())
        return list_shards(tmp_path / given)

    fill.path = tmp_path
    return fill


def shard(path, number):
    """Give the record of a file."""
    status = path.stat()
    return ShardFile(
        number=number,
        name=path.name,
        path=str(path),
        real_path=str(path.resolve()),
        size_bytes=status.st_size,
        allocated_bytes=status.st_blocks * 512,
    )


@pytest.mark.parametrize("given", ["", *THREE])
def test_any_shard_and_the_folder_lead_to_the_same_set(folder, given):
    """The set is listed by number, whatever is named and in whatever order or size the files are."""
    found = folder(*reversed(THREE), given=given)
    assert found == ShardListing(
        form="set",
        folder=str(folder.path),
        prefix="m",
        count=3,
        shards=tuple(shard(folder.path / name, number) for number, name in enumerate(THREE, 1)),
        missing=(),
        misnamed=(),
        duplicates=(),
        leftovers=(),
        others=(),
    )


def test_a_plain_file_is_a_set_of_one(folder):
    """A model in one file needs no number."""
    found = folder("m.gguf")
    assert (found.form, found.prefix, found.count, found.missing) == ("plain", "m", 1, ())
    assert found.shards == (shard(folder.path / "m.gguf", 1),)


def test_a_plain_file_is_found_among_others_when_it_is_named(folder):
    """A named file is judged; the other models beside it are only mentioned."""
    found = folder("m.gguf", *THREE, "n.gguf", given="n.gguf")
    assert (found.form, found.prefix, found.others) == ("plain", "n", (THREE[0], "m.gguf"))


def test_a_file_without_the_ending_can_be_named(folder):
    """A model may have any name when it is named, but is not found in a folder."""
    assert folder("weights.bin", given="weights.bin").shards == (shard(folder.path / "weights.bin", 1),)


def test_gaps_are_all_listed(folder):
    """Every missing number is given at once."""
    names = [engine_name("m", number, 7) for number in (1, 3, 7)]
    found = folder(*names)
    assert (found.missing, [one.number for one in found.shards]) == ((2, 4, 5, 6), [1, 3, 7])


def test_several_sets_in_a_folder_are_ambiguous(folder):
    """None of them is picked; all are named."""
    others = [engine_name("n", number, 2) for number in (1, 2)]
    found = folder(*THREE, *others, "z.gguf", "mmproj-z.gguf", "imatrix.gguf")
    assert (found.form, found.others, found.shards) == ("ambiguous", (THREE[0], others[0], "z.gguf"), ())


def test_the_same_prefix_with_another_total_is_another_set(folder):
    """A model that was uploaded again with other shards is not mixed with the first upload."""
    found = folder(*THREE, engine_name("m", 1, 4), given=THREE[0])
    assert (found.count, found.others) == (3, (engine_name("m", 1, 4),))


def test_companions_do_not_make_a_folder_ambiguous(folder):
    """A projector and an importance matrix beside the set are ignored."""
    found = folder(*THREE, "mmproj-m.gguf", "m.imatrix.gguf", "README.md", "._" + THREE[0])
    assert (found.form, found.others) == ("set", ())


@pytest.mark.parametrize("given", ["", THREE[0], engine_name("n", 2, 3)])
def test_a_renamed_shard_is_told_by_the_gap_it_fills(folder, given):
    """One shard with another prefix is taken for what is missing, whichever file was named."""
    found = folder(THREE[0], engine_name("n", 2, 3), THREE[2], given=given)
    assert (found.form, found.prefix, found.missing) == ("set", "m", (2,))
    assert found.misnamed == (
        Misnamed(
            name=engine_name("n", 2, 3), expected=THREE[1], reason="another prefix than the first shard's: renamed?"
        ),
    )


@pytest.mark.parametrize(
    "style", ["m-{}-of-3.gguf", "m-00{}-of-003.gguf", "m-0000{}-of-00003.GGUF", "m_0000{}_of_00003.gguf"]
)
def test_a_set_that_only_people_read_is_listed_with_its_right_names(folder, style):
    """Each file gets the name under which the engine would look for it."""
    found = folder(*(style.format(number) for number in (1, 2, 3)))
    assert [file.expected for file in found.misnamed] == list(THREE)
    assert len(found.shards) == 3


def test_a_number_outside_of_the_set_is_misnamed(folder):
    """Shard 4 of 3 and shard 0 are named, and are not part of the set."""
    found = folder(*THREE, engine_name("m", 4, 3), engine_name("m", 0, 3))
    assert {file.name for file in found.misnamed} == {engine_name("m", 4, 3), engine_name("m", 0, 3)}
    assert [one.number for one in found.shards] == [1, 2, 3]


@pytest.mark.parametrize("given", ["", engine_name("m", 0, 3), engine_name("m", 2, 3)])
def test_a_set_that_is_counted_from_zero_is_given_its_names(folder, given):
    """The last is renamed first, so that no name is taken when it is given."""
    found = folder(*(engine_name("m", number, 3) for number in (0, 1, 2)), given=given)
    moves = [(file.name, file.expected) for file in found.misnamed]
    assert moves == [(engine_name("m", number, 3), engine_name("m", number + 1, 3)) for number in (2, 1, 0)]
    assert [one.number for one in found.shards] == [1, 2, 3]
    assert (found.missing, found.duplicates) == ((), ())


@pytest.mark.parametrize("ending", [".txt", ".1", ".bak", "?download=true"])
def test_a_missing_shard_is_found_under_a_longer_name(folder, ending):
    """A browser's .txt, wget's .1 and its ?download=true: what holds GGUF is given its name back."""
    (folder.path / f"{THREE[2]}{ending}").write_bytes(b"GGUF")
    found = folder(*THREE[:2], f"{THREE[1]}.sha256")
    assert [(file.name, file.expected) for file in found.misnamed] == [(f"{THREE[2]}{ending}", THREE[2])]


def test_unfinished_files_of_other_models_are_not_of_this_one(folder):
    """A name that begins alike is another quantisation; a set of another count another upload."""
    names = ("m-Q8_0.gguf.part", "m2.gguf.crdownload", engine_name("m", 1, 4) + ".part", "m.gguf.part")
    assert [left.name for left in folder(*THREE, *names).leftovers] == []
    assert [left.name for left in folder("m.gguf", given="m.gguf").leftovers] == ["m.gguf.part"]


@pytest.mark.parametrize("name", ["m.gguf.part", "m-00001-of-00003.gguf.crdownload", "m.gguf.1a2b3c4d.partial"])
def test_an_unfinished_file_that_is_named_is_told_to_be_one(folder, name):
    """It is judged, and known to be no model yet."""
    found = folder(name, given=name)
    assert [left.name for left in found.leftovers] == [name] == [one.name for one in found.shards]


def test_a_set_is_named_before_single_files(folder):
    """Of several models the larger one is more likely meant: an adapter or a draft is a single file."""
    assert folder("a-lora.gguf", *THREE, "draft.gguf").others == (THREE[0], "a-lora.gguf", "draft.gguf")


def test_hidden_files_count_only_where_one_is_named(folder):
    """What macOS leaves is no model, a hidden set that is asked for is one."""
    hidden = [f".{name}" for name in THREE]
    assert folder(*hidden, "._m.gguf", given=hidden[1]).count == 3
    with pytest.raises(UsageError):
        folder()


def test_a_second_copy_of_a_number_is_a_duplicate(folder):
    """The strict name is taken; the browser's copy is named."""
    found = folder(*THREE, "m-00002-of-00003 (1).gguf", "m-2-of-3.gguf")
    assert found.duplicates == ("m-2-of-3.gguf", "m-00002-of-00003 (1).gguf")
    assert [one.name for one in found.shards] == list(THREE)


def test_pieces_of_an_old_upload_are_a_form_of_their_own(folder):
    """They are listed in the order in which they have to be joined."""
    found = folder("m.gguf-split-b", "m.gguf-split-a")
    assert (found.form, found.prefix, found.count) == ("byte_split", "m.gguf", 2)
    assert [one.name for one in found.shards] == ["m.gguf-split-a", "m.gguf-split-b"]
    assert folder("m.gguf-split-a", given="m.gguf-split-a") == found


@pytest.fixture
def cache(tmp_path):
    """Make a Hugging Face cache: names are links to blobs."""
    snapshot, blobs = tmp_path / "snapshots" / "rev", tmp_path / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for number, name in enumerate(THREE):
        blob = blobs / (str(number) * 64)
        blob.write_bytes(b"x" * number)
        (snapshot / name).symlink_to(f"../../blobs/{blob.name}")
    return snapshot


def test_links_keep_their_names(cache):
    """Names are judged where the links are, bytes where they lead."""
    found = list_shards(cache / THREE[1])
    assert [one.name for one in found.shards] == list(THREE)
    assert [Path(one.real_path).name for one in found.shards] == ["0" * 64, "1" * 64, "2" * 64]
    assert [one.size_bytes for one in found.shards] == [0, 1, 2]


def test_a_dangling_link_is_a_shard_without_bytes(cache):
    """The name is there, the blob is not."""
    (cache.parent.parent / "blobs" / ("1" * 64)).unlink()
    found = list_shards(cache)
    assert [one.real_path is None for one in found.shards] == [False, True, False]
    assert found.missing == ()


def test_a_blob_is_no_name_for_a_model(cache):
    """The error names the snapshot's path that leads to the blob."""
    with pytest.raises(UsageError) as caught:
        list_shards(cache.parent.parent / "blobs" / ("1" * 64))
    assert "blob" in caught.value.message
    assert caught.value.fix == f'name it by its link: "{cache / THREE[1]}"'


@pytest.mark.parametrize(
    ("names", "given", "message", "fix"),
    [
        ((), "", "a folder without GGUF files", "any shard"),
        ((), "absent.gguf", "not found", "any shard"),
        (("m.gguf",), "n.gguf", "not found", "this folder has: m.gguf"),
        (("Q4/m.gguf", "Q8/m.gguf"), "", "a folder without GGUF files", "one of its folders: Q4, Q8"),
        (("m.gguf.part",), "", "a folder without GGUF files", "not finished: m.gguf.part"),
        (("m.gguf.part",), "m.gguf", "not found", "not finished: m.gguf.part"),
        (("mmproj.gguf",), "", "a folder without GGUF files", "only go beside one: mmproj.gguf"),
        (("m.gguf.zst",), "", "a folder without GGUF files", "unpack them first: m.gguf.zst"),
        (("m.7z.001", "m.7z.002"), "", "a folder without GGUF files", "unpack them first: m.7z.001, m.7z.002"),
        (("model.safetensors", "config.json"), "", "a folder without GGUF files", "take the model as GGUF"),
        (("._____temp/m.gguf", "README.md"), "", "a folder without GGUF files", "any shard"),
        (("a",), "a/b/c.gguf", "not found", "any shard"),
    ],
)
def test_a_path_that_is_no_model_is_a_usage_error(folder, names, given, message, fix):
    """What is not there is said in one line, with what is there instead."""
    with pytest.raises(UsageError) as caught:
        folder(*names, given=given)
    assert message in caught.value.message
    assert fix in caught.value.fix


def test_a_folder_that_cannot_be_listed_is_a_probe_error(tmp_path):
    """Permission is no fault of the model."""
    if os.geteuid() == 0:
        pytest.skip("root may list every folder")
    shut = tmp_path / "shut"
    shut.mkdir(mode=0)
    with pytest.raises(ProbeError, match="cannot be listed"):
        list_shards(shut)


@given(
    names=st.lists(
        st.sampled_from(
            [*THREE, "m-1-of-3.gguf", "n-00002-of-00003.gguf", "x.gguf", "m.gguf.part", "mmproj.gguf", "y.gguf-split-a"]
        ),
        unique=True,
    )
)
def test_any_mixture_of_files_gives_a_listing_or_a_clear_error(tmp_path_factory, names):
    """Whatever lies in a folder, the answer is a set, a list of candidates, or one line that says what is wrong."""
    folder = tmp_path_factory.mktemp("mixture")
    for name in names:
        (folder / name).touch()
    known = any(name.endswith((".gguf", "-a")) and name != "mmproj.gguf" for name in names)
    if not known:
        with pytest.raises(UsageError, match="without GGUF"):
            list_shards(folder)
        return
    found = list_shards(folder)
    assert found.shards or found.others
    assert [one.number for one in found.shards] == sorted({one.number for one in found.shards})


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_not_opened(tmp_path, make):
    """Opening a pipe would wait for ever; a folder cannot be read."""
    (tmp_path / "m-00001-of-00002.gguf").write_bytes(b"x")
    make(tmp_path / "m-00002-of-00002.gguf")
    with pytest.raises(ProbeError, match=r"m-00002-of-00002\.gguf: found (a folder|no regular file), expected a shard"):
        list_shards(tmp_path / "m-00001-of-00002.gguf")

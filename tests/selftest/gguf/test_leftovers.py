"""What unfinished downloads leave beside a model."""

from streamworthy.facts.shards import Leftover
from streamworthy.gguf.leftovers import list_leftovers
from streamworthy.gguf.names import engine_name

THREE = tuple(engine_name("m", number, 3) for number in (1, 2, 3))


def leftovers(folder, *names):
    """Make these files and list what is left over of the set m."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return list_leftovers(folder, sorted(entry.name for entry in folder.iterdir()), THREE.__contains__)


def test_part_files_are_listed_with_their_twins(tmp_path):
    """Part files, those whose finished twin is there, and control files differ; other models' are not listed."""
    parts = (THREE[0] + ".aria2", THREE[1] + ".part", THREE[2] + ".crdownload", "other.gguf.part")
    assert leftovers(tmp_path, *THREE[:2], *parts) == (
        Leftover(name=parts[0], twin=THREE[0], twin_present=True, control=True),
        Leftover(name=parts[1], twin=THREE[1], twin_present=True, control=False),
        Leftover(name=parts[2], twin=THREE[2], twin_present=False, control=False),
    )


def test_modelscope_s_unfinished_files_keep_their_names(tmp_path):
    """Its client writes them in a folder of their own."""
    names = (f"._____temp/{THREE[2]}", "._____temp/other.gguf")
    assert leftovers(tmp_path, *THREE[:2], *names) == (
        Leftover(name=names[0], twin=THREE[2], twin_present=False, control=False),
    )


def test_the_hub_client_s_unfinished_files_have_no_twin(tmp_path):
    """They are named by hash, so what they are to become is not known."""
    name = ".cache/huggingface/download/abc.def.incomplete"
    assert leftovers(tmp_path, *THREE, name) == (Leftover(name=name, twin="", twin_present=False, control=False),)


def test_a_snapshot_s_unfinished_blobs_are_listed(tmp_path):
    """In the hub's cache they lie among the blobs, two folders up."""
    snapshot = tmp_path / "snapshots" / "rev"
    snapshot.mkdir(parents=True)
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "abc.incomplete").touch()
    assert leftovers(snapshot, THREE[0]) == (
        Leftover(name="../../blobs/abc.incomplete", twin="", twin_present=False, control=False),
    )


def test_a_folder_named_blobs_elsewhere_is_left_alone(tmp_path):
    """Only a snapshot's cache is looked into."""
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "abc.incomplete").touch()
    assert leftovers(folder, THREE[0]) == ()

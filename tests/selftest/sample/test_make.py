"""Making the sample: whole or not at all, once, and found again."""

import os
import subprocess
import sys
from dataclasses import asdict

import pytest

from streamworthy.errors import ProbeError, UsageError
from streamworthy.sample import make
from streamworthy.sample.make import ensure_sample
from streamworthy.sample.stored import hash_shards, manifest_path, record_path, set_paths


def files(folder):
    """List the names in a folder."""
    return sorted(path.name for path in folder.iterdir())


def inodes(folder, spec):
    """List the shards' inodes, which tell files made anew from those kept."""
    return [(folder / name).stat().st_ino for name in spec.shard_names]


@pytest.fixture
def made(tmp_path, tiny):
    """Give a folder that holds the tiny sample."""
    ensure_sample(tmp_path, tiny)
    return tmp_path


def test_makes_the_whole_set(tmp_path, tiny):
    """A missing folder is created, and holds the shards, the manifest and the record, and nothing else."""
    folder = tmp_path / "a" / "b"
    assert ensure_sample(folder, tiny) == folder / tiny.shard_names[0]
    assert files(folder) == sorted(path.name for path in set_paths(folder, tiny))


def test_same_bytes_each_time(tmp_path, tiny):
    """Two folders get the same bytes."""
    for name in ("a", "b"):
        ensure_sample(tmp_path / name, tiny)
    assert hash_shards(tmp_path / "a", tiny) == hash_shards(tmp_path / "b", tiny)


def test_manifest_is_what_sha256sum_reads(made, tiny):
    """Each manifest line is a digest, two spaces and a shard's name."""
    expected = [f"{digest}  {name}" for digest, name in zip(hash_shards(made, tiny), tiny.shard_names, strict=True)]
    assert manifest_path(made, tiny).read_text().splitlines() == expected


def test_second_call_writes_nothing(made, tiny):
    """An intact set is used as it is: no file is made or changed."""
    before = [path.stat() for path in set_paths(made, tiny)]
    ensure_sample(made, tiny, free_bytes=lambda _folder: pytest.fail("asked for space"))
    assert [path.stat()[:8] for path in set_paths(made, tiny)] == [stat[:8] for stat in before]


def test_touched_shard_is_hashed_and_kept(made, tiny):
    """New times on the same bytes cost a look, after which the record is up to date; nothing is made anew."""
    before, record = inodes(made, tiny), record_path(made, tiny).read_text()
    os.utime(made / tiny.shard_names[1], (1, 1))
    ensure_sample(made, tiny)
    assert inodes(made, tiny) == before
    assert record_path(made, tiny).read_text() != record


def flip_one_byte(path):
    """Change the last bit of a file in place."""
    with path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)[0]
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last ^ 1]))


def cut_the_end(path):
    """Take the last byte off a file."""
    os.truncate(path, path.stat().st_size - 1)


def keep_the_old_times(path):
    """Change a bit and put the modification time back."""
    stat = path.stat()
    flip_one_byte(path)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


@pytest.mark.parametrize("damage", [flip_one_byte, cut_the_end, keep_the_old_times, os.unlink])
def test_damaged_shard_is_made_anew(made, tiny, damage):
    """A changed, cut, disguised or missing shard brings the whole set back to its first bytes."""
    before = hash_shards(made, tiny)
    damage(made / tiny.shard_names[2])
    ensure_sample(made, tiny)
    assert hash_shards(made, tiny) == before


@pytest.mark.parametrize("text", ["", "[]", "{", '{"spec": 1}'])
def test_broken_record_is_no_record(made, tiny, text):
    """A record that cannot be understood leads to a new set, not to an error."""
    before = inodes(made, tiny)
    record_path(made, tiny).write_text(text)
    ensure_sample(made, tiny)
    assert inodes(made, tiny) != before


@pytest.mark.parametrize("exception", [KeyboardInterrupt, SystemExit, ZeroDivisionError])
def test_interrupted_making_leaves_nothing(tmp_path, tiny, exception):
    """Whatever stops the making, no file of it remains."""

    def stop(done, total):
        if done > total // 2:
            raise exception

    with pytest.raises(exception):
        ensure_sample(tmp_path, tiny, progress=stop)
    assert files(tmp_path) == []


def test_failed_renaming_leaves_nothing(tmp_path, tiny, monkeypatch):
    """When the last step fails, shards that are in place already are removed again."""

    def fail(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(make, "write_record", fail)
    with pytest.raises(UsageError, match="No space left on device"):
        ensure_sample(tmp_path, tiny)
    assert files(tmp_path) == []


def test_leftovers_of_a_killed_maker_are_removed(tmp_path, tiny):
    """A temporary folder that nobody owns any more is swept away."""
    leftover = tmp_path / f".{tiny.prefix}.abc.tmp"
    leftover.mkdir()
    (leftover / "shard").write_bytes(b"x")
    ensure_sample(tmp_path, tiny)
    assert not leftover.exists()


def test_full_folder(tmp_path, tiny):
    """Too little space is refused before anything is written; found and expected are named."""
    with pytest.raises(UsageError, match=r"found 1000 B free, expected .* MiB") as caught:
        ensure_sample(tmp_path, tiny, free_bytes=lambda _folder: 1000)
    assert caught.value.fix
    assert files(tmp_path) == []


def test_folder_that_cannot_be(tmp_path, tiny):
    """A file where the folder should be is one clear line."""
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="expected a folder that can be written"):
        ensure_sample(tmp_path / "file" / "folder", tiny)


def test_other_bytes_than_stored(tmp_path, tiny, monkeypatch):
    """A machine that writes other bytes than the stored digests say gets no sample."""
    monkeypatch.setattr(make, "stored_digests", lambda _spec: ("0" * 64,) * 6)
    with pytest.raises(ProbeError, match="not reproducible here"):
        ensure_sample(tmp_path, tiny)
    assert files(tmp_path) == []


def test_progress_ends_at_the_total(tmp_path, tiny):
    """Progress rises to the total that it was given from the start."""
    seen = []
    ensure_sample(tmp_path, tiny, progress=lambda done, total: seen.append((done, total)))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert {total for _, total in seen} == {seen[-1][0]}


def test_two_makers_at_once(tmp_path, tiny):
    """Two processes that want the same sample both get it, and it is made once."""
    script = (
        "import sys, json, pathlib; from streamworthy.sample.make import ensure_sample\n"
        "from streamworthy.sample.spec import SampleSpec\n"
        f"path = ensure_sample(pathlib.Path(sys.argv[1]), SampleSpec(**{asdict(tiny)!r}))\n"
        "print(path.stat().st_ino)"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    makers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [maker.communicate(timeout=120)[0] for maker in makers]
    assert [maker.returncode for maker in makers] == [0, 0]
    assert answers[0] == answers[1]
    assert files(tmp_path) == sorted(path.name for path in set_paths(tmp_path, tiny))

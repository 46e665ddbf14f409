"""One page of each shard, mapped shared in a child: what filesystems and drives really answer."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from streamworthy.errors import UsageError
from streamworthy.facts.mapping import ShardMap
from streamworthy.probes import mapping
from streamworthy.probes.mapping import probe_mapping
from streamworthy.probes.sysroot import Sysroot
from tests.selftest.criteria.volumes import VOLUME, facts
from tests.selftest.filesystems.mounts import filesystem, mounted, need_root, run
from tests.selftest.probes.trees import tree

linux = pytest.mark.skipif(sys.platform != "linux", reason="asks this kernel; O_DIRECT and SIGBUS are Linux's")
WELL = ShardMap(path="/data/glm/a.gguf", refused_at="", error="", direct_seconds=0.0001, direct_error="")


def volumes(*paths):
    """Give the sound volume with these shards."""
    return facts(replace(VOLUME, shards=tuple(map(str, paths))))


def ask(*paths, deadline_seconds=20.0):
    """Try real files; gives what became of each."""
    found = probe_mapping(Sysroot(), volumes(*paths), deadline_seconds=deadline_seconds)
    assert (found.missing, found.unknown) == ("", "")
    return found.volumes[0].shards


def steps(shards):
    """Reduce to where each was refused, and why."""
    return [(shard.refused_at, shard.error) for shard in shards]


def write(path, size=9000):
    """Write a file of random bytes, on the disk and not in the page cache."""
    path.write_bytes(os.urandom(size))
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return path


@linux
@pytest.mark.parametrize("size", [1, 4095, 4096, 9000])
def test_a_sound_file_is_mapped_and_read_directly(tmp_path, size):
    """Also one below a page, with a blank and a line end in its name."""
    path = write(tmp_path / "a b\n.gguf", size)
    (found,) = ask(path)
    assert (found.path, found.refused_at, found.error) == (str(path), "", "")
    assert (found.direct_seconds is None) == (found.direct_error != "")


@linux
def test_a_file_that_is_not_there_or_empty_ends_no_other(tmp_path):
    """The absent one says so, the empty one has no page to touch, the sound one behind them is tried."""
    (tmp_path / "empty.gguf").touch()
    paths = tmp_path / "absent.gguf", tmp_path / "empty.gguf", write(tmp_path / "sound.gguf")
    assert steps(ask(*paths)) == [("open", "ENOENT"), ("", ""), ("", "")]


@linux
def test_a_file_that_does_not_answer_is_given_up(tmp_path):
    """A pipe that nobody writes to: it is named, nothing behind it is tried, and no process is left."""
    os.mkfifo(tmp_path / "hangs.gguf")
    sound = write(tmp_path / "sound.gguf")
    assert steps(ask(sound, tmp_path / "hangs.gguf", sound, deadline_seconds=0.5)) == [("", ""), ("open", "silent")]


@linux
def test_without_a_python_to_start_it_is_unknown(tmp_path, monkeypatch):
    """As for a user who may not run this Python; the reason is in the facts and in a capture."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "absent"))
    found = probe_mapping(Sysroot(), volumes(write(tmp_path / "a.gguf")))
    assert (found.volumes, found.missing) == ((), "")
    assert found.unknown == "a process to map shards in could not be started: No such file or directory"


@linux
def test_a_child_that_says_nothing_is_unknown(tmp_path, monkeypatch):
    """It is not started for ever."""
    silent = tmp_path / "silent.py"
    silent.write_text("import sys; sys.stdin.read()")
    monkeypatch.setattr(mapping, "_CHILD", silent)
    found = probe_mapping(Sysroot(), volumes(write(tmp_path / "a.gguf")))
    assert found.unknown == "the process that maps shards ended and said nothing"


@pytest.mark.root
def test_fuse_with_direct_io_maps_privately_and_not_shared(tmp_path):
    """The same files through the same driver, with and without: only the map tells them apart."""
    need_root()
    (tmp_path / "source").mkdir()
    write(tmp_path / "source" / "a.gguf")
    with mounted(tmp_path / "cached", "bindfs", str(tmp_path / "source")) as point:
        assert steps(ask(point / "a.gguf")) == [("", "")]
    with mounted(tmp_path / "direct", "bindfs", "-o", "direct_io", str(tmp_path / "source")) as point:
        assert steps(ask(point / "a.gguf", point / "a.gguf")) == [("map", "ENODEV")] * 2


@pytest.mark.root
def test_a_process_that_serves_files_and_hangs_is_given_up(tmp_path):
    """A FUSE driver that is stopped: a read of it would wait for ever."""
    need_root()
    (tmp_path / "source").mkdir()
    write(tmp_path / "source" / "a.gguf")
    with mounted(tmp_path / "relay", "bindfs", "-o", "direct_io", str(tmp_path / "source")) as point:
        (pid,) = pids_of(point)
        os.kill(pid, signal.SIGSTOP)
        try:
            (found,) = ask(point / "a.gguf", deadline_seconds=0.5)
        finally:
            os.kill(pid, signal.SIGCONT)
        assert found.error == "silent"


def pids_of(point):
    """Find the driver of a FUSE mount by its command line."""
    return [int(pid) for pid in run("pgrep", "-f", f"^bindfs.*{point}").split()]


@pytest.mark.root
def test_a_drive_that_cannot_read_the_first_page_is_a_bus_error(tmp_path):
    """A loop device whose file was cut gives EIO; the touch kills a child, and the next shard is still tried."""
    need_root()
    with filesystem(tmp_path, "ext4") as (_, point):
        paths = write(point / "a.gguf", 2**20), write(point / "b.gguf", 2**20)
        os.truncate(tmp_path / "ext4.image", 2**20)
        found = ask(*paths)
        os.truncate(tmp_path / "ext4.image", 400 * 2**20)
    assert steps(found) == [("touch", "SIGBUS")] * 2
    assert {shard.direct_error for shard in found} == {"EIO"}


def test_a_captured_machine_answers_from_its_file(tmp_path):
    """Answers of other paths are left aside; none at all is nothing to map."""
    answer = '[[mapping]]\npath = "{}"\nrefused_at = "map"\nerror = "ENODEV"\ndirect_error = "EINVAL"\n'
    root = tree(tmp_path / "told", answers=answer.format("/data/glm/a.gguf") + answer.format("/else"))
    (volume,) = probe_mapping(root, facts()).volumes
    expected = replace(WELL, refused_at="map", error="ENODEV", direct_seconds=None, direct_error="EINVAL")
    assert (volume.mount_point, volume.fstype, volume.disks, volume.shards) == (
        "/data",
        "ext4",
        ("nvme0n1",),
        (expected,),
    )
    untold = probe_mapping(tree(tmp_path / "untold"), facts())
    assert (untold.volumes, untold.unknown) == ((), "")
    assert "has no [[mapping]]" in untold.missing


def test_what_was_noted_reads_back_the_same(tmp_path):
    """A capture holds what this machine answered, and why nothing was."""
    noted = []
    root = Sysroot()
    root.note = lambda table, answer: noted.append((table, answer))
    mapping._note(root, [WELL], "")
    lines = [
        f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}" for key, value in noted[0][1].items()
    ]
    captured = tree(tmp_path / "a", answers="\n".join(["[[mapping]]", *lines]))
    assert probe_mapping(captured, facts()).volumes[0].shards == (WELL,)
    captured = tree(tmp_path / "b", answers='[[mapping]]\nreason = "no Python"\n')
    assert probe_mapping(captured, facts()).unknown == "no Python"


def test_a_broken_answer_is_a_usage_error(tmp_path):
    """machine.toml is written by hand too."""
    with pytest.raises(UsageError, match=r"\[mapping\] refused_at"):
        probe_mapping(tree(tmp_path, answers='[[mapping]]\npath = "/a"\n'), facts())


def test_without_shards_there_is_nothing_to_map():
    """A model that is still to come."""
    found = probe_mapping(Sysroot(), facts(replace(VOLUME, shards=())))
    assert (found.volumes, found.missing, found.unknown) == ((), "no shard is there yet", "")


def test_the_child_is_shipped():
    """It is run as a file, so it has to be one."""
    assert Path(mapping._CHILD).is_file()

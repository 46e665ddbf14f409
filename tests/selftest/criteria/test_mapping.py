"""The gate on mapping: it passes, fails by what was refused, and errors where nothing was learned."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamworthy.criteria import storage
from streamworthy.facts.mapping import MappingFacts, ShardMap, VolumeMaps
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.gguf.test_kv_cache import PLAN

WELL = ShardMap(path="/data/glm/a.gguf", refused_at="", error="", direct_seconds=0.0002, direct_error="")
VOLUME = VolumeMaps(mount_point="/data", fstype="ext4", disks=("nvme0n1",), shards=(WELL, WELL))
FACTS = MappingFacts(volumes=(VOLUME,), missing="", unknown="", deadline_seconds=20.0)
LIMIT = limit("storage.mappable")


def judge(shard=None, plan=PLAN, **changes):
    """Judge two shards of which the second is this one."""
    volume = replace(VOLUME, shards=(WELL, shard or WELL), **changes)
    return storage.mappable(replace(FACTS, volumes=(volume,)), plan, LIMIT)


def refused(step, error):
    """Give a shard that was refused at a step."""
    return replace(WELL, path="/data/glm/b c.gguf", refused_at=step, error=error)


def test_shards_that_were_mapped_pass_with_their_direct_reads():
    """The evidence says that the disk itself answered."""
    found = judge()
    assert (found.word, found.measured) == (Word.PASS, "2 of 2 shards on ext4 at /data mapped")
    assert found.evidence == ("direct_read_at_/data=2 answered, the slowest in 200 us",)


def test_no_direct_read_is_no_fault():
    """The engine does not use them."""
    found = judge(replace(WELL, direct_seconds=None, direct_error="EINVAL"))
    assert found.word is Word.PASS
    assert found.evidence == ("direct_read_at_/data=1 answered, the slowest in 200 us; none (EINVAL)",)


@pytest.mark.parametrize(
    ("fstype", "step", "error", "cause", "fix"),
    [
        ("fuse.mergerfs", "map", "ENODEV", "fuse.mergerfs at /data refuses a shared mapping", "cache.files=auto-full"),
        ("fuse.bindfs", "map", "ENODEV", "'mmap failed: No such device'", "without the option direct_io"),
        ("9p", "map", "ENODEV", "9p at /data refuses a shared mapping", "cache=mmap"),
        ("oddfs", "map", "ENODEV", "oddfs at /data refuses a shared mapping", "findmnt --real"),
        ("ext4", "map", "ENOMEM", "a limit on this process's address space or maps, not ext4", "ulimit -v"),
        ("ext4", "map", "EACCES", "may be opened and not mapped (EACCES): a security policy", "ausearch -m avc"),
        ("ext4", "map", "EAGAIN", "refuses a shared mapping of /data/glm/b c.gguf: EAGAIN", "rsync"),
        ("ext4", "touch", "SIGBUS", "first page cannot be read (SIGBUS, touched after mapping)", "sudo dmesg"),
        ("ext4", "direct", "EIO", "first page cannot be read (EIO, read directly)", "sudo dmesg"),
    ],
)
def test_each_refusal_has_its_cause_and_its_remedy(fstype, step, error, cause, fix):
    """One of two shards is enough, and is counted."""
    found = judge(refused(step, error), fstype=fstype)
    assert (found.word, cause in found.cause) == (Word.FAIL, True), found.cause
    assert any(fix in line for line in found.fix), found.fix
    assert f"1 of 2 shards on {fstype} at /data: {error}" in found.measured


def test_a_remedy_quotes_its_paths():
    """It can be pasted."""
    assert "mv '/data/glm/b c.gguf' '/data/glm/b c.gguf.damaged'" in "\n".join(judge(refused("touch", "SIGBUS")).fix)


def test_a_disk_that_does_not_answer_is_an_error_with_its_name():
    """Neither mapped nor refused."""
    found = judge(refused("direct", "silent"))
    assert found.word is Word.ERROR
    assert found.cause == "nvme0n1: /data/glm/b c.gguf gave no answer in 20.0 s (read directly): the disk hangs"
    assert judge(refused("touch", "silent"), disks=()).cause.startswith("ext4 at /data: /data/glm")


def test_a_shard_that_cannot_be_opened_is_an_error():
    """Whether it could be mapped is not known."""
    found = judge(refused("open", "EACCES"))
    assert (found.word, found.fix) == (Word.ERROR, ("ls -l '/data/glm/b c.gguf'",))


def test_what_was_not_tried_is_an_error_and_what_is_not_there_does_not_apply():
    """Unknown is never safe; a captured machine has no files."""
    unknown = replace(FACTS, volumes=(), unknown="no process")
    assert storage.mappable(unknown, PLAN, LIMIT).word is Word.ERROR
    missing = replace(FACTS, volumes=(), missing="no shard is there yet")
    assert storage.mappable(missing, PLAN, LIMIT).word is Word.NOT_APPLICABLE


def test_an_engine_that_does_not_map_is_not_asked():
    """A tier of one's own may read the shards into memory."""
    found = judge(refused("map", "ENODEV"), plan=replace(PLAN, mmap=False))
    assert (found.word, "instead of mapping" in found.cause) == (Word.NOT_APPLICABLE, True)

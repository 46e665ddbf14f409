"""The model as gates see it: lazy, named from any shard, and clear about what is partial."""

import hashlib
import os
import resource
import time
from dataclasses import replace

import pytest

from streamworthy.bench.evict import evict
from streamworthy.bench.residency import residency
from streamworthy.criteria import shards as criteria
from streamworthy.errors import ProbeError, UsageError
from streamworthy.facts.shards import OpenFiles, SetTotal
from streamworthy.facts.storage import Placement
from streamworthy.gguf.cursor import GgufError
from streamworthy.gguf.hash_cache import HashCache
from streamworthy.gguf.subject import Subject
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.gguf.build import big_header_keys, big_tensors, build
from tests.selftest.gguf.reshard import reshard
from tests.selftest.gguf.test_kv_cache import PLAN
from tests.selftest.gguf.test_ledger import MEMORY
from tests.selftest.gguf.tiny import gpt_oss


@pytest.fixture
def shards(tmp_path):
    """Write a small model in four shards."""
    whole = tmp_path / "whole"
    whole.mkdir()
    (whole / "m.gguf").write_bytes(gpt_oss())
    (tmp_path / "set").mkdir()
    return reshard(whole / "m.gguf", tmp_path / "set", 4)


def test_making_a_subject_touches_nothing(tmp_path):
    """A path that does not exist is an error only when something is asked."""
    subject = Subject(tmp_path / "absent")
    with pytest.raises(UsageError, match="not found"):
        _ = subject.listing


def test_any_shard_gives_the_same_model(shards):
    """Name, first shard, placements, sizes and identity do not depend on which shard was named."""
    subjects = [Subject(path) for path in (shards[0], shards[2], shards[0].parent)]
    assert {subject.first for subject in subjects} == {shards[0]}
    assert {subject.name for subject in subjects} == {"model"}
    assert len({subject.identity for subject in subjects}) == 1
    assert all(subject.sizes == subjects[0].sizes for subject in subjects)
    assert subjects[1].paths == tuple(shards)
    assert subjects[1].placements == tuple(
        Placement(
            path=str(path),
            real_path=str(path.resolve()),
            size_bytes=path.stat().st_size,
            allocated_bytes=path.stat().st_blocks * 512,
        )
        for path in shards
    )


def test_a_set_has_the_sizes_of_the_whole_file(shards):
    """Cutting a model into shards changes none of its sizes."""
    whole = Subject(shards[0].parent.parent / "whole")
    assert Subject(shards[1]).sizes == whole.sizes
    assert Subject(shards[1]).kv(PLAN) == whole.kv(PLAN)


def test_the_identity_is_that_of_the_content_and_not_of_the_name(shards, tmp_path):
    """A renamed copy is the same model; one changed header byte, or another length, is another."""
    before = Subject(shards[0]).identity
    copies = reshard(tmp_path / "whole" / "m.gguf", tmp_path, 4, prefix="copy")
    assert Subject(copies[0]).identity == before
    with copies[3].open("ab") as file:
        file.write(b"x")
    assert Subject(copies[0]).identity != before
    shards[1].write_bytes(shards[1].read_bytes().replace(b"blk.", b"bla.", 1))
    assert Subject(shards[0]).identity != before


def test_a_missing_shard_makes_sizes_partial_and_the_total_an_estimate(shards):
    """What is there is counted, what is not is taken to be as large as the largest."""
    sizes = [path.stat().st_size for path in shards]
    assert Subject(shards[0]).total == SetTotal(
        present_bytes=sum(sizes), whole_bytes=sum(sizes), exact=True, basis="headers and file sizes"
    )
    shards[2].unlink()
    found = Subject(shards[0])
    left = sum(sizes) - sizes[2]
    assert found.total == SetTotal(
        present_bytes=left,
        whole_bytes=left + max(sizes[:2] + sizes[3:]),
        exact=False,
        basis="1 of 4 shards taken as the largest",
    )
    assert found.set_total_bytes == found.total.whole_bytes
    assert found.sizes.partial
    assert found.sizes.total_bytes < Subject(shards[0].parent.parent / "whole").sizes.total_bytes


def test_a_cut_shard_counts_whole_in_the_total(shards):
    """Its header tells how long it will be."""
    whole = Subject(shards[0]).total.whole_bytes
    raw = shards[3].read_bytes()
    shards[3].write_bytes(raw[:-500])
    found = Subject(shards[0]).total
    assert (found.present_bytes, found.exact) == (whole - 500, True)
    assert whole - 32 <= found.whole_bytes <= whole


def test_a_pointer_tells_the_size_of_what_it_stands_for(shards):
    """A Git LFS pointer in the place of a shard carries its size."""
    sizes = [path.stat().st_size for path in shards]
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 4242\n"
    shards[3].write_text(pointer)
    found = Subject(shards[0]).total
    assert (found.whole_bytes, found.exact) == (sum(sizes[:3]) + 4242, True)


def test_without_its_first_shard_a_model_has_no_metadata(shards):
    """The error names the shard to fetch; the listing still works."""
    shards[0].unlink()
    found = Subject(shards[1])
    assert found.listing.missing == (1,)
    with pytest.raises(ProbeError, match=f"{shards[0].name}: not found") as caught:
        _ = found.sizes
    assert caught.value.fix == f"download {shards[0].name}"


def test_a_broken_first_shard_is_the_error_of_all_that_follows_from_it(shards):
    """Sizes and KV say what is wrong with the header; headers lists it as a fault."""
    shards[0].write_bytes(b"<html>")
    found = Subject(shards[1])
    assert [len(entry.faults) for entry in found.headers] == [1, 0, 0, 0]
    with pytest.raises(GgufError, match="a web page"):
        _ = found.sizes
    with pytest.raises(GgufError, match="a web page"):
        found.kv(PLAN)
    with pytest.raises(GgufError, match="a web page"):
        found.ledger(PLAN, MEMORY)
    assert found.set_total_bytes is not None


def test_a_single_broken_file_has_no_ledger(tmp_path):
    """With no sound header at all the error is still the header's."""
    (tmp_path / "m.gguf").write_bytes(b"text")
    with pytest.raises(GgufError, match="a text file"):
        Subject(tmp_path).ledger(PLAN, MEMORY)


def test_a_set_of_dangling_links_tells_no_size(tmp_path):
    """Nothing is there to learn it from."""
    (tmp_path / "m-00001-of-00002.gguf").symlink_to("nowhere")
    found = Subject(tmp_path)
    assert (found.set_total_bytes, found.placements, found.headers) == (None, (), ())
    with pytest.raises(ProbeError, match="no shard is there"):
        _ = found.total


def test_several_models_are_an_error_of_everything_but_the_listing(shards):
    """The gate for names lists them; nothing else is judged of a model that nobody chose."""
    (shards[0].parent / "other.gguf").write_bytes(gpt_oss())
    found = Subject(shards[0].parent)
    assert found.listing.form == "ambiguous"
    assert found.paths == ()
    for name in ("headers", "extents", "sizes", "placements", "identity", "total", "set_total_bytes", "hashes"):
        with pytest.raises(ProbeError, match="found several models"):
            getattr(found, name)


def test_hashes_are_taken_against_the_manifest_beside_the_shards(shards, tmp_path):
    """Without a manifest nothing is read; with one each shard is compared."""
    cache = HashCache(tmp_path / "cache")
    assert Subject(shards[0], hash_cache=cache).hashes.manifest is None
    lines = []
    (tmp_path / "sums").write_text("".join(f"{'0' * 64}  {path.name}\n" for path in shards))
    found = Subject(shards[0], manifest=tmp_path / "sums", hash_cache=cache, say=lines.append).hashes
    assert [shard.matches for shard in found.shards] == [False] * 4


def test_seven_large_headers_are_read_in_no_time(tmp_path):
    """Everything that headers tell of a 744B-class set is there in well under a second; the benchmark says how fast."""
    path = tmp_path / "m-00001-of-00007.gguf"
    tensors = big_tensors()
    path.write_bytes(build(big_header_keys(), tensors[:150]))
    for number in range(2, 8):
        keys = (("split.no", "u16", number - 1), ("split.count", "u16", 7), ("split.tensors.count", "i32", 1014))
        (tmp_path / f"m-{number:05d}-of-00007.gguf").write_bytes(build(keys, tensors[144 * number - 138 :][:144]))
    began = time.process_time()
    found = Subject(path)
    assert [entry.faults for entry in found.headers] == [()] * 7
    assert found.total.exact
    assert found.extents.cut == ()
    assert time.process_time() - began < 1


def test_a_plan_changes_the_cache_and_nothing_else(shards):
    """The KV cache follows the plan each time it is asked."""
    found = Subject(shards[0])
    assert found.kv(replace(PLAN, swa_full=True)).total_bytes > found.kv(PLAN).total_bytes


def test_a_set_without_a_shard_has_no_verified_content(tmp_path):
    """All of nothing matches, which is no reason to pass."""
    (tmp_path / "m-00001-of-00001.gguf").symlink_to("nowhere")
    with pytest.raises(ProbeError, match="no shard is there to verify"):
        _ = Subject(tmp_path).hashes


def test_the_limit_of_open_files_is_that_of_this_process(shards):
    """The engine is a child and inherits it."""
    soft, hard = (None if one == resource.RLIM_INFINITY else one for one in resource.getrlimit(resource.RLIMIT_NOFILE))
    assert Subject(shards[0]).open_files == OpenFiles(soft_count=soft, hard_count=hard)


def test_learning_a_model_leaves_it_as_cold_as_it_was(shards):
    """A look at headers and keys must not change what the page cache holds before it is measured."""
    paths = Subject(shards[0]).paths
    for path in paths:
        with path.open("rb") as file:
            os.fsync(file.fileno())
    if evict(paths).after.resident_bytes:
        pytest.skip("this filesystem does not let pages go")
    for name in ("headers", "identity", "extents", "sizes", "metadata_leaks", "leaking_texts", "tensors"):
        _ = getattr(Subject(shards[0]), name)
        assert residency(paths).resident_bytes == 0, name


def test_an_empty_shard_is_one_that_is_to_be_fetched(shards):
    """Its size is taken to be that of the largest, and it counts as absent."""
    whole = Subject(shards[0]).total
    shards[1].write_bytes(b"")
    found = Subject(shards[0])
    assert not found.total.exact
    assert found.total.whole_bytes > found.total.present_bytes
    assert found.total.present_bytes < whole.present_bytes
    verdict = criteria.complete(found.listing, found.total, found.open_files, limit())
    assert verdict.word is Word.FAIL
    assert f"empty: {shards[1].name}: the download did not begin" in verdict.cause
    assert shards[1].name in verdict.fix[0]


def test_pieces_of_a_file_are_asked_for_nothing_but_their_names(shards):
    """Only the first has a header, and what it promises is in the others too."""
    raw = b"".join(path.read_bytes() for path in shards)
    for number, letter in enumerate("abc"):
        (shards[0].parent / f"whole.gguf-split-{letter}").write_bytes(raw[number * 1000 : number * 1000 + 1000])
    found = Subject(shards[0].parent / "whole.gguf-split-a")
    for name in ("extents", "tensors", "metadata_leaks"):
        with pytest.raises(ProbeError, match="pieces of a file"):
            getattr(found, name)


def test_data_below_a_faulty_header_are_not_judged(shards):
    """Where its tensors lie is not known; one that only does not fit the engine is read."""
    shards[1].write_bytes(shards[1].read_bytes().replace(b"blk.", b"\xffbl.", 1))
    assert Subject(shards[0]).tensors.unread == ()
    raw = bytearray(shards[1].read_bytes())
    name = raw.index(b"\xffbl.")
    raw[name - 8] = 0
    shards[1].write_bytes(raw)
    with pytest.raises(ProbeError, match=f"the header of {shards[1].name} "):
        _ = Subject(shards[0]).tensors


def test_shards_that_are_far_are_hashed_only_when_asked(shards, tmp_path):
    """Nothing is read; a result that stands is taken; --rehash asks."""
    sums = tmp_path / "sums"
    sums.write_text("".join(f"{hashlib.sha256(shard.read_bytes()).hexdigest()}  {shard.name}\n" for shard in shards))
    cache = HashCache(tmp_path / "hashes")

    def hashes(*, rehash=False):
        subject = Subject(shards[0], manifest=sums, hash_cache=cache, rehash=rehash)
        subject.far = lambda: "nfs4 at /models"
        return subject.hashes

    assert (hashes().shards, hashes().far, hashes().read_bytes) == ((), "nfs4 at /models", 0)
    asked = hashes(rehash=True)
    assert (asked.far, asked.read_bytes) == ("", sum(shard.stat().st_size for shard in shards))
    assert [shard.found.stored for shard in hashes().shards] == [True] * len(shards)

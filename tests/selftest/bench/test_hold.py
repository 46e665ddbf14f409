"""Holding pages: real locks on real files."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from streamworthy.bench.evict import evict
from streamworthy.bench.hold import cut_areas, dense_places, hold, memlock_fix, page_areas
from streamworthy.bench.page_cache import PAGE_BYTES
from streamworthy.bench.residency_map import residency_of
from streamworthy.errors import UsageError
from streamworthy.facts.tensor_kinds import TensorKind, TensorPlace
from streamworthy.probes.process_limits import probe_memlock
from streamworthy.probes.sysroot import Sysroot
from tests.selftest.bench.disk_file import make_disk_file

MIB = 2**20


def place(path, offset, size, kind=TensorKind.DENSE, layer=0):
    """Give one tensor."""
    return TensorPlace(path=path, offset_bytes=offset, size_bytes=size, kind=kind, layer=layer)


@pytest.fixture
def model(tmp_path):
    """Make a cold file whose first and third MiB are dense."""
    path = make_disk_file(tmp_path)
    evict([path])
    return path, [
        place(path, 0, MIB),
        place(path, MIB, MIB, TensorKind.ROUTED),
        place(path, 2 * MIB, MIB, TensorKind.OUTPUT, None),
        place(path, 3 * MIB, MIB, TensorKind.ROUTED),
    ]


def test_only_what_every_token_reads_is_dense(model):
    """Experts and embeddings are not."""
    _, places = model
    assert dense_places(places) == [places[0], places[2]]


def test_areas_are_whole_pages_and_do_not_overlap(tmp_path):
    """Two tensors that share a page are one area."""
    areas = page_areas([place(tmp_path, PAGE_BYTES + 10, 100), place(tmp_path, PAGE_BYTES + 200, PAGE_BYTES)])
    assert areas == [(tmp_path, PAGE_BYTES, 2 * PAGE_BYTES)]
    apart = page_areas([place(tmp_path, 0, 1), place(tmp_path, 3 * PAGE_BYTES, 1), place(tmp_path / "b", 0, 1)])
    assert [(offset, length) for _, offset, length in apart] == [
        (0, PAGE_BYTES), (3 * PAGE_BYTES, PAGE_BYTES), (0, PAGE_BYTES)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("limit", "lengths"),
    [(PAGE_BYTES - 1, []), (PAGE_BYTES, [1]), (3 * PAGE_BYTES - 1, [2]), (3 * PAGE_BYTES, [2, 1]), (9**9, [2, 4])],
)
def test_a_limit_cuts_to_whole_pages(tmp_path, limit, lengths):
    """At, below and above what the areas need."""
    areas = [(tmp_path, 0, 2 * PAGE_BYTES), (tmp_path, 8 * PAGE_BYTES, 4 * PAGE_BYTES)]
    assert [length // PAGE_BYTES for _, _, length in cut_areas(areas, limit)] == lengths


def test_held_pages_are_locked_resident_and_survive_an_eviction(model):
    """VmLck grows by exactly their size, and fadvise does not drop them; afterwards nothing is locked."""
    path, places = model
    dense = dense_places(places)
    before = probe_memlock(Sysroot(), need_bytes=0)
    if not before.capable and before.hard_bytes is not None and before.hard_bytes < 2 * MIB:
        pytest.skip(f"this user may lock {before.hard_bytes} bytes")
    with hold(Sysroot(), dense, available_bytes=2**40) as held:
        assert (held.wanted_bytes, held.held_bytes) == (2 * MIB, 2 * MIB)
        assert held.locked_after.locked_bytes - held.locked_before.locked_bytes == 2 * MIB
        assert (held.before.share, held.after.share) == (0.0, 1.0)
        evict([path], patience_seconds=0.05)
        assert residency_of(dense).share == 1.0
    assert probe_memlock(Sysroot(), need_bytes=0) == before
    evict([path])
    assert residency_of(dense).share == 0.0


def test_an_exception_inside_lets_go(model):
    """As Ctrl-C does."""
    before = probe_memlock(Sysroot(), need_bytes=0).locked_bytes
    with pytest.raises(KeyboardInterrupt), hold(Sysroot(), dense_places(model[1]), available_bytes=2**40):
        raise KeyboardInterrupt
    assert probe_memlock(Sysroot(), need_bytes=0).locked_bytes == before


def test_more_than_memory_has_to_spare_is_refused(model):
    """Locked pages are never given back, so nothing is begun."""
    with pytest.raises(UsageError, match=r"found 1\.0 MiB of memory to spare, expected 2\.0 MiB"):
        hold(Sysroot(), dense_places(model[1]), available_bytes=MIB).__enter__()


def test_the_fix_names_the_size():
    """In bytes for prlimit, in KiB for limits.d."""
    assert "--memlock=2097152:2097152" in memlock_fix(2 * MIB)
    assert "memlock 2048" in memlock_fix(2 * MIB)


LIMITED = """
import os, resource, sys
from pathlib import Path
from streamworthy.bench.hold import hold
from streamworthy.errors import UsageError
from streamworthy.facts.tensor_kinds import TensorKind, TensorPlace
from streamworthy.probes.sysroot import Sysroot
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, limit))
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
place = TensorPlace(path=Path(sys.argv[1]), offset_bytes=0, size_bytes=4 << 20, kind=TensorKind.DENSE, layer=0)
try:
    with hold(Sysroot(), [place], available_bytes=2**40) as held:
        print(held.held_bytes, held.limit_bytes, held.locked_after.locked_bytes)
except UsageError as error:
    print(error.message)
"""


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (MIB, f"{MIB} {MIB} {MIB}"),
        (4 * MIB, f"{4 * MIB} {4 * MIB} {4 * MIB}"),
        (100, "hold: found a limit of 100 B for locked memory, expected at least one page"),
    ],
)
def test_no_more_than_the_limit_is_locked(tmp_path, limit, said):
    """Without the capability a part is held, as far as the hard limit goes."""
    path = make_disk_file(tmp_path)
    path.chmod(0o666)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        if os.geteuid() == 0:
            folder.chmod(0o755)
    told = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path), str(limit)], capture_output=True, text=True, check=False
    )
    assert told.stdout.strip() == said, told.stderr

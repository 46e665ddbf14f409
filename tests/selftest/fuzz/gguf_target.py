"""The header reader on bytes in memory, and all that is worked out from a header that it accepts."""

from __future__ import annotations

from streamworthy.criteria.shard_set import find_set_faults, find_set_notes
from streamworthy.errors import ProbeError
from streamworthy.facts.gguf import ShardHeader
from streamworthy.facts.shards import ShardListing
from streamworthy.gguf.cursor import Broken, Cursor, GgufError
from streamworthy.gguf.ledger import draw_ledger
from streamworthy.gguf.metadata import Metadata
from streamworthy.gguf.model_check import check_model
from streamworthy.gguf.reader import _scan
from streamworthy.gguf.sizes import measure_sizes
from streamworthy.gguf.tensor_kinds import measure_kinds
from tests.selftest.gguf.test_kv_cache import PLAN
from tests.selftest.gguf.test_ledger import MEMORY

NAME = "model-00001-of-00002.gguf"


class MemoryCursor(Cursor):
    """A cursor over bytes: the one call that reads a file is replaced."""

    def __init__(self, raw):
        super().__init__(-1, len(raw))
        self.raw = raw

    def _pread(self, count):
        return self.raw[self.position : min(self.limit, self.position + count)]


def read(raw):
    """Read a header from bytes as scan_header does from a file."""
    faults = []
    try:
        header = _scan(MemoryCursor(raw), NAME, faults)
    except Broken as broken:
        return None, (*faults, broken.fault)
    return header, tuple(faults)


def run_header(raw):
    """Read a header; what is accepted has to lie inside of the file, what is refused has to say why."""
    header, faults = read(raw)
    if header is None:
        fault = faults[-1]
        assert fault.offset_bytes <= len(raw), fault
        assert fault.line
        return
    assert header.header_bytes <= len(raw)
    assert header.need_bytes >= header.header_bytes


def run_model(raw):
    """Read a header and work out everything that the gates ask of it."""
    header, faults = read(raw)
    if faults:
        assert str(GgufError(NAME, faults))
    entry = ShardHeader(number=1, name=NAME, header=header, faults=faults)
    for listing in (SET, PLAIN):
        find_set_faults(listing, (entry, entry))
    find_set_notes((entry,))
    for checked in check_model((entry,)):
        assert all(fault.line for fault in checked.faults)
    if header is None:
        return
    metadata = Metadata(NAME, header.keys)
    try:
        sizes = measure_sizes(metadata, (header,), partial=False)
        draw_ledger(metadata, sizes, PLAN, MEMORY, header_bytes=header.header_bytes)
    finally:
        measure_kinds(metadata, (header,))


def _listing(form, count):
    return ShardListing(
        form=form, folder="/m", prefix="model", count=count, shards=(), missing=(), misnamed=(), duplicates=(),
        leftovers=(), others=(),
    )  # fmt: skip


SET, PLAIN = _listing("set", 2), _listing("plain", 1)
EXPECTED = (ProbeError,)

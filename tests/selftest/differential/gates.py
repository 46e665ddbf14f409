"""Asks the model gates about a set, with a tier's limits."""

from __future__ import annotations

import resource
from contextlib import contextmanager
from pathlib import Path

from streamworthy.criteria import fit, integrity, shards
from streamworthy.errors import StreamworthyError
from streamworthy.gguf.hash_cache import HashCache
from streamworthy.gguf.subject import Subject
from streamworthy.thresholds import load_tier
from streamworthy.verdict import Word, soften, unknown
from tests.selftest.gguf.test_ledger import MEMORY

ROOT = Path(__file__).parents[3]
LIMITS = load_tier("laptop-32g", ROOT / "thresholds").limits  # a deployment's: what is not known is an error
PLAN = load_tier("sample", ROOT / "thresholds").plan  # what engine_cases.py asks of the engine
ASKED = {
    "shards.names": lambda model, limit: shards.names(model.listing, limit),
    "shards.complete": lambda model, limit: shards.complete(model.listing, model.total, model.open_files, limit),
    "shards.headers": lambda model, limit: shards.headers(model.listing, model.headers, limit),
    "shards.sizes": lambda model, limit: shards.sizes(model.listing, model.total, limit),
    "integrity.extents": lambda model, limit: integrity.extents(model.extents, limit),
    "integrity.tensors": lambda model, limit: integrity.tensors(model.tensors, limit),
    "fit.ledger": lambda model, limit: fit.ledger(model.ledger(PLAN, MEMORY), limit),
}
HASHES = "integrity.hashes"


@contextmanager
def open_files(limit):
    """Lower the number of files that this process may open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit or soft, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def judge(path, handles=0):
    """Give the verdict of each gate but that of hashes, errors included, and the path that the engine is given."""
    model = Subject(path, depth="full")
    with open_files(handles):
        found = {gate: _ask(gate, ask, model) for gate, ask in ASKED.items()}
    return found, _first(model, path)


def judge_content(path, manifest, cache):
    """Give the verdict of integrity.hashes; ``manifest`` may be None."""
    return _ask(
        HASHES,
        lambda model, limit: integrity.hashes(model.hashes, limit),
        Subject(path, manifest=manifest, hash_cache=HashCache(cache)),
    )


def _ask(gate, ask, model):
    limit = LIMITS[gate]
    try:
        found = ask(model, limit)
    except StreamworthyError as error:
        found = unknown(error.message, error.fix)
    return soften(found, level=limit.level, unknown=limit.unknown)


def _first(model, path):
    try:
        return model.first
    except StreamworthyError:
        return path


def word_of(found):
    """Give the worst word and the causes of all gates that have it or are as bad as to stop a qualification."""
    bad = [one for one in found.values() if one.word in (Word.FAIL, Word.ERROR)]
    word = Word.FAIL if any(one.word is Word.FAIL for one in bad) else Word.ERROR if bad else Word.PASS
    return word, tuple(f"{gate}: {one.cause}" for gate, one in found.items() if one in bad)

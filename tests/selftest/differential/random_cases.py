"""Random changes of the headers of a sound set, the same ones for the same seeds."""

from __future__ import annotations

import random

from streamworthy.gguf.reader import read_header
from tests.selftest.differential.case import Case, name_of
from tests.selftest.differential.cases_set import UNREAD_COUNT
from tests.selftest.fuzz.mutate import change_bytes

SAYS = "split.count|split.tensors.count"  # what the engine does not read in later shards


def random_cases(count, seed=0):
    """Give so many cases, each with a change in the header of one shard."""
    for number in range(seed, seed + count):
        yield Case(
            name=f"seed {number}",
            family="random",
            change=None,
            after=_changer(number),
            says=SAYS,
            because=UNREAD_COUNT,
            engine_only="",
            given="",
            handles=0,
        )


def _changer(seed):
    def after(folder):
        rng = random.Random(seed)  # noqa: S311 - the same changes everywhere
        path = folder / name_of(rng.randrange(1, 4))
        raw, header = path.read_bytes(), read_header(path)
        end = header.data_start_bytes
        path.write_bytes(change_bytes(rng, raw[:end], raw[:end]) + raw[end:])

    return after

"""What all layouts stand on: a folder on this machine's disk, real shards, and how that disk is judged."""

from __future__ import annotations

import shutil
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from streamworthy.sample.make import ensure_sample
from streamworthy.sample.spec import spec_for_size
from streamworthy.sample.stored import manifest_path
from streamworthy.verdict import Verdict, Word
from tests.selftest.filesystems.gates import flags_are_evidence, judge, map_of
from tests.selftest.filesystems.layouts import Site, home

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SPEC = replace(spec_for_size(200 * 10**6), n_layer=4, n_ff=64)  # 23 MB in six shards


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The folder, the shards with their hashes, and the verdicts on a set in that folder."""

    folder: Path
    shards: tuple[Path, ...]
    manifest: Path
    verdicts: Mapping[str, Verdict]
    flags_are_evidence: bool

    @property
    def fit(self):
        """Whether a set in the folder itself has nothing against it."""
        return self.verdicts["storage.filesystem"].word is self.verdicts["storage.network"].word is Word.PASS

    def expected(self, word, gate):
        """Turn a word of the table into those that the gate may give on this machine."""
        if word == "any":
            return {Word.PASS, Word.INCONCLUSIVE}
        if word == "unread" and not self.flags_are_evidence:
            return {Word.ERROR}
        return {self.verdicts[gate].word if word in ("below", "unread") else Word(word)}


@contextmanager
def find_ground(folder):
    """Make the shards and judge the folder."""
    first = ensure_sample(folder / "sample", SPEC)
    shards, manifest = tuple(sorted(first.parent.glob("*.gguf"))), manifest_path(first.parent, SPEC)
    with ExitStack() as stack:
        (folder / "home").mkdir()
        path = home(Site(folder=folder / "home", shards=shards, stack=stack))
        verdicts, evidence = judge(path, manifest), flags_are_evidence(path)
    yield Ground(folder=folder, shards=shards, manifest=manifest, verdicts=verdicts, flags_are_evidence=evidence)


@contextmanager
def built(ground, row):
    """Build a layout, give the path that a user would name, and take all of it away."""
    folder = ground.folder / row.folder
    folder.mkdir()
    try:
        with ExitStack() as stack:
            yield row.build(Site(folder=folder, shards=ground.shards, stack=stack))
    finally:
        shutil.rmtree(folder)


def find(ground, row):
    """Build a layout; give every gate's verdict, what a map gives, and what of both is not as it should be."""
    with built(ground, row) as path:
        found, mapped = judge(path, ground.manifest), map_of(path)
    wrong = [] if mapped == row.mapped else [f"a shared map gives {mapped}, not {row.mapped}"]
    for gate, one in found.items():
        expected = ground.expected(row.words[gate], gate)
        if one.word not in expected:
            wrong.append(f"{gate}: {one.word}, not {' or '.join(sorted(expected))}: {one.cause}")
        elif not row.names_cause(gate, one, ground.folder / row.folder):
            wrong.append(f"{gate}: {one.word} for another reason: {one.cause}")
        elif one.word is Word.FAIL and not one.fix:
            wrong.append(f"{gate}: no fix")
    return found, mapped, wrong

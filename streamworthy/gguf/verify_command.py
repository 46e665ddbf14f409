"""The command ``streamworthy verify``: the shards' content against a manifest, or a manifest made from it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from streamworthy.criteria.integrity import hashes
from streamworthy.criteria.spec import Limit
from streamworthy.errors import UsageError
from streamworthy.gguf.hash_cache import default_cache
from streamworthy.gguf.hashes import make_manifest, make_tensor_manifest
from streamworthy.gguf.subject import Subject
from streamworthy.gguf.suggestions import begins_as_gguf
from streamworthy.units import format_counted
from streamworthy.verdict import Word

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

_EXIT_CODES = {Word.PASS: 0, Word.ADVICE: 0, Word.FAIL: 1, Word.ERROR: 10}
_NO_BOUNDS = Limit(
    gate="integrity.hashes", level="require", unknown="error", values={}, reason="", basis="", see="the command line"
)


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "verify",
        help="hash a model's shards and hold them against a manifest",
        description="Exit: 0 every shard has the content its manifest says, 1 one has not, 10 not verified.",
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help="any shard of the model, or its folder")
    parser.add_argument(
        "--sha256",
        type=Path,
        metavar="FILE",
        help="manifest: of sha256sum or gguf-hash, or a folder of Git LFS pointers",
    )
    parser.add_argument("--rehash", action="store_true", help="read shards again whose stored result stands")
    parser.add_argument("--make-manifest", action="store_true", help="print the manifest of this copy instead")
    parser.add_argument(
        "--per-tensor", action="store_true", help="with --make-manifest: a hash of each tensor, in gguf-hash's format"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, say: Callable[[str], None]) -> int:
    """Verify the shards, or print their manifest; gives the exit code."""
    if arguments.per_tensor and not arguments.make_manifest:
        raise UsageError("--per-tensor: belongs to --make-manifest", fix="--make-manifest --per-tensor")
    if arguments.make_manifest:
        return _print_manifest(arguments, say)
    facts = Subject(arguments.model, manifest=arguments.sha256, rehash=arguments.rehash, say=say).hashes
    for shard in facts.shards:
        word = Word.PASS if shard.matches else Word.FAIL
        say(f"{word}  {shard.expected.path.name}  {shard.found.digest}")
    for tensors in facts.tensors:
        word = Word.PASS if tensors.matches and not tensors.unlisted else Word.FAIL
        say(f"{word}  {tensors.expected.path.name}  {format_counted(tensors.matching_count, 'tensor')} as listed")
        for tensor in tensors.wrong:
            say(f"  {tensor.name}: {tensor.size_bytes} bytes from {tensor.offset_bytes} on: {tensor.found}")
    found = hashes(facts, _NO_BOUNDS)
    say(f"{found.word}: {found.cause or found.measured}")
    for line in found.fix:
        say(f"  fix: {line}")
    for line in found.evidence:
        say(f"  {line}")
    return _EXIT_CODES[found.word]


def _print_manifest(arguments: argparse.Namespace, say: Callable[[str], None]) -> int:
    """Print nothing but the manifest, so that it can be sent to a file."""
    subject = Subject(arguments.model)
    paths = tuple(Path(shard.path) for shard in subject.present)
    if len(paths) < subject.listing.count:
        raise UsageError(
            f"{subject.listing.folder}: found {len(paths)} of {subject.listing.count} shards, expected all",
            fix="finish the download: a manifest of a part would pass for the whole",
        )
    if subject.listing.form != "byte_split":
        strangers = [path.name for path in paths if not begins_as_gguf(path)]
        if strangers:
            raise UsageError(
                f"{strangers[0]}: found no GGUF in it, expected a good copy of every shard",
                fix="see the gate shards.headers: a manifest of this copy would pass for the publisher's",
            )
    make = make_tensor_manifest if arguments.per_tensor else make_manifest
    say(make(paths, cache=default_cache(), rehash=arguments.rehash, progress=None).removesuffix("\n"))
    return 0

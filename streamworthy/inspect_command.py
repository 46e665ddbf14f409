"""The command ``streamworthy inspect``: what a model weighs and what of it moves, from headers alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from streamworthy.errors import ProbeError, UsageError
from streamworthy.facts.inspection import Completeness, Inspection
from streamworthy.facts.plan import PLAIN_PLAN, EnginePlan
from streamworthy.gguf.names import engine_name
from streamworthy.gguf.subject import Subject
from streamworthy.gguf.tensor_kinds import measure_kinds
from streamworthy.gguf.tensor_types import TENSOR_TYPES
from streamworthy.inspect_bandwidths import add_options, find_bandwidths
from streamworthy.probes.machine import Machine
from streamworthy.probes.sysroot import Sysroot
from streamworthy.report.ceilings import expected_hit_share, find_ceilings
from streamworthy.report.facts_file import to_json
from streamworthy.report.inspection import cache_bytes, derive, format_inspection
from streamworthy.units import format_bytes, format_share

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from streamworthy.facts.fit import KvFacts, LedgerFacts
    from streamworthy.facts.gguf import ModelSizes
    from streamworthy.facts.inspection import Bandwidths
    from streamworthy.facts.shards import ShardFile

_DEFAULT_CONTEXT = 4096
_MOST_CONTEXT = 2**31 - 1  # n_ctx is a u32 in llama.cpp, and a position an i32
_INTERMEDIATE_BYTES = 2  # bf16
_KV_TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")  # common/arg.cpp


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "inspect",
        help="a model's bytes, KV cache, memory ledger and ceilings, from headers alone",
        description="Works on the first shard of a set that is still being downloaded, and says what is partial then.",
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help="any shard of the model, or its folder")
    parser.add_argument(
        "--context", type=int, metavar="N", default=_DEFAULT_CONTEXT, help="tokens of context (default: 4096)"
    )
    parser.add_argument("--kv-type", metavar="T", default="f16", help="type of K and V, such as q8_0 (default: f16)")
    add_options(parser)
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, say: Callable[[str], None]) -> int:
    """Inspect a model; gives the exit code. UsageError and ProbeError when there is nothing to inspect."""
    plan = _plan(arguments.context, arguments.kv_type)
    subject = Subject(arguments.model)
    machine = Machine(Sysroot(), model_paths=subject.paths)
    found = inspect(subject, plan, machine, find_bandwidths(arguments, subject, machine))
    if arguments.json:
        text = json.dumps(to_json(found) | derive(found), indent=1, ensure_ascii=False)
        say(text.encode("utf-8", "backslashreplace").decode("utf-8"))  # a name's stray byte becomes an escape of JSON
        return 0
    for line in format_inspection(found):
        say(line)
    return 0


def inspect(subject: Subject, plan: EnginePlan, machine: Machine, bandwidths: Bandwidths) -> Inspection:
    """Gather what is known about a model. ProbeError when its first header cannot be read."""
    sizes = subject.sizes
    kv, kv_unknown = _kv(subject, plan)
    ledger, ledger_unknown = _ledger(subject, plan, machine)
    headers = [entry.header for entry in subject.headers if entry.header is not None]
    return Inspection(
        model=subject.name,
        completeness=_completeness(subject),
        sizes=sizes,
        kinds=measure_kinds(subject.metadata, headers),
        total=subject.total,
        kv=kv,
        kv_unknown=kv_unknown,
        ledger=ledger,
        ledger_unknown=ledger_unknown,
        hit_share_prior=_hit_share(sizes, ledger),
        ceilings=find_ceilings(sizes, kv, bandwidths),
        intermediate_bytes=_INTERMEDIATE_BYTES * sizes.parameter_count,
    )


def _plan(context: int, kv_type: str) -> EnginePlan:
    if not 1 <= context <= _MOST_CONTEXT:
        raise UsageError(f"--context: found {context}, expected 1 to {_MOST_CONTEXT} tokens", fix="--context 4096")
    if kv_type.lower() not in _KV_TYPES:
        known = kv_type.upper() in {kind.name for kind in TENSOR_TYPES.values()}
        why = ", which llama.cpp has no cache of" if known else ""
        raise UsageError(
            f"--kv-type: found '{kv_type}'{why}, expected one of {', '.join(_KV_TYPES)}", fix="--kv-type f16"
        )
    return replace(PLAIN_PLAN, context_tokens=context, prompt_tokens=context, decode_tokens=1, kv_type=kv_type.lower())


def _kv(subject: Subject, plan: EnginePlan) -> tuple[KvFacts | None, str]:
    try:
        return subject.kv(plan), ""
    except ProbeError as error:
        return None, error.message


def _ledger(subject: Subject, plan: EnginePlan, machine: Machine) -> tuple[LedgerFacts | None, str]:
    try:
        return subject.ledger(plan, machine.memory), ""
    except ProbeError as error:
        return None, error.message


def _hit_share(sizes: ModelSizes, ledger: LedgerFacts | None) -> float | None:
    if ledger is None or not sizes.expert_bytes or sizes.partial:
        return None
    return expected_hit_share(sizes, cache_bytes(ledger))


def _completeness(subject: Subject) -> Completeness:
    listing, keys = subject.listing, subject.metadata.keys
    split, tensors = keys.get("split.count"), keys.get("split.tensors.count")
    expected = max(listing.count, split if isinstance(split, int) else 0)
    there = {shard.number for shard in subject.present}
    missing = [number for number in range(1, min(expected, 99_999) + 1) if number not in there]
    return Completeness(
        shards_present=len(there),
        shards_expected=expected,
        tensors_seen=sum(len(entry.header.tensors) for entry in subject.headers if entry.header is not None),
        tensors_expected=tensors if isinstance(tensors, int) else None,
        absent=tuple(engine_name(listing.prefix, number, expected) for number in missing),
        unread=tuple(f"{entry.name}: {entry.faults[0].line}" for entry in subject.headers if entry.header is None),
        short=tuple(_short(subject)),
    )


def _short(subject: Subject) -> list[str]:
    lines = []
    for shard, entry in zip(subject.present, subject.headers, strict=True):
        if entry.header is not None and shard.size_bytes < entry.header.need_bytes:
            lines.append(f"{shard.name}: {_held(shard, entry.header.need_bytes)}")
    return lines


def _held(shard: ShardFile, need_bytes: int) -> str:
    return f"{format_share(shard.size_bytes / need_bytes)} of {format_bytes(need_bytes)} is there"

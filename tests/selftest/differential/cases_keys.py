"""Mutations of the model's keys."""

from __future__ import annotations

from tests.selftest.differential.case import case
from tests.selftest.differential.changes import keyed, patch

LEDGER = "the engine reserves nothing for this key in this architecture; the ledger believes it"

case("keys", "one twice", lambda shards: shards[0].keys.append(("qwen3moe.block_count", "u32", 3)), says="second time")
case("keys", "split.no twice", lambda shards: shards[1].keys.append(("split.no", "u16", 1)), says="second time")
case("keys", "an empty name", lambda shards: shards[0].keys.append(("", "u32", 3)), says="empty name")
case("keys", "a very long text", lambda shards: shards[0].keys.append(("general.description", "str", "x" * 300_000)))
case("keys", "a very long array", lambda shards: shards[0].keys.append(("x", "arr[u32]", [7] * 70_000)))
case("keys", "an array of nothing", lambda shards: shards[0].keys.append(("x", "arr[str]", [])))
case("keys", "bytes that are not UTF-8", lambda shards: shards[0].keys.append(("general.name", "str", b"\xff\xfe")))
case("keys", "no architecture", lambda shards: shards[0].drop_key("general.architecture"), says="architecture")
case(
    "keys", "an unknown architecture", keyed(1, "general.architecture", "str", "nonesuch"), says="architecture|nonesuch"
)
case("keys", "architecture as a number", keyed(1, "general.architecture", "u32", 1), says="architecture")
case("keys", "a key type of 13", after=patch(2, b"split.count\x02\0\0\0", b"split.count\x0d\0\0\0"), says="type of")
case(
    "keys",
    "a key length of 2^62",
    after=patch(2, b"\x0b\0\0\0\0\0\0\0split.count", b"\0\0\0\0\0\0\0\x40split.count"),
    says="length",
)
for name in (
    "block_count",
    "embedding_length",
    "context_length",
    "feed_forward_length",
    "attention.head_count",
    "attention.head_count_kv",
    "expert_count",
    "expert_used_count",
    "attention.key_length",
    "expert_feed_forward_length",
    "vocab_size",
):
    key = f"qwen3moe.{name}"
    case("hyperparameters", f"{name} missing", lambda shards, key=key: shards[0].drop_key(key), says=name)
    for value in (0, 1, 3, 5, 1000, 2**31, 2**32 - 1):
        case(
            "hyperparameters",
            f"{name} {value}",
            keyed(1, key, "u32", value),
            says=f"{name}|compute buffers|layers? without tensors",
            because=LEDGER if name == "feed_forward_length" and value >= 2**31 else "",
        )
    case("hyperparameters", f"{name} as text", keyed(1, key, "str", "4"), says=name)
    case("hyperparameters", f"{name} as u64", keyed(1, key, "u64", 4), says=f"{name}|layers? without tensors")

"""What became of one page of each shard, mapped as the engine maps it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardMap:
    """One shard: its first page mapped shared and read-only, and touched; and one aligned direct read beside it.

    ``refused_at`` is the step that did not end well: "open", "direct", "map" or "touch"; empty when all did.
    """

    path: str
    refused_at: str
    error: str  # "ENODEV", "EIO", ...; "SIGBUS": the touch ended the process; "silent": no answer in time; "" when well
    direct_seconds: float | None  # of the direct read; None: none was made
    direct_error: str  # why none: "EINVAL" where the filesystem takes no O_DIRECT; empty when one was made


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeMaps:
    """The shards of one mount."""

    mount_point: str
    fstype: str
    disks: tuple[str, ...]  # whole disks below; empty where there are none, or they are not known
    shards: tuple[ShardMap, ...]  # those that were tried: none after one that did not answer


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingFacts:
    """All shards that hold bytes."""

    volumes: tuple[VolumeMaps, ...]
    missing: str  # why there is nothing to map; empty when there is
    unknown: str  # why nothing was tried; empty when it was
    deadline_seconds: float  # that each step was given

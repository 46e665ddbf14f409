"""The names that a capture has to hide: of this host, of its users, and of the homes that mounts and paths show."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from streamworthy.capture.scrubber import Scrubber
from streamworthy.probes.mountinfo import unescape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamworthy.capture.recorder import RecordingSysroot

_CONTROLLERS = frozenset(("blkio", "cpu", "cpuacct", "cpuset", "devices", "freezer", "memory", "pids", "systemd"))


def make_scrubber(recorded: RecordingSysroot) -> Scrubber:
    """Make a scrubber that knows the names of this host and its users, and the words that a kernel file needs."""
    parts = {part for place in recorded.texts for part in place.split("/") if not place.startswith("sys/fs/cgroup")}
    mounts = recorded.texts.get("proc/self/mountinfo", "")
    kinds = set(re.findall(r" - (\S+) ", mounts))
    scrubber = Scrubber(hosts=_hosts(recorded), users=_users(), kept=parts | kinds | _CONTROLLERS)
    scrubber.learn_homes(unescape(word) for word in mounts.split())
    scrubber.learn_homes(_texts(recorded.noted))
    scrubber.learn_homes(_texts(recorded.answers))
    return scrubber


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - whatever stands in machine.toml
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)


def _hosts(recorded: RecordingSysroot) -> tuple[str, ...]:
    if not recorded.live:
        return (str(recorded.answers.get("identity", {}).get("hostname", "")),)
    full = os.uname().nodename
    return full, full.partition(".")[0]


def _users() -> tuple[str, ...]:
    from pwd import getpwuid

    told = [os.environ.get(name, "") for name in ("USER", "LOGNAME", "SUDO_USER")]
    try:
        told.append(getpwuid(os.getuid()).pw_name)
    except KeyError:  # a container may run as a user that no file names
        told.append("")
    return tuple(dict.fromkeys(told))

"""Version of the running kernel, from /proc/sys/kernel/osrelease (what uname -r prints).

Where /proc/sys is masked, as in some containers, from /proc/version: ``Linux version RELEASE (...``, proc(5).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streamworthy.errors import ParseError
from streamworthy.facts.kernel import KernelFacts

if TYPE_CHECKING:
    from streamworthy.probes.sysroot import Sysroot

_FILE = "proc/sys/kernel/osrelease"
_VERSION = "proc/version"
_RELEASE = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6}){1,3}(?![0-9])")


def parse_osrelease(text: str, *, where: str = _FILE) -> KernelFacts:
    """Read ``major.minor[.patch[.more]]`` and whatever a distribution adds: ``5.15.167.4-microsoft-standard-WSL2``."""
    release = text.strip()
    numbers = _RELEASE.match(release)
    if numbers is None:
        raise ParseError(
            "kernel version", where=f"/{where}", found=release, expected="a version such as 6.1.0-25-amd64"
        )
    return KernelFacts(release=release, version=tuple(int(part) for part in numbers[0].split(".")))


def probe_kernel(root: Sysroot) -> KernelFacts:
    """Read the kernel's version; ProbeError where there is no Linux kernel."""
    text = root.read_optional(_FILE)
    if text is not None:
        return parse_osrelease(text)
    return parse_osrelease(root.read_text(_VERSION).removeprefix("Linux version ").partition(" ")[0], where=_VERSION)

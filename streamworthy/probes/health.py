"""What NVMe drives say of their own health, and whether arrays are whole: the SMART / Health Information log page, md.

Source: NVM Express Base Specification 1.4, section 5.14.1.2 (log page 02h, 512 bytes, little-endian), asked with Get
Log Page (opcode 02h) through NVME_IOCTL_ADMIN_CMD (linux/nvme_ioctl.h), which needs CAP_SYS_ADMIN. Of arrays,
md/degraded, md/level and md/sync_action in sysfs (Documentation/admin-guide/md.rst).
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import struct
from dataclasses import asdict
from typing import TYPE_CHECKING

from streamworthy.errors import ParseError, ProbeError
from streamworthy.facts.drives import ArrayState, DriveHealth, HealthFacts, HealthLog
from streamworthy.probes.captured import tables, take

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from streamworthy.facts.storage import VolumesFacts
    from streamworthy.probes.sysroot import Sysroot

LOG_BYTES = 512
_ADMIN_CMD = 0xC0484E41  # _IOWR('N', 0x41, struct nvme_admin_cmd)
# opcode flags rsvd1 nsid cdw2 cdw3 metadata addr metadata_len data_len cdw10..cdw15 timeout_ms result
_COMMAND = struct.Struct("=BBHIIIQQII6III")
_GET_LOG_PAGE, _ALL_NAMESPACES, _HEALTH_PAGE = 0x02, 0xFFFFFFFF, 0x02
_TIMEOUT_MILLISECONDS = 5000
# critical_warning temperature[2] avail_spare spare_thresh percent_used ... media_errors at byte 160
_HEAD = struct.Struct("<BHBBB")
_MEDIA_ERRORS = slice(160, 176)
_FULL_SHARE = 100


def probe_health(root: Sysroot, volumes: VolumesFacts) -> HealthFacts:
    """Ask every NVMe leaf; one that cannot be asked says why. A captured machine answers from ``[[health]]``."""
    leaves = {leaf.name: leaf for volume in volumes.volumes for leaf in volume.leaves}
    real = [leaf.name for leaf in leaves.values() if leaf.transport == "nvme"]
    unknown = [volume.leaves_unknown for volume in volumes.volumes if volume.leaves_unknown]
    return HealthFacts(
        drives=tuple(_live(root, name) if root.live else _captured(root, name) for name in real),
        arrays=tuple(_arrays(root, dict.fromkeys(name for leaf in leaves.values() for name in leaf.chain))),
        others=tuple(f"{leaf.name} ({leaf.transport})" for leaf in leaves.values() if leaf.name not in real),
        unknown="; ".join(dict.fromkeys(unknown)),
    )


def _arrays(root: Sysroot, names: Iterable[str]) -> Iterator[ArrayState]:
    """Give the arrays of these devices that can lack a member: others have no ``degraded``."""
    for name in names:
        folder = f"sys/class/block/{name}/md"
        lacking = (root.read_optional(f"{folder}/degraded") or "").strip()
        if re.fullmatch(r"[0-9]{1,4}", lacking, re.ASCII):
            level, action = (
                (root.read_optional(f"{folder}/{each}") or "").strip() for each in ("level", "sync_action")
            )
            yield ArrayState(name=name, level=level, lacking_count=int(lacking), action=action)


def _live(root: Sysroot, name: str) -> DriveHealth:
    try:
        log = parse_health_log(ask_drive(f"/dev/{name}"))
    except ProbeError as error:
        root.note("health", {"disk": name, "unknown": error.message})
        return DriveHealth(name=name, log=None, unknown=error.message)
    root.note("health", {"disk": name, **asdict(log)})
    return DriveHealth(name=name, log=log, unknown="")


def ask_drive(device: str) -> bytes:
    """Read the log page of a drive: 512 bytes. ProbeError when it cannot be asked or refuses."""
    page = ctypes.create_string_buffer(LOG_BYTES)
    dwords = LOG_BYTES // 4 - 1  # counted from zero
    words = (dwords << 16 | _HEALTH_PAGE, 0, 0, 0, 0, 0)
    sizes = (0, ctypes.addressof(page), 0, LOG_BYTES)
    command = _COMMAND.pack(_GET_LOG_PAGE, 0, 0, _ALL_NAMESPACES, 0, 0, *sizes, *words, _TIMEOUT_MILLISECONDS, 0)
    try:
        descriptor = os.open(device, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            status = fcntl.ioctl(descriptor, _ADMIN_CMD, bytearray(command))
        finally:
            os.close(descriptor)
    except OSError as error:
        raise ProbeError(f"{device}: its health cannot be asked: {error.strerror}") from error
    if status:
        raise ProbeError(f"{device}: refused to tell its health, NVMe status {status:#x}")
    return page.raw


def parse_health_log(raw: bytes) -> HealthLog:
    """Read the log page; ParseError when it is not 512 bytes, or so empty that no drive wrote it."""
    if len(raw) != LOG_BYTES or not any(raw):
        found = f"{len(raw)} bytes" if len(raw) != LOG_BYTES else "nothing but zeros"
        raise ParseError("health log", where="NVMe log page 02h", found=found, expected=f"{LOG_BYTES} bytes of values")
    warning, _, spare, threshold, used = _HEAD.unpack_from(raw)
    return HealthLog(
        critical_warning=warning,
        spare_share=spare / _FULL_SHARE,
        spare_threshold_share=threshold / _FULL_SHARE,
        used_share=used / _FULL_SHARE,
        media_errors_count=int.from_bytes(raw[_MEDIA_ERRORS], "little"),
    )


def _captured(root: Sysroot, name: str) -> DriveHealth:
    for answer in tables(root, "health"):
        if take(root, "health", answer, "disk", str) != name:
            continue
        if "unknown" in answer:
            return DriveHealth(name=name, log=None, unknown=take(root, "health", answer, "unknown", str))
        return DriveHealth(name=name, log=_captured_log(root, answer), unknown="")
    return DriveHealth(name=name, log=None, unknown=f"{name}: machine.toml has no [[health]] for it")


def _captured_log(root: Sysroot, answer: Mapping[str, object]) -> HealthLog:
    return HealthLog(
        critical_warning=take(root, "health", answer, "critical_warning", int),
        spare_share=take(root, "health", answer, "spare_share", float),
        spare_threshold_share=take(root, "health", answer, "spare_threshold_share", float),
        used_share=take(root, "health", answer, "used_share", float),
        media_errors_count=take(root, "health", answer, "media_errors_count", int),
    )

"""Health logs as NVMe drives write them: log page 02h of the NVM Express Base Specification 1.4. Not a test."""

from __future__ import annotations

import struct

# critical warning, composite temperature in kelvin, available spare, its threshold, percentage used, endurance groups
HEAD = struct.Struct("<BHBBBB25x")
# data units read and written (1000 x 512 bytes), host reads and writes, busy minutes, power cycles, power-on hours,
# unsafe shutdowns, media errors, entries of the error log: 16 bytes each
COUNTERS = 10
TAIL = struct.Struct("<II8H")  # minutes above the warning and the critical temperature; sensors in kelvin

# As printed in linux-nvme/nvme-cli#48: a data-centre drive after a month.
PUBLISHED = (203_913_228, 64_663_716, 7_207_810_975, 2_931_291_530, 399, 9, 742, 5, 0, 0)


def health_log(*, warning=0, kelvin=307, spare=100, threshold=10, used=0, counters=PUBLISHED, media_errors=None):
    """Build the 512 bytes of a log."""
    values = list(counters)
    values[8] = values[8] if media_errors is None else media_errors
    assert len(values) == COUNTERS
    numbers = b"".join(value.to_bytes(16, "little") for value in values)
    head = HEAD.pack(warning, kelvin, spare, threshold, used, 0)
    return (head + numbers + TAIL.pack(0, 0, kelvin, 0, 0, 0, 0, 0, 0, 0)).ljust(512, b"\0")

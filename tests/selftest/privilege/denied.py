"""A seccomp filter that denies what containers and hardened services deny, and more. Not a test.

The kernel's own form: struct sock_filter over struct seccomp_data (Documentation/userspace-api/seccomp_filter.rst).
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

# name: numbers on x86_64 and aarch64, and where only some uses are denied: the argument, and its denied values
_CALLS = {
    "cachestat": (451, 451),
    "mincore": (27, 232),
    "perf_event_open": (298, 241),
    "io_uring_setup": (425, 425),
    "mlock": (149, 228),
    "mlock2": (325, 284),
    "mlockall": (151, 230),
    "statx": (332, 291),
    "sched_setattr": (314, 274),
    "madvise, populate": (28, 233, 2, (22, 23)),  # MADV_POPULATE_READ, MADV_POPULATE_WRITE
    "ioctl, extents": (16, 29, 1, (0xC020660B,)),  # FS_IOC_FIEMAP
    "preadv2, flags": (327, 286, 5, tuple(1 << bit for bit in range(8))),  # RWF_HIPRI ... RWF_DONTCACHE
}
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_RET|K
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM  # SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO
_NUMBER_OFFSET, _ARGUMENTS_OFFSET = 0, 16  # of struct seccomp_data; the low word first
_SET_NO_NEW_PRIVS, _SET_SECCOMP, _MODE_FILTER = 38, 22, 2  # prctl(2)
_MACHINES = {"x86_64": 0, "aarch64": 1}


class _Program(ctypes.Structure):  # struct sock_fprog
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def _line(code, value, skip_if=0, skip_else=0):
    return struct.pack("=HBBI", code, skip_if, skip_else, value)  # struct sock_filter


def _rule(column, call):
    number, argument = call[column], call[2:]
    if not argument:
        return _line(_EQUAL, number, 0, 1) + _line(_RETURN, _REFUSE)
    place, values = argument
    asked = b"".join(_line(_EQUAL, value, 0, 1) + _line(_RETURN, _REFUSE) for value in values)
    inner = _line(_LOAD, _ARGUMENTS_OFFSET + 8 * place) + asked + _line(_RETURN, _ALLOW)
    return _line(_EQUAL, number, 0, len(inner) // 8) + inner


def deny():
    """Deny the calls to this process and its children for good. OSError where the kernel has no filters."""
    column = _MACHINES[platform.machine()]
    rules = b"".join(_rule(column, call) for call in _CALLS.values())
    text = _line(_LOAD, _NUMBER_OFFSET) + rules + _line(_RETURN, _ALLOW)
    program, libc = _Program(len(text) // 8, text), ctypes.CDLL(None, use_errno=True)
    for arguments in ((_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0)):
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "prctl")

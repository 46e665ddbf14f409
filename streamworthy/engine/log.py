"""What llama.cpp's log says: sizes, modes, and why a model was refused. Pure.

Formats drift: a colour code or a ``0.00.110.615 W `` prefix may come first, and functions are renamed, so messages
are matched, not the names before them. Lines seen in llama.cpp 2024 to 2026 (llama-mmap.cpp, llama-model-loader.cpp,
gguf.cpp, llama-kv-cache.cpp).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from streamworthy.engine.remedies import UPGRADE

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_PREFIX = re.compile(r"^\d+\.\d\d\.\d\d\d\.\d\d\d [A-Z] ")
_SIZE = r"=\s*(\d+[.,]\d+) MiB"
_REPACK = re.compile(r"CPU_REPACK model buffer size " + _SIZE)
_KV = re.compile(r"KV buffer size " + _SIZE)
_COMPUTE = re.compile(r"(?:compute|output) buffer size " + _SIZE)
_KV_TYPES = re.compile(r"K \((\w+)\):.*V \((\w+)\):")
_KV_CELLS = re.compile(r"size =.*\(\s*(\d+) cells")
_LOAD_MODE = re.compile(r"\(load_mode = ([a-z+]+)\)")
_OLD_MMAP = re.compile(r"\(mmap = (true|false)")
_FLASH = re.compile(
    r"flash_attn\s*= (enabled|disabled|1|0)\b|Flash Attention (enabled|disabled)|Flash Attention was (auto)"
)
_SLOTS = re.compile(r"n_seq_max\s*= (\d+)")
_UBATCH = re.compile(r"n_ubatch\s*= (\d+)")
_LOCK_FAILED = re.compile(r"failed to mlock .*")
_HINT_REFUSED = re.compile(r"posix_(?:fadvise|madvise)\(.*\) failed.*")
_UNMAPPED = re.compile(r"direct I/O is enabled, disabling mmap|mmap is not supported on this platform")

_FETCH = "fetch the shard again: sha256sum -c SHA256SUMS tells which"
_LESS = "set repack = false in the tier's [engine] table, or give the machine more memory"
# pattern, what it means, what to do; the first that matches counts, so the most telling come first
_REFUSALS: tuple[tuple[str, str, str], ...] = (
    (r"failed to allocate (CPU_REPACK )?buffer|insufficient memory \(attempted", "not enough memory", _LESS),
    (r"mmap failed: No such device", "the file system cannot map files", "keep the shards on ext4 or xfs"),
    (r"mmap failed: Cannot allocate memory", "the address space is limited", "ulimit -v unlimited"),
    (r"failed to open GGUF file .*Too many open files", "too many open files", "ulimit -n 4096"),
    (r"failed to open GGUF file .*Permission denied", "a shard may not be read", "chmod a+r the shards"),
    (r"failed to open GGUF file", "a shard is missing", _FETCH),
    (r"data is not within the file bounds", "a shard is truncated", _FETCH),
    (r"illegal split file.*first split", "a later shard was opened", "give the first shard, -00001-of-"),
    (r"invalid split file( name)?:", "a shard was renamed", "rename the shards to <prefix>-00001-of-0000N.gguf"),
    (r"invalid split file idx", "shards are swapped or renamed", "rename the shards to what their headers say"),
    (r"invalid split count, given", "the list of shards is not whole", "give the first shard alone, -00001-of-"),
    (r"missing key split\.no", "a shard belongs to another set", _FETCH),
    (r"corrupted model: \d+ tensors expected", "tensors are missing", _FETCH),
    (r"invalid magic characters: 'vers'", "a shard is a Git LFS pointer, not its content", "git lfs pull"),
    (r"invalid magic characters: '<(!do|!DO|htm|HTM)", "a shard is a web page, not its download", _FETCH),
    (r"invalid magic characters: 'FUGG'", "the model is big-endian", "fetch the little-endian files"),
    (r"invalid magic characters: '(\?{4}|\x00{4}|)'", "a shard begins with zeros: its download never came", _FETCH),
    (r"invalid magic characters", "a shard is not a GGUF file", _FETCH),
    (r"mismatch between the host and model endianness", "the model is big-endian", "fetch the little-endian files"),
    (r"GGUFv1 is no longer supported|only supports up to version", "this GGUF version is not supported", UPGRADE),
    (r"duplicate(d)? (tensor|key)|tensor '.*' is duplicated", "a header names something twice", _FETCH),
    (r"unknown model architecture", "the engine does not know this architecture", UPGRADE),
    (r"has wrong shape; expected|wrong number of tensors", "the engine is too old for this model", UPGRADE),
    (r"has invalid ggml type", "the quantisation is unknown to this engine", UPGRADE),
    (r"found tensors with invalid data", "weights are not finite numbers", _FETCH),
    (r"has offset \d+, expected \d+|alignment \d+ is not a power|must be of type u32", "a header is damaged", _FETCH),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFacts:
    """What the log of a loaded model says; None and "" where it does not say."""

    kv_bytes: int | None
    compute_bytes: int | None
    repack_bytes: int
    kv_types: tuple[str, ...]  # all that occur in K and V caches, without repetition
    smallest_kv_cells: int | None
    slots_count: int | None
    ubatch_tokens: int | None
    load_mode: str
    flash_attention: str
    lock_failure: str
    hint_refused: str  # the line that says that read-ahead could not be asked for
    unmapped: str  # the line that says why nothing is mapped though mmap was asked for


def clean_log(text: str) -> list[str]:
    """Give the lines without colours and time prefixes, and without empty ones."""
    lines = (_PREFIX.sub("", _ANSI.sub("", line)).rstrip() for line in text.splitlines())
    return [line for line in lines if line]


def parse_log(text: str) -> LogFacts:
    """Read sizes and modes out of the log of a load."""
    plain = "\n".join(clean_log(text))
    cells = [int(count) for count in _KV_CELLS.findall(plain)]
    failure, hint, unmapped = (pattern.search(plain) for pattern in (_LOCK_FAILED, _HINT_REFUSED, _UNMAPPED))
    return LogFacts(
        kv_bytes=_sum(_KV, plain),
        compute_bytes=_sum(_COMPUTE, plain),
        repack_bytes=_sum(_REPACK, plain) or 0,
        kv_types=tuple(dict.fromkeys(kind for pair in _KV_TYPES.findall(plain) for kind in pair)),
        smallest_kv_cells=min(cells) if cells else None,
        slots_count=_number(_SLOTS, plain),
        ubatch_tokens=_number(_UBATCH, plain),
        load_mode=_load_mode(plain),
        flash_attention=_flash(plain),
        lock_failure=failure[0] if failure else "",
        hint_refused=hint[0] if hint else "",
        unmapped=unmapped[0] if unmapped else "",
    )


def _sum(pattern: re.Pattern[str], text: str) -> int | None:
    sizes = [float(size.replace(",", ".")) for size in pattern.findall(text)]  # some locales print 1552,05
    return round(sum(sizes) * 2**20) if sizes else None


def _number(pattern: re.Pattern[str], text: str) -> int | None:
    match = pattern.search(text)
    return int(match[1]) if match else None


def _load_mode(text: str) -> str:
    match, old = _LOAD_MODE.search(text), _OLD_MMAP.search(text)
    if match:
        return match[1]
    return ("mmap" if old[1] == "true" else "none") if old else ""


def _flash(text: str) -> str:
    words = [word for groups in _FLASH.findall(text) for word in groups if word]
    return {"1": "enabled", "0": "disabled", "auto": "enabled"}.get(words[-1], words[-1]) if words else ""


def explain_refusal(text: str) -> tuple[str, str, str]:
    """Say why the engine refused a model: the log's line, its meaning, what to do.

    Where no line is known, the last one that speaks of an error is given, with "" for the rest.
    """
    lines = clean_log(text)
    for pattern, meaning, fix in _REFUSALS:
        for line in lines:
            if re.search(pattern, line):
                return line, meaning, fix
    telling = [line for line in lines if re.search(r"error|fail|assert", line, re.IGNORECASE)]
    return (telling or lines or ["the log is empty"])[-1], "", ""

"""What llama.cpp's log says: sizes, modes, and why a model was refused. Pure.

Formats drift: a colour code or a ``0.00.110.615 W `` prefix may come first, and functions are renamed, so messages
are matched, not the names before them. Lines seen in llama.cpp 2024 to 2026 (llama-mmap.cpp, llama-model-loader.cpp,
gguf.cpp, llama-kv-cache.cpp).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from streamworthy.engine.remedies import REBUILD, UPGRADE

_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")  # ECMA-48 5.4: colours, and the erasing of a line
_PREFIX = re.compile(r"^\d+\.\d\d\.\d\d\d\.\d\d\d [A-Z] ")
_SIZE = r"=\s*(\d+[.,]\d+) MiB"
_COPYING = r"(?:CPU_REPACK|CPU_AARCH64|CPU_KLEIDIAI|AMX)"  # buffers of weights in another order
_REPACK = re.compile(_COPYING + r" model buffer size " + _SIZE)
_BUFFER = re.compile(r"(\S{1,80}) +(?:model|KV|RS|compute|output) buffer size " + _SIZE)
_OF_CPU = re.compile(r"CPU|AMX|BLAS|.*_Host$")  # pinned memory of CUDA_Host is the machine's own
_KV = re.compile(r"(?:KV|RS) buffer size " + _SIZE)  # RS: recurrent states, beside KV in hybrid models
_COMPUTE = re.compile(r"(?:compute|output) buffer size " + _SIZE)
_KV_TYPES = re.compile(r"K \((\w+)\):.*V \((\w+)\):")
_KV_CELLS = re.compile(r"size =.*\(\s*(\d+) cells.*K \(")  # recurrent states have one cell a slot
_LOAD_MODE = re.compile(r"\(load_mode = ([^),\s]+)")
_OLD_MMAP = re.compile(r"\(mmap = (true|false)")
_FLASH = re.compile(
    r"flash_attn\s*= (enabled|disabled|1|0)\b|Flash Attention (enabled|disabled)|Flash Attention was (auto)"
)
_SLOTS = re.compile(r"n_seq_max\s*= (\d+)")
_UBATCH = re.compile(r"n_ubatch\s*= (\d+)")
_LOCK_FAILED = re.compile(r"failed to mlock .*")
_HINT_REFUSED = re.compile(r"posix_(?:fadvise|madvise)\(.*\) failed.*")
_UNMAPPED = re.compile(
    r"direct I/O is enabled, disabling mmap|direct_io = true|load_mode = dio|mmap is not supported on this platform"
)

NO_MEMORY = "not enough memory"  # how the meaning begins wherever that is what is behind a refusal
_FETCH = "fetch the shard again: sha256sum -c SHA256SUMS tells which"
_NO_COPY = "set repack = false in the tier's [engine] table"
_LESS_CONTEXT = 'lower context_tokens in the tier\'s [engine] table, or set kv_type = "q8_0" there'
_LESS_BATCH = "lower ubatch_tokens and batch_tokens in the tier's [engine] table, or context_tokens"
_LESS = "give the machine more memory, or lower context_tokens and set repack = false in the tier's [engine] table"
_OTHER = f"{_FETCH}\n{UPGRADE}    # if the shards are sound: the model may need a newer engine"
# pattern, what it means, what to do; the first that matches counts, so the most telling come first
_REFUSALS: tuple[tuple[str, str, str], ...] = (
    (rf"(failed|unable) to allocate {_COPYING} buffer", f"{NO_MEMORY} for repacked weights", _NO_COPY),
    (r"failed to allocate buffer for kv cache|the context: std::bad_alloc", f"{NO_MEMORY} for KV", _LESS_CONTEXT),
    (r"failed to allocate (compute|output)", f"{NO_MEMORY} for compute buffers", _LESS_BATCH),
    (r"error loading model: unable to allocate", f"{NO_MEMORY} to hold the weights outside of the page cache",
     "set mmap = true in the tier's [engine] table"),
    (r"failed to allocate buffer|insufficient memory \(attempted|std::bad_alloc", NO_MEMORY, _LESS),
    (r"mmap failed: No such device", "the file system cannot map files", "keep the shards on ext4 or xfs"),
    (r"mmap failed: Cannot allocate memory", "the address space is limited", "ulimit -v unlimited"),
    (r"failed to open GGUF file .*Too many open files", "too many open files", "ulimit -n 4096"),
    (r"failed to open GGUF file .*Permission denied", "a shard may not be read", "chmod a+r the shards"),
    (r"failed to open GGUF file .*Input/output error", "a drive gives no data", "dmesg | tail"),
    (r"failed to open GGUF file .*(Stale file handle|not connected|Host is down|timed out)",
     "the server of a shard's filesystem is gone", "findmnt --target SHARD    # then mount it again"),
    (r"failed to open GGUF file .*Too many levels", "links lead in a circle", "ls -l the shards"),
    (r"failed to open GGUF file", "a shard is missing", _FETCH),
    (r"mmap failed:", "the shards cannot be mapped", "see storage.mappable"),
    (r"read error: |failed to fread|unexpectedly reached end of file", "a shard cannot be read to its end",
     f"dmesg | tail\n{_FETCH}"),
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
    (r"failed to read magic", "a shard is empty or no file", _FETCH),
    (r"mismatch between the host and model endianness", "the model is big-endian", "fetch the little-endian files"),
    (r"GGUFv1 is no longer supported", "this GGUF version is not supported", "fetch a newer conversion of the model"),
    (r"only supports up to version", "this GGUF version is not supported", UPGRADE),
    (r"duplicate(d)? (tensor|key)|tensor '.*' is duplicated", "a header names something twice", _FETCH),
    (r"unknown model architecture", "the engine does not know this architecture", UPGRADE),
    (r"has wrong shape; expected", "the engine is too old for this model", UPGRADE),
    (r"wrong number of tensors", "the engine is too old for this model, or the set is not whole",
     f"{UPGRADE}\ngive the first shard of the whole set, -00001-of-"),
    (r"quantized V cache|V cache quantization|cache type \S+ with block", "this model has no such KV cache",
     'set kv_type = "f16" in the tier\'s [engine] table'),
    (r"(REMOVED, use|DEPRECATED).*block size \(0\)", "this quantisation was removed from the engine",
     "fetch the model in a quantisation of today, such as Q4_0"),
    (r"has invalid ggml type", "the quantisation is unknown to this engine",
     f"{UPGRADE}    # ik_llama.cpp has types of its own, which need another quantisation"),
    (r"unknown pre-tokenizer type|unknown tokenizer", "the engine does not know this model's tokenizer", UPGRADE),
    (r"tensor '.*' not found|missing tensor", "a tensor that this architecture needs is missing", _OTHER),
    (r"key not found in model", "a key that this architecture needs is missing", _OTHER),
    (r"no backends are loaded|no CPU backend found", "the engine's CPU code was not loaded", REBUILD),
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
    gpus: tuple[str, ...]  # devices other than the CPU that hold a buffer, as llama.cpp names them
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
        gpus=_gpus(plain),
        unmapped=unmapped[0] if unmapped else "",
    )


def _sum(pattern: re.Pattern[str], text: str) -> int | None:
    sizes = [_size(size) for size in pattern.findall(text)]
    return round(sum(sizes) * 2**20) if sizes else None


def _gpus(text: str) -> tuple[str, ...]:
    held = [name for name, size in _BUFFER.findall(text) if _size(size) and not _OF_CPU.match(name)]
    return tuple(dict.fromkeys(held))


def _size(text: str) -> float:
    return float(text.replace(",", "."))  # some locales print 1552,05


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
    exact = [line for line in telling if not re.search(r"failed to load model( from .*)?$", line)]
    return (exact or telling or lines or ["the log is empty"])[-1], "", ""

"""Reads the header of a GGUF file: strict, lazy, and in milliseconds for a vocabulary of any size.

The checks are those of ggml/src/gguf.cpp (llama.cpp, July 2026) in its order, and in addition those that it leaves
out: lengths against the file's size, names that are empty, dimensions of zero.
"""

from __future__ import annotations

import os
from struct import Struct
from typing import TYPE_CHECKING

from streamworthy.facts.gguf import GgufFault, HeaderFacts, SkippedValue, Value
from streamworthy.gguf.cursor import U32, U64, Broken, Cursor, GgufError, unreadable
from streamworthy.gguf.strangers import recognise
from streamworthy.gguf.tensor_table import read_tensors

if TYPE_CHECKING:
    from pathlib import Path

_SCALARS = {
    0: ("u8", Struct("<B")),
    1: ("i8", Struct("<b")),
    2: ("u16", Struct("<H")),
    3: ("i16", Struct("<h")),
    4: ("u32", U32),
    5: ("i32", Struct("<i")),
    6: ("f32", Struct("<f")),
    7: ("bool", Struct("<?")),
    10: ("u64", U64),
    11: ("i64", Struct("<q")),
    12: ("f64", Struct("<d")),
}
_TEXT, _ARRAY = 8, 9
_DEFAULT_ALIGNMENT = 32  # ggml/docs/gguf.md, general.alignment
_LONGEST_KEY = 2**16 - 1  # ggml/docs/gguf.md, "key"
_LONGEST_TEXT = 2**18  # chat templates have tens of kilobytes; longer texts are skipped
_LONGEST_TUPLE = 4096  # per-layer arrays; llama.cpp has at most 512 layers
_SMALLEST_PAIR = 8 + 1 + 4 + 1  # length, key, type, value
_SMALLEST_TENSOR = 8 + 1 + 4 + 8 + 4 + 8  # length, name, number of dimensions, one of them, type, offset
_MOST_SEEN = 2**20  # tensors or keys: no model is near it, so a smaller count is believed and the file was cut
_AGAIN = ("download the file again",)
_FINISH = ("finish or repeat the download of this file",)


def read_header(path: Path) -> HeaderFacts:
    """Read a file's header. GgufError with all faults that it has, ProbeError when it cannot be read."""
    header, faults = scan_header(path)
    if header is None or faults:
        raise GgufError(path.name, faults)
    return header


def scan_header(path: Path) -> tuple[HeaderFacts | None, tuple[GgufFault, ...]]:
    """Read a file's header as far as it can be read: None when a fault stopped the reading, and all faults.

    ProbeError when the system does not let the file be read.
    """
    faults: list[GgufFault] = []
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise unreadable(path, error) from error
    try:
        return _scan(Cursor(descriptor, os.fstat(descriptor).st_size), path.name, faults), tuple(faults)
    except Broken as broken:
        return None, (*faults, broken.fault)
    except OSError as error:
        raise unreadable(path, error) from error
    finally:
        os.close(descriptor)


def _scan(cursor: Cursor, name: str, faults: list[GgufFault]) -> HeaderFacts:
    size = cursor.limit
    _check_magic(cursor, name)
    version = _read_version(cursor)
    tensor_count = _read_count(cursor, "number of tensors", _SMALLEST_TENSOR)
    pair_count = _read_count(cursor, "number of keys", _SMALLEST_PAIR)
    keys, types = _read_keys(cursor, pair_count, faults)
    alignment = _read_alignment(cursor, keys, types, faults)
    tensors, header_end = read_tensors(cursor, tensor_count, alignment, faults)
    # gguf.cpp pads the data section only when there are tensors: the first shard of a set may have none
    start = -(-header_end // alignment) * alignment if tensor_count else header_end
    return HeaderFacts(
        version=version,
        keys=keys,
        key_types=types,
        tensors=tensors,
        alignment_bytes=alignment,
        header_bytes=header_end,
        data_start_bytes=start,
        file_bytes=size,
    )


def _check_magic(cursor: Cursor, name: str) -> None:
    if cursor.limit == 0:
        cursor.stop(
            "empty", "file", "0 bytes", "a GGUF header", cause="the download did not begin?", fix=("download the file",)
        )
    head = cursor.take_bytes(min(cursor.limit, 512), "magic")
    cursor.position = 0
    if head[:4] != b"GGUF" and not (len(head) < 4 and b"GGUF".startswith(head)):  # noqa: PLR2004
        cause, fix = recognise(head, name)
        cursor.stop("magic", "magic", repr(head[:4])[1:], "'GGUF'", cause=cause, fix=fix)
    cursor.skip(4, "magic")


def _read_version(cursor: Cursor) -> int:
    (version,) = cursor.take(U32, "version")
    cursor.position -= 4
    if version and version & 0xFFFF == 0:
        cursor.stop(
            "byte_order",
            "version",
            f"{version:#010x}",
            "2 or 3 in little-endian order",
            cause=f"a big-endian file of version {version.to_bytes(4, 'little')[3]}?",
            fix=("take the little-endian file, or convert it: python -m gguf.scripts.gguf_convert_endian FILE little",),
        )
    if version in (0, 1):
        cause = "GGUF version 1, which llama.cpp no longer reads?" if version else "the file is damaged here?"
        cursor.stop(
            "version", "version", str(version), "2 or 3", cause=cause, fix=("take a newer upload of the model",)
        )
    if version not in (2, 3):
        cursor.stop(
            "version",
            "version",
            str(version),
            "2 or 3",
            cause="made for a newer engine than this suite knows, or damaged?",
            fix=("git pull    # in this suite's folder, for a version that knows it", *_AGAIN),
        )
    cursor.position += 4
    return int(version)


def _read_count(cursor: Cursor, item: str, smallest: int) -> int:
    (count,) = cursor.take(U64, item)
    most = (cursor.limit - cursor.position) // smallest
    if count > most:
        cursor.position -= 8
        cut = count < _MOST_SEEN
        cursor.stop(
            "truncated" if cut else "count",
            item,
            str(count),
            f"at most {most}, which is what the file has room for",
            cause="the download was cut short?" if cut else "the file is damaged here?",
            fix=_FINISH if cut else _AGAIN,
        )
    return int(count)


def _read_keys(cursor: Cursor, count: int, faults: list[GgufFault]) -> tuple[dict[str, Value], dict[str, str]]:
    keys: dict[str, Value] = {}
    types: dict[str, str] = {}
    for index in range(count):
        start = cursor.position
        key = cursor.take_text(_LONGEST_KEY, f"key {index}")
        (type_id,) = cursor.take(U32, f"type of key '{key}'")
        value, type_name = _read_value(cursor, type_id, f"value of key '{key}'")
        if not key or key in keys:
            faults.append(_key_fault(start, index, key))
        else:
            keys[key], types[key] = value, type_name
    return keys, types


def _key_fault(start: int, index: int, key: str) -> GgufFault:
    return GgufFault(
        kind="key",
        offset_bytes=start,
        item=f"key {index}",
        found=f"'{key}' a second time" if key else "an empty name",
        expected="a name of its own",
        cause="written by a faulty converter?",
        fix=("take another upload of the model",),
    )


def _read_value(cursor: Cursor, type_id: int, item: str) -> tuple[Value, str]:
    if type_id in _SCALARS:
        name, layout = _SCALARS[type_id]
        (number,) = cursor.take(layout, item)
        return number, name
    if type_id == _TEXT:
        return _read_text(cursor, item), "str"
    if type_id == _ARRAY:
        return _read_array(cursor, item)
    cursor.position -= 4
    return cursor.stop(
        "key", f"type of the {item}", str(type_id), "0 to 12", cause="the file is damaged here?", fix=_AGAIN
    )


def _read_text(cursor: Cursor, item: str) -> Value:
    (length,) = cursor.take(U64, f"length of the {item}")
    if length <= _LONGEST_TEXT:
        return cursor.take_bytes(length, item).decode("utf-8", "backslashreplace")
    start = cursor.position
    cursor.skip(length, item)
    return SkippedValue(type_name="u8", count=length, offset_bytes=start)


def _read_array(cursor: Cursor, item: str) -> tuple[Value, str]:
    (type_id,) = cursor.take(U32, f"element type of the {item}")
    (count,) = cursor.take(U64, f"length of the {item}")
    start = cursor.position
    if type_id == _TEXT:
        cursor.skip_texts(count, f"the {item}")
        return SkippedValue(type_name="str", count=count, offset_bytes=start), "arr[str]"
    if type_id not in _SCALARS:
        cursor.position -= 12
        cursor.stop("key", f"element type of the {item}", str(type_id), "0 to 8 or 10 to 12", fix=_AGAIN)
    name, layout = _SCALARS[type_id]
    cursor.require(count * layout.size, item)
    if count <= _LONGEST_TUPLE:
        numbers = cursor.take_bytes(count * layout.size, item)
        return tuple(number for (number,) in layout.iter_unpack(numbers)), f"arr[{name}]"
    cursor.skip(count * layout.size, item)
    return SkippedValue(type_name=name, count=count, offset_bytes=start), f"arr[{name}]"


def _read_alignment(cursor: Cursor, keys: dict[str, Value], types: dict[str, str], faults: list[GgufFault]) -> int:
    value = keys.get("general.alignment", _DEFAULT_ALIGNMENT)
    kind = types.get("general.alignment", "u32")
    if isinstance(value, int) and kind == "u32" and value.bit_count() == 1:
        return value
    faults.append(
        GgufFault(
            kind="alignment",
            offset_bytes=cursor.position,
            item="general.alignment",
            found=f"{value} ({kind})",
            expected="a power of two (u32)",
            cause="written by a faulty converter?",
            fix=("take another upload of the model",),
        )
    )
    return _DEFAULT_ALIGNMENT

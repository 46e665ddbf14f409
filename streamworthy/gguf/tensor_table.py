"""Reads the tensor table of a GGUF header and checks the layout that it promises.

gguf.cpp asks that tensors follow each other without gaps, in the order of the table, each padded to the alignment.
"""

from __future__ import annotations

from dataclasses import replace
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from streamworthy.facts.gguf import GgufFault, TensorFacts
from streamworthy.gguf.cursor import U32, Cursor
from streamworthy.gguf.tensor_types import TENSOR_TYPES, explain_unknown_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LONGEST_READ = 4096  # names up to here are read on, so that the rest of the table can be checked
_LONGEST_NAME = 63  # ggml.h, GGML_MAX_NAME with its closing NUL
_MOST_DIMS = 4  # ggml.h, GGML_MAX_DIMS
_MOST_ELEMENTS = 2**63 - 1
_SHAPES = {dims: Struct(f"<{dims}QIQ") for dims in range(1, _MOST_DIMS + 1)}  # dimensions, type, offset
_AGAIN = ("download the file again",)
_OTHER = ("take another upload of the model",)


class _Entry(NamedTuple):
    start: int  # where the entry begins in the file
    tensor: TensorFacts
    sized: bool  # False: of an unknown type or an impossible shape, its size is not known


def read_tensors(
    cursor: Cursor, count: int, alignment: int, faults: list[GgufFault]
) -> tuple[tuple[TensorFacts, ...], int]:
    """Read so many entries; faults that leave the rest readable are added to ``faults``.

    Gives the tensors and the end of the table in the file. Broken when the rest cannot be read.
    """
    entries = [_read_entry(cursor, index, faults) for index in range(count)]
    end = cursor.position
    _check_names(entries, faults)
    start = -(-end // alignment) * alignment
    entries = list(_estimate_sizes(entries, cursor.limit - start))
    _check_layout(entries, alignment, faults)
    return tuple(entry.tensor for entry in entries), end


def _read_entry(cursor: Cursor, index: int, faults: list[GgufFault]) -> _Entry:
    start = cursor.position
    name = cursor.take_text(_LONGEST_READ, f"name of tensor {index}")
    (dim_count,) = cursor.take(U32, f"number of dimensions of tensor '{name}'")
    if not 1 <= dim_count <= _MOST_DIMS:
        cursor.position -= 4
        cursor.stop(
            "tensor",
            f"number of dimensions of tensor '{name}'",
            str(dim_count),
            f"1 to {_MOST_DIMS}",
            cause="the file is damaged here?",
            fix=_AGAIN,
        )
    *dims, type_id, offset = cursor.take(_SHAPES[dim_count], f"shape of tensor '{name}'")
    size = _check_tensor(start, name, dims, type_id, faults)
    kind = TENSOR_TYPES.get(type_id)
    tensor = TensorFacts(
        name=name,
        dims=tuple(dims),
        type_id=type_id,
        type_name=kind.name if kind else f"type {type_id}",
        offset_bytes=offset,
        size_bytes=size or 0,
    )
    return _Entry(start, tensor, size is not None)


def _check_tensor(start: int, name: str, dims: Sequence[int], type_id: int, faults: list[GgufFault]) -> int | None:
    """Judge one entry's name, shape and type; give its size in bytes, None when it cannot be told."""
    elements = 1
    for dim in dims:
        elements *= dim
    if not 1 <= len(name.encode()) <= _LONGEST_NAME:
        found = f"{len(name.encode())} bytes"
        faults.append(_fault("tensor", start, f"name of tensor '{name[:80]}'", found, f"1 to {_LONGEST_NAME}"))
    if not 1 <= elements <= _MOST_ELEMENTS:
        faults.append(_fault("tensor", start, f"shape of tensor '{name}'", _shape(dims), "1 to 2^63 - 1 weights"))
        return None
    kind = TENSOR_TYPES.get(type_id)
    if kind is None:
        cause, fix = explain_unknown_type(type_id)
        fault = _fault("type", start, f"type of tensor '{name}'", str(type_id), "a type of ggml")
        faults.append(replace(fault, cause=cause, fix=fix))
        return None
    if dims[0] % kind.block_weights:
        expected = f"rows of whole blocks of {kind.block_weights} ({kind.name})"
        faults.append(_fault("tensor", start, f"shape of tensor '{name}'", _shape(dims), expected))
        return None
    return kind.row_bytes(elements)


def _shape(dims: Iterable[int]) -> str:
    return " x ".join(str(dim) for dim in dims)


def _fault(kind: str, start: int, item: str, found: str, expected: str) -> GgufFault:
    return GgufFault(
        kind=kind,
        offset_bytes=start,
        item=item,
        found=found,
        expected=expected,
        cause="the file is damaged here?",
        fix=_AGAIN,
    )


def _check_names(entries: Sequence[_Entry], faults: list[GgufFault]) -> None:
    seen: set[str] = set()
    for entry in entries:
        name = entry.tensor.name
        if name in seen:
            fault = _fault("tensor", entry.start, f"tensor '{name}'", "its name a second time", "a name of its own")
            faults.append(replace(fault, cause="written by a faulty converter or merged twice?", fix=_OTHER))
        seen.add(name)


def _estimate_sizes(entries: Sequence[_Entry], data_bytes: int) -> Iterable[_Entry]:
    """Take the size of a tensor of unknown type from where the next one begins."""
    for index, entry in enumerate(entries):
        if entry.sized:
            yield entry
            continue
        end = entries[index + 1].tensor.offset_bytes if index + 1 < len(entries) else data_bytes
        size = max(0, end - entry.tensor.offset_bytes)
        yield entry._replace(tensor=replace(entry.tensor, size_bytes=size))


def _check_layout(entries: Sequence[_Entry], alignment: int, faults: list[GgufFault]) -> None:
    expected, before = 0, ""
    for entry in entries:
        tensor = entry.tensor
        if tensor.offset_bytes != expected:
            faults.append(_layout_fault(entry, expected, before, alignment))
        end = tensor.offset_bytes + tensor.size_bytes
        expected, before = -(-end // alignment) * alignment, tensor.name


def _layout_fault(entry: _Entry, expected: int, before: str, alignment: int) -> GgufFault:
    offset = entry.tensor.offset_bytes
    if offset % alignment:
        what = f"not a multiple of the alignment {alignment}"
    elif offset < expected:
        what = f"inside of '{before}'"
    else:
        what = "a gap before it"
    fault = _fault(
        "layout", entry.start, f"offset of tensor '{entry.tensor.name}'", f"{offset} ({what})", str(expected)
    )
    return replace(fault, cause="written by a faulty tool, or damaged here?", fix=(*_AGAIN, *_OTHER))

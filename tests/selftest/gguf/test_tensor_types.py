"""The table of tensor types against the two that the field uses."""

import ctypes

import pytest

from streamworthy.gguf.tensor_types import REMOVED_TYPES, TENSOR_TYPES, explain_unknown_type, type_named


def test_the_table_agrees_with_the_gguf_package():
    """Every type that the gguf package knows has the same name and block there."""
    gguf = pytest.importorskip("gguf", reason="the gguf package is not installed")
    theirs = {int(kind): (kind.name, *sizes) for kind, sizes in gguf.GGML_QUANT_SIZES.items()}
    del theirs[9]  # Q8_1: 40 bytes there, as before 2024; 36 in ggml, where it never is in a file
    assert len(theirs) >= 30
    assert {kind: tuple(TENSOR_TYPES[kind]) for kind in theirs} == theirs


def test_the_table_agrees_with_the_engine():
    """Every id that the engine's ggml accepts is in the table with its block, and no other."""
    pytest.importorskip("llama_cpp", reason="the engine is not installed")
    from llama_cpp._ggml import libggml

    libggml.ggml_type_size.restype = ctypes.c_size_t
    libggml.ggml_blck_size.restype = ctypes.c_int64
    for kind, (_, weights, size) in TENSOR_TYPES.items():
        assert (libggml.ggml_blck_size(kind), libggml.ggml_type_size(kind)) == (weights, size), kind
    assert not [kind for kind in REMOVED_TYPES if libggml.ggml_blck_size(kind)]


def test_rows_are_whole_blocks():
    """A row of 512 weights in Q4_K is two blocks of 144 bytes."""
    assert TENSOR_TYPES[12].row_bytes(512) == 288


@pytest.mark.parametrize(("name", "found"), [("q8_0", "Q8_0"), ("F16", "F16"), ("q9_9", None)])
def test_types_are_found_by_name_in_any_case(name, found):
    """The engine's table writes q8_0 where ggml writes Q8_0."""
    kind = type_named(name)
    assert (kind.name if kind else None) == found


@pytest.mark.parametrize(
    ("kind", "words"), [(31, "removed"), (156, "fork"), (43, "newer"), (2**31, "damaged"), (500, "damaged")]
)
def test_an_unknown_type_is_explained_by_its_kind(kind, words):
    """A removed type, a fork's, a newer engine's and a damaged file each have their own remedy."""
    cause, fix = explain_unknown_type(kind)
    assert words in cause
    assert cause.endswith("?")
    assert fix

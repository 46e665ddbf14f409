"""Broken floats in blocks of every type: held against ggml's own validation and against gguf-py's arithmetic."""

import ctypes
from pathlib import Path

import numpy as np
import pytest
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, quants

from streamworthy.gguf.scales import EXPONENTS, checked_type, find_broken
from streamworthy.gguf.tensor_types import TENSOR_TYPES

BLOCKS = 4000
# Bytes with all, some and no bits of an exponent, so that broken floats are frequent and near misses too.
TELLING = np.array([0x00, 0x01, 0x3C, 0x70, 0x78, 0x7B, 0x7C, 0x7E, 0x7F, 0x80, 0xC0, 0xF0, 0xFB, 0xFC, 0xFE, 0xFF])
ARITHMETIC = [name for name in EXPONENTS if name in quants.GGMLQuantizationType.__members__]
# gguf-py gives E8M0's NaN a value, and quants has no arithmetic of what files do not hold.
NOT_IN_GGUF = {"MXFP4", "Q8_1", "Q8_K", "I8", "I16", "I32", "I64", "F64", "Q1_0", "Q2_0"}
# ggml refuses Q8_1 whatever is in it, and takes an F64 for infinite that is too large for an F32.
VALIDATED = [(number, kind.name) for number, kind in TENSOR_TYPES.items() if kind.name not in ("Q8_1", "F64")]


def some_blocks(name, seed=7):
    """Give blocks of telling bytes, each row one block."""
    rng = np.random.default_rng(seed)
    return rng.choice(TELLING, size=(BLOCKS, checked_type(name).block_bytes)).astype(np.uint8)


@pytest.fixture(scope="session")
def validate():
    """Give ggml's own check of a row."""
    llama = pytest.importorskip("llama_cpp")
    found = sorted((Path(llama.__file__).parent / "lib").glob("libggml-base.*"))
    if not found:
        pytest.skip("this build of the engine has no library of its own for ggml")
    function = ctypes.CDLL(str(found[0])).ggml_validate_row_data
    function.restype = ctypes.c_bool
    function.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
    return function


def test_every_type_has_its_place():
    """A type that files can hold is never passed over in silence."""
    assert set(EXPONENTS) == {kind.name for kind in TENSOR_TYPES.values()}
    assert checked_type("type 156") is None


@pytest.mark.parametrize(("type_id", "name"), VALIDATED)
def test_the_engine_calls_the_same_blocks_broken(validate, capfd, type_id, name):
    """Block by block, the word of ggml_validate_row_data."""
    blocks = some_blocks(name)
    ours = set(find_broken(checked_type(name), blocks).tolist())
    theirs = {
        number
        for number, block in enumerate(blocks)
        if not validate(type_id, block.ctypes.data_as(ctypes.c_void_p), block.nbytes)
    }
    capfd.readouterr()  # ggml tells each on stderr
    assert ours == theirs
    assert bool(ours) == bool(EXPONENTS[name])


@pytest.mark.parametrize("name", sorted(set(ARITHMETIC) - NOT_IN_GGUF - {"NVFP4"}))
def test_a_broken_block_is_one_that_computes_to_no_number(name):
    """What gguf-py makes of a block has a NaN or an infinity exactly where a float is broken."""
    blocks = some_blocks(name)
    kind = GGMLQuantizationType[name]
    with np.errstate(all="ignore"):
        if name in ("F32", "F16"):
            values = blocks.view({"F32": np.float32, "F16": np.float16}[name])
        else:
            values = quants.dequantize(blocks, kind)
    computed = np.flatnonzero(~np.isfinite(values).all(axis=1))
    assert find_broken(checked_type(name), blocks).tolist() == computed.tolist()


@pytest.mark.parametrize("name", ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "BF16", "TQ1_0", "TQ2_0"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_weight_that_is_no_number_breaks_its_block_when_it_is_quantised(name, value):
    """Such blocks come about so; the block is found by its number, and only it."""
    block, _ = GGML_QUANT_SIZES[GGMLQuantizationType[name]]
    weights = np.random.default_rng(3).normal(size=(1, 10 * block)).astype(np.float32)
    weights[0, 6 * block + block // 2] = value
    with np.errstate(all="ignore"):
        raw = quants.quantize(weights, GGMLQuantizationType[name])
    assert find_broken(checked_type(name), raw.view(np.uint8).ravel()).tolist() == [6]


def test_sound_weights_are_sound():
    """No block of normal weights is called broken in any type that gguf-py quantises."""
    weights = np.random.default_rng(5).normal(size=(8, 2560)).astype(np.float32)
    for name in ("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "TQ1_0", "TQ2_0", "MXFP4"):
        raw = quants.quantize(weights, GGMLQuantizationType[name]).view(np.uint8)
        assert find_broken(checked_type(name), raw.ravel()).size == 0, name

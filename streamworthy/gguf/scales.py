"""Where the floats lie in a block of each tensor type, and which of them are NaN or infinite.

Source: the structs of ggml/src/ggml-common.h as of llama.cpp July 2026. The rule is that of ggml_validate_row_data
(ggml-quants.c), which the engine runs only when it is asked to check tensors, and then on all of them: a float is
broken when all bits of its exponent are set. An E8M0 scale is broken as 0xFF; every value of an UE4M3 scale is sound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.gguf.tensor_types import TensorType, type_named

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# The bits of an exponent: (byte of the block, mask), all of them set in a float that is broken.
_Exponent = tuple[tuple[int, int], ...]


def _f16(*places: int) -> tuple[_Exponent, ...]:
    return tuple(((place + 1, 0x7C),) for place in places)


_F16, _F32, _F64 = _f16(0), (((3, 0x7F), (2, 0x80)),), (((7, 0x7F), (6, 0xF0)),)
_NONE: tuple[_Exponent, ...] = ()
EXPONENTS: dict[str, tuple[_Exponent, ...]] = {
    "F32": _F32,
    "F16": _F16,
    "BF16": (((1, 0x7F), (0, 0x80)),),
    "F64": _F64,
    "I8": _NONE,
    "I16": _NONE,
    "I32": _NONE,
    "I64": _NONE,
    "Q1_0": _F16,
    "Q2_0": _F16,
    "Q4_0": _F16,
    "Q4_1": _f16(0, 2),
    "Q5_0": _F16,
    "Q5_1": _f16(0, 2),
    "Q8_0": _F16,
    "Q8_1": _f16(0, 2),
    "Q2_K": _f16(80, 82),  # behind 16 bytes of scales and 64 of weights
    "Q3_K": _f16(108),
    "Q4_K": _f16(0, 2),
    "Q5_K": _f16(0, 2),
    "Q6_K": _f16(208),
    "Q8_K": _F32,
    "IQ1_S": _F16,
    "IQ1_M": (((55, 0x70), (53, 0xC0)),),  # a f16 in the high four bits of the four 16-bit words at 48
    "IQ2_XXS": _F16,
    "IQ2_XS": _F16,
    "IQ2_S": _F16,
    "IQ3_XXS": _F16,
    "IQ3_S": _F16,
    "IQ4_NL": _F16,
    "IQ4_XS": _F16,
    "TQ1_0": _f16(52),
    "TQ2_0": _f16(64),
    "MXFP4": (((0, 0xFF),),),
    "NVFP4": _NONE,
}


def checked_type(name: str) -> TensorType | None:
    """Give the layout of a type whose floats can be checked; None for one that is not known."""
    return type_named(name) if name in EXPONENTS else None


def find_broken(kind: TensorType, raw: NDArray[np.uint8]) -> NDArray[np.intp]:
    """Give the numbers of the blocks in which a float is NaN or infinite; ``raw`` holds whole blocks of one type."""
    import numpy as np

    exponents = EXPONENTS[kind.name]
    if exponents and kind.block_weights == 1:  # whole words at once are a hundred times as fast as bytes of them
        bits = sum(mask << 8 * place for place, mask in exponents[0])
        return np.flatnonzero((raw.view(f"<u{kind.block_bytes}") & bits) == bits)
    blocks = raw.reshape(-1, kind.block_bytes)
    broken = np.zeros(len(blocks), dtype=bool)
    for exponent in exponents:
        found = np.ones(len(blocks), dtype=bool)
        for place, mask in exponent:
            found &= (blocks[:, place] & mask) == mask
        broken |= found
    return np.flatnonzero(broken)

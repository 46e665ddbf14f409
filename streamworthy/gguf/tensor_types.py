"""Block layouts of ggml's tensor types: how many weights and bytes a block holds.

Source: ggml/src/ggml-common.h and the type traits of ggml.c as of llama.cpp July 2026; ids from enum ggml_type.
"""

from __future__ import annotations

from typing import NamedTuple


class TensorType(NamedTuple):
    """One type: ``block_weights`` weights are stored in ``block_bytes`` bytes."""

    name: str
    block_weights: int
    block_bytes: int

    def row_bytes(self, weights: int) -> int:
        """Bytes of so many weights, which have to be whole blocks."""
        return weights // self.block_weights * self.block_bytes


TENSOR_TYPES = {
    0: TensorType("F32", 1, 4),
    1: TensorType("F16", 1, 2),
    2: TensorType("Q4_0", 32, 18),
    3: TensorType("Q4_1", 32, 20),
    6: TensorType("Q5_0", 32, 22),
    7: TensorType("Q5_1", 32, 24),
    8: TensorType("Q8_0", 32, 34),
    9: TensorType("Q8_1", 32, 36),
    10: TensorType("Q2_K", 256, 84),
    11: TensorType("Q3_K", 256, 110),
    12: TensorType("Q4_K", 256, 144),
    13: TensorType("Q5_K", 256, 176),
    14: TensorType("Q6_K", 256, 210),
    15: TensorType("Q8_K", 256, 292),
    16: TensorType("IQ2_XXS", 256, 66),
    17: TensorType("IQ2_XS", 256, 74),
    18: TensorType("IQ3_XXS", 256, 98),
    19: TensorType("IQ1_S", 256, 50),
    20: TensorType("IQ4_NL", 32, 18),
    21: TensorType("IQ3_S", 256, 110),
    22: TensorType("IQ2_S", 256, 82),
    23: TensorType("IQ4_XS", 256, 136),
    24: TensorType("I8", 1, 1),
    25: TensorType("I16", 1, 2),
    26: TensorType("I32", 1, 4),
    27: TensorType("I64", 1, 8),
    28: TensorType("F64", 1, 8),
    29: TensorType("IQ1_M", 256, 56),
    30: TensorType("BF16", 1, 2),
    34: TensorType("TQ1_0", 256, 54),
    35: TensorType("TQ2_0", 256, 66),
    39: TensorType("MXFP4", 32, 17),
    40: TensorType("NVFP4", 64, 36),
    41: TensorType("Q1_0", 128, 18),
    42: TensorType("Q2_0", 64, 18),
}

# Ids that ggml had and took out of files again; the weights have to be quantised anew.
REMOVED_TYPES = {
    4: "Q4_2",
    5: "Q4_3",
    31: "Q4_0_4_4",
    32: "Q4_0_4_8",
    33: "Q4_0_8_8",
    36: "IQ4_NL_4_4",
    37: "IQ4_NL_4_8",
    38: "IQ4_NL_8_8",
}

# ik_llama.cpp numbers its own types from here (133 Q6_0 ... 156 IQ3_KS ...); repacked ones from 202.
FORK_TYPES_FROM = 97


def type_named(name: str) -> TensorType | None:
    """Find a type by its name in any case: ``q8_0``; None when there is none."""
    return next((kind for kind in TENSOR_TYPES.values() if kind.name == name.upper()), None)


def explain_unknown_type(type_id: int) -> tuple[str, tuple[str, ...]]:
    """Say why a type id is not in the table: the likely cause as a question, and what to do."""
    if type_id in REMOVED_TYPES:
        return (
            f"made for {REMOVED_TYPES[type_id]}, which ggml removed?",
            ("take a newer quantisation of the model, such as Q4_0 or Q4_K_M",),
        )
    if FORK_TYPES_FROM <= type_id < 500:  # noqa: PLR2004 - ids of forks seen so far are below 400
        return "made for a fork such as ik_llama.cpp?", ("use that engine, or take a quantisation for llama.cpp",)
    if max(TENSOR_TYPES) < type_id < FORK_TYPES_FROM:
        return "made for a newer llama.cpp than this suite knows?", (
            "git pull    # in this suite's folder, for a version that knows it",
        )
    return "the file is damaged here?", ("download the file again",)

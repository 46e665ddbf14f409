"""The sample's tensors: what each holds, made one at a time from random bits.

Q4_0 and Q8_0 are block_q4_0 and block_q8_0 of ggml-common.h: an f16 scale, then 32 weights of 4 or 8 bits. Every number
comes from PCG64's raw bits by steps that IEEE 754 rounds in one way only, so that all machines write the same bytes.

The structure in the noise. Channel 0 of the residual stream is a constant that no layer writes and only routers read:
it gives them a bias for each expert, which skews the picks. A row of the output matrix is the embedding of the token
before it in the vocabulary's cycle, which makes the greedy answer known, and its lead over every other token large.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from streamworthy.sample.spec import FORMAT_VERSION, SampleSpec
from streamworthy.sample.vocabulary import build_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]

BLOCK = 32  # weights
_BLOCK_BYTES = {"Q4_0": 18, "Q8_0": 34}

_CONSTANT = 2.0  # channel 0 of every embedding
_EMBEDDING_RMS = 0.585  # of all channels together: uniform in -1..1, and the constant one
_REFERENCE_EMBD = 512  # widths at which the scales below give activations near 1; norms make up for other widths
# Powers of two of the blocks' scales.
_Q_K_V = -11
_GATE_UP = -7
_ATTENTION_OUT = -14  # this and the next keep what attention and experts add below the embedding
_DOWN = -10
_QUERY_NORM = 4.0  # scores spread by this much: a token attends to one or two others, so contexts stay distinct
_ROUTER_STEP = 2.0**-11
_GROWTH = 0.5  # energy that all layers add to the residual stream, as a share of the embedding's
# Picks by rank are an even floor, so that no expert stays unused, and a Zipf-Mandelbrot head.
_FLOOR_SHARE = {64: 0.55, 128: 0.65}  # by n_expert: the more experts, the likelier that one stays unused
_RANK_SHIFT_SHARE = 1 / 8
_RANK_SLOPE = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """A tensor to be written. ``make`` gives its data when its turn comes: only one is ever in memory."""

    name: str
    type: str  # ggml's name: F32, F16, Q8_0, Q4_0
    shape: tuple[int, ...]  # outermost first, in weights: reversed in the file
    make: Callable[[], NDArray[np.generic]]

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """The shape of the array that ``make`` gives: in bytes along the last axis when quantised."""
        block_bytes = _BLOCK_BYTES.get(self.type)
        return self.shape if block_bytes is None else (*self.shape[:-1], self.shape[-1] // BLOCK * block_bytes)

    @property
    def nbytes(self) -> int:
        """Bytes in the file, without padding."""
        return math.prod(self.stored_shape) * {"F32": 4, "F16": 2}.get(self.type, 1)


def plan_tensors(spec: SampleSpec) -> tuple[Tensor, ...]:
    """List all tensors in the order of the file; makes no data."""
    vocabulary_size = len(build_vocabulary().tokens)
    return (
        Tensor(
            name="token_embd.weight",
            type="F16",
            shape=(vocabulary_size, spec.n_embd),
            make=lambda: _embedding(spec),
        ),
        *(tensor for layer in range(spec.n_layer) for tensor in _layer(spec, layer)),
        _norm("output_norm.weight", spec.n_embd, 1.0),
        Tensor(
            name="output.weight",
            type="F16",
            shape=(vocabulary_size, spec.n_embd),
            make=lambda: _output(spec),
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fill:
    """How a quantised matrix is filled. ``writes``: it adds to the residual stream; otherwise it reads from it."""

    type: str
    exponent: int  # of two, in each block's scale
    writes: bool


def _layer(spec: SampleSpec, layer: int) -> Iterator[Tensor]:
    block = f"blk.{layer}."
    shrink = (spec.n_layer * spec.n_ff // (8 * _REFERENCE_EMBD)).bit_length() // 2  # more layers add less each
    yield from _attention(spec, block, shrink)
    yield _norm(f"{block}ffn_norm.weight", spec.n_embd, _norm_gain(spec))
    yield Tensor(
        name=f"{block}ffn_gate_inp.weight",
        type="F32",
        shape=(spec.n_expert, spec.n_embd),
        make=lambda: _router(spec, layer),
    )
    inner = _Fill(type="Q4_0", exponent=_GATE_UP, writes=False)
    yield _matrix(spec, f"{block}ffn_gate_exps.weight", (spec.n_expert, spec.n_ff, spec.n_embd), inner)
    yield _matrix(spec, f"{block}ffn_up_exps.weight", (spec.n_expert, spec.n_ff, spec.n_embd), inner)
    outer = _Fill(type="Q4_0", exponent=_DOWN - shrink, writes=True)
    yield _matrix(spec, f"{block}ffn_down_exps.weight", (spec.n_expert, spec.n_embd, spec.n_ff), outer)


def _attention(spec: SampleSpec, block: str, shrink: int) -> Iterator[Tensor]:
    width, heads, heads_kv = spec.n_embd, spec.n_head * spec.head_dim, spec.n_head_kv * spec.head_dim
    score = _Fill(type="Q8_0", exponent=_Q_K_V, writes=False)
    value = _Fill(type="Q8_0", exponent=_Q_K_V - shrink, writes=False)
    outer = _Fill(type="Q8_0", exponent=_ATTENTION_OUT, writes=True)
    yield _norm(f"{block}attn_norm.weight", width, _norm_gain(spec))
    yield _matrix(spec, f"{block}attn_q.weight", (heads, width), score)
    yield _matrix(spec, f"{block}attn_k.weight", (heads_kv, width), score)
    yield _matrix(spec, f"{block}attn_v.weight", (heads_kv, width), value)
    yield _matrix(spec, f"{block}attn_output.weight", (width, heads), outer)
    yield _norm(f"{block}attn_q_norm.weight", spec.head_dim, _QUERY_NORM)
    yield _norm(f"{block}attn_k_norm.weight", spec.head_dim, 1.0)


def _norm_gain(spec: SampleSpec) -> float:
    return math.sqrt(_REFERENCE_EMBD / spec.n_embd)


def _norm(name: str, width: int, value: float) -> Tensor:
    return Tensor(name=name, type="F32", shape=(width,), make=lambda: np.full(width, value, np.float32))


def _matrix(spec: SampleSpec, name: str, shape: tuple[int, ...], fill: _Fill) -> Tensor:
    return Tensor(name=name, type=fill.type, shape=shape, make=lambda: _blocks(spec, name, shape, fill))


def _blocks(spec: SampleSpec, name: str, shape: tuple[int, ...], fill: _Fill) -> Bytes:
    """Fill blocks with random bits; a scale keeps its random sign and mantissa and gets one exponent."""
    row_blocks, block_bytes = shape[-1] // BLOCK, _BLOCK_BYTES[fill.type]
    bits = _random_bytes(spec, name, math.prod(shape) // BLOCK * block_bytes)
    blocks = bits.reshape(-1, shape[-2], row_blocks, block_bytes)
    high = blocks[..., 1]
    high &= 0b1000_0011
    high |= (fill.exponent + 15) << 2
    silence = _silence_output if fill.writes else _SILENCE_INPUT[fill.type]
    silence(blocks)
    return bits.reshape(*shape[:-1], row_blocks * block_bytes)


def _silence_output(blocks: Bytes) -> None:
    """Give row 0 of each matrix the scale 0: what it computes never reaches channel 0."""
    blocks[:, 0, :, :2] = 0


def _silence_input_q4_0(blocks: Bytes) -> None:
    """Make each row's first weight 0 (8 as stored, in the low half of its byte): channel 0 is not read."""
    first = blocks[:, :, 0, 2]
    first &= 0xF0
    first |= 8


def _silence_input_q8_0(blocks: Bytes) -> None:
    blocks[:, :, 0, 2] = 0


_SILENCE_INPUT: dict[str, Callable[[Bytes], None]] = {"Q4_0": _silence_input_q4_0, "Q8_0": _silence_input_q8_0}


def _random_bytes(spec: SampleSpec, name: str, count: int) -> Bytes:
    """Give random bytes of one tensor: its stream depends on its name, not on what was made before."""
    key = hashlib.sha256(f"{FORMAT_VERSION}/{spec.seed}/{spec.size_bytes}/{name}".encode()).digest()
    words = np.random.PCG64(int.from_bytes(key, "little")).random_raw(-(-count // 8))
    return words.astype("<u8", copy=False).view(np.uint8)[:count]


def _random_signed(spec: SampleSpec, name: str, rows: int) -> NDArray[np.float64]:
    """Give whole numbers from -128 to 127, as floats."""
    drawn = _random_bytes(spec, name, rows * spec.n_embd).reshape(rows, spec.n_embd)
    return drawn.astype(np.float64) - 128


def _embedding(spec: SampleSpec) -> NDArray[np.float16]:
    values = _random_signed(spec, "token_embd.weight", len(build_vocabulary().tokens)) / 128
    values[:, 0] = _CONSTANT
    return values.astype(np.float16)


def _output(spec: SampleSpec) -> NDArray[np.float16]:
    embedding = _embedding(spec)
    embedding[:, 0] = 0
    embedding[-1] = 0  # the end of text is its own successor, and is never said
    values = np.empty_like(embedding)
    values[list(build_vocabulary().successors)] = embedding / np.float16(16)
    return values


def _router(spec: SampleSpec, layer: int) -> NDArray[np.float32]:
    """Give the router: noise of one spread for all experts, and in column 0 each expert's bias.

    The residual stream grows with depth, so the constant's share of a normed vector falls: the bias makes up for it.
    """
    values = _random_signed(spec, f"blk.{layer}.ffn_gate_inp.weight", spec.n_expert) * _ROUTER_STEP
    spread = 128 / math.sqrt(3) * _ROUTER_STEP * math.sqrt(_REFERENCE_EMBD)
    growth = math.sqrt(1 + _GROWTH * layer / spec.n_layer)
    order = np.argsort(_random_bytes(spec, f"blk.{layer}.rank", 8 * spec.n_expert).view("<u8"), kind="stable")
    biases = np.array([steps / 256 for steps in expert_bias_steps(spec.n_expert, spec.n_expert_used)])
    values[order, 0] = biases * (spread * growth * _EMBEDDING_RMS / (_CONSTANT * _norm_gain(spec)))
    return values.astype(np.float32)


def expert_bias_steps(n_expert: int, n_expert_used: int) -> tuple[int, ...]:
    """Give the bias by popularity rank in 1/256 of the router noise's deviation.

    An expert is picked when bias + noise is above a threshold (0 here, as the shares add up to the picks): the bias is
    the normal quantile of its wanted share. Whole steps, so that no machine's logarithm can change a byte.
    """
    weights = [(rank + 1 + n_expert * _RANK_SHIFT_SHARE) ** -_RANK_SLOPE for rank in range(n_expert)]
    floor = _FLOOR_SHARE[n_expert]
    shares = [n_expert_used * (floor / n_expert + (1 - floor) * weight / sum(weights)) for weight in weights]
    return tuple(round(256 * NormalDist().inv_cdf(share)) for share in shares)

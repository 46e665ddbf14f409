"""Shapes and names of the sample for a wanted size."""

import pytest

from streamworthy.errors import UsageError
from streamworthy.sample.shards import planned_bytes
from streamworthy.sample.spec import (
    CONTEXT_TOKENS,
    DEFAULT_SIZE_BYTES,
    MAXIMUM_SIZE_BYTES,
    MINIMUM_SIZE_BYTES,
    spec_for_size,
)

SIZES_BYTES = [megabytes * 10**6 for megabytes in (200, 220, 270, 450, 600, 601, 1_400, 2_500, 2_501, 5_000, 8_000)]


def test_shard_names():
    """Shards are numbered with five digits from one, as the engine expects of a split model."""
    names = spec_for_size(DEFAULT_SIZE_BYTES).shard_names
    assert names[0] == "streamworthy-sample-220MB-00001-of-00006.gguf"
    assert names[-1] == "streamworthy-sample-220MB-00006-of-00006.gguf"
    assert len(set(names)) == 6


@pytest.mark.parametrize("size_bytes", SIZES_BYTES)
def test_size_is_near_what_was_asked(size_bytes):
    """The files' bytes differ from the wanted size by 6 % at most."""
    assert planned_bytes(spec_for_size(size_bytes)) == pytest.approx(size_bytes, rel=0.06)


@pytest.mark.parametrize("size_bytes", SIZES_BYTES)
def test_shape_is_a_mixture_of_experts(size_bytes):
    """Every size has 64 experts or more, 4 to 8 of them used, and whole Q4_0 blocks in each row."""
    spec = spec_for_size(size_bytes)
    assert spec.n_expert >= 64
    assert 4 <= spec.n_expert_used <= 8
    assert spec.n_embd % 32 == spec.n_ff % 32 == 0
    assert spec.n_head * spec.head_dim == spec.n_embd
    assert CONTEXT_TOKENS >= 4096


@pytest.mark.parametrize("size_bytes", [0, -1, MINIMUM_SIZE_BYTES - 1, MAXIMUM_SIZE_BYTES + 1])
def test_size_out_of_range(size_bytes):
    """A size below 200 MB or above 8 GB is refused, with the range in the message."""
    with pytest.raises(UsageError, match="200 MB to 8 GB") as caught:
        spec_for_size(size_bytes)
    assert caught.value.fix


@pytest.mark.parametrize("size_bytes", [MINIMUM_SIZE_BYTES, MAXIMUM_SIZE_BYTES])
def test_size_at_the_limits(size_bytes):
    """The limits themselves are allowed."""
    assert spec_for_size(size_bytes).size_bytes == size_bytes


def test_slab_and_token_bytes():
    """A slab is one expert in one tensor; a token reads three for each expert used in each layer."""
    spec = spec_for_size(DEFAULT_SIZE_BYTES)
    assert spec.slab_bytes == 512 * 480 // 32 * 18
    assert spec.routed_bytes_per_token == 8 * 4 * 3 * spec.slab_bytes

"""The sample's tensors: structure where it is wanted, noise everywhere else."""

import hashlib
import zlib
from dataclasses import replace

import numpy as np
import pytest

from streamworthy.sample.spec import DEFAULT_SIZE_BYTES, spec_for_size
from streamworthy.sample.tensors import expert_bias_steps, plan_tensors
from streamworthy.sample.vocabulary import build_vocabulary


def named(spec, name):
    """Find a planned tensor."""
    return next(tensor for tensor in plan_tensors(spec) if tensor.name == name)


@pytest.fixture(scope="module")
def experts():
    """Give the raw experts of one tensor of the default sample, one a row."""
    spec = spec_for_size(DEFAULT_SIZE_BYTES)
    return named(spec, "blk.3.ffn_down_exps.weight").make().reshape(spec.n_expert, -1)


def test_made_data_has_the_planned_size(tiny):
    """Every tensor's data has the shape and the bytes that the plan promises to the file's header."""
    for tensor in plan_tensors(tiny):
        data = tensor.make()
        assert data.shape == tensor.stored_shape, tensor.name
        assert data.nbytes == tensor.nbytes, tensor.name


def test_experts_differ(experts):
    """No two experts hold the same bytes."""
    assert len({hashlib.sha256(expert).digest() for expert in experts}) == len(experts)


def test_experts_do_not_compress(experts):
    """A compressing file system or drive gains less than 2 % on an expert."""
    for expert in experts[::16]:
        assert len(zlib.compress(expert.tobytes(), 6)) > 0.98 * len(expert)


def test_a_tensor_does_not_depend_on_the_others(tiny):
    """A tensor's bytes come from its name and the spec, not from what was made before."""
    first, again = named(tiny, "blk.1.attn_q.weight"), named(tiny, "blk.1.attn_q.weight")
    named(tiny, "blk.0.attn_q.weight").make()
    assert np.array_equal(first.make(), again.make())


def test_seed_changes_the_bytes(tiny):
    """Another seed gives another model."""
    other = replace(tiny, seed=tiny.seed + 1)
    assert not np.array_equal(
        named(tiny, "blk.0.ffn_up_exps.weight").make(), named(other, "blk.0.ffn_up_exps.weight").make()
    )


def test_output_rows_are_the_embeddings_before_them(tiny):
    """The output row of a token's successor is its embedding, without the constant channel."""
    embedding = named(tiny, "token_embd.weight").make().astype(np.float32)
    output = named(tiny, "output.weight").make().astype(np.float32)
    successors = np.array(build_vocabulary().successors)
    assert np.array_equal(output[successors[:-1], 1:] * 16, embedding[:-1, 1:])
    assert not output[:, 0].any()
    assert not output[-1].any()


@pytest.mark.parametrize(("n_expert", "n_expert_used"), [(64, 4), (128, 8)])
def test_biases_fall_with_the_rank(n_expert, n_expert_used):
    """There is one bias an expert, and a more popular rank never has the smaller one."""
    steps = expert_bias_steps(n_expert, n_expert_used)
    assert len(steps) == n_expert
    assert list(steps) == sorted(steps, reverse=True)

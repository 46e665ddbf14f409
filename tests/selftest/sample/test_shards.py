"""What the shards' headers say, read back with the ``gguf`` package."""

import pytest
from gguf import GGUFReader

from streamworthy.sample.make import ensure_sample
from streamworthy.sample.tensors import plan_tensors


@pytest.fixture(scope="module")
def readers(tiny, tmp_path_factory):
    """Give a reader for each shard of the tiny sample."""
    folder = tmp_path_factory.mktemp("shards")
    ensure_sample(folder, tiny)
    return [GGUFReader(folder / name) for name in tiny.shard_names]


def test_split_keys(readers, tiny):
    """Each shard has its number from zero and the count as u16, and the tensors of all shards as i32."""
    for number, reader in enumerate(readers):
        fields = {key: reader.fields[key] for key in ("split.no", "split.count", "split.tensors.count")}
        assert [field.contents() for field in fields.values()] == [number, len(readers), len(plan_tensors(tiny))]
        assert [field.types[0].name for field in fields.values()] == ["UINT16", "UINT16", "INT32"]


def test_tensors_are_all_there_in_order(readers, tiny):
    """Together the shards hold the planned tensors, and none is empty."""
    assert all(reader.tensors for reader in readers)
    found = [(tensor.name, tensor.tensor_type.name, tensor.n_bytes) for reader in readers for tensor in reader.tensors]
    assert found == [(tensor.name, tensor.type, tensor.nbytes) for tensor in plan_tensors(tiny)]


def test_only_the_first_shard_describes_the_model(readers):
    """The architecture is named in the first shard; the others say only that they are parts."""
    assert readers[0].fields["general.architecture"].contents() == "qwen3moe"
    assert all("general.architecture" not in reader.fields for reader in readers[1:])

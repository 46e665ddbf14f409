"""Questions about the bytes of the model's shards."""

from streamworthy.criteria import integrity


def test_extents(require, model, limit):
    """A shard cut short is refused after minutes of loading, or kills the engine at the token that needs its end."""
    require(integrity.extents(model.extents, limit))


def test_tensors(require, model, limit):
    """One block of weights that is no number turns every answer into nonsense, and no header tells."""
    require(integrity.tensors(model.tensors, limit))


def test_metadata_leaks(require, model, limit):
    """Whoever gets the file reads its keys: a token in one of them is as good as published."""
    require(integrity.metadata_leaks(model.metadata_leaks, limit))


def test_hashes(require, model, limit):
    """A shard of the right size with wrong bytes loads and runs, and answers nonsense: only its hash tells."""
    require(integrity.hashes(model.hashes, limit))

"""Questions about the files that make up the model."""

from streamworthy.criteria import shards


def test_names(require, model, limit):
    """The engine builds each shard's name from the first one's, so a renamed shard is not found, whatever is in it."""
    require(shards.names(model.listing, limit))


def test_complete(require, model, limit):
    """One missing shard stops the load, after hours of download and minutes of reading the others."""
    require(shards.complete(model.listing, model.total, model.open_files, limit))


def test_headers(require, model, limit):
    """A shard of another model or quantisation passes every check of its own file and breaks the set."""
    require(shards.headers(model.listing, model.headers, limit))


def test_sizes(require, model, limit):
    """Shards far below 10 GB cost file handles and maps, far above 20 GB a failed download costs an evening."""
    require(shards.sizes(model.listing, model.total, limit))

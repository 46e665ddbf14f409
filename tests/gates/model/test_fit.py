"""Questions about whether the model fits the machine."""

from streamworthy.criteria import fit


def test_ledger(require, machine, model, plan, limit):
    """When what every token reads does not stay in memory, each token reads it from the disk again."""
    require(fit.ledger(model.ledger(plan, machine.memory), limit))


def test_cache(require, machine, model, plan, limit):
    """A page cache that holds less than a token and a half of experts never hits: each token is read from the disk."""
    require(fit.cache(model.ledger(plan, machine.memory), model.sizes, plan, limit))

"""Questions about whether the model fits the machine."""

from streamworthy.criteria import fit


def test_ledger(require, machine, model, plan, limit):
    """When what every token reads does not stay in memory, each token reads it from the disk again."""
    require(fit.ledger(model.ledger(plan, machine.memory), limit))

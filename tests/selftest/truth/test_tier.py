"""The tier for machines of known truth."""

from __future__ import annotations

import pytest

from streamworthy.thresholds import load_tier
from tests.selftest.truth.tier import LIMITED, write_tier


def test_a_part_of_what_a_healthy_machine_gives_is_enough(tmp_path):
    """A rate may be that much less, a time that much longer, each in its own table and nowhere else."""
    healthy = dict(zip(LIMITED, (10.0, 20.0, 30.0, 4.0, 5.0, 6.0), strict=True))

    tier = load_tier(str(write_tier(tmp_path / "truth.toml", healthy)), tmp_path)

    limits = {gate: {name: round(value, 3) for name, value in tier.limits[gate].values.items()} for gate in LIMITED}
    assert limits == {
        "prefill.rate": {"at_least": 6.5},
        "decode.cold_rate": {"at_least": 13.0},
        "decode.warm_rate": {"at_least": 19.5},
        "load.mmap": {"at_most": 6.154},
        "first_token.cold": {"at_most": 7.692},
        "first_token.warm": {"at_most": 9.231},
    }
    assert [applies.model for applies in tier.applies] == ["given"]


def test_what_is_not_known_of_a_healthy_machine_is_not_limited(tmp_path):
    """The first run learns it."""
    tier = load_tier(str(write_tier(tmp_path / "truth.toml", {})), tmp_path)
    assert tier.limits["decode.warm_rate"].values["at_least"] < 0.01
    assert tier.limits["load.mmap"].values["at_most"] > 10_000


@pytest.mark.parametrize(
    ("key", "written", "read"), [("repack", "true", True), ("threads", "3", 3), ("lock_bytes", '"weights"', -1)]
)
def test_a_machine_changes_the_plan(tmp_path, key, written, read):
    """A setting of the engine is replaced, the others stay."""
    name = key.removesuffix("_bytes")
    tier = load_tier(str(write_tier(tmp_path / "truth.toml", {}, **{name: written})), tmp_path)
    assert getattr(tier.plan, key) == read
    assert tier.plan.decode_tokens == 8

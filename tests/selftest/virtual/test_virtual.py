"""The gates of storage on hardware, kernels and layers that this machine does not have."""

from __future__ import annotations

import re

import pytest

from streamworthy.sample.make import ensure_sample
from tests.selftest.filesystems.ground import SPEC
from tests.selftest.virtual.kit import need_kit
from tests.selftest.virtual.layouts import DEVICES, LAYOUTS, SHARE
from tests.selftest.virtual.machine import run_in
from tests.selftest.virtual.truth import DRIVES, NAMES, TRUTH

pytestmark = pytest.mark.slow


NODES = (
    *("-smp", "4,sockets=2", "-m", "4G"),
    *("-object", "memory-backend-ram,id=near,size=2G", "-numa", "node,nodeid=0,cpus=0-1,memdev=near"),
    *("-object", "memory-backend-ram,id=far,size=2G", "-numa", "node,nodeid=1,cpus=2-3,memdev=far"),
)
FREE = {"limit": None, "high": None, "cores": 4, "reads": []}
GROUPS = {
    "none": FREE,
    "limit of the parent": FREE | {"limit": ["/outer", 1500 * 2**20]},
    "limit": FREE | {"limit": ["/outer/inner", 1200 * 2**20]},
    "throttled": FREE | {"high": ["/outer/inner", 2**30]},
    "half a CPU": FREE | {"cores": 1},
    "one CPU": FREE | {"cores": 1},
    "reads": FREE | {"reads": [["/outer", "", 8 * 10**6, None]]},
    "count of reads": FREE | {"reads": [["/outer/inner", "", None, 10]]},
}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """All layouts, built one after the other on one machine."""
    kit = need_kit()
    sample = ensure_sample(tmp_path_factory.mktemp("virtual"), SPEC).parent
    share = f"local,path={sample},mount_tag={SHARE},security_model=none,readonly=on"
    told = run_in(
        kit,
        "tests.selftest.virtual.layouts_job",
        sample,
        *TRUTH,
        devices=DEVICES,
        options=("-smp", "2", "-m", "2G", "-virtfs", share),
        patience_seconds=1800,
    )
    return {each["layout"]: each for each in told}


def test_the_table_is_whole():
    """Each layout has a row, and nothing is said of one that is not there."""
    assert list(TRUTH) == list(LAYOUTS)
    assert set(DRIVES) | set(NAMES) <= set(LAYOUTS)


@pytest.mark.parametrize("name", TRUTH)
def test_each_gate_tells_the_truth(found, name):
    """The word of each gate of storage, the count of drives, and the cause that matters."""
    layout = found[name]
    assert "problem" not in layout, layout["problem"]
    verdicts = layout["verdicts"]
    assert {gate: verdicts[gate]["word"] for gate in TRUTH[name]} == TRUTH[name], verdicts
    drives = re.findall(r"\b(?:nvme|sd|vd|mmcblk|z?ram)[0-9a-z]+ \(", verdicts["storage.rotational"]["measured"])
    assert len(drives) == DRIVES.get(name, 1), verdicts["storage.rotational"]
    gate, cause = NAMES.get(name, ("storage.transport", ""))
    assert cause in verdicts[gate]["cause"]
    assert layout["map"] == "maps"


@pytest.fixture(scope="module")
def learned():
    """What is learned on a machine of two memory nodes, with version 2 control groups."""
    job = "tests.selftest.virtual.facts_job"
    told = run_in(need_kit(), job, devices=DEVICES[:2], options=NODES, patience_seconds=1200)
    return {name: facts for each in told for name, facts in each.items()}


def test_near_and_far_memory_are_told_apart_and_read(learned):
    """Pages lie where they were asked for, or the probe would say that they do not."""
    numa = learned["numa"]
    assert numa["facts"]["nodes"] == [{"number": 0, "cpus": [0, 1]}, {"number": 1, "cpus": [2, 3]}]
    assert (numa["facts"]["zone_reclaim_mode"], numa["facts"]["numa_balancing"]) == (0, 1)
    for placed in (numa["placed"], numa["whole"]["placed"]):
        assert placed["node"] == 0
        assert all(rate > 0 for way in ("local", "interleaved") for rate in placed[way]["rates_bytes_per_second"])
    assert numa["whole"]["unplaced"] == ""


@pytest.mark.parametrize("name", ["nvme0", "nvme1"])
def test_a_drive_answers_for_its_health_and_its_link(learned, name):
    """The ioctl and the files of a real driver; QEMU's drive is new, and has one lane."""
    assert learned[name]["health"]["critical_warning"] == learned[name]["health"]["media_errors_count"] == 0
    one_lane = {"gigatransfers": 2.5, "lanes_count": 1}
    assert learned[name]["link"] == {"current": one_lane, "max": one_lane}


@pytest.mark.parametrize("name", GROUPS)
def test_limits_of_version_2_groups_are_found_up_to_the_root(learned, name):
    """Of memory, CPUs and reads; the last do bind."""
    known = learned[name]
    expected = GROUPS[name]
    assert [each[:1] + each[2:] for each in known["reads"]] == [each[:1] + each[2:] for each in expected["reads"]]
    assert {**known, "reads": [], "rate": 0} == {**expected, "reads": [], "rate": 0}
    if name == "reads":
        assert known["rate"] < 1.5 * 8 * 10**6

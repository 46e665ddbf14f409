"""Control groups: memory limits and CPU quotas up to the root."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamworthy.errors import ParseError, ProbeError
from streamworthy.facts.memory import CgroupMemory
from streamworthy.probes.cgroup import (
    Membership,
    parse_amount,
    parse_cpu_max,
    parse_memberships,
    parse_stat,
    probe_cgroup_memory,
    probe_cpu_quota,
    probe_group_swappiness,
)
from tests.selftest.probes.folder import captured, machine_of

GIB = 2**30
V2 = "sys/fs/cgroup"
V1 = "sys/fs/cgroup/memory"


def group(path, **known):
    """Make a group's record; what is not given is not told."""
    absent = dict.fromkeys(("limit_bytes", "high_bytes", "usage_bytes", "inactive_file_bytes", "active_file_bytes"))
    return CgroupMemory(path=path, **({"version": 2} | absent | known))


def test_memberships_of_a_hybrid_machine_are_read():
    """Version 1 names its controllers, version 2 none; a colon in a path stays in the path."""
    assert parse_memberships("4:memory:/a\n2:cpu,cpuacct:/\n1:name=systemd:/b:c\n0::/d\n") == (
        Membership(version=1, controllers=("memory",), path="/a"),
        Membership(version=1, controllers=("cpu", "cpuacct"), path="/"),
        Membership(version=1, controllers=("name=systemd",), path="/b:c"),
        Membership(version=2, controllers=(), path="/d"),
    )


@pytest.mark.parametrize("text", ["memory:/a", "4:memory", "x::/a", "0::a", "\n"])
def test_a_malformed_membership_is_a_parse_error(text):
    """The line is named."""
    with pytest.raises(ParseError, match="/proc/self/cgroup, line 1"):
        parse_memberships(text)


@pytest.mark.parametrize(
    "text",
    [
        "max",
        "9223372036854771712",
        "9223372036854759424",
        "9223372036854710272",
        "9223372036854775807",
        "18446744073709551615",
        "-1",
    ],
)
def test_no_limit_has_many_spellings(text):
    """Version 2 says max; version 1 says 2**63 rounded down to a page of 4, 16 or 64 KiB, or old kernels' maxima."""
    assert parse_amount(f"{text}\n", where="x") is None


@pytest.mark.parametrize(("text", "size"), [("0", 0), ("12884901888", 12 * GIB), (str(2**62), 2**62)])
def test_a_limit_is_read_in_bytes(text, size):
    """Every other number is a limit, even an absurd one."""
    assert parse_amount(text, where="x") == size


@pytest.mark.parametrize("text", ["", "12 GiB", "1e9", "maximum", "\u0661"])
def test_a_malformed_limit_is_a_parse_error(text):
    """What is no number is never taken for no limit."""
    with pytest.raises(ParseError, match="control group: /x"):
        parse_amount(text, where="x")


@pytest.mark.parametrize(
    ("text", "quota"),
    [("765000 100000", 7.65), ("max 100000", None), ("50000 100000", 0.5), ("max", None), ("200000", 2.0)],
)
def test_cpu_quotas_are_read_in_cpus(text, quota):
    """Quota over period; max is none; the period may be left out and is then 100 ms."""
    assert parse_cpu_max(f"{text}\n", where="x") == quota


@pytest.mark.parametrize("text", ["", "100000 0", "fast", "1 2 3", "-1 100000"])
def test_a_malformed_quota_is_a_parse_error(text):
    """A period of nothing would divide by zero."""
    with pytest.raises(ParseError, match="CPU quota: /x"):
        parse_cpu_max(text, where="x")


def test_a_limit_on_a_parent_is_found(tmp_path):
    """Version 2 does not copy a limit to the children: the leaf says max and still cannot have more."""
    files = {"proc/self/cgroup": "0::/a/b/c\n"}
    files |= {f"{V2}/a/memory.max": "max\n", f"{V2}/a/b/memory.max": f"{12 * GIB}\n", f"{V2}/a/b/c/memory.max": "max\n"}
    files |= {
        f"{V2}/a/b/memory.current": f"{11 * GIB}\n",
        f"{V2}/a/b/memory.stat": f"inactive_file {6 * GIB}\nactive_file {GIB}\n",
    }
    assert probe_cgroup_memory(machine_of(tmp_path, files)) == (
        group("/a/b/c"),
        group(
            "/a/b",
            limit_bytes=12 * GIB,
            usage_bytes=11 * GIB,
            inactive_file_bytes=6 * GIB,
            active_file_bytes=GIB,
        ),
        group("/a"),
        group("/"),
    )


def test_a_limit_on_the_mount_itself_is_found(tmp_path):
    """Inside a container's namespace its own group is the root, and that root has a limit."""
    root = machine_of(
        tmp_path, {"proc/self/cgroup": "0::/\n", f"{V2}/memory.max": f"{GIB}\n", f"{V2}/memory.high": "max\n"}
    )
    assert probe_cgroup_memory(root) == (group("/", limit_bytes=GIB),)


def test_version_1_counts_the_whole_subtree(tmp_path):
    """Usage and page cache of version 1 carry total_; the mount's hierarchical limit tells of hidden ancestors."""
    files = {
        "proc/self/cgroup": "4:memory:/docker/abc\n0::/\n",
        f"{V1}/memory.limit_in_bytes": "9223372036854771712\n",
        f"{V1}/memory.usage_in_bytes": f"{3 * GIB}\n",
        f"{V1}/memory.stat": (
            f"inactive_file 1\nactive_file 2\nhierarchical_memory_limit {8 * GIB}\n"
            f"total_inactive_file {GIB}\ntotal_active_file {2 * GIB}\n"
        ),
    }
    assert probe_cgroup_memory(machine_of(tmp_path, files)) == (
        group(
            "/",
            version=1,
            limit_bytes=8 * GIB,
            usage_bytes=3 * GIB,
            inactive_file_bytes=GIB,
            active_file_bytes=2 * GIB,
        ),
    )


def test_a_hybrid_machine_is_judged_by_the_hierarchy_that_has_memory(tmp_path):
    """Version 2 without the memory controller stands beside a version 1 that limits."""
    files = {
        "proc/self/cgroup": "4:memory:/job\n0::/\n",
        f"{V1}/job/memory.limit_in_bytes": f"{GIB}\n",
        f"{V1}/memory.limit_in_bytes": "9223372036854771712\n",
        "sys/fs/cgroup/unified/cgroup.controllers": "\n",
    }
    assert [each.limit_bytes for each in probe_cgroup_memory(machine_of(tmp_path, files))] == [GIB, None]


def test_an_ancestor_that_does_not_count_its_children_is_left_out(tmp_path):
    """Before 5.11 version 1 could switch the hierarchy off; such a parent's limit binds only its own processes."""
    files = {
        "proc/self/cgroup": "4:memory:/a/b\n",
        f"{V1}/a/b/memory.limit_in_bytes": "9223372036854771712\n",
        f"{V1}/a/memory.limit_in_bytes": "4096\n",
        f"{V1}/a/memory.use_hierarchy": "0\n",
    }
    assert [each.path for each in probe_cgroup_memory(machine_of(tmp_path, files))] == ["/a/b"]


def test_a_mount_of_a_part_of_the_hierarchy_is_understood(tmp_path):
    """A container with the host's namespace sees its own group at the mount, under its name on the host."""
    files = {
        "proc/self/cgroup": "0::/system.slice/docker-1.scope/sub\n",
        "proc/self/mountinfo": "9 8 0:30 /system.slice/docker-1.scope /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
        f"{V2}/memory.max": f"{GIB}\n",
        f"{V2}/sub/memory.max": "max\n",
    }
    found = probe_cgroup_memory(machine_of(tmp_path, files))
    assert [(each.path, each.limit_bytes) for each in found] == [("/sub", None), ("/", GIB)]


@pytest.mark.parametrize(
    "files",
    [
        {"proc/self/cgroup": "0::/../other\n", f"{V2}/memory.max": "max\n"},
        {"proc/self/cgroup": "0::/a\n"},
        {
            "proc/self/cgroup": "0::/a\n",
            "proc/self/mountinfo": "9 8 0:30 /b /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
            f"{V2}/memory.max": "max\n",
        },
    ],
    ids=["outside the namespace", "nothing mounted", "another group mounted"],
)
def test_a_group_that_cannot_be_seen_is_unknown(tmp_path, files):
    """A limit may be there, so it is not taken for none."""
    with pytest.raises(ProbeError, match=r"limits of control group .* cannot be seen"):
        probe_cgroup_memory(machine_of(tmp_path, files))


def test_a_kernel_without_control_groups_limits_nothing(tmp_path):
    """No /proc/self/cgroup, no limit."""
    root = machine_of(tmp_path, {})
    assert (probe_cgroup_memory(root), probe_cpu_quota(root), probe_group_swappiness(root)) == ((), None, None)


def test_the_smallest_quota_on_the_way_counts():
    """The container's own group says max, its pod allows four CPUs."""
    assert probe_cpu_quota(captured("container-memory-limit")) == 4.0


@pytest.mark.parametrize(("quota", "cpus"), [("-1", None), ("150000", 1.5)])
def test_version_1_quotas_are_read(tmp_path, quota, cpus):
    """cfs_quota_us over cfs_period_us; -1 is none."""
    files = {"proc/self/cgroup": "2:cpu,cpuacct:/job\n"}
    files |= {
        f"{V2}/cpu,cpuacct/job/cpu.cfs_quota_us": f"{quota}\n",
        f"{V2}/cpu,cpuacct/job/cpu.cfs_period_us": "100000\n",
    }
    assert probe_cpu_quota(machine_of(tmp_path, files)) == cpus


def test_only_version_1_groups_have_a_swappiness_of_their_own(tmp_path):
    """Below the root of version 1 the group's value is used, elsewhere the system's."""
    files = {"proc/self/cgroup": "4:memory:/job\n", f"{V1}/job/memory.swappiness": "0\n"}
    assert probe_group_swappiness(machine_of(tmp_path, files)) == 0
    assert probe_group_swappiness(captured("laptop-nvme")) is None


def test_the_captured_guest_has_no_limit():
    """A version 1 machine whose every group says 2**63 rounded down."""
    found = probe_cgroup_memory(captured("vm-virtio"))
    assert [(each.path.count("/"), each.version, each.limit_bytes) for each in found] == [
        (2, 1, None),
        (1, 1, None),
        (1, 1, None),
    ]


@given(st.text())
def test_any_text_is_facts_or_a_parse_error(text):
    """No text makes a parser raise anything else."""
    for parse in (
        parse_memberships,
        lambda each: parse_amount(each, where="x"),
        lambda each: parse_cpu_max(each, where="x"),
        lambda each: parse_stat(each, where="x"),
    ):
        with contextlib.suppress(ParseError):
            parse(text)


def test_the_host_s_groups_mounted_into_a_container_hide_its_own(tmp_path):
    """moby#46763: --volume /sys/fs/cgroup shows the host's tree, and the container's own group is called "/"."""
    files = {
        "proc/self/cgroup": "0::/\n",
        "proc/self/mountinfo": "9 8 0:30 /../../.. /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
        f"{V2}/memory.stat": "anon 1\n",
    }
    with pytest.raises(ProbeError, match=r"mounted from another control-group namespace \(root /\.\./\.\./\.\.\)"):
        probe_cgroup_memory(machine_of(tmp_path, files))

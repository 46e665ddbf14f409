"""Each captured machine, judged through the front door."""

from __future__ import annotations

import json

import pytest

from tests.selftest.face.running import MACHINES, ROOT, qualify

# machine: tier, closing word, exit code, what fails, what is undecided
EXPECTED = {
    "board-aarch64": ("laptop-16g", "PARTIAL", 0, set(), set()),
    "container-memory-limit": (
        "laptop-64g", "NOT QUALIFIED", 1, {"cpu.physical_cores", "memory.available", "memory.limit"}, set(),
    ),
    "desktop-sata-hdd": (
        "laptop-32g", "NOT QUALIFIED", 1, {"storage.rotational", "storage.transport", "memory.swap_location"}, set(),
    ),
    "laptop-luks-lvm": ("laptop-64g", "PARTIAL", 0, set(), set()),
    "laptop-nvme": ("laptop-32g", "PARTIAL", 0, set(), set()),
    "server-md-raid": ("xeon-128g", "PARTIAL", 0, set(), set()),
    "usb-enclosure": ("laptop-16g", "NOT QUALIFIED", 1, {"storage.filesystem", "storage.transport"}, set()),
    "vm-virtio": ("fits-in-ram", "PARTIAL", 0, set(), set()),
    "wsl2-drvfs": (
        "laptop-16g", "NOT QUALIFIED", 1, {"storage.filesystem", "storage.network", "storage.transport"}, set(),
    ),
    "board-pi5-sd-card-32bit": ("laptop-16g", "NOT QUALIFIED", 1, {"cpu.architecture", "storage.transport"}, set()),
    "board-pi5-usb-nvme": ("laptop-16g", "NOT QUALIFIED", 1, {"storage.transport"}, set()),
    "client-nfs4": (
        "laptop-64g", "NOT QUALIFIED", 1, {"storage.filesystem", "storage.network", "storage.transport"}, set(),
    ),
    "cloud-azure-ephemeral-raid": ("laptop-64g", "PARTIAL", 0, set(), set()),
    "cloud-graviton-ebs": ("laptop-64g", "NOT QUALIFIED", 1, {"storage.transport"}, set()),
    "container-cgroup-v1": ("laptop-64g", "PARTIAL", 0, set(), set()),
    "desktop-dual-boot-ntfs3": ("laptop-32g", "NOT QUALIFIED", 1, {"storage.filesystem"}, set()),
    "desktop-loop-image": ("laptop-32g", "PARTIAL", 0, set(), set()),
    "desktop-path-with-blanks": ("laptop-32g", "PARTIAL", 0, set(), set()),
    "desktop-stacked-mounts": ("laptop-32g", "PARTIAL", 0, set(), set()),
    "docker-model-in-image": (
        "laptop-64g", "UNDECIDED", 10, set(),
        {"storage.filesystem", "storage.network", "storage.rotational", "storage.transport"},
    ),
    "kubernetes-parent-limit": ("laptop-64g", "NOT QUALIFIED", 1, {"memory.available", "memory.limit"}, set()),
    "laptop-narrow-link": ("laptop-32g", "NOT QUALIFIED", 1, {"storage.link"}, set()),
    "laptop-worn-drive": ("laptop-32g", "NOT QUALIFIED", 1, {"storage.health"}, set()),
    "laptop-asahi": ("laptop-32g", "PARTIAL", 0, set(), set()),
    "laptop-btrfs-compressed": ("laptop-32g", "NOT QUALIFIED", 1, {"storage.filesystem"}, set()),
    "laptop-fedora-btrfs-zram": ("laptop-32g", "PARTIAL", 0, set(), set()),
    "lxc-lxcfs": ("laptop-32g", "PARTIAL", 0, set(), set()),
    "nas-mergerfs": (
        "laptop-32g", "NOT QUALIFIED", 1,
        {"memory.swap_location", "storage.filesystem", "storage.mappable", "storage.network", "storage.transport"},
        set(),
    ),
    "server-arm64-64k-pages": ("fits-in-ram", "PARTIAL", 0, set(), set()),
    "server-bcache": ("laptop-64g", "NOT QUALIFIED", 1, {"storage.rotational", "storage.transport"}, set()),
    "server-cap-ipc-lock": ("xeon-128g", "PARTIAL", 0, set(), set()),
    "server-lvm-mixed-disks": ("laptop-64g", "NOT QUALIFIED", 1, {"storage.rotational", "storage.transport"}, set()),
    "server-memlock-service": ("xeon-128g", "NOT QUALIFIED", 1, {"memory.memlock"}, set()),
    "server-nvme-multipath": ("laptop-64g", "PARTIAL", 0, set(), set()),
    "server-raid-controller": ("laptop-64g", "UNDECIDED", 10, set(), {"storage.rotational", "storage.transport"}),
    "server-sandy-bridge": ("xeon-128g", "NOT QUALIFIED", 1, {"cpu.instruction_set"}, set()),
    "server-zfs": ("laptop-64g", "UNDECIDED", 10, set(), {"storage.rotational", "storage.transport"}),
    "vm-hyperv-slow-disk": ("laptop-32g", "NOT QUALIFIED", 1, {"storage.rotational", "storage.transport"}, set()),
    "vm-kvm-empty-disk": ("laptop-32g", "UNDECIDED", 10, set(), {"storage.rotational", "storage.transport"}),
    "vm-virtiofs-aarch64": (
        "laptop-32g", "NOT QUALIFIED", 1, {"storage.filesystem", "storage.network", "storage.transport"}, set(),
    ),
    "vm-vmware": ("laptop-32g", "PARTIAL", 0, set(), set()),
    "workstation-mapper-name": ("laptop-64g", "PARTIAL", 0, set(), set()),
    "wsl2-vhdx": ("laptop-32g", "PARTIAL", 0, set(), set()),
    "client-nvme-tcp": ("laptop-64g", "NOT QUALIFIED", 1, {"storage.transport"}, set()),
    "cluster-slurm-job": ("laptop-64g", "NOT QUALIFIED", 1, {"memory.available", "memory.limit"}, set()),
    "cluster-wekafs": (
        "laptop-64g", "NOT QUALIFIED", 1, {"storage.filesystem", "storage.network", "storage.transport"}, set(),
    ),
    "container-in-container": ("laptop-64g", "PARTIAL", 0, set(), set()),
    "container-podman-rootless": ("xeon-128g", "NOT QUALIFIED", 1, {"memory.memlock"}, set()),
    "desktop-btrfs-dev-root": ("laptop-64g", "PARTIAL", 0, set(), set()),
    "edge-composefs-image": ("laptop-64g", "PARTIAL", 0, set(), set()),
    "server-dm-cache": ("laptop-64g", "NOT QUALIFIED", 1, {"storage.rotational", "storage.transport"}, set()),
    "server-huge-page-pool": ("laptop-64g", "NOT QUALIFIED", 1, {"memory.available"}, set()),
    "server-md-write-mostly": ("laptop-64g", "PARTIAL", 0, set(), set()),
    "server-trimode-nvme": ("laptop-64g", "PARTIAL", 0, set(), set()),
    "server-zfs-cache-full": ("laptop-64g", "PARTIAL", 0, set(), set()),
    "vm-balloon": ("laptop-32g", "NOT QUALIFIED", 1, {"memory.available"}, set()),
    "vm-bhyve-nvme": ("laptop-32g", "PARTIAL", 0, set(), set()),
    "vm-lvm-cached": ("fits-in-ram", "PARTIAL", 0, set(), set()),
    "vm-raid5-degraded": ("fits-in-ram", "PARTIAL", 0, set(), set()),
    "vm-read-limit": ("fits-in-ram", "PARTIAL", 0, set(), set()),
    "workstation-bcachefs-tiers": (
        "laptop-64g", "NOT QUALIFIED", 1, {"storage.filesystem", "storage.rotational", "storage.transport"}, set(),
    ),
}  # fmt: skip
# machine: gate, what its cause says, what its remedy says
SAID = {
    "client-nvme-tcp": ("storage.transport", "attached by nvme-fabrics", "find an NVMe drive of this machine"),
    "cluster-slurm-job": ("memory.limit", "job_4217/step_0 limits memory", "sbatch --mem=49152M"),
    "cluster-wekafs": ("storage.network", "each read leaves this machine", "rsync"),
    "container-podman-rootless": (
        "memory.memlock",
        "in the first user namespace only",
        "LimitMEMLOCK=infinity in user@",
    ),
    "server-dm-cache": ("storage.rotational", "only what lies, or is cached, on nvme1n1 is on flash", "lsblk"),
    "server-huge-page-pool": ("memory.available", "huge pages hold 40.0 GiB", "nr_hugepages"),
    "server-zfs": ("storage.transport", "zfs names no block device", "zpool status -LP zfspool"),
    "vm-balloon": ("memory.available", "the hypervisor has taken 12.0 GiB back", "reserve all guest memory"),
    "vm-kvm-empty-disk": ("storage.rotational", "which is no evidence there", "virtio-blk cannot tell it"),
    "workstation-bcachefs-tiers": ("storage.rotational", "sda below /srv/models spins", "lsblk"),
}
ELEMENTS = {"FAIL": "failure", "error": "error", "inconclusive": "error", "n/a": "skipped", "waived": "skipped"}


def test_every_captured_machine_is_expected_to_be_something():
    """A machine without an expectation would be a fixture that tests nothing."""
    assert {folder.name for folder in MACHINES.iterdir()} == set(EXPECTED)


@pytest.mark.parametrize("machine", EXPECTED)
def test_a_captured_machine_gets_its_verdict(machine, tmp_path):
    """Exit code, screen and JUnit say the same, and each word stands in the JUnit element that it should."""
    tier, word, exit_code, failing, undecided = EXPECTED[machine]
    run = qualify(tmp_path, "--sysroot", MACHINES / machine)
    assert run.with_status("FAIL") == failing, run.screen
    assert run.with_status("error") | run.with_status("inconclusive") == undecided, run.screen
    assert (run.exit_code, run.suite["verdict"], run.suite["tier"]) == (exit_code, word, tier)
    assert run.closing.startswith(f"{word}: ")
    assert {name: case.element for name, case in run.cases.items()} == {
        name: ELEMENTS.get(case.status, "") for name, case in run.cases.items()
    }
    for gate in failing:
        assert f"thresholds/{tier}.toml [{gate}]" in run.cases[gate].text
    gate, cause, fix = SAID.get(machine, ("", "", ""))
    assert not gate or (cause in run.cases[gate].text and fix in run.cases[gate].text), run.cases[gate].text
    facts = json.loads((tmp_path / "report" / "facts.json").read_text(encoding="utf-8"))
    assert facts["run"]["verdict"] == word
    assert set(facts["outcomes"]) == set(run.cases)


def test_two_runs_of_one_machine_say_the_same(tmp_path):
    """Nothing but the dates differs between two runs."""
    first, second = (qualify(tmp_path / name, "--sysroot", MACHINES / "laptop-nvme") for name in ("a", "b"))
    assert first.cases == second.cases
    assert {**first.suite, "date": ""} == {**second.suite, "date": ""}


def test_without_root_of_the_suite_nothing_is_asked(tmp_path):
    """From a folder without gates the run ends at once, with what to do."""
    import subprocess

    from tests.selftest.face.running import command, environment

    done = subprocess.run(
        command(), cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, check=False
    )
    assert done.returncode == 4
    assert "tests/gates" in done.stderr


def test_no_report_is_written_unless_asked(tmp_path):
    """Without --report a run leaves no file."""
    run = qualify(tmp_path, "--sysroot", MACHINES / "laptop-nvme", report=False)
    assert run.exit_code == 0
    assert not list(tmp_path.rglob("*.xml"))
    assert not list(ROOT.glob("*.xml"))

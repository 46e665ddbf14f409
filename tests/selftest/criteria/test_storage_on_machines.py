"""Each captured machine, judged as a streaming tier judges it."""

from __future__ import annotations

import pytest

from streamworthy.criteria import storage
from streamworthy.probes.allocation import probe_allocation
from streamworthy.probes.latency import probe_random_read_latency
from streamworthy.probes.volumes import probe_captured_model, probe_volumes
from streamworthy.verdict import Word
from tests.selftest.criteria.asked import limit
from tests.selftest.probes.trees import MACHINES, machine

SOUND = "pass pass pass pass pass pass pass"
WORDS = {  # filesystem, network, rotational, transport, mount_options, free_space, used_share
    "vm-virtio": SOUND,
    "laptop-nvme": SOUND,
    "laptop-luks-lvm": SOUND,
    "server-md-raid": SOUND,
    "container-memory-limit": SOUND,
    "board-aarch64": SOUND,
    "wsl2-drvfs": "FAIL FAIL n/a FAIL pass pass pass",
    "desktop-sata-hdd": "pass pass FAIL FAIL pass pass pass",
    "usb-enclosure": "FAIL pass pass FAIL pass pass pass",
    "board-pi5-sd-card-32bit": "pass pass pass FAIL pass pass advice",
    "board-pi5-usb-nvme": "pass pass pass FAIL pass pass pass",
    "client-nfs4": "FAIL FAIL n/a FAIL pass pass pass",
    "cloud-azure-ephemeral-raid": "pass pass pass advice pass pass pass",
    "cloud-graviton-ebs": SOUND,
    "container-cgroup-v1": SOUND,
    "desktop-dual-boot-ntfs3": "FAIL pass pass pass pass pass pass",
    "desktop-loop-image": SOUND,
    "desktop-path-with-blanks": SOUND,
    "desktop-stacked-mounts": SOUND,
    "docker-model-in-image": "error error error error pass pass pass",
    "kubernetes-parent-limit": SOUND,
    "laptop-narrow-link": SOUND,
    "laptop-worn-drive": SOUND,
    "laptop-asahi": "advice pass pass pass pass pass pass",
    "laptop-btrfs-compressed": "FAIL pass pass pass pass pass pass",
    "laptop-fedora-btrfs-zram": "advice pass pass pass pass pass pass",
    "lxc-lxcfs": SOUND,
    "nas-mergerfs": "FAIL FAIL n/a FAIL pass pass pass",
    "server-arm64-64k-pages": SOUND,
    "server-bcache": "pass pass FAIL FAIL pass pass pass",
    "server-cap-ipc-lock": "pass pass pass FAIL pass pass pass",
    "server-lvm-mixed-disks": "pass pass FAIL FAIL pass pass pass",
    "server-memlock-service": "pass pass pass FAIL pass pass pass",
    "server-nvme-multipath": SOUND,
    "server-raid-controller": "pass pass error FAIL pass pass pass",
    "server-sandy-bridge": "pass pass pass FAIL pass pass pass",
    "server-zfs": "FAIL pass error error pass pass pass",
    "vm-hyperv-slow-disk": "pass pass FAIL FAIL pass pass pass",
    "vm-kvm-empty-disk": "pass pass error error pass pass pass",
    "vm-virtiofs-aarch64": "FAIL FAIL n/a FAIL pass pass pass",
    "vm-vmware": SOUND,
    "workstation-mapper-name": SOUND,
    "wsl2-vhdx": SOUND,
    "client-nvme-tcp": "pass pass pass FAIL pass pass pass",
    "cluster-slurm-job": SOUND,
    "cluster-wekafs": "FAIL FAIL n/a FAIL pass pass pass",
    "container-in-container": SOUND,
    "container-podman-rootless": "pass pass pass FAIL pass pass pass",
    "desktop-btrfs-dev-root": "advice pass pass pass pass pass pass",
    "edge-composefs-image": "pass pass pass pass pass n/a n/a",
    "server-dm-cache": "pass pass FAIL FAIL pass pass pass",
    "server-huge-page-pool": SOUND,
    "server-md-write-mostly": SOUND,
    "server-trimode-nvme": "pass pass pass FAIL pass pass pass",
    "server-zfs-cache-full": SOUND,
    "vm-balloon": SOUND,
    "vm-bhyve-nvme": SOUND,
    "vm-lvm-cached": SOUND,
    "vm-raid5-degraded": SOUND,
    "vm-read-limit": SOUND,
    "workstation-bcachefs-tiers": "FAIL pass FAIL FAIL pass pass pass",
}


@pytest.mark.parametrize("name", sorted(path.name for path in MACHINES.iterdir()))
def test_a_captured_machine_gets_its_words(name):
    """Every gate of storage; a machine that is shipped has its words here."""
    root = machine(name)
    placements, folder, total = probe_captured_model(root)
    facts = probe_volumes(root, placements, folder=folder, set_total_bytes=total)
    latency = probe_random_read_latency(root, facts)
    found = [
        storage.filesystem(facts, limit("storage.filesystem", accept=("ext4", "xfs"), advise=("btrfs",))),
        storage.network(facts, limit("storage.network")),
        storage.rotational(facts, latency, limit("storage.rotational", random_read_at_most=0.002)),
        storage.transport(
            facts, latency, limit("storage.transport", accept=("nvme", "virtual"), random_read_at_most=0.002)
        ),
        storage.mount_options(facts, limit("storage.mount_options", prefer=("noatime", "relatime"))),
        storage.free_space(facts, probe_allocation(root, facts), limit("storage.free_space", at_least=1.2)),
        storage.used_share(facts, limit("storage.used_share", at_most=0.9, advised_at_most=0.8)),
    ]
    assert [verdict.word for verdict in found] == [Word(word) for word in WORDS[name].split()]
    assert all(verdict.cause and verdict.fix for verdict in found if verdict.word is Word.FAIL)

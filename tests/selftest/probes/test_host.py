"""Which machine this is, and of which class."""

from __future__ import annotations

import pytest

from streamworthy.facts.host import HostFacts
from streamworthy.probes.cpu import probe_cpu
from streamworthy.probes.host import is_wsl, probe_host
from tests.selftest.probes.folder import captured, changed

DMI = "sys/class/dmi/id"


def host_of(root):
    """Probe a machine's identity with its processor."""
    return probe_host(root, cpu=probe_cpu(root), memory_total_bytes=1)


def test_the_whole_record_of_a_captured_laptop():
    """Everything that a report's head says."""
    assert host_of(captured("laptop-nvme")) == HostFacts(
        name="thinkpad",
        machine_class="laptop",
        product="LENOVO 21HMCTO1WW",
        cpu_model="13th Gen Intel(R) Core(TM) i7-1360P",
        memory_total_bytes=1,
        kernel_release="6.8.0-45-generic",
        system="Linux",
    )


@pytest.mark.parametrize(
    ("name", "machine_class"),
    [
        ("vm-virtio", "virtual machine"),
        ("laptop-luks-lvm", "laptop"),
        ("wsl2-drvfs", "WSL"),
        ("desktop-sata-hdd", "desktop"),
        ("server-md-raid", "server"),
        ("container-memory-limit", "container"),
        ("board-aarch64", "board"),
    ],
)
def test_each_captured_machine_is_of_its_class(name, machine_class):
    """Class comes from kernel name, groups, hypervisor flag, chassis and device tree, in this order."""
    assert host_of(captured(name)).machine_class == machine_class


@pytest.mark.parametrize(
    ("files", "machine_class"),
    [
        ({f"{DMI}/chassis_type": "9\n"}, "laptop"),
        ({f"{DMI}/chassis_type": "17\n"}, "server"),
        ({f"{DMI}/chassis_type": "35\n"}, "desktop"),
        ({f"{DMI}/chassis_type": "2\n"}, "unknown"),
        ({f"{DMI}/chassis_type": "Other\n"}, "unknown"),
        ({f"{DMI}/chassis_type": None}, "unknown"),
        ({f"{DMI}/sys_vendor": "QEMU\n"}, "virtual machine"),
        ({f"{DMI}/product_name": "VMware Virtual Platform\n"}, "virtual machine"),
        ({"run/systemd/container": "lxc\n"}, "container"),
        ({"proc/self/cgroup": "4:memory:/docker/8c1f\n"}, "container"),
    ],
)
def test_one_changed_mark_changes_the_class(tmp_path, files, machine_class):
    """A laptop with one file changed is what that file says."""
    assert host_of(changed(tmp_path, "laptop-nvme", files)).machine_class == machine_class


@pytest.mark.parametrize(
    ("root_mount", "machine_class"),
    [
        ("9 1 259:2 / / rw - ext4 /dev/nvme0n1p2 rw\n", "laptop"),
        ("9 1 0:50 / / rw - overlay overlay rw,upperdir=/u\n", "container"),
        ("9 1 259:2 /var/lib/c1/rootfs / rw - ext4 /dev/nvme0n1p2 rw\n", "container"),
    ],
)
def test_the_mark_of_an_image_needs_a_container_root(tmp_path, root_mount, machine_class):
    """A VM's disk made from an image keeps the image's mark; its root is a whole filesystem."""
    files = {".dockerenv": "", "proc/self/mountinfo": root_mount}
    assert host_of(changed(tmp_path, "laptop-nvme", files)).machine_class == machine_class


def test_a_capture_without_a_name_is_named_after_its_folder(tmp_path):
    """Something has to stand in the report."""
    root = changed(tmp_path, "laptop-nvme", {"machine.toml": '[uname]\nmachine = "x86_64"\n'})
    assert host_of(root).name == "laptop-nvme"


def test_microsofts_kernels_are_known_by_name():
    """Both spellings of the past have the word in them."""
    assert is_wsl(captured("wsl2-drvfs"))
    assert not is_wsl(captured("laptop-nvme"))

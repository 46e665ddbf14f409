"""Names are replaced wherever they stand, the same one by the same stand-in, and nothing else is."""

from __future__ import annotations

import pytest

from streamworthy.capture.scrubber import Scrubber
from streamworthy.probes.mountinfo import parse_mountinfo

UUID = "3c1f7b52-9d0e-4b68-8f21-7a6e5d4c3b2a"
HEX = "8c1f5b0e6ad24b7b9f3d2e1c0a9b8d7c6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a1b"


@pytest.fixture
def scrubber():
    """Give a scrubber that knows one host and one user."""
    return Scrubber(hosts=("ada-laptop",), users=("ada",), kept=("memory", "ext4"))


@pytest.mark.parametrize(
    ("path", "scrubbed"),
    [
        ("/home/ada/models/glm", "/home/user1/models/glm"),
        ("/home/bob/models/glm", "/home/user2/models/glm"),
        ("/root/models", "/root/models"),
        ("/mnt/nvme/models", "/mnt/nvme/models"),
        ("/media/ada/My Passport/glm", "/media/user1/volume1/glm"),
        ("/run/media/ada/BACKUP/glm", "/run/media/user1/volume1/glm"),
        ("/dev/mapper/ada--laptop--vg-root", "/dev/mapper/host1--vg-root"),
        ("/dev/mapper/fedora_ada-laptop-home", "/dev/mapper/fedora_host1-home"),
        (f"/dev/mapper/luks-{UUID}", "/dev/mapper/luks-00000000-0000-4000-8000-000000000001"),
        ("/dev/disk/by-id/nvme-Samsung_SSD_990_PRO_2TB_S6Z2NJ0W123456", "/dev/disk/by-id/disk1"),
        ("/dev/disk/by-label/Adas-Disk", "/dev/disk/by-label/label1"),
        ("rpool/USERDATA/ada_x7k2p1", "rpool/USERDATA/user1_x7k2p1"),
        (f"/docker/{HEX}", f"/docker/{'1'.rjust(64, '0')}"),
        (f"pod{UUID.replace('-', '_')}.slice", "pod00000000_0000_4000_8000_000000000001.slice"),
        ("/data/adam/canada", "/data/adam/canada"),
        ("/lxc.payload.ada-laptop/init.scope", "/lxc.payload.host1/init.scope"),
    ],
)
def test_a_path_keeps_its_shape(scrubber, path, scrubbed):
    """Homes, labels and udev's names are known by their place; hosts and users stand alone in a name."""
    assert scrubber.path(path) == scrubbed


def test_the_same_name_gets_the_same_stand_in(scrubber):
    """In a path, a mount and an identifier; case of a UUID does not matter."""
    first = scrubber.path(f"/sys/fs/btrfs/{UUID}/devices")
    assert first == scrubber.path(f"/sys/fs/btrfs/{UUID.upper()}/devices")
    assert first != scrubber.path(f"/sys/fs/btrfs/{UUID[:-1]}b/devices")


@pytest.mark.parametrize(
    ("line", "scrubbed"),
    [
        (
            r"62 1 8:1 / /media/ada/My\040Passport rw - ext4 /dev/sda1 rw",
            "62 1 8:1 / /media/user1/volume1 rw - ext4 /dev/sda1 rw",
        ),
        (
            "90 29 0:54 / /models rw - nfs4 10.0.0.5:/home/ada/m rw,vers=4.2,clientaddr=10.0.0.9,addr=10.0.0.5",
            "90 29 0:54 / /models rw - nfs4 192.0.2.1:/home/user1/m rw,vers=4.2,clientaddr=192.0.2.2,addr=192.0.2.1",
        ),
        (
            "90 29 0:54 / /m rw - nfs4 [fd00::5]:/x rw,addr=fd00::5",
            "90 29 0:54 / /m rw - nfs4 [2001:db8::1]:/x rw,addr=2001:db8::1",
        ),
        (
            "90 29 0:54 / /m rw - cifs //nas.example.org/share rw,username=bob,domain=CORP,addr=10.0.0.5",
            "90 29 0:54 / /m rw - cifs //server1/share rw,username=user2,domain=server2,addr=192.0.2.1",
        ),
        (
            "90 29 0:54 / /m rw - fuse.sshfs bob@nas:/home/bob rw,user_id=1000,group_id=1000",
            "90 29 0:54 / /m rw - fuse.sshfs user2@server1:/home/user2 rw,user_id=1000,group_id=1000",
        ),
        (
            "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory",
            "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory",
        ),
        (
            "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd",
            "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd",
        ),
        (
            r"75 62 0:52 / /mnt/c rw - 9p C:\134 rw,aname=drvfs;path=C:\134Users\134bob;uid=1000",
            r"75 62 0:52 / /mnt/c rw - 9p C:\134 rw,aname=drvfs;path=C:\134Users\134user2;uid=1000",
        ),
        (
            "80 29 0:61 / /pool rw - fuse.mergerfs /mnt/disk1:/home/ada/disk2 rw,allow_other",
            "80 29 0:61 / /pool rw - fuse.mergerfs /mnt/disk1:/home/user1/disk2 rw,allow_other",
        ),
    ],
)
def test_a_mount_keeps_its_shape(scrubber, line, scrubbed):
    """Servers, shares, users and labels are replaced; the line is still one that the parser reads."""
    found = scrubber.kernel_file("proc/self/mountinfo", line + "\n")
    assert found == scrubbed + "\n"
    assert len(parse_mountinfo(found)) == 1


@pytest.mark.parametrize(
    ("place", "text", "scrubbed"),
    [
        ("sys/devices/x/serial", "S6Z2NJ0W123456\n", "scrubbed\n"),
        ("sys/devices/x/wwid", "eui.0025385b71b0f5c2\n", "scrubbed\n"),
        ("sys/class/net/x/odd", "3c:7c:3f:1a:2b:3c\n", "02:00:00:00:00:01\n"),
        ("proc/cpuinfo", "Serial\t\t: 10000000a1b2c3d4\nModel\t: Pi\n", "Serial\t\t: 0000000000000000\nModel\t: Pi\n"),
        ("proc/self/cgroup", f"4:memory:/docker/{HEX}\n0::/\n", f"4:memory:/docker/{'1'.rjust(64, '0')}\n0::/\n"),
        (
            "proc/swaps",
            "Filename\tType\n/home/ada/swap\\040file file 1 0 -2\n",
            "Filename\tType\n/home/user1/swap\\040file file 1 0 -2\n",
        ),
        ("sys/devices/virtual/block/loop0/loop/backing_file", "/home/ada/m.img\n", "/home/user1/m.img\n"),
        ("sys/devices/virtual/block/dm-0/dm/name", "ada--laptop--vg-root\n", "host1--vg-root\n"),
        ("proc/sys/kernel/hostname", "ada-laptop\n", "host1\n"),
        ("proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n", "5.15.167.4-microsoft-standard-WSL2\n"),
        ("proc/self/status", "CapEff:\t000001ffffffffff\n", "CapEff:\t000001ffffffffff\n"),
        ("sys/devices/pci0000:00/0000:00:1d.0/model", "Samsung SSD 990 PRO 2TB\n", "Samsung SSD 990 PRO 2TB\n"),
    ],
)
def test_a_kernel_file_is_scrubbed_as_its_format_asks(scrubber, place, text, scrubbed):
    """Serial numbers go whatever they are; versions, masks and models stay."""
    assert scrubber.kernel_file(place, text) == scrubbed


def test_a_host_named_like_a_kernel_word_is_kept():
    """Replacing it would break the file; such a name tells nothing."""
    scrubber = Scrubber(hosts=("memory",), users=("ext4",), kept=("memory", "ext4"))
    line = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    assert scrubber.kernel_file("proc/self/mountinfo", line) == line


def test_answers_are_scrubbed_in_depth(scrubber):
    """Whole paths as paths, sentences word by word, numbers not at all."""
    scrubber.path("/media/ada/My Passport/x")
    answers = {
        "model": {"path": "/media/ada/My Passport/glm", "total_bytes": 7},
        "latency": [{"reason": "/media/ada/My Passport/a.gguf: only 3 random reads; see /home/ada/log"}],
    }
    assert scrubber.answer(answers) == {
        "model": {"path": "/media/user1/volume1/glm", "total_bytes": 7},
        "latency": [{"reason": "/media/user1/volume1/a.gguf: only 3 random reads; see /home/user1/log"}],
    }


def test_homes_are_learned_before_anything_is_scrubbed():
    """A bind mount of a home shows the user's name without /home before it."""
    scrubber = Scrubber(hosts=(), users=(), kept=())
    scrubber.learn_homes(["/home/grace/models", "/@home/linus"])
    assert scrubber.path("/grace/models") == "/user1/models"
    assert scrubber.path("/linus") == "/user2"


def test_what_was_replaced_is_counted(scrubber):
    """The user is told what to look for."""
    scrubber.path(f"/home/bob/{UUID}")
    scrubber.kernel_file("proc/self/mountinfo", "1 1 0:5 / /m rw - nfs 10.0.0.1:/x rw,addr=10.0.0.2\n")
    assert scrubber.counts() == {"host": 1, "user": 2, "uuid": 1, "server": 2}

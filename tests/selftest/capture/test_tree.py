"""A recorded machine becomes a folder: texts, links that stay inside it, and nothing that is too large."""

from __future__ import annotations

from streamworthy.capture import tree as written_tree
from streamworthy.capture.recorder import RecordingSysroot
from streamworthy.capture.scrubber import Scrubber
from tests.selftest.probes.trees import tree

UUID = "3c1f7b52-9d0e-4b68-8f21-7a6e5d4c3b2a"


def recorded(folder):
    """Make an empty recording."""
    return RecordingSysroot(tree(folder / "source").root)


def write(root, folder):
    """Write a recording and tell what came of it."""
    return written_tree.write_tree(folder, root, Scrubber(hosts=(), users=(), kept=()))


def test_links_are_relative_and_lead_to_scrubbed_places(tmp_path):
    """A Hyper-V disk's path holds a GUID, in the link and in the folder."""
    root = recorded(tmp_path)
    root.texts = {f"sys/devices/VMBUS:00/{UUID}/sda/dev": "8:0\n"}
    root.links = {"sys/class/block/sda": f"sys/devices/VMBUS:00/{UUID}/sda"}
    folder = tmp_path / "target"
    assert write(root, folder).link_count == 1
    link = folder / "sys/class/block/sda"
    assert str(link.readlink()) == "../../devices/VMBUS:00/00000000-0000-4000-8000-000000000001/sda"
    assert (link / "dev").read_text() == "8:0\n"


def test_a_file_that_is_too_large_is_left_out_and_named(tmp_path):
    """A bug report stays small, and what is missing is not taken for absent."""
    root = recorded(tmp_path)
    root.texts = {"proc/huge": "x" * (2**20 + 1), "proc/most": "x" * 2**20}
    found = write(root, tmp_path / "target")
    assert found.left_out == {"proc/huge": "left out of the capture: 1048577 bytes"}
    assert (found.file_count, found.size_bytes) == (1, 2**20)


def test_the_whole_is_bounded(tmp_path):
    """Many files of a mebibyte end at sixteen."""
    root = recorded(tmp_path)
    root.texts = {f"proc/{number}": "x" * 2**20 for number in range(18)}
    found = write(root, tmp_path / "target")
    assert (len(found.left_out), found.size_bytes) == (2, 16 * 2**20)


def test_folders_that_were_seen_are_made(tmp_path):
    """Being there is an answer."""
    root = recorded(tmp_path)
    root.folders = {"sys/firmware/devicetree/base/hypervisor"}
    write(root, tmp_path / "target")
    assert (tmp_path / "target/sys/firmware/devicetree/base/hypervisor").is_dir()


def test_text_is_readable(tmp_path):
    """Firmware ends its words with a null byte; bytes that are no text are kept as they are."""
    root = recorded(tmp_path)
    root.texts = {"sys/firmware/devicetree/base/model": "Pi 5\0", "proc/odd": "\udcff"}
    write(root, tmp_path / "target")
    assert (tmp_path / "target/sys/firmware/devicetree/base/model").read_bytes() == b"Pi 5\n"
    assert (tmp_path / "target/proc/odd").read_bytes() == b"\xff"

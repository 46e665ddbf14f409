"""What a run knows of the machine before any gate asks."""

from __future__ import annotations

import pytest

from streamworthy.gguf.subject import Subject
from streamworthy.preparation import find_machine
from tests.selftest.gguf import tiny
from tests.selftest.probes.folder import captured, changed


@pytest.mark.parametrize(
    ("mount", "far"),
    [
        ("", ""),
        ("96 29 0:70 / /home/ada/images rw - nfs4 10.0.0.5:/images rw,vers=4.2\n", "nfs4 at /home/ada/images"),
        ("96 29 0:70 / /models/glm rw - fuse mountpoint-s3 rw,user_id=0\n", ""),
        ("96 95 0:70 / /models/glm rw - fuse mountpoint-s3 rw,user_id=0\n", "fuse at /models/glm"),
    ],
)
def test_shards_are_far_where_any_mount_on_the_way_down_is(tmp_path, mount, far):
    """A loop device's file on a network is read over it; a mount that is covered holds no shard."""
    text = captured("desktop-loop-image").read_text("proc/self/mountinfo") + mount
    root = changed(tmp_path, "desktop-loop-image", {"proc/self/mountinfo": text})
    (tmp_path / "m.gguf").write_bytes(tiny.gpt_oss())
    subject = Subject(tmp_path / "m.gguf")
    find_machine(root, subject)
    assert subject.far() == far

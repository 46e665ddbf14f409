"""The door to kernel files: what is absent, what is refused, and links that stay inside."""

from __future__ import annotations

import pytest

from streamworthy.errors import ProbeError, UsageError
from streamworthy.probes.sysroot import Sysroot
from tests.selftest.probes.trees import tree

REFUSED = '[[unreadable]]\npath = "proc/swaps"\nreason = "Permission denied"\n'


def test_what_the_machine_refused_is_refused_by_its_capture(tmp_path):
    """Reading, reading if there and listing all fail, for what cannot be read is not absent."""
    root = tree(tmp_path, answers=REFUSED)
    assert root.refusals == {"proc/swaps": "Permission denied"}
    for ask in (root.read_text, root.read_optional, root.names):
        with pytest.raises(ProbeError, match=r"^/proc/swaps: cannot be read: Permission denied"):
            ask("proc/swaps")
    assert root.read_optional("proc/meminfo") is None


def test_an_answer_that_nobody_keeps_is_dropped(tmp_path):
    """Only a recording door keeps what probes note."""
    root = tree(tmp_path, answers="")
    root.note("statvfs", {"mount": "/"})
    assert root.answers == {}


def test_a_link_out_of_the_capture_leads_nowhere(tmp_path):
    """Nobody's own files are read for a captured machine's."""
    root = tree(tmp_path / "machine", files={"sys/a": "1"})
    root.path("sys/out").symlink_to(tmp_path)
    assert root.resolve("sys/out") is None
    assert root.resolve("sys/a") == "sys/a"


def test_a_folder_without_its_description_is_a_mistake(tmp_path):
    """Any folder may be named by accident."""
    with pytest.raises(UsageError, match=r"machine\.toml: not found"):
        Sysroot(tmp_path)


def test_a_file_that_is_kept_tells_each_moment_s_text(tmp_path):
    """A long one whole; one that is absent or was refused tells nothing, and so does one that was closed."""
    answers = '[[unreadable]]\npath = "proc/secret"\nreason = "Permission denied"\n'
    root = tree(tmp_path, files={"proc/long": "a" * 200_000, "proc/secret": "b"}, answers=answers)
    kept = root.keep("proc/long")
    assert kept.read() == "a" * 200_000
    (tmp_path / "proc/long").write_text("short")
    assert kept.read() == "short"
    kept.close()
    kept.close()
    assert [file.read() for file in (kept, root.keep("proc/secret"), root.keep("proc/none"))] == [None] * 3

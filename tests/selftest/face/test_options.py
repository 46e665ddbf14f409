"""What is asked of a run, and what is refused."""

from __future__ import annotations

import os

import pytest

from tests.selftest.face.running import MACHINES, qualify

LAPTOP = MACHINES / "laptop-nvme"
WAIVED = """
[[waiver]]
gate = "storage.transport"
machine = "latitude"
reason = "the enclosure is replaced in March"
owner = "ada"
expires = {expires}

[[waiver]]
gate = "storage.filesystem"
tier = "laptop-16g"
reason = "reformatted with the enclosure"
owner = "ada"
expires = 2999-01-01
"""


@pytest.mark.parametrize(
    "option",
    [
        ("--benchmark-skip",),
        ("--benchmark-only",),
        ("-p", "no:benchmark"),
    ],
)
def test_what_would_hide_a_measurement_is_refused(option, tmp_path):
    """Options under which a performance gate would vanish are a usage error with one line."""
    run = qualify(tmp_path, "--sysroot", LAPTOP, *option)
    assert run.exit_code == 4
    assert "not possible in a qualification" in run.screen
    assert "Traceback" not in run.screen


def test_a_subset_is_partial(tmp_path):
    """-k asks a part of the gates: what passes is PARTIAL, and the suite says how much was asked."""
    run = qualify(tmp_path, "--sysroot", LAPTOP, "-k", "memory")
    assert (run.exit_code, run.suite["verdict"]) == (0, "PARTIAL")
    assert all(name.startswith("memory.") for name in run.cases)
    assert f"{len(run.cases)} of" in run.suite["scope"]


def test_asking_nothing_decides_nothing(tmp_path):
    """A selection that matches no gate is UNDECIDED, not a pass."""
    run = qualify(tmp_path, "--sysroot", LAPTOP, "-k", "no_such_gate")
    assert run.exit_code == 10
    assert run.closing.startswith("UNDECIDED")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--tier", "laptop-23g"), "laptop-32g"),
        (("--tier", "laptop-64g"), "does not apply"),
        (("--tier", "/nowhere/tier.toml"), "/nowhere/tier.toml"),
        (("--waivers", "/nowhere/waivers.toml"), "/nowhere/waivers.toml"),
        (("--model", "/nowhere/model.gguf"), "/nowhere/model.gguf"),
    ],
)
def test_what_cannot_begin_is_one_case_in_the_report(arguments, told, tmp_path):
    """A run that cannot begin writes a whole JUnit with one error that says why, and is UNDECIDED."""
    run = qualify(tmp_path, "--sysroot", LAPTOP, *arguments)
    assert run.exit_code == 10, run.screen
    assert {name: (case.status, case.element) for name, case in run.cases.items()} == {
        "qualification.setup": ("error", "error")
    }
    assert told in run.cases["qualification.setup"].text
    assert run.suite["verdict"] == "UNDECIDED"
    assert "Traceback" not in run.screen


def test_a_sysroot_that_is_no_machine_is_named(tmp_path):
    """A folder without machine.toml is no captured machine."""
    run = qualify(tmp_path, "--sysroot", tmp_path)
    assert run.exit_code == 10
    assert "machine.toml" in run.screen


def test_waivers_waive_what_they_name(tmp_path):
    """A waived failure is skipped with its reason and what was measured; the run no longer fails."""
    (tmp_path / "waivers.toml").write_text(WAIVED.format(expires="2999-12-31"))
    run = qualify(tmp_path, "--sysroot", MACHINES / "usb-enclosure", "--waivers", tmp_path / "waivers.toml")
    assert run.exit_code == 0, run.screen
    assert run.with_status("waived") == {"storage.transport", "storage.filesystem"}
    case = run.cases["storage.transport"]
    assert case.element == "skipped"
    assert "the enclosure is replaced in March" in case.text
    assert "usb" in case.text


def test_an_expired_waiver_does_not_waive(tmp_path):
    """From the day after its expiry a waiver is only mentioned."""
    (tmp_path / "waivers.toml").write_text(WAIVED.format(expires="2020-12-31"))
    run = qualify(tmp_path, "--sysroot", MACHINES / "usb-enclosure", "--waivers", tmp_path / "waivers.toml")
    assert run.exit_code == 1
    assert run.with_status("FAIL") == {"storage.transport"}
    assert "expired on 2020-12-31" in run.screen


def test_anonymous_reports_name_nobody(tmp_path):
    """Host name, user and home folder appear in no file that an anonymous run writes."""
    run = qualify(tmp_path, "--sysroot", LAPTOP, "--anonymous")
    written = "".join(file.read_text(encoding="utf-8") for file in (tmp_path / "report").iterdir())
    assert "thinkpad" not in written
    assert run.suite["host"].startswith("host-")


def test_self_tests_do_not_become_gates(tmp_path):
    """A qualification collects the gates alone, and imports nothing of the self-tests."""
    run = qualify(tmp_path, "--sysroot", LAPTOP)
    assert "selftest" not in run.screen
    assert "deselected" not in run.screen
    assert "warning" not in run.screen


@pytest.mark.parametrize(
    "option", ["--model", "--tier", "--sha256", "--waivers", "--report", "--sysroot", "--scratch", "--sample-size"]
)
def test_an_empty_value_is_refused(option, tmp_path):
    """`--model "$UNSET"` is a usage error: it must not end in a verdict on the sample or on another machine."""
    run = qualify(tmp_path, "--sysroot", LAPTOP, f"{option}=", report=False)
    assert run.exit_code == 4
    assert f"{option}: found an empty text" in run.screen


def test_a_report_folder_that_cannot_be_written_stops_the_run(tmp_path):
    """It is a usage error before anything is judged: exit code 1 would say NOT QUALIFIED."""
    (tmp_path / "file").touch()
    run = qualify(tmp_path, "--sysroot", LAPTOP, "--report", tmp_path / "file" / "report", report=False)
    assert run.exit_code == 4
    assert f"{tmp_path / 'file' / 'report'}: cannot be made: Not a directory" in run.screen
    assert "fix: --report FOLDER" in run.screen
    assert "Traceback" not in run.screen


def test_a_report_that_cannot_be_written_whole_leaves_the_run_undecided(tmp_path):
    """On a full disk the verdict is on the screen, with one line that says what was not written."""
    run = qualify(tmp_path, "--sysroot", LAPTOP, before=("prlimit", "--fsize=2000"))
    assert run.exit_code == 10, run.screen
    assert "what this run writes is not whole: [Errno 27] File too large" in run.screen
    assert "Traceback" not in run.screen
    assert run.closing.startswith("PARTIAL")


def test_an_earlier_report_does_not_outlive_the_run_that_replaces_it(tmp_path):
    """A run that dies without a word must not leave the verdict of the one before."""
    facts = tmp_path / "report" / "facts.json"
    facts.parent.mkdir()
    facts.write_text("of yesterday")
    qualify(tmp_path, "--sysroot", LAPTOP, before=("prlimit", "--fsize=2000"))
    assert not facts.exists()


def test_a_model_behind_a_closed_folder_is_one_case(tmp_path):
    """A path that the kernel refuses to look up is an error with the cause and a command, not a traceback."""
    run = qualify(tmp_path, "--sysroot", LAPTOP, "--model", tmp_path / ("x" * 300))
    assert run.exit_code == 10, run.screen
    assert "cannot be reached: File name too long" in run.cases["qualification.setup"].text
    assert "INTERNALERROR" not in run.screen


def test_a_run_that_cannot_begin_still_names_its_machine(tmp_path):
    """An audit has to know whose report says so."""
    run = qualify(tmp_path, "--sysroot", LAPTOP, "--tier", "laptop-23g")
    assert run.suite["host"] == "thinkpad"
    assert run.suite["kernel"] != "unknown"
    assert "tier no tier" not in run.screen


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_shard_that_cannot_be_read_leaves_the_other_gates_their_say(tmp_path):
    """A shard that this user may not read is its own gates' error; the machine is judged all the same."""
    for name in ("m-00001-of-00002.gguf", "m-00002-of-00002.gguf"):
        (tmp_path / name).write_bytes(bytes(100))
    (tmp_path / "m-00002-of-00002.gguf").chmod(0)
    run = qualify(tmp_path, "--model", tmp_path, "-k", "memory or shards")
    assert run.cases["memory.total"].status == "pass", run.screen
    assert run.cases["shards.headers"].status == "error"
    assert "Traceback" not in run.screen


def test_a_pipe_in_a_shards_place_is_named(tmp_path):
    """What is no regular file ends the run at once: reading it would wait for ever."""
    os.mkfifo(tmp_path / "m-00001-of-00001.gguf")
    run = qualify(tmp_path, "--model", tmp_path)
    assert run.exit_code == 10
    assert "m-00001-of-00001.gguf: found no regular file" in run.screen

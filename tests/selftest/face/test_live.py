"""Runs on the machine the tests run on, with a real engine: what they say of it is not judged, how they say it is."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from streamworthy.criteria.statistical import QUESTIONS
from streamworthy.thresholds import load_tier
from tests.selftest.face.running import ROOT, command, environment, qualify, read_report
from tests.selftest.filesystems.mounts import mounted, need_root

GATES = set(load_tier("sample", ROOT / "thresholds").limits)
TIMED = ("load.", "first_token.", "prefill.", "decode.")
ADVISED = {"decode.efficiency", "decode.stalls"}  # of the sample: what is not known of them is advice
pytestmark = pytest.mark.slow
# Other programs of the machine that runs the tests are not what is tested: episodes run beside them.
QUICK = ("--depth", "quick", "--disturb", "--scratch")


@pytest.fixture(scope="session")
def saved():
    """Give a folder for saved samples below the suite's own, outside of which pytest-benchmark cannot compare."""
    (ROOT / ".benchmarks").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="selftest-", dir=ROOT / ".benchmarks") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def live(scratch, engine, saved, tmp_path_factory):
    """One quick run on the sample, with its samples saved as pytest-benchmark does."""
    folder = tmp_path_factory.mktemp("live")
    storage = f"--benchmark-storage=file://{saved}/ours"
    return folder, qualify(folder, *QUICK, scratch, "--self-check", "--benchmark-save=first", storage, timeout=900)


def test_a_run_on_the_sample_asks_every_gate_and_never_qualifies(live):
    """All gates of the tier are in the report, none of them in error, and the closing word is not QUALIFIED."""
    _, run = live
    assert set(run.cases) == GATES, run.screen
    assert not run.with_status("error"), run.screen
    assert run.suite["verdict"] in ("PARTIAL", "NOT QUALIFIED", "UNDECIDED")
    assert run.exit_code == {"PARTIAL": 0, "NOT QUALIFIED": 1, "UNDECIDED": 10}[run.suite["verdict"]]
    assert run.suite["engine"].startswith("llama-cpp-python ")


def test_gates_without_a_clock_pass_on_any_healthy_machine(live):
    """What the suite makes itself is sound: names, headers, extents, hashes, answer."""
    _, run = live
    sound = {"shards.names", "shards.complete", "shards.headers", "integrity.extents", "integrity.hashes"}
    assert {run.cases[name].status for name in sound} == {"pass"}, run.screen


def test_each_speed_carries_its_samples_and_its_state(live):
    """A timed gate that was measured has five samples or more, and says what the cache held and the device read."""
    _, run = live
    measured = [
        case
        for name, case in run.cases.items()
        if name.startswith(TIMED) and name != "load.mapped_share" and "samples" in case.properties
    ]
    assert measured, run.screen
    for case in measured:
        assert len(case.properties["samples"].split()) >= 5
        assert case.properties["evidence"]


def test_each_episode_keeps_what_machine_and_engine_did_in_each_phase(live):
    """In facts.json, so that a cause can be looked for later: counters of the seconds of the phase, or a few more."""
    folder, _ = live
    facts = json.loads((folder / "report" / "facts.json").read_text(encoding="utf-8"))
    phases = [phase for episode in facts["performance"]["episodes"] for phase in episode["phases"]]
    assert len(phases) >= 5
    assert all(phase["counters"]["seconds"] >= phase["seconds"] for phase in phases)
    assert all(phase["counters"]["ticks_count"] >= 2 for phase in phases)


def test_the_rule_is_told_before_the_episodes_and_tried_after_them(live):
    """How the word comes about and how often it is false; gates with samples are replayed by --self-check."""
    _, run = live
    rule = "decided by 5/5, 8/9, 13/15 episodes; chance of a false FAIL, and of a false pass: at most 4.19 % per gate"
    assert run.screen.index(rule) < run.screen.index(" episode 1 of at most 15 (")
    assert set(re.findall(r"^self-check (\S+): 1000 replays", run.screen, re.MULTILINE)) == {
        name for name in QUESTIONS if "samples" in run.cases[name].properties
    }


def test_each_disk_and_memory_measurement_is_saved(live, saved):
    """Rounds of the disk and passes over memory stand beside the episodes, with the state they were taken in."""
    ours = next((saved / "ours").rglob("*_first.json"))
    entries = {entry["name"]: entry for entry in json.loads(ours.read_text(encoding="utf-8"))["benchmarks"]}
    assert {"test_sequential_read", "test_random_read", "test_slab_read", "test_read"} <= set(entries), live[1].screen
    for name in ("test_sequential_read", "test_slab_read", "test_read"):
        stats, rates = entries[name]["stats"], entries[name]["extra_info"]["bytes_per_second"]
        assert (stats["rounds"], stats["min"]) == (len(rates), pytest.approx(2**30 / max(rates)))


def test_without_records_no_speed_is_decided(scratch, engine, tmp_path):
    """--benchmark-disable leaves every speed open, and nothing is measured for one."""
    run = qualify(tmp_path, *QUICK, scratch, "--benchmark-disable", "-k", "bandwidth or disk or first_token or decode")
    timed = {name for name in run.cases if name.startswith(("disk.", "bandwidth.", "first_token.", "decode."))}
    timed -= {"decode.answer"}
    assert len(timed) > 10, run.screen
    assert run.with_status("inconclusive") == timed, run.screen
    assert (run.exit_code, run.suite["verdict"]) == (10, "UNDECIDED")


def test_saved_samples_can_be_compared(live, scratch, saved):
    """--benchmark-compare finds what --benchmark-save stored, by gate."""
    folder, run = live
    assert "samples" in run.cases["load.mmap"].properties
    again = qualify(
        folder / "again", *QUICK, scratch, "-k", "test_load and mmap",
        f"--benchmark-storage=file://{saved}/ours", "--benchmark-compare", timeout=600,
    )  # fmt: skip
    assert "Comparing against benchmarks from" in again.screen, again.screen
    assert "(0001_first)" in again.screen  # a row of the table


def test_samples_of_another_build_are_not_compared(live, scratch, saved):
    """Samples that were saved with a portable engine are left out, and the run says so."""
    folder, _ = live
    ours = next((saved / "ours").rglob("*_first.json"))
    other = saved / "other" / ours.relative_to(saved / "ours")
    other.parent.mkdir(parents=True)
    text = ours.read_text(encoding="utf-8")
    engine = json.loads(text)["machine_info"]["engine"]
    other.write_text(text.replace(engine, "llama-cpp-python 0.3.36, other"), encoding="utf-8")
    run = qualify(
        folder / "third", *QUICK, scratch, "-k", "test_load and mmap",
        f"--benchmark-storage=file://{saved}/other", "--benchmark-compare", timeout=600,
    )  # fmt: skip
    assert "Nothing is compared: saved with llama-cpp-python 0.3.36, other" in run.screen
    assert "(0001_first)" not in run.screen


def test_the_second_run_makes_nothing(live, scratch):
    """The sample is found as it was made: no file of it is written again."""
    before = {file: file.stat().st_mtime_ns for file in scratch.rglob("*.gguf")}
    run = qualify(live[0] / "second", *QUICK, scratch, "-k", "shards")
    assert {file: file.stat().st_mtime_ns for file in scratch.rglob("*.gguf")} == before
    assert run.suite["verdict"] == "PARTIAL"


def test_nothing_is_left_behind(live, scratch):
    """After a run the scratch folder holds the sample and no process has our files open."""
    assert {file.name for file in scratch.iterdir()} == {"sample"}
    assert not _children_with(str(scratch))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_whole(number, scratch, engine, tmp_path):
    """After Ctrl-C, a cancelled job or a hang-up the exit code is 2, the JUnit whole, and nothing is left behind."""
    report = tmp_path / "report"
    process = subprocess.Popen(
        command(*QUICK, scratch, "--report", report),
        cwd=ROOT, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True, preexec_fn=_heed_signals,  # noqa: PLW1509 - no threads yet
    )  # fmt: skip
    screen = ""
    while "gates/performance" not in screen and (line := process.stdout.read(1)):
        screen += line
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not psutil.Process(process.pid).children():
        time.sleep(0.05)
    time.sleep(0.3)  # into the load
    os.killpg(process.pid, number)  # as a terminal does: the engine's child gets it too
    rest, _ = process.communicate(timeout=60)
    assert process.returncode == 2, screen + rest
    assert "Traceback" not in rest
    suite, cases = read_report(report / "junit.xml")
    assert suite["verdict"] == "UNDECIDED"
    assert cases["memory.total"].status == "pass"
    assert not _children_with(str(scratch))
    assert {file.name for file in scratch.iterdir()} == {"sample"}


def test_without_an_engine_the_other_gates_still_decide(scratch, tmp_path, monkeypatch):
    """Where the engine cannot be imported every timed gate is an error with the install line; the others are asked."""
    broken = tmp_path / "broken" / "llama_cpp"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('libllama.so: cannot open shared object file')\n")
    from tests.selftest.face import running

    kept = running.environment
    monkeypatch.setattr(running, "environment", lambda home: kept(home) | {"PYTHONPATH": str(broken.parent)})
    run = qualify(tmp_path, *QUICK, scratch)
    assert run.exit_code == 10, run.screen
    timed = {name for name in run.cases if name.startswith(TIMED) and run.cases[name].status != "n/a"} - ADVISED
    assert run.with_status("error") == timed
    for name in timed:
        assert "pip install" in run.cases[name].text
    assert "Traceback" not in run.screen


@pytest.mark.root
def test_a_scratch_folder_that_is_full_is_named(tmp_path):
    """Where the sample cannot be written the run says which folder, and how much is needed."""
    need_root()
    with mounted(tmp_path / "full", "mount", "-t", "tmpfs", "-o", "size=50m", "tmpfs"):
        run = qualify(tmp_path, "--scratch", tmp_path / "full")
    assert run.exit_code == 10
    assert re.search(r"full.*free|free.*full", run.screen, re.DOTALL), run.screen


def test_a_scratch_folder_that_is_forbidden_is_named(tmp_path):
    """Where the sample cannot be written the run says which folder, and what to do."""
    (tmp_path / "file").write_text("")
    run = qualify(tmp_path, "--scratch", tmp_path / "file")
    assert run.exit_code == 10
    assert f"{tmp_path}/file" in run.screen
    assert "Traceback" not in run.screen


def _heed_signals():
    """Undo what a background job or nohup passes on: signals that are ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _children_with(text):
    others = (process for process in psutil.process_iter(["cmdline"]) if process.pid != os.getpid())
    return [process for process in others if any(text in part for part in process.info["cmdline"] or ())]

"""A screen that goes away, and reports that are asked for in other ways or at the same time."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess

import pytest

from tests.selftest.face.running import MACHINES, ROOT, command, environment, qualify, read_report

LAPTOP = MACHINES / "laptop-nvme"


def shell(folder, line):
    """Run a command line as a shell does; PYTEST stands for a qualification of the captured laptop."""
    pytest_command = shlex.join(command("--sysroot", LAPTOP, "--report", folder / "report"))
    return subprocess.run(
        ["bash", "-c", line.replace("PYTEST", pytest_command)],
        cwd=ROOT,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "line", ["PYTEST | head -1; exit ${PIPESTATUS[0]}", "PYTEST > /dev/full", "PYTEST 2>&1 | true"]
)
def test_a_screen_that_is_lost_costs_no_report(line, tmp_path):
    """pytest would end with 1, which reads as NOT QUALIFIED, and without a report."""
    done = shell(tmp_path, line)
    suite, cases = read_report(tmp_path / "report" / "junit.xml")
    assert (done.returncode, suite["verdict"]) == (0, "PARTIAL"), done.stderr
    assert len(cases) > 40
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("option", ["--help", "--markers", "--version", "--fixtures", "--collect-only"])
def test_a_question_to_pytest_leaves_an_earlier_report(option, tmp_path):
    """Nothing is judged, so nothing is replaced."""
    verdict = tmp_path / "report" / "junit.xml"
    verdict.parent.mkdir()
    verdict.write_text("of yesterday")
    subprocess.run(
        command("--sysroot", LAPTOP, "--report", verdict.parent, option),
        cwd=ROOT,
        env=environment(tmp_path),
        capture_output=True,
        check=True,
    )
    assert verdict.read_text() == "of yesterday"


@pytest.mark.parametrize("beside", [(), ("--report", "report")])
def test_pytests_own_junit_option_gets_the_verdict_too(beside, tmp_path):
    """A CI job that asks for --junitxml has a whole report there, in which an anonymous run names nobody."""
    more = [tmp_path / word if word == "report" else word for word in beside]
    wanted = tmp_path / "wanted.xml"
    run = qualify(tmp_path, "--sysroot", LAPTOP, "--anonymous", f"--junitxml={wanted}", *more, report=False)
    suite, cases = read_report(wanted)
    assert (suite["verdict"], run.exit_code) == ("PARTIAL", 0)
    assert cases["cpu.physical_cores"].status == "pass"
    assert "thinkpad" not in wanted.read_text(encoding="utf-8")


def test_a_junit_that_is_no_file_is_left_alone(tmp_path):
    """/dev/stdout and the like are not replaced; what stands there holds no verdict, which is said."""
    (tmp_path / "link.xml").symlink_to(tmp_path / "real.xml")
    run = qualify(tmp_path, "--sysroot", LAPTOP, f"--junitxml={tmp_path / 'link.xml'}", report=False)
    assert (tmp_path / "link.xml").is_symlink()
    assert "link.xml: no regular file, so it holds no verdict: --report FOLDER writes one" in run.screen


@pytest.mark.parametrize("option", ["--report", "--model", "--sysroot", "--scratch", "--waivers"])
def test_a_home_that_nobody_knows_is_one_line(option, tmp_path):
    """No traceback, and nothing is judged."""
    run = qualify(tmp_path, option, "~no_such_user/there", report=False)
    assert run.exit_code == 4
    assert f"{option}: found ~no_such_user/there, a home folder that nobody knows, expected a path" in run.screen
    assert "Traceback" not in run.screen


@pytest.mark.parametrize("option", [("-c", "/dev/null"), ("--rootdir", "/usr")])
def test_another_suites_settings_are_refused(option, tmp_path):
    """The run would begin anew for ever, or look for its tiers elsewhere."""
    run = qualify(tmp_path, "--sysroot", LAPTOP, *option, timeout=60)
    assert run.exit_code == 4
    assert f"ERROR: {option[0]} {option[1]}: not possible in a qualification: its folder is {ROOT}" in run.screen


def test_the_suites_own_folder_may_be_given(tmp_path):
    """It changes nothing."""
    run = qualify(tmp_path, "--sysroot", LAPTOP, "-k", "cpu", "--rootdir", ".", "-c", "pyproject.toml")
    assert run.exit_code == 0


@pytest.mark.parametrize("option", [("-o", "addopts="), ("--import-mode=prepend",)])
def test_gates_are_found_however_they_are_imported(option, tmp_path):
    """Two of their files have the same name."""
    run = qualify(tmp_path, "--sysroot", LAPTOP, *option)
    assert (run.exit_code, len(run.cases) > 40) == (0, True), run.screen


@pytest.mark.parametrize("option", ["--reruns=2", "--count=2"])
def test_plugins_that_ask_again_are_refused(option, tmp_path):
    """A gate that failed may pass by chance the second time."""
    plugin = "def pytest_addoption(parser):\n    parser.addoption('--reruns', type=int)\n"
    (tmp_path / "asks_again.py").write_text(f"{plugin}    parser.addoption('--count', type=int, default=1)\n")
    before = ("env", f"PYTHONPATH={tmp_path}")
    run = qualify(tmp_path, "--sysroot", LAPTOP, "-p", "asks_again", option, before=before)
    assert run.exit_code == 4, run.screen
    assert f"{option.partition('=')[0]}: not possible in a qualification" in run.screen


def test_a_report_needs_pytests_junit_plugin(tmp_path):
    """It is refused before anything is judged."""
    run = qualify(tmp_path, "--sysroot", LAPTOP, "-p", "no:junitxml")
    assert run.exit_code == 4
    assert "-p no:junitxml: not possible with --report" in run.screen


def test_an_earlier_report_that_is_a_folder_is_named(tmp_path):
    """One line that says what stands in the way."""
    (tmp_path / "old" / "junit.xml").mkdir(parents=True)
    run = qualify(tmp_path, "--sysroot", LAPTOP, "--report", tmp_path / "old", report=False)
    assert run.exit_code == 4
    assert "junit.xml: an earlier report, cannot be removed: Is a directory" in run.screen


def test_two_runs_do_not_share_a_report_folder(tmp_path):
    """The second is refused while the first is there, and the first one's files are its own."""
    with subprocess.Popen(
        command("--sysroot", LAPTOP, "--report", tmp_path / "report"),
        cwd=ROOT,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as first:
        first.stdout.readline()
        first.send_signal(signal.SIGSTOP)
        try:
            second = qualify(tmp_path, "--sysroot", LAPTOP, "-k", "memory")
        finally:
            first.send_signal(signal.SIGCONT)
        first.stdout.read()
    assert second.exit_code == 4
    assert "report: found another run that writes its report there, expected none" in second.screen
    suite, cases = read_report(tmp_path / "report" / "junit.xml")
    assert (first.returncode, suite["verdict"]) == (0, "PARTIAL")
    assert len(cases) > 40


def test_what_failed_before_an_interrupt_stays_failed(tmp_path):
    """--stepwise interrupts at the first FAIL: the report may not call it undecided beside a failed case."""
    asked = ("--sysroot", MACHINES / "usb-enclosure", "--report", tmp_path / "report")
    line = [word.replace("no:cacheprovider", "no:randomly") for word in command(*asked)]
    line += ["--stepwise", "-o", f"cache_dir={tmp_path / 'cache'}"]
    done = subprocess.run(line, cwd=ROOT, env=environment(tmp_path), capture_output=True, text=True, check=False)
    suite, cases = read_report(tmp_path / "report" / "junit.xml")
    assert done.returncode == 2, done.stdout
    assert "FAIL" in {case.status for case in cases.values()}
    assert suite["verdict"] == "NOT QUALIFIED"
    assert re.search("^NOT QUALIFIED: ", done.stdout, re.MULTILINE)

"""The engine's process: started, asked, and every way in which it can end."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from streamworthy.engine.death import EngineDiedError
from streamworthy.engine.runner import Engine, prove_lock
from streamworthy.errors import EngineError, UsageError
from tests.selftest.engine.real_model import copy_real_model
from tests.selftest.engine.run_pool import PLAN, make_task

ROOT = Path(__file__).parents[3]
_WITHOUT_PACKAGES = (sys.executable, "-S", "-P", "-m", "streamworthy.engine.child")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Give a real model file."""
    folder = tmp_path_factory.mktemp("model")
    path = copy_real_model(folder)
    yield path
    path.unlink()


def load(engine, path, **changes):
    """Ask an engine to load."""
    plan = asdict(replace(PLAN, **changes))
    engine.ask("prepare", limit_seconds=100.0)
    return engine.ask("load", limit_seconds=100.0, shards=[str(path)], plan=plan, threads=1)


def is_running(pid):
    """Tell whether a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_model_is_loaded_prompted_and_decoded(model, tmp_path):
    """The answers hold times, device bytes and what the engine says of itself; nothing is left afterwards."""
    with Engine(tmp_path) as engine:
        loaded = load(engine, model)
        found = engine.ask(
            "prompt", limit_seconds=100.0, texts=make_task([model]).texts(0), tokens=32, spare=4, batch=32
        )
        decoded = engine.ask("decode", limit_seconds=100.0, tokens=4)
        answer = engine.ask("answer", limit_seconds=100.0, text="The capital of France is", tokens=4, batch=32)
        state = engine.ask("state", limit_seconds=100.0)
        score = Path(f"/proc/{engine.pid}/oom_score_adj").read_text().strip()
        pid = engine.pid

    assert loaded["seconds"] > 0
    assert loaded["identity"]["version"]
    assert found["tokens"] == 32
    assert found["first"] >= found["sent"] + found["prefill_seconds"]
    assert len(decoded["token_seconds"]) == len(decoded["token_device_bytes"]) == 4
    assert decoded["token_seconds"] == sorted(decoded["token_seconds"])
    assert answer["text"].startswith(" Paris")
    assert state["mapped_bytes"] >= 0.98 * (model.stat().st_size - 2 * 2**20)
    assert score == "1000"
    assert not is_running(pid)
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_not_utf_8_is_loaded(model, tmp_path):
    """File names are bytes; old disks have them in Latin-1."""
    link = Path(os.fsdecode(os.fsencode(tmp_path) + b"/mod\xe8le.gguf"))
    link.symlink_to(model)
    with Engine(tmp_path) as engine:
        assert load(engine, link)["seconds"] > 0


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits another process: prlimit(2) is Linux's")
def test_a_cache_that_does_not_fit_is_a_lack_of_memory(model, tmp_path):
    """The remedy is a shorter context, and nothing that repacking has to do with.

    23 GB of KV, and a limit of the address space: without one a large machine would have the room, or be short of it.
    """
    with Engine(tmp_path) as engine:
        resource.prlimit(engine.pid, resource.RLIMIT_AS, (8 * 2**30, 8 * 2**30))
        with pytest.raises(EngineDiedError, match="not enough memory for KV") as raised:
            load(engine, model, context_tokens=2**20)

    assert raised.value.out_of_memory
    assert "lower context_tokens" in raised.value.fix


@pytest.mark.parametrize(
    ("lost", "words"),
    [
        ("libggml-base.so*", "cannot be imported: RuntimeError: Failed to load shared library"),
        ("libllama.so*", "cannot be imported: FileNotFoundError"),
    ],
)
def test_an_engine_without_one_of_its_libraries_is_to_be_built_again(tmp_path, lost, words):
    """One line, and not the remedy of an engine that was never installed."""
    package = pytest.importorskip("llama_cpp", reason="the engine is not installed")
    shutil.copytree(Path(package.__file__).parent, tmp_path / "broken" / "llama_cpp")
    for library in (tmp_path / "broken" / "llama_cpp" / "lib").glob(lost):
        library.unlink()
    command = ("env", f"PYTHONPATH={tmp_path / 'broken'}:{ROOT}", sys.executable, "-m", "streamworthy.engine.child")
    with Engine(tmp_path, command=command) as engine, pytest.raises(EngineDiedError, match=words) as raised:
        engine.ask("prepare", limit_seconds=100.0)

    assert "--force-reinstall" in raised.value.fix


def test_the_engine_drops_its_own_maps(model, tmp_path):
    """With the model loaded its file is verified cold, and the next token reads it from the device again."""
    with Engine(tmp_path) as engine:
        load(engine, model)
        engine.ask("prompt", limit_seconds=100.0, texts=("one two three",), tokens=16, spare=2, batch=32)
        dropped = engine.ask("drop", limit_seconds=100.0)
        decoded = engine.ask("decode", limit_seconds=100.0, tokens=1)

    assert dropped["kept"] == ""
    assert dropped["after"]["resident_bytes"] <= 0.01 * model.stat().st_size
    assert decoded["device_bytes"] > 0.5 * model.stat().st_size


def test_a_killed_engine_is_told_from_one_that_ran_out_of_memory(model, tmp_path):
    """SIGKILL without a moved OOM counter is put down to another process."""
    with Engine(tmp_path) as engine:
        load(engine, model)
        os.kill(engine.pid, signal.SIGKILL)
        with pytest.raises(EngineDiedError, match="SIGKILL") as raised:
            engine.ask("decode", limit_seconds=100.0, tokens=1)

    assert "while asked to decode" in raised.value.message
    assert raised.value.log


@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGSEGV, "crashed with SIGSEGV"), (signal.SIGILL, "built for another CPU"), (signal.SIGBUS, "shrank")],
)
def test_a_crash_names_its_signal_and_its_likely_cause(tmp_path, number, words):
    """Each signal has its own line."""
    with Engine(tmp_path) as engine:
        engine.ask("lock", limit_seconds=100.0, size=4096)
        os.kill(engine.pid, number)
        with pytest.raises(EngineDiedError, match=words):
            engine.ask("lock", limit_seconds=100.0, size=4096)


def test_a_stopped_engine_hangs_and_is_ended(tmp_path):
    """No device bytes and no CPU time is a hang, long before the time limit."""
    with Engine(tmp_path, hang_seconds=1.5) as engine:
        engine.ask("lock", limit_seconds=100.0, size=4096)
        os.kill(engine.pid, signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(EngineDiedError, match=r"hangs while asked to lock: 1\.5 s without device bytes, CPU time"):
            engine.ask("lock", limit_seconds=1000.0, size=4096)
        pid = engine.pid

    assert time.monotonic() - began < 30.0
    assert not is_running(pid)


def test_an_engine_that_works_too_long_reaches_the_limit(model, tmp_path):
    """A busy engine is no hang, but it is given up at the limit."""
    with Engine(tmp_path, hang_seconds=60.0) as engine:
        load(engine, model, context_tokens=8192)
        with pytest.raises(EngineDiedError, match="no answer to answer within"):
            engine.ask("answer", limit_seconds=1.0, text="one two three", tokens=100_000, batch=32)


def test_a_missing_engine_gives_the_install_line(tmp_path):
    """A Python without llama_cpp: the error names the import and says what to run."""
    with Engine(tmp_path, command=_WITHOUT_PACKAGES) as engine, pytest.raises(EngineError) as raised:
        load(engine, tmp_path / "model.gguf")

    assert "llama_cpp cannot be imported: ModuleNotFoundError" in raised.value.message
    assert raised.value.fix == f"{sys.executable} -m pip install 'llama-cpp-python>=0.3.36'"


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda data: data[:-4096], "a shard is truncated: .*data is not within the file bounds"),
        (lambda data: b"<!doctype html>" + data[15:], "a shard is a web page, not its download: .*'<!do'"),
        (lambda data: data[:4] + b"\x01" + data[5:], "this GGUF version is not supported"),
    ],
)
def test_a_refused_model_gives_the_logs_line_and_its_meaning(model, tmp_path, damage, words):
    """The sound file with one change is refused with the engine's own reason."""
    path = tmp_path / "broken.gguf"
    path.write_bytes(damage(model.read_bytes()))

    with Engine(tmp_path) as engine, pytest.raises(EngineDiedError, match=words) as raised:
        load(engine, path)
    path.unlink()

    assert raised.value.fix
    assert raised.value.log


def test_a_limited_address_space_is_named(model, tmp_path):
    """Mmap that fails for RLIMIT_AS is told from a lack of memory; whatever else the limit breaks is one line, too."""
    limit = f"ulimit -v {(model.stat().st_size + 180 * 2**20) // 1024}"
    command = ("sh", "-c", f'{limit}; exec "$0" "$@"', sys.executable, "-P", "-m", "streamworthy.engine.child")

    with Engine(tmp_path, command=command) as engine, pytest.raises(EngineError) as raised:
        load(engine, model)

    assert raised.value.message.startswith("engine: ")
    assert "\n" not in raised.value.message


def test_a_scratch_folder_that_is_full_is_named_before_the_engine_starts(tmp_path):
    """The engine would run without its log, and the error would blame its build."""
    fill = "from pathlib import Path; from streamworthy.engine.runner import Engine; Engine(Path('.'))"
    done = subprocess.run(
        ["prlimit", "--fsize=1000", sys.executable, "-c", fill],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "UsageError: .: scratch folder: cannot write there: " in done.stderr
    assert "--scratch FOLDER" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_scratch_folder_that_is_missing_is_a_users_mistake(tmp_path):
    """The message names the folder and what to do."""
    with pytest.raises(UsageError, match="gone: scratch folder: cannot write there: No such file") as raised:
        Engine(tmp_path / "gone")

    assert "--scratch FOLDER" in raised.value.fix


def test_an_interrupted_parent_leaves_no_child_and_no_log(model, tmp_path):
    """KeyboardInterrupt in the middle of an answer ends the child on the way out."""

    def interrupted():
        with Engine(tmp_path) as engine:
            load(engine, model, context_tokens=8192)
            pids.append(engine.pid)
            timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            engine.ask("answer", limit_seconds=100.0, text="one two three", tokens=100_000, batch=32)

    pids = []
    with pytest.raises(KeyboardInterrupt):
        interrupted()

    assert not is_running(pids[0])
    assert list(tmp_path.iterdir()) == []


def test_a_child_dies_with_its_parent(tmp_path):
    """A killed parent cannot clean up, so the kernel ends the child."""
    code = (
        "import pathlib, sys, time\n"
        "from streamworthy.engine.runner import Engine\n"
        "engine = Engine(pathlib.Path(sys.argv[1]))\n"
        "engine.ask('lock', limit_seconds=100, size=4096)\n"
        "print(engine.pid, flush=True)\n"
        "time.sleep(100)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE) as parent:
        pid = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + 20.0
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.05)

    assert not is_running(pid)


def test_locked_memory_is_proved_by_the_kernel(tmp_path):
    """A small region is locked, and VmLck says so."""
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if soft < 64 * 1024 and os.geteuid() != 0:
        pytest.skip("this user may not lock 64 KiB")

    assert prove_lock(64 * 1024, tmp_path) >= 64 * 1024


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="dropping a capability needs root")
def test_memory_that_may_not_be_locked_names_the_limit(tmp_path):
    """Without the capability the limit of the process that runs the engine counts."""
    code = (
        "import pathlib, sys\n"
        "from streamworthy.engine.runner import prove_lock\n"
        "prove_lock(2**20, pathlib.Path(sys.argv[1]))\n"
    )
    command = ["setpriv", "--bounding-set", "-ipc_lock", "--inh-caps", "-ipc_lock", sys.executable, "-c", code]
    told = subprocess.run(
        ["sh", "-c", 'ulimit -l 64; exec "$@"', "sh", *command, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert "1.0 MiB cannot be locked in memory: Cannot allocate memory (limit 64.0 KiB)" in told.stderr


def test_commands_out_of_turn_are_refused(tmp_path):
    """The engine is imported before it loads, and loads before it answers."""
    with Engine(tmp_path) as engine:
        with pytest.raises(EngineError, match="expected the command prepare first"):
            engine.ask("load", limit_seconds=100.0, shards=["m.gguf"], plan=asdict(PLAN), threads=1)
        with pytest.raises(EngineError, match="expected the command load first"):
            engine.ask("decode", limit_seconds=100.0, tokens=1)

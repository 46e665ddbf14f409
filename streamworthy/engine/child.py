"""The engine's own process: reads one command a line from standard input, answers one line of JSON each.

Run as ``python -m streamworthy.engine.child PARENT_PID``. Everything else that is printed here goes to standard
error, which the parent keeps as the engine's log. Dies with its parent (PR_SET_PDEATHSIG, prctl(2)) and is the first
choice of the kernel's out-of-memory killer, so that nothing else on the machine is killed for it.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamworthy.bench.evict import evict
from streamworthy.engine.llama import Llama, usage
from streamworthy.engine.selfview import advise_areas, drop_areas, lock_region, parse_status, random_bytes, shard_areas
from streamworthy.errors import StreamworthyError
from streamworthy.facts.plan import EnginePlan
from streamworthy.probes.sysroot import Sysroot

if TYPE_CHECKING:
    from collections.abc import Callable
    from mmap import mmap

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_VOCABULARY_BYTES_PER_TOKEN = 512  # of RssAnon; 330 measured with llama.cpp 0c1e570 on 49,152 tokens
_GRAPH_BYTES = 8 * 2**20  # two compute graphs of 8192 nodes, the last one kept for reuse; 6 measured


class Child:
    """The state behind the commands: at most one model, at most one locked region."""

    def __init__(self) -> None:
        """Begin with nothing loaded."""
        self._root = Sysroot()
        self._imported: Llama | None = None
        self._llama: Llama | None = None  # with its model
        self._shards: list[Path] = []
        self._locked: list[mmap] = []
        self._base_bytes = 0

    def prepare(self) -> dict[str, Any]:
        """Import the engine, which takes longer than loading a small model."""
        try:
            self._imported = Llama(sys.stderr)
        except (ImportError, OSError, RuntimeError) as error:  # the latter two: its shared library cannot be loaded
            return {"import": f"{type(error).__name__}: {error}"}
        self._base_bytes = self._status()["RssAnon"]
        return {}

    def load(self, *, shards: list[str], plan: dict[str, Any], threads: int) -> dict[str, Any]:
        """Load the model from its first shard and make a context."""
        llama = self._imported
        if llama is None:
            raise StreamworthyError("engine: it is not imported, expected the command prepare first")
        self._shards = [Path(shard) for shard in shards]
        before, began = usage(), time.monotonic()
        loaded = llama.load(self._shards[0], EnginePlan(**plan), threads)
        seconds, after = time.monotonic() - began, usage()
        if not loaded:
            return {"refused": True}
        self._llama = llama
        return {
            "began": began,
            "seconds": seconds,
            "device_bytes": after[0] - before[0],
            "major_faults": after[1] - before[1],
            "identity": _identity(llama.api),
        }

    def lock(self, *, size: int) -> dict[str, Any]:
        """Lock an anonymous region and prove it."""
        self._locked.append(lock_region(size))
        return {"locked_bytes": self._status()["VmLck"]}

    def prompt(self, *, texts: list[str], tokens: int, spare: int, batch: int) -> dict[str, Any]:
        """See Llama.prompt."""
        return self._engine().prompt(texts, tokens, spare, batch)

    def decode(self, *, tokens: int) -> dict[str, Any]:
        """See Llama.decode."""
        return self._engine().decode(tokens)

    def answer(self, *, text: str, tokens: int, batch: int) -> dict[str, Any]:
        """See Llama.answer."""
        return self._engine().answer(text, tokens, batch)

    def drop(self) -> dict[str, Any]:
        """Drop this process's own maps of the shards, then the page cache behind them, and verify."""
        drop_areas(shard_areas(self._root, self._shards))
        return asdict(evict(self._shards))

    def set_threads(self, *, count: int) -> dict[str, Any]:
        """Let the engine compute with another number of threads from now on."""
        self._engine().set_threads(count)
        return {}

    def advise(self, *, random: bool) -> dict[str, Any]:
        """Turn read-ahead on this process's maps of the shards off, or back to the kernel's default."""
        advise_areas(shard_areas(self._root, self._shards), random=random)
        return {}

    def state(self) -> dict[str, Any]:
        """Say what is mapped, anonymous, locked and configured."""
        status, llama = self._status(), self._engine()
        return {
            "mapped_bytes": sum(size for _, size in shard_areas(self._root, self._shards)),
            "random_bytes": random_bytes(self._root, self._shards),
            "rss_anon_bytes": status["RssAnon"],
            "rss_file_bytes": status["RssFile"],
            "locked_bytes": status["VmLck"],
            "base_bytes": self._base_bytes + _GRAPH_BYTES + _VOCABULARY_BYTES_PER_TOKEN * llama.vocabulary_count,
            "context_tokens": llama.context_tokens,
            "threads": llama.threads,
        }

    def _engine(self) -> Llama:
        if self._llama is None:
            raise StreamworthyError("engine: no model is loaded, expected the command load first")
        return self._llama

    def _status(self) -> dict[str, int]:
        return parse_status(self._root.read_text("proc/self/status"))


def _identity(api: Any) -> dict[str, str]:  # noqa: ANN401 - the binding's module
    import llama_cpp

    folder = Path(llama_cpp.__file__).parent / "lib"
    commit = ""
    with suppress(OSError, AttributeError):  # other layouts and older builds do not tell
        tell = ctypes.CDLL(str(folder / "libggml-base.so")).ggml_commit
        tell.restype = ctypes.c_char_p
        commit = tell().decode()
    return {"version": llama_cpp.__version__, "commit": commit, "features": api.llama_print_system_info().decode()}


def _settle_in(parent: int) -> None:
    with suppress(OSError, AttributeError):  # not on macOS
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("the parent has died")
    with suppress(OSError):
        Sysroot().path("proc/self/oom_score_adj").write_text("1000")


def _answer(child: Child, line: str) -> dict[str, Any]:
    request = json.loads(line)
    action: Callable[..., dict[str, Any]] = getattr(child, request.pop("command"))
    try:
        return action(**request)
    except StreamworthyError as error:
        return {"error": error.message, "fix": error.fix}


def main() -> None:
    """Serve commands until standard input ends."""
    _settle_in(int(sys.argv[1]))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever libraries print goes to the log, never between the answers
    child = Child()
    for line in sys.stdin:
        answers.write(json.dumps(_answer(child, line)) + "\n")
        answers.flush()
    os._exit(0)  # the engine's destructors have nothing to say, and some versions crash in them


if __name__ == "__main__":
    main()

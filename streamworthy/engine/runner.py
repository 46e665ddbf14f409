"""The parent's side of an engine process: start it, ask it, and never wait for it in vain."""

from __future__ import annotations

import errno
import json
import os
import select
import subprocess
import tempfile
import time
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from streamworthy.children import child_environment, module_command
from streamworthy.closing import Closing
from streamworthy.engine.death import LOG_TAIL_LINES, EngineDiedError, explain_death, read_oom_counters
from streamworthy.engine.log import NO_MEMORY, clean_log, explain_refusal
from streamworthy.engine.remedies import import_fix
from streamworthy.errors import ProbeError, UsageError
from streamworthy.probes.sysroot import Sysroot
from streamworthy.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

HANG_SECONDS = 120.0
_LOG_BYTES = 256 * 2**10  # what a load writes, with room to spare
_LOOK_SECONDS = 0.5
_END_SECONDS = 60.0  # a core dump of a large process takes its time
_COMMAND = tuple(module_command("streamworthy.engine.child"))


class Engine(Closing):
    """One engine process. Use as a context manager: it is gone afterwards, and so is its log.

    ``started`` is the moment of the spawn on CLOCK_MONOTONIC. ``command`` is the child without its last argument.
    """

    def __init__(self, scratch: Path, *, command: Sequence[str] = _COMMAND, hang_seconds: float = HANG_SECONDS) -> None:
        """Start the process; raises UsageError when the scratch folder cannot be written."""
        self._root = Sysroot()
        self._hang_seconds = hang_seconds
        self._log = _open_log(scratch)
        self._oom = read_oom_counters(self._root)
        self.started = time.monotonic()
        try:
            self._process = subprocess.Popen(
                [*command, str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=_environment(),
                start_new_session=True,  # Ctrl-C is for the parent, which then ends the child
            )
        except BaseException:
            self._log.close()
            raise

    @property
    def pid(self) -> int:
        """The process id of the child."""
        return self._process.pid

    def log_text(self) -> str:
        """Give the engine's log so far."""
        if self._log.closed:
            return ""
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), size, 0).decode("utf-8", "replace")  # the child shares the file's position

    def close(self) -> None:
        """End the process, if it still runs, and drop its log."""
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):  # it waits for a device that does not answer: nobody can end it
            self._process.wait(timeout=_END_SECONDS)
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # a command that the child never read is still in the buffer
                if pipe:
                    pipe.close()
        self._log.close()

    def ask(self, command: str, *, limit_seconds: float, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
        """Send a command and wait for its answer.

        Raises EngineError when the child says that it could not, EngineDiedError when it crashed, was killed, took
        longer than ``limit_seconds`` or hung: no device bytes and no CPU time for ``hang_seconds``.
        """
        try:
            self._pipe_in().write(json.dumps({"command": command, **arguments}).encode() + b"\n")
            self._pipe_in().flush()
        except BrokenPipeError:
            raise self._died(command) from None
        self._wait(command, limit_seconds)
        line = self._pipe_out().readline()
        if not line.endswith(b"\n"):
            raise self._died(command)
        return self._judge(command, json.loads(line))

    def _judge(self, command: str, answer: dict[str, Any]) -> dict[str, Any]:
        if "import" in answer:
            raise self._error(
                f"engine: llama_cpp cannot be imported: {answer['import']}", fix=import_fix(answer["import"])
            )
        if "refused" in answer:
            line, meaning, fix = explain_refusal(self.log_text())
            cause = f"{meaning}: {line}" if meaning else line
            raise self._error(
                f"engine: the model was refused: {cause}",
                fix=fix or "see the log lines with this verdict",
                out_of_memory=meaning.startswith(NO_MEMORY),
            )
        if "error" in answer:
            raise self._error(f"{answer['error']} ({command})", fix=answer["fix"])
        return answer

    def _wait(self, command: str, limit_seconds: float) -> None:
        began = moved = time.monotonic()
        seen = self._progress()
        while not select.select([self._pipe_out()], [], [], _LOOK_SECONDS)[0]:
            now, progress = time.monotonic(), self._progress()
            if progress != seen:
                seen, moved = progress, now
            if now - moved > self._hang_seconds:
                idle = format_seconds(self._hang_seconds)
                raise self._error(
                    f"engine: hangs while asked to {command}: {idle} without device bytes, CPU time or an answer",
                    fix="dmesg | tail (a device that stopped answering?), then run again",
                )
            if now - began > limit_seconds:
                limit = format_seconds(limit_seconds)
                raise self._error(
                    f"engine: no answer to {command} within {limit}, twenty times what its bytes need",
                    fix="check the disk limit of the tier against this disk, or close what else uses the machine",
                )

    def _progress(self) -> tuple[str, ...]:
        # utime and stime are the 12th and 13th field after the command name, proc_pid_stat(5)
        try:
            times = self._root.read_text(f"proc/{self.pid}/stat").rpartition(")")[2].split()[11:13]
            return (*times, self._root.read_text(f"proc/{self.pid}/io"))
        except ProbeError:
            return ()

    def _died(self, command: str) -> EngineDiedError:
        try:
            status = self._process.wait(timeout=_END_SECONDS)
        except subprocess.TimeoutExpired:
            return self._error(
                f"engine: while asked to {command}: closed its answers and does not end", fix="dmesg | tail"
            )
        after = read_oom_counters(self._root)
        return explain_death(status, doing=command, log=self.log_text(), before=self._oom, after=after)

    def _error(self, message: str, *, fix: str, out_of_memory: bool = False) -> EngineDiedError:
        log = tuple(clean_log(self.log_text())[-LOG_TAIL_LINES:])
        return EngineDiedError(message, fix=fix, log=log, out_of_memory=out_of_memory)

    def _pipe_in(self) -> Any:  # noqa: ANN401 - IO[bytes], never None as we asked for a pipe
        return self._process.stdin

    def _pipe_out(self) -> Any:  # noqa: ANN401 - likewise
        return self._process.stdout


def _environment() -> dict[str, str]:
    # GGML_NO_BACKTRACE: an assertion would otherwise start a debugger, which can stop for ever
    return child_environment() | {"GGML_NO_BACKTRACE": "1", "PYTHONUNBUFFERED": "1"}


def _open_log(scratch: Path) -> IO[bytes]:
    """Open a log without a name, so that even SIGKILL leaves nothing behind; UsageError when it cannot be written."""
    try:
        log = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115 - closed by Engine.close()
        try:
            _try_to_write(log.fileno())
        except OSError:
            log.close()
            raise
    except OSError as error:
        raise UsageError(
            f"{scratch}: scratch folder: cannot write there: {error.strerror}",
            fix=f"df -h '{scratch}'; ls -ld '{scratch}'\nor name another folder: --scratch FOLDER",
        ) from error
    return log


def _try_to_write(log: int) -> None:
    """Raise OSError where a log would end early: it would prove nothing, and the engine's build would be blamed."""
    if os.pwrite(log, bytes(_LOG_BYTES), 0) < _LOG_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.truncate(log, 0)


def prove_lock(size: int, scratch: Path) -> int:
    """Lock ``size`` anonymous bytes in an engine child and give what the kernel says is locked (VmLck).

    Loads no model and needs no engine. EngineError with the limit when the kernel refuses.
    """
    with Engine(scratch) as engine:
        return int(engine.ask("lock", limit_seconds=60.0, size=size)["locked_bytes"])

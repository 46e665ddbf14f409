"""Loads models in the real engine and decodes one token, each in a process of its own. Run as a program.

Reads a JSON list of [path, number of file handles] from standard input; prints one JSON line each: how the process
ended (exit status, or minus the signal) and the end of its log. One import serves all: each case is a fork.
"""

import json
import os
import resource
import signal
import sys
import tempfile
from pathlib import Path

from streamworthy.engine.llama import Llama
from streamworthy.errors import EngineError
from streamworthy.thresholds import load_tier

ROOT = Path(__file__).parents[3]
RUNS, REFUSED, FAILED = 0, 3, 4
LIMIT_SECONDS = 30
HANDLES = 256


def run_case(llama, plan, path, handles):
    """Load and decode in this process, which does not come back."""
    signal.alarm(LIMIT_SECONDS)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (handles, handles))
    if not llama.load(Path(path), plan, 1):
        os._exit(REFUSED)
    try:
        llama._feed([1], 1)
        llama._best()
    except EngineError as error:
        sys.stderr.write(f"{error.message}\n")
        sys.stderr.flush()
        os._exit(FAILED)
    os._exit(RUNS)


def main():
    """Run all cases."""
    answers = os.fdopen(os.dup(1), "w")
    plan = load_tier("sample", ROOT / "thresholds").plan
    llama = Llama(sys.stderr)
    for path, handles in json.load(sys.stdin):
        with tempfile.TemporaryFile() as log:
            child = os.fork()
            if child == 0:
                os.dup2(log.fileno(), 2)
                os.dup2(log.fileno(), 1)
                run_case(llama, plan, path, handles or HANDLES)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            log.seek(0)
            text = log.read().decode("utf-8", "replace")
        answers.write(json.dumps([status, text[-4000:]]) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()

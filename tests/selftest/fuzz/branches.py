"""Which branches of the header reader its corpus reaches, by watching each conditional jump while the corpus runs."""

from __future__ import annotations

import dis
import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from types import CodeType

from streamworthy.gguf import answers, cursor, reader, strangers, tensor_table
from tests.selftest.fuzz.gguf_target import run_header
from tests.selftest.fuzz.targets import CORPUS
from tests.selftest.gguf.build import build

show = print  # what this program is for
MODULES = (reader, cursor, tensor_table, strangers, answers)
_ALWAYS = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE", "SEND", "JUMP")


class Branches:
    """Conditional jumps of some modules and where each has led."""

    def __init__(self, modules):
        """Find the jumps."""
        self.jumps = {}
        self.files = {module.__file__ for module in modules}
        for module in modules:
            for code in _codes(module):
                before = ""
                for step in dis.get_instructions(code):
                    jumps = step.opcode in (*dis.hasjrel, *dis.hasjabs) and step.opname not in _ALWAYS
                    if jumps and before != "CHECK_EXC_MATCH":  # an exception of another kind is what fuzzing looks for
                        self.jumps.setdefault(code, {})[step.offset] = set()
                    before = step.opname

    def watch(self, call):
        """Run a call and note where jumps lead."""
        old = sys.gettrace()
        sys.settrace(self._enter)
        try:
            call()
        finally:
            sys.settrace(old)

    def _enter(self, frame, _event, _argument):
        jumps = self.jumps.get(frame.f_code)
        if jumps is None:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        last = None

        def step(frame, event, _argument):
            nonlocal last
            if event == "opcode":
                if last in jumps:
                    jumps[last].add(frame.f_lasti)
                last = frame.f_lasti
            return step

        return step

    def reached(self):
        """Give how many ways out of jumps were taken, of how many."""
        ways = [min(2, len(taken)) for jumps in self.jumps.values() for taken in jumps.values()]
        return sum(ways), 2 * len(ways)

    def missed(self):
        """Give file and line of each jump that did not go both ways."""
        for code, jumps in self.jumps.items():
            lines = {start: line for start, _, line in code.co_lines() for start in range(start, start + 1)}
            starts = sorted(lines)
            for offset, taken in jumps.items():
                if len(taken) < 2:
                    line = lines[max(start for start in starts if start <= offset)]
                    yield f"{Path(code.co_filename).name}:{line} in {code.co_name}"


def _codes(module):
    pending = [compile(Path(module.__file__).read_text(encoding="utf-8"), module.__file__, "exec", dont_inherit=True)]
    wanted = {}
    while pending:
        code = pending.pop()
        children = [const for const in code.co_consts if isinstance(const, CodeType)]
        wanted |= {(child.co_qualname, child.co_firstlineno): child for child in children}
        pending += children
    for value in list(wanted.values()):
        if not value.co_qualname.startswith("<"):  # what runs when the module is imported
            yield value


def watch_corpus():
    """Run the whole corpus, in memory and as files, and give what was reached."""
    branches = Branches(MODULES)
    for path in sorted((CORPUS / "header").iterdir()):
        branches.watch(partial(run_header, path.read_bytes()))
    _watch_files(branches)
    return branches


def _watch_files(branches):
    """Reach what only files do: one that shrinks under the reader, one that is not there, one that is a folder."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.gguf")
        path.write_bytes(b"GGUF" + bytes(60))
        descriptor = os.open(path, os.O_RDONLY)
        try:
            branches.watch(lambda: _shrunk(descriptor))
        finally:
            os.close(descriptor)
        for place in (path, Path(folder), Path(folder, "absent"), *sorted((CORPUS / "header").iterdir())):
            branches.watch(lambda place=place: _scan(place))
        words = ["w" * 500] * (cursor.WINDOW_BYTES // 500)  # a vocabulary that does not fit in a window
        long = build((("tokens", "arr[str]", words),), ())
        branches.watch(lambda: run_header(long))
        branches.watch(lambda: cursor.unreadable(path, OSError("no number")))


def _shrunk(descriptor):
    try:
        cursor.Cursor(descriptor, 2**20).take_bytes(2**19, "bytes")
    except cursor.Broken:
        return


def _scan(path):
    for read in (reader.scan_header, reader.read_header):
        try:
            read(path)
        except cursor.ProbeError as error:
            str(error)


def print_branches():
    """Print the share of branches that the corpus reaches, and what it does not reach."""
    branches = watch_corpus()
    taken, ways = branches.reached()
    show(f"branches of the reader reached by the corpus: {taken} of {ways} ({taken / ways:.0%})")
    for line in branches.missed():
        show(f"  one way only: {line}")

"""The corpus and a short run of the fuzzer: whatever is read, no error leaves but the suite's own."""

import time
import tracemalloc
from contextlib import suppress

import pytest

from streamworthy.errors import ParseError, ProbeError, UsageError
from streamworthy.gguf.reader import scan_header
from streamworthy.probes.cpu import probe_architecture
from streamworthy.probes.mountinfo import parse_mountinfo
from streamworthy.probes.swap import parse_swappiness, parse_swaps
from streamworthy.probes.sysroot import Sysroot
from streamworthy.probes.volumes import probe_captured_model
from tests.selftest.fuzz.branches import watch_corpus
from tests.selftest.fuzz.run import run
from tests.selftest.fuzz.targets import CORPUS, load_targets
from tests.selftest.gguf.build import build

SECONDS = 10


def test_the_corpus_is_small_and_has_seeds_for_every_target(tmp_path):
    """It is kept in the repository, so it has to stay out of the way."""
    targets = load_targets(tmp_path)
    assert len(targets) > 20
    assert all(target.seeds for target in targets.values())
    assert sum(path.stat().st_size for path in CORPUS.rglob("*")) < 500_000


def test_every_input_that_was_ever_interesting_is_read_or_refused(tmp_path):
    """Past findings stand in the corpus: each raises at most what its target says."""
    for target in load_targets(tmp_path).values():
        for seed in target.seeds if not target.name.startswith("machine") else ():
            with suppress(*target.expected):
                target.run(seed)


def test_the_corpus_reaches_every_branch_of_the_reader():
    """What no input reaches is not fuzzed."""
    branches = watch_corpus()
    assert list(branches.missed()) == []
    assert branches.reached()[1] > 150


@pytest.mark.slow
def test_ten_seconds_of_changed_inputs_find_nothing(tmp_path):
    """Every parser, on one processor, with the same changes each time."""
    assert run(list(load_targets(tmp_path)), SECONDS, 1, "of the test") == []


def test_memory_is_bounded_by_the_file_and_time_is_linear(tmp_path):
    """A header of any promises costs no more than twenty times its bytes, and twice the bytes about twice the time."""
    costs = []
    for count in (20_000, 40_000):
        path = tmp_path / f"{count}.gguf"
        path.write_bytes(build(tuple((f"key {index}", "u32", index) for index in range(count)), ()))
        began = time.process_time()
        scan_header(path)
        costs.append(time.process_time() - began)
    assert costs[1] < 4 * costs[0] + 0.1
    tracemalloc.start()
    scan_header(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * path.stat().st_size + 2 * 2**20


def test_only_a_newline_ends_a_line_of_a_kernel_file():
    """A folder's name may hold every other line end that Python knows; superscripts are no numbers."""
    line = "22 29 0:22 / /a\u2028b\x0bc\x85d rw - ext4 /dev/sda1 rw\n"
    assert parse_mountinfo(line)[0].mount_point == "/a\u2028b\x0bc\x85d"
    assert parse_mountinfo("") == ()
    for broken in ("22\u00b2 29", "22 29\u2460", "22 " + "9" * 5000):
        with pytest.raises(ParseError):
            parse_mountinfo(line.replace("22 29", broken))
    swaps = "Filename Type Size Used Priority\n/a\x0bb file 1024 0 -2\n"
    assert [one.path for one in parse_swaps(swaps)] == ["/a\x0bb"]
    assert parse_swappiness("60\x1c\n") == 60


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("unreadable = 3", "[[unreadable]]"),
        ("unreadable = ['proc/swaps']", "[[unreadable]]"),
        ("uname = 'x86_64'", "[uname]"),
        ("uname = { machine = 'x86_64' }\n[model]\npath = '/m'\nshards = ['a']", "[model] shards"),
    ],
)
def test_a_captured_machine_s_answers_are_checked_for_their_kind(tmp_path, text, place):
    """machine.toml is written by hand too: what is of another kind is named, with its place."""
    (tmp_path / "machine.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        _ask_all(tmp_path)
    assert place in caught.value.message


def _ask_all(folder):
    probe_architecture(Sysroot(folder))
    probe_captured_model(Sysroot(folder))


def test_a_nul_in_a_kernel_text_is_no_path(tmp_path):
    """The system refuses it with an error of its own kind."""
    (tmp_path / "machine.toml").write_text("")
    root = Sysroot(tmp_path)
    for ask in (root.read_text, root.read_optional, root.names, root.exists):
        with pytest.raises(ProbeError, match="a NUL in a path"):
            ask("sys/\0")

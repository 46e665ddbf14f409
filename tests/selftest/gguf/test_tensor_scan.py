"""Looking into tensor data: each case is the sound model with one named damage."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from streamworthy.bench.evict import evict
from streamworthy.bench.residency import residency
from streamworthy.errors import ProbeError
from streamworthy.facts.integrity import BrokenTensor, ZeroRun
from streamworthy.gguf.subject import Subject
from streamworthy.gguf.tensor_scan import scan_tensors
from tests.selftest.face.running import qualify
from tests.selftest.gguf.large import SHAPES, make_large

DEPTHS = ("quick", "standard", "full")
FLOATING = [(name, kind) for name, _, kind in SHAPES]
QUERY, OUTPUT = "blk.0.attn_q.weight", "blk.0.attn_output.weight"


@pytest.fixture
def model(tmp_path):
    """The sound model."""
    return make_large(tmp_path / "large.gguf")


def scan(model, depth="full"):
    """Write the model and look at it."""
    return scan_tensors(model.write(), depth=depth, progress=None)


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_sound_model_has_nothing(model, depth):
    """Nothing is found, and what was looked at is counted."""
    found = scan(model, depth)
    assert (found.broken, found.zero_runs, found.unchecked, found.unread) == ((), (), (), ())
    assert (found.tensor_count, found.tensor_bytes) == (
        len(SHAPES),
        sum(one.size_bytes for one in model.header.tensors),
    )
    if depth == "full":
        assert (found.looked_bytes, found.place_count, found.stride_bytes) == (found.tensor_bytes, None, None)
    else:
        assert 0.05 * found.tensor_bytes < found.looked_bytes < 0.1 * found.tensor_bytes
        assert found.place_count == 8 * 7 + 3
        assert found.least_blocks_count > 600


@pytest.mark.parametrize(("name", "kind"), FLOATING)
def test_one_broken_block_is_found_by_its_byte_when_all_is_read(model, name, kind):
    """In every type, wherever pieces of the file are cut."""
    last = len(model.place(name)) // (len(model.place(name)) // 1000) - 1
    start = model.poison(name, last)
    (found,) = scan(model).broken
    assert found == BrokenTensor(
        path=model.path,
        name=name,
        type_name=kind,
        broken_count=1,
        looked_count=found.looked_count,
        first_offset_bytes=start,
    )


@pytest.mark.parametrize("depth", ["quick", "standard"])
@pytest.mark.parametrize(("name", "kind"), FLOATING)
def test_one_block_in_fifty_is_found_by_a_sample(model, depth, name, kind):
    """A sample finds what is broken here and there, in every tensor and type."""
    blocks = sum(one.elements for one in model.header.tensors if one.name == name)
    from streamworthy.gguf.tensor_types import type_named

    for block in range(0, blocks // type_named(kind).block_weights, 50):
        model.poison(name, block)
    assert [one.name for one in scan(model, depth).broken] == [name]


@pytest.mark.parametrize("depth", DEPTHS)
def test_zeros_that_a_download_left_are_followed_to_their_ends(model, depth):
    """A run that begins and ends inside of rows, over two tensors, by its bytes."""
    start, stop = model.row(QUERY, 10) + 500, model.row("blk.0.attn_k.weight", 300) + 700
    model.zero(start, stop)
    model.put(start - 1, b"\1")
    model.put(stop, b"\1")
    assert scan(model, depth).zero_runs == (
        ZeroRun(
            path=model.path,
            offset_bytes=start,
            size_bytes=stop - start,
            exact=True,
            tensor=QUERY,
            inside_row=True,
            touched_count=2,
            whole_count=0,
        ),
    )


@pytest.mark.parametrize("depth", DEPTHS)
def test_rows_that_are_zero_by_intent(model, depth):
    """Unused tokens at the end of a vocabulary, with weights beside them that are zero by chance."""
    model.zero(model.row("output.weight", 500) - 20, model.place("output.weight").stop)
    (found,) = scan(model, depth).zero_runs
    assert (found.inside_row, found.touched_count, found.whole_count, found.exact) == (False, 1, 0, True)


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_matrix_that_is_zero(model, depth):
    """One matrix from end to end, with the zero padding and bias beside it."""
    place = model.place(OUTPUT)
    model.zero(model.place("blk.0.attn_q.bias").start, place.stop)
    (found,) = scan(model, depth).zero_runs
    assert (found.inside_row, found.touched_count, found.whole_count) == (False, 1, 1)


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_file_of_which_only_the_header_came(model, depth):
    """Everything behind the header is zero."""
    model.zero(model.header.data_start_bytes, len(model.raw))
    (found,) = scan(model, depth).zero_runs
    assert (found.inside_row, found.whole_count, found.exact) == (False, 7, True)
    assert (found.offset_bytes, found.size_bytes) == (
        model.header.data_start_bytes,
        model.header.need_bytes - model.header.data_start_bytes,
    )


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_zero_norm_or_a_few_zero_rows_are_too_short_to_tell(model, depth):
    """What sound models have is not listed."""
    model.zero(model.place("blk.0.attn_q.bias").start, model.place("blk.0.attn_q.bias").stop)
    model.zero(model.row(QUERY, 5), model.row(QUERY, 8))
    assert scan(model, depth).zero_runs == ()


@pytest.mark.parametrize("depth", DEPTHS)
def test_holes_are_left_to_the_extents(model, depth):
    """What was never written is found there without reading, and not told twice."""
    headers = model.write()
    start, stop = model.place(QUERY).start // 4096 * 4096 + 4096, model.place(OUTPUT).stop // 4096 * 4096
    with model.path.open("wb") as file:
        file.write(model.raw[:start])
        file.seek(stop)
        file.write(model.raw[stop:])
    with model.path.open("rb") as file:
        if os.lseek(file.fileno(), start, os.SEEK_DATA) == start:
            pytest.skip("this filesystem does not tell holes")
    assert scan_tensors(headers, depth=depth, progress=None).zero_runs == ()


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_cold_file_stays_cold(model, depth):
    """A check that read the model into memory would make the measurements after it warm."""
    headers = model.write(durable=True)
    if evict((model.path,)).after.share > 0:
        pytest.skip("this filesystem does not let pages go")
    scan_tensors(headers, depth=depth, progress=None)
    assert residency((model.path,)).share < 0.01


@pytest.mark.parametrize("depth", DEPTHS)
def test_two_looks_see_the_same(model, depth):
    """The places are not drawn anew."""
    model.poison(QUERY, 77)
    first, second = scan(model, depth), scan(model, depth)
    assert first.broken == second.broken
    assert first.looked_bytes == second.looked_bytes


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_file_cut_short_is_looked_at_as_far_as_it_goes(model, depth):
    """The rest is for the extents to tell."""
    headers = model.write()
    os.truncate(model.path, model.place(OUTPUT).start + 1000)
    headers = {model.path: Subject(model.path).headers[0].header}
    found = scan_tensors(headers, depth=depth, progress=None)
    assert found.looked_bytes < found.tensor_bytes / 2
    assert (found.broken, found.unread) == ((), ())


def test_a_file_that_shrinks_meanwhile_is_told(model):
    """Its header promises more than is there now."""
    headers = model.write()
    os.truncate(model.path, model.place(OUTPUT).start)
    with pytest.raises(ProbeError, match="became shorter while it was read"):
        scan_tensors(headers, depth="quick", progress=None)
    assert scan_tensors(headers, depth="full", progress=None).unread == (
        "large.gguf: became shorter while it was read",
    )


def test_a_shard_that_is_gone(model):
    """It is named."""
    headers = model.write()
    model.path.unlink()
    with pytest.raises(ProbeError, match=r"large\.gguf"):
        scan_tensors(headers, depth="quick", progress=None)
    assert scan_tensors(headers, depth="full", progress=None).unread == (
        "large.gguf: cannot be read: No such file or directory",
    )


def test_a_broken_header_leaves_it_open(tmp_path):
    """Where tensors lie is not known then."""
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    with pytest.raises(ProbeError, match="cannot be read, so what is in the file is not known"):
        _ = Subject(tmp_path / "m.gguf").tensors


INTERRUPTED = """
import sys
from pathlib import Path
from streamworthy.gguf import tensor_scan
from streamworthy.gguf.subject import Subject
from contextlib import contextmanager
import time

real = tensor_scan.reading

@contextmanager
def slow(path, *, ahead):
    with real(path, ahead=ahead) as pieces:
        yield (time.sleep(0.2) or piece for piece in pieces)

tensor_scan.reading = slow
path = Path(sys.argv[1])
print("begin", flush=True)
tensor_scan.scan_tensors({path: Subject(path).headers[0].header}, depth="full", progress=None)
"""


def test_ctrl_c_ends_a_whole_look(model):
    """At once, with no thread left that reads on."""
    model.write()
    command = [sys.executable, "-c", textwrap.dedent(INTERRUPTED), str(model.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "begin\n"
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        _, told = child.communicate(timeout=30)
    assert child.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in told


def _zero_whole(model):
    place = model.place(OUTPUT)
    model.zero(place.start, place.stop)


# damage, depth: word and what is told
TOLD = {
    ("none", "full"): ("pass", "all 14.9 MiB"),
    ("none", "quick"): ("pass", "6.0 % of 14.9 MiB"),
    ("NaN", "full"): ("FAIL", f"{QUERY} (Q4_K): 1 of 8192 blocks looked at"),
    ("zeros", "full"): ("advice", f"{OUTPUT} is zero as a whole"),
    ("header", "full"): ("error", "cannot be read, so what is in the file is not known"),
}
DAMAGES = {
    "NaN": lambda model: model.poison(QUERY, 77),
    "zeros": _zero_whole,
    "header": lambda model: model.put(4, b"\0"),
}


@pytest.mark.parametrize("case", TOLD, ids=" ".join)
def test_the_front_door_tells(model, tmp_path, case):
    """Each word, with what was found, as a user sees it."""
    damage, depth = case
    if damage in DAMAGES:
        DAMAGES[damage](model)
    model.write()
    run = qualify(
        tmp_path, "--model", model.path, "--tier", "fits-in-ram", "--depth", depth, "-k", "integrity and tensors"
    )
    found = run.cases["integrity.tensors"]
    word, told = TOLD[case]
    assert found.status == word, run.screen
    assert told in run.screen.replace("\n", " ")
    assert ("thresholds/fits-in-ram.toml [integrity.tensors]" in found.text) == (word in ("FAIL", "error"))

"""The reader beside ggml's own: what one accepts the other accepts, but for what ggml is known to let pass."""

import random
import subprocess
import sys
from pathlib import Path

from streamworthy.gguf.reader import scan_header
from tests.selftest.gguf.test_kv_cache_engine import needs_engine
from tests.selftest.gguf.test_reader import ABSURD, SOUND, STRANGERS

PROGRAM = Path(__file__).with_name("engine_headers.py")
MUTANTS = 1500
# gguf.cpp accepts tensors without name, dimensions or weights; they make the engine fail later.
STRICTER = ("name of tensor", "number of dimensions of tensor", "shape of tensor")
BYTES = (0, 1, 2, 3, 4, 8, 9, 31, 32, 64, 127, 128, 255)


def mutate(rng):
    """Change, drop or add a few bytes of the sound file, or cut it."""
    raw = bytearray(SOUND)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at, kind = rng.randrange(len(raw)), rng.random()
        if kind < 0.6:
            raw[at] = rng.choice(BYTES)
        elif kind < 0.8:
            del raw[at : at + rng.choice((1, 2, 4, 8))]
        else:
            raw[at:at] = bytes(rng.choice((1, 4, 8)))
    return bytes(raw[: rng.randrange(len(raw))] if rng.random() < 0.2 else raw)


def write_cases(folder):
    """Write every named broken file, the sound one and many mutants of it."""
    rng = random.Random(20240607)  # noqa: S311 - the same mutants everywhere
    named = [raw for raw, *_ in (*ABSURD.values(), *STRANGERS.values())]
    for number, raw in enumerate([SOUND, *named, *(mutate(rng) for _ in range(MUTANTS))]):
        path = folder / f"{number}.gguf"
        path.write_bytes(raw)
        yield path


def test_the_engine_s_reader_and_ours_agree(tmp_path):
    """Nothing that ggml refuses is called sound, and nothing sound to ggml is refused but for the known cases."""
    needs_engine()
    paths = list(write_cases(tmp_path))
    done = subprocess.run(
        [sys.executable, str(PROGRAM)],
        input="\n".join(map(str, paths)),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, len(done.stdout)) == (0, len(paths)), done.stderr[-500:]
    for path, theirs in zip(paths, done.stdout, strict=True):
        header, faults = scan_header(path)
        if theirs == "1" and faults:
            assert faults[0].item.startswith(STRICTER), (path.name, faults)
            continue
        # a file that ends in the padding before its data is the business of extents
        ours = header is not None and not faults and header.data_start_bytes <= header.file_bytes
        assert ours == (theirs == "1"), (path.name, faults)
    assert done.stdout.count("1") > 100

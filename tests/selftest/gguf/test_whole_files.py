"""Reading a set of files whole: what is said meanwhile; Ctrl-C and failures are tried with real work in test_hashes."""

from streamworthy.gguf.whole_files import Progress

GIB = 2**30


def test_progress_for_people():
    """A line says how much is done, how fast, and how long it will take."""
    line = str(Progress(verb="hashing", done_bytes=39 * GIB, total_bytes=390 * GIB, seconds=39 * GIB / 1.6e9))
    assert line == "hashing: 39.0 GiB of 390.0 GiB, 1.6 GB/s, 3 min 56 s left"


def test_progress_before_the_first_byte():
    """Before anything is read, no time is promised."""
    assert str(Progress(verb="hashing", done_bytes=0, total_bytes=GIB, seconds=0.0)) == "hashing: 0 B of 1.0 GiB, 0 B/s"

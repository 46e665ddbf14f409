"""Runs of zeros from pieces, wherever a file is cut; how they lie in a model is tried in test_tensor_scan."""

import numpy as np
import pytest

from streamworthy.gguf.zero_runs import LEAST_RUN_BYTES, PAGE_BYTES, PageRuns, zero_pages

PAGES = 200
PIECES = (1, 3, 16, 64, PAGES)


def runs_of(raw, pages):
    """Feed a file in pieces of so many pages."""
    runs = PageRuns()
    for offset in range(0, len(raw), pages * PAGE_BYTES):
        runs.feed(offset, raw[offset : offset + pages * PAGE_BYTES])
    return runs.end(len(raw))


def file_with(*zeros, tail=0):
    """Make bytes of which some ranges of pages are zero."""
    raw = np.full(PAGES * PAGE_BYTES + tail, 7, np.uint8)
    for first, last in zeros:
        raw[first * PAGE_BYTES : last * PAGE_BYTES] = 0
    return raw


def test_a_page_is_zero_when_all_its_bytes_are():
    """One bit at any place is enough."""
    raw = np.zeros(3 * PAGE_BYTES, np.uint8)
    raw[PAGE_BYTES], raw[-1] = 1, 128
    assert zero_pages(raw).tolist() == [True, False, False]


@pytest.mark.parametrize("pages", PIECES)
@pytest.mark.parametrize(
    ("zeros", "found"),
    [
        ((), []),
        (((0, 200),), [(0, 200)]),
        (((0, 16),), [(0, 16)]),
        (((0, 15),), []),
        (((20, 40), (41, 60), (100, 115), (190, 200)), [(20, 40), (41, 60)]),
        (((184, 200),), [(184, 200)]),
    ],
)
def test_runs_are_found_whatever_the_pieces(pages, zeros, found):
    """From 16 pages on, over the bounds of pieces, at both ends of the file."""
    assert LEAST_RUN_BYTES == 16 * PAGE_BYTES
    expected = [range(first * PAGE_BYTES, last * PAGE_BYTES) for first, last in found]
    assert runs_of(file_with(*zeros), pages) == expected


@pytest.mark.parametrize("pages", PIECES)
def test_a_file_that_ends_inside_of_a_page(pages):
    """The run ends with the last whole page."""
    assert runs_of(file_with((150, 200), tail=100), pages) == [range(150 * PAGE_BYTES, 200 * PAGE_BYTES)]

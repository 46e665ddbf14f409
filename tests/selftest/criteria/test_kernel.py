"""Whether the kernel is new enough."""

from __future__ import annotations

import pytest

from streamworthy.criteria import kernel
from streamworthy.facts.kernel import KernelFacts
from streamworthy.verdict import Word, verdict
from tests.selftest.criteria.asked import limit

KERNEL = KernelFacts(release="5.15.167.4-microsoft-standard-WSL2", version=(5, 15, 167, 4))


def test_a_new_enough_kernel_passes():
    """The whole verdict of a pass."""
    assert kernel.version(KERNEL, limit(at_least=(5, 14))) == verdict(
        Word.PASS,
        measured="5.15.167.4-microsoft-standard-WSL2",
        required="at least 5.14",
        unit="version",
        evidence=("version=5.15.167.4",),
    )


@pytest.mark.parametrize(
    ("found", "asked", "word"),
    [
        ((5, 14), (5, 14), Word.PASS),
        ((5, 14, 0), (5, 14), Word.PASS),
        ((5, 14), (5, 14, 0), Word.PASS),
        ((5, 14), (5, 14, 1), Word.FAIL),
        ((5, 13, 99), (5, 14), Word.FAIL),
        ((6, 1), (5, 14), Word.PASS),
        ((5, 9), (5, 14), Word.FAIL),
        ((10, 0), (9, 9), Word.PASS),
    ],
)
def test_versions_are_compared_by_their_numbers(found, asked, word):
    """5.9 is older than 5.14, and 5.14 is 5.14.0."""
    assert kernel.version(KernelFacts(release="x", version=found), limit(at_least=asked)).word is word


@pytest.mark.parametrize(("release", "remedy"), [(KERNEL.release, "wsl --update"), ("4.19.0-27-amd64", "install")])
def test_an_old_kernel_says_how_to_get_a_newer_one(release, remedy):
    """WSL's kernel comes from Windows."""
    found = kernel.version(KernelFacts(release=release, version=(4, 19)), limit(at_least=(5, 14)))
    assert (found.word, found.cause) == (Word.FAIL, "the kernel is older than 5.14")
    assert remedy in found.fix[0]

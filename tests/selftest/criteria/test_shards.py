"""Whether the files make up one whole model: each gate passing, failing and undecided."""

from dataclasses import replace

import pytest

from streamworthy.criteria import shards
from streamworthy.facts.gguf import GgufFault, ShardHeader
from streamworthy.facts.shards import Leftover, Misnamed, OpenFiles, SetTotal, ShardFile, ShardListing
from streamworthy.verdict import Word, verdict
from tests.selftest.criteria.asked import limit

GB = 10**9


def file(number, size=40, *, real=True):
    """Make a shard's record."""
    name = f"m-{number:05d}-of-00003.gguf"
    path = f"/models/{name}"
    return ShardFile(
        number=number,
        name=name,
        path=path,
        real_path=path if real else None,
        size_bytes=size if real else 0,
        allocated_bytes=size if real else 0,
    )


SET = ShardListing(
    form="set",
    folder="/models",
    prefix="m",
    count=3,
    shards=(file(1), file(2), file(3)),
    missing=(),
    misnamed=(),
    duplicates=(),
    leftovers=(),
    others=(),
)
FILES = OpenFiles(soft_count=1024, hard_count=4096)
TOTAL = SetTotal(present_bytes=120, whole_bytes=120, exact=True, basis="headers and file sizes")
PART = Leftover(name="m-00003-of-00003.gguf.part", twin="m-00003-of-00003.gguf", twin_present=False, control=False)


def test_sound_names_pass():
    """The whole verdict of a pass."""
    assert shards.names(SET, limit()) == verdict(
        Word.PASS, measured="m: 3 shards", required="<prefix>-00001-of-0000N.gguf"
    )


def test_what_is_beside_the_set_is_only_mentioned():
    """Other models, and a leftover whose twin is finished, are no fault of this set."""
    done = replace(PART, twin_present=True)
    hub = replace(PART, name=".cache/huggingface/download/x.incomplete", twin="")
    found = shards.names(replace(SET, leftovers=(done, hub), others=("n.gguf",)), limit())
    assert found.word is Word.PASS
    assert found.evidence == (f"leftover={done.name}", f"leftover={hub.name}", "also here=n.gguf")


@pytest.mark.parametrize(
    ("change", "cause", "fix"),
    [
        (
            {"misnamed": (Misnamed(name="n 2.gguf", expected="m-00002-of-00003.gguf", reason="renamed?"),)},
            "n 2.gguf: renamed?",
            "mv -n '/models/n 2.gguf' /models/m-00002-of-00003.gguf",
        ),
        ({"misnamed": (Misnamed(name="m-9-of-3.gguf", expected="", reason="not of 1 to 3"),)}, "not of 1 to 3", None),
        ({"duplicates": ("m (1).gguf",)}, "m (1).gguf claims a number that is taken", "ls -l /models"),
        ({"leftovers": (PART,)}, "m-00003-of-00003.gguf is not finished", "finish the download"),
        (
            {"leftovers": (replace(PART, twin_present=True, control=True),)},
            "is not finished, whatever its size",
            "let the program finish that began the download",
        ),
        (
            {"form": "ambiguous", "shards": (), "others": ("a.gguf", "b.gguf")},
            "several models: a.gguf, b.gguf",
            "--model /models/a.gguf",
        ),
        (
            {"form": "byte_split", "prefix": "m.gguf", "missing": (4,), "count": 5},
            "number 4 of 5 is not there",
            "download all pieces, and join them then",
        ),
        (
            {"form": "byte_split", "prefix": "m.gguf", "others": ("m.gguf",)},
            "beside the joined file",
            "--model /models/m.gguf",
        ),
        (
            {"form": "byte_split", "prefix": "m.gguf"},
            "cut without headers",
            "cd /models && cat m-00001-of-00003.gguf m-00002-of-00003.gguf m-00003-of-00003.gguf > m.gguf",
        ),
    ],
)
def test_names_that_the_engine_does_not_find_fail(change, cause, fix):
    """Each kind of wrong name has its own cause and its own paste-ready remedy."""
    found = shards.names(replace(SET, **change), limit())
    assert found.word is Word.FAIL
    assert cause in found.cause
    assert fix is None or any(fix in line for line in found.fix)


def test_a_whole_set_is_complete():
    """The whole verdict of a pass."""
    assert shards.complete(SET, TOTAL, FILES, limit()) == verdict(
        Word.PASS,
        measured="3 of 3 shards, 120 B of 120 B",
        required="3 of 3 shards",
        value=3.0,
        unit="count",
        evidence=("size=headers and file sizes",),
    )


def test_all_missing_shards_fail_at_once_with_what_is_left_to_fetch():
    """Numbers are written short, and an estimate is called one."""
    total = SetTotal(present_bytes=40, whole_bytes=280, exact=False, basis="6 of 7 shards taken as the largest")
    found = shards.complete(replace(SET, count=7, shards=(file(1),), missing=(2, 4, 5, 6)), total, FILES, limit())
    assert (found.word, found.value) == (Word.FAIL, 3.0)
    assert found.measured == "3 of 7 shards, 40 B of about 280 B"
    assert found.cause == "missing: 2, 4-6; about 240 B to fetch"
    assert found.fix[0] == "hf download OWNER/REPOSITORY m-00002-of-00007.gguf --local-dir /models"


def test_a_link_to_nothing_is_a_missing_blob():
    """The name is there and the bytes are not."""
    listing = replace(SET, shards=(file(1), file(2, real=False), file(3)))
    found = shards.complete(listing, replace(TOTAL, exact=False), FILES, limit())
    assert found.word is Word.FAIL
    assert "blob missing behind the links m-00002-of-00003.gguf" in found.cause


@pytest.mark.parametrize(
    ("soft", "hard", "word", "fix"),
    [
        (35, 35, Word.PASS, None),
        (34, 64, Word.FAIL, "ulimit -n 35"),
        (34, 34, Word.FAIL, "raise 'nofile' to 35 in /etc/security/limits.conf and log in again"),
        (34, None, Word.FAIL, "ulimit -n 35"),
        (None, None, Word.PASS, None),
    ],
)
def test_a_set_that_cannot_be_opened_at_once_is_of_no_use(soft, hard, word, fix):
    """The engine keeps every shard open while it loads; 32 files more are its own."""
    found = shards.complete(SET, TOTAL, OpenFiles(soft_count=soft, hard_count=hard), limit())
    assert (found.word, found.fix[:1]) == (word, (fix,) if fix else ())
    assert word is Word.PASS or "keeps all shards open" in found.cause


def test_what_is_missing_comes_before_what_cannot_be_opened():
    """Too few files is said of a whole set only."""
    found = shards.complete(replace(SET, missing=(2,)), TOTAL, OpenFiles(soft_count=3, hard_count=3), limit())
    assert found.cause.startswith("missing: 2")


def test_pieces_without_headers_leave_completeness_open():
    """How many there should be stands nowhere."""
    assert shards.complete(replace(SET, form="byte_split"), TOTAL, FILES, limit()).word is Word.ERROR


FAULT = GgufFault(
    kind="magic",
    offset_bytes=0,
    item="magic",
    found="'<!do'",
    expected="'GGUF'",
    cause="a web page?",
    fix=("download the file again",),
)


def test_a_broken_header_fails_with_its_fault():
    """Every fault of every shard stands in the cause, each remedy once."""
    broken = tuple(
        ShardHeader(number=number, name=f"s{number}", header=None, faults=(FAULT,)) for number in range(1, 4)
    )
    found = shards.headers(replace(SET, form="plain", count=1), broken, limit())
    assert (found.word, found.value, found.fix) == (Word.FAIL, 3.0, ("download the file again",))
    assert found.cause.startswith("s1: byte 0: magic: found '<!do', expected 'GGUF'. a web page?; s2: ")
    assert found.measured == "0 sound of 3 headers, 0 tensors, 3 faults"


HANDY = limit(at_least=10 * GB, at_most=20 * GB, total_at_least=100 * GB)
LARGE = SetTotal(present_bytes=100 * GB, whole_bytes=100 * GB, exact=True, basis="headers and file sizes")


@pytest.mark.parametrize(
    ("sizes", "word", "value"),
    [
        ((10 * GB, 10 * GB, 10 * GB), Word.PASS, 10 * GB),
        ((20 * GB, 20 * GB, 20 * GB), Word.PASS, 20 * GB),
        ((20 * GB, 20 * GB + 1, 20 * GB), Word.FAIL, 20 * GB + 1),
        ((20 * GB, 10 * GB - 1, 20 * GB), Word.FAIL, 10 * GB - 1),
        ((1, 15 * GB, 1), Word.PASS, 15 * GB),
    ],
)
def test_sizes_are_judged_at_their_limits(sizes, word, value):
    """Both bounds are inclusive; the first shard may hold keys alone, the last what was left."""
    listing = replace(SET, shards=tuple(file(number, size) for number, size in enumerate(sizes, 1)))
    found = shards.sizes(listing, LARGE, HANDY)
    assert (found.word, found.value, found.samples) == (word, value, tuple(map(float, sizes)))
    assert bool(found.fix) == (word is Word.FAIL)


@pytest.mark.parametrize(("whole", "word"), [(100 * GB - 1, Word.NOT_APPLICABLE), (100 * GB, Word.FAIL)])
def test_small_sets_are_handy_however_they_are_cut(whole, word):
    """Below the floor the question does not arise; the sizes are shown anyway."""
    found = shards.sizes(SET, replace(LARGE, whole_bytes=whole), HANDY)
    assert (found.word, found.measured) == (word, "40 B to 40 B")


def test_a_missing_blob_of_a_hugging_face_cache_is_fetched_into_the_cache():
    """Its repository and revision stand in the path; a copy beside the link would leave the link broken."""
    folder = "/data/hub/models--org--Big-GGUF/snapshots/0123abc/Q4_K_M"
    listing = replace(SET, folder=folder, shards=(file(1), file(2, real=False), file(3)))
    found = shards.complete(listing, replace(TOTAL, exact=False), FILES, limit())
    assert found.fix == (
        "hf download org/Big-GGUF Q4_K_M/m-00002-of-00003.gguf --revision 0123abc --cache-dir /data/hub",
    )

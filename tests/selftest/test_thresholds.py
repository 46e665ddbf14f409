"""Tier files are read strictly: a sound file with one named change gives one line that names file and key."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamworthy import units
from streamworthy.criteria.spec import Limit
from streamworthy.errors import UsageError
from streamworthy.facts.plan import EnginePlan
from streamworthy.thresholds import declared_gates, load_tier, load_tiers

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "thresholds"
SOUND = (FOLDER / "sample.toml").read_text(encoding="utf-8")
FAULTY = sorted((ROOT / "fixtures" / "tiers").glob("*.toml"))


@pytest.fixture
def write(tmp_path):
    """Write a tier file and give its path as text."""

    def put(text, name="broken.toml"):
        path = tmp_path / "tiers" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        return str(path)

    return put


def faults_of(path):
    """Load a broken tier and give its error's lines."""
    with pytest.raises(UsageError) as caught:
        load_tier(path, FOLDER)
    assert caught.value.fix
    return caught.value.message.splitlines()


def test_the_broken_files_are_there():
    """The loop below found its corpus."""
    assert len(FAULTY) >= 35


@pytest.mark.parametrize("fixture", FAULTY, ids=lambda path: path.stem)
def test_one_change_gives_its_own_line(fixture, write):
    """Each fault is told with file, key, found and expected, and nothing else is."""
    change = tomllib.loads(fixture.read_text(encoding="utf-8"))
    assert SOUND.count(change["replace"]) == 1, "the change has to name one place of thresholds/sample.toml"
    text = SOUND.replace(change["replace"], change["by"])
    path = write(text)
    assert faults_of(path) == [f"{path}: {line}" for line in change["faults"]]


def test_all_faults_are_told_at_once(write):
    """A file with three faults is corrected in one go."""
    text = SOUND.replace('at_least = "900 MiB"', 'at_least = "900"').replace('level = "advise"', 'level = "advice"', 1)
    lines = faults_of(write(text.replace("parallel_slots = 1", "parallel_slots = 0")))
    assert [line.split(": ")[1] for line in lines] == [
        "[engine] parallel_slots",
        "[cpu.governor] level",
        "[memory.total] at_least",
    ]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (SOUND.replace("[reference]", "[reference").encode(), "found what is not TOML: "),
        (SOUND.replace("[kernel.version]", "[memory.total]").encode(), "found what is not TOML: "),
        (b"\xff\xfe" + SOUND.encode("utf-16-le"), "found what is not TOML: "),
        (b"", "title: found nothing, expected text"),
        (b"<html>404</html>", "found what is not TOML: "),
    ],
    ids=["cut", "table twice", "utf-16", "empty", "web page"],
)
def test_what_is_no_tier_file_is_told(data, said, write):
    """The first line names the file and what was found."""
    path = write(data)
    assert faults_of(path)[0].startswith(f"{path}: {said}")


def test_an_empty_file_names_every_gate(write):
    """Nothing is assumed for what is missing."""
    lines = "\n".join(faults_of(write("")))
    assert all(f"[{gate}]: found nothing, expected a table" in lines for gate in declared_gates())


def test_a_path_that_cannot_be_read_is_told(tmp_path):
    """A missing file and a folder give the system's reason."""
    (tmp_path / "folder.toml").mkdir()
    (missing,) = faults_of(str(tmp_path / "missing.toml"))
    assert missing == f"{tmp_path}/missing.toml: tier file cannot be read: No such file or directory"
    (folder,) = faults_of(str(tmp_path / "folder.toml"))
    assert folder.endswith("tier file cannot be read: Is a directory")


def test_an_unknown_name_is_answered_with_the_nearest():
    """A typo gets a suggestion and the list of tiers."""
    with pytest.raises(UsageError) as caught:
        load_tier("laptop-32gb", FOLDER)
    assert caught.value.message == (
        "tier: found 'laptop-32gb', expected the name or file of a tier: did you mean 'laptop-32g'?"
    )
    assert "fits-in-ram | laptop-16g | laptop-32g" in caught.value.fix


def test_a_folder_without_tiers_is_an_error(tmp_path):
    """No tier is no permission."""
    with pytest.raises(UsageError, match=r"found no tier file, expected NAME\.toml"):
        load_tiers(tmp_path)


def test_a_name_and_a_path_give_the_same_tier(write):
    """The name is the file's; the hash is of its bytes; only place and name differ for a copy."""
    tier = load_tier("sample", FOLDER)
    copy = load_tier(write(SOUND, "mine.toml"), FOLDER)
    assert (tier.name, copy.name) == ("sample", "mine")
    assert tier.sha256 == copy.sha256 == hashlib.sha256(SOUND.encode()).hexdigest()
    limits = {gate: replace(limit, see=tier.limits[gate].see) for gate, limit in copy.limits.items()}
    assert replace(copy, name="sample", path=tier.path, limits=limits) == tier


def test_a_file_of_ones_own_is_named_as_it_was_given(write):
    """Two files of one name in folders of one name are told apart."""
    path = write((FOLDER / "sample.toml").read_text(encoding="utf-8"))
    assert load_tier(str(path), FOLDER).limits["memory.total"].see == f"{path} [memory.total]"
    assert load_tier("sample", FOLDER).limits["memory.total"].see == "thresholds/sample.toml [memory.total]"


def test_a_limit_holds_canonical_units_and_where_to_see_it():
    """Whole record of one gate."""
    assert load_tier("laptop-32g", FOLDER).limits["load.mmap"] == Limit(
        gate="load.mmap",
        level="require",
        unknown="error",
        values={"at_least": 1.3e9},
        reason="The engine reads every byte once before the first token, whatever the token needs.",
        basis="The reference reads 390.0 GB at 3.0 GB/s x 60 %, 3 s of start: 3 min 40 s, 1.8 GB/s; three quarters of "
        "it.",
        see="thresholds/laptop-32g.toml [load.mmap]",
    )


def test_an_excluded_gate_has_a_reason_and_no_limit():
    """Whole record of a gate that a tier does not ask."""
    assert load_tier("xeon-128g", FOLDER).limits["decode.cold_rate"] == Limit(
        gate="decode.cold_rate",
        level="not_applicable",
        unknown="error",
        values={},
        reason="Weights are locked: they cannot be evicted after the load, so decoding is never cold.",
        basis="",
        see="thresholds/xeon-128g.toml [decode.cold_rate]",
    )


def test_the_engine_table_becomes_the_plan():
    """Whole plan, with words turned into values."""
    assert load_tier("xeon-128g", FOLDER).plan == EnginePlan(
        context_tokens=262_144,
        prompt_tokens=256,
        decode_tokens=64,
        threads=None,
        batch_tokens=512,
        ubatch_tokens=512,
        mmap=True,
        repack=False,
        lock_bytes=-1,
        kv_type="f16",
        swa_full=True,
        parallel_slots=1,
        prompt_cache_bytes=0,
        numa="disabled",
    )


def test_every_shipped_tier_has_every_gate():
    """Six complete files: the declared gates, no more and no less, a reason for each and a basis for what is timed."""
    tiers = load_tiers(FOLDER)
    assert len(tiers) == 6
    for tier in tiers:
        assert set(tier.limits) == set(declared_gates())
        assert all(limit.reason for limit in tier.limits.values())
        timed = {gate for gate, limit in tier.limits.items() if gate.startswith(("load", "first", "pre", "decode"))}
        assert all(tier.limits[gate].basis for gate in timed if tier.limits[gate].values)


@given(
    st.sampled_from(["at_least", "at_most", "level", "reason", "basis", "unknown", "accept", "context_tokens"]),
    st.one_of(
        st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=20),
        st.lists(st.integers(), max_size=2),
    ),
    st.integers(0, 400),
)  # fmt: skip
def test_no_value_brings_a_traceback(tmp_path_factory, key, value, line_number):
    """Whatever stands behind a key, a file is loaded or refused with lines that name it."""
    lines = SOUND.splitlines()
    at = next((i for i in range(line_number % len(lines), len(lines)) if lines[i].startswith(f"{key} = ")), None)
    if at is None or lines[at].endswith('"""'):
        return
    lines[at] = f"{key} = {_toml(value)}"
    path = tmp_path_factory.mktemp("tiers") / "fuzzed.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    try:
        load_tier(str(path), FOLDER)
    except UsageError as error:
        lines = error.message.splitlines()
    else:
        lines = []
    assert all("fuzzed.toml: " in line for line in lines)


def _toml(value):
    """Write a value as TOML; text by code points, so that nothing in it is special."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{"".join(f"{chr(92)}U{ord(each):08X}" for each in value)}"'
    return repr(value)


@given(st.binary(max_size=300))
def test_no_bytes_bring_a_traceback(tmp_path_factory, data):
    """Any file is refused with a line that names it."""
    path = tmp_path_factory.mktemp("tiers") / "bytes.toml"
    path.write_bytes(data)
    assert all("bytes.toml: " in line for line in faults_of(str(path)))


@pytest.mark.parametrize(
    ("kind", "unit", "factor"),
    [
        (units.BYTES, "MiB", 2**20),
        (units.BYTES, "GB", 1e9),
        (units.SECONDS, "ms", 1e-3),
        (units.BYTES_PER_SECOND, "MB/s", 1e6),
        (units.TOKENS_PER_SECOND, "tok/s", 1),
        (units.SHARE, "%", 0.01),
    ],
)
@given(number=st.decimals(0, 10**6, places=3), space=st.sampled_from(["", " ", "  "]))
def test_a_quantity_means_its_number_times_its_unit(kind, unit, factor, number, space):
    """Every number with a unit of the kind is read; the same number with no unit is not."""
    assert kind.parse(f"{number}{space}{unit}") == pytest.approx(float(number) * factor)
    with pytest.raises(ValueError, match=unit):
        kind.parse(f"{number}")


KINDS = [kind for kind in vars(units).values() if isinstance(kind, units.Kind)]
WORDS = st.text()
ANYTHING = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), WORDS, st.lists(WORDS), st.dictionaries(WORDS, WORDS)
)


@given(st.sampled_from(KINDS), ANYTHING)
def test_a_kind_reads_a_value_or_says_what_it_accepts(kind, value):
    """Nothing but ValueError comes out, and it has a text."""
    try:
        kind.parse(value)
    except ValueError as error:
        said = str(error)
    else:
        said = "read"
    assert said

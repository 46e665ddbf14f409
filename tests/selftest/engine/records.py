"""Sound records that tests of the engine and of its criteria start from. Not a test."""

from __future__ import annotations

from dataclasses import replace

from streamworthy.facts.episode import (
    Answers,
    Conditions,
    EngineBuild,
    EngineFailure,
    EngineState,
    Episode,
    Mapping,
    Phase,
    Residency,
    Sample,
    Series,
)

MIB = 2**20

CONDITIONS = Conditions(
    io_full_share=0.25,
    memory_full_share=0.0,
    temperature_celsius=41.0,
    device_bytes=400 * MIB,
    engine_bytes=390 * MIB,
    disturbers=(),
    hidden="",
    cpu=None,
)
STATE = EngineState(
    mapped_bytes=200 * MIB,
    random_bytes=0,
    rss_anon_bytes=60 * MIB,
    rss_file_bytes=190 * MIB,
    locked_bytes=0,
    base_bytes=25 * MIB,
    kv_bytes=20 * MIB,
    compute_bytes=15 * MIB,
    repack_bytes=0,
    context_tokens=256,
    threads=1,
    load_mode="mmap",
    flash_attention="enabled",
    unmapped="",
)
BUILD = EngineBuild(
    name="llama-cpp-python",
    version="0.3.36",
    commit="0c1e570",
    flags="native",
    cmake_args="-DGGML_NATIVE=ON",
    compiler="g++ 12.2.0",
    features="AVX2 = 1",
)
SAMPLE = Sample(
    seconds=2.0,
    tokens=8,
    device_bytes=40 * MIB,
    major_faults=7,
    resident_share=0.0,
    gap_seconds=(),
    note="",
    conditions=CONDITIONS,
)
ANSWERS = Answers(
    tokens=((1, 2, 3, 4), (1, 2, 3, 4)), texts=(" one two", " one two"), reference=None, refused="", failure=None
)
FAILURE = EngineFailure(message="engine: crashed with SIGSEGV", fix=("check the hashes",), log=("line a", "line b"))
COLD = Residency(resident_bytes=0, total_bytes=200 * MIB, method="cachestat")
MAPPING = Mapping(
    engine=STATE,
    tensor_bytes=200 * MIB,
    available_bytes=100 * MIB,
    repack_asked=False,
    mmap_asked=True,
    numa_asked="disabled",
    refused="",
    failure=None,
)


def make_series(*seconds, **changes):
    """Make a sound series with one sample for each number of seconds, 8 tokens each."""
    series = Series(
        metric="decode.warm_rate",
        state="warm, resident",
        samples=tuple(replace(SAMPLE, seconds=value) for value in seconds),
        wanted_count=5,
        depth="quick",
        gates_count=6,
        file_bytes=200 * MIB,
        ceiling_tokens_per_second=40.0,
        excluded="",
        refused="",
        refused_fix=(),
        failure=None,
        answers=ANSWERS,
    )
    return replace(series, **changes)


def make_phase(name, **changes):
    """Make a phase that began cold."""
    phase = Phase(
        name=name,
        seconds=2.0,
        tokens=8,
        token_seconds=(),
        token_device_bytes=(),
        device_bytes=40 * MIB,
        major_faults=7,
        before=COLD,
        after=None,
    )
    return replace(phase, **changes)


def make_episode(*phases, **changes):
    """Make an episode of these phases."""
    episode = Episode(
        state="cold",
        number=0,
        start_seconds=1.0,
        first_token_seconds=3.5,
        phases=phases,
        answer=(1, 2, 3, 4),
        answer_text=" one two",
        engine=STATE,
        build=BUILD,
        conditions=CONDITIONS,
    )
    return replace(episode, **changes)

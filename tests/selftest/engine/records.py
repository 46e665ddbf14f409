"""Sound records that tests of the engine and of its criteria start from. Not a test."""

from __future__ import annotations

from dataclasses import replace

from streamworthy.facts.counters import Counters
from streamworthy.facts.episode import (
    Answers,
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
from streamworthy.facts.workload import NOTHING_MEASURED, Workload

MIB = 2**20

WORKLOAD = Workload(
    file_bytes=200 * MIB,
    available_bytes=150 * MIB,
    bytes_per_token=20 * MIB,
    slab_bytes=MIB // 8,
    threads_count=2,
    performance_cores_count=None,
    read_ahead=None,
    fault_bytes_per_second=300e6,
    memory_bytes_per_second=40.0 * 20 * MIB,
    measured=NOTHING_MEASURED,
)

COUNTERS = Counters(
    seconds=2.01,
    ticks_count=12,
    io_some_share=0.5,
    io_full_share=0.25,
    memory_full_share=0.0,
    cpu_some_share=0.1,
    device_bytes=400 * MIB,
    device_busy_share=0.4,
    device_queue_depth=2.5,
    engine_bytes=390 * MIB,
    engine_cores=1.25,
    major_faults=7,
    anonymous_bytes=60 * MIB,
    swapped_bytes=0,
    refaulted_bytes=30 * MIB,
    swapped_in_bytes=0,
    kswapd_cores=0.0,
    device_celsius=41.0,
    cpu_celsius=None,
    clock_share=None,
    throttle_count=None,
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
    hint_refused="",
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
    counters=COUNTERS,
    disturbers=(),
    hidden="",
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
        state="warm, steady",
        samples=tuple(replace(SAMPLE, seconds=value) for value in seconds),
        wanted_count=5,
        depth="quick",
        gates_count=6,
        workload=WORKLOAD,
        excluded="",
        refused="",
        refused_fix=(),
        stopped_by=None,
        interventions=(),
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
        counters=COUNTERS,
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
        first_token_counters=COUNTERS,
        phases=phases,
        answer=(1, 2, 3, 4),
        answer_text=" one two",
        engine=STATE,
        build=BUILD,
        disturbers=(),
        hidden="",
    )
    return replace(episode, **changes)

"""What the sampler costs: a tick of it, and what it takes of the rate of an engine beside which it runs."""

from __future__ import annotations

import math
import os
import sys
import tempfile
import threading
import time
from bisect import bisect_left
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from statistics import median

import psutil
import pytest

from streamworthy.bench.sampler import TICK_SECONDS, Sampler
from streamworthy.bench.sources import Sources
from streamworthy.engine.runner import Engine
from streamworthy.facts.plan import PLAIN_PLAN
from streamworthy.probes.sysroot import Sysroot
from streamworthy.sample.make import ensure_sample
from streamworthy.sample.spec import DEFAULT_SIZE_BYTES, spec_for_size
from streamworthy.sample.text import passages

pytestmark = pytest.mark.benchmark

TOGGLE_SECONDS = 0.4
TOGGLES = 201  # on, off, on, ...: a hundred stretches with the sampler, each between two without
MOST_SHARE = 0.01
_BUSY_SHARE = 0.2
PLAN = replace(
    PLAIN_PLAN, context_tokens=32_768, prompt_tokens=16, decode_tokens=32_000, batch_tokens=64, ubatch_tokens=64
)


@pytest.fixture
def engine():
    """Load the sample into an engine of as many threads as there are cores, and warm it up; or skip."""
    pytest.importorskip("llama_cpp", reason="the engine is not installed")
    threads = len(os.sched_getaffinity(0))
    busy = psutil.cpu_percent(interval=1.0) / 100  # the load average also counts who waits, and the last minute
    if busy > _BUSY_SHARE:
        pytest.skip(f"other processes want these cores ({busy:.0%} of all are busy)")
    with tempfile.TemporaryDirectory() as folder, Engine(Path(folder)) as running:
        shards = [str(ensure_sample(Path(folder), spec_for_size(DEFAULT_SIZE_BYTES)))]
        running.ask("prepare", limit_seconds=60.0)
        running.ask("load", limit_seconds=60.0, shards=shards, plan=asdict(PLAN), threads=threads)
        yield running


def devices():
    """Name some of this machine's disks: as many leaf devices as a model is likely to lie on."""
    return [name for name in Sysroot().names("sys/block") if not name.startswith(("loop", "ram", "zram"))][:4]


def ask_to_decode(engine, tokens):
    """Feed a prompt and time the tokens that follow in the text."""
    prompt = {"texts": passages(), "tokens": PLAN.prompt_tokens, "spare": tokens, "batch": PLAN.batch_tokens}
    engine.ask("prompt", limit_seconds=600.0, **prompt)
    return engine.ask("decode", limit_seconds=1800.0, tokens=tokens)


def toggle(engine, ended):
    """Switch the sampler on and off until the end; gives the moments, the first of which switches it on."""
    moments = []
    while not ended.is_set():
        moments.append(time.monotonic())
        with Sampler(Sysroot(), devices(), threads=2, tick_seconds=TICK_SECONDS) as sampler:
            sampler.watch(engine.pid)
            ended.wait(TOGGLE_SECONDS)
        moments.append(time.monotonic())
        ended.wait(TOGGLE_SECONDS)
    return moments


def rates_of(arrivals, moments):
    """Give the tokens a second of each stretch between two moments, from its first arrival to its last; 0 of none."""
    found = []
    for begin, end in pairwise(moments):
        part = arrivals[bisect_left(arrivals, begin) : bisect_left(arrivals, end)]
        found.append((len(part) - 1) / (part[-1] - part[0]) if len(part) > 1 else 0.0)
    return found


def ratios_of(rates):
    """Give each second rate over the mean of its neighbours: what the growing context costs falls out."""
    threes = zip(rates[0::2], rates[1::2], rates[2::2], strict=False)
    return [2 * rate / (before + after) for before, rate, after in threes if before and after]


def interval(values):
    """Give the 95 % interval of a median from the values' order (the sign test's), whatever their distribution."""
    ordered, reach = sorted(values), 0.98 * math.sqrt(len(values))
    middle = (len(values) - 1) / 2
    return ordered[max(0, math.floor(middle - reach))], ordered[min(len(values) - 1, math.ceil(middle + reach))]


def test_the_rate_beside_the_sampler(benchmark, engine, capsys):
    """Switched on and off every 0.4 s inside one run of decoded tokens, it takes less than 1 % of the rate.

    Shown by the whole interval; where only a part of it says so, nothing is.
    """
    usual = ask_to_decode(engine, 200)
    tokens = min(PLAN.decode_tokens, math.ceil(1.1 * TOGGLES * TOGGLE_SECONDS * 200 / usual["seconds"]))
    ended, moments = threading.Event(), []
    switch = threading.Thread(target=lambda: moments.extend(toggle(engine, ended)))
    switch.start()
    try:
        decoded = benchmark.pedantic(ask_to_decode, args=(engine, tokens), rounds=1)
    finally:
        ended.set()
        switch.join()
    arrivals = [decoded["began"] + seconds for seconds in decoded["token_seconds"]]
    inside = [moment for moment in moments if arrivals[0] <= moment < arrivals[-1]]
    rates = rates_of(arrivals, inside[moments.index(inside[0]) % 2 == 0 :])  # the first of them without the sampler
    ratios = ratios_of(rates)
    noise = median(abs(1 - after / before) for before, after in pairwise(rates[0::2]) if before)
    low, high = interval(ratios)
    told = (
        f"with the sampler {median(ratios):.4f} of the rate without (95 % interval {low:.4f} to {high:.4f}, "
        f"{len(rates)} toggles, {median(rates):.0f} tok/s; two stretches without differ by {noise:.4f})"
    )
    benchmark.extra_info.update(ratio=median(ratios), low=low, high=high, noise=noise, rates=rates)
    with capsys.disabled():
        sys.stdout.write(f"\n{told}\n")
    assert len(rates) >= TOGGLES // 2
    if low < 1 - MOST_SHARE <= high:
        pytest.skip(f"this machine is too uneven to tell: {told}")
    assert low >= 1 - MOST_SHARE, told


def test_a_tick(benchmark):
    """A tick takes less than a thousandth of the time between two: of one core, while the engine has all."""
    sources = Sources(Sysroot(), devices(), threads=2)
    sources.watch(os.getpid())
    try:
        benchmark(sources.read, clocks=True, heat=True, census=None)
    finally:
        sources.close()
    if benchmark.stats is not None:
        assert benchmark.stats.stats.median < TICK_SECONDS / 1000

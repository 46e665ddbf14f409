"""What the sampler costs: one tick of it, and the tokens a second that it takes from an engine beside which it runs."""

from __future__ import annotations

import itertools
import os
import threading
import time
from bisect import bisect_left, bisect_right
from dataclasses import asdict, replace
from statistics import mean, stdev

import pytest

from streamworthy.bench.sampler import TICK_SECONDS, Sampler
from streamworthy.bench.sources import Sources
from streamworthy.engine.runner import Engine
from streamworthy.engine.task import ANSWER_PROMPT, EngineTask
from streamworthy.facts.plan import EnginePlan
from streamworthy.probes.sysroot import Sysroot
from streamworthy.sample.make import ensure_sample
from streamworthy.sample.spec import SampleSpec

pytestmark = pytest.mark.benchmark

DEVICES = tuple(Sysroot().names("sys/block")) if Sysroot().exists("sys/block") else ()

"""llama.cpp's NUMA modes on a machine that looks as if it had two memory nodes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.selftest.engine.real_model import copy_real_model

_REPOSITORY = Path(__file__).parents[3]
_JUDGE = """
import json, sys
from dataclasses import replace
from pathlib import Path
from streamworthy.criteria import load
from streamworthy.engine.pool import Pool
from tests.selftest.criteria.asked import limit
from tests.selftest.engine.run_pool import PLAN, make_task

numa, model, scratch = sys.argv[1:]
task = make_task([Path(model)], plan=replace(PLAN, numa=numa), available_bytes=2**20)
with Pool(task, scratch=Path(scratch), budget_seconds=600.0, depth="quick", disturb=True, progress=str) as pool:
    found = load.mapped_share(
        pool.mapping, limit("load.mapped_share", at_least=0.98, anonymous_at_most=1.3)
    )
    print(json.dumps([found.word, found.cause, found.evidence]))
"""
_TWO_NODES = """
mount -t tmpfs none /sys/devices/system/node &&
mkdir -p /sys/devices/system/node/node0/cpu0 /sys/devices/system/node/node1/cpu0 && exec "$@"
"""


def judge(numa, folder, before=()):
    """Judge how a streamed model is mapped: word, cause, evidence."""
    model = copy_real_model(folder)
    ran = subprocess.run(
        [*before, sys.executable, "-c", _JUDGE, numa, model, folder],
        cwd=_REPOSITORY,
        env=os.environ | {"PYTHONPATH": str(_REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


def two_nodes():
    """Give what a command is put behind, so that it sees two nodes in a mount namespace of its own."""
    command = ["unshare", "--mount", "sh", "-c", _TWO_NODES, "sh"]
    tried = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"no mount namespace: {tried.stderr.strip()}")
    return command


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts over /sys in a namespace of its own, which takes root")
@pytest.mark.parametrize(("numa", "word"), [("disabled", "pass"), ("distribute", "FAIL"), ("numactl", "FAIL")])
def test_a_mode_that_reads_page_by_page_fails(numa, word, tmp_path):
    """The engine itself marks the weights; the gate sees it in the maps of the engine's process."""
    found, cause, evidence = judge(numa, tmp_path, two_nodes())

    assert found == word
    assert ("random_access=0 B" in evidence) is (word == "pass")
    assert cause.startswith(f"the engine's numa = {numa} marks the mapped weights") or word == "pass"


def test_a_mode_without_an_effect_is_no_fault(tmp_path):
    """With one node the engine leaves the maps as they are, whatever it was asked."""
    if Path("/sys/devices/system/node/node1").exists():
        pytest.skip("this machine has more than one memory node")
    found, _, evidence = judge("distribute", tmp_path)

    assert found == "pass"
    assert {"random_access=0 B", "numa=distribute"} <= set(evidence)

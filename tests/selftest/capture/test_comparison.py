"""Facts of a machine and of its capture are compared whole, names by their stand-ins."""

from __future__ import annotations

from dataclasses import replace

from streamworthy.capture.comparison import FACTS, differing, learn
from streamworthy.capture.scrubber import Scrubber
from streamworthy.errors import ProbeError
from streamworthy.probes.machine import Machine
from tests.selftest.probes.folder import captured

SCRUBBER = Scrubber(hosts=(), users=("ada",), kept=())


def test_every_fact_of_a_machine_is_asked():
    """A probe that is added to the machine is captured without a word here."""
    assert {"cpu", "memory", "swap", "memlock", "kernel", "host", "volumes", "latency"} <= set(FACTS)


def test_the_same_facts_do_not_differ():
    """A fact that neither machine tells is the same, too: no plan is given here."""
    before, after = (learn(Machine(captured("laptop-nvme"))) for _ in range(2))
    assert isinstance(before["memlock"], ProbeError)
    assert differing(before, after, SCRUBBER) == ()


def test_what_differs_is_named_down_to_its_part():
    """A number deep in a record, a part that only one has, and a fact that only one could learn."""
    before = learn(Machine(captured("laptop-nvme")))
    memory = replace(before["memory"], total_bytes=1)
    volume = replace(before["volumes"].volumes[0], shards=())
    after = {
        **before,
        "memory": memory,
        "volumes": replace(before["volumes"], volumes=(volume,)),
        "kernel": ProbeError("gone"),
    }
    assert differing(before, after, SCRUBBER) == ("memory.total_bytes", "kernel", "volumes.volumes.0.shards")


def test_a_name_equals_its_stand_in():
    """The capture shows /home/user1 where the machine has /home/ada; another user is another name."""
    host = learn(Machine(captured("laptop-nvme")))["volumes"]
    assert differing({"volumes": host}, {"volumes": replace(host, home="/home/user1")}, SCRUBBER) == ("volumes.home",)
    ada, stand_in, other = (replace(host, home=f"/home/{name}") for name in ("ada", "user1", "user7"))
    assert differing({"volumes": ada}, {"volumes": stand_in}, SCRUBBER) == ()
    assert differing({"volumes": ada}, {"volumes": other}, SCRUBBER) == ("volumes.home",)

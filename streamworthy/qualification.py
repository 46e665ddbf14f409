"""One qualification from request to closing verdict: what is judged, by which tier, and what came of it.

Knows no pytest: the face calls ``prepare``, hands in each gate's verdict with ``settle``, and ends with ``end`` and
``write``.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from streamworthy.applies import applying_fix, check_applies, choose_tier
from streamworthy.criteria.clock import despite_battery
from streamworthy.criteria.statistical import COMPUTED, asked_gates
from streamworthy.errors import ProbeError, StreamworthyError, UsageError
from streamworthy.facts.workload import NOTHING_MEASURED
from streamworthy.preparation import (
    BUDGET_SECONDS,
    applicability,
    find_machine,
    find_subject,
    make_bench,
    make_pool,
    make_scratch,
)
from streamworthy.probes.frequency import probe_governor
from streamworthy.probes.sysroot import Sysroot
from streamworthy.report.facts_file import learned, write_facts
from streamworthy.report.identity import hidden_names, read_salt
from streamworthy.report.junit import finish_junit
from streamworthy.report.properties import format_bounds, suite_properties
from streamworthy.report.self_check import self_check_lines
from streamworthy.stats_plan import plan_for
from streamworthy.thresholds import load_tier, load_tiers
from streamworthy.units import format_seconds
from streamworthy.verdict import Closing, Outcome, Verdict, Word, close, soften
from streamworthy.waivers import NO_WAIVERS, load_waivers

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamworthy.bench.bench import Bench
    from streamworthy.criteria.spec import Limit
    from streamworthy.engine.pool import Pool
    from streamworthy.facts.request import Request
    from streamworthy.gguf.subject import Subject
    from streamworthy.probes.machine import Machine
    from streamworthy.thresholds import Tier


class Qualification:
    """The state of one run. ``say`` takes a line for the user."""

    def __init__(self, request: Request, say: Callable[[str], None]) -> None:
        self.request = request
        self.say = say
        self.started = datetime.now(UTC)
        self.asked: tuple[str, ...] = ()
        self.outcomes: dict[str, Outcome] = {}
        self.closing: Closing | None = None
        self.machine: Machine | None = None
        self.subject: Subject | None = None
        self.tier: Tier | None = None
        self.pool: Pool | None = None
        self.bench: Bench | None = None
        self.waivers = NO_WAIVERS

    def prepare(self, asked: tuple[str, ...]) -> None:
        """Find the model, the machine and the tier; StreamworthyError when the run cannot begin."""
        self.asked = asked
        request = self.request
        root = Sysroot(request.sysroot or Path("/"))
        self.machine = find_machine(root, None)  # a run that cannot begin still says where
        self.waivers = load_waivers(request.waivers, self.started.date()) if request.waivers else NO_WAIVERS
        self.subject = find_subject(request, live=root.live, say=self.say)
        self.machine = find_machine(root, self.subject)
        self.tier = self._find_tier()
        self.machine.plan = self.tier.plan
        budget = format_seconds(BUDGET_SECONDS[request.depth])
        self.say(f"qualification: {self.scope.partition(';')[0]}, at most {budget} of engine time")
        if root.live and (gates := asked_gates(self.tier.limits)):
            self.say(plan_for(request.depth, len(gates)).summary)

    def performance(self) -> Pool | None:
        """Give the pool of timed episodes, made at the first call; None where no engine can run."""
        if self.pool is None and self.machine and self.machine.root.live and self.tier and self.subject:
            self.pool = make_pool(
                self.request,
                self.tier,
                self.machine,
                self.subject,
                asked=self.asked,
                say=self.say,
                measured=lambda: self.bench.measured if self.bench else NOTHING_MEASURED,
            )
        return self.pool

    def measurements(self) -> Bench | None:
        """Give what measures disk and memory, made at the first call; None on a captured machine.

        The engine is ended before: its maps would keep the shards in memory.
        """
        if self.bench is None and self.machine and self.machine.root.live and self.tier and self.subject:
            self.bench = make_bench(self.request, self.tier, self.machine, self.subject)
            if self.pool is not None:
                self.pool.close()
        return self.bench

    def lock_proof(self) -> int | None:
        """Lock the tier's region in an engine child: VmLck in bytes; None where there is nothing to prove.

        That is on a captured machine, under a limit that is too low, and for weights, whose lock is proved at the load.
        """
        if not (self.machine and self.machine.root.live and self.tier and self.tier.plan.lock_bytes > 0):
            return None
        if not self.machine.memlock.enough:
            return None
        from streamworthy.engine.runner import prove_lock

        return prove_lock(self.tier.plan.lock_bytes, make_scratch(self.request.scratch))

    def _find_tier(self) -> Tier:
        assert self.machine is not None  # noqa: S101 - for the type checker: prepare sets it before
        facts = applicability(self.machine, self.subject, sample=self.request.model is None)
        if self.request.tier is None:
            return choose_tier(load_tiers(self.request.tiers), facts)
        tier = load_tier(self.request.tier, self.request.tiers)
        reasons = check_applies(tier, facts)
        if reasons:
            told = "; or ".join(reasons)
            raise UsageError(f"tier {tier.name}: does not apply: {told}", fix=applying_fix(tier, facts))
        return tier

    def limit(self, gate: str) -> Limit:
        """Give what the tier requires of a gate; UsageError when the tier does not know it."""
        if self.tier is None or gate not in self.tier.limits:
            raise UsageError(f"{gate}: the tier has no limit for this gate", fix="add it to the tier file")
        return self.tier.limits[gate]

    def settle(self, gate: str, found: Verdict, *, why: str) -> Outcome:
        """Take a gate's verdict: soften it as the tier says, waive it as a waiver says, and keep it."""
        limit = self.tier.limits.get(gate) if self.tier else None
        if limit is not None:
            found = soften(found, level=limit.level, unknown=limit.unknown)
        if gate in COMPUTED and self._on_battery():
            found = despite_battery(found)
        if found.word in (Word.FAIL, Word.ERROR, Word.INCONCLUSIVE):
            found = self._waive(gate, found)
        outcome = Outcome(
            gate=gate,
            verdict=found,
            why=why,
            see=limit.see if limit else "",
            level=limit.level if limit else "",
            bounds=format_bounds(limit) if limit else (),
        )
        self.outcomes[gate] = outcome
        return outcome

    def _on_battery(self) -> bool:
        """Tell it of the run's beginning and of now: a plug may be pulled in between."""
        try:
            machine = self.machine
            return bool(machine and (machine.governor.on_battery or probe_governor(machine.root).on_battery))
        except ProbeError:
            return False

    def _waive(self, gate: str, found: Verdict) -> Verdict:
        machine = self.host if self.machine else ""
        waiver = self.waivers.find(gate, machine=machine, tier=self.tier.name if self.tier else "")
        if waiver is None:
            return found
        told = f"{waiver.reason} (owner {waiver.owner}, until {waiver.expires}); it was {found.word}: {found.cause}"
        return replace(found, word=Word.WAIVED, cause=told.removesuffix(": "))

    @property
    def host(self) -> str:
        """The judged machine's name; "unknown" when it cannot be learned."""
        try:
            return self.machine.host.name if self.machine else "unknown"
        except ProbeError:
            return "unknown"

    @property
    def complete(self) -> bool:
        """Tell whether the whole tier was asked of a named model on this machine."""
        return (
            self.tier is not None
            and self.tier.deployment
            and self.request.model is not None
            and self.request.sysroot is None
            and set(self.outcomes) == set(self.tier.limits)
        )

    @property
    def scope(self) -> str:
        """Say what the verdict covers, and what keeps it from being whole."""
        tier = f"tier {self.tier.name}" if self.tier else "no tier"
        model = self.subject.name if self.subject else "no model"
        parts = [f"{model} on {self.shown_host}, {tier}, depth {self.request.depth}"]
        if self.request.sysroot is not None:
            parts.append("a captured machine")
        elif self.request.model is None:
            parts.append("the sample model only")
        if self.tier is not None and set(self.outcomes) != set(self.tier.limits):
            parts.append(f"{len(self.outcomes)} of {len(self.tier.limits)} gates")
        return "; ".join(parts)

    @property
    def hidden(self) -> dict[str, str]:
        """What is written instead of names, when the run is anonymous, and of what the model's keys give away."""
        try:
            leaking = self.subject.leaking_texts if self.subject else {}
        except StreamworthyError:  # told by the gates of the model
            leaking = {}
        return leaking | self._names

    @property
    def _names(self) -> dict[str, str]:
        return hidden_names(self.host, read_salt()) if self.request.anonymous else {}

    @property
    def shown_host(self) -> str:
        """The host's name, or its salted id when the run is anonymous."""
        return self._names.get(self.host, self.host)

    def end(self, *, interrupted: bool) -> None:
        """End the engine and say the closing word; an interrupted run decides nothing but what failed by then."""
        if self.pool is not None:
            self.pool.close()
        if self.bench is not None:
            self.bench.disk.close()
        words = [outcome.verdict.word for outcome in self.outcomes.values()]
        undecided = interrupted and Word.FAIL not in words
        self.closing = Closing.UNDECIDED if undecided else close(words, complete=self.complete)
        tier = self.tier.name if self.tier else None
        self.notes = list(self.waivers.notes(used=self._waived(), machine=self.host, tier=tier))
        if self.request.self_check and self.pool is not None and self.tier is not None:
            judged = [gate for gate in self.outcomes if self.outcomes[gate].verdict.samples]
            self.notes += self_check_lines(judged, self.pool, self.tier.limits)

    def _waived(self) -> frozenset[str]:
        return frozenset(gate for gate, outcome in self.outcomes.items() if outcome.verdict.word is Word.WAIVED)

    def write(self, junit: Path | None) -> None:
        """Finish the JUnit file that pytest wrote, None where it wrote none, and write facts.json into the report."""
        folder = self.request.report
        if folder is None and junit is None:
            return
        properties, hidden = suite_properties(self), self.hidden
        if folder is not None:
            write_facts(folder / "facts.json", self._facts(properties), hidden)
        if junit is not None:
            finish_junit(junit, properties, hidden)

    def _facts(self, properties: dict[str, str]) -> dict[str, object]:
        sources: dict[str, object] = {"machine": self.machine, "model": self.subject, "performance": self.pool}
        if self.bench is not None:
            sources |= {"disk": self.bench.disk, "bench": self.bench}
        learned_facts = {name: learned(source) for name, source in sources.items() if source is not None}
        if self.pool is not None:
            learned_facts["performance"]["episodes"] = self.pool.episodes
        return {"run": properties, **learned_facts, "outcomes": self.outcomes}

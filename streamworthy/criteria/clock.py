"""Whether the CPUs' clock is free to rise. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from streamworthy.units import format_share
from streamworthy.verdict import Verdict, Word, not_applicable, unknown, verdict

if TYPE_CHECKING:
    from streamworthy.criteria.spec import Limit
    from streamworthy.facts.conditions import GovernorFacts

_FIX = (
    "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor   # until the next start",
    "sudo systemctl disable --now tlp auto-cpufreq power-profiles-daemon   # whichever of them sets it back",
)
_NEARLY_ALL_SHARE, _CAPPED_SHARE = 0.95, 0.5  # in between: turbo switched off, as many servers are on purpose
_CAP_FIX = (
    "grep . /sys/devices/system/cpu/cpu*/cpufreq/scaling_max_freq /sys/devices/system/cpu/intel_pstate/*_p*",
    "sudo cpupower frequency-set --max 10GHz; echo 100 | sudo tee /sys/devices/system/cpu/intel_pstate/max_perf_pct",
    "that lasts until the next start, or until what lowers it comes again: tlp, thermald, the firmware's power limit",
)
_BALANCED = ("performance", "powersave")  # of a processor that chooses its clock itself: both let it rise


def judge_clock(facts: GovernorFacts, limit: Limit) -> Verdict:
    """Judge the battery, then governors against those accepted, the highest clock, and the processor's own preference.

    The battery comes first: power managers hold the clock down because of it, and let go when it is charged.
    """
    if facts.on_battery:
        word = Word.ADVICE if limit.level == "advise" else Word.INCONCLUSIVE
        return _say(word, facts, limit, "the machine runs on battery, where its clock is limited", ("plug it in",))
    if not facts.drivers:
        return not_applicable("this kernel does not choose the clock (no cpufreq): the hypervisor or firmware does")
    if not facts.governors:
        return unknown(
            "cpufreq names a driver and no governor", "cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"
        )
    accept = limit.values["accept"]
    slow = [word for word in facts.governors if word not in accept and not (facts.active and word in _BALANCED)]
    if slow:
        cause = f"the governor {', '.join(slow)} holds the clock down while threads wait for the disk"
        return _say(Word.FAIL, facts, limit, cause, _FIX)
    return _judge_asked(facts, limit)


def _judge_asked(facts: GovernorFacts, limit: Limit) -> Verdict:
    """Judge what a processor with the right governor is asked for: how high it may clock, and to save power or not."""
    share = 1.0 if facts.highest_share is None else facts.highest_share
    if share < _NEARLY_ALL_SHARE:
        cause = f"the clock may rise to {format_share(share)} of the processor's highest and no further"
        return _say(Word.FAIL if share < _CAPPED_SHARE else Word.ADVICE, facts, limit, cause, _CAP_FIX)
    if "power" in facts.preferences:
        return _say(Word.ADVICE, facts, limit, "the processor is asked to save power", (_PREFERENCE_FIX,))
    return _say(Word.PASS, facts, limit, "", ())


_PREFERENCE_FIX = (
    "echo balance_performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference"
)


def _say(word: Word, facts: GovernorFacts, limit: Limit, cause: str, fix: tuple[str, ...]) -> Verdict:
    mode = " active" if facts.active else ""
    return verdict(
        word,
        measured=f"{', '.join(facts.governors)} ({', '.join(facts.drivers)}{mode})" if facts.drivers else "no cpufreq",
        required=f"one of {', '.join(limit.values['accept'])}, or a processor that chooses itself",
        cause=cause,
        fix=fix,
        evidence=(
            f"preference={', '.join(facts.preferences) or 'none'}",
            f"highest_clock={'not told' if facts.highest_share is None else format_share(facts.highest_share)}",
            f"on_battery={'no battery' if facts.on_battery is None else facts.on_battery}",
        ),
    )


def despite_battery(found: Verdict) -> Verdict:
    """Leave a miss of speed open that was measured on battery; it only slows, so a pass stays one."""
    if found.word is not Word.FAIL:
        return found
    cause = f"measured on battery, where clocks are limited: plug it in and run again. As it was: {found.cause}"
    return replace(found, word=Word.INCONCLUSIVE, cause=cause, fix=("plug it in and run again", *found.fix))

"""Whether the CPUs' clock is free to rise. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamworthy.verdict import Verdict, Word, not_applicable, unknown, verdict

if TYPE_CHECKING:
    from streamworthy.criteria.spec import Limit
    from streamworthy.facts.conditions import GovernorFacts

_FIX = (
    "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor   # until the next start",
    "sudo systemctl disable --now tlp auto-cpufreq power-profiles-daemon   # whichever of them sets it back",
)
_BALANCED = ("performance", "powersave")  # of a processor that chooses its clock itself: both let it rise


def judge_clock(facts: GovernorFacts, limit: Limit) -> Verdict:
    """Judge governors against those accepted, then the battery, then the processor's own preference."""
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
    if facts.on_battery:
        word = Word.ADVICE if limit.level == "advise" else Word.INCONCLUSIVE
        return _say(word, facts, limit, "the machine runs on battery, where its clock is limited", ("plug it in",))
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
        measured=f"{', '.join(facts.governors)} ({', '.join(facts.drivers)}{mode})",
        required=f"one of {', '.join(limit.values['accept'])}, or a processor that chooses itself",
        cause=cause,
        fix=fix,
        evidence=(
            f"preference={', '.join(facts.preferences) or 'none'}",
            f"on_battery={'no battery' if facts.on_battery is None else facts.on_battery}",
        ),
    )

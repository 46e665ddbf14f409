"""A cold episode, in a process of its own.

A default load reads the whole map, so a file evicted before the load is warm after it. The episode therefore times
the load from evicted files with its first token, then evicts again from inside the engine, before a second prompt
and once more before the timed decode. Timed decode is fed the text's own next tokens: greedy feedback soon repeats
itself and asks for the same experts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamworthy.bench.evict import evict
from streamworthy.bench.residency import residency
from streamworthy.engine.session import Session, StateError, make_phase, prompt_phases, stays_on_disk
from streamworthy.facts.episode import Episode

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamworthy.engine.runner import Engine
    from streamworthy.engine.task import EngineTask
    from streamworthy.facts.episode import Disturbers, Phase


def run_cold(task: EngineTask, number: int, start: Callable[[], Engine], others: Disturbers | None) -> Episode:
    """Run one cold episode in a process of its own. Raises EngineError, StateError when the files stay in memory."""
    evicted = evict(task.paths)
    if evicted.kept:
        raise StateError(f"cold state: {evicted.kept}", fix="end that process, or move the shards to ext4 or xfs")
    with Session(task, start) as session:
        phases = [session.load_phase(evicted.after)]
        first = session.prompt(number, task.plan.prompt_tokens)
        to_first_token = session.since_spawn()
        phases += prompt_phases(first, "", before=phases[0].after, after=None)
        state = session.state()
        if stays_on_disk(task):
            phases += _evicted_phases(session, number)
        answer = session.answer()
        return Episode(
            state="cold",
            number=number,
            start_seconds=phases[0].seconds + _since_spawn(session, session.loaded, "began"),
            first_token_seconds=_since_spawn(session, first, "first"),
            first_token_counters=to_first_token,
            phases=tuple(phases),
            answer=tuple(answer["ids"]),
            answer_text=answer["text"],
            engine=state,
            build=session.build,
            disturbers=others.names if others else (),
            hidden=others.hidden if others else "",
        )


def _since_spawn(session: Session, found: dict[str, Any], moment: str) -> float:
    """Give the seconds to a moment of an answer, without those in which the engine waited for our own counting."""
    return float(found[moment]) - session.engine.started - float(found["counted_seconds"])


def _evicted_phases(session: Session, number: int) -> list[Phase]:
    cold = session.drop()
    again = session.prompt(number + 6, session.task.plan.prompt_tokens)
    phases = prompt_phases(again, "_evicted", before=cold, after=None)
    cold = session.drop()
    found = session.decode(session.task.plan.decode_tokens)
    return [*phases, make_phase("decode", found, before=cold, after=residency(session.task.paths))]

"""What a person declined in review is not learned again, until a person says so themselves (product C6)."""

from collections.abc import Iterable, Sequence

from mex_pipeline.domain.memory import Actor, Memory
from mex_pipeline.domain.refusal import RefusalKind, place, refuse
from mex_pipeline.store import refusals
from mex_pipeline.store.database import Database
from mex_pipeline.store.sql import Statement


def remember(view: Database, kind: RefusalKind, values: Sequence[tuple[str, str]], now: str) -> list[Statement]:
    """Return the writes that refuse these (place, value) from now on (`refusal.place`); an earlier refusal of one goes."""
    return [*_lifted(view, kind, values), *(refusals.insert(refuse(kind, *one, now)) for one in values)]


def lift(view: Database, memories: Iterable[Memory], actor: Actor = Actor.USER) -> list[Statement]:
    """Return the write that lets be learned again what a person adds, approves or restores after all; an agent cannot."""
    if actor is not Actor.USER:
        return []
    values = [(place(memory.topic, memory.sub_topic), memory.content) for memory in memories]
    return _lifted(view, RefusalKind.DECLINED, values)


def _lifted(view: Database, kind: RefusalKind, values: Sequence[tuple[str, str]]) -> list[Statement]:
    met = [
        refusal
        for refusal in view.all(refusals.of_kinds(kind))
        if any(slot == refusal.slot and refusal.meets(value) for slot, value in values)
    ]
    return [refusals.lift(met)] if met else []

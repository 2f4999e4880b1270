"""The review queue: what a model inferred, and what a person makes of it (seed 004 ADR-5, §6.3; product C6, G16)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from mex_pipeline.app import App
from mex_pipeline.clock import iso
from mex_pipeline.domain.memory import Actor, Confidence, Event, HistoryEntry, Memory, Source
from mex_pipeline.domain.review import awaits_review, before_doubt, sources_of_value
from mex_pipeline.domain.structured import require_storable
from mex_pipeline.errors import InvalidInput, SlotOccupied, UserError
from mex_pipeline.services import memories as memory_service
from mex_pipeline.services.results import memory_plain, source_plain
from mex_pipeline.services.search import MAX_NUMBER
from mex_pipeline.store import changes, history, memories, review, sources
from mex_pipeline.store.database import Database


class Order(StrEnum):
    """How the queue may be sorted (product G16): by when the doubt arose, the surest first, or by slot."""

    NEWEST = "newest"
    OLDEST = "oldest"
    CONFIDENCE = "confidence"
    TOPIC = "topic"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A memory that awaits review, the state it replaced, and where its present content was said."""

    memory: Memory
    previous: Memory | None
    sources: tuple[Source, ...]

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object: the memory's, `previous` and `sources`."""
        return memory_plain(self.memory) | {
            "previous": None if self.previous is None else memory_plain(self.previous),
            "sources": [source_plain(source) for source in self.sources],
        }


@dataclass(frozen=True, slots=True)
class Queue:
    """Some of what awaits review, and how many there are in all."""

    waiting: tuple[Waiting, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which memories are meant: ids (or prefixes), or all that wait, of one topic perhaps.

    `seen` is the memory as a person was shown it: when its content has changed since, nothing is decided.
    """

    ids: tuple[str, ...] = ()
    topic: str | None = None
    everything: bool = False
    seen: Memory | None = None


@dataclass(frozen=True, slots=True)
class Declined:
    """A doubt that was put away, the state before it, and whether that one stands again."""

    doubt: Memory
    previous: Memory | None
    memory: Memory
    """The row as it is now: forgotten, or the earlier state."""

    @property
    def is_restored(self) -> bool:
        """True when the earlier state stands again."""
        return self.memory.forgotten_at is None

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object: the memory as it is now, `previous` and `restored`."""
        previous = None if self.previous is None else memory_plain(self.previous)
        return memory_plain(self.memory) | {"previous": previous, "restored": self.is_restored}


def pending(
    app: App, *, order: Order = Order.NEWEST, topic: str | None = None, limit: int | None = None, offset: int = 0
) -> Queue:
    """Return one page of the queue; `limit` None or 0 means all (seed 004 §6.3). Raises InvalidInput for a bad number."""
    if not 0 <= offset <= MAX_NUMBER or (limit is not None and not 0 <= limit <= MAX_NUMBER):
        raise InvalidInput("number_out_of_range", most=MAX_NUMBER)
    now = iso(app.clock.now())
    with app.db.snapshot() as view:
        found = view.all(review.page(now, order=order, topic=topic, limit=limit or -1, offset=offset))
        return Queue(_explained(view, found), view.first(review.count(now, topic)) or 0)


def chosen(app: App, wanted: Wanted) -> list[Waiting]:
    """Return what is meant, in the order given or newest first.

    Raises InvalidInput: `review_needs_target`, `review_ids_and_all`, `not_in_review`, `memory_forgotten`,
    `review_changed`; NotFound and `bad_id` for an id; InvalidSlot for a topic that is not declared and holds nothing.
    """
    with app.db.snapshot() as view:
        return _chosen(app, view, wanted)


def approve(app: App, wanted: Wanted, *, actor: Actor) -> list[Memory]:
    """Confirm memories, all or none, and return them (seed 004 §6.3): only the tier rises.

    Raises UserError("agent_cannot_confirm") unless a person acts (product P7), and as `chosen` does.
    """
    if actor is not Actor.USER:
        raise UserError("agent_cannot_confirm")
    now = iso(app.clock.now())
    with app.db.transaction() as tx:
        before = [waiting.memory for waiting in _chosen(app, tx, wanted)]
        after = [replace(memory, confidence=Confidence.CONFIRMED, updated_at=now) for memory in before]
        lines = [
            changes.entry(Event.APPROVE, old, new, actor=actor, now=now) for old, new in zip(before, after, strict=True)
        ]
        _write(tx, after, lines)
    return after


def decline(
    app: App, wanted: Wanted, *, reason: str, restore_previous: bool = False, actor: Actor = Actor.USER
) -> list[Declined]:
    """Forget memories softly, all or none, and return them (seed 004 §6.3).

    With `restore_previous` the state each replaced stands again in the same row, as it was: value, tier, evidence and
    times (product C6). Raises as `chosen` does, SlotOccupied when the slot of an earlier value is held by another.
    """
    require_storable(None, reason)
    now = iso(app.clock.now())
    found: list[Declined] = []
    lines: list[HistoryEntry] = []
    with app.db.transaction() as tx:
        for one in _chosen(app, tx, wanted):
            standing = replace(one.memory, updated_at=now, forgotten_at=now, forgotten_reason=reason)
            lines.append(changes.entry(Event.FORGET, one.memory, standing, actor=actor, now=now))
            if restore_previous and one.previous is not None:
                gone, standing = standing, replace(one.previous, updated_at=now)
                if taken := memory_service.slot_taken(app, standing, now):
                    raise SlotOccupied("put_back_occupied", **taken)
                lines.append(changes.entry(Event.RESTORE, gone, standing, actor=actor, now=now))
            found.append(Declined(one.memory, one.previous, standing))
        _write(tx, [one.memory for one in found], lines)
    return found


def _write(tx: Database, rows: Sequence[Memory], lines: Sequence[HistoryEntry]) -> None:
    tx.run(*(memories.replace_row(memory) for memory in rows), *(history.append(line) for line in lines))


def _chosen(app: App, view: Database, wanted: Wanted) -> list[Waiting]:
    by_condition = wanted.everything or wanted.topic is not None
    if bool(wanted.ids) is by_condition:
        raise InvalidInput("review_ids_and_all" if wanted.ids else "review_needs_target")
    now = iso(app.clock.now())
    if wanted.ids:
        found = [_waiting(app, identifier, wanted.seen, now) for identifier in wanted.ids]
        return list(_explained(view, {memory.id: memory for memory in found}.values()))
    listed = view.all(review.page(now, order=Order.NEWEST, topic=wanted.topic, limit=-1, offset=0))
    if not listed:
        app.schema.locate(wanted.topic, None)
    return list(_explained(view, listed))


def _waiting(app: App, identifier: str, seen: Memory | None, now: str) -> Memory:
    memory = memory_service.find(app, identifier)
    if memory.forgotten_at is not None:
        raise InvalidInput("memory_forgotten", id=memory.id)
    if not awaits_review(memory, now):
        raise InvalidInput("not_in_review", id=memory.id)
    if seen is not None and seen.content != memory.content:
        raise InvalidInput("review_changed", id=memory.id)
    return memory


def _explained(view: Database, found: Iterable[Memory]) -> tuple[Waiting, ...]:
    """The memories with what their history and sources say about them, in two reads for all of them."""
    waiting = list(found)
    ids = [memory.id for memory in waiting]
    lines: defaultdict[str, list[HistoryEntry]] = defaultdict(list)
    for line in view.all(history.of_memories(ids)):
        lines[line.memory_id].append(line)
    said: defaultdict[str, list[Source]] = defaultdict(list)
    for memory_id, source in view.all(sources.of_memories(ids)):
        said[memory_id].append(source)
    return tuple(
        Waiting(
            memory, before_doubt(memory, lines[memory.id]), sources_of_value(memory, lines[memory.id], said[memory.id])
        )
        for memory in waiting
    )

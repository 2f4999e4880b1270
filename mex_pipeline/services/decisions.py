"""What a person makes of the review queue: yes or no to each question, all or none (seed 004 ADR-5, §6.3; product C6, F5)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from mex_pipeline.app import App
from mex_pipeline.clock import iso
from mex_pipeline.domain.candidate import Action
from mex_pipeline.domain.changes import Add, Change, Reinforce, Retire
from mex_pipeline.domain.decided import accepted, fuller, merged
from mex_pipeline.domain.ids import new_id
from mex_pipeline.domain.memory import Actor, Confidence, Event, Memory
from mex_pipeline.domain.refusal import RefusalKind, place
from mex_pipeline.domain.refusal import pair as value_of_pair
from mex_pipeline.domain.review import Kind
from mex_pipeline.domain.rules import check_write
from mex_pipeline.domain.structured import require_storable
from mex_pipeline.errors import InvalidInput, SlotOccupied, UserError
from mex_pipeline.services import declines
from mex_pipeline.services import memories as memory_service
from mex_pipeline.services.asked import Asked, Held, Pair, Waiting
from mex_pipeline.services.results import memory_plain
from mex_pipeline.services.review import Wanted, meant
from mex_pipeline.store import changes, history, memories, proposals, sources
from mex_pipeline.store.database import Database
from mex_pipeline.store.sql import Statement


class Keep(StrEnum):
    """Whose content a merge keeps: that of the memory that stays, or of the other one."""

    MEMORY = "memory"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Approved:
    """A question with the answer yes, and the memory that came of it; of an approved retire it is the forgotten one."""

    asked: Asked
    memory: Memory

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object: the memory's, and `kind`."""
        return memory_plain(self.memory) | {"kind": self.asked.kind}


@dataclass(frozen=True, slots=True)
class Declined:
    """A question with the answer no; a memory is as it is now, forgotten or in its earlier state, a proposal has none."""

    asked: Asked
    memory: Memory | None = None

    @property
    def previous(self) -> Memory | None:
        """The state before a doubt."""
        return self.asked.previous if isinstance(self.asked, Waiting) else None

    @property
    def is_restored(self) -> bool:
        """True when the earlier state stands again."""
        return self.memory is not None and self.memory.forgotten_at is None

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object: the memory as it is now, `previous`, `restored` and `kind`; of a proposal its own."""
        if self.memory is None:
            return self.asked.to_plain()
        before = None if self.previous is None else memory_plain(self.previous)
        return memory_plain(self.memory) | {"previous": before, "restored": self.is_restored, "kind": self.asked.kind}


def approve(app: App, wanted: Wanted, *, actor: Actor, keep: Keep | None = None) -> list[Approved]:
    """Answer yes, to all or none: a memory is confirmed, two become one, a held candidate is written (seed 004 §6.3).

    A batch leaves what was held back to a person who names it. `keep` says whose content a merge keeps, `fuller` without.
    Raises UserError("agent_cannot_confirm") unless a person acts (product P7), as `review.chosen` does,
    InvalidSlot and InvalidContent for a candidate that does not fit the schema (any more), and
    InvalidInput("review_nothing_to_retire").
    """
    if actor is not Actor.USER:
        raise UserError("agent_cannot_confirm")
    now = iso(app.clock.now())
    with app.db.transaction() as tx:
        asked = _decidable(app, tx, wanted, Kind.HOLD)
        memory_of = _confirm(app, tx, [one for one in asked if isinstance(one, Waiting)], now)
        memory_of |= {one.id: _accept(app, tx, one, now) for one in asked if isinstance(one, Held)}
        memory_of |= _merged(tx, [one for one in asked if isinstance(one, Pair)], keep, now)
        tx.run(proposals.delete(_proposals(asked)), *declines.lift(tx, memory_of.values()))
    return [Approved(one, memory_of[one.id]) for one in asked]


def decline(
    app: App, wanted: Wanted, *, reason: str, restore_previous: bool = False, actor: Actor = Actor.USER
) -> list[Declined]:
    """Answer no, to all or none: a memory is forgotten softly, a proposal goes, and neither is learned again (seed 004 §6.3).

    With `restore_previous` the state each doubt replaced stands again in the same row, as it was: value, tier, evidence and
    times (product C6). A value that is due held until now. A batch leaves what is due to a person who names it, and an
    agent may withdraw doubts only, without anything being refused. Raises UserError("review_agent_declines"), as
    `review.chosen` does, SlotOccupied when the slot of an earlier value is held by another.
    """
    require_storable(None, reason)
    now = iso(app.clock.now())
    with app.db.transaction() as tx:
        asked = _decidable(app, tx, wanted, Kind.DUE)
        if actor is not Actor.USER and any(one.kind is not Kind.DOUBT for one in asked):
            raise UserError("review_agent_declines")
        declined: list[Declined] = []
        for one in asked:
            memory = None
            if isinstance(one, Waiting):
                memory = _put_away(app, tx, one, reason, now, actor, restore_previous=restore_previous)
            declined.append(Declined(one, memory))
        if actor is Actor.USER:
            back = [one.memory for one in declined if one.memory is not None and one.is_restored]
            tx.run(*_refused(tx, asked, now), *declines.lift(tx, back))
        tx.run(proposals.delete(_proposals(asked)))
    return declined


def _decidable(app: App, tx: Database, wanted: Wanted, by_id: Kind) -> list[Asked]:
    """What is meant; of a batch without what is decided `by_id` only, unless that kind is what the batch is about."""
    asked = meant(app, tx, wanted)
    return asked if wanted.ids or wanted.kind is by_id else [one for one in asked if one.kind is not by_id]


def _proposals(asked: Iterable[Asked]) -> list[str]:
    return [one.id for one in asked if not isinstance(one, Waiting)]


def _confirm(app: App, tx: Database, waiting: Sequence[Waiting], now: str) -> dict[str, Memory]:
    """Confirm memories: only the tier rises; one that was due has been said again by this."""
    after = [_confirmed(app, one, now) for one in waiting]
    lines = [
        changes.entry(Event.APPROVE, one.memory, new, actor=Actor.USER, now=now)
        for one, new in zip(waiting, after, strict=True)
    ]
    tx.run(*(memories.replace_row(memory) for memory in after), *(history.append(line) for line in lines))
    return {memory.id: memory for memory in after}


def _confirmed(app: App, waiting: Waiting, now: str) -> Memory:
    memory = waiting.memory._replace(confidence=Confidence.CONFIRMED, updated_at=now)
    if waiting.kind is Kind.DOUBT:
        return memory
    expiry = app.schema.policy_of(memory.topic, memory.sub_topic).renewed(waiting.memory, now)
    return memory._replace(last_seen_at=now, expires_at=expiry)


def _merged(tx: Database, pairs: Sequence[Pair], keep: Keep | None, now: str) -> dict[str, Memory]:
    """Make one of each pair and return the memory that stays, by proposal; a chain of pairs ends up in one memory."""
    into: dict[str, str] = {}
    for pair in pairs:
        stays, goes = (into.get(memory.id, memory.id) for memory in (pair.memory, pair.other))
        if stays != goes:
            _merge(tx, stays, goes, keep, now)
            into |= {gone: stays for gone, there in into.items() if there == goes} | {goes: stays}
    ends = {pair.id: into.get(pair.other.id, pair.other.id) for pair in pairs}
    rows = {memory.id: memory for memory in tx.all(memories.by_ids(ends.values()))}
    return {proposal: rows[end] for proposal, end in ends.items()}


def _merge(tx: Database, stays_id: str, goes_id: str, keep: Keep | None, now: str) -> None:
    """Put one memory into the other, as both are now; where the other was said is said of both then."""
    rows = {memory.id: memory for memory in tx.all(memories.by_ids((stays_id, goes_id)))}
    memory, other = rows[stays_id], rows[goes_id]
    worded = fuller(memory, other) if keep is None else memory if keep is Keep.MEMORY else other
    stays, goes = merged(memory, other, worded.content, now)
    tx.run(
        memories.replace_row(stays),
        memories.replace_row(goes),
        history.append(changes.entry(Event.UPDATE, memory, stays, actor=Actor.USER, now=now)),
        history.append(changes.entry(Event.FORGET, other, goes, actor=Actor.USER, now=now)),
        *(sources.insert(stays.id, source, now) for source in tx.all(sources.of_memory(goes.id))),
    )


def _accept(app: App, tx: Database, asked: Held, now: str) -> Memory:
    """Write a held candidate: it passes what a person's own write passes, and keeps where it was said."""
    candidate = asked.candidate
    checked = check_write(
        app.schema,
        topic=candidate.topic,
        sub_topic=candidate.sub_topic,
        content=candidate.content,
        confidence=None,
        actor=Actor.USER,
    )
    held = tx.all(memories.in_slots([candidate.slot], now)) if candidate.slot else []
    change = accepted(replace(candidate, content=checked.content), held, app.schema, now=now, new_id=new_id)
    if change is None:
        raise InvalidInput("review_nothing_to_retire", id=asked.id)
    before = None if isinstance(change, Add) else change.before
    event = _EVENTS.get(type(change), Event.UPDATE)
    # With the job of its source the message counts as told, and is not asked about again when the session is read anew.
    job_id = None if change.source is None else change.source.job_id
    line = changes.entry(event, before, change.after, actor=Actor.USER, now=now, job_id=job_id)
    tx.run(
        memories.insert(change.after) if before is None else memories.replace_row(change.after),
        history.append(line),
        *([] if change.source is None else [sources.insert(change.after.id, change.source, now)]),
    )
    return change.after


_EVENTS: dict[type[Change], Event] = {Add: Event.ADD, Reinforce: Event.APPROVE, Retire: Event.FORGET}


def _put_away(
    app: App, tx: Database, asked: Waiting, reason: str, now: str, actor: Actor, *, restore_previous: bool
) -> Memory:
    """Forget a memory softly, or let the state before it stand again; return the row as it is then."""
    until = now if asked.kind is Kind.DUE else asked.memory.valid_to
    standing = asked.memory._replace(updated_at=now, valid_to=until, forgotten_at=now, forgotten_reason=reason)
    lines = [changes.entry(Event.FORGET, asked.memory, standing, actor=actor, now=now)]
    if restore_previous and asked.previous is not None:
        # A pin is the memory's, not the value's: it may be younger than the doubt.
        gone = standing
        standing = asked.previous._replace(updated_at=now, is_pinned=asked.memory.is_pinned)
        if taken := memory_service.slot_taken(app, standing, now):
            raise SlotOccupied("put_back_occupied", **taken)
        lines.append(changes.entry(Event.RESTORE, gone, standing, actor=actor, now=now))
    tx.run(memories.replace_row(standing), *(history.append(line) for line in lines))
    return standing


def _refused(tx: Database, asked: Iterable[Asked], now: str) -> list[Statement]:
    """What must not be learned again: the value of a doubt and of a hold, and that two values are one."""
    values: list[tuple[str, str]] = []
    pairs: list[tuple[str, str]] = []
    for one in asked:
        if isinstance(one, Pair):
            pairs.append((place(one.memory.topic, one.memory.sub_topic), value_of_pair(*one.contents)))
        elif isinstance(one, Held) and one.candidate.action is not Action.RETIRE:
            values.append((place(one.candidate.topic, one.candidate.sub_topic), one.candidate.content))
        elif one.kind is Kind.DOUBT and isinstance(one, Waiting):
            values.append((place(one.memory.topic, one.memory.sub_topic), one.memory.content))
    declined = declines.remember(tx, RefusalKind.DECLINED, values, now)
    return [*declined, *declines.remember(tx, RefusalKind.MERGE, pairs, now)]

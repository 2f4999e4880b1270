"""What becomes of a memory after it was written: forgotten, restored, expired, moved (seed 004 ADR-8, ADR-11; product G13)."""

from collections.abc import Sequence
from dataclasses import dataclass

from mex_pipeline.app import App
from mex_pipeline.clock import iso, parse_moment
from mex_pipeline.domain.memory import Actor, Confidence, Event, Memory
from mex_pipeline.domain.rules import is_guarded
from mex_pipeline.domain.schema import Schema
from mex_pipeline.domain.selection import Selection
from mex_pipeline.domain.structured import normalise, require_storable
from mex_pipeline.domain.wording import Language
from mex_pipeline.errors import InvalidContent, InvalidInput, InvalidSlot, SlotOccupied, UserError
from mex_pipeline.services import declines, refusing
from mex_pipeline.services.lookup import find
from mex_pipeline.services.memories import slot_taken
from mex_pipeline.store import changes, history, memories, search
from mex_pipeline.store.sql import Statement

EXPIRED: dict[Language, str] = {"en": "TTL expired", "zh": "TTL 过期"}
"""Why `gc` forgets, in the home's language (seed 004 ADR-11)."""


@dataclass(frozen=True, slots=True)
class Restored:
    """A memory that holds again, and what its owner should know about it."""

    memory: Memory
    lost_expiry: bool
    """Its expiry lay in the past and was taken away, or it would have stayed out of sight."""
    is_undeclared: bool
    """Its place is not in schema.yaml any more."""
    is_unfit: bool
    """Its content does not fit the slot as it is declared now."""


def selection(
    app: App,
    *,
    topic: str | None = None,
    sub_topic: str | None = None,
    keyword: str | None = None,
    since: str | None = None,
    until: str | None = None,
    confidence: Confidence | None = None,
    ai_inferred: bool | None = None,
) -> Selection | None:
    """Return the active memories that meet every given condition, None when none is given (product G5).

    A condition that is there but empty would quietly widen what is forgotten: raises InvalidInput `keyword_blank`,
    `bad_date`, `bad_span`; `sub_topic_without_topic` for a slot without its topic.
    """
    if sub_topic is not None and topic is None:
        raise InvalidInput("sub_topic_without_topic", sub_topic=sub_topic)
    if keyword is not None and not keyword.strip():
        raise InvalidInput("keyword_blank")
    now = app.clock.now()
    wanted = Selection(
        keyword=keyword and keyword.strip(),
        topic=topic,
        sub_topic=sub_topic,
        since=None if since is None else iso(parse_moment(since, now)),
        until=None if until is None else iso(parse_moment(until, now, end_of_day=True)),
        confidence=confidence,
        ai_inferred=ai_inferred,
    )
    return None if wanted == Selection() else wanted


def require_target(identifiers: Sequence[str], wanted: Selection | None) -> None:
    """Raise InvalidInput unless either ids or conditions say what is meant (`forget_ids_and_conditions`, `forget_nothing`)."""
    if identifiers and wanted is not None:
        raise InvalidInput("forget_ids_and_conditions")
    if not identifiers and wanted is None:
        raise InvalidInput("forget_nothing")


def matching(app: App, wanted: Selection) -> list[Memory]:
    """Return the memories the conditions mean, at least one; raises InvalidInput("nothing_matches")."""
    found = app.db.all(search.find(iso(app.clock.now()), wanted, limit=-1))
    if not found:
        raise InvalidInput("nothing_matches")
    return found


def forget(
    app: App,
    identifiers: Sequence[str] = (),
    wanted: Selection | None = None,
    *,
    reason: str | None = None,
    dry_run: bool = False,
    actor: Actor = Actor.USER,
) -> list[Memory]:
    """Forget memories softly, all or none, and return them as they were (seed 004 ADR-8, product G5).

    By ids an expired memory may be meant too, by conditions only active ones. With `dry_run` nothing is written.
    Raises NotFound, InvalidInput as `require_target` and `matching`, or `already_forgotten`.
    """
    require_target(identifiers, wanted)
    require_storable(None, reason or "")
    if dry_run:
        return _chosen(app, identifiers, wanted)
    with app.db.transaction():
        chosen = _chosen(app, identifiers, wanted)
        _put_away(app, chosen, Event.FORGET, (reason or "").strip() or None, actor)
    return chosen


def _chosen(app: App, identifiers: Sequence[str], wanted: Selection | None) -> list[Memory]:
    if wanted is not None:
        return matching(app, wanted)
    found = {memory.id: memory for memory in (find(app, one) for one in identifiers)}
    for memory in found.values():
        if memory.forgotten_at is not None:
            raise InvalidInput("already_forgotten", id=memory.id)
    return list(found.values())


def _put_away(app: App, chosen: Sequence[Memory], event: Event, reason: str | None, actor: Actor) -> None:
    now = iso(app.clock.now())
    gone = [memory._replace(forgotten_at=now, forgotten_reason=reason, updated_at=now) for memory in chosen]
    lines = [
        changes.entry(event, before, after, actor=actor, now=now) for before, after in zip(chosen, gone, strict=True)
    ]
    app.db.run(*(memories.replace_row(memory) for memory in gone), *(history.append(line) for line in lines))


def gc(app: App, *, dry_run: bool = False, actor: Actor = Actor.USER) -> list[Memory]:
    """Forget softly what is past its expiry and return it as it was (seed 004 ADR-11, product H13)."""
    now = iso(app.clock.now())
    if dry_run:
        return app.db.all(memories.expired(now))
    with app.db.transaction():
        chosen = app.db.all(memories.expired(now))
        _put_away(app, chosen, Event.EXPIRE, EXPIRED[app.settings.language or app.language], actor)
    return chosen


def restore(app: App, identifiers: Sequence[str], *, actor: Actor = Actor.USER) -> list[Restored]:
    """Let forgotten memories hold again, all or none (seed 004 ADR-8).

    A value that was replaced or taken back holds again since it was said. Raises NotFound, InvalidInput
    ("not_forgotten"), SlotOccupied ("restore_occupied") when its unique slot has another value (product B7), or
    UserError("never_again") when an agent brings back what is never to be known again (product B6).
    """
    now = iso(app.clock.now())
    with app.db.transaction():
        found = {memory.id: memory for memory in (find(app, one) for one in identifiers)}
        return [_restore(app, memory, now, actor) for memory in found.values()]


def _restore(app: App, before: Memory, now: str, actor: Actor) -> Restored:
    if before.forgotten_at is None:
        raise InvalidInput("not_forgotten", id=before.id)
    is_past = before.expires_at is not None and before.expires_at <= now
    after = before._replace(
        forgotten_at=None,
        forgotten_reason=None,
        valid_to=None,
        expires_at=None if is_past else before.expires_at,
        updated_at=now,
    )
    if taken := slot_taken(app, after, now):
        raise SlotOccupied("restore_occupied", **taken)
    refusing.admit(app.db, after, actor)
    app.db.run(*_written(Event.RESTORE, before, after, actor, now), *declines.lift(app.db, [after], actor))
    return Restored(after, is_past, not _is_declared(app.schema, after), _is_unfit(app.schema, after))


def _written(event: Event, before: Memory, after: Memory, actor: Actor, now: str) -> list[Statement]:
    entry = changes.entry(event, before, after, actor=actor, now=now)
    return [memories.replace_row(after), history.append(entry)]


def _is_declared(schema: Schema, memory: Memory) -> bool:
    try:
        schema.locate(memory.topic, memory.sub_topic)
    except InvalidSlot:
        return False
    return True


def _is_unfit(schema: Schema, memory: Memory) -> bool:
    try:
        normalise(schema.find(memory.topic, memory.sub_topic), memory.content)
    except InvalidContent:
        return True
    return False


def move(app: App, prefix: str, *, topic: str | None, sub_topic: str | None, actor: Actor = Actor.USER) -> Memory:
    """Put a memory into another slot, or among the records of a topic, and return it (product G13).

    The place and the content are checked as for a new memory; tier, sources and times of validity stay, so an agent may
    not move what a person confirmed: it would be confirmed as something else (product P7). The ttl of the new slot counts
    from when the value was said, unless a person has set the expiry. Raises NotFound, InvalidSlot,
    InvalidContent, InvalidInput (`move_nowhere`, `memory_forgotten`, `move_same_place`), UserError("agent_cannot_move"),
    UserError("never_again") as `restore`, or SlotOccupied ("move_occupied").
    """
    if topic is None and sub_topic is None:
        raise InvalidInput("move_nowhere")
    slot = app.schema.locate(topic, sub_topic)
    now = iso(app.clock.now())
    with app.db.transaction():
        before = find(app, prefix)
        if before.forgotten_at is not None:
            raise InvalidInput("memory_forgotten", id=before.id)
        if (before.topic, before.sub_topic) == (topic, sub_topic):
            raise InvalidInput("move_same_place", id=before.id, place=slot.path if slot else topic)
        if actor is Actor.AI and is_guarded(before):
            raise UserError("agent_cannot_move", id=before.id)
        here, there = (app.schema.policy_of(*place) for place in ((before.topic, before.sub_topic), (topic, sub_topic)))
        after = before._replace(
            topic=topic,
            sub_topic=sub_topic,
            content=normalise(slot, before.content),
            updated_at=now,
            expires_at=there.taken_over(before, here),
        )
        if taken := slot_taken(app, after, now):
            raise SlotOccupied("move_occupied", **taken)
        refusing.admit(app.db, after, actor)
        app.db.run(*_written(Event.MOVE, before, after, actor, now))
    return after

"""Memories written by hand: add, update (seed 004 §5.1); services/lookup.py reads them."""

import shlex
from datetime import datetime, timedelta

from mex_pipeline.app import App
from mex_pipeline.clock import from_iso, iso, parse_local
from mex_pipeline.domain.candidate import Action, Candidate
from mex_pipeline.domain.ids import new_id
from mex_pipeline.domain.instruction import may_be_poison
from mex_pipeline.domain.memory import Actor, Confidence, Event, Memory
from mex_pipeline.domain.proposal import hold
from mex_pipeline.domain.rules import Checked, check_write, given_by, is_guarded
from mex_pipeline.errors import InvalidInput, SlotOccupied, UserError
from mex_pipeline.services import declines, refusing
from mex_pipeline.services.hygiene import to_store
from mex_pipeline.services.lookup import find
from mex_pipeline.store import changes, history, memories, proposals


def add(
    app: App,
    *,
    content: str,
    topic: str | None = None,
    sub_topic: str | None = None,
    confidence: Confidence | None = None,
    expires: str | None = None,
    since: str | None = None,
    actor: Actor = Actor.USER,
) -> Memory:
    """Store one memory and return it (seed 004 §3.5, §5.1; product B11, F4).

    A person's memory is `confirmed` unless said otherwise, an agent's at most `explicit`. `expires` takes an absolute
    local date or date-time, without it the slot's ttl decides; `since` says from when the value holds. What is private,
    and an agent's secrets, are not stored (services/hygiene.py). Raises InvalidSlot, InvalidContent, InvalidInput,
    SlotOccupied when the unique slot already has an active value, or UserError("held_for_review") when an agent's words
    read as an instruction: they wait for a person (product F5).
    """
    stored, tier = to_store(app, content, actor), confidence or Confidence.CONFIRMED
    checked = check_write(app.schema, topic=topic, sub_topic=sub_topic, content=stored, confidence=tier, actor=actor)
    _hold_back(app, Candidate(checked.content, topic, sub_topic, confidence=checked.confidence), actor)
    moment = app.clock.now()
    now = iso(moment)
    valid_from = _valid_from(since, moment)
    memory = Memory(
        id=new_id(),
        topic=topic,
        sub_topic=sub_topic,
        content=checked.content,
        is_ai_inferred=False,
        confidence=checked.confidence,
        evidence=None,
        created_at=now,
        updated_at=now,
        valid_from=valid_from,
        expires_at=app.schema.policy_of(topic, sub_topic).expiry(valid_from) if expires is None else _end_of(expires),
        last_seen_at=valid_from,
    )
    with app.db.transaction() as tx:
        if taken := slot_taken(app, memory, now):
            raise SlotOccupied(**taken)
        refusing.admit(tx, memory, actor)
        line = changes.entry(Event.ADD, None, memory, actor=actor, now=now)
        tx.run(memories.insert(memory), history.append(line), *declines.lift(tx, [memory], actor))
    return memory


def _valid_from(since: str | None, now: datetime) -> str:
    """Since when a value holds that somebody adds: not since a day that is yet to come anywhere."""
    valid_from = iso(now if since is None else parse_local(since))
    if valid_from > iso(now + timedelta(days=1)):
        raise InvalidInput("since_in_future", value=since)
    return valid_from


def _hold_back(app: App, candidate: Candidate, actor: Actor) -> None:
    """Ask a person about an agent's words that read as an instruction, and raise UserError("held_for_review").

    A model could be made to write them; what a person types is the person's own (product F4, F5).
    """
    if actor is Actor.AI and may_be_poison(candidate):
        asked = hold(candidate, "instruction", now=iso(app.clock.now()), new_id=new_id)
        with app.db.transaction() as tx:
            tx.run(proposals.insert(asked))
        raise UserError("held_for_review")


def slot_taken(app: App, memory: Memory, now: str) -> dict[str, str] | None:
    """Return the facts of a SlotOccupied when the memory, active, would stand beside another one in a unique slot.

    To be asked inside the write transaction: only what is read there stays true.
    """
    slot = app.schema.find(memory.topic, memory.sub_topic)
    if slot is None or not slot.unique or not memory.is_active(now):
        return None
    found = app.db.all(memories.in_slots([(slot.topic, slot.name)], now))
    held = next((other for other in found if other.id != memory.id), None)
    if held is None:
        return None
    return {
        "slot": slot.path, "topic": slot.topic, "sub_topic": slot.name, "id": held.id, "content": held.content,
        "other": memory.id, "other_content": memory.content, "new": shlex.quote(memory.content),
    }  # fmt: skip


def update(
    app: App,
    prefix: str,
    *,
    content: str | None = None,
    confidence: Confidence | None = None,
    expires: str | None = None,
    clear_expires: bool = False,
    actor: Actor = Actor.USER,
) -> Memory:
    """Change content, confidence or expiry of one memory and return it; its slot stays (seed 004 §3.5, §5.1).

    What is not given stays; a new value in a slot with a ttl expires anew. Raises NotFound, InvalidContent, InvalidInput,
    InvalidInput("memory_forgotten"), SlotOccupied when an expired memory would be shown again in a unique slot that
    another has taken, or UserError("held_for_review") as `add`.
    """
    if content is None and confidence is None and expires is None and not clear_expires:
        raise InvalidInput("update_nothing")
    if expires is not None and clear_expires:
        raise InvalidInput("expires_and_clear")
    now = iso(app.clock.now())
    stored = content and to_store(app, content, actor)
    if stored:
        before = find(app, prefix)
        action = Action.UPDATE if before.slot else Action.NEW
        _hold_back(app, Candidate(stored, before.topic, before.sub_topic, action, replaces=before.content), actor)
    with app.db.transaction() as tx:
        before = find(app, prefix)
        if before.forgotten_at is not None:
            raise InvalidInput("memory_forgotten", id=before.id)
        checked = _checked(app, before, content if content == before.content else stored, confidence, actor)
        restated = _restated(before, checked, actor, now)
        after = restated._replace(
            updated_at=now,
            expires_at=None if clear_expires else restated.expires_at if expires is None else _end_of(expires),
        )
        if not before.is_active(now) and (taken := slot_taken(app, after, now)):
            raise SlotOccupied(**taken)
        if after.content != before.content:
            refusing.admit(tx, after, actor)
        entry = changes.entry(Event.UPDATE, before, after, actor=actor, now=now)
        tx.run(memories.replace_row(after), history.append(entry), *declines.lift(tx, [after], actor))
    return after


def _checked(app: App, before: Memory, content: str | None, confidence: Confidence | None, actor: Actor) -> Checked:
    """The new content and tier; what an agent says again keeps its tier, and content that stays is not judged anew."""
    stays = content is None or (actor is Actor.AI and content == before.content)
    tier = confidence or (before.confidence if stays else Confidence.CONFIRMED)
    if content is None:
        slot = app.schema.find(before.topic, before.sub_topic)
        return Checked(slot, before.content, given_by(actor, tier))
    return check_write(
        app.schema, topic=before.topic, sub_topic=before.sub_topic, content=content, confidence=tier, actor=actor
    )


def _restated(before: Memory, checked: Checked, actor: Actor, now: str) -> Memory:
    """The memory with the value and tier of a write by hand.

    A person who gives a new value vouches for it: what a model said of the old one goes. An agent that changes what a
    person confirmed raises a doubt, as an extraction would, and one that changes the doubt does not lift it; the tiers
    of both stay out of its reach (product C6, F4).
    """
    doubtful = actor is Actor.AI and is_guarded(before)
    if checked.content == before.content:
        return before if doubtful else before._replace(confidence=checked.confidence)
    return before._replace(
        content=checked.content,
        confidence=Confidence.UNCERTAIN if doubtful else checked.confidence,
        is_ai_inferred=doubtful,
        evidence=None,
        valid_from=now,
        expires_at=(checked.slot and checked.slot.policy.expiry(now)) or before.expires_at,
        last_seen_at=now,
    )


def _end_of(expires: str) -> str:
    """A date ends with its last second (product G2)."""
    return iso(parse_local(expires, end_of_day=True))


def is_past(app: App, memory: Memory) -> bool:
    """True when the memory's expiry lies before now: accepted, but worth a warning (product G2)."""
    return memory.expires_at is not None and from_iso(memory.expires_at) <= app.clock.now()

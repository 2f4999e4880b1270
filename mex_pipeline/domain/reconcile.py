"""From candidates to changes: the pure decision between what was proposed and what is known (seed 004 §6.1, §7.2)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from mex_pipeline.domain.candidate import Action, Candidate, Discarded
from mex_pipeline.domain.changes import Add, Change, ChangeSet, Hold, Merge, Reinforce, Retire, Revise
from mex_pipeline.domain.coverage import coverage
from mex_pipeline.domain.instruction import may_be_poison
from mex_pipeline.domain.likeness import are_near, are_same, likeness
from mex_pipeline.domain.memory import Confidence, Memory, Source
from mex_pipeline.domain.refusal import Refusal, RefusalKind, pair, place, refused
from mex_pipeline.domain.rules import is_guarded
from mex_pipeline.domain.schema import Schema
from mex_pipeline.domain.text import normalised

SUPERSEDED = "superseded"
RETIRED = "retire"

Told = tuple[str, str]
"""(message key, normalised content): what a message has already yielded."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the store holds for the slots in question, read inside the commit (product C3).

    `active` are the live memories of those slots, `retired` the forgotten ones that carry a `valid_to` (a dated mark,
    product B11) and, of slots of many, the values that others have replaced; `told` is what each message has already
    yielded, forgotten memories included. `refusals` are what a person declined; never again is checked before.
    """

    active: tuple[Memory, ...] = ()
    retired: tuple[Memory, ...] = ()
    told: frozenset[Told] = frozenset()
    refusals: tuple[Refusal, ...] = ()


@dataclass(slots=True)
class _Desk:
    """The working state while candidates are decided one after the other."""

    schema: Schema
    now: str
    new_id: Callable[[], str]
    active: dict[str, Memory]
    retired: list[Memory]
    told: frozenset[Told]
    refusals: tuple[Refusal, ...]
    changes: list[Change] = field(default_factory=list)
    discarded: list[Discarded] = field(default_factory=list)
    merges: list[Merge] = field(default_factory=list)
    holds: list[Hold] = field(default_factory=list)

    def in_slot(self, slot: tuple[str, str]) -> list[Memory]:
        return [memory for memory in self.active.values() if memory.slot == slot]

    def drop(self, candidate: Candidate, reason: str) -> None:
        self.discarded.append(Discarded(candidate.content, reason))


def reconcile(
    candidates: Iterable[Candidate], snapshot: Snapshot, schema: Schema, *, now: str, new_id: Callable[[], str]
) -> ChangeSet:
    """Return what to write for checked candidates (`domain.rules`, `domain.evidence`), in the order they were said.

    `now` is UTC ISO; `new_id` gives fresh memory ids. Unique slots are replaced, many slots and records grow, repeats
    reinforce, `retire` takes one value away (seed 004 §3.5, §6.1 step 6, §7.2; product B5, B11, C6).
    """
    active = {memory.id: memory for memory in snapshot.active}
    desk = _Desk(schema, now, new_id, active, list(snapshot.retired), snapshot.told, snapshot.refusals)
    for candidate in sorted(candidates, key=lambda one: _said(one, now)):
        _decide(desk, candidate)
    return ChangeSet(tuple(desk.changes), tuple(desk.discarded), tuple(desk.merges), tuple(desk.holds))


def _said(candidate: Candidate, now: str) -> str:
    """When the statement was made; text without times counts as said now."""
    return (candidate.source.said_at if candidate.source else None) or now


def _last_said(memory: Memory) -> str:
    """The newest statement of the value: what was said before that neither replaces nor retires it (product B11)."""
    return max(memory.valid_from, memory.last_seen_at or "")


def _decide(desk: _Desk, candidate: Candidate) -> None:
    key = candidate.source.message_key if candidate.source else None
    if key is not None and candidate.action is not Action.RETIRE and (key, normalised(candidate.content)) in desk.told:
        desk.drop(candidate, "already_extracted")
    elif _was_declined(desk, candidate):
        desk.drop(candidate, "declined_before")
    elif may_be_poison(candidate) and not _stands_already(desk, candidate):
        desk.holds.append(Hold(candidate, "instruction"))
        desk.drop(candidate, "held")
    elif candidate.slot is None:
        _add(desk, candidate)
    elif candidate.action is Action.RETIRE:
        _retire(desk, candidate, candidate.slot)
    elif _is_unique(desk, candidate.slot):
        _fill_unique(desk, candidate, candidate.slot)
    else:
        _grow_many(desk, candidate, candidate.slot)


def _was_declined(desk: _Desk, candidate: Candidate) -> bool:
    """True for what a person declined in review, until the user plainly says it anew (product C6)."""
    if candidate.action is Action.RETIRE:
        return False
    declined = (one for one in desk.refusals if one.kind is RefusalKind.DECLINED)
    refusal = refused(declined, place(candidate.topic, candidate.sub_topic), candidate.content)
    return refusal is not None and not (_is_plainly_said(candidate) and _said(candidate, desk.now) > refusal.created_at)


def _stands_already(desk: _Desk, candidate: Candidate) -> bool:
    """True for a value of its slot that a person let in: said again, it is only said again."""
    return candidate.slot is not None and any(_same(memory, candidate) for memory in desk.in_slot(candidate.slot))


def _is_unique(desk: _Desk, slot: tuple[str, str]) -> bool:
    found = desk.schema.find(*slot)
    return found is not None and found.unique


def _fill_unique(desk: _Desk, candidate: Candidate, slot: tuple[str, str]) -> None:
    held = desk.in_slot(slot)
    same = next((memory for memory in held if _same(memory, candidate)), None)
    if same is not None:
        _reinforce(desk, candidate, same)
    elif not held:
        _add(desk, candidate)
    elif _last_said(current := max(held, key=_last_said)) > _said(candidate, desk.now):
        _file_as_superseded(desk, candidate, current)
    else:
        _revise(desk, _weakened(candidate, current), current)


def _grow_many(desk: _Desk, candidate: Candidate, slot: tuple[str, str]) -> None:
    held = desk.in_slot(slot)
    same = next((memory for memory in held if _same(memory, candidate)), None)
    replaced = _named(held, candidate.replaces)
    if same is not None:
        _reinforce(desk, candidate, same)
        _end_replaced(desk, candidate, replaced)
    elif any(_same(mark, candidate) and _outdates(mark, candidate, desk.now) for mark in desk.retired):
        desk.drop(candidate, "retracted_later")
        _end_replaced(desk, candidate, replaced)
    elif replaced is not None and _last_said(replaced) <= _said(candidate, desk.now):
        _revise(desk, _weakened(candidate, replaced), replaced)
    else:
        _end_replaced(desk, candidate, replaced)
        _propose_merge(desk, _add(desk, candidate), held)


def _end_replaced(desk: _Desk, candidate: Candidate, replaced: Memory | None) -> None:
    """Take away what a statement replaces where its own value comes in otherwise: said already, or replaced in its turn.

    What is not known yet leaves a mark. So the order in which sessions are read does not matter (product B11).
    """
    target, said = candidate.replaces, _said(candidate, desk.now)
    if target is None or not _is_plainly_said(candidate):
        return
    if replaced is None and not target.startswith("#") and not are_same(target, candidate.content):
        _mark_retired(desk, replace(candidate, content=target), said)
    elif replaced is not None and not _same(replaced, candidate) and _last_said(replaced) <= said:
        _end(desk, replaced, said, candidate.source)


def _propose_merge(desk: _Desk, added: Memory, held: list[Memory]) -> None:
    """Ask a person about the value that is most like the new one; nothing is ever merged without (product B5)."""
    near = [one for one in held if are_near(one.content, added.content)]
    if not near:
        return
    nearest = max(near, key=lambda one: likeness(one.content, added.content))
    declined = (one for one in desk.refusals if one.kind is RefusalKind.MERGE)
    if refused(declined, place(*nearest.slot or ()), pair(nearest.content, added.content)) is None:
        desk.merges.append(Merge(nearest, added))


def _outdates(mark: Memory, candidate: Candidate, now: str) -> bool:
    """True when the value was taken back after the candidate was said."""
    return mark.slot == candidate.slot and mark.valid_to is not None and mark.valid_to > _said(candidate, now)


def _same(memory: Memory, candidate: Candidate) -> bool:
    return memory.slot == candidate.slot and are_same(memory.content, candidate.content)


def _named(held: list[Memory], target: str | None) -> Memory | None:
    """The active value a candidate says it replaces, by handle (`#` and the first characters of the id) or content."""
    if target is None:
        return None
    if target.startswith("#"):
        found = [memory for memory in held if len(target) > 4 and memory.id.startswith(target[1:].lower())]
    else:
        found = [memory for memory in held if are_same(memory.content, target)]
    return found[0] if len(found) == 1 else None


def _is_plainly_said(candidate: Candidate) -> bool:
    """True for the user's own verified words, explicit and not inferred from them."""
    source = candidate.source
    verified = source is not None and source.verified and source.role == "user"
    return verified and candidate.confidence is Confidence.EXPLICIT and not candidate.is_ai_inferred


def _weakened(candidate: Candidate, over: Memory) -> Candidate:
    """Over a confirmed value or a doubt only what the user plainly said applies as said, over any surer value what has
    its words in the conversation; all else is a doubt (product B3, C6).
    """
    if not (is_guarded(over) or _is_unproven(candidate, over)) or _is_plainly_said(candidate):
        return candidate
    return replace(candidate, action=Action.UNCERTAIN_UPDATE, confidence=Confidence.UNCERTAIN, is_ai_inferred=True)


def _is_unproven(candidate: Candidate, over: Memory) -> bool:
    """True for what is less sure than what it would change, and has no words: nobody said them, or they tell nothing of it.

    A value may be taken back in words that do not name it.
    """
    source = candidate.source
    if source is None or candidate.confidence.weight >= over.confidence.weight:
        return False
    is_retire = candidate.action is Action.RETIRE
    return not source.verified or not (is_retire or coverage(candidate.content, source.quote or candidate.content))


def _memory(desk: _Desk, candidate: Candidate) -> Memory:
    said = _said(candidate, desk.now)
    return Memory(
        id=desk.new_id(),
        topic=candidate.topic,
        sub_topic=candidate.sub_topic,
        content=candidate.content,
        is_ai_inferred=candidate.is_ai_inferred,
        confidence=candidate.confidence,
        evidence=candidate.evidence or candidate.quote,
        created_at=desk.now,
        updated_at=desk.now,
        valid_from=said,
        occurred_at=candidate.occurred_at,
        expires_at=desk.schema.policy_of(candidate.topic, candidate.sub_topic).expiry(said),
        last_seen_at=said,
    )


def _add(desk: _Desk, candidate: Candidate) -> Memory:
    memory = _memory(desk, candidate)
    if memory.is_active(desk.now):
        desk.active[memory.id] = memory
    desk.changes.append(Add(memory, candidate.source))
    return memory


def _file_as_superseded(desk: _Desk, candidate: Candidate, current: Memory) -> None:
    """An older statement that arrives late fills history and never replaces a newer one (product B11)."""
    if candidate.action is not Action.UNCERTAIN_UPDATE:
        said = _said(candidate, desk.now)
        past = _memory(desk, candidate)._replace(
            valid_to=current.valid_from if current.valid_from > said else _last_said(current),
            forgotten_at=desk.now,
            forgotten_reason=SUPERSEDED,
        )
        desk.changes.append(Add(past, candidate.source))
    desk.drop(candidate, "older_statement")


def _revise(desk: _Desk, candidate: Candidate, before: Memory) -> None:
    said = _said(candidate, desk.now)
    after = before._replace(
        content=candidate.content,
        is_ai_inferred=candidate.is_ai_inferred,
        confidence=candidate.confidence,
        evidence=candidate.evidence or candidate.quote,
        updated_at=desk.now,
        valid_from=said,
        occurred_at=candidate.occurred_at,
        expires_at=desk.schema.policy_of(before.topic, before.sub_topic).expiry(said),
        times_seen=1,
        last_seen_at=said,
    )
    desk.active[before.id] = after
    desk.retired.append(before._replace(valid_to=said))
    desk.changes.append(Revise(before, after, candidate.source))
    if any(isinstance(change, Add) and change.after.id == before.id for change in desk.changes):
        # Neither the old value of the store nor the result: who reads the summary must not miss it.
        desk.discarded.append(Discarded(before.content, "superseded", {"by": candidate.content}))


def _retire(desk: _Desk, candidate: Candidate, slot: tuple[str, str]) -> None:
    held = desk.in_slot(slot)
    target = next((memory for memory in held if _same(memory, candidate)), None) or _named(held, candidate.content)
    said = _said(candidate, desk.now)
    if target is None:
        _mark_retired(desk, candidate, said)
        desk.drop(candidate, "retire_no_match")
    elif (is_guarded(target) or _is_unproven(candidate, target)) and not _is_plainly_said(candidate):
        desk.drop(candidate, "retire_unverified")
    elif _last_said(target) > said:
        desk.drop(candidate, "older_statement")
    else:
        _end(desk, target, said, candidate.source)


def _end(desk: _Desk, memory: Memory, said: str, source: Source | None) -> None:
    after = memory._replace(updated_at=desk.now, valid_to=said, forgotten_at=desk.now, forgotten_reason=RETIRED)
    del desk.active[memory.id]
    desk.changes.append(Retire(memory, after, source))


def _mark_retired(desk: _Desk, candidate: Candidate, said: str) -> None:
    """Leave a dated mark of what the user took back, or replaced, before meX knew it: an older session may assert it
    (product B11).
    """
    if candidate.content.startswith("#"):
        return
    known = any(_same(mark, candidate) and (mark.valid_to or "") >= said for mark in desk.retired)
    if _is_plainly_said(candidate) and not known:
        past = _memory(desk, candidate)._replace(valid_to=said, forgotten_at=desk.now, forgotten_reason=RETIRED)
        desk.changes.append(Add(past, candidate.source))


def _reinforce(desk: _Desk, candidate: Candidate, before: Memory) -> None:
    """Said again: counted, its source added, and raised to `explicit` by the user's own verified words (product B5)."""
    raised = _is_plainly_said(candidate) and before.confidence.weight < Confidence.EXPLICIT.weight
    said = _said(candidate, desk.now)
    after = before._replace(
        confidence=Confidence.EXPLICIT if raised else before.confidence,
        is_ai_inferred=False if raised else before.is_ai_inferred,
        evidence=candidate.evidence or candidate.quote if raised else before.evidence,
        updated_at=desk.now if raised else before.updated_at,
        valid_from=_held_since(desk, before, said),
        expires_at=desk.schema.policy_of(before.topic, before.sub_topic).renewed(before, said),
        times_seen=before.times_seen + 1,
        last_seen_at=max(said, before.last_seen_at or ""),
    )
    desk.active[before.id] = after
    desk.changes.append(Reinforce(before, after, candidate.source))
    desk.drop(candidate, "reinforced")


def _held_since(desk: _Desk, memory: Memory, said: str) -> str:
    """Since when a value holds that was also said at `said`: earlier, when nothing is known to have come between."""
    came_between = any(one.slot == memory.slot and said <= (one.valid_to or "") for one in desk.retired)
    is_one_of_many = memory.slot is not None and not _is_unique(desk, memory.slot)
    return min(memory.valid_from, said) if is_one_of_many and not came_between else memory.valid_from

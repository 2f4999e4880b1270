"""What taking back a job comes to: memory by memory the state before it, or why that cannot be (product P6, B8)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from mex_pipeline.domain.candidate import Discarded
from mex_pipeline.domain.memory import Actor, Event, HistoryEntry, Memory
from mex_pipeline.domain.refusal import Refusal, met, place
from mex_pipeline.domain.rules import is_guarded
from mex_pipeline.domain.schema import Schema
from mex_pipeline.domain.timeline import state_of
from mex_pipeline.domain.wording import Language

UNDONE: dict[Language, str] = {"en": "undone", "zh": "已撤销"}
"""Why a memory that a job added is forgotten when the job is undone, in the home's language."""


@dataclass(frozen=True, slots=True)
class PutBack:
    """A memory that gets its state before the job: `before` is how it stands, `after` how it will."""

    before: Memory
    after: Memory


@dataclass(frozen=True, slots=True)
class Undoing:
    """What an undo comes to; `refused` is what is left as it is, and why.

    `done` are the ids of the memories that stand as before the job already, `purged` how many are gone for good.
    """

    put_back: tuple[PutBack, ...] = ()
    refused: tuple[Discarded, ...] = ()
    done: tuple[str, ...] = ()
    purged: int = 0


@dataclass(frozen=True, slots=True)
class Standing:
    """How the memories of a job stand, read where nothing can change it: rows and last lines of history by memory id.

    `held` are the active memories of the unique slots in which the job has been, `banned` what must not be learned.
    """

    rows: Mapping[str, Memory]
    latest: Mapping[str, HistoryEntry]
    held: Sequence[Memory] = ()
    banned: Sequence[Refusal] = ()


@dataclass(slots=True)
class _Desk:
    standing: Standing
    schema: Schema
    actor: Actor
    now: str
    reason: str
    active: defaultdict[tuple[str, str] | None, dict[str, Memory]]


def is_own(line: HistoryEntry) -> bool:
    """True for a line that the job itself wrote: what a person decided about its proposals carries its id too."""
    return line.actor is Actor.AI or line.event is Event.UNDO


def take_back(
    lines: Iterable[HistoryEntry], standing: Standing, schema: Schema, *, actor: Actor, now: str, reason: str
) -> Undoing:
    """Return what becomes of each memory that the job (or several, taken as one) has changed.

    `lines` are its lines of history, oldest first; `now` is UTC ISO, `reason` the text with which added memories are
    forgotten. A memory is put back when it stands as the job left it; what leaves its slot goes first. Discarded are, by
    `reason`: `decided_by_person`, `state_unknown`, `changed_by_job` (`job`), `changed_since` (`id`), `needs_person`,
    `never_again` and `slot_held` (`slot`, `id`).
    """
    of_memory = defaultdict[str, list[HistoryEntry]](list)
    for line in lines:
        of_memory[line.memory_id].append(line)
    desk = _Desk(standing, schema, actor, now, reason, defaultdict(dict))
    for memory in standing.held:
        desk.active[memory.slot][memory.id] = memory
    here = {key: found for key, found in of_memory.items() if key in standing.rows}
    judged = {key: _judged(desk, standing.rows[key], found) for key, found in here.items()}
    done = tuple(key for key, one in judged.items() if one is None)
    wanted = sorted((one for one in judged.values() if one is not None), key=lambda one: _is_back(one, now))
    settled = [_placed(desk, one) if isinstance(one, PutBack) else one for one in wanted]
    return Undoing(
        tuple(one for one in settled if isinstance(one, PutBack)),
        tuple(one for one in settled if isinstance(one, Discarded)),
        done,
        len(of_memory) - len(here),
    )


def _is_back(one: PutBack | Discarded, now: str) -> bool:
    return isinstance(one, PutBack) and one.after.is_active(now)


def _judged(desk: _Desk, memory: Memory, lines: Sequence[HistoryEntry]) -> PutBack | Discarded | None:
    """What the memory would become, or why it is left alone; None when it stands as before the job already."""
    own = [line for line in lines if is_own(line)]
    if not own:
        return Discarded(memory.content, "decided_by_person")
    if (own[0].before is None and own[0].event is not Event.ADD) or any(line.after is None for line in own):
        return Discarded(memory.content, "state_unknown")
    latest = desk.standing.latest[memory.id]
    if _is_done(memory, own[0], latest):
        return None
    if _stands(memory, own):
        return PutBack(memory, _earlier(desk, memory, own[0]))
    if latest.job_id is not None and latest.job_id != own[-1].job_id and is_own(latest):
        return Discarded(memory.content, "changed_by_job", {"job": latest.job_id})
    return Discarded(memory.content, "changed_since", {"id": memory.id})


def _earlier(desk: _Desk, memory: Memory, first: HistoryEntry) -> Memory:
    """The state before the job. What the job brought never held: its time ends where it begins (product B11)."""
    if first.before is not None:
        return state_of(first.before)._replace(updated_at=desk.now)
    return memory._replace(
        forgotten_at=desk.now,
        forgotten_reason=desk.reason,
        valid_to=memory.valid_from,
        updated_at=desk.now,
    )


def _is_done(memory: Memory, first: HistoryEntry, latest: HistoryEntry) -> bool:
    if first.before is None:
        return memory.forgotten_at is not None and latest.event is Event.UNDO
    return is_alike(memory, state_of(first.before))


def _stands(memory: Memory, own: Sequence[HistoryEntry]) -> bool:
    """True when the memory is as the job left it, and nobody else has had it in between."""
    links = (
        one.after and two.before and is_alike(state_of(one.after), state_of(two.before)) for one, two in pairwise(own)
    )
    left = own[-1].after
    return all(links) and left is not None and is_alike(memory, state_of(left))


def is_alike(one: Memory, other: Memory) -> bool:
    """True for equal states, whenever each of them was written."""
    return one._replace(updated_at=other.updated_at) == other


def _placed(desk: _Desk, item: PutBack) -> PutBack | Discarded:
    """The same when it may stand where it would, else why not."""
    before, after = item.before, item.after
    if desk.actor is Actor.AI and (is_guarded(before) or is_guarded(after)):
        return Discarded(before.content, "needs_person")
    if after.is_active(desk.now):
        if met(desk.standing.banned, place(after.topic, after.sub_topic), after.content):
            return Discarded(before.content, "never_again")
        slot = desk.schema.find(after.topic, after.sub_topic)
        other = next((one for key, one in desk.active[after.slot].items() if key != after.id), None)
        if slot is not None and slot.unique and other is not None:
            return Discarded(before.content, "slot_held", {"slot": slot.path, "id": other.id})
    desk.active[before.slot].pop(before.id, None)
    if after.is_active(desk.now):
        desk.active[after.slot][after.id] = after
    return item

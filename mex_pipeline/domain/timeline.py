"""Time travel: what was known at a moment, and what held then, from the states in history (product B8, B11, E2).

Rows of history without states come from older databases, which kept contents only. There the state is pieced together:
content and time from the row of history, the forgotten mark from its event, everything else from the memory as it is
now. A memory without any history counts as known, as it is, since it was created. What was deleted for good has no row
among the memories and is at no moment known.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mex_pipeline.domain.memory import Confidence, Event, HistoryEntry, Memory
from mex_pipeline.domain.reconcile import RETIRED, SUPERSEDED

_COLUMNS = Memory._fields
_GONE = (Event.FORGET, Event.EXPIRE)


@dataclass(frozen=True, slots=True)
class Step:
    """The state of a memory as meX knew it from `at` (UTC ISO) until its next step."""

    at: str
    state: Memory


@dataclass(frozen=True, slots=True)
class Span:
    """A value of a memory in its newest state, and when it held: from `start` until before `end` (None: still).

    `is_last` is the memory's newest value; `earlier` is the confirmed content before it when it is in doubt (product C6).
    """

    state: Memory
    start: str
    end: str | None
    is_last: bool
    earlier: str | None = None

    def holds(self, at: str) -> bool:
        """True when the value held at `at` (UTC ISO)."""
        return self.start <= at and (self.end is None or at < self.end)


@dataclass(frozen=True, slots=True)
class Then:
    """The memories of a moment, in the order of their rows, and the confirmed contents that doubtful ones stand in for."""

    memories: tuple[Memory, ...]
    earlier: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Gone:
    """A memory that is not shown any more: `forgotten`, `retired`, `superseded` or `expired`."""

    memory: Memory
    reason: str


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed between two moments: memories, (before, after), and what is gone."""

    added: tuple[Memory, ...]
    changed: tuple[tuple[Memory, Memory], ...]
    gone: tuple[Gone, ...]


def tracks(rows: Iterable[Memory], entries: Iterable[HistoryEntry]) -> list[list[Step]]:
    """Return the steps of each memory there is, in the order of `rows`; `entries` are in the order of `history.seq`."""
    lines = defaultdict[str, list[HistoryEntry]](list)
    for entry in entries:
        lines[entry.memory_id].append(entry)
    return [steps(row, lines.get(row.id, ())) for row in rows]


def steps(row: Memory, entries: Sequence[HistoryEntry]) -> list[Step]:
    """Return what was known of one memory and since when, oldest first, never empty.

    One that was deleted for good and brought back from an export is known since it came back.
    """
    entries = [entry for entry in entries if entry.event is not Event.DELETE]
    if not entries:
        return [Step(row.created_at, row)]
    first = entries[0]
    found = []
    if first.before is not None:
        found.append(Step(row.created_at, state_of(first.before)))
    elif first.after is None and first.event is not Event.ADD and first.old_content is not None:
        found.append(Step(row.created_at, _pieced(row, row.created_at, first.old_content)))
    for entry, following in zip(entries, [*entries[1:], None], strict=True):
        if entry.after is not None:
            state = state_of(entry.after)
        elif following is None:
            state = row
        elif following.before is not None:
            state = state_of(following.before)
        else:
            state = _after(row, entry, found[-1].state if found else None)
        found.append(Step(entry.created_at, state))
    return found


def known_at(found: Iterable[Sequence[Step]], at: str) -> Then:
    """Return every memory as meX knew it at `at` (UTC ISO), the forgotten and the expired among them.

    Of changes in the same second the later in history counts.
    """
    memories = []
    earlier = {}
    for track in found:
        known = [step for step in track if step.at <= at]
        if known:
            state = known[-1].state
            memories.append(state)
            before = _confirmed_before(state, [step.state for step in known]) if _is_doubtful(state) else None
            if before is not None:
                earlier[state.id] = before
    return Then(tuple(memories), earlier)


def as_of(found: Iterable[Sequence[Step]], at: str) -> Then:
    """Return what held at `at` (UTC ISO) by today's knowledge: of each memory the value that was valid then.

    A value holds from its `valid_from` until the memory's next value, its `valid_to`, its expiry, or, where it was
    forgotten without being superseded or retired, until it was forgotten. It is shown as it stands now, unforgotten.
    """
    memories = []
    earlier = {}
    for track in found:
        span = next((one for one in reversed(spans(track)) if one.holds(at)), None)
        if span is not None:
            memories.append(_held(span))
            if span.earlier is not None:
                earlier[span.state.id] = span.earlier
    return Then(tuple(memories), earlier)


def difference(old: Then, new: Then, since: str, until: str) -> Difference:
    """Return what changed from what was known at `since` to what was known at `until`, of what was shown then.

    That a value was said again changes nothing; a new tier, slot or expiry does.
    """
    before = {one.id: one for one in old.memories if one.is_active(since)}
    added, changed, gone = [], [], []
    for memory in new.memories:
        known = before.get(memory.id)
        if not memory.is_active(until):
            if known is not None:
                gone.append(Gone(memory, _why_gone(memory, until)))
        elif known is None:
            added.append(memory)
        elif _shown(known) != _shown(memory):
            changed.append((known, memory))
    return Difference(tuple(added), tuple(changed), tuple(gone))


def _shown(memory: Memory) -> tuple[object, ...]:
    return memory.slot, memory.topic, memory.content, memory.confidence, memory.is_ai_inferred, memory.expires_at


def _why_gone(memory: Memory, at: str) -> str:
    if memory.expires_at is not None and memory.expires_at <= (memory.forgotten_at or at):
        return "expired"
    return {SUPERSEDED: "superseded", RETIRED: "retired"}.get(memory.forgotten_reason or "", "forgotten")


def superseded(found: Iterable[Sequence[Step]]) -> list[Memory]:
    """Return every value that another has replaced or that was retired, dated by `valid_from` and `valid_to`.

    A value that is the memory's own again is not among them.
    """
    past = []
    for track in found:
        last = track[-1].state
        for span in spans(track):
            is_taken_back = last.forgotten_at is not None and last.valid_to is not None
            is_past = is_taken_back if span.is_last else span.state.content != last.content
            if is_past:
                held = _held(span)
                past.append(held._replace(valid_to=max(held.valid_from, held.valid_to or held.valid_from)))
    return past


def spans(track: Sequence[Step]) -> list[Span]:
    """Return the values of one memory in the order in which they were learned; steps of equal content are one value."""
    values: list[Memory] = []
    for step in track:
        if values and values[-1].content == step.state.content:
            values[-1] = step.state
        else:
            values.append(step.state)
    found = []
    for number, value in enumerate(values):
        following = values[number + 1].valid_from if number + 1 < len(values) else None
        forgotten = value.forgotten_at if value.valid_to is None else None
        ends = [end for end in (following, value.valid_to, forgotten, value.expires_at) if end is not None]
        earlier = _confirmed_before(value, values[: number + 1]) if _is_doubtful(value) else None
        is_last = number + 1 == len(values)
        found.append(Span(value, value.valid_from, min(ends, default=None), is_last, earlier))
    return found


def _held(span: Span) -> Memory:
    """The value as it stood: not forgotten, `valid_to` where another value or its retraction ended it."""
    is_dated = not span.is_last or span.state.valid_to is not None
    return span.state._replace(
        forgotten_at=None, forgotten_reason=None, valid_to=span.end if is_dated else span.state.valid_to
    )


def _is_doubtful(state: Memory) -> bool:
    return state.is_ai_inferred and state.confidence is Confidence.UNCERTAIN


def _confirmed_before(state: Memory, known: Sequence[Memory]) -> str | None:
    """The content before this one, doubts left out, when it was confirmed; `known` are the states up to this one."""
    others = (one for one in reversed(_standing(known)) if one.content != state.content and not _is_uncertain(one))
    before = next(others, None)
    return before.content if before is not None and before.confidence is Confidence.CONFIRMED else None


def _standing(known: Iterable[Memory]) -> list[Memory]:
    """The values that gave way one after the other: one that was put back takes what came after it along (product P6)."""
    found: list[Memory] = []
    for state in known:
        back = next((number for number, one in enumerate(found) if _value(one) == _value(state)), len(found))
        found[back:] = [state]
    return found


def _value(state: Memory) -> tuple[object, ...]:
    return state.content, state.valid_from, state.confidence


def _is_uncertain(state: Memory) -> bool:
    return state.confidence is Confidence.UNCERTAIN


def state_of(columns: Mapping[str, Any]) -> Memory:
    """Return the memory of a state in history; what a newer meX added is left out."""
    values = {name: columns[name] for name in _COLUMNS if name in columns}
    values["is_ai_inferred"] = bool(values["is_ai_inferred"])
    values["confidence"] = Confidence(values["confidence"])
    return Memory(**values)


def _after(row: Memory, entry: HistoryEntry, before: Memory | None) -> Memory:
    """The state after a row of history that kept contents only."""
    content = entry.new_content if entry.new_content is not None else entry.old_content
    state = _pieced(row, entry.created_at, row.content if content is None else content)
    if before is not None and before.content == state.content:
        state = state._replace(valid_from=before.valid_from)
    return state._replace(forgotten_at=entry.created_at) if entry.event in _GONE else state


def _pieced(row: Memory, at: str, content: str) -> Memory:
    """The memory with another content since `at`; the row itself knows only of the newest."""
    is_same = content == row.content
    return row._replace(
        content=content,
        updated_at=at,
        valid_from=row.valid_from if is_same else at,
        valid_to=None,
        forgotten_at=None,
        forgotten_reason=None,
    )

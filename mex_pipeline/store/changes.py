"""From a ChangeSet to the statements that write it, history and sources included."""

from typing import Any

from mex_pipeline.domain.changes import Add, Change, ChangeSet, Reinforce, Retire
from mex_pipeline.domain.memory import Actor, Event, HistoryEntry, Memory
from mex_pipeline.store import history, memories, sources
from mex_pipeline.store.sql import Statement


def state(memory: Memory) -> dict[str, Any]:
    """Return a memory's whole row state as plain JSON values, for history's before and after (product B8)."""
    return memory._asdict()


def entry(
    event: Event, before: Memory | None, after: Memory | None, *, actor: Actor, now: str, job_id: str | None = None
) -> HistoryEntry:
    """Return the history line of a change from `before` to `after` (at least one of them is given)."""
    subject = after or before
    assert subject is not None
    gone = event in (Event.FORGET, Event.EXPIRE, Event.DELETE)
    return HistoryEntry(
        memory_id=subject.id,
        event=event,
        old_content=before.content if before else None,
        new_content=None if gone or after is None else after.content,
        actor=actor,
        evidence=subject.evidence,
        created_at=now,
        job_id=job_id,
        before=state(before) if before else None,
        after=state(after) if after else None,
    )


_EVENTS: dict[type[Change], Event] = {Add: Event.ADD, Retire: Event.FORGET, Reinforce: Event.REINFORCE}


def statements(changes: ChangeSet, *, now: str, job_id: str) -> list[Statement]:
    """Return the writes of an extraction in an order that lets equal SQL be grouped: rows, then history, then sources.

    A memory that is added and then revised in one extraction is inserted first and updated after, as both happened.
    """
    rows: list[Statement] = []
    lines: list[Statement] = []
    origins: list[Statement] = []
    for change in changes.changes:
        before = None if isinstance(change, Add) else change.before
        rows.append(memories.insert(change.after) if before is None else memories.replace_row(change.after))
        event = _EVENTS.get(type(change), Event.UPDATE)
        lines.append(history.append(entry(event, before, change.after, actor=Actor.AI, now=now, job_id=job_id)))
        if change.source is not None:
            origins.append(sources.insert(change.after.id, change.source, now))
    return rows + lines + origins

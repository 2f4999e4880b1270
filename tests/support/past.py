"""A home with a past: memories written at given moments, each change with its line of history, as the services do."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mex_pipeline.app import App
from mex_pipeline.bootstrap import open_app
from mex_pipeline.clock import from_iso
from mex_pipeline.domain.candidate import Candidate
from mex_pipeline.domain.ids import new_id
from mex_pipeline.domain.memory import Actor, Event, Memory, Source
from mex_pipeline.domain.proposal import proposed
from mex_pipeline.domain.reconcile import Snapshot, reconcile
from mex_pipeline.domain.refusal import RefusalKind
from mex_pipeline.services import memories as service
from mex_pipeline.store import changes, history, memories, proposals, refusals, sources
from mex_pipeline.store.sql import Statement


@dataclass(frozen=True)
class Fixed:
    """A clock that stands still."""

    moment: datetime

    def now(self) -> datetime:
        return self.moment


@contextmanager
def app_at(at: str) -> Iterator[App]:
    """The home as a command sees it at a moment (UTC ISO)."""
    with open_app("zh") as app:
        yield app._replace(clock=Fixed(from_iso(at)))


def add(at: str, slot: str | None, content: str, **given: Any) -> Memory:
    """Add a memory by hand; `slot` is `work.company`, a bare topic, or None."""
    topic, _, sub_topic = (slot or "").partition(".")
    with app_at(at) as app:
        return service.add(app, content=content, topic=topic or None, sub_topic=sub_topic or None, **given)


def update(at: str, memory: Memory, **given: Any) -> Memory:
    """Change a memory by hand."""
    with app_at(at) as app:
        return service.update(app, memory.id, **given)


def change(at: str, event: Event, memory: Memory, **columns: Any) -> Memory:
    """Write another state of a memory with its line of history."""
    after = memory._replace(updated_at=at, **columns)
    with app_at(at) as app, app.db.transaction() as tx:
        entry = changes.entry(event, memory, after, actor=Actor.USER, now=at)
        tx.run(memories.replace_row(after), history.append(entry))
    return after


def forget(at: str, memory: Memory, reason: str = "") -> Memory:
    """Forget a memory by hand."""
    return change(at, Event.FORGET, memory, forgotten_at=at, forgotten_reason=reason)


def delete_for_good(at: str, memory: Memory) -> None:
    """Leave nothing but one line of history without content (product B6)."""
    with app_at(at) as app, app.db.transaction() as tx:
        for table, column in (("memories", "id"), ("history", "memory_id"), ("memory_sources", "memory_id")):
            tx.run(Statement(f"DELETE FROM {table} WHERE {column} = :id", {"id": memory.id}))
        entry = changes.entry(Event.DELETE, memory, None, actor=Actor.USER, now=at)
        tx.run(history.append(entry._replace(old_content=None, evidence=None, before=None)))


def extract(at: str, *candidates: Candidate) -> None:
    """Write what an extraction makes of candidates, decided and stored by the code that does it."""
    with app_at(at) as app, app.db.transaction() as tx:
        slots = {one.slot for one in candidates if one.slot is not None}
        snapshot = Snapshot(
            tuple(tx.all(memories.in_slots(slots, at))),
            tuple(tx.all(memories.retired_in_slots(slots))),
            refusals=tuple(tx.all(refusals.of_kinds(*RefusalKind))),
        )
        decided = reconcile(candidates, snapshot, app.schema, now=at, new_id=new_id)
        asked = proposed(decided.merges, decided.holds, now=at, new_id=new_id, job_id="job-1")
        tx.run(*changes.statements(decided, now=at, job_id="job-1"), *map(proposals.insert, asked))


def came_from(memory: Memory, project: str) -> None:
    """Give a memory a source in a project's folder."""
    with app_at(memory.created_at) as app, app.db.transaction() as tx:
        tx.run(sources.insert(memory.id, Source("claude", project=project), memory.created_at))

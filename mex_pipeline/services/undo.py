"""Taking back what a job wrote, item by item, in one transaction that is a job itself (product P6, B8)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mex_pipeline import faults
from mex_pipeline.app import App
from mex_pipeline.clock import iso, millis
from mex_pipeline.domain.ids import new_id, require_prefix
from mex_pipeline.domain.job import Job, JobState, Outcome, Trigger
from mex_pipeline.domain.memory import Actor, Event, HistoryEntry, Memory
from mex_pipeline.domain.proposal import Proposal
from mex_pipeline.domain.refusal import RefusalKind
from mex_pipeline.domain.review import awaits_review
from mex_pipeline.domain.undo import UNDONE, PutBack, Standing, Undoing, take_back
from mex_pipeline.errors import InvalidInput, JobStateConflict, NotFound
from mex_pipeline.services import declines, job_control, jobs
from mex_pipeline.services.results import discarded_plain, memory_plain
from mex_pipeline.store import changes, history, memories, proposals, refusals
from mex_pipeline.store import jobs as job_rows
from mex_pipeline.store import undo as undo_rows
from mex_pipeline.store.database import Database
from mex_pipeline.store.sql import Statement

LAST = "last"
"""Names the job that changed memories last; an undo counts."""


@dataclass(frozen=True, slots=True)
class Undone:
    """What an undo of `jobs` has come to, or would; `job` is its own, None where nothing was written."""

    job: Job | None
    jobs: tuple[str, ...]
    result: dict[str, Any]

    @property
    def changes_anything(self) -> bool:
        """True when a memory is put back or a proposal withdrawn; else everything was refused."""
        names = ("added", "updated", "retired")
        return bool(self.result["withdrawn"] or any(self.result[name] for name in names))

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object: `{job_id, state, outcome}` and the result's keys (product H9)."""
        outcome = Outcome.COMMITTED if self.changes_anything else Outcome.ALL_REJECTED
        job = self.job
        return {"job_id": job and job.id, "state": job and job.state, "outcome": outcome} | self.result


def named(app: App, identifier: str) -> tuple[str, ...]:
    """Return the ids of the jobs that an id or prefix names: of a job, a batch, an archive, or a job that was pruned.

    Raises NotFound (`job_not_found`, `ambiguous_id`).
    """
    try:
        found = job_control.find(app, identifier)
    except NotFound as error:
        if error.code != "job_not_found":
            raise
        pruned = app.db.all(history.named_jobs(require_prefix(identifier)))
        if len(pruned) > 1:
            raise NotFound("ambiguous_id", id=identifier) from error
        if not pruned:
            raise
        return tuple(pruned)
    if isinstance(found, Job):
        found = job_control.followed(app.db, found)
        handed_out = job_control.batch(app, found.id).jobs if found.kind == jobs.ARCHIVE else ()
        return (found.id, *(job.id for job in handed_out if job.id != found.id))
    return tuple(job.id for job in found.jobs)


def undo(app: App, identifier: str, *, dry_run: bool = False, actor: Actor = Actor.USER) -> Undone:
    """Take back what a job wrote, as far as it still stands, and return what became of it; `last` is the newest job.

    Each memory gets its state before the job, an added one is forgotten softly; what was changed since is refused and
    listed. An agent takes back nothing that is confirmed, and withdraws no proposals. All of it is one transaction, with
    a finished job of kind `undo`, which can be undone in turn. Message keys stay seen and sources stay, so that the same
    words do not bring back what was undone. With `dry_run` nothing is written. Raises NotFound (`undo_nothing_yet` for
    `last`, else as `named`), JobStateConflict("undo_job_unfinished"), InvalidInput (`undo_restore`, `undo_wrote_nothing`,
    `undo_done_already`, `undo_done_by_hand`).
    """
    ids = _last(app) if identifier == LAST else named(app, identifier)
    with app.db.snapshot() if dry_run else app.db.transaction() as tx:
        moment = app.clock.now()
        now, at = iso(moment), millis(moment)
        lines = _lines(tx, ids)
        asked = tx.all(proposals.of_jobs(ids)) if actor is Actor.USER else []
        decided = _decided(app, tx, lines, actor, now)
        if not (decided.put_back or decided.refused or asked):
            raise _nothing(tx, ids, decided)
        undone = Undone(None, ids, _result(ids, decided, asked, now))
        if dry_run or not undone.changes_anything:
            return undone
        job = _job(ids, undone.result, at)
        faults.point("undo_begun")
        tx.run(*_writes(tx, decided.put_back, actor, now, job.id), proposals.delete(one.id for one in asked))
        faults.point("undo_written")
        ended = job_rows.event(job.id, at, "succeeded", job.fence, job.outcome)
        tx.run(undo_rows.insert_ended(job), ended)
    faults.point("undone")
    return replace(undone, job=job)


def _last(app: App) -> tuple[str, ...]:
    newest = app.db.first(history.newest_job())
    if newest is None:
        raise NotFound("undo_nothing_yet")
    return (newest,)


def _lines(view: Database, ids: Sequence[str]) -> list[HistoryEntry]:
    """What the jobs have written; raises when one of them has not ended, or is no job that can be undone."""
    for job in (view.first(job_rows.one(one)) for one in ids):
        if job is not None and not job.state.is_final:
            raise JobStateConflict("undo_job_unfinished", id=job.id, state=job.state)
        if job is not None and job.kind == jobs.RESTORE:
            raise InvalidInput("undo_restore", id=job.id)
    lines = view.all(history.of_jobs(ids))
    if any(line.event is Event.IMPORT for line in lines):
        raise InvalidInput("undo_restore", id=ids[0])  # its row was pruned
    return lines


def _decided(app: App, view: Database, lines: Sequence[HistoryEntry], actor: Actor, now: str) -> Undoing:
    ids = {line.memory_id for line in lines}
    rows = {memory.id: memory for memory in view.all(memories.by_ids(ids))}
    places = [(state["topic"], state["sub_topic"]) for line in lines for state in (line.before, line.after) if state]
    found = (app.schema.find(*one) for one in places)
    slots = {(slot.topic, slot.name) for slot in found if slot is not None and slot.unique}
    standing = Standing(
        rows,
        {line.memory_id: line for line in view.all(history.latest(ids))},
        view.all(memories.in_slots(slots, now)),
        view.all(refusals.of_kinds(RefusalKind.NEVER_AGAIN)),
    )
    reason = UNDONE[app.settings.language or app.language]
    return take_back(lines, standing, app.schema, actor=actor, now=now, reason=reason)


def _nothing(view: Database, ids: Sequence[str], decided: Undoing) -> InvalidInput:
    if not decided.done:
        return InvalidInput("undo_wrote_nothing", id=ids[0])
    latest = view.all(history.latest(decided.done))
    by = next((line.job_id for line in latest if line.event is Event.UNDO and line.job_id), None)
    if by is None:
        return InvalidInput("undo_done_by_hand", id=ids[0], memory=decided.done[0])
    return InvalidInput("undo_done_already", id=ids[0], by=by)


def _writes(tx: Database, items: Sequence[PutBack], actor: Actor, now: str, job_id: str) -> list[Statement]:
    lines = [_line(item, actor, now, job_id) for item in items]
    back = [item.after for item in items if item.after.is_active(now)]
    return [
        *(memories.replace_row(item.after) for item in items),
        *(history.append(line) for line in lines),
        *declines.lift(tx, back, actor),
    ]


def _line(item: PutBack, actor: Actor, now: str, job_id: str) -> HistoryEntry:
    """A line of history that shows what a person sees: a memory that goes says nothing afterwards."""
    line = changes.entry(Event.UNDO, item.before, item.after, actor=actor, now=now, job_id=job_id)
    return line if item.after.forgotten_at is None else line._replace(new_content=None)


def _job(ids: Sequence[str], result: dict[str, Any], at: int) -> Job:
    return Job(
        id=new_id(),
        kind=jobs.UNDO,
        payload={"jobs": list(ids)},
        state=JobState.SUCCEEDED,
        trigger=Trigger.FOREGROUND,
        available_at=at,
        created_at=at,
        max_attempts=1,
        attempt=1,
        outcome=Outcome.COMMITTED,
        result=result,
        finished_at=at,
    )


def _result(ids: Sequence[str], decided: Undoing, asked: Sequence[Proposal], now: str) -> dict[str, Any]:
    """The result object of product H9, as far as it applies; `added` are memories that hold again."""
    came, stayed, went = _sorted(decided.put_back)
    return {
        "undoes": list(ids),
        "added": [memory_plain(one.after) for one in came],
        "updated": [{"before": memory_plain(one.before), "after": memory_plain(one.after)} for one in stayed],
        "retired": [memory_plain(one.after) for one in went],
        "discarded": [discarded_plain(one) for one in decided.refused],
        "inferred_count": sum(awaits_review(one.after, now) for one in (*came, *stayed)),
        "proposed": 0,
        "withdrawn": len(asked),
        "done_before": len(decided.done),
        "purged": decided.purged,
        "usage": {"model": None, "calls": 0, "reused": 0, "prompt_tokens": 0, "completion_tokens": 0},
        "cursor": None,
        "turns": None,
    }


def _sorted(items: Sequence[PutBack]) -> tuple[list[PutBack], list[PutBack], list[PutBack]]:
    """The items by what a person sees: memories that hold again, that get an earlier state, that are forgotten."""

    def is_gone(memory: Memory) -> bool:
        return memory.forgotten_at is not None

    went = [one for one in items if is_gone(one.after)]
    came = [one for one in items if is_gone(one.before) and not is_gone(one.after)]
    return came, [one for one in items if not (is_gone(one.before) or is_gone(one.after))], went

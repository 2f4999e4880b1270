"""Jobs named by id, batch, source or state, many at once: find them, wait for them, follow their story (product D3)."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from mex_pipeline.app import App
from mex_pipeline.clock import iso_of_millis, millis
from mex_pipeline.domain.ids import require_prefix
from mex_pipeline.domain.job import FINAL, WAITING, Job, JobState, Outcome
from mex_pipeline.errors import InvalidInput, NotFound
from mex_pipeline.services import children, jobs, workers
from mex_pipeline.services.rescue import rescue_dead
from mex_pipeline.store import job_reports
from mex_pipeline.store import jobs as job_rows
from mex_pipeline.store.database import Database

UNFINISHED = WAITING | {JobState.RUNNING}
STOPPED = frozenset({JobState.FAILED, JobState.CANCELLED})
KINDS = (jobs.EXTRACT, jobs.IMPORT, jobs.RESTORE, jobs.ARCHIVE, jobs.AGAIN, jobs.COMPACT, jobs.EMBED, jobs.UNDO)
_LOOK_SECONDS, _LONGEST_LOOK_SECONDS = 0.05, 0.5
_REST = 4
"""How many times as long as a look the wait after it is at least: to watch thousands of jobs must not slow them down."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The jobs that one command asked for together, in that order; a batch is nothing but the sum of them."""

    id: str
    jobs: tuple[Job, ...]

    def count(self, name: str) -> dict[str, int]:
        """Return how many of the jobs have each value of `state` or `outcome`."""
        found: dict[str, int] = {}
        for job in self.jobs:
            value = getattr(job, name)
            if value is not None:
                found[value] = found.get(value, 0) + 1
        return found

    def written(self) -> dict[str, int]:
        """Return `{added, updated, retired, discarded}`: how many of each, all jobs together."""
        names = ("added", "updated", "retired", "discarded")
        return {name: sum(len((job.result or {}).get(name, ())) for job in self.jobs) for name in names}


def find(app: App, identifier: str) -> Job | Batch:
    """Return the job or the batch of an id or prefix; raises NotFound (`job_not_found`, `ambiguous_id`).

    The conversations of an archive are a batch of its id: that id is the archive's job.
    """
    prefix = require_prefix(identifier)
    named = app.db.all(job_rows.by_prefix(prefix))
    ids = {job.id for job in named}
    found: list[Job | Batch] = [*named]
    found += [batch(app, one) for one in app.db.all(job_reports.batches(prefix)) if one not in ids]
    if not found:
        raise NotFound("job_not_found", id=identifier)
    if len(found) > 1:
        raise NotFound("ambiguous_id", id=identifier)
    return found[0]


def batch(app: App, batch_id: str) -> Batch:
    """Return the batch of a whole id. In the place of a job that was merged into another stands that one."""
    members = [followed(app.db, job) for job in app.db.all(job_reports.of_batch(batch_id))]
    return Batch(batch_id, tuple({job.id: job for job in members}.values()))


def page(
    app: App,
    *,
    states: tuple[str, ...] = (),
    kind: str | None = None,
    source: Path | None = None,
    since: datetime | None = None,
    batch: str | None = None,
    outcome: str | None = None,
    limit: int = 50,
) -> list[Job]:
    """Return the newest jobs that fit; `source` need not exist any more.

    Raises InvalidInput for a state, kind or outcome that does not exist, NotFound for a batch that does not.
    """
    if (value := _unknown(states, JobState)) is not None:
        raise InvalidInput("unknown_state", value=value, known=", ".join(JobState))
    if (value := _unknown([kind or jobs.EXTRACT], KINDS)) is not None:
        raise InvalidInput("unknown_kind", value=value, known=", ".join(KINDS))
    if (value := _unknown([outcome or Outcome.COMMITTED], Outcome)) is not None:
        raise InvalidInput("unknown_outcome", value=value, known=", ".join(Outcome))
    if not 1 <= limit <= jobs.MAX_LIMIT:
        raise InvalidInput("limit_out_of_range", least=1, most=jobs.MAX_LIMIT)
    query = job_reports.page(
        states=states,
        kind=kind,
        source=None if source is None else _real(source),
        since=None if since is None else millis(since),
        batch=None if batch is None else _batch_id(app, batch),
        outcome=outcome,
        limit=limit,
    )
    return app.db.all(query)


def _unknown(given: Iterable[str], known: Iterable[str]) -> str | None:
    """The first that is not known, by name."""
    return next(iter(sorted(set(given) - set(known))), None)


def _real(source: Path) -> str:
    """The path by which jobs name a source; a file that is gone still has one."""
    try:
        return str(source.expanduser().resolve())
    except (OSError, RuntimeError, ValueError) as error:
        raise InvalidInput("file_missing", path=str(source)) from error


def _batch_id(app: App, prefix: str) -> str:
    found = find(app, prefix)
    if isinstance(found, Job) and found.kind != jobs.ARCHIVE:
        raise NotFound("job_not_found", id=prefix)
    return found.id


def is_over(app: App, job: Job) -> bool:
    """True when waiting for the job is pointless: it has ended, or only a person can let it go on.

    An archive is waited for with its conversations.
    """
    if job.kind == jobs.ARCHIVE and (job.state in FINAL or job.reason == jobs.CHILDREN):
        return has_ended(app, job) or children.are_held(app, job)
    return job.state in FINAL or jobs.is_paused(app, job)


def has_ended(app: App, job: Job) -> bool:
    """True when a job is over, and with an archive each of its conversations."""
    return job.state in FINAL and not children.unfinished(app.db, job)


def wait(
    app: App,
    identifiers: Sequence[str],
    *,
    timeout: float | None,
    on_change: Callable[[int, Job], None] = lambda *_: None,
) -> list[tuple[Job, bool]]:
    """Return (job, ended) of each id when all have ended or are paused, or `timeout` seconds have passed.

    `on_change` is told of every new state and step, and the place of the id. Rows are read only when another process
    has committed. A job that was merged into another is followed there, one whose process dies meanwhile is taken back.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    held = [followed(app.db, jobs.get(app.db, one)) for one in identifiers]
    told = [children.as_it_stands(app, job) for job in held]
    for place, job in enumerate(told):
        on_change(place, job)
    pause, version = _LOOK_SECONDS, app.db.data_version()
    while not all(is_over(app, job) for job in held):
        left = pause if deadline is None else deadline - time.monotonic()
        if left <= 0:
            break
        time.sleep(min(pause, left))
        pause = min(pause * 1.3, _LONGEST_LOOK_SECONDS)
        if version == (version := app.db.data_version()) and not _taken_back(app):
            continue
        began = time.monotonic()
        for place, job in enumerate(held):
            held[place] = job if job.state in FINAL else followed(app.db, jobs.get(app.db, job.id))
            fresh = children.as_it_stands(app, held[place])
            if fresh != told[place]:
                told[place], pause = fresh, _LOOK_SECONDS
                on_change(place, fresh)
        pause = max(pause, _REST * (time.monotonic() - began))
    return [(job, has_ended(app, job)) for job in held]


def _taken_back(app: App) -> bool:
    """Take back jobs whose process died, and see to a worker for them; False when there were none."""
    if not rescue_dead(app):
        return False
    if jobs.waits_for_a_worker(app):
        workers.ensure_running(app)
    return True


def followed(db: Database, job: Job) -> Job:
    """Return the job that does the work of a merged one; the merged one itself when that is listed no more."""
    while job.reason is not None and job.reason.startswith("merged:"):
        onward = db.first(job_rows.one(job.reason.removeprefix("merged:")))
        if onward is None:
            break
        job = onward
    return job


def follow(app: App, job: Job, *, forever: bool) -> Iterator[dict[str, Any]]:
    """Yield what happened to a job, `{at, event, fence, note}`, oldest first; `forever` goes on until the job has ended."""
    seq, pause = 0, _LOOK_SECONDS
    while True:
        is_last = not forever or jobs.get(app.db, job.id).state in FINAL  # before the look: nothing comes after the end
        found = app.db.all(job_reports.events_after(job.id, seq))
        for row in found:
            seq = row.pop("seq")
            yield row | {"at": iso_of_millis(row["at"])}
        if is_last:
            return
        pause = _LOOK_SECONDS if found else min(pause * 1.3, _LONGEST_LOOK_SECONDS)
        time.sleep(pause)

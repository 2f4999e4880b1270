"""What keeps a home small and whole while nobody looks: sweeping, pruning, clearing away after the dead (docs/jobs.md)."""

import logging
import re
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from mex_pipeline import faults, lease, settings
from mex_pipeline.app import App
from mex_pipeline.clock import Clock, millis, monotonic
from mex_pipeline.domain.job import JobState
from mex_pipeline.errors import InvalidInput, MexError
from mex_pipeline.paths import Home
from mex_pipeline.services.sweep import SWEEP_SECONDS, sweep
from mex_pipeline.store import migrations, upkeep, workers
from mex_pipeline.store.database import Database

log = logging.getLogger("mex.upkeep")

PRUNE_SECONDS = faults.seconds("MEX_TEST_PRUNE", 3600.0)
AGAIN_SECONDS = 60.0
DAY_MS = 86_400_000
AGES_MS = {JobState.SUCCEEDED: 7 * DAY_MS, JobState.CANCELLED: 7 * DAY_MS, JobState.FAILED: 90 * DAY_MS}
"""How long an ended job stays listed."""
KEPT_JOBS = 200
"""Of those that succeeded or were cancelled, so many stay whatever their age."""
EVENTS_MS, REPLIES_MS = 14 * DAY_MS, 7 * DAY_MS
ERRORS_BYTES, ERRORS_KEPT = 1_000_000, 100_000
_OLD_LOCK_SECONDS = 600.0
_OWNER = re.compile(r"[0-9a-f]{12}")


class Upkeep:
    """Does what is due, in a thread with a connection of its own: a slow disk must not hold up the worker's watch."""

    def __init__(self, home: Home, clock: Clock) -> None:
        self._home = home
        self._clock = clock
        self._thread: threading.Thread | None = None
        self._tasks: dict[Callable[[Database], object], float] = {
            self.sweep: SWEEP_SECONDS,
            self.prune: PRUNE_SECONDS,
        }
        self._due = dict.fromkeys(self._tasks, float("-inf"))

    def tick(self) -> None:
        """Begin what is due: the sweep at the start and every ten minutes, the rest at the start and hourly."""
        if self._thread is not None and self._thread.is_alive():
            return
        moment = monotonic()
        due = [task for task, at in self._due.items() if at <= moment]
        if due:
            self._due |= {task: moment + self._tasks[task] for task in due}
            self._thread = threading.Thread(target=self._work, args=(due,), name="mex-upkeep", daemon=True)
            self._thread.start()

    def _work(self, due: list[Callable[[Database], object]]) -> None:
        for task in due:
            try:
                if not self._home.database.exists():
                    return  # opening it would make an empty one
                with closing(Database.open(self._home.database)) as db:
                    migrations.refuse_newer(migrations.version(db), self._home.database)
                    task(db)
            except (MexError, OSError) as error:
                # Locked, full, or settings that cannot be read: what it is, the jobs themselves say.
                self._due[task] = min(self._due[task], monotonic() + AGAIN_SECONDS)
                log.warning("upkeep", extra={"error": getattr(error, "code", type(error).__name__)})

    def sweep(self, db: Database) -> None:
        """Queue what has grown unasked; raises MexError when the settings cannot be used."""
        sweep(db, settings.load(self._home.config).llm, self._clock)

    def prune(self, db: Database) -> None:
        """Delete what is old, and clear away after processes that died."""
        drop_dead_workers(db, self._home)
        _shorten(self._home.logs / "worker.err")
        now = _careful_now(db, self._clock)
        _prune(db, {state: now - age for state, age in AGES_MS.items()}, now, KEPT_JOBS)
        db.script("PRAGMA optimize;")


def _careful_now(db: Database, clock: Clock) -> int:
    """Return the moment (ms) that ages are counted from: the clock's, but at most a day further than last time.

    So a clock that is a year ahead for an hour makes a few days go by at most; what is late is done the next times.
    """
    now = millis(clock.now())
    with db.transaction() as tx:
        last = tx.first(upkeep.mark())
        moment = now if last is None else min(now, last + DAY_MS)
        tx.run(upkeep.set_mark(moment))
    return moment


def prune(app: App, older_than_seconds: int | None, states: tuple[str, ...] | None, dry_run: bool) -> dict[str, int]:
    """Delete ended jobs; returns {jobs, events, replies}: how many rows went, or with `dry_run` would go.

    Each state has its own age, and the newest jobs stay; with `older_than_seconds` that age alone counts. Raises
    InvalidInput: `unknown_state` (value, known) for a state that does not exist or is not final.
    """
    known = [state.value for state in AGES_MS]
    for state in states or ():
        if state not in known:
            raise InvalidInput("unknown_state", value=state, known=", ".join(known))
    now = millis(app.clock.now())
    ages = {state: AGES_MS[state] if older_than_seconds is None else 1000 * older_than_seconds for state in AGES_MS}
    before = {state: now - age for state, age in ages.items() if states is None or state in states}
    kept = KEPT_JOBS if older_than_seconds is None else 0
    return _count(app.db, before, now, kept) if dry_run else _prune(app.db, before, now, kept)


def _limits(db: Database, before: dict[JobState, int], kept: int) -> dict[JobState, int]:
    """Move the limits so far back that the newest `kept` of the jobs that went well stay."""
    if not kept:
        return before
    limit = db.first(upkeep.nth_newest(kept)) or 0
    return {state: at if state is JobState.FAILED else min(at, limit) for state, at in before.items()}


def _prune(db: Database, before: dict[JobState, int], now: int, kept: int) -> dict[str, int]:
    """Delete in short transactions, so that nobody waits long for the write lock."""
    jobs = 0
    for state, limit in _limits(db, before, kept).items():
        while ids := db.all(upkeep.old_jobs([state], limit)):
            with db.transaction() as tx:
                tx.run(*upkeep.delete_jobs(ids, now))
            jobs += len(ids)
    events = 0
    while gone := db.run(upkeep.delete_old_events(now - EVENTS_MS)):
        events += gone
    with db.transaction() as tx:
        replies = tx.run(upkeep.drop_orphaned_replies()) + tx.run(upkeep.drop_old_replies(now - REPLIES_MS))
        tx.run(upkeep.forget_ended_texts(), upkeep.drop_parks())
    return {"jobs": jobs, "events": events, "replies": replies}


def _count(db: Database, before: dict[JobState, int], now: int, kept: int) -> dict[str, int]:
    with db.snapshot():
        limits = _limits(db, before, kept)
        return {
            "jobs": sum(len(db.all(upkeep.old_jobs([state], limit, -1))) for state, limit in limits.items()),
            "events": db.first(upkeep.count_old_events(now - EVENTS_MS)) or 0,
            "replies": db.first(upkeep.count_old_replies(now - REPLIES_MS)) or 0,
        }


def drop_dead_workers(db: Database, home: Home) -> int:
    """Strike out worker processes that are no more, and remove the lock files nobody holds; returns how many rows went."""
    named = [row["owner"] for row in db.all(workers.all_rows())]
    dead = [owner for owner in named if not lease.is_alive(home.run, owner)]
    if dead:
        with db.transaction() as tx:
            tx.run(*(workers.gone(owner) for owner in dead))
    for path in home.run.glob("*.lock"):
        # One that was made just now may be about to be locked.
        if _OWNER.fullmatch(path.stem) and _age(path) > _OLD_LOCK_SECONDS:
            lease.is_alive(home.run, path.stem)
    return len(dead)


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0


def _shorten(path: Path) -> None:
    """Cut what workers wrote beside their log down to its end; whoever writes to it appends."""
    try:
        if path.stat().st_size <= ERRORS_BYTES:
            return
    except OSError:
        return
    with path.open("r+b") as file:
        file.seek(-ERRORS_KEPT, 2)
        end = file.read()
        file.truncate(0)
        file.seek(0)
        file.write(end)

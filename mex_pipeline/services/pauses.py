"""What is paused: everything, all work with a model, one endpoint, one job; and how the day stands (docs/jobs.md)."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mex_pipeline import settings
from mex_pipeline.app import OpenHome
from mex_pipeline.clock import iso, local_midnight, millis
from mex_pipeline.domain.job import BUDGET_DAILY, OVER_BUDGET, Job
from mex_pipeline.errors import InvalidInput, MexError
from mex_pipeline.settings import Settings
from mex_pipeline.store import jobs, usage, workers
from mex_pipeline.store.sql import Statement

EVERYTHING, MODEL = "*", "llm"
"""The scopes a person may pause; the program itself pauses one endpoint, `llm:<profile>`, one job there,
`llm:<profile>:<job>`, or everything."""

LONGEST_SECONDS = 365 * 86400


@dataclass(frozen=True, slots=True)
class Today:
    """What the calls since local midnight have cost in tokens. `cap` None: the day has no budget, or it was lifted."""

    spent: int
    cap: int | None

    @property
    def left(self) -> int | None:
        """What may still be spent today; None without a cap."""
        return None if self.cap is None else max(0, self.cap - self.spent)

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object: `{spent, cap, left}`."""
        return {"spent": self.spent, "cap": self.cap, "left": self.left}


@dataclass(frozen=True, slots=True)
class Pause:
    """One pause in force. `until` is in milliseconds, None until a person lifts it.

    `reason` is `user`, or why the program paused: `llm_auth`, `llm_quota`, `llm_unknown_model`, `rate_limit`, `offline`,
    `circuit`, `disk_full`, `budget_daily`; of one job `budget_job`, `budget_input`. `today` stands beside `budget_daily`.
    """

    scope: str
    until: int | None
    reason: str
    by_person: bool
    today: Today | None = None

    @property
    def needs_person(self) -> bool:
        """True for a pause that is there until somebody does something, false for one that ends by itself."""
        return self.reason in workers.FOR_A_PERSON

    @property
    def outlasts_a_wait(self) -> bool:
        """True when nobody should sit and wait for its end: a person has to act, or the day to be over (product H8)."""
        return self.needs_person or self.reason == BUDGET_DAILY

    @property
    def job_id(self) -> str | None:
        """The job that is held alone; None when others are held too."""
        parts = self.scope.split(":")
        return parts[2] if len(parts) == 3 else None


def current(app: OpenHome, job: Job | None = None) -> list[Pause]:
    """Return what holds jobs of the configured endpoint now: everything, all model work, or that endpoint alone.

    With a job, what holds that one: it may be parked by itself, and a person may have let it pass the budgets.
    """
    rows = app.db.all(workers.paused(millis(app.clock.now())))
    endpoint = endpoint_scope(app.settings) if rows else ""
    here = [EVERYTHING, MODEL, endpoint] + ([] if job is None else [f"{endpoint}:{job.id}"])
    free = OVER_BUDGET if job is not None and job.over_budget else ()
    return [_pause(app, row) for row in rows if row["scope"] in here and row["reason"] not in free]


def parked(app: OpenHome) -> list[Pause]:
    """Return the pauses of single jobs that a budget holds until a person lets them go."""
    beside = f"{endpoint_scope(app.settings)}:"
    rows = app.db.all(workers.paused(millis(app.clock.now())))
    return [_pause(app, row) for row in rows if row["scope"].startswith(beside)]


def _pause(app: OpenHome, row: dict[str, Any]) -> Pause:
    reason = row["reason"] or ""
    day = today(app) if reason == BUDGET_DAILY else None
    return Pause(row["scope"], row["paused_until"], reason, reason == workers.USER, day)


def today(app: OpenHome) -> Today:
    """Return how the day's spending stands."""
    midnight, cap = local_midnight(app.clock.now()), app.settings.budget.daily_tokens
    spent = app.db.first(usage.spent_since(iso(midnight))) or 0
    is_lifted = app.db.first(usage.lifted_since(millis(midnight))) is not None
    return Today(spent, cap if cap and not is_lifted else None)


def pause(app: OpenHome, scope: str, seconds: float | None) -> None:
    """Pause everything (`*`) or all work with a model (`llm`) for a while, or until it is resumed.

    Raises InvalidInput (`pause_out_of_range`: least, most) for no time at all, which would lift a pause instead, and for
    more than a year.
    """
    if seconds is not None and not 1 <= seconds <= LONGEST_SECONDS:
        raise InvalidInput("pause_out_of_range", least="1s", most="365d")
    now = millis(app.clock.now())
    until = None if seconds is None else now + int(1000 * seconds)
    with app.db.transaction() as tx:
        tx.run(workers.pause(scope, until, workers.USER, now))


def resume(app: OpenHome, scope: str | None = None) -> int:
    """Lift the pauses of a scope, a person's and the program's, and wake what they held; returns how many there were.

    `llm` takes the pauses of single endpoints with it, None every pause. What the day's budget has held may pass it
    until the day is over.
    """
    now = millis(app.clock.now())
    with app.db.transaction() as tx:
        scopes = (EVERYTHING, MODEL) if scope is None else (scope,)
        is_used_up = MODEL in scopes and any(one.reason == BUDGET_DAILY for one in current(app))
        lifted = sum(tx.run(workers.lift(one, now)) for one in scopes)
        tx.run(*(workers.resume(one) for one in scopes), *_woken(now))
        tx.run(*([usage.lift_day(now)] if is_used_up else []))
    return lifted


def go_again(now: int) -> list[Statement]:
    """Return what lets everything be tried again at once: the program's pauses go, a person's stay."""
    return [workers.forget_faults(), *_woken(now)]


def _woken(now: int) -> list[Statement]:
    """A wake-up that came to nothing while its job was held is sent again."""
    return [jobs.wake_held(now), jobs.forget_published()]


def endpoint_scope(found: Settings) -> str:
    """Return the scope of the configured endpoint: another address, model, key or budget is another scope, not paused."""
    caps = found.budget
    return f"{MODEL}:{found.llm.profile(os.environ)}" + (f"/{'/'.join(map(str, caps))}" if any(caps) else "")


class Configured:
    """The scope of the endpoint that config.yaml names now, read again only when the file has changed.

    So a pause for a wrong key ends with the key, and one for a budget with the budget, however the file was edited.
    """

    def __init__(self, config: Path) -> None:
        self._config = config
        self._seen: tuple[int, int] | None = None
        self._scope = ""

    def scope(self) -> str:
        """Return the scope; the last readable one while the file cannot be read."""
        try:
            stat = self._config.stat()
            looked = (stat.st_mtime_ns, stat.st_size)
        except OSError:
            looked = (0, 0)
        if looked != self._seen:
            self._seen = looked
            with suppress(MexError):  # the job itself says so
                self._scope = endpoint_scope(settings.load(self._config))
        return self._scope

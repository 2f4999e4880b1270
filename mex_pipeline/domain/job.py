"""A job: its states, the moves between them, and how it ended (docs/jobs.md)."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class JobState(StrEnum):
    """Where a job stands. Queued with `available_at` in the future means scheduled."""

    QUEUED = "queued"
    RUNNING = "running"
    RETRYING = "retrying"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """True for succeeded, failed, cancelled."""
        return self in FINAL

    @property
    def is_waiting(self) -> bool:
        """True for queued and retrying."""
        return self in WAITING


FINAL = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED})
WAITING = frozenset({JobState.QUEUED, JobState.RETRYING})


class Outcome(StrEnum):
    """How a finished job ended (product C5, H8); silent zero does not exist."""

    COMMITTED = "committed"
    NOTHING_TO_REMEMBER = "nothing_to_remember"
    ALL_REJECTED = "all_rejected"
    SKIPPED = "skipped"
    UNPARSEABLE = "unparseable"
    SOURCE_GONE = "source_gone"
    LLM_ERROR = "llm_error"
    POISON = "poison"


class Trigger(StrEnum):
    """Who asked. A foreground job makes one attempt and is never run later unasked (product C8)."""

    FOREGROUND = "foreground"
    COMMAND = "command"
    FOLLOW_UP = "follow_up"
    SWEEP = "sweep"
    RETRY = "retry"


BUDGET_DAILY, BUDGET_JOB, BUDGET_INPUT = "budget_daily", "budget_job", "budget_input"
OVER_BUDGET = frozenset({BUDGET_DAILY, BUDGET_JOB, BUDGET_INPUT})
"""Why a job is parked: the day's budget, its own, or that of its input would be passed (product C10)."""
PAYLOAD_V = 1
"""The form of `payload` this code writes; a job of a later form is left to a later meX."""
MAX_ATTEMPTS = 10
MAX_CRASHES = 3
MAX_BAD_OUTPUTS = 3
KEPT_ERRORS = 10


@dataclass(frozen=True, slots=True)
class Job:
    """One row of `jobs`. Times are integer milliseconds UTC; `payload` names adapter, path and options, never words.

    `given_text` is what a new job brings along. One that was read has `has_text` instead, for a conversation may be tens
    of megabytes: whoever needs the words asks for them (store/jobs.py). `over_budget` says that a person lets it spend
    beyond every budget.
    """

    id: str
    kind: str
    payload: dict[str, Any]
    state: JobState
    trigger: Trigger
    available_at: int
    created_at: int
    max_attempts: int
    payload_v: int = PAYLOAD_V
    given_text: str | None = None
    has_text: bool = False
    reason: str | None = None
    outcome: Outcome | None = None
    priority: int = 0
    dedup_key: str | None = None
    lock_key: str | None = None
    batch_id: str | None = None
    coalesced: int = 0
    attempt: int = 0
    crashes: int = 0
    snoozes: int = 0
    bad_outputs: int = 0
    fence: int = 0
    lease_owner: str | None = None
    beat: int = 0
    cancel_requested: bool = False
    over_budget: bool = False
    end_off: int | None = None
    end_size: int | None = None
    progress_done: int | None = None
    progress_total: int | None = None
    progress_note: str | None = None
    errors: tuple[dict[str, Any], ...] = ()
    result: dict[str, Any] | None = None
    started_at: int | None = None
    finished_at: int | None = None
    worker_version: str | None = None

    @property
    def is_foreground(self) -> bool:
        """True while the command that asked for it is the one that runs it."""
        return self.trigger is Trigger.FOREGROUND

    @property
    def last_error(self) -> dict[str, Any] | None:
        """The newest of the kept errors."""
        return self.errors[-1] if self.errors else None


@dataclass(frozen=True, slots=True)
class Ending:
    """How a running job leaves `running`.

    `state` is where it goes; `gives_back` returns the attempt (a snooze, a shutdown); `available_at` is when a waiting
    job may run again (ms).
    """

    state: JobState
    reason: str | None = None
    outcome: Outcome | None = None
    available_at: int = 0
    gives_back: bool = False
    crashed: bool = False
    bad_output: bool = False
    error: dict[str, Any] | None = None
    result: dict[str, Any] | None = field(default=None)


def backoff_ms(attempt: int, fraction: float) -> int:
    """Return the wait before attempt `attempt`+1: 15 s doubling to one hour, spread by `fraction` in [0, 1)."""
    return int(min(3_600_000, 15_000 * 2 ** max(0, attempt - 1)) * (0.5 + fraction / 2))

"""Every error a person can meet. An error is a code and its facts; the words are made at the edge (`messages.render`).

MexError
├── UserError (exit 1: the request has to change)
│   ├── NotFound · InvalidInput · InvalidSlot · InvalidContent · SlotOccupied
│   └── NotConfigured · JobStateConflict
├── ExternalError (exit 2: the world outside failed)
│   ├── DatabaseBusy · DatabaseNewer · DatabaseDamaged
│   ├── SourceGone · SourceFormat · SourceUnreadable
│   └── LLMUnavailable (retryable) · LLMRejected · LLMBadReply (retryable) · OverBudget
└── LeaseLost (internal: another process owns the job now)
"""

from typing import Any


class MexError(Exception):
    """A failure with a stable `code` and the facts (`params`) its message needs."""

    code = "error"
    exit_code = 2
    retryable = False

    def __init__(self, code: str | None = None, /, **params: Any) -> None:
        self.code = code or type(self).code
        self.params = params
        super().__init__(self.code, params)


class UserError(MexError):
    """The person can put it right."""

    exit_code = 1


class NotFound(UserError):
    """Nothing has this id, or more than one does (`ambiguous_id`)."""

    code = "not_found"


class InvalidInput(UserError):
    """An argument, file or setting cannot be used as given."""

    code = "invalid_input"


class InvalidSlot(UserError):
    """The topic or sub_topic is not declared in schema.yaml (seed 004 ADR-6)."""

    code = "unknown_topic"


class InvalidContent(UserError):
    """The content does not fit its slot (seed 004 §3.4)."""

    code = "invalid_content"


class SlotOccupied(UserError):
    """A unique slot already holds an active value (seed 004 §3.5)."""

    code = "slot_occupied"


class NotConfigured(UserError):
    """A setting the command needs is missing."""

    code = "not_configured"


class JobStateConflict(UserError):
    """The job's state does not allow the move."""

    code = "job_state"


class ExternalError(MexError):
    """Something outside meX failed; nothing was lost."""


class DatabaseBusy(ExternalError):
    """Another process held the write lock for too long."""

    code = "database_busy"
    retryable = True


class DatabaseNewer(ExternalError):
    """mex.db was made by a newer meX; it is left untouched (product B1)."""

    code = "database_newer"


class DatabaseDamaged(ExternalError):
    """SQLite cannot read mex.db."""

    code = "database_damaged"


class SourceGone(ExternalError):
    """The session file is not there any more (agents delete theirs after weeks)."""

    code = "source_gone"


class SourceFormat(ExternalError):
    """The file is not a session of the named agent."""

    code = "source_format"


class SourceUnreadable(ExternalError):
    """The operating system refused the read."""

    code = "source_unreadable"


class LLMUnavailable(ExternalError):
    """The endpoint did not answer: refused, timed out, 429 or 5xx. `retry_after` (seconds) when the endpoint named it."""

    code = "llm_unavailable"
    retryable = True


class LLMRejected(ExternalError):
    """The endpoint refused for a reason that retrying does not cure: key, quota, unknown model, bad request."""

    code = "llm_rejected"


class LLMBadReply(ExternalError):
    """An answer arrived that cannot be used: no JSON object, cut off, empty, refused."""

    code = "llm_bad_reply"
    retryable = True


class OverBudget(ExternalError):
    """A cap of the budget would be passed, so no call was made: `budget_daily`, `budget_job`, `budget_input` (product C10).

    `spent` and `next` are tokens, `cap` what is allowed, `id` the job; `until` is when the day ends (ISO, UTC).
    """

    code = "budget_daily"


class LeaseLost(MexError):
    """The job was taken over while this process worked on it; nothing of this run is written."""

    code = "lease_lost"


def as_written(value: object) -> str:
    """Return a value of a settings file as its YAML has it, for who has to find it there: `null`, `true`, `[work, 3]`."""
    return f"[{', '.join(map(_scalar, value))}]" if isinstance(value, list) else _scalar(value)


def _scalar(value: object) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)

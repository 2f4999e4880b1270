"""A memory, how far it is trusted, and what happened to it (seed 004 §3.1, §3.3)."""

from enum import StrEnum
from typing import Any, NamedTuple


class Confidence(StrEnum):
    """Five tiers, each with a rule instead of a number (seed 004 §3.3); `weight` only ranks."""

    CONFIRMED = "confirmed"
    EXPLICIT = "explicit"
    INFERRED = "inferred"
    SPECULATED = "speculated"
    UNCERTAIN = "uncertain"

    @property
    def weight(self) -> float:
        """The tier's number for ranking and for what is cut first: 1.0 down to 0.2."""
        return _WEIGHTS[self]


_WEIGHTS = {
    Confidence.CONFIRMED: 1.0,
    Confidence.EXPLICIT: 0.9,
    Confidence.INFERRED: 0.6,
    Confidence.SPECULATED: 0.4,
    Confidence.UNCERTAIN: 0.2,
}


class Actor(StrEnum):
    """Who acts: a person (commands, review) or a model (extraction, an agent's write)."""

    USER = "user"
    AI = "ai"


class Event(StrEnum):
    """What a history row records: the seed's six and those of product H13."""

    ADD = "add"
    UPDATE = "update"
    FORGET = "forget"
    RESTORE = "restore"
    APPROVE = "approve"
    DELETE = "delete"
    REINFORCE = "reinforce"
    EXPIRE = "expire"
    MOVE = "move"
    UNDO = "undo"
    IMPORT = "import"
    PURGE = "purge"


class Memory(NamedTuple):
    """One row of knowledge. With a sub_topic it fills a slot of the profile; without, it is a record (seed 004 §3.2).

    Times are UTC ISO strings. `valid_from`/`valid_to` say when the value held (from the statement), `created_at` and
    `updated_at` when meX learned it (product B11). `occurred_at` says when it happened, as precisely as it is known
    (product B4): a local date (YYYY, YYYY-MM, YYYY-MM-DD), or a UTC ISO moment when a time of day was given. What a person
    has pinned stands first in profile and search, and is not condensed.
    """

    id: str
    topic: str | None
    sub_topic: str | None
    content: str
    is_ai_inferred: bool
    confidence: Confidence
    evidence: str | None
    created_at: str
    updated_at: str
    valid_from: str
    valid_to: str | None = None
    forgotten_at: str | None = None
    forgotten_reason: str | None = None
    expires_at: str | None = None
    occurred_at: str | None = None
    times_seen: int = 1
    last_seen_at: str | None = None
    is_pinned: bool = False

    @property
    def slot(self) -> tuple[str, str] | None:
        """(topic, sub_topic) of a slot memory; None for a record outside the profile."""
        return (self.topic, self.sub_topic) if self.topic and self.sub_topic else None

    def is_active(self, now: str) -> bool:
        """True while the memory is neither forgotten nor past its expiry at `now` (UTC ISO)."""
        return self.forgotten_at is None and (self.expires_at is None or self.expires_at > now)


class Source(NamedTuple):
    """Where a memory comes from (product B3): the words, the message, the session, and whether code found them there.

    `quote_start`/`quote_end` are character offsets into the turn's text as `mex transcript` prints it.
    """

    agent: str
    session_id: str | None = None
    message_id: str | None = None
    message_key: str | None = None
    role: str | None = None
    said_at: str | None = None
    quote: str | None = None
    quote_start: int | None = None
    quote_end: int | None = None
    verified: bool = False
    project: str | None = None
    source_file: str | None = None
    job_id: str | None = None


class HistoryEntry(NamedTuple):
    """One line of a memory's history; `before`/`after` are the row's whole states (product B8)."""

    memory_id: str
    event: Event
    old_content: str | None
    new_content: str | None
    actor: Actor
    evidence: str | None
    created_at: str
    job_id: str | None = None
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None

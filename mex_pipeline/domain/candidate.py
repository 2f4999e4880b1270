"""What an extractor proposes; code decides (product P7, C11)."""

from dataclasses import dataclass, field
from enum import StrEnum

from mex_pipeline.domain.memory import Confidence, Source


class Action(StrEnum):
    """What the model asks for (seed 004 §7.2)."""

    NEW = "new"
    UPDATE = "update"
    UNCERTAIN_UPDATE = "uncertain_update"
    RETIRE = "retire"


class About(StrEnum):
    """Whom a statement is about: only `user` may fill the user's own slots (product C11)."""

    USER = "user"
    OTHER = "other"
    HYPOTHETICAL = "hypothetical"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One proposed memory. `turn` is the number in the prompt; `source` is filled in when the quote has been checked."""

    content: str
    topic: str | None = None
    sub_topic: str | None = None
    action: Action = Action.NEW
    is_ai_inferred: bool = False
    confidence: Confidence = Confidence.EXPLICIT
    evidence: str | None = None
    quote: str | None = None
    turn: int | None = None
    about: About = About.USER
    replaces: str | None = None
    occurred_at: str | None = None
    source: Source | None = None

    @property
    def slot(self) -> tuple[str, str] | None:
        """(topic, sub_topic) when the candidate is meant for a slot, else None."""
        return (self.topic, self.sub_topic) if self.topic and self.sub_topic else None


@dataclass(frozen=True, slots=True)
class Discarded:
    """A candidate that is not written, and why: `reason` is a message id, `facts` its parameters."""

    content: str
    reason: str
    facts: dict[str, str] = field(default_factory=dict)

"""What a person is asked in review: a memory in doubt or long unchecked, two that may be one, a candidate held back."""

from dataclasses import dataclass
from typing import Any

from mex_pipeline.domain.candidate import Candidate
from mex_pipeline.domain.decided import fuller
from mex_pipeline.domain.memory import Memory, Source
from mex_pipeline.domain.proposal import Proposal
from mex_pipeline.domain.review import Kind
from mex_pipeline.services.results import memory_plain, source_plain


@dataclass(frozen=True, slots=True)
class Beside:
    """Another active memory that speaks to a question: `reason` is `opposite`, `overlap` or `similar`."""

    memory: Memory
    reason: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """A memory that awaits review, the state it replaced, where its present content was said, and what speaks against it.

    `due_since` (UTC ISO) is there for a value that is due to be checked, and not in doubt.
    """

    memory: Memory
    previous: Memory | None
    sources: tuple[Source, ...]
    beside: tuple[Beside, ...] = ()
    due_since: str | None = None

    @property
    def id(self) -> str:
        """What a person names it by: the memory's id."""
        return self.memory.id

    @property
    def kind(self) -> Kind:
        """A doubt, or a value that is due."""
        return Kind.DUE if self.due_since else Kind.DOUBT

    @property
    def contents(self) -> tuple[str, ...]:
        """What a person decides about."""
        return (self.memory.content,)

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object: the memory's, `previous`, `sources`, `kind`, `due_since` and `beside`."""
        return memory_plain(self.memory) | {
            "previous": None if self.previous is None else memory_plain(self.previous),
            "sources": [source_plain(source) for source in self.sources],
            "kind": self.kind,
            "due_since": self.due_since,
            "beside": [memory_plain(one.memory) | {"reason": one.reason} for one in self.beside],
        }


@dataclass(frozen=True, slots=True)
class Pair:
    """Two memories that may be one: `other` would go into `memory`; each with where it was said."""

    proposal: Proposal
    memory: Memory
    other: Memory
    sources: tuple[Source, ...]
    other_sources: tuple[Source, ...]

    @property
    def id(self) -> str:
        """What a person names it by: the proposal's id."""
        return self.proposal.id

    @property
    def kind(self) -> Kind:
        """A merge."""
        return Kind.MERGE

    @property
    def contents(self) -> tuple[str, ...]:
        """What a person decides about."""
        return self.memory.content, self.other.content

    @property
    def content(self) -> str:
        """The content that stays unless a person says otherwise."""
        return fuller(self.memory, self.other).content

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object: id, kind, reason, place, the content that would stay, and both memories with sources."""
        return {
            "id": self.id, "kind": self.kind, "reason": self.proposal.reason, "created_at": self.proposal.created_at,
            "topic": self.memory.topic, "sub_topic": self.memory.sub_topic, "content": self.content,
            "memory": memory_plain(self.memory) | {"sources": [source_plain(one) for one in self.sources]},
            "other": memory_plain(self.other) | {"sources": [source_plain(one) for one in self.other_sources]},
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Held:
    """A candidate that must not become a memory without a person, and the active memory that a yes would change."""

    proposal: Proposal
    candidate: Candidate
    previous: Memory | None

    @property
    def id(self) -> str:
        """What a person names it by: the proposal's id."""
        return self.proposal.id

    @property
    def kind(self) -> Kind:
        """A hold."""
        return Kind.HOLD

    @property
    def contents(self) -> tuple[str, ...]:
        """What a person decides about."""
        return (self.candidate.content, *([] if self.previous is None else [self.previous.content]))

    @property
    def sources(self) -> tuple[Source, ...]:
        """Where it was said; an agent's own write has no source."""
        return () if self.candidate.source is None else (self.candidate.source,)

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object: id, kind, reason, the candidate, the memory a yes would change, and where it was said."""
        candidate = self.candidate
        return {
            "id": self.id, "kind": self.kind, "reason": self.proposal.reason, "created_at": self.proposal.created_at,
            "topic": candidate.topic, "sub_topic": candidate.sub_topic, "content": candidate.content,
            "action": candidate.action, "is_ai_inferred": candidate.is_ai_inferred, "confidence": candidate.confidence,
            "evidence": candidate.evidence or candidate.quote, "occurred_at": candidate.occurred_at,
            "previous": None if self.previous is None else memory_plain(self.previous),
            "sources": [source_plain(source) for source in self.sources],
        }  # fmt: skip


Asked = Waiting | Pair | Held

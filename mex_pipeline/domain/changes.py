"""What an extraction will write: decided by `reconcile`, turned into SQL by `store.changes`."""

from dataclasses import dataclass

from mex_pipeline.domain.candidate import Candidate, Discarded
from mex_pipeline.domain.memory import Memory, Source


@dataclass(frozen=True, slots=True)
class Add:
    """A new memory. A `superseded` one is stored as already replaced: an older statement that arrived late (product B11)."""

    after: Memory
    source: Source | None


@dataclass(frozen=True, slots=True)
class Revise:
    """A memory whose value is replaced; the old state goes to history."""

    before: Memory
    after: Memory
    source: Source | None


@dataclass(frozen=True, slots=True)
class Retire:
    """A value of a many slot that the user no longer holds (seed 004 §7.2)."""

    before: Memory
    after: Memory
    source: Source | None


@dataclass(frozen=True, slots=True)
class Reinforce:
    """A value that was said again (product B5)."""

    before: Memory
    after: Memory
    source: Source | None


Change = Add | Revise | Retire | Reinforce


@dataclass(frozen=True, slots=True)
class Merge:
    """Two values of one slot that may be one: `memory` stays if a person says so, `other` goes into it (product B5)."""

    memory: Memory
    other: Memory


@dataclass(frozen=True, slots=True)
class Hold:
    """A candidate that must not become a memory without a person, and why: `reason` is a message id (product F5)."""

    candidate: Candidate
    reason: str


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """Every change in the order it is to be written, every candidate that is not, with its reason, and what a person is
    asked.
    """

    changes: tuple[Change, ...] = ()
    discarded: tuple[Discarded, ...] = ()
    merges: tuple[Merge, ...] = ()
    holds: tuple[Hold, ...] = ()

    @property
    def writes_memories(self) -> bool:
        """True when any memory that is shown changes: what is filed as past alone does not count."""
        return any(not isinstance(change, Add) or change.after.forgotten_at is None for change in self.changes)

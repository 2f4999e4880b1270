"""What an extraction will write: decided by `reconcile`, turned into SQL by `store.changes`."""

from dataclasses import dataclass, field

from mex_pipeline.domain.candidate import Discarded
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
class ChangeSet:
    """Every change in the order it is to be written, and every candidate that is not, with its reason."""

    changes: tuple[Change, ...] = ()
    discarded: tuple[Discarded, ...] = field(default=())

    @property
    def writes_memories(self) -> bool:
        """True when any memory that is shown changes: what is filed as past alone does not count."""
        return any(not isinstance(change, Add) or change.after.forgotten_at is None for change in self.changes)

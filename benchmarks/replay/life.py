"""What a stream is made of: users, their dated sessions, and what each turn truly says about them."""

from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """What a turn does to the profile; a trap says something that is not the user's own fact."""

    ASSERT = "assert"
    UPDATE = "update"
    RETRACT = "retract"
    TEMPORARY = "temporary"
    TRAP = "trap"


@dataclass(frozen=True, slots=True)
class Fact:
    """A value in a slot (`topic.sub_topic`). A preference begins with its polarity: `like …`, `dislike …`."""

    slot: str
    value: str


@dataclass(frozen=True, slots=True)
class Op:
    """One gold operation: the turn that holds its words, the fact, what an update replaces, and the sort of a trap.

    `is_restated` marks an assertion of what has been said before.
    """

    kind: Kind
    turn: int
    fact: Fact
    old: str | None = None
    trap: str | None = None
    is_restated: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """One turn."""

    role: str
    text: str


@dataclass(slots=True)
class Session:
    """One session: its name, the day it was held (YYYY-MM-DD), its turns and their operations in order."""

    name: str
    day: str
    turns: list[Said] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Life:
    """One user: the language, each slot with whether it is unique, the sessions by date, and the facts true at the end."""

    user: str
    language: str
    slots: dict[str, bool]
    sessions: tuple[Session, ...]
    final: frozenset[Fact]

    def told(self) -> set[Fact]:
        """Return every fact the user said of himself at any time, whether it still holds or not."""
        own = {op.fact for session in self.sessions for op in session.ops if op.kind not in (Kind.TEMPORARY, Kind.TRAP)}
        return own | self.final

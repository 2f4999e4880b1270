"""The profile before it is text: which memories are shown, in which order, and which are not and why."""

from typing import NamedTuple

from mex_pipeline.domain.memory import Memory
from mex_pipeline.domain.schema import Slot, Topic


class Line(NamedTuple):
    """A memory to show: under its slot, or without one among the recent records.

    `earlier` is the confirmed content it stands in for until it is reviewed (product C6), `unchecked_since` (UTC ISO)
    when it was checked last, if that is too long ago for the policy of its slot.
    """

    memory: Memory
    slot: Slot | None = None
    earlier: str | None = None
    unchecked_since: str | None = None


class SlotView(NamedTuple):
    """The lines of one slot, the best first; `total` is the number of its active memories, shown or not."""

    slot: Slot
    lines: tuple[Line, ...]
    total: int


class TopicView(NamedTuple):
    """The slots of one topic that have something to show, in the order of the schema."""

    topic: Topic
    slots: tuple[SlotView, ...]


class Cut(NamedTuple):
    """A line that is not shown, and why.

    Reasons: `beyond_top` (its slot or section is full), `over_budget`, `too_long`, and where it is explained too
    `unknown_slot` (the schema does not declare it any more), `other_topic`.
    """

    line: Line
    reason: str


class Withheld(NamedTuple):
    """How many sensitive memories of one place are not shown: of a slot, or the records of a topic."""

    topic: str
    sub_topic: str | None
    memories: int


class ProfileView(NamedTuple):
    """What the profile shows: topics in the order of the schema, recent records newest first, and what was cut."""

    topics: tuple[TopicView, ...]
    recent: tuple[Line, ...] = ()
    cut: tuple[Cut, ...] = ()


class Fitted(NamedTuple):
    """A view that fits its budget; `tokens` is the estimate of its text, rounded up line by line."""

    view: ProfileView
    tokens: int


class Weighed(NamedTuple):
    """A memory with the estimated tokens of its line, and why it is not shown (None: it is)."""

    memory: Memory
    tokens: int
    reason: str | None = None

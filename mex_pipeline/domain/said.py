"""What a message has yielded already, as far as it is known (product B5, B10)."""

from typing import NamedTuple

Place = tuple[str | None, str | None]
"""(topic, sub_topic) of a memory."""


class Said(NamedTuple):
    """What a message has yielded: `content` as its job wrote it, where it was put, and the words it rests on.

    `places` are where it was put and where it is now. `holds` says that the memory is active with that very content,
    `was_retired` that the message took a value back.
    """

    key: str | None
    start: int | None
    end: int | None
    places: frozenset[Place]
    content: str
    holds: bool
    was_retired: bool

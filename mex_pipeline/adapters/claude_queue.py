"""Messages that a person typed while Claude Code was at work, as its queue records tell of them (session-formats §3.1).

`enqueue` writes the words down; what they become is told later. `dequeue`: the same words follow as a user record.
`popAll`, `popOne`: they went back into the editor. `remove`: they reached the model in the running turn, and in some
versions stand nowhere else; in others an attachment has them too, before the `remove` or after it.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mex_pipeline.adapters.claude_speech import Said, typed_text
from mex_pipeline.adapters.records import Record, text_of

REACH = 4 * 1024 * 1024
"""How many bytes of the file behind an `enqueue` its resolution is looked for: a crashed client never writes one."""

_DELIVERED = (None, "absorbed_mid_turn")
"""The reasons with which a `remove` means that the model was given the words; older clients write none."""


LONGEST = 64
"""How many messages of a session wait at most; before more the oldest is given up."""


@dataclass(slots=True, eq=False)
class _Entry:
    """A message in the queue. Behind the offset `done` no record refers to it any more; `is_lost` if none ever did."""

    record: Record
    raw: str
    text: str = ""
    is_heard: bool = False
    is_lost: bool = False
    done: int | None = None


@dataclass(frozen=True, slots=True)
class Delivered:
    """A message that was given to the model; `id` is what the client calls it, if it tells, `typed_at` its time."""

    said: Said
    id: str | None
    typed_at: str | None


@dataclass(slots=True)
class Queue:
    """The queues of a file, one for each session, as far as it was read.

    A record is understood from those before it alone, the oldest message first, and none is kept beyond REACH: so any
    reading that begins where no message waits understands the same (`entrance`).
    """

    _entries: list[_Entry] = field(default_factory=list)
    _waiting: dict[str | None, list[_Entry]] = field(default_factory=dict)
    _given: list[_Entry] = field(default_factory=list)

    def follow(self, record: Record) -> Delivered | str | None:
        """Take a queue record into account; return the message that it delivers, or the reason why it is none.

        None for an `enqueue`: what becomes of it is told by `counts`.
        """
        value = record.value
        waiting = self._waiting.setdefault(text_of(value, "sessionId"), [])
        _forget(waiting, record.start)
        done, words = value.get("operation"), text_of(value, "content")
        if done == "enqueue":
            marks = Record(record.start, record.end, {"timestamp": value.get("timestamp")})
            self._entries.append(_Entry(marks, words or ""))
            waiting.append(self._entries[-1])
            return None
        entry = _taken(waiting, words)
        if done == "popAll" and (entry is None or words is None):
            for other in waiting:
                other.done = record.start
            waiting.clear()
        if entry:
            entry.done = record.start
        if done != "remove" or text_of(value, "reason") not in _DELIVERED:
            return "queue_operation"
        return self._delivered(value, entry, words or (entry.raw if entry else ""))

    def _delivered(self, value: dict[str, Any], entry: _Entry | None, raw: str) -> Delivered | str:
        found = "notification" if _is_object(raw) else typed_text(raw, is_human=False)
        if isinstance(found, str):
            return "queue_operation" if found == "empty" else found
        name = text_of(value, "commandUuid")
        if entry and not name:
            if entry.is_heard:
                return "duplicate"
            entry.text, entry.done = found.text, None
            self._given = [*self._given, entry][-LONGEST:]
        typed_at = text_of(entry.record.value if entry else value, "timestamp")
        return Delivered(Said(found.text, "queued", raw), name, typed_at)

    def hears(self, session: str | None, text: str, at: int) -> bool:
        """Take into account that a record at the offset `at` says this too; True if the model was just given it."""
        for index, entry in enumerate(self._given):
            if entry.text == text and at - entry.record.start <= REACH:
                entry.done = at
                del self._given[index]
                return True
        waiting = self._waiting.get(session, [])
        _forget(waiting, at)
        for entry in waiting:
            if not entry.is_heard and entry.raw.strip() == text:
                entry.is_heard = True
                break
        return False

    def answered(self, at: int) -> None:
        """Take into account that the model answered at the offset `at`: what it was given before is not repeated."""
        for entry in self._given:
            entry.done = at - 1
        self._given.clear()

    def counts(self) -> Iterator[tuple[str, Record]]:
        """Yield the record of each `enqueue` and the reason under which it is counted."""
        unresolved = {id(entry) for waiting in self._waiting.values() for entry in waiting}
        for entry in self._entries:
            is_lost = entry.is_lost or id(entry) in unresolved
            yield "queue_unresolved" if is_lost else "queue_operation", entry.record

    def entrance(self, resume: int) -> int:
        """Return the last offset up to `resume` at which a later reading can begin and miss no message."""
        for entry in reversed(self._entries):
            start = entry.record.start
            end = start + REACH if entry.done is None else min(entry.done, start + REACH)
            if start < resume <= end:
                resume = start
        return resume


def _forget(waiting: list[_Entry], at: int) -> None:
    """Give up the messages that wait since before REACH, or behind more than LONGEST others."""
    while waiting and (at - waiting[0].record.start > REACH or len(waiting) >= LONGEST):
        entry = waiting.pop(0)
        entry.done, entry.is_lost = at, True


def _taken(waiting: list[_Entry], words: str | None) -> _Entry | None:
    """Take the message with these words out of the queue; the oldest where the record names none."""
    for index, entry in enumerate(waiting):
        if words is None or entry.raw == words:
            return waiting.pop(index)
    return None


def _is_object(text: str) -> bool:
    """True for what a client queued for itself: a task as JSON."""
    if not text.lstrip().startswith("{"):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False

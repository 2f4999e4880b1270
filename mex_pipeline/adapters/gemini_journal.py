"""Replaying a journal of Gemini CLI into what was said in the session, in the order in which it was first written.

The journal tells two things apart that are easily taken for one. What the client still sends to the model (`$set` with
`messages`) loses words that nobody took back: at every start, when a request fails or is interrupted, and when talk is
compacted; and what it keeps it may write under new ids. What was said loses words by a rewind alone.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from mex_pipeline.adapters.gemini_messages import Message, is_acknowledgement, message, says_the_same
from mex_pipeline.adapters.records import Record, text_of
from mex_pipeline.adapters.values import mapping

_STATE, _DUPLICATE = ("state",), ("duplicate",)


class Entry(NamedTuple):
    """A message, the offset of the record that brought it, and the end of the one its words came with."""

    message: Message
    start: int
    end: int


@dataclass(slots=True)
class _Draft:
    """The newest message as it stands in the file, with an entry's offsets.

    It is written again with more from its tools each time, so it is understood when another follows.
    """

    name: str
    value: dict[str, Any]
    start: int
    end: int

    def entry(self) -> Entry:
        return Entry(message(self.value), self.start, self.end)

    def rewrite(self, value: dict[str, Any], end: int) -> None:
        """Take it as it was written again, up to the offset `end`; its time is the first's."""
        value["timestamp"] = self.value.get("timestamp")
        self.end = self.end if says_the_same(self.value, value) else end
        self.value = value


@dataclass(slots=True)
class Journal:
    """The session after the records followed so far: `entries` by message id, tool outputs not among them.

    The newest message is an entry from `settle` on.
    """

    session_id: str | None = None
    is_subagent: bool = False
    entries: dict[str, Entry] = field(default_factory=dict)
    _draft: _Draft | None = None
    _sent: dict[str, None] = field(default_factory=dict)
    _copies: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def follow(self, record: Record) -> Sequence[str]:
        """Take the next record into account; returns the reasons of what of it is no message."""
        value = record.value
        if record.fault:
            return [record.fault]
        if "$rewindTo" in value and (target := text_of(value, "$rewindTo")):
            return ["state", *(["rewound"] * self._rewind(target))]
        if "id" in value and (name := text_of(value, "id")):
            return () if self._write(name, record) else _DUPLICATE
        changes = mapping(value.get("$set")) or value
        self.session_id = text_of(changes, "sessionId") or self.session_id
        self.is_subagent = self.is_subagent or changes.get("kind") == "subagent"
        if not isinstance(changes.get("messages"), list):
            return _STATE
        return ["state", *(["duplicate"] * self._send(changes["messages"], record))]

    def settle(self) -> None:
        """Make the newest message an entry, as far as it is written."""
        if self._draft is not None:
            self.entries[self._draft.name] = self._draft.entry()
            self._draft = None

    def open_from(self) -> int | None:
        """Return where the last message begins if it is the model's and may still grow."""
        last = next(reversed(self.entries.values()), None)
        return last.start if last and last.message.type == "gemini" else None

    def _write(self, name: str, record: Record) -> bool:
        """Keep the newest content of the message that a record is; returns whether it is a new one."""
        if self._draft is not None and self._draft.name == name:
            self._draft.rewrite(record.value, record.end)
            return False
        self.settle()
        if name in self.entries or name in self._copies:
            return self._put(message(record.value), record)
        self._sent[name] = None
        self._draft = _Draft(name, record.value, record.start, record.end)
        return True

    def _put(self, one: Message, record: Record) -> bool:
        """Keep the newest content of a message; returns whether it is a new one. Its place and time are the first's."""
        name = str(one.id)
        if name in self._copies:
            return False
        self._sent[name] = None
        before = self.entries.get(name)
        if before is None:
            self.entries[name] = Entry(one, record.start, record.end)
            return True
        end = before.end if one.said == before.message.said else record.end
        self.entries[name] = Entry(one._replace(at=before.message.at), before.start, end)
        return False

    def _rewind(self, target: str) -> int:
        """Take back a message and all behind it, or everything if it is not known; returns how many."""
        self.settle()
        first = self._copies.get(target, (target,))[0]
        names = list(self.entries)
        gone = names[names.index(first) :] if first in self.entries else names
        for name in gone:
            del self.entries[name]
            self._sent.pop(name, None)
        self._copies = {copy: of for copy, of in self._copies.items() if self.entries.keys() >= set(of)}
        return len(gone)

    def _send(self, values: list[Any], record: Record) -> int:
        """Follow a list of all that is sent to the model from now on; what it repeats under another id is no news.

        Returns how many earlier records turn out to be such repetitions.
        """
        self.settle()
        repeated = 0
        listed = [one for one in map(message, values) if one.id is not None]
        named = {name for one in listed for name in self._copies.get(one.id or "", (one.id or "",))}
        left = [name for name in self._sent if name not in named and self.entries[name].message.pieces]
        last = max((self.entries[name].start for name in left), default=-1)
        is_written_anew = all(self.entries[name].start > last for name in named if name in self._sent)
        originals = _Originals([self.entries[name].message for name in left])
        again: dict[str, tuple[str, ...]] = {}
        for one in reversed(listed):
            name = str(one.id)
            if (is_written_anew or name not in self.entries) and name not in self._copies:
                again[name] = originals.of(one)
        self._sent = {}
        for one in _without_summary(listed, self.entries):
            name = str(one.id)
            if found := again.get(name):
                self._copies[name] = found
                repeated += self.entries.pop(name, None) is not None
            else:
                self._put(one, record)
            self._sent |= dict.fromkeys(self._copies.get(name, (name,)))
        self._sent = {name: None for name in self._sent if name in self.entries}
        return repeated


class _Originals:
    """The messages that a list leaves out, to be found again in what it brings, from the last to the first."""

    def __init__(self, left: list[Message]) -> None:
        self._left = left
        self._ends = defaultdict[tuple[str, int], list[int]](list)
        for index, one in enumerate(left):
            self._ends[one.type, one.pieces[-1]].append(index)

    def of(self, copy: Message) -> tuple[str, ...]:
        """Return the ids of the messages that `copy` consists of: one, or a run that the client joined; or nothing."""
        ends = self._ends.get((copy.type, copy.pieces[-1])) if copy.pieces else None
        while ends and ends[-1] >= len(self._left):
            ends.pop()
        if not ends:
            return ()
        stop = first = ends[-1] + 1
        pieces: tuple[int, ...] = ()
        while first and self._left[first - 1].type == copy.type and len(pieces) < len(copy.pieces):
            first -= 1
            pieces = self._left[first].pieces + pieces
        if pieces != copy.pieces:
            return ()
        found = tuple(str(one.id) for one in self._left[first:stop])
        del self._left[first:]
        return found


def _without_summary(listed: list[Message], known: dict[str, Entry]) -> Iterator[Message]:
    """Yield the messages; the one before the client's own acknowledgement is a summary, unless it was there before."""
    is_summary = {
        before.id
        for before, after in pairwise(listed)
        if is_acknowledgement(after) and before.type == "user" and not {before.id, after.id} & known.keys()
    }
    for one in listed:
        yield one._replace(said=(), reasons=("compact_summary",), marks=one.pieces) if one.id in is_summary else one

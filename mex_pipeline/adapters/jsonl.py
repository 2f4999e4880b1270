"""Reading append-only JSONL on from where it was left: proof that the file is still the same, turns of one pass.

A line number is the wrong position and a position alone is never enough (session-formats §1): what is read ends at the
last complete object, and fingerprints show whether the file before it was replaced.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import BinaryIO, Protocol

from mex_pipeline.adapters.files import size_of
from mex_pipeline.adapters.records import Record, records
from mex_pipeline.domain.conversation import CONTEXT_TURNS, Cursor, Transcript, Turn

_HEAD = 4096
_TAIL = 1024


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a file one read looks at, in byte offsets.

    Reading begins at `start` and ends before `stop`; what lies before `off` was extracted earlier. `fixed` says that
    the caller named the end, `reset` why an earlier position does not hold any more.
    """

    start: int
    off: int
    stop: int
    fixed: bool
    reset: str | None

    def records(self, file: BinaryIO) -> Iterator[Record]:
        """Yield the records of the window.

        What was extracted earlier is read apart, up to `off`: there lines are cut where they were cut then, so that the
        same records come again, whatever was appended to the last of them since.
        """
        yield from records(file, self.start, min(self.off, self.stop))
        yield from records(file, self.off, self.stop)


def window(file: BinaryIO, since: Cursor, until: int | None) -> Window:
    """Return what to read after `since`: all of the file up to `until`, which is ignored when the file is shorter."""
    size = size_of(file)
    reset = _changed(file, size, since)
    start, off = (0, 0) if reset else (min(since.resume, since.off), since.off)
    if until is not None and until <= size:
        return Window(start, off, until, fixed=True, reset=reset)
    return Window(start, off, size, fixed=False, reset=reset)


class Place(Protocol):
    """Where something stands in a file: at the bytes `start` to `end`."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


@dataclass(slots=True)
class Collector:
    """What one pass gathers: turns in file order, each key once, and counts of what is left out.

    Records before `window.off` were extracted earlier: they are context, and nothing of them is counted again.
    `entrances` are the offsets at which a later read may begin, where it may not begin at any turn.
    """

    window: Window
    entrances: list[int] | None = None
    session_id: str | None = None
    project: str | None = None
    records: int = 0
    _end: int = 0
    _turns: list[Turn] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)
    _keys: set[str] = field(default_factory=set)
    _dropped: Counter[str] = field(default_factory=Counter)

    def note(self, record: Record, session_id: str | None, project: str | None) -> None:
        """Count a record as read; the last session id and project that a record names are the transcript's."""
        self.records += 1
        self._end = record.end
        if session_id and session_id != self.session_id:
            self.session_id = session_id
        self.project = project or self.project

    def drop(self, reason: str, place: Place) -> None:
        """Count one thing that is left out of what stands at `place`."""
        if place.start >= self.window.off:
            self._dropped[reason] += 1

    def keep(self, turn: Turn, place: Place) -> None:
        """Add a turn; one whose key was already read in this pass is counted as `duplicate`."""
        if turn.key in self._keys:
            self.drop("duplicate", place)
            return
        self._keys.add(turn.key)
        self._turns.append(turn if turn.end == place.end else replace(turn, end=place.end))
        self._starts.append(place.start)

    def transcript(self, file: BinaryIO, agent: str, held_from: int | None) -> Transcript:
        """Return the result of the pass.

        Turns of records at or after the offset `held_from` are held, and the cursor stays before them; what an earlier
        read gave out is never held again. The cursor's `resume` is where the last CONTEXT_TURNS settled turns begin, or
        the entrance before them.
        """
        off = max(self._end, self.window.off)
        turns = self._turns
        if held_from is not None:
            hold = max(held_from, self.window.off)
            placed = zip(turns, self._starts, strict=True)
            turns = [replace(turn, held=True) if start >= hold else turn for turn, start in placed]
            if any(turn.held for turn in turns):
                off = hold
        before = [start for start in self._starts if start < off][-CONTEXT_TURNS:]
        resume = before[0] if before else off
        if self.entrances is not None:
            resume = max((at for at in self.entrances if at <= resume), default=self.window.start)
        return Transcript(
            agent=agent,
            turns=tuple(turns),
            cursor=_cursor(file, off, resume, self.window.stop),
            session_id=self.session_id,
            project=self.project,
            dropped=dict(self._dropped),
            reset=self.window.reset,
        )


def _sha(file: BinaryIO, start: int, stop: int) -> str:
    file.seek(start)
    return hashlib.sha256(file.read(stop - start)).hexdigest()


def _changed(file: BinaryIO, size: int, since: Cursor) -> str | None:
    """Return why the file is not the one `since` was taken from, or None."""
    if size < since.off:
        return "shorter"
    if since.head_sha and _sha(file, 0, since.head_len) != since.head_sha:
        return "head_changed"
    if since.tail_sha and _sha(file, max(0, since.off - _TAIL), since.off) != since.tail_sha:
        return "tail_changed"
    return None


def _cursor(file: BinaryIO, off: int, resume: int, stop: int) -> Cursor:
    size = max(off, stop)
    head_len = min(_HEAD, size)
    return Cursor(
        off=off,
        resume=resume,
        size=size,
        head_len=head_len,
        head_sha=_sha(file, 0, head_len),
        tail_sha=_sha(file, max(0, off - _TAIL), off),
    )

"""The conversations of an archive: read as a stream, a few at a time, and what of each is new (session-formats §6)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mex_pipeline.adapters.port import Archive
from mex_pipeline.clock import monotonic
from mex_pipeline.domain.source_key import SourceKey
from mex_pipeline.errors import ExternalError, SourceFormat

if TYPE_CHECKING:
    from mex_pipeline.adapters.port import Adapter
    from mex_pipeline.domain.conversation import Transcript

_CHARACTERS_AT_ONCE = 1_000_000
_SECONDS_AT_ONCE = 1.0


def conversation_key(agent: str, conversation: str) -> SourceKey:
    """Return the source of a conversation, `agent#conversation`: the same in every export (session-formats §4)."""
    return SourceKey(Path(agent), conversation)


def stream(adapter: Adapter, path: Path) -> Iterator[Transcript]:
    """Return the conversations of a file; raises SourceFormat when the adapter finds a single one in it.

    What `Archive.conversations` raises is raised in the course of reading too.
    """
    found = adapter.conversations(path) if isinstance(adapter, Archive) else None
    if found is None:
        raise SourceFormat(path=str(path), adapter=adapter.name)
    return found


class Reader:
    """Reads a stream in pieces, each in a thread of its own; `skip` of its items were dealt with before.

    `only` is the one conversation that is wanted. `position` is the number of items behind the last piece.
    """

    def __init__(self, items: Callable[[], Iterator[Transcript]], *, skip: int = 0, only: str | None = None) -> None:
        self.position = 0
        self._open = items
        self._items: Iterator[Transcript] | None = None
        self._skip = skip
        self._only = only
        self._failed: ExternalError | None = None
        self._turn = threading.Lock()

    def read(self, most: int) -> list[Transcript] | None:
        """Return up to `most` items, fewer or none when they are large or a second is over; None at the end.

        What was read before an error is returned first: the error is raised by the next call.
        """
        with self._turn:
            if self._failed is not None:
                raise self._failed
            piece: list[Transcript] = []
            deadline, size = monotonic() + _SECONDS_AT_ONCE, 0
            try:
                self._items = self._items or self._open()
                while len(piece) < most and size < _CHARACTERS_AT_ONCE and monotonic() < deadline:
                    item = next(self._items, None)
                    if item is None:
                        return piece or None
                    self.position += 1
                    if self.position > self._skip and self._only in (None, item.session_id):
                        piece.append(item)
                        size += sum(len(turn.text) for turn in item.turns)
            except ExternalError as error:
                if not piece:
                    raise
                self._failed = error
            return piece

    def close(self) -> None:
        """Let go of the file; waits for a piece that is still being read."""
        with self._turn:
            close = getattr(self._items, "close", None)
            if close is not None:
                close()

"""What an adapter is: found by content, pure, deterministic, never a writer (session-formats §2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from mex_pipeline.domain.conversation import Cursor, Transcript


class Adapter(Protocol):
    """A reader of one agent's session format."""

    name: str

    def detect(self, path: Path) -> bool:
        """True when the file's content is of this format; never raises for readable files."""
        ...

    def read(self, path: Path, since: Cursor, *, quiet: bool, until: int | None = None) -> Transcript:
        """Return the turns from `since.resume` on.

        `quiet` says that the file has not changed for a while, so that nothing needs to be held back. `until` fixes the
        end (a position that an earlier read returned as `cursor.off`): what lies behind it is not looked at and nothing
        is held, so that a retry sees the same turns (product H6).
        Raises SourceGone, SourceUnreadable, or SourceFormat when nothing in the file is of this format; for a file of
        several sessions InvalidInput("session_needed") with `path`, `count`.
        """
        ...


@dataclass(frozen=True, slots=True)
class Look:
    """How a source stands, told without reading it.

    `size` is another number whenever there is something new: a file's bytes, or the time in milliseconds at which a
    session in a database last changed. `changed_at` is when that was, in milliseconds.
    """

    size: int
    changed_at: int


@runtime_checkable
class SessionStore(Adapter, Protocol):
    """An adapter of files that may hold many sessions which go on growing; each is a source of its own."""

    def sessions(self, path: Path) -> Iterator[str] | None:
        """Yield the ids of the sessions in the file, oldest first; None when the file is a single session.

        Raises SourceGone, SourceUnreadable.
        """
        ...

    def look(self, path: Path, session: str) -> Look:
        """Return how one session stands; raises SourceGone when it is not there any more, SourceUnreadable."""
        ...

    def read_session(
        self, path: Path, session: str, since: Cursor, *, quiet: bool, until: int | None = None
    ) -> Transcript:
        """Return the turns of one session, as `read` does of a file; raises SourceGone, SourceUnreadable."""
        ...


@runtime_checkable
class Archive(Adapter, Protocol):
    """An adapter of exports: finished files with any number of conversations, read as a stream."""

    def conversations(self, path: Path) -> Iterator[Transcript] | None:
        """Yield every conversation, whole, in the file's order; None when the file is a single one for `read`.

        Memory is bounded by one conversation. Each has its `session_id`; the `off` of its cursor is the time of its
        last change in milliseconds. What of the file is no conversation is counted in a last transcript without turns
        and without session id. Raises SourceGone, SourceUnreadable, SourceFormat, in the course of reading too.
        """
        ...


@runtime_checkable
class Local(Adapter, Protocol):
    """An adapter that knows where its agent keeps sessions on a machine."""

    def places(self, home: Path, environment: Mapping[str, str]) -> Iterator[Path]:
        """Yield the session files under a person's home folder, in any order; subagents' files are left out.

        `environment` may move the agent's folder. What cannot be listed is passed over; nothing is opened.
        """
        ...

    def kept_days(self, home: Path, environment: Mapping[str, str]) -> int | None:
        """Return after how many days without a change the agent deletes a session; None when it never does."""
        ...

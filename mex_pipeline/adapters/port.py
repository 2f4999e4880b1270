"""What an adapter is: found by content, pure, deterministic, never a writer (session-formats §2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
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
        Raises SourceGone, SourceUnreadable, or SourceFormat when nothing in the file is of this format.
        """
        ...

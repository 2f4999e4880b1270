"""What names a source in every table and job."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SourceKey:
    """The identity of a source: a file by its real path, or one session of a file that holds many (product H1)."""

    path: Path
    session: str | None = None

    def __str__(self) -> str:
        """Return the stored form, `path` or `path#session`."""
        return str(self.path) if self.session is None else f"{self.path}#{self.session}"

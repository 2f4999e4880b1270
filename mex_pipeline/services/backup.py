"""`mex backup`: a whole copy of mex.db at any time, also while others write (product D6; seed 004 §9)."""

from contextlib import closing
from dataclasses import dataclass
from typing import Any

from mex_pipeline.app import App
from mex_pipeline.errors import DatabaseDamaged
from mex_pipeline.services.export import place, replacing
from mex_pipeline.store import export
from mex_pipeline.store.database import Database


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy: where it is, its bytes, and how many memories it holds, forgotten ones included."""

    path: str
    size_bytes: int
    memories: int

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {"path": self.path, "size_bytes": self.size_bytes, "memories": self.memories}


def make(app: App, target: str) -> Backup:
    """Copy the database to a file, or into a folder under a name with the local time, and check the copy.

    Raises what `export.place` and `export.replacing` raise, and DatabaseDamaged when the copy is not whole.
    """
    moment = app.clock.now().astimezone()
    path = place(app.home, target, f"mex-backup-{moment:%Y-%m-%d-%H%M%S}.db")
    with replacing(path) as fresh:
        export.copy_file(app.home.database, fresh)
        with closing(Database.open(fresh)) as copy:
            verdict = copy.first(export.quick_check())
            if verdict != "ok":
                raise DatabaseDamaged(path=str(app.home.database), detail=str(verdict))
            counts = copy.first(export.counts()) or {}
        size = fresh.stat().st_size
    return Backup(str(path), size, counts["memories"])

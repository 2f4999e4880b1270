"""`mex clear`: everything meX has learned leaves, after an export that can bring it back (original.md §1; product H13)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mex_pipeline.app import App
from mex_pipeline.errors import DatabaseBusy
from mex_pipeline.services import export, refusing
from mex_pipeline.store import clear, purge


@dataclass(frozen=True, slots=True)
class Cleared:
    """How many rows of each kind are gone, and the export taken before (None: none was wanted, or nothing was there).

    `never_again` counts the values that stay refused. `is_settled` is false when another process kept the freed pages
    from being rewritten: their bytes may still be there.
    """

    counts: dict[str, int]
    backup: str | None
    never_again: int
    is_settled: bool

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {
            "cleared": self.counts,
            "backup": self.backup,
            "never_again": self.never_again,
            "settled": self.is_settled,
        }


def counts(app: App) -> dict[str, int]:
    """Return how many rows there are: memories, history, sources, turns, replies, cursors, messages, jobs, proposals, and
    `declined`: what was declined in review.
    """
    return app.db.first(clear.counts()) or {}


def everything(app: App, *, with_backup: bool) -> Cleared:
    """Empty the memory and return what is gone; settings, schema, what calls have cost and what is never to be known
    again stay.

    The export is written under the same lock, so that it holds exactly what leaves. A job that runs meanwhile finds its
    row gone and writes nothing. Where nothing is left the file is still rewritten: a run before may have been kept from it.
    """
    with app.db.transaction() as tx:
        found = tx.first(clear.counts()) or {}
        backup = _backup_place(app) if with_backup and any(found.values()) else None
        if backup is not None:
            export.write(backup, export.pieces(app, tx, "json", with_turns=True))
        tx.run(*clear.delete_all())
    still_refused = sum(refusing.standing(app).values())
    return Cleared(found, None if backup is None else str(backup), still_refused, is_settled=_settle(app))


def _settle(app: App) -> bool:
    """Rewrite the file without its freed pages and empty the WAL, so that the bytes are gone."""
    try:
        app.db.script("VACUUM;")
        return not app.db.first(purge.empty_wal())
    except DatabaseBusy:
        return False


def _backup_place(app: App) -> Path:
    """A name that is not in use: nothing that was kept before is overwritten."""
    name = f"mex-export-before-clear-{app.clock.now().astimezone():%Y-%m-%d-%H%M%S}"
    path = app.home.backups / f"{name}.json"
    number = 1
    while path.exists():
        number += 1
        path = app.home.backups / f"{name}-{number}.json"
    return path

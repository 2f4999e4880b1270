"""Exports: everything in one file, for a program to restore or for a person to read (seed 004 ADR-9; product G11)."""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mex_pipeline.app import App
from mex_pipeline.clock import iso, to_local
from mex_pipeline.domain.exported import FORMAT, SECTIONS, TURNS, VERSION, Section
from mex_pipeline.domain.markdown import markdown
from mex_pipeline.errors import ExternalError, InvalidInput
from mex_pipeline.paths import PRIVATE_FILE, PRIVATE_FOLDER, Home
from mex_pipeline.store import export, memories
from mex_pipeline.store.database import Database

Format = Literal["json", "markdown"]

_PAGE = 5_000
_SUFFIXES: dict[Format, str] = {"json": ".json", "markdown": ".md"}


@dataclass(frozen=True, slots=True)
class Exported:
    """Where an export went, how many memories it holds, and how many of them are forgotten."""

    path: str
    count: int
    forgotten_count: int

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {"path": self.path, "count": self.count, "forgotten_count": self.forgotten_count}


def to_file(app: App, target: str, form: Format, *, with_turns: bool = False) -> Exported:
    """Write an export to a file, or as `mex-export.json` (`.md`) into a folder; it is there whole or not at all.

    Raises InvalidInput for a place that must not be written, ExternalError (`file_unwritable`) for one that cannot be.
    """
    path = place(app.home, target, f"mex-export{_SUFFIXES[form]}")
    with app.db.snapshot() as view:
        write(path, pieces(app, view, form, with_turns=with_turns))
        counts = view.first(export.counts()) or {}
    return Exported(str(path), counts["memories"], counts["forgotten"])


def pieces(app: App, view: Database, form: Format, *, with_turns: bool = False) -> Iterator[str]:
    """Yield an export in pieces, all of one state of the database when `view` is a snapshot or a transaction."""
    if form == "json":
        yield from _json(view, with_turns=with_turns)
        return
    now = iso(app.clock.now())
    yield markdown(
        view.all(memories.every()),
        app.schema,
        app.language,
        now=now,
        local_date=lambda stored: to_local(stored)[:10],
    )


def _json(view: Database, *, with_turns: bool) -> Iterator[str]:
    """One row on each line, no sequence numbers and no time of its own: equal memories give equal bytes (product H13)."""
    yield f'{{\n"format": "{FORMAT}",\n"version": {VERSION}'
    for section in SECTIONS:
        if section is TURNS and not with_turns:
            continue
        yield f',\n"{section.name}": ['
        comma = "\n"
        for row in _rows(view, section):
            yield comma + json.dumps(row, ensure_ascii=False)
            comma = ",\n"
        yield "\n]"
    yield "\n}\n"


def _rows(view: Database, section: Section) -> Iterator[dict[str, Any]]:
    offset = 0
    while page := view.all(export.rows(section, limit=_PAGE, offset=offset)):
        yield from page
        offset += len(page)


def place(home: Home, target: str, name: str) -> Path:
    """Return the file that `target` means: itself, or `name` inside it when it is a folder or ends like one.

    Raises InvalidInput for a blank target, for a file meX itself lives on, and for what is no regular file.
    """
    if not target.strip():
        raise InvalidInput("output_blank")
    path = Path(target).expanduser()
    try:
        if target.endswith(("/", os.sep)) or path.is_dir():
            path = path / name
        path = path.resolve()
        is_special = path.exists() and not path.is_file()
    except (OSError, ValueError, RuntimeError) as error:
        raise InvalidInput("output_is_special", path=target) from error
    own = {home.database, home.queue, home.config, home.schema}
    sidecars = {
        file.with_name(file.name + end) for file in (home.database, home.queue) for end in ("-wal", "-shm", "-journal")
    }
    if path in {file.resolve() for file in own | sidecars}:
        raise InvalidInput("output_is_own", path=str(path))
    if is_special:
        raise InvalidInput("output_is_special", path=str(path))
    return path


def write(path: Path, parts: Iterable[str]) -> None:
    """Write a private file in one durable step."""
    with replacing(path) as fresh, fresh.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(parts)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a private file beside `path` to write, and put it in its place when the block ends well (mode 0600).

    Both steps are synced to disk. Raises ExternalError (`file_unwritable`); whatever stood at `path` is then untouched.
    """
    fresh = path.with_name(f".{path.name[:100]}.{os.getpid()}.new")
    try:
        path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        os.close(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE))
        yield fresh
        _sync(fresh)
        fresh.replace(path)
        with suppress(OSError):  # a system that cannot sync folders
            _sync(path.parent)
    except OSError as error:
        raise ExternalError("file_unwritable", path=str(path), detail=error.strerror or "") from error
    finally:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Forgetting for good: the words leave every table, every page and meX's own backups (product B6, docs/forgetting.md)."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from mex_pipeline.app import App
from mex_pipeline.clock import iso, millis
from mex_pipeline.domain.exported import FORMAT, REFUSALS
from mex_pipeline.domain.given import reworded
from mex_pipeline.domain.memory import Actor, Event, HistoryEntry, Memory
from mex_pipeline.domain.purge import (
    Doomed,
    array_without,
    doomed,
    is_asked_about,
    is_told_by,
    needles,
    pruned,
    shared_messages,
    turns_hidden,
    turns_without,
    unsaid,
    without,
    without_entries,
)
from mex_pipeline.domain.refusal import Refusal, RefusalKind, met, never_again
from mex_pipeline.domain.schema import Schema
from mex_pipeline.domain.selection import Selection
from mex_pipeline.domain.structured import render
from mex_pipeline.domain.wording import Language
from mex_pipeline.errors import DatabaseBusy, ExternalError, MexError, NotFound
from mex_pipeline.paths import write_private
from mex_pipeline.services.lifecycle import matching, require_target
from mex_pipeline.services.lookup import find
from mex_pipeline.store import compact, cursors, history, purge, refusals
from mex_pipeline.store.database import Database
from mex_pipeline.store.migrations import VERSION, version
from mex_pipeline.store.sql import Statement

_SQLITE = b"SQLite format 3\x00"
_BESIDE = ("-wal", "-shm", "-journal")
_LANGUAGES: tuple[Language, ...] = ("zh", "en")
_TELLING = {"memories": "content", "memory_sources": "quote", "turns": "text"}
"""Where the same words may rightly stand: other memories, their sources, other sessions."""


@dataclass(frozen=True, slots=True)
class Meant:
    """What is to be forgotten for good; `gone` are ids that were before, of which only what was left undone is done."""

    memories: tuple[Memory, ...]
    gone: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """Every id that is meant."""
        return (*(memory.id for memory in self.memories), *self.gone)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was done; it holds no content. `rewritten` and `kept` count rows (in text files lines) by place."""

    purged: tuple[str, ...]
    rewritten: dict[str, int]
    kept: dict[str, int]
    """Rows of others that hold the same words and were not touched, by table."""
    unfinished: dict[str, str]
    """Files that may still hold the bytes, with the code that says why."""
    out_of_reach: tuple[dict[str, str], ...]
    were_sought: bool
    """False when nobody knows the words any more: the files were written anew, but there was nothing to look for."""
    never_again: int = 0
    """How many values are not learned again from now on."""

    @property
    def is_verified(self) -> bool:
        """True when the bytes were looked for in every file and stand nowhere but in rows of others."""
        return self.were_sought and not self.unfinished

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object: `{purged, rewritten, kept, verified, unfinished, out_of_reach, never_again}`."""
        return {
            "purged": list(self.purged),
            "rewritten": _counted(self.rewritten),
            "kept": _counted(self.kept),
            "verified": self.is_verified,
            "unfinished": [{"what": what, "code": code} for what, code in self.unfinished.items()],
            "out_of_reach": list(self.out_of_reach),
            "never_again": self.never_again,
        }

    def require_finished(self) -> None:
        """Raise DatabaseBusy("purge_unfinished") or ExternalError("purge_incomplete") when bytes may be left somewhere."""
        names = ", ".join(self.unfinished)
        if DatabaseBusy.code in self.unfinished.values():
            raise DatabaseBusy("purge_unfinished", what=names, ids=" ".join(self.purged))
        if self.unfinished:
            raise ExternalError("purge_incomplete", what=names)


def _counted(counts: dict[str, int]) -> list[dict[str, Any]]:
    return [{"what": what, "count": count} for what, count in counts.items()]


def meant(app: App, identifiers: Sequence[str] = (), wanted: Selection | None = None) -> Meant:
    """Return what is meant: any memories by id, active ones by conditions; with a summary the records it was condensed from.

    Raises as `lifecycle.forget` does. An id that was forgotten for good before is accepted: what an open reader left
    undone then is done now.
    """
    require_target(identifiers, wanted)
    if wanted is not None:
        return Meant(_with_originals(app, {memory.id: memory for memory in matching(app, wanted)}))
    found: dict[str, Memory] = {}
    gone: dict[str, None] = {}
    for one in identifiers:
        try:
            memory = find(app, one)
            found[memory.id] = memory
        except NotFound as error:
            if error.code != "memory_purged":
                raise
            gone[error.params["id"]] = None
    return Meant(_with_originals(app, found), tuple(gone))


def _with_originals(app: App, found: dict[str, Memory]) -> tuple[Memory, ...]:
    originals = {memory.id: memory for memory in app.db.all(compact.originals(found))}
    return tuple((found | originals).values())


@dataclass(frozen=True, slots=True)
class _Cleaned:
    """What was rewritten in one file, which rows of others hold the same words, and why bytes may be left."""

    counts: dict[str, int] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    failure: str | None = None


def execute(app: App, which: Meant, *, and_never_again: bool = False) -> Receipt:
    """Forget for good what is meant and return the receipt; one line of history without content stays of each.

    With `and_never_again` every value that it ever had is refused from now on, in the backups too (domain/refusal.py).
    Backups go first: once the row is gone, nobody knows which words to look for in their text files. Raises DatabaseBusy
    when the write lock cannot be had; what cannot be cleaned otherwise is in the receipt.
    """
    moment = app.clock.now()
    with app.db.snapshot() as view:
        gone = _gather(app.schema, view, which.ids)
        gone = _refusing(view, gone, moment) if and_never_again else gone
    backups = {
        path.relative_to(app.home.root).as_posix(): _clean_backup(app.schema, path, gone, moment)
        for path in _backups(app.home.backups)
    }
    app.db.script("PRAGMA secure_delete = ON;")
    with app.db.transaction() as tx:
        gone |= _gather(app.schema, tx, which.ids)
        gone = _refusing(tx, gone, moment) if and_never_again else gone
        counts = _forget(tx, gone, moment)
    own = _settle(app.db, gone.words, counts)
    everything = {app.home.database.name: own} | backups
    return Receipt(
        purged=which.ids,
        rewritten=counts
        | {what: sum(one.counts.values()) for what, one in backups.items() if any(one.counts.values())},
        kept=own.kept,
        unfinished={what: one.failure for what, one in everything.items() if one.failure},
        out_of_reach=_out_of_reach(app.db, gone),
        were_sought=bool(gone.words),
        never_again=len(gone.refusals),
    )


def _refusing(view: Database, gone: Doomed, moment: datetime) -> Doomed:
    """The same, with the refusals of every value it had; what is refused already needs none."""
    standing = [*view.all(refusals.of_kinds(RefusalKind.NEVER_AGAIN)), *gone.refusals]
    meant: set[Refusal] = set()
    for where, content in sorted(gone.values):
        standing += never_again(where, content, standing, iso(moment))
        meant.update(met(standing, where, content))
    return replace(gone, refusals=frozenset(meant))


def _gather(schema: Schema, db: Database, ids: Iterable[str]) -> Doomed:
    """Everything one file knows of the memories; structured contents in words too, as exports print them."""
    wanted = tuple(ids)
    present = set(db.all(purge.tables()))
    rows = [row for table in purge.OWNED if table in present for row in db.all(purge.owned_rows(table, wanted))]
    found = doomed(wanted, rows)
    shown = {
        render(schema.find(*slot), word, language)
        for slot in found.slots
        for word in found.words
        for language in _LANGUAGES
    }
    others = db.all(purge.other_messages(found.ids)) if "memory_sources" in present else []
    return replace(found, words=found.words | shown, shared=shared_messages(others, found.ids))


def _forget(tx: Database, gone: Doomed, moment: datetime) -> dict[str, int]:
    """Erase the memories from a file of this version, and remember that they and the messages that said them are gone."""
    told = gone.messages | _telling(tx.all(purge.turns(gone.sessions, gone.messages)), gone)
    marks = [
        HistoryEntry(one, Event.DELETE, None, None, Actor.USER, evidence=None, created_at=iso(moment))
        for one in tx.all(purge.unmarked(gone.ids))
    ]
    counts = _erase(tx, gone)
    tx.run(*(history.append(mark) for mark in marks))
    tx.run(*(one for agent, key in sorted(told) for one in cursors.mark_purged(agent, key, millis(moment))))
    tx.run(*(refusals.insert(one) for one in sorted(gone.refusals, key=lambda one: one.hash)))
    return counts


def _erase(tx: Database, gone: Doomed) -> dict[str, int]:
    """Take the memories out of whatever tables the file has and return how many rows that changed, by table."""
    present = set(tx.all(purge.tables()))
    counts = {table: tx.run(purge.delete_owned(table, gone.ids)) for table in purge.OWNED if table in present}
    if "memory_sources" not in present:
        counts["arrays"] = _rewrite(tx, [*_shortened(tx, gone)])
    if "jobs" in present:
        counts["jobs"] = _rewrite(tx, [_silent(job, gone) for job in tx.all(purge.wordy_jobs())])
    if "kept_replies" in present:
        told = [key for key, reply in tx.all(purge.replies()) if is_told_by(reply, gone)]
        counts["kept_replies"] = _rewrite(tx, [purge.drop_reply(key) for key in told])
    if "turns" in present:
        counts["turns"] = _rewrite(tx, [*_silenced(tx.all(purge.turns(gone.sessions, gone.messages)), gone)])
        every = tx.all(purge.every_turn()) if gone.refusals else []
        counts["turns"] += _rewrite(
            tx, [purge.rewrite_turn(one["seq"], left) for one, left in turns_hidden(every, gone)]
        )
    if "proposals" in present:
        asked = [one["id"] for one in tx.all(purge.proposals()) if is_asked_about(one, gone)]
        counts["proposals"] = _rewrite(tx, [purge.drop_proposal(one) for one in asked])
    tx.run(*(purge.rebuild(index) for index in tx.all(purge.full_text_indexes())))
    return {table: count for table, count in counts.items() if count}


def _rewrite(tx: Database, statements: Sequence[Statement | None]) -> int:
    """Run the statements that there are and return how many."""
    meant = [one for one in statements if one is not None]
    tx.run(*meant)
    return len(meant)


def _telling(turns: Sequence[dict[str, Any]], gone: Doomed) -> frozenset[tuple[str, str]]:
    """(agent, message key) of the kept turns that say it: they are not read anew either, for nobody knows the words then."""
    return frozenset((turns[at]["agent"], turns[at]["key"]) for at in turns_without(turns, gone))


def _silenced(turns: Sequence[dict[str, Any]], gone: Doomed) -> Iterator[Statement]:
    """The kept turns without the words, each that says nothing else dropped."""
    for at, text in turns_without(turns, gone).items():
        seq = turns[at]["seq"]
        yield purge.drop_turn(seq) if text is None else purge.rewrite_turn(seq, text)


def _shortened(tx: Database, gone: Doomed) -> Iterator[Statement]:
    """In a file of the original a value may stand in an array under the id of another: it leaves the array."""
    for table, column in (("memories", "content"), ("history", "old_content"), ("history", "new_content")):
        for row, text in tx.all(purge.arrays(table, column, gone.slots)):
            left = array_without(text, gone.words)
            if left is not None:
                yield purge.rewrite_array(table, column, row, left)


def _silent(job: dict[str, Any], gone: Doomed) -> Statement | None:
    """A job's row without the words, None when it holds none of them."""
    left = job | {name: _silent_json(job[name], gone) for name in ("result", "errors")}
    if job["given_text"] is not None:
        change = partial(unsaid, gone=gone)
        text = job["given_text"]
        left["given_text"] = reworded(text, change) if job["has_turns"] else change(text)
    return None if left == job else purge.rewrite_job(left)


def _silent_json(text: str | None, gone: Doomed) -> str | None:
    if text is None:
        return None
    value = json.loads(text)
    left = without(value, gone)
    return text if left == value else json.dumps(left, ensure_ascii=False)


def _settle(db: Database, words: Iterable[str], counts: dict[str, int]) -> _Cleaned:
    """Take what was deleted out of the file's pages and its WAL, and look whether the bytes are gone."""
    try:
        db.script("VACUUM;")
        if db.first(purge.empty_wal()):
            return _Cleaned(counts, failure=DatabaseBusy.code)
        left, kept = _look(db, words)
    except MexError as error:
        return _Cleaned(counts, failure=error.code)
    return _Cleaned(counts, kept, "bytes_left" if left else None)


def _look(db: Database, words: Iterable[str]) -> tuple[bool, dict[str, int]]:
    """Return whether bytes of the words are left that no row holds, and how many rows of others hold some, by table."""
    with db.snapshot() as view:
        wal = db.path.with_name(f"{db.path.name}-wal")
        image = view.image() + (wal.read_bytes() if wal.exists() else b"")
        found = [one for one in needles(words) if one.encode() in image]
        columns = view.all(purge.columns()) if found else []
        left = any(not any(sum(view.all(purge.holding(*column, [one]))) for column in columns) for one in found)
        told = [(table, column) for table, column in columns if _TELLING.get(table) == column]
        kept = {table: sum(view.all(purge.holding(table, column, found))) for table, column in told}
    return left, {table: count for table, count in kept.items() if count}


def _backups(folder: Path) -> list[Path]:
    """The files meX keeps in its own folder of backups."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(_BESIDE))


def _clean_backup(schema: Schema, path: Path, gone: Doomed, moment: datetime) -> _Cleaned:
    try:
        raw = path.read_bytes()
        if raw.startswith(_SQLITE):
            return _clean_database(schema, path, gone, moment)
        return _clean_text(path, raw, gone)
    except MexError as error:
        return _Cleaned(failure=error.code)
    except OSError:
        return _Cleaned(failure="file_unreadable")


def _clean_database(schema: Schema, path: Path, gone: Doomed, moment: datetime) -> _Cleaned:
    """Purge a copy of mex.db of any structure version; words it alone knows, from before an update, go as well.

    One of this version remembers it too: put back in its place it must not learn again what it has lost.
    """
    with closing(Database.open(path)) as db:
        if "memories" not in db.all(purge.tables()):
            return _Cleaned()
        known = gone | _gather(schema, db, gone.ids)
        db.script("PRAGMA secure_delete = ON;")
        with db.transaction() as tx:
            is_ours = version(db) == VERSION
            counts = _forget(tx, known, moment) if is_ours else _erase(tx, known)
        return _settle(db, known.words, counts)


def _clean_text(path: Path, raw: bytes, gone: Doomed) -> _Cleaned:
    """Rewrite an export without the memories: JSON by its structure, any other text by its lines."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        is_told = any(one.encode() in raw for one in needles(gone.words))
        return _Cleaned(failure="bytes_left" if is_told else None)
    try:
        data = json.loads(text)
        value, count = pruned(data, replace(gone, shared=gone.shared | _shared_in(data, gone)))
        count += _add_refusals(value, gone)
        left = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    except (ValueError, RecursionError):
        left, count = without_entries(text, gone)
    if count:
        write_private(path, left)
    return _Cleaned({"rows": count})


def _add_refusals(export: Any, gone: Doomed) -> int:
    """Let an export remember what is never to be known again, and return how many refusals it did not have yet."""
    if not isinstance(export, dict) or export.get("format") != FORMAT:
        return 0
    known = export.setdefault(REFUSALS.name, [])
    fresh = [row for row in map(asdict, sorted(gone.refusals, key=lambda one: one.hash)) if row not in known]
    known += fresh
    return len(fresh)


def _shared_in(data: Any, gone: Doomed) -> frozenset[tuple[str, str]]:
    """The messages on which other memories of an export rest."""
    rows = data.get("sources") if isinstance(data, dict) else None
    return shared_messages([row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else [], gone.ids)


def _out_of_reach(db: Database, gone: Doomed) -> tuple[dict[str, str], ...]:
    """Where the words may stand beyond this home; no content, but the files that said them."""
    called = db.first(purge.paid_calls(gone.jobs))
    return (
        *({"what": "session_file", "path": path} for path in sorted(gone.files)),
        *([{"what": "model_endpoint"}] if called else []),
        {"what": "exports"},
        {"what": "snapshots"},
    )

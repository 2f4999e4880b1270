"""Kept turns: written by the commit that moves the cursor, listed, counted and dropped (product B10)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from mex_pipeline.clock import iso
from mex_pipeline.domain.kept import KeptTurn, chosen, matching, placed
from mex_pipeline.domain.purge import untold
from mex_pipeline.domain.refusal import RefusalKind, hidden
from mex_pipeline.errors import DatabaseBusy, InvalidInput
from mex_pipeline.store import cursors, purge, refusals, sources, turns
from mex_pipeline.store.turns import KeptSession, Which

if TYPE_CHECKING:
    from datetime import timedelta

    from mex_pipeline.app import App
    from mex_pipeline.domain.conversation import Turn
    from mex_pipeline.services.reading import Reading
    from mex_pipeline.store.async_database import AsyncDatabase
    from mex_pipeline.store.sql import Statement

_ONE_IN = 4
"""The file is written anew when one page in so many is free."""


async def to_keep(tx: AsyncDatabase, reading: Reading, mode: str, *, job_id: str, now: str) -> list[Statement]:
    """Return what keeps the turns of a reading, once its memories are written; runs in the commit's transaction.

    What is kept already stays as it is, but the turns beside it may join it. A turn of which something was forgotten
    for good is not kept again, nor what the assistant said beside it, nor a value that is refused since it was read.
    """
    new = {turn.key for turn in reading.new}
    agent = reading.transcript.agent
    window = [turn for turn in reading.transcript.turns if not turn.held or turn.key in new]
    keys = [turn.key for turn in window]
    if mode == "none" or reading.is_from_kept:
        return []
    rests = await tx.all(sources.named(agent, keys)) if mode == "evidence" else []
    standing = {key: (session, at) for key, session, at in await tx.all(turns.standing(agent, keys))}
    barred = standing.keys() | untold(window, await tx.all(cursors.purged(agent, keys)))
    wanted = chosen(window, new, frozenset(rests), mode) - barred
    by_session: defaultdict[str, list[KeptTurn]] = defaultdict(list)
    for before, turn in zip((None, *window), window, strict=False):
        row = _row(turn, before, reading, job_id=job_id, now=now)
        if turn.key in wanted or standing.get(turn.key, ("", 0))[0] == row.session:
            by_session[row.session].append(row)
    banned = await tx.all(refusals.of_kinds(RefusalKind.NEVER_AGAIN))
    statements: list[Statement] = []
    for session, rows in by_session.items():
        known = {row.key: standing[row.key][1] for row in rows if row.key in standing}
        last = await tx.first(turns.last_position(agent, session)) or 0
        places = placed([row.key for row in rows], known, last)
        statements += [turns.make_room(agent, session, at, number) for at, number in places.moves]
        fresh = [replace(row, text=hidden(row.text, banned)) for row in rows if row.key in wanted]
        statements += [turns.insert(replace(row, position=places.positions[row.key])) for row in fresh]
    return statements


def _row(turn: Turn, before: Turn | None, reading: Reading, *, job_id: str, now: str) -> KeptTurn:
    transcript = reading.transcript
    return KeptTurn(
        agent=transcript.agent,
        key=turn.key,
        session_id=turn.session_id or transcript.session_id,
        message_id=turn.message_id,
        source_file=None if reading.key is None else str(reading.key),
        project=transcript.project,
        role=turn.role,
        kind=turn.kind,
        said_at=turn.at,
        text=turn.text,
        job_id=job_id,
        kept_at=now,
        previous_key=None if before is None else before.key,
    )


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was dropped, or would be: turns, the sessions they belong to, the bytes of their words.

    `is_settled` is false when another process kept the freed pages from being rewritten.
    """

    turns: int
    sessions: int
    bytes: int
    dry_run: bool
    is_settled: bool = True

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {
            "turns": self.turns, "sessions": self.sessions, "bytes": self.bytes, "dry_run": self.dry_run,
            "settled": self.is_settled,
        }  # fmt: skip


def listed(app: App, agent: str | None = None) -> list[KeptSession]:
    """Return the sessions of which turns are kept, the one with the newest words first."""
    return app.db.all(turns.sessions(Which(agent=agent)))


def which(app: App, *, older_than: timedelta | None, session: str | None, agent: str | None) -> Which:
    """Return which kept turns are meant; a session by its whole id or an unambiguous beginning of eight characters.

    Raises InvalidInput: `turns_which` when nothing limits them, `bad_span` for a span before the first day, and as
    `matching`.
    """
    if older_than is None and session is None and agent is None:
        raise InvalidInput("turns_which")
    before = None
    if older_than is not None:
        try:
            before = iso(app.clock.now() - older_than)
        except OverflowError as error:
            raise InvalidInput("bad_span", value=f"{older_than.days}d") from error
    if session is not None:
        agent, session = matching(session, {(one.agent, one.session) for one in listed(app, agent)}, "--agent")
    return Which(agent=agent, session=session, before=before)


def prune(app: App, wanted: Which, *, dry_run: bool) -> Pruned:
    """Drop kept turns and return how many; memories and their quotes stay, and so do the agents' own files."""
    if dry_run:
        return _counted(app.db.all(turns.sessions(wanted)), dry_run=True)
    app.db.script("PRAGMA secure_delete = ON;")
    with app.db.transaction() as tx:
        done = _counted(tx.all(turns.sessions(wanted)), dry_run=False)
        tx.run(turns.delete(wanted))
    return replace(done, is_settled=_settle(app)) if done.turns else done


def _counted(found: list[KeptSession], *, dry_run: bool) -> Pruned:
    return Pruned(sum(one.turns for one in found), len(found), sum(one.bytes for one in found), dry_run)


def _settle(app: App) -> bool:
    """Give the freed pages back when they are many; their bytes are overwritten in any case."""
    free, pages = app.db.first(turns.free_pages()) or (0, 1)
    try:
        if free * _ONE_IN >= pages:
            app.db.script("VACUUM;")
        return not app.db.first(purge.empty_wal())
    except DatabaseBusy:
        return False


def totals(app: App) -> dict[str, Any]:
    """Return `{turns, text_bytes, bytes, by_agent: [{agent, turns, bytes}]}`.

    `text_bytes` are those of the words, `bytes` what the table takes in the file (the words alone where SQLite cannot
    tell).
    """
    with app.db.snapshot() as view:
        by_agent = view.all(turns.totals())
        text_bytes = sum(row["bytes"] for row in by_agent)
        pages = view.first(turns.pages()) if view.first(turns.counts_pages()) else text_bytes
    return {
        "turns": sum(row["turns"] for row in by_agent),
        "text_bytes": text_bytes,
        "bytes": pages,
        "by_agent": by_agent,
    }


def session_plain(one: KeptSession) -> dict[str, Any]:
    """Return the JSON object of a session of which turns are kept."""
    return asdict(one)

"""The work of a restore job: read the export, decide memory by memory, write all of it and the job's end as one (C1, C2)."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from mex_pipeline.app import AsyncApp
from mex_pipeline.clock import iso, millis
from mex_pipeline.domain.exported import APART, HISTORY, MEMORIES, PROPOSALS, SOURCES, TURNS, read_row
from mex_pipeline.domain.job import Ending, Job, JobState, Outcome
from mex_pipeline.domain.memory import Actor, Event, HistoryEntry, Memory
from mex_pipeline.domain.refusal import Refusal, RefusalKind, hidden, pair, place, refused
from mex_pipeline.domain.restoring import Conflict, Decided, Given, decide, invalid, is_linked, read_memories
from mex_pipeline.domain.schema import Schema
from mex_pipeline.domain.unwelcome import hushed, is_unwelcome, unwelcome_histories, welcome
from mex_pipeline.errors import InvalidInput, LeaseLost, SourceFormat
from mex_pipeline.services.async_endings import patiently
from mex_pipeline.services.commit import is_for_review
from mex_pipeline.services.results import memory_plain
from mex_pipeline.services.transfer import read_export
from mex_pipeline.store import changes, cursors, export, history, jobs, memories, purge, refusals
from mex_pipeline.store.async_database import AsyncDatabase
from mex_pipeline.store.sql import Statement

MAX_SHOWN = 100
"""How many memories of each kind a job's result shows; the counts beside them are whole."""
MAX_CONFLICTS = 1_000
_BATCH = 5_000


@dataclass(frozen=True, slots=True)
class _File:
    """The rows of an export that can be stored, and a conflict for each that cannot; `refused` are ids of the latter.

    `unlinked` has a conflict for each memory whose history stays out, for its gaps or for what it says, by id.
    """

    given: tuple[Given, ...]
    rows: Mapping[str, list[dict[str, Any]]]
    conflicts: tuple[Conflict, ...]
    refused: frozenset[str]
    unlinked: Mapping[str, Conflict]

    def ids(self) -> set[str]:
        """Return every id of a memory that is to be looked for here."""
        return {one.memory.id for one in self.given} | {row["memory_id"] for row in self.rows[HISTORY.name]}

    def slots(self) -> set[tuple[str, str]]:
        """Return the slots its memories are meant for."""
        return {one.memory.slot for one in self.given if one.memory.slot is not None}


async def restore(app: AsyncApp, job: Job) -> None:
    """Put back what the job's export holds, and end the job in the same transaction.

    Raises SourceGone, SourceUnreadable, SourceFormat for a file that has changed since the request, LeaseLost when the job
    belongs to a later claim or was cancelled.
    """
    # In threads: a large file takes seconds, and a cancel must be heard meanwhile.
    file = await asyncio.to_thread(_read, Path(job.payload["path"]), app.schema)
    await patiently(lambda: _commit(app, job, file))


def _read(path: Path, schema: Schema) -> _File:
    try:
        sections = read_export(path)
    except InvalidInput as error:
        raise SourceFormat(error.code, **error.params) from error
    given, conflicts = read_memories(sections[MEMORIES.name], schema)
    rows: dict[str, list[dict[str, Any]]] = {}
    for section in (HISTORY, SOURCES, *APART):
        rows[section.name] = []
        for number, row in enumerate(sections[section.name], 1):
            try:
                rows[section.name].append(read_row(section, row))
            except InvalidInput as error:
                conflicts.append(invalid(number, error, row, section.name))
    raw = [row.get("id") for row in sections[MEMORIES.name] if isinstance(row, dict)]
    refused = frozenset(one for one in raw if isinstance(one, str)) - {one.memory.id for one in given}
    unlinked = _unlinked(rows[HISTORY.name], {one.memory.id for one in given})
    return _File(tuple(given), rows, tuple(conflicts), refused, unlinked)


def _unlinked(rows: list[dict[str, Any]], ids: Set[str]) -> dict[str, Conflict]:
    numbered: defaultdict[str, list[tuple[int, dict[str, Any]]]] = defaultdict(list)
    for number, row in enumerate(rows, 1):
        if row["memory_id"] in ids:
            numbered[row["memory_id"]].append((number, row))
    return {
        key: Conflict(lines[0][0], "history_unlinked", key, section=HISTORY.name)
        for key, lines in numbered.items()
        if not is_linked([row for _, row in lines])
    }


def _without_refused(file: _File, banned: list[Refusal]) -> _File:
    """The file without what must not be learned again: memories with all that is theirs, histories that once said it,
    held candidates; in other words of it the value is hidden (product B6).
    """
    if not banned:
        return file
    given, conflicts = welcome(file.given, banned)
    places = {one.memory.id: place(one.memory.topic, one.memory.sub_topic) for one in file.given}
    tainted = unwelcome_histories(file.rows[HISTORY.name], places, banned)
    known = {one.memory.id for one in given}
    barred_ids = places.keys() - known
    sources = [row for row in file.rows[SOURCES.name] if row["memory_id"] in barred_ids]
    said = {(row["agent"], row["message_key"]) for row in sources}
    rows = {name: [hushed(row, banned) for row in found] for name, found in file.rows.items()}
    proposals = enumerate(file.rows[PROPOSALS.name], 1)
    barred = {
        number: row["id"] for number, row in proposals if row["candidate"] and is_unwelcome(row["candidate"], banned)
    }
    conflicts += [Conflict(number, "never_again", key, section=PROPOSALS.name) for number, key in barred.items()]
    rows[PROPOSALS.name] = [row for row in rows[PROPOSALS.name] if row["id"] not in barred.values()]
    rows[TURNS.name] = [row for row in rows[TURNS.name] if (row["agent"], row["key"]) not in said]
    told = [
        replace(one, facts={name: hidden(fact, banned) for name, fact in one.facts.items()}) for one in file.conflicts
    ]
    return _File(
        tuple(given),
        rows,
        (*told, *conflicts),
        file.refused | barred_ids | (tainted.keys() - known),
        {**file.unlinked, **tainted},
    )


def _undecided(
    file: _File, here: Iterable[Memory], declined: list[Refusal], apart: list[Refusal]
) -> list[dict[str, Any]]:
    """The questions of the file without those to which a person said no here since they arose (product C6)."""
    standing = {one.memory.id: one.memory for one in file.given} | {memory.id: memory for memory in here}

    def refusal(row: dict[str, Any]) -> Refusal | None:
        if row["candidate"]:
            said = row["candidate"]
            return refused(declined, place(said.get("topic"), said.get("sub_topic")), said["content"])
        one, other = standing.get(row["memory_id"]), standing.get(row["other_id"])
        if one is None or other is None:
            return None
        return refused(apart, place(one.topic, one.sub_topic), pair(one.content, other.content))

    return [
        row for row in file.rows[PROPOSALS.name] if (no := refusal(row)) is None or no.created_at < row["created_at"]
    ]


async def _commit(app: AsyncApp, job: Job, file: _File) -> None:
    moment = app.clock.now()
    now, at = iso(moment), millis(moment)
    async with app.db.transaction() as tx:
        known = await tx.all(refusals.of_kinds(*RefusalKind))
        banned, declined, apart = ([one for one in known if one.kind is kind] for kind in RefusalKind)
        file = await asyncio.to_thread(_without_refused, file, banned)
        here = await tx.all(export.concerned(file.ids(), file.slots(), now))
        purged = frozenset(await tx.all(purge.purged(file.ids())))
        replaces = job.payload["on_conflict"] == "overwrite"
        decided = await asyncio.to_thread(
            decide, file.given, here, app.schema, purged=purged, now=now, replaces=replaces, declined=declined
        )
        file = replace(file, rows={**file.rows, PROPOSALS.name: _undecided(file, here, declined, apart)})
        await _write(tx, _rows(decided))
        untold = purged | file.unlinked.keys()
        counts = await _beside(tx, file, decided, {memory.id for memory in here}, untold)
        await _write(tx, (history.append(line) for line in _lines(file, decided, untold, now, job.id)))
        gaps = [file.unlinked[memory.id] for memory in decided.inserted if memory.id in file.unlinked]
        conflicts = sorted(
            (*file.conflicts, *decided.conflicts, *gaps), key=lambda one: (one.section != "memories", one.number)
        )
        outcome, reason = _outcome(decided, conflicts, counts)
        ending = Ending(JobState.SUCCEEDED, reason, outcome, result=_result(job, decided, conflicts))
        if await tx.run(jobs.leave(job, ending, None, at)) != 1:
            raise LeaseLost(id=job.id)
        await tx.run(jobs.wake_followers(job.lock_key), jobs.event(job.id, at, "succeeded", job.fence, outcome))


async def _write(tx: AsyncDatabase, statements: Iterator[Statement]) -> int:
    """Run statements in batches, so that a large file is never held as statements, and return how many rows changed."""
    changed = 0
    while batch := list(islice(statements, _BATCH)):
        changed += await tx.run(*batch)
    return changed


def _rows(decided: Decided) -> Iterator[Statement]:
    yield from (memories.replace_row(write.after) for write in decided.writes if write.before is not None)
    yield from (memories.insert(memory) for memory in decided.inserted)


async def _beside(tx: AsyncDatabase, file: _File, decided: Decided, here: Set[str], untold: Set[str]) -> dict[str, int]:
    """Write what stands beside the memories, and return how many rows of each section were new.

    The history of an inserted memory comes along as it was, unless the memory is (`here`) or was here, or the file tells
    it with gaps (`untold`). That of a memory which the file has no more comes when it says so itself: it ends with `delete`.
    Kept turns of messages that said something which was forgotten for good here stay out (product B6), and so does the
    question whether two memories are one unless both are here.
    """
    inserted = {memory.id for memory in decided.inserted}
    replaced = {write.after.id for write in decided.replaced}
    named = {one.memory.id for one in file.given} | file.refused
    present = inserted | here
    told = [row for row in file.rows["history"] if row["memory_id"] not in here | untold]
    ended = {row["memory_id"]: row["event"] == Event.DELETE for row in told}
    wanted = inserted | {key for key, is_deleted in ended.items() if is_deleted and key not in named}
    sources = file.rows["sources"]
    written = {
        "history": (export.insert(HISTORY, row) for row in told if row["memory_id"] in wanted),
        "sources": (export.insert(SOURCES, row) for row in sources if row["memory_id"] in inserted),
        "further_sources": (export.insert_new_source(SOURCES, row) for row in sources if row["memory_id"] in replaced),
    }
    counts = {name: await _write(tx, statements) for name, statements in written.items()}
    gone = set(await tx.all(cursors.purged_messages()))  # asked before the file's own marks come in
    for section in APART:
        rows = file.rows[section.name]
        if section is TURNS:
            rows = [row for row in rows if (row["agent"], row["key"]) not in gone]
        if section is PROPOSALS:
            rows = [row for row in rows if row["memory_id"] is None or {row["memory_id"], row["other_id"]} <= present]
        counts[section.name] = await _write(tx, (export.insert(section, row) for row in rows))
    return counts


def _lines(file: _File, decided: Decided, untold: Set[str], now: str, job_id: str) -> Iterator[HistoryEntry]:
    """Yield the lines of history that the restore itself writes.

    An inserted memory has one only when the file's own history does not tell how it stands (product B8, H13).
    """
    told = {row["memory_id"]: row["after"] for row in file.rows["history"] if row["memory_id"] not in untold}

    def line(event: Event, before: Memory | None, after: Memory) -> HistoryEntry:
        return changes.entry(event, before, after, actor=Actor.USER, now=now, job_id=job_id)

    for write in decided.writes:
        key = write.after.id
        if write.before is not None:
            yield line(Event.FORGET if write.is_put_aside else Event.IMPORT, write.before, write.after)
        elif key not in told:
            yield line(Event.IMPORT, None, write.after)
        elif (last := told[key]) is not None and last != changes.state(write.after):
            whole = line(Event.IMPORT, None, write.after)
            yield whole._replace(before=last, old_content=last.get("content"))


def _outcome(decided: Decided, conflicts: list[Conflict], counts: Mapping[str, int]) -> tuple[Outcome, str | None]:
    if decided.writes or any(counts.values()):
        return Outcome.COMMITTED, None
    return (Outcome.ALL_REJECTED, None) if conflicts and not decided.skipped else (Outcome.SKIPPED, "nothing_new")


def _result(job: Job, decided: Decided, conflicts: list[Conflict]) -> dict[str, Any]:
    """The result object of product H9; its lists are cut, the counts are not."""
    inserted, replaced, put_aside = decided.inserted, decided.replaced, decided.put_aside
    imported = (*inserted, *(write.after for write in replaced))
    return {
        "on_conflict": job.payload["on_conflict"],
        "imported": len(imported),
        "skipped": decided.skipped,
        "conflicts": [_conflict_plain(one) for one in conflicts[:MAX_CONFLICTS]],
        "counts": {
            "added": len(inserted),
            "updated": len(replaced),
            "retired": len(put_aside),
            "conflicts": len(conflicts),
        },
        "added": [memory_plain(memory) for memory in inserted[:MAX_SHOWN]],
        "updated": [
            {"before": memory_plain(write.before), "after": memory_plain(write.after)}
            for write in replaced[:MAX_SHOWN]
            if write.before is not None
        ],
        "retired": [memory_plain(write.after) for write in put_aside[:MAX_SHOWN]],
        "discarded": [],
        "inferred_count": sum(is_for_review(memory) for memory in imported),
        "proposed": 0,
        "usage": {"model": None, "calls": 0, "reused": 0, "prompt_tokens": 0, "completion_tokens": 0},
        "cursor": None,
        "turns": None,
    }


def _conflict_plain(conflict: Conflict) -> dict[str, Any]:
    return {
        "reason": conflict.reason,
        "id": conflict.id,
        "section": conflict.section,
        "number": conflict.number,
        "facts": dict(conflict.facts),
    }

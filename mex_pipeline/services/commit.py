"""The one transaction of an extraction: memories, history, sources, cursor, seen messages, job state (product C2, C3)."""

from dataclasses import asdict, replace
from typing import Any

from mex_pipeline import faults
from mex_pipeline.adapters import registry
from mex_pipeline.app import AsyncApp
from mex_pipeline.clock import iso, millis
from mex_pipeline.domain.candidate import Candidate, Discarded
from mex_pipeline.domain.changes import Add, ChangeSet, Retire, Revise
from mex_pipeline.domain.ids import new_id
from mex_pipeline.domain.job import MAX_ATTEMPTS, Ending, Job, JobState, Outcome, Trigger
from mex_pipeline.domain.memory import Confidence, Memory
from mex_pipeline.domain.proposal import proposed
from mex_pipeline.domain.reconcile import Snapshot, reconcile
from mex_pipeline.domain.refusal import Refusal, RefusalKind, silenced, split_refused
from mex_pipeline.domain.text import normalised
from mex_pipeline.errors import LeaseLost, SourceGone, SourceUnreadable
from mex_pipeline.redaction.redact import kinds
from mex_pipeline.services.judging import Thought
from mex_pipeline.services.reading import Reading
from mex_pipeline.services.rereading import still_new
from mex_pipeline.services.results import discarded_plain, memory_plain
from mex_pipeline.services.transcripts import look
from mex_pipeline.services.turns import to_keep
from mex_pipeline.store import changes, cursors, jobs, memories, proposals, refusals, replaced, sources, usage
from mex_pipeline.store.async_database import AsyncDatabase
from mex_pipeline.store.sql import Statement

PREVIEW = "preview"
"""Why a job that shows what an extraction would change is skipped."""

LIVELY_MS = int(1000 * faults.seconds("MEX_TEST_LIVELY", 600.0))
"""How long a session that is being written to is left alone between two extractions nobody asked for."""


async def commit(app: AsyncApp, job: Job, reading: Reading, thought: Thought, *, withheld: int = 0) -> None:
    """Write everything an extraction found, move its cursor and end its job, or nothing at all.

    Slots and seen messages are read again inside the lock, so that a decision made on a stale value is made anew. A
    preview ends with its result alone: what was paid for stays kept for the extraction that may follow (product P4).
    Raises LeaseLost when the job belongs to a later claim or was cancelled.
    """
    moment = app.clock.now()
    now, at = iso(moment), millis(moment)
    async with app.db.transaction() as tx:
        decided, discarded = await _decide(app, tx, reading, thought, now)
        faults.point("commit_begun")
        if not reading.is_preview:
            await tx.run(*changes.statements(decided, now=now, job_id=job.id))
            asked = proposed(decided.merges, decided.holds, now=now, new_id=new_id, job_id=job.id)
            await tx.run(*(proposals.insert(one) for one in asked))
            await tx.run(*await to_keep(tx, reading, app.settings.keep.turns, job_id=job.id, now=now))
            faults.point("memories_written")
            await tx.run(*_progress_of_source(app, job, reading, now, at))
        spent = await tx.first(usage.of_job(job.id)) or {}
        result = _result(app, reading, decided, discarded, spent | {"reused": thought.reused}, withheld)
        result |= {"skipped_turns": [asdict(one) for one in thought.skipped]}
        outcome, reason = _outcome(reading, decided, discarded)
        ending = Ending(JobState.SUCCEEDED, reason, outcome, result=result)
        if await tx.run(jobs.leave(job, ending, None, at)) != 1:
            raise LeaseLost(id=job.id)
        told = PREVIEW if reason == PREVIEW else outcome
        await tx.run(jobs.wake_followers(job.lock_key), jobs.event(job.id, at, "succeeded", job.fence, told))
        follow_up = _follow_up(app, job, reading, at)
        # One that waits already reads all of it, and no later than it was asked to.
        if follow_up is not None and await tx.first(jobs.waiting_sibling(job)) is None:
            await tx.first(jobs.insert_or_merge(follow_up))
            await tx.run(jobs.event(follow_up.id, at, "queued"))
    faults.point("committed")


async def _decide(
    app: AsyncApp, tx: AsyncDatabase, reading: Reading, thought: Thought, now: str
) -> tuple[ChangeSet, tuple[Discarded, ...]]:
    """Reconcile with what the store holds now; returns the changes, and every candidate that makes none."""
    thought = await _still_tellable(tx, reading, thought)
    if reading.is_again:
        candidates, late = await still_new(tx, reading, thought.candidates, app.schema, now)
    else:
        candidates, late = await _not_taken(tx, reading, thought.candidates, app.extractor.kind)
    known = tuple(await tx.all(refusals.of_kinds(*RefusalKind)))
    candidates, never = split_refused(candidates, known)
    snapshot = await _snapshot(app, tx, reading, candidates, known, now)
    decided = reconcile(candidates, snapshot, app.schema, now=now, new_id=new_id)
    return decided, (*silenced((*thought.discarded, *late), known), *never, *decided.discarded)


async def _still_tellable(tx: AsyncDatabase, reading: Reading, thought: Thought) -> Thought:
    """Leave out, without a word, what rests on a message that was read before something it said was forgotten for good."""
    keys = [turn.key for turn in reading.transcript.turns]
    gone = set(await tx.all(cursors.purged(reading.transcript.agent, keys))) - reading.gone
    if not gone:
        return thought
    kept = [one for one in thought.candidates if one.source and one.source.message_key not in (None, *gone)]
    silent = [Discarded("", one.reason) for one in thought.discarded]
    return replace(thought, candidates=tuple(kept), discarded=tuple(silent))


async def _not_taken(
    tx: AsyncDatabase, reading: Reading, candidates: tuple[Candidate, ...], kind: str
) -> tuple[list[Candidate], list[Discarded]]:
    """Drop candidates whose message another job has taken meanwhile (product H3)."""
    if not reading.moves_cursor:
        return list(candidates), []
    keys = {one.source.message_key for one in candidates if one.source and one.source.message_key}
    taken = set(await tx.all(cursors.seen(reading.transcript.agent, keys, kind)))
    kept = [one for one in candidates if not (one.source and one.source.message_key in taken)]
    return kept, [Discarded(one.content, "already_extracted") for one in candidates if one not in kept]


async def _snapshot(
    app: AsyncApp,
    tx: AsyncDatabase,
    reading: Reading,
    candidates: list[Candidate],
    known: tuple[Refusal, ...],
    now: str,
) -> Snapshot:
    slots = {one.slot for one in candidates if one.slot is not None}
    many = {slot for slot in slots if (found := app.schema.find(*slot)) and not found.unique}
    told: list[tuple[str, str]] = []
    if reading.key is not None or reading.is_again:
        keys = {one.source.message_key for one in candidates if one.source and one.source.message_key}
        told = await tx.all(sources.yielded(reading.transcript.agent, keys))
    return Snapshot(
        active=tuple(await tx.all(memories.in_slots(slots, now))),
        retired=(*await tx.all(memories.retired_in_slots(slots)), *await tx.all(replaced.in_slots(many))),
        told=frozenset((key, normalised(content)) for key, content in told),
        refusals=known,
    )


def _progress_of_source(app: AsyncApp, job: Job, reading: Reading, now: str, at: int) -> list[Statement]:
    """The cursor, the seen messages, and the end of the replies that were kept for this job."""
    drop = usage.drop_replies if reading.is_again else usage.drop_unpreviewed_replies
    done = [drop(job.lock_key)] if job.lock_key else []
    transcript, kind = reading.transcript, app.extractor.kind
    marks = [cursors.mark_seen(transcript.agent, turn.key, kind, job.id, at) for turn in reading.new]
    if not reading.moves_cursor:
        return [*marks, *done] if reading.is_again else done
    advance = cursors.advance(
        str(reading.key),
        kind,
        transcript.cursor,
        looked_size=reading.looked_size,
        agent=transcript.agent,
        session_id=transcript.session_id,
        project=transcript.project,
        now=now,
    )
    return [advance, *marks, *done]


def _follow_up(app: AsyncApp, job: Job, reading: Reading, at: int) -> Job | None:
    """A job for what this one did not read: written meanwhile, or held back (product H6); None when there is nothing.

    What was written meanwhile is read at once, what is held when the file will have been quiet. A follow-up that has to
    follow itself meets a session that lives: it waits ten minutes, so that no session is extracted every minute (H15).
    """
    if reading.key is None or reading.looked_size is None or not reading.moves_cursor:
        return None
    try:
        now_is = look(reading.key, registry.find(job.payload["adapter"]))
    except (SourceGone, SourceUnreadable):
        return None  # it vanished, but what it held has been read: nothing follows
    has_grown = now_is.size != reading.looked_size
    if not has_grown and not reading.leaves_turns:
        return None
    quiet_at = now_is.changed_at + 1000 * app.settings.extraction.quiet_seconds
    longest = max(LIVELY_MS, 1000 * app.settings.extraction.quiet_seconds)
    available_at = at if has_grown else min(max(at, quiet_at), at + longest)
    if job.trigger is Trigger.FOLLOW_UP:
        available_at = max(available_at, at + LIVELY_MS)
    return Job(
        id=new_id(),
        kind=job.kind,
        payload=job.payload,
        state=JobState.QUEUED,
        trigger=Trigger.FOLLOW_UP,
        available_at=available_at,
        created_at=at,
        max_attempts=MAX_ATTEMPTS,
        priority=0,
        dedup_key=job.dedup_key,
        lock_key=job.lock_key,
    )


def _outcome(reading: Reading, decided: ChangeSet, discarded: tuple[Discarded, ...]) -> tuple[Outcome, str | None]:
    if not reading.chunks:
        return Outcome.SKIPPED, "no_user_turn" if reading.new else _why_nothing(reading)
    if reading.is_preview:
        return Outcome.SKIPPED, PREVIEW
    if decided.writes_memories:
        return Outcome.COMMITTED, None
    if any(one.reason not in ("already_extracted", "duplicate_in_reply") for one in discarded):
        return Outcome.ALL_REJECTED, None
    return Outcome.NOTHING_TO_REMEMBER, None


def _why_nothing(reading: Reading) -> str:
    if "subagent" in reading.transcript.dropped:
        return "subagent"
    return "nothing_new" if reading.transcript.turns or reading.since.off else "no_turns"


def _result(
    app: AsyncApp,
    reading: Reading,
    decided: ChangeSet,
    discarded: tuple[Discarded, ...],
    spent: dict[str, Any],
    withheld: int,
) -> dict[str, Any]:
    """Return the result object of product H9."""
    final = {change.after.id: change.after for change in decided.changes}
    added = [change.after.id for change in decided.changes if isinstance(change, Add) and not change.after.forgotten_at]
    first = {change.before.id: change.before for change in reversed(decided.changes) if isinstance(change, Revise)}
    updated = [(before, final[key]) for key, before in first.items() if key not in added]
    retired = [
        change.after for change in decided.changes if isinstance(change, Retire) and change.after.id not in added
    ]
    written = [final[key] for key in added] + [after for _, after in updated]
    roles = [turn.role for turn in reading.new]
    return {
        "extractor": app.extractor.kind,
        "added": [_shown(final[key], reading) for key in added],
        "updated": [{"before": memory_plain(old), "after": _shown(new, reading)} for old, new in updated],
        "retired": [memory_plain(memory) for memory in retired],
        "discarded": [discarded_plain(one) for one in discarded],
        "inferred_count": sum(is_for_review(memory) for memory in written),
        "proposed": len(decided.merges) + len(decided.holds),
        "usage": {"model": app.extractor.name} | spent,
        "cursor": {"from": reading.since.off, "to": reading.transcript.cursor.off},
        "turns": {
            "user": roles.count("user"),
            "assistant": roles.count("assistant"),
            "dropped": dict(sorted(reading.transcript.dropped.items())),
        },
        "redacted": kinds(turn.text for turn in reading.new),
        "known_withheld": withheld,
    }


def _shown(memory: Memory, reading: Reading) -> dict[str, Any]:
    """A memory as the result tells it. What a preview only shows has no id: there is no such memory.

    With one, a purge of the words would take it for another memory and leave it alone (product B6).
    """
    plain = memory_plain(memory)
    return {name: one for name, one in plain.items() if name != "id"} if reading.is_preview else plain


def is_for_review(memory: Memory) -> bool:
    """True for an inference that no person has confirmed (seed 004 §6.3)."""
    return memory.is_ai_inferred and memory.confidence is not Confidence.CONFIRMED

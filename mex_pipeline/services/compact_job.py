"""The work of a job that condenses old records: read → ask → judge → one transaction (product B8, C1, C2)."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mex_pipeline import faults
from mex_pipeline.app import AsyncApp
from mex_pipeline.clock import iso, millis
from mex_pipeline.domain.candidate import Discarded
from mex_pipeline.domain.compact import Group, Summary, condensed, judge, retired
from mex_pipeline.domain.ids import new_id
from mex_pipeline.domain.job import Ending, Job, JobState, Outcome
from mex_pipeline.domain.memory import Actor, Event, Memory, Source
from mex_pipeline.domain.refusal import RefusalKind, met, place, silenced
from mex_pipeline.domain.review import awaits_review
from mex_pipeline.errors import InvalidInput, LeaseLost, LLMBadReply, LLMRejected
from mex_pipeline.redaction.redact import kinds, redacted
from mex_pipeline.services import async_endings
from mex_pipeline.services.compact import grouped
from mex_pipeline.services.compactor import NOT_TAKEN
from mex_pipeline.services.extractor import Task
from mex_pipeline.services.heartbeat import Runs
from mex_pipeline.services.jobs import COMPACT
from mex_pipeline.services.results import discarded_plain, memory_plain
from mex_pipeline.services.spending import require_tokens
from mex_pipeline.store import changes, history, jobs, memories, refusals, sources, usage
from mex_pipeline.store import compact as rows
from mex_pipeline.store.async_database import AsyncDatabase
from mex_pipeline.store.sql import Statement


@dataclass(frozen=True, slots=True)
class _Condensed:
    """What was proposed and judged; `reused` counts the kept replies, `refusal` is why the first group was not taken."""

    summaries: tuple[Summary, ...] = ()
    discarded: tuple[Discarded, ...] = ()
    answered: int = 0
    reused: int = 0
    refusal: LLMRejected | LLMBadReply | None = None


async def compact(app: AsyncApp, job: Job, runs: Runs) -> None:
    """Condense the records of a job and end it.

    Raises InvalidInput("compact_needs_model") when the model was taken away meanwhile, the LLM errors, OverBudget, and
    LeaseLost when the job belongs to a later claim or was cancelled.
    """
    if app.compactor is None:
        raise InvalidInput("compact_needs_model")
    now = iso(app.clock.now())
    purges = await app.db.first(history.last_purge()) or 0
    found = await app.db.all(rows.records(now))
    groups = await asyncio.to_thread(grouped, found, job.payload, app.settings, now)
    faults.point("read")
    runs.progressed(job)
    require_tokens(app, job, sum(map(app.compactor.input_tokens, groups)))
    heard = _Condensed()
    for done, group in enumerate(groups):
        await _tell(app, job, done, len(groups))
        heard = await _ask(app, job, runs, group, heard, purges)
        runs.progressed(job)
    if heard.refusal is not None and not heard.answered:
        raise heard.refusal
    faults.point("asked")
    await async_endings.patiently(lambda: _commit(app, job, groups, heard))


async def _tell(app: AsyncApp, job: Job, done: int, total: int) -> None:
    async with app.db.transaction() as tx:
        if await tx.run(jobs.progress(job, done, total, "asking")) != 1:
            raise LeaseLost(id=job.id)  # no further call for a job that was taken over, or cleared away


async def _ask(app: AsyncApp, job: Job, runs: Runs, group: Group, heard: _Condensed, purges: int) -> _Condensed:
    """Ask for the summaries of one more group and judge them; one that the model does not take stays as it is."""
    assert app.compactor is not None
    task = Task(job_id=job.id, source_file=job.lock_key or job.id, purpose=COMPACT, today="", purges=purges)
    try:
        proposed, is_kept = await app.compactor.condense(
            group, task, lambda: app.calls.place(lambda: runs.progressed(job))
        )
    except (LLMRejected, LLMBadReply) as error:
        if error.code not in NOT_TAKEN:
            raise
        left = Discarded("", "summary_not_taken", {"topic": group.topic or "—", "period": group.period})
        return replace(heard, discarded=(*heard.discarded, left), refusal=heard.refusal or error)
    accepted, rejected = await asyncio.to_thread(judge, proposed, group, holds_secret=_holds_secret)
    return replace(
        heard,
        summaries=(*heard.summaries, *accepted),
        discarded=(*heard.discarded, *rejected),
        answered=heard.answered + 1,
        reused=heard.reused + int(is_kept),
    )


def _holds_secret(text: str) -> bool:
    return redacted(text) != text or bool(kinds([text]))


async def _commit(app: AsyncApp, job: Job, groups: Sequence[Group], heard: _Condensed) -> None:
    """Write the summaries, forget their originals softly and end the job, or nothing at all.

    Originals are read again inside the lock: what was changed or forgotten meanwhile stays as it is.
    """
    moment = app.clock.now()
    now, at = iso(moment), millis(moment)
    async with app.db.transaction() as tx:
        kept, late = await _still_true(tx, heard.summaries)
        banned = tuple(await tx.all(refusals.of_kinds(RefusalKind.NEVER_AGAIN)))
        told, never = _allowed(kept, banned)
        rejected = await _still_tellable(tx, groups, heard.discarded)
        discarded = (*silenced((*rejected, *late), banned), *never)
        made = [condensed(one, now=now, new_id=new_id()) for one in told]
        language = app.settings.language or app.language
        gone = [
            (one, retired(one, now=now, summary=memory.id, language=language))
            for memory, summary in zip(made, told, strict=True)
            for one in summary.originals
        ]
        origins = await tx.all(sources.of_memories(one.id for one, _ in gone))
        faults.point("commit_begun")
        await tx.run(*_writes(made, gone, _attached(told, made, origins), now, job.id))
        faults.point("memories_written")
        spent = await tx.first(usage.of_job(job.id)) or {}
        result = _result(app, made, [after for _, after in gone], discarded, spent | {"reused": heard.reused}, now)
        outcome, why = _outcome(groups, made, discarded)
        ending = Ending(JobState.SUCCEEDED, why, outcome, result=result)
        if job.lock_key:
            await tx.run(usage.drop_replies(job.lock_key))
        if await tx.run(jobs.leave(job, ending, None, at)) != 1:
            raise LeaseLost(id=job.id)
        await tx.run(jobs.wake_followers(job.lock_key), jobs.event(job.id, at, "succeeded", job.fence, outcome))
    faults.point("committed")


async def _still_true(tx: AsyncDatabase, summaries: Sequence[Summary]) -> tuple[list[Summary], list[Discarded]]:
    """Sort out the summaries of which an original is no longer as the model has read it."""
    ids = [one.id for summary in summaries for one in summary.originals]
    now_are = {one.id: one for one in await tx.all(memories.by_ids(ids))}
    kept = [one for one in summaries if all(now_are.get(original.id) == original for original in one.originals)]
    late = [one for one in summaries if one not in kept]
    # Of what was forgotten for good meanwhile nothing is told.
    told = [one.content if all(original.id in now_are for original in one.originals) else "" for one in late]
    return kept, [Discarded(content, "summary_original_changed") for content in told]


async def _still_tellable(
    tx: AsyncDatabase, groups: Sequence[Group], discarded: Sequence[Discarded]
) -> list[Discarded]:
    """What was rejected, without a word when a record that was sent was forgotten for good meanwhile: it may tell it."""
    sent = [record.id for group in groups for record in group.records]
    is_whole = len(await tx.all(memories.by_ids(sent))) == len(sent)
    return list(discarded) if is_whole else [replace(one, content="") for one in discarded]


def _allowed(summaries: Sequence[Summary], banned: Sequence[Any]) -> tuple[list[Summary], list[Discarded]]:
    """Sort out, without a word, what says something that is never to be known again (product B6)."""
    kept = [one for one in summaries if not met(banned, place(one.originals[0].topic, None), one.content)]
    return kept, [Discarded("", "never_again") for one in summaries if one not in kept]


def _attached(
    summaries: Sequence[Summary], made: Sequence[Memory], origins: Sequence[tuple[str, Source]]
) -> list[tuple[str, Source]]:
    """Every source of the originals as one of their summary, equal ones once (product B3)."""
    summary_of = {
        original.id: memory.id
        for summary, memory in zip(summaries, made, strict=True)
        for original in summary.originals
    }
    return list(dict.fromkeys((summary_of[key], source) for key, source in origins))


def _writes(
    made: Sequence[Memory],
    gone: Sequence[tuple[Memory, Memory]],
    attached: Sequence[tuple[str, Source]],
    now: str,
    job_id: str,
) -> list[Statement]:
    lines = [changes.entry(Event.ADD, None, one, actor=Actor.AI, now=now, job_id=job_id) for one in made]
    lines += [
        changes.entry(Event.FORGET, before, after, actor=Actor.AI, now=now, job_id=job_id) for before, after in gone
    ]
    return [
        *(memories.insert(one) for one in made),
        *(memories.replace_row(after) for _, after in gone),
        *(history.append(line) for line in lines),
        *(sources.insert(key, source, now) for key, source in attached),
    ]


def _outcome(
    groups: Sequence[Group], made: Sequence[Memory], discarded: Sequence[Discarded]
) -> tuple[Outcome, str | None]:
    if made:
        return Outcome.COMMITTED, None
    if discarded:
        return Outcome.ALL_REJECTED, None
    return (Outcome.NOTHING_TO_REMEMBER, None) if groups else (Outcome.SKIPPED, "nothing_old")


def _result(
    app: AsyncApp,
    made: Sequence[Memory],
    gone: Sequence[Memory],
    discarded: Sequence[Discarded],
    spent: dict[str, Any],
    now: str,
) -> dict[str, Any]:
    """The result object of product H9, as far as it applies."""
    assert app.compactor is not None
    return {
        "added": [memory_plain(one) for one in made],
        "updated": [],
        "retired": [memory_plain(one) for one in gone],
        "discarded": [discarded_plain(one) for one in discarded],
        "inferred_count": sum(awaits_review(one, now) for one in made),
        "proposed": 0,
        "usage": {"model": app.compactor.name} | spent,
        "cursor": None,
        "turns": None,
    }

"""The work of the job that makes the vectors of memories, and who queues it (docs/semantic.md, docs/jobs.md)."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

from mex_pipeline import faults
from mex_pipeline.app import AsyncApp
from mex_pipeline.clock import iso, millis
from mex_pipeline.domain.budget import estimate_tokens
from mex_pipeline.domain.job import Ending, Job, JobState, Outcome, Trigger
from mex_pipeline.domain.vector import LONGEST_TEXT, packed
from mex_pipeline.errors import ExternalError, LeaseLost
from mex_pipeline.redaction.redact import redacted
from mex_pipeline.services.async_endings import patiently
from mex_pipeline.services.embedder import model_name
from mex_pipeline.services.heartbeat import Runs
from mex_pipeline.services.jobs import ASYNC_PRIORITY, EMBED, Request, new_job
from mex_pipeline.store import embeddings, history, jobs, usage

AT_ONCE = faults.number("MEX_TEST_AT_ONCE", 32)
"""Memories of one batch: a second of work, one request, one short transaction."""


class _Purged(Exception):
    """Something was forgotten for good since the texts of a batch were read: they are read anew before any is sent."""


async def follow(app: AsyncApp, job: Job) -> None:
    """Queue the vectors of what a job has just written, when semantic search is on.

    What cannot be written now is left: the next search asks for them.
    """
    if not app.settings.semantic.enabled or job.kind == EMBED:
        return
    with suppress(ExternalError):
        now = app.clock.now()
        if await app.db.first(embeddings.missing(model_name(app.settings.semantic), iso(now), 1)) is None:
            return
        made = new_job(Request(EMBED, {}, EMBED), Trigger.FOLLOW_UP, ASYNC_PRIORITY, now=millis(now))
        async with app.db.transaction() as tx:
            if await tx.first(jobs.waiting_sibling(made)) is None:
                await tx.first(jobs.insert_or_merge(made))
                await tx.run(jobs.event(made.id, millis(now), "queued"))


async def embed(app: AsyncApp, job: Job, runs: Runs) -> None:
    """Make the vectors that are missing, batch after batch, and end the job.

    Each batch is kept at once: a run that comes after a crash goes on where this one ended. Raises NotConfigured
    ("semantic_not_installed"), the LLM errors of an endpoint, OverBudget, and LeaseLost when the job belongs to a later
    claim or was cancelled.
    """
    if app.embedder is None:
        await patiently(lambda: _finish(app, job, _result(app, 0), "semantic_off"))
        return
    name, done, spent = model_name(app.settings.semantic), 0, {"calls": 0, "prompt_tokens": 0}
    async with app.db.transaction() as tx:
        await tx.run(embeddings.drop_others(name))
    total = await app.db.first(embeddings.count_missing(name, iso(app.clock.now()))) or 0
    below = embeddings.NEWEST
    purges = await _purges(app)
    while batch := await _missing(app, name, below):
        try:
            tokens = await _batch(app, job, name, batch, partial(_allow, app, job, done, total, purges))
        except _Purged:
            purges = await _purges(app)
            continue
        done, below = done + len(batch), batch[-1][0]
        total = max(total, done)
        spent = {"calls": spent["calls"] + 1, "prompt_tokens": spent["prompt_tokens"] + tokens}
        runs.progressed(job)
        faults.point(f"embedded:{done}")
    await patiently(lambda: _finish(app, job, _result(app, done, **spent), "nothing_to_embed"))


def _result(app: AsyncApp, done: int, calls: int = 0, prompt_tokens: int = 0) -> dict[str, Any]:
    model = model_name(app.settings.semantic)
    cost = {"calls": calls, "prompt_tokens": prompt_tokens, "completion_tokens": 0, "reused": 0}
    return {"embedded": done, "usage": {"model": model} | cost}


async def _missing(app: AsyncApp, name: str, below: int) -> list[tuple[int, str]]:
    """The next memories without a vector; when there are no older ones, those that were added or edited meanwhile."""
    for place in dict.fromkeys((below, embeddings.NEWEST)):
        if found := await app.db.all(embeddings.missing(name, iso(app.clock.now()), AT_ONCE, place)):
            return found
    return []


async def _purges(app: AsyncApp) -> int:
    return await app.db.first(history.last_purge()) or 0


async def _allow(app: AsyncApp, job: Job, done: int, total: int, purges: int) -> None:
    """Let texts be sent; raises LeaseLost for a job that was taken over, cancelled or cleared away, and _Purged."""
    async with app.db.transaction() as tx:
        if await tx.run(jobs.progress(job, done, total, "embedding")) != 1:
            raise LeaseLost(id=job.id)
    if await _purges(app) != purges:
        raise _Purged


async def _batch(
    app: AsyncApp, job: Job, name: str, batch: list[tuple[int, str]], before: Callable[[], Awaitable[None]]
) -> int:
    """Make and keep the vectors of some memories; returns the tokens. One that was edited meanwhile gets its own later.

    What an endpoint takes for them is on the books, as of any other call; raises OverBudget when there is no room for it.
    """
    texts = [content for _, content in batch]
    if app.spending is None:
        return await _made(app, job, name, batch, texts, before)
    if app.settings.privacy.redact_secrets:  # a person may have stored one
        texts = await asyncio.to_thread(lambda: [redacted(text) for text in texts])
    about = sum(estimate_tokens(text[:LONGEST_TEXT]) for text in texts)
    async with app.spending.allowed(job.id, job.lock_key or job.id, about):
        return await _made(app, job, name, batch, texts, before)


async def _made(
    app: AsyncApp,
    job: Job,
    name: str,
    batch: list[tuple[int, str]],
    texts: list[str],
    before: Callable[[], Awaitable[None]],
) -> int:
    assert app.embedder is not None
    vectors, tokens = await app.embedder.passages(texts, before)
    rows = [
        embeddings.write(seq, content, name, packed(vector))
        for (seq, content), vector in zip(batch, vectors, strict=True)
    ]
    cost = usage.record(EMBED, app.settings.semantic.model, tokens, 0, job.id, iso(app.clock.now()))

    async def write() -> None:
        async with app.db.transaction() as tx:
            await tx.run(embeddings.drop_unlike(name, len(vectors[0])), *rows, *([cost] if app.spending else []))

    await patiently(write)
    return tokens


async def _finish(app: AsyncApp, job: Job, result: dict[str, Any], why_nothing: str) -> None:
    at, done = millis(app.clock.now()), result["embedded"]
    outcome, why = (Outcome.COMMITTED, None) if done else (Outcome.SKIPPED, why_nothing)
    async with app.db.transaction() as tx:
        await tx.run(jobs.progress(job, done, done, "embedding"))
        if await tx.run(jobs.leave(job, Ending(JobState.SUCCEEDED, why, outcome, result=result), None, at)) != 1:
            raise LeaseLost(id=job.id)
        await tx.run(jobs.wake_followers(job.lock_key), jobs.event(job.id, at, "succeeded", job.fence, outcome))
    faults.point("committed")

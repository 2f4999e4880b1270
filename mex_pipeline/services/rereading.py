"""The work of a job that reads a session anew: all its turns as new ones, and only what they have not said before (B10)."""

import asyncio
from pathlib import Path
from typing import Any

from mex_pipeline.app import AsyncApp
from mex_pipeline.domain.candidate import Candidate, Discarded
from mex_pipeline.domain.chunks import cut
from mex_pipeline.domain.conversation import Cursor
from mex_pipeline.domain.job import Job
from mex_pipeline.domain.kept import KeptTurn
from mex_pipeline.domain.retold import is_retold
from mex_pipeline.domain.schema import Schema
from mex_pipeline.domain.source_key import SourceKey
from mex_pipeline.services.again import from_kept, from_source, readable
from mex_pipeline.services.reading import RULES_CHUNK_TOKENS, Reading, never_again
from mex_pipeline.services.transcripts import clean
from mex_pipeline.store import cursors, sources, turns
from mex_pipeline.store.async_database import AsyncDatabase


async def read_again(app: AsyncApp, job: Job) -> Reading:
    """Return all turns of the job's session as new ones; raises SourceGone when neither source nor kept turns are there.

    Raises SourceUnreadable and SourceFormat too.
    """
    quiet = app.settings.extraction.quiet_seconds
    read = await asyncio.to_thread(from_source, job.payload, quiet)
    kept: list[KeptTurn] = []
    if read is None:
        kept = await app.db.all(turns.of_session(job.payload["adapter"], job.payload["kept"]))
        read = from_kept(job.payload, kept)
    redact, banned = app.settings.privacy.redact_secrets, await never_again(app)
    found = await asyncio.to_thread(clean, read, redact=redact, banned=banned)
    gone = frozenset(await app.db.all(cursors.purged(found.agent, [turn.key for turn in found.turns])))
    left = readable(found, set() if kept else gone)  # kept turns have lost what was forgotten for good
    limit = app.settings.extraction.chunk_tokens if app.extractor.kind == "model" else RULES_CHUNK_TOKENS
    return Reading(
        found,
        left,
        cut(left, frozenset(turn.key for turn in left), limit),
        Cursor(),
        _origin(job.payload),
        None,
        moves_cursor=False,
        is_again=True,
        is_from_kept=bool(kept),
        gone=gone,
        is_preview=bool(job.payload.get("preview")),
    )


def _origin(payload: dict[str, Any]) -> SourceKey | None:
    """The source as the memories name it; None for given text, which has none."""
    return None if payload["source"] is None else SourceKey(Path(payload["source"]))


async def still_new(
    tx: AsyncDatabase, reading: Reading, candidates: tuple[Candidate, ...], schema: Schema, now: str
) -> tuple[list[Candidate], list[Discarded]]:
    """Drop the candidates whose message has said them before: nothing is doubled, and nothing forgotten comes back."""
    keys = {one.source.message_key for one in candidates if one.source and one.source.message_key}
    session = reading.transcript.session_id
    said = await tx.all(sources.said(reading.transcript.agent, keys, session, now))
    retold = [one for one in candidates if is_retold(one, said, is_unique=_is_unique(schema, one))]
    kept = [one for one in candidates if one not in retold]
    return kept, [Discarded(one.content, "already_extracted") for one in retold]


def _is_unique(schema: Schema, candidate: Candidate) -> bool:
    slot = schema.find(candidate.topic, candidate.sub_topic)
    return slot is not None and slot.unique

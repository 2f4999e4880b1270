"""SQL of archives: the job that reads an export, and the jobs of its conversations, which are its batch (docs/jobs.md)."""

import json
from dataclasses import dataclass
from typing import Any

from mex_pipeline import faults
from mex_pipeline.domain.job import Job
from mex_pipeline.store.jobs import CHILDREN
from mex_pipeline.store.sql import Query, Statement, value

MOST, MOST_BYTES = faults.number("MEX_TEST_CHILDREN", 500), 20_000_000
"""How many conversations of an archive are unfinished at once, and how much text they have; it goes on at the half."""

_WAITING = "state IN ('queued', 'retrying')"
_UNFINISHED = "state IN ('queued', 'retrying', 'running')"
_BATCH = (
    "SELECT id FROM jobs WHERE batch_id = :parent "
    "UNION SELECT job_id FROM job_events WHERE event = 'merged' AND note = :parent"
)
_MEMBERS = (
    f"id IN ({_BATCH} UNION SELECT substr(reason, 8) FROM jobs WHERE id IN ({_BATCH}) AND reason GLOB 'merged:*') "
    "AND coalesce(reason, '') NOT GLOB 'merged:*' AND id <> :parent"
)
"""The conversations of an archive: its own jobs, those it joined, and those that took over the work of one of them."""
_BYTES = "coalesce(sum(length(CAST(given_text AS BLOB))), 0)"


@dataclass(frozen=True, slots=True)
class Standing:
    """An unfinished job of a conversation: of which batch, up to which change (ms) it has it, and about whom."""

    job_id: str
    batch_id: str | None
    off: int
    subject: str


def standing(key: str) -> Query[Standing]:
    """The jobs that wait for a conversation or work on it."""
    columns = "id, batch_id, json_extract(payload, '$.off') AS off, json_extract(payload, '$.subject') AS subject"
    return Query(
        f"SELECT {columns} FROM jobs WHERE dedup_key = :key AND {_WAITING} "
        f"UNION ALL SELECT {columns} FROM jobs WHERE lock_key = :key AND state = 'running'",
        {"key": key},
        lambda row: Standing(row["id"], row["batch_id"], row["off"] or 0, row["subject"]),
    )


def handed_out(job: Job, done: int, result: dict[str, Any]) -> Statement:
    """Note how far the stream of an archive is dealt with; no row for a run that was cancelled or taken over."""
    return Statement(
        "UPDATE jobs SET progress_done = :done, progress_total = NULL, result = :result "
        "WHERE id = :id AND fence = :fence AND state = 'running' AND cancel_requested = 0",
        {"id": job.id, "fence": job.fence, "done": done, "result": json.dumps(result, ensure_ascii=False)},
    )


def load(parent: str) -> Query[tuple[int, int]]:
    """(number, bytes of text) of an archive's own conversations that are unfinished."""
    return Query(
        f"SELECT count(*) AS number, {_BYTES} AS bytes FROM jobs WHERE batch_id = :parent AND {_UNFINISHED}",
        {"parent": parent},
        lambda row: (row["number"], row["bytes"]),
    )


def waits_for_children(parent: str) -> Query[int]:
    """1 when the job is an archive that waits for its conversations."""
    return Query(
        "SELECT 1 AS n FROM jobs WHERE id = :parent AND state = 'queued' AND reason = :reason",
        {"parent": parent, "reason": CHILDREN},
        value("n"),
    )


def wake(parent: str, now: int) -> Statement:
    """Let an archive that waits for its conversations go on at once when at most half of what may be is unfinished."""
    return Statement(
        "UPDATE jobs SET available_at = min(available_at, :now), published_at = NULL, reason = NULL "
        "WHERE id = :parent AND state = 'queued' AND reason = :reason AND EXISTS (SELECT 1 FROM "
        f"(SELECT count(*) AS number, {_BYTES} AS bytes FROM jobs WHERE batch_id = :parent AND {_UNFINISHED}) "
        "WHERE number <= :number AND bytes <= :size)",
        {"parent": parent, "number": MOST // 2, "size": MOST_BYTES // 2, "now": now, "reason": CHILDREN},
    )


def unfinished(parent: str) -> Query[str]:
    """Ids of the conversations of an archive that have not ended, in the order of the export."""
    return Query(
        f"SELECT id FROM jobs WHERE {_MEMBERS} AND {_UNFINISHED} ORDER BY seq", {"parent": parent}, value("id")
    )


def unfinished_states(parent: str) -> Query[tuple[str, str | None]]:
    """The (state, reason) that the unfinished conversations of an archive have, each once."""
    return Query(
        f"SELECT DISTINCT state, reason FROM jobs WHERE {_MEMBERS} AND {_UNFINISHED}",
        {"parent": parent},
        lambda row: (row["state"], row["reason"]),
    )


def children(parent: str) -> Query[dict[str, Any]]:
    """Per state and outcome: how many conversations of an archive, how much they wrote, and kept replies used."""
    written = ", ".join(
        f"coalesce(sum(json_array_length(result, '$.{name}')), 0) AS {name}"
        for name in ("added", "updated", "retired", "discarded")
    )
    return Query(
        f"SELECT state, outcome, count(*) AS jobs, {written}, "
        "coalesce(sum(json_extract(result, '$.usage.reused')), 0) AS reused "
        f"FROM jobs WHERE {_MEMBERS} GROUP BY state, outcome ORDER BY state, outcome",
        {"parent": parent},
        dict,
    )


def spent(parent: str) -> Query[dict[str, int]]:
    """Calls and tokens of all conversations of an archive."""
    return Query(
        "SELECT count(*) AS calls, coalesce(sum(prompt_tokens), 0) AS prompt_tokens, "
        "coalesce(sum(completion_tokens), 0) AS completion_tokens FROM llm_usage "
        f"WHERE job_id IN (SELECT id FROM jobs WHERE {_MEMBERS})",
        {"parent": parent},
        dict,
    )

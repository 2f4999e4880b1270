"""SQL of what must hold of jobs and of what they wrote, asked of the rows themselves and not of the rules that guard them.

Each query gives the rows that break one invariant of docs/jobs.md; a sound home gives none.
"""

from dataclasses import dataclass, field
from typing import Any

from mex_pipeline.store.sql import Query, Row

FINAL = "('succeeded', 'failed', 'cancelled')"
WAITING = "state IN ('queued', 'retrying')"
PRUNED = "pruned"
"""The event of a job whose row was deleted by age, as its last: what the row said is then in its note."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A row that breaks an invariant (`I1` … `I9`): `code` names what is broken, `subject` is the job or the source."""

    invariant: str
    code: str
    subject: str
    facts: dict[str, Any] = field(default_factory=dict)


def _of(invariant: str, code: str, sql: str) -> Query[Violation]:
    """A query whose column `subject` names the job or the source; its other columns are the facts."""

    def decode(row: Row) -> Violation:
        facts = {name: row[name] for name in row.keys() if name != "subject"}  # noqa: SIM118 - a Row is no mapping
        return Violation(invariant, code, str(row["subject"]), facts)

    return Query(sql, {}, decode)


def vanished() -> Query[Violation]:
    """I1: jobs that were accepted, have not ended, and have no row. A pruned one says so in its last event."""
    return _of(
        "I1",
        "jobs_vanished",
        "SELECT e.job_id AS subject, e.event AS last_event FROM job_events e "
        "WHERE e.seq = (SELECT max(seq) FROM job_events l WHERE l.job_id = e.job_id) "
        f"AND e.event NOT IN {FINAL} AND e.event <> '{PRUNED}' "
        "AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = e.job_id)",
    )


def two_run() -> Query[Violation]:
    """I2: sources that more than one job works on."""
    return _of(
        "I2",
        "jobs_two_run",
        "SELECT lock_key AS subject, count(*) AS jobs FROM jobs NOT INDEXED "
        "WHERE state = 'running' AND lock_key IS NOT NULL GROUP BY lock_key HAVING count(*) > 1",
    )


def two_wait() -> Query[Violation]:
    """I3: sources that more than one job waits for."""
    return _of(
        "I3",
        "jobs_two_wait",
        "SELECT dedup_key AS subject, count(*) AS jobs FROM jobs NOT INDEXED "
        f"WHERE {WAITING} AND dedup_key IS NOT NULL GROUP BY dedup_key HAVING count(*) > 1",
    )


def rules_missing() -> Query[Violation]:
    """I2, I3: the unique indexes that are not there, or are not unique."""
    return _of(
        "I2",
        "jobs_rule_missing",
        "SELECT column1 AS subject, 'index' AS missing FROM (VALUES ('jobs_one_running'), ('jobs_one_waiting')) "
        "WHERE NOT EXISTS (SELECT 1 FROM sqlite_master m WHERE m.type = 'index' AND m.name = column1 "
        "AND m.sql LIKE 'CREATE UNIQUE INDEX%')",
    )


def odd() -> Query[Violation]:
    """I4: rows in a state that cannot be."""
    return _of(
        "I4",
        "jobs_odd",
        "SELECT id AS subject, state, lease_owner, finished_at FROM jobs WHERE "
        f"(state = 'running') <> (lease_owner IS NOT NULL) OR (state IN {FINAL}) <> (finished_at IS NOT NULL) "
        f"OR NOT (state = 'running' OR {WAITING} OR state IN {FINAL}) "
        "OR (state = 'succeeded') <> coalesce(outcome IN "
        "('committed', 'nothing_to_remember', 'all_rejected', 'skipped'), 0) OR attempt < 0",
    )


def written_without_success() -> Query[Violation]:
    """I5: jobs that history, sources, kept turns or message keys name, and that have not succeeded.

    A job that is listed no more must have succeeded by its events. One without any event is of another home (an import
    brings history with it) or was pruned long ago: there is nothing to hold against it.
    """
    return _of(
        "I5",
        "jobs_wrote_unended",
        "WITH named AS (SELECT job_id FROM history WHERE job_id IS NOT NULL "
        "UNION SELECT job_id FROM memory_sources WHERE job_id IS NOT NULL "
        "UNION SELECT job_id FROM turns WHERE job_id IS NOT NULL UNION SELECT job_id FROM seen_messages), "
        "told AS (SELECT n.job_id, j.state, j.fence, "
        "(SELECT count(*) FROM job_events e WHERE e.job_id = n.job_id) AS events, "
        "(SELECT count(*) FROM job_events e WHERE e.job_id = n.job_id AND e.event = 'succeeded') AS successes, "
        "(SELECT max(e.fence) FROM job_events e WHERE e.job_id = n.job_id AND e.event = 'succeeded') AS success_fence "
        "FROM named n LEFT JOIN jobs j ON j.id = n.job_id) "
        "SELECT job_id AS subject, state, fence, successes, success_fence FROM told "
        "WHERE (state IS NOT NULL AND (state <> 'succeeded' OR successes <> 1 OR success_fence IS NOT fence)) "
        "OR (state IS NULL AND events > 0 AND successes <> 1)",
    )


_MOVED = "CAST(strftime('%s', s.last_extracted_at) AS INTEGER)"


def moved_without_success() -> Query[Violation]:
    """I6: sources whose cursor moved while a job had them that has not succeeded, at a moment when no job succeeded."""
    return _of(
        "I6",
        "jobs_read_unended",
        "SELECT s.source_file AS subject, s.extractor, j.id AS job_id, j.state FROM extraction_state s "
        "JOIN jobs j ON j.lock_key = s.source_file AND j.kind = 'extract' AND j.state <> 'succeeded' "
        "AND j.started_at IS NOT NULL "
        f"AND {_MOVED} BETWEEN j.started_at / 1000 AND coalesce(j.finished_at / 1000, 1e15) "
        "WHERE NOT EXISTS (SELECT 1 FROM job_events e LEFT JOIN jobs o ON o.id = e.job_id "
        f"WHERE e.event = 'succeeded' AND e.at / 1000 = {_MOVED} "
        "AND (o.id IS NULL OR o.lock_key = s.source_file))",
    )


def claimed_twice() -> Query[Violation]:
    """I7: jobs whose claims do not carry growing numbers, or whose row has a smaller one than a claim."""
    return _of(
        "I7",
        "jobs_taken_twice",
        "SELECT DISTINCT c.job_id AS subject, c.fence, c.before, j.fence AS now FROM "
        "(SELECT job_id, fence, lag(fence) OVER (PARTITION BY job_id ORDER BY seq) AS before FROM job_events "
        "WHERE event = 'claimed') c LEFT JOIN jobs j ON j.id = c.job_id "
        "WHERE c.fence <= c.before OR c.fence > j.fence",
    )


def leftovers() -> Query[Violation]:
    """I9: kept answers that no job will use again, and words of jobs that have ended well."""
    return _of(
        "I9",
        "jobs_leftovers",
        "SELECT source_file AS subject, 'replies' AS what, count(*) AS number FROM kept_replies "
        f"WHERE {ORPHANED} GROUP BY source_file "
        "UNION ALL SELECT id, 'text', 1 FROM jobs WHERE given_text IS NOT NULL AND state IN ('succeeded', 'cancelled')",
    )


ORPHANED = (
    "NOT EXISTS (SELECT 1 FROM jobs j WHERE (j.id = kept_replies.job_id OR j.lock_key = kept_replies.source_file) "
    "AND (j.state NOT IN ('succeeded', 'cancelled') OR j.reason = 'preview'))"
)
"""Of a kept reply: no job of its source is unfinished, failed, or a preview that an extraction may follow."""


def of_rows() -> tuple[Query[Violation], ...]:
    """Every invariant that the rows alone can tell; whether due jobs are published (I8) needs a worker beside them."""
    return (
        vanished(), two_run(), two_wait(), rules_missing(), odd(), written_without_success(), moved_without_success(),
        claimed_twice(), leftovers(),
    )  # fmt: skip

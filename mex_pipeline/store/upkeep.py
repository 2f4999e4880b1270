"""SQL of upkeep: which known sources to look at again, and which finished work is old enough to go (docs/jobs.md)."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from mex_pipeline.store.invariants import FINAL, ORPHANED, PRUNED
from mex_pipeline.store.sql import Query, Row, Statement, value

BATCH = 500
"""Rows that one transaction deletes at most: nobody waits long for the write lock."""
MARK = "upkeep"

CONVERSATION = "coalesce(s.source_file = s.agent || '#' || s.session_id, 0)"
"""A conversation of an export grows in the next export only: it is no place to look at."""
_UNFINISHED = f"EXISTS (SELECT 1 FROM jobs u WHERE u.lock_key = s.source_file AND u.state NOT IN {FINAL})"
_NEWEST = (
    "(SELECT seq FROM jobs n WHERE n.lock_key = s.source_file AND n.kind = 'extract' AND n.finished_at IS NOT NULL "
    "AND coalesce(n.reason, '') NOT LIKE 'merged:%' ORDER BY n.finished_at DESC, n.seq DESC LIMIT 1)"
)


@dataclass(frozen=True, slots=True)
class Known:
    """A source that was extracted before, and the newest of its jobs that have ended.

    `looked_size` and `ended_size` are bytes: how long it was when it was read, and when that job read it. None is unknown.
    `ended_at` is in milliseconds. `subject` is whom its last job took it to be about.
    """

    source: str
    adapter: str
    looked_size: int | None
    ended_state: str | None
    ended_size: int | None
    ended_at: int | None
    subject: str | None

    def wants_a_look(self, size: int, changed_at: int) -> bool:
        """True when the source, `size` bytes long and changed at `changed_at` (ms), has not been looked at so.

        What a job failed on, or a person cancelled, is left alone until it changes: else it would run for ever.
        """
        if size == self.looked_size:
            return False
        if self.ended_state not in ("failed", "cancelled"):
            return True
        if self.ended_size is None:
            return changed_at > (self.ended_at or 0)
        return size != self.ended_size


def idle_sources(extractor: str, sources: Iterable[str] | None = None) -> Query[Known]:
    """The known sources, or those of the given ones, that no unfinished job has."""
    return Query(
        "SELECT s.source_file, s.agent, s.looked_size, e.state, e.end_size, e.finished_at, "
        "(SELECT json_extract(p.payload, '$.subject') FROM jobs p WHERE p.lock_key = s.source_file "
        "AND p.kind = 'extract' ORDER BY p.seq DESC LIMIT 1) AS subject "
        f"FROM extraction_state s LEFT JOIN jobs e ON e.seq = {_NEWEST} "
        f"WHERE s.extractor = :extractor AND NOT {CONVERSATION} AND NOT {_UNFINISHED} "
        "AND (:sources IS NULL OR s.source_file IN (SELECT value FROM json_each(:sources))) ORDER BY s.source_file",
        {"extractor": extractor, "sources": None if sources is None else json.dumps(list(sources))},
        _known,
    )


def _known(row: Row) -> Known:
    return Known(
        source=row["source_file"],
        adapter=row["agent"],
        looked_size=row["looked_size"],
        ended_state=row["state"],
        ended_size=row["end_size"],
        ended_at=row["finished_at"],
        subject=row["subject"],
    )


def nth_newest(number: int) -> Query[int]:
    """When the `number`-th newest of the jobs that succeeded or were cancelled ended."""
    return Query(
        "SELECT finished_at FROM jobs WHERE state IN ('succeeded', 'cancelled') ORDER BY finished_at DESC "
        "LIMIT 1 OFFSET :number - 1",
        {"number": number},
        value("finished_at"),
    )


def old_jobs(states: Iterable[str], before: int, limit: int = BATCH) -> Query[str]:
    """Ids of the jobs in these final states that ended before a moment, oldest first.

    The last job of a source that is not about the user stays: only it says so when the source has grown.
    """
    return Query(
        "SELECT id FROM jobs WHERE state IN (SELECT value FROM json_each(:states)) AND finished_at < :before "
        f"AND state IN {FINAL} AND NOT (kind = 'extract' AND lock_key IS NOT NULL AND given_text IS NULL "
        "AND json_extract(payload, '$.subject') <> 'user' AND json_extract(payload, '$.path') IS NOT NULL "
        "AND NOT EXISTS (SELECT 1 FROM jobs n WHERE n.lock_key = jobs.lock_key AND n.kind = 'extract' AND n.seq > jobs.seq)) "
        "ORDER BY finished_at, seq LIMIT :limit",
        {"states": json.dumps(list(states)), "before": before, "limit": limit},
        value("id"),
    )


def delete_jobs(ids: Iterable[str], now: int) -> list[Statement]:
    """Delete ended jobs, leave the line that says so, and drop the kept answers that only they could have used."""
    given = {"ids": json.dumps(list(ids)), "now": now}
    named = f"id IN (SELECT value FROM json_each(:ids)) AND state IN {FINAL}"
    return [
        Statement(
            "INSERT INTO job_events (job_id, at, event, fence, note) "
            f"SELECT id, :now, '{PRUNED}', fence, state FROM jobs WHERE {named}",
            given,
        ),
        Statement(f"DELETE FROM jobs WHERE {named}", given),
        drop_orphaned_replies(),
    ]


_OLD_EVENTS = (
    # All of a job that was pruned before the moment; of one that is listed what lies between its first and last line.
    "SELECT seq FROM job_events e WHERE e.at < :before AND CASE "
    "WHEN EXISTS (SELECT 1 FROM jobs j WHERE j.id = e.job_id) THEN e.event <> 'succeeded' "
    "AND EXISTS (SELECT 1 FROM job_events o WHERE o.job_id = e.job_id AND o.seq < e.seq) "
    "AND EXISTS (SELECT 1 FROM job_events o WHERE o.job_id = e.job_id AND o.seq > e.seq) "
    f"ELSE EXISTS (SELECT 1 FROM job_events o WHERE o.job_id = e.job_id AND o.event = '{PRUNED}' AND o.at < :before) END"
)


def count_old_events(before: int) -> Query[int]:
    """How many lines of jobs' stories are old enough to go."""
    return Query(f"SELECT count(*) AS n FROM ({_OLD_EVENTS})", {"before": before}, value("n"))


def delete_old_events(before: int) -> Statement:
    """Delete some lines that happened before a moment; a job's first, its last and its success stay while it is listed."""
    return Statement(
        f"DELETE FROM job_events WHERE seq IN ({_OLD_EVENTS} LIMIT {BATCH})",
        {"before": before},
    )


_OLD_REPLIES = (
    f"kept_at < :before AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.state NOT IN {FINAL} "
    "AND (j.id = kept_replies.job_id OR j.lock_key = kept_replies.source_file))"
)


def count_old_replies(before: int) -> Query[int]:
    """How many kept answers nobody has come back for since a moment."""
    return Query(f"SELECT count(*) AS n FROM kept_replies WHERE {_OLD_REPLIES}", {"before": before}, value("n"))


def drop_old_replies(before: int) -> Statement:
    """Drop the answers that were kept before a moment and whose job nobody has retried."""
    return Statement(f"DELETE FROM kept_replies WHERE {_OLD_REPLIES}", {"before": before})


def drop_orphaned_replies() -> Statement:
    """Drop the kept answers that no job will use again."""
    return Statement(f"DELETE FROM kept_replies WHERE {ORPHANED}")


def drop_parks() -> Statement:
    """Forget what has held single jobs that are over, or no longer listed."""
    return Statement(
        "DELETE FROM queue_control WHERE scope GLOB 'llm:*:*' AND NOT EXISTS "
        f"(SELECT 1 FROM jobs j WHERE j.id = substr(scope, -36) AND j.state NOT IN {FINAL})"
    )


def forget_ended_texts() -> Statement:
    """Forget given words whose job has ended well or was cancelled."""
    return Statement(
        "UPDATE jobs SET given_text = NULL WHERE given_text IS NOT NULL AND state IN ('succeeded', 'cancelled')"
    )


def mark() -> Query[int]:
    """Up to which moment (ms) upkeep has come."""
    return Query("SELECT at FROM queue_control WHERE scope = :scope", {"scope": MARK}, value("at"))


def set_mark(at: int) -> Statement:
    """Note up to which moment upkeep has come; the row pauses nothing."""
    return Statement(
        "INSERT INTO queue_control (scope, paused_until, at) VALUES (:scope, 0, :at) "
        "ON CONFLICT (scope) DO UPDATE SET at = :at",
        {"scope": MARK, "at": at},
    )

"""SQL of `mex jobs verify`: which sources there are, who has judged their turns, and what of it is still there."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from mex_pipeline.domain.conversation import Cursor
from mex_pipeline.store.sql import Query, Row, value
from mex_pipeline.store.upkeep import CONVERSATION

_LISTED = "j.kind = 'extract' AND coalesce(j.reason, '') NOT LIKE 'merged:%'"


@dataclass(frozen=True, slots=True)
class Source:
    """A source that was read to its cursor, or that a job was asked for and none has read (`cursor` is None)."""

    path: str
    adapter: str
    cursor: Cursor | None
    looked_size: int | None

    @property
    def is_conversation(self) -> bool:
        """True for a conversation of an export, whose turns are with its job."""
        return self.path.startswith(f"{self.adapter}#")


@dataclass(frozen=True, slots=True)
class SourceJob:
    """A job of a source: where it stands, and up to which position it reads or has tried to (None: unknown, all)."""

    id: str
    state: str
    end_off: int | None


def sources(extractor: str) -> Query[Source]:
    """Every source that the extractor has read, and those that jobs of it still owe, by path.

    Of the conversations of exports those that are owed: there is nothing the others could be held against.
    """
    return Query(
        "SELECT source_file, agent, cursor, looked_size FROM extraction_state s "
        f"WHERE extractor = :extractor AND NOT {CONVERSATION} "
        "UNION ALL SELECT j.lock_key, json_extract(j.payload, '$.adapter'), NULL, NULL FROM jobs j "
        f"WHERE {_LISTED} AND (json_extract(j.payload, '$.path') IS NOT NULL AND j.state <> 'succeeded' "
        "OR json_extract(j.payload, '$.session') IS NOT NULL AND j.state NOT IN ('succeeded', 'cancelled')) "
        f"AND NOT EXISTS (SELECT 1 FROM jobs n WHERE n.lock_key = j.lock_key AND n.seq > j.seq AND {_newer()}) "
        "AND (json_extract(j.payload, '$.path') IS NULL OR NOT EXISTS (SELECT 1 FROM extraction_state s "
        "WHERE s.source_file = j.lock_key AND s.extractor = :extractor)) "
        "ORDER BY 1",
        {"extractor": extractor},
        _source,
    )


def _newer() -> str:
    return _LISTED.replace("j.", "n.")


def _source(row: Row) -> Source:
    stored = row["cursor"]
    cursor = None if stored is None else Cursor.from_json(stored)
    return Source(row["source_file"], row["agent"], cursor, row["looked_size"])


def conversations(extractor: str) -> Query[int]:
    """How many conversations of exports the extractor has read."""
    return Query(
        f"SELECT count(*) AS number FROM extraction_state s WHERE extractor = :extractor AND {CONVERSATION}",
        {"extractor": extractor},
        value("number"),
    )


def jobs_of(source: str) -> Query[SourceJob]:
    """The jobs of a source that are listed, oldest first."""
    return Query(
        f"SELECT j.id, j.state, j.end_off FROM jobs j WHERE j.lock_key = :source AND {_LISTED} ORDER BY j.seq",
        {"source": source},
        lambda row: SourceJob(row["id"], row["state"], row["end_off"]),
    )


def judged(agent: str, keys: Iterable[str], extractor: str) -> Query[tuple[str, str]]:
    """(key, what became of it) of the messages that were judged: the outcome of the job that did, `skipped_turn` for
    one that it left out and said so, `unlisted` when the job is listed no more.

    What a model has read the rules need not have; what only the rules have read is still owed to a model (product C9).
    """
    return Query(
        "SELECT s.key, CASE WHEN j.id IS NULL THEN 'unlisted' "
        "WHEN EXISTS (SELECT 1 FROM json_each(j.result, '$.skipped_turns') t "
        "WHERE json_extract(t.value, '$.message_key') = s.key) THEN 'skipped_turn' ELSE j.outcome END AS became "
        "FROM seen_messages s LEFT JOIN jobs j ON j.id = s.job_id "
        "WHERE s.agent = :agent AND s.key IN (SELECT value FROM json_each(:keys)) "
        "AND (:extractor = 'rules' OR s.extractor = :extractor) AND (j.id IS NULL OR j.state = 'succeeded')",
        {"agent": agent, "keys": json.dumps(list(keys)), "extractor": extractor},
        lambda row: (row["key"], row["became"]),
    )


def lost(source: str) -> Query[tuple[str, int]]:
    """(job, number) of memories that a job of the source wrote, by its result, and that have left no trace of it.

    A trace is a line of history; of one that was added and is still there, the source it came from as well. What was
    forgotten for good says so in history, and nothing is missing.
    """
    return Query(
        "WITH written AS ("
        "SELECT j.id AS job, json_extract(a.value, '$.id') AS memory, 1 AS is_new FROM jobs j, json_each(j.result, '$.added') a "
        "WHERE j.lock_key = :source AND j.kind = 'extract' AND j.state = 'succeeded' UNION ALL "
        "SELECT j.id, json_extract(u.value, '$.after.id'), 0 FROM jobs j, json_each(j.result, '$.updated') u "
        "WHERE j.lock_key = :source AND j.kind = 'extract' AND j.state = 'succeeded') "
        "SELECT job, count(*) AS number FROM written w WHERE memory IS NOT NULL "
        "AND NOT EXISTS (SELECT 1 FROM history d WHERE d.memory_id = w.memory AND d.event = 'delete') "
        "AND (NOT EXISTS (SELECT 1 FROM history h WHERE h.memory_id = w.memory AND h.job_id = w.job) "
        "OR (is_new AND EXISTS (SELECT 1 FROM memories m WHERE m.id = w.memory) "
        "AND NOT EXISTS (SELECT 1 FROM memory_sources s WHERE s.memory_id = w.memory AND s.job_id = w.job))) GROUP BY job",
        {"source": source},
        lambda row: (row["job"], row["number"]),
    )

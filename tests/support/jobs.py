"""Short builders for job rows."""

from itertools import count
from typing import Any

from mex_pipeline.domain.job import Ending, Job, JobState, Trigger
from mex_pipeline.store import jobs
from tests.support.gateways import Gateway, rows

T0 = 1_786_000_000_000
"""A moment in milliseconds."""

_numbers = count(1)


def job(key: str | None = "/s.jsonl", **changes: Any) -> Job:
    """A queued extraction of the source `key`, due at T0."""
    values: dict[str, Any] = {
        "id": f"{next(_numbers):08x}-0000-4000-8000-00000000000j".replace("j", "1"),
        "kind": "extract",
        "payload": {"adapter": "claude", "path": key},
        "state": JobState.QUEUED,
        "trigger": Trigger.COMMAND,
        "available_at": T0,
        "created_at": T0,
        "max_attempts": 10,
        "dedup_key": key,
        "lock_key": key,
    }
    return Job(**(values | changes))


def submitted(db: Gateway, key: str | None = "/s.jsonl", **changes: Any) -> str:
    """The id of a job that has been inserted, or of the one it was merged into."""
    found = db.first(jobs.insert_or_merge(job(key, **changes)))
    assert found is not None
    return found[0]


def claimed(db: Gateway, job_id: str, now: int = T0, owner: str = "me") -> Job:
    """The job after a claim that must succeed."""
    found = db.first(jobs.claim(job_id, owner, now, "1", heed_pause=True))
    assert found is not None
    return found


def read(db: Gateway, job_id: str) -> Job:
    """The job as it stands."""
    found = db.first(jobs.one(job_id))
    assert found is not None
    return found


def column(db: Gateway, job_id: str, name: str) -> Any:
    """A column that is not part of a Job."""
    (row,) = rows(db, f"SELECT {name} AS value FROM jobs WHERE id = :id", id=job_id)
    return row["value"]


def leave(db: Gateway, taken: Job, ending: Ending, sibling: str | None = None, now: int = T0) -> int:
    """How many rows the guarded move out of `running` changed: 1, or 0 when it was refused."""
    return db.run(jobs.leave(taken, ending, sibling, now))


def retrying(db: Gateway, key: str | None = "/s.jsonl", until: int = T0 + 60_000) -> str:
    """The id of a job that failed once and waits."""
    job_id = submitted(db, key)
    assert leave(db, claimed(db, job_id), Ending(JobState.RETRYING, "error", available_at=until)) == 1
    return job_id


def due(db: Gateway, now: int = T0) -> list[str]:
    """The ids the relay would publish, best first."""
    return [job_id for job_id, _ in db.all(jobs.due(now))]

"""Each invariant of the queue is broken by hand, and the checker names it; a sound home breaks none."""

from collections.abc import Callable
from typing import Any

import pytest

from mex_pipeline.domain.conversation import Cursor
from mex_pipeline.domain.job import Ending, Job, JobState, Outcome
from mex_pipeline.store import cursors, invariants, jobs, usage
from mex_pipeline.store.sql import Statement
from tests.support.gateways import Gateway, rows
from tests.support.jobs import T0, claimed, leave, read, submitted

AT = "2026-08-06T07:06:40Z"
"""T0 as a stored moment."""

Break = Callable[[Gateway, str], None]


def broken(db: Gateway) -> list[tuple[str, str, str]]:
    """(invariant, what is broken, of whom) for every violation."""
    found = [one for query in invariants.of_rows() for one in db.all(query)]
    return [(one.invariant, one.code, one.subject) for one in found]


def run(db: Gateway, sql: str, **params: Any) -> None:
    db.run(Statement(sql, params))


def queued(db: Gateway, source: str, **changes: Any) -> str:
    job_id = submitted(db, source, **changes)
    db.run(jobs.event(job_id, T0, "queued"))
    return job_id


def taken(db: Gateway, job_id: str) -> Job:
    job = claimed(db, job_id)
    db.run(jobs.event(job_id, T0, "claimed", job.fence))
    return job


def ended(db: Gateway, job: Job, state: JobState, outcome: Outcome | None = None) -> None:
    assert leave(db, job, Ending(state, outcome=outcome)) == 1
    db.run(jobs.event(job.id, T0, state, job.fence))


def succeeded(db: Gateway, source: str) -> str:
    """A job that read its source and ended well, with all that it writes."""
    job = taken(db, queued(db, source))
    facts: dict[str, Any] = {"looked_size": 9, "agent": "claude", "session_id": "s", "project": None, "now": AT}
    db.run(
        cursors.advance(source, "model", Cursor(off=9), **facts),
        cursors.mark_seen("claude", source, "model", job.id, T0),
    )
    run(db, "INSERT INTO history (id, memory_id, event, actor, created_at, job_id) VALUES (:id, 'm', 'add', 'ai', :at, :id)", id=job.id, at=AT)  # fmt: skip  # noqa: E501
    ended(db, job, JobState.SUCCEEDED, Outcome.COMMITTED)
    return job.id


def sound(db: Gateway) -> str:
    """A home in which jobs stand in every state; returns the one that succeeded."""
    queued(db, "/waits")
    taken(db, queued(db, "/runs"))
    ended(db, taken(db, queued(db, "/failed")), JobState.FAILED, Outcome.LLM_ERROR)
    db.run(usage.keep_reply("k", "j", "/failed", "{}", T0), usage.keep_reply("l", "j", "/runs", "{}", T0))
    ended(db, taken(db, queued(db, "/cancelled")), JobState.CANCELLED)
    return succeeded(db, "/done")


def test_a_sound_home_breaks_nothing(db: Gateway) -> None:
    sound(db)
    assert broken(db) == []


def vanish(db: Gateway, _: str) -> None:
    run(db, "DELETE FROM jobs WHERE lock_key = '/waits'")


def without_rules(db: Gateway) -> None:
    run(db, "DROP INDEX jobs_one_running")
    run(db, "DROP INDEX jobs_one_waiting")


def run_twice(db: Gateway, _: str) -> None:
    without_rules(db)
    run(db, "UPDATE jobs SET lock_key = '/runs', state = 'running', lease_owner = 'o' WHERE lock_key = '/waits'")


def wait_twice(db: Gateway, _: str) -> None:
    queued(db, "/more")
    without_rules(db)
    run(db, "UPDATE jobs SET dedup_key = '/waits' WHERE dedup_key = '/more'")


def make_it_odd(db: Gateway, _: str) -> None:
    rows(db, "PRAGMA ignore_check_constraints = ON")
    run(db, "UPDATE jobs SET finished_at = 1 WHERE lock_key = '/waits'")


def end_without_outcome(db: Gateway, done: str) -> None:
    run(db, "UPDATE jobs SET outcome = NULL WHERE id = :id", id=done)


def write_and_fail(db: Gateway, done: str) -> None:
    run(db, "UPDATE jobs SET state = 'failed', outcome = 'poison' WHERE id = :id", id=done)


def succeed_twice(db: Gateway, done: str) -> None:
    db.run(jobs.event(done, T0, "succeeded", 1))


def succeed_under_another_claim(db: Gateway, done: str) -> None:
    run(db, "UPDATE jobs SET fence = 2 WHERE id = :id", id=done)


def mark_without_ending(db: Gateway, _: str) -> None:
    run(db, "INSERT INTO seen_messages SELECT 'claude', 'k', 'model', id, 1, 0 FROM jobs WHERE lock_key = '/runs'")


def quote_without_ending(db: Gateway, _: str) -> None:
    run(
        db,
        "INSERT INTO memory_sources (memory_id, agent, verified, job_id, created_at) "
        "SELECT 'm', 'claude', 0, id, '' FROM jobs WHERE lock_key = '/failed'",
    )


def prune_a_failure_that_wrote(db: Gateway, done: str) -> None:
    run(db, "DELETE FROM job_events WHERE job_id = :id AND event = 'succeeded'", id=done)
    db.run(jobs.event(done, T0, "pruned"))
    run(db, "DELETE FROM jobs WHERE id = :id", id=done)


def move_a_cursor(db: Gateway, done: str) -> None:
    """What a run would do that moved the cursor outside its commit."""
    run(db, "UPDATE extraction_state SET source_file = '/runs' WHERE source_file = '/done'")


def reuse_a_claim(db: Gateway, done: str) -> None:
    db.run(jobs.event(done, T0, "claimed", 1))


def lower_a_claim(db: Gateway, _: str) -> None:
    run(db, "UPDATE jobs SET fence = 0 WHERE lock_key = '/failed'")


def keep_an_answer(db: Gateway, done: str) -> None:
    db.run(usage.keep_reply("m", done, "/done", "{}", T0))


def keep_words(db: Gateway, done: str) -> None:
    run(db, "UPDATE jobs SET given_text = '我' WHERE id = :id", id=done)


@pytest.mark.parametrize(
    ("spoil", "expected", "subject"),
    [
        (vanish, {("I1", "jobs_vanished")}, None),
        (run_twice, {("I2", "jobs_two_run"), ("I2", "jobs_rule_missing")}, "/runs"),
        (wait_twice, {("I3", "jobs_two_wait"), ("I2", "jobs_rule_missing")}, "/waits"),
        (make_it_odd, {("I4", "jobs_odd")}, None),
        (end_without_outcome, {("I4", "jobs_odd")}, "done"),
        (write_and_fail, {("I5", "jobs_wrote_unended")}, "done"),
        (succeed_twice, {("I5", "jobs_wrote_unended")}, "done"),
        (succeed_under_another_claim, {("I5", "jobs_wrote_unended")}, "done"),
        (mark_without_ending, {("I5", "jobs_wrote_unended")}, None),
        (quote_without_ending, {("I5", "jobs_wrote_unended")}, None),
        (prune_a_failure_that_wrote, {("I5", "jobs_wrote_unended")}, "done"),
        (move_a_cursor, {("I6", "jobs_read_unended")}, "/runs"),
        (reuse_a_claim, {("I7", "jobs_taken_twice")}, "done"),
        (lower_a_claim, {("I7", "jobs_taken_twice")}, None),
        (keep_an_answer, {("I9", "jobs_leftovers")}, "/done"),
        (keep_words, {("I9", "jobs_leftovers")}, "done"),
    ],
)
def test_what_breaks_an_invariant_is_named(
    db: Gateway, spoil: Break, expected: set[tuple[str, str]], subject: str | None
) -> None:
    done = sound(db)
    spoil(db, done)
    found = broken(db)
    assert {(invariant, code) for invariant, code, _ in found} == expected
    if subject is not None:
        assert (done if subject == "done" else subject) in {one for _, _, one in found}


def test_rules_that_are_not_unique_any_more_are_named(db: Gateway) -> None:
    sound(db)
    run(db, "DROP INDEX jobs_one_running")
    run(db, "CREATE INDEX jobs_one_running ON jobs (lock_key)")
    assert broken(db) == [("I2", "jobs_rule_missing", "jobs_one_running")]


def test_what_an_import_brings_of_another_home_is_no_violation(db: Gateway) -> None:
    sound(db)
    run(db, "INSERT INTO seen_messages VALUES ('claude', 'k', 'model', 'a job of another home', 1, 0)")
    run(
        db,
        "INSERT INTO history (id, memory_id, event, actor, created_at, job_id) "
        "VALUES ('h', 'x', 'add', 'ai', '', 'a job of another home')",
    )
    facts: dict[str, Any] = {"looked_size": None, "agent": "claude", "session_id": "s", "project": None}
    db.run(cursors.advance("/failed", "model", Cursor(), now="2025-01-01T00:00:00Z", **facts))
    assert broken(db) == []


def test_pruned_jobs_are_no_violation_and_what_they_wrote_is_still_checked(db: Gateway) -> None:
    done = sound(db)
    gone = read(db, done)
    db.run(jobs.event(done, T0, invariants.PRUNED, gone.fence, "succeeded"))
    run(db, "DELETE FROM jobs WHERE id = :id", id=done)
    assert broken(db) == []
    run(db, "DELETE FROM job_events WHERE job_id = :id", id=done)  # long ago
    assert broken(db) == []

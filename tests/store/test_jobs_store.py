"""The jobs table: requests, claims, what is due, what people ask (docs/jobs.md)."""

from dataclasses import replace

import pytest

from mex_pipeline.domain.job import Ending, Job, JobState, Outcome, Trigger
from mex_pipeline.errors import ExternalError
from mex_pipeline.store import jobs, workers
from mex_pipeline.store.sql import Statement
from tests.support.gateways import Gateway, one, rows
from tests.support.jobs import T0, claimed, due, leave, read, retrying, submitted

MINUTE = 60_000


def claim(db: Gateway, job_id: str, now: int = T0, *, heed_pause: bool = True) -> Job | None:
    return db.first(jobs.claim(job_id, "me", now, "1", heed_pause=heed_pause))


def test_a_claim_takes_the_job_and_counts(db: Gateway) -> None:
    job_id = submitted(db)
    taken = db.first(jobs.claim(job_id, "owner-1", T0 + 5, "9.9", heed_pause=True))
    assert taken is not None
    assert taken == read(db, job_id)
    assert (taken.state, taken.attempt, taken.fence, taken.lease_owner) == (JobState.RUNNING, 1, 1, "owner-1")
    assert (taken.started_at, taken.worker_version, taken.reason) == (T0 + 5, "9.9", None)


def test_each_claim_raises_the_fence(db: Gateway) -> None:
    job_id = submitted(db)
    for fence in (1, 2, 3):
        taken = claimed(db, job_id)
        assert taken.fence == fence
        leave(db, taken, Ending(JobState.QUEUED, "shutdown", available_at=T0, gives_back=True))
    assert read(db, job_id).attempt == 0


@pytest.mark.parametrize("state", [JobState.RUNNING, JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED])
def test_a_claim_of_a_job_that_does_not_wait_is_refused(db: Gateway, state: JobState) -> None:
    job_id = submitted(db)
    taken = claimed(db, job_id)
    if state is not JobState.RUNNING:
        leave(db, taken, Ending(state))
    before = read(db, job_id)
    assert claim(db, job_id) is None
    assert read(db, job_id) == before


def test_a_claim_of_nothing_is_refused(db: Gateway) -> None:
    assert claim(db, "00000000-none") is None


def test_a_claim_before_its_time_is_refused(db: Gateway) -> None:
    job_id = submitted(db, available_at=T0 + 1)
    assert claim(db, job_id, T0) is None
    assert claim(db, job_id, T0 + 1) is not None


def test_a_claim_of_a_job_that_somebody_cancelled_is_refused(db: Gateway) -> None:
    job_id = submitted(db)
    db.run(Statement("UPDATE jobs SET cancel_requested = 1"))
    assert claim(db, job_id) is None
    assert due(db) == []
    assert db.first(jobs.has_work(T0)) is None


def test_product_d4_two_jobs_never_work_on_one_source(db: Gateway) -> None:
    first = submitted(db)
    taken = claimed(db, first)
    second = submitted(db)
    assert claim(db, second) is None
    assert due(db) == []
    leave(db, taken, Ending(JobState.SUCCEEDED, outcome=Outcome.COMMITTED))
    assert due(db) == [second]
    assert claim(db, second) is not None


def test_jobs_without_a_lock_key_run_beside_each_other(db: Gateway) -> None:
    first, second = submitted(db, None), submitted(db, None)
    assert claim(db, first) is not None
    assert claim(db, second) is not None


@pytest.mark.parametrize(("scope", "kind", "held"), [
    ("*", "extract", True),
    ("llm", "extract", True),
    ("llm", "import", True),
    ("llm", "prune", False),
    ("worker:stop", "extract", False),
])  # fmt: skip
def test_a_paused_scope_holds_its_jobs(db: Gateway, scope: str, kind: str, held: bool) -> None:
    job_id = submitted(db, kind=kind)
    db.run(workers.pause(scope, T0 + MINUTE, "llm_auth", T0))
    assert (due(db) == []) is held
    assert (db.first(jobs.has_work(T0)) is None) is held
    assert due(db, T0 + MINUTE) == [job_id], "a pause ends by itself"
    assert claim(db, job_id, T0 + MINUTE - 1) is None or not held
    if held:
        assert claim(db, job_id, T0, heed_pause=False) is not None


def test_lifting_a_pause_lets_its_jobs_go(db: Gateway) -> None:
    job_id = submitted(db)
    db.run(workers.pause("llm", T0 + MINUTE, "llm_auth", T0), workers.resume("llm"))
    assert due(db) == [job_id]
    assert db.all(workers.paused(T0)) == []


def test_due_jobs_come_by_priority_then_by_time_then_by_order(db: Gateway) -> None:
    late = submitted(db, "/1", available_at=T0)
    early = submitted(db, "/2", available_at=T0 - 5)
    same = submitted(db, "/3", available_at=T0)
    urgent = submitted(db, "/4", priority=10)
    submitted(db, "/5", available_at=T0 + 1)
    assert db.all(jobs.due(T0)) == [(urgent, 10), (early, 0), (late, 0), (same, 0)]


def test_a_published_job_is_published_again_only_when_stale(db: Gateway) -> None:
    job_id = submitted(db)
    assert db.run(jobs.mark_published(job_id, T0)) == 1
    assert due(db, T0 + jobs.REPUBLISH_MS) == []
    assert due(db, T0 + jobs.REPUBLISH_MS + 1) == [job_id]
    db.run(jobs.forget_published())
    assert due(db) == [job_id]


def test_a_job_that_waits_again_is_published_anew(db: Gateway) -> None:
    job_id = submitted(db)
    db.run(jobs.mark_published(job_id, T0))
    leave(db, claimed(db, job_id), Ending(JobState.RETRYING, "error", available_at=T0))
    assert due(db) == [job_id]


def test_an_ended_source_wakes_what_waits_for_it(db: Gateway) -> None:
    taken = claimed(db, submitted(db))
    follower, other = submitted(db), submitted(db, "/other")
    db.run(jobs.mark_published(follower, T0), jobs.mark_published(other, T0))
    leave(db, taken, Ending(JobState.SUCCEEDED, outcome=Outcome.COMMITTED))
    db.run(jobs.wake_followers(taken.lock_key))
    assert due(db) == [follower]


def test_marking_a_running_job_published_changes_nothing(db: Gateway) -> None:
    job_id = submitted(db)
    claimed(db, job_id)
    assert db.run(jobs.mark_published(job_id, T0)) == 0


def test_there_is_work_while_something_waits_for_its_moment(db: Gateway) -> None:
    assert db.first(jobs.has_work(T0)) is None
    job_id = submitted(db, available_at=T0 + 10 * MINUTE)
    assert db.first(jobs.has_work(T0)) == 1
    claimed(db, job_id, T0 + 10 * MINUTE)
    assert db.first(jobs.has_work(T0)) is None


def test_a_clock_that_was_set_back_parks_no_job(db: Gateway) -> None:
    parked, near, queued = retrying(db, "/a", T0 + 99 * MINUTE), retrying(db, "/b", T0 + 5), submitted(db, "/c")
    db.run(Statement("UPDATE jobs SET available_at = :at WHERE id = :id", {"at": T0 + 99 * MINUTE, "id": queued}))
    assert db.first(jobs.has_later(T0 + 60 * MINUTE)) == 1
    assert db.run(jobs.clamp_waits(T0 + 60 * MINUTE)) == 2
    assert db.first(jobs.has_later(T0 + 60 * MINUTE)) is None
    assert read(db, parked).available_at == T0 + 60 * MINUTE
    assert read(db, near).available_at == T0 + 5
    assert read(db, queued).available_at == T0 + 60 * MINUTE


def test_running_jobs_and_those_to_cancel_are_found_by_owner(db: Gateway) -> None:
    mine, theirs, calm = submitted(db, "/1"), submitted(db, "/2"), submitted(db, "/3")
    claimed(db, mine, owner="me")
    claimed(db, theirs, owner="other")
    claimed(db, calm, owner="me")
    submitted(db, "/4")
    db.run(jobs.request_cancel(mine), jobs.request_cancel(theirs))
    assert [found.id for found in db.all(jobs.running())] == [mine, theirs, calm]
    assert db.all(jobs.cancelled_of("me")) == [mine]
    assert db.all(jobs.cancelled_of("nobody")) == []


def test_jobs_are_found_by_prefix(db: Gateway) -> None:
    first = submitted(db, None, id="aaaaaaaa-1")
    second = submitted(db, None, id="aaaaaaaa-2")
    submitted(db, None, id="aaaaaaaa-3")
    assert [found.id for found in db.all(jobs.by_prefix("aaaaaaaa"))] == [first, second]
    assert [found.id for found in db.all(jobs.by_prefix("aaaaaaaa-2"))] == [second]
    assert db.all(jobs.by_prefix("b")) == []
    assert db.first(jobs.one("aaaaaaaa")) is None


def test_the_newest_jobs_come_first_and_states_filter(db: Gateway) -> None:
    old = submitted(db, "/1", created_at=T0 - 9)
    first, second = submitted(db, "/2"), submitted(db, "/3")
    leave(db, claimed(db, first), Ending(JobState.FAILED))

    def page(*states: str, limit: int = 9) -> list[str]:
        return [found.id for found in db.all(jobs.page(states=states, limit=limit))]

    assert page() == [second, first, old]
    assert page(limit=2) == [second, first]
    assert page("failed") == [first]
    assert page("failed", "queued") == [second, first, old]
    assert page("succeeded") == []


@pytest.mark.parametrize("waits", ["queued", "retrying"])
def test_cancelling_a_waiting_job_ends_it_at_once(db: Gateway, waits: str) -> None:
    job_id = submitted(db, given_text="x") if waits == "queued" else retrying(db)
    assert db.run(jobs.cancel_waiting(job_id, "user", T0 + 1)) == 1
    ended = read(db, job_id)
    assert (ended.state, ended.reason, ended.finished_at) == (JobState.CANCELLED, "user", T0 + 1)
    assert not ended.has_text
    assert db.run(jobs.cancel_waiting(job_id, "user", T0 + 2)) == 0


def test_cancelling_a_running_job_only_asks(db: Gateway) -> None:
    job_id = submitted(db)
    assert db.run(jobs.request_cancel(job_id)) == 0
    taken = claimed(db, job_id)
    assert db.run(jobs.cancel_waiting(job_id, "user", T0)) == 0
    assert db.run(jobs.request_cancel(job_id)) == 1
    assert read(db, job_id) == replace(taken, cancel_requested=True)


def test_a_retry_gives_a_failed_job_another_attempt(db: Gateway) -> None:
    job_id = submitted(db, trigger=Trigger.FOREGROUND, max_attempts=1)
    said = {"code": "llm_auth", "params": {}}
    taken = claimed(db, job_id)
    db.run(jobs.request_cancel(job_id), jobs.mark_published(job_id, T0))
    leave(db, taken, Ending(JobState.FAILED, "llm_auth", Outcome.LLM_ERROR, crashed=True, bad_output=True, error=said))
    assert db.run(jobs.requeue(job_id, T0 + MINUTE)) == 1
    again = read(db, job_id)
    assert (again.state, again.reason, again.outcome, again.finished_at) == (JobState.QUEUED, None, None, None)
    assert (again.trigger, again.available_at) == (Trigger.RETRY, T0 + MINUTE)
    assert (again.attempt, again.max_attempts) == (1, 2)
    assert (again.crashes, again.bad_outputs, again.cancel_requested) == (0, 0, False)
    assert again.errors == (said,), "what went wrong stays to be seen"
    assert claimed(db, job_id, T0 + MINUTE).fence == 2


def test_a_retry_of_a_job_with_attempts_left_keeps_its_limit(db: Gateway) -> None:
    job_id = submitted(db)
    db.run(jobs.cancel_waiting(job_id, "user", T0), jobs.requeue(job_id, T0))
    assert read(db, job_id).max_attempts == 10


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.RUNNING, JobState.SUCCEEDED])
def test_product_h5_only_failed_and_cancelled_jobs_are_requeued(db: Gateway, state: JobState) -> None:
    job_id = submitted(db)
    if state is not JobState.QUEUED:
        taken = claimed(db, job_id)
    if state is JobState.SUCCEEDED:
        leave(db, taken, Ending(state, outcome=Outcome.COMMITTED))
    before = read(db, job_id)
    assert db.run(jobs.requeue(job_id, T0)) == 0
    assert read(db, job_id) == before


def test_two_jobs_of_one_source_cannot_both_wait(db: Gateway) -> None:
    first = submitted(db)
    leave(db, claimed(db, first), Ending(JobState.FAILED))
    submitted(db)
    with pytest.raises(ExternalError, match="internal"):
        db.run(jobs.requeue(first, T0))
    assert read(db, first).state is JobState.FAILED


def test_a_waiting_job_can_be_run_without_its_wait(db: Gateway) -> None:
    job_id = retrying(db, until=T0 + 99 * MINUTE)
    db.run(jobs.mark_published(job_id, T0))
    assert db.run(jobs.run_now(job_id, T0 + 1)) == 1
    assert read(db, job_id).reason is None
    assert due(db, T0 + 1) == [job_id]
    claimed(db, job_id, T0 + 1)
    assert db.run(jobs.run_now(job_id, T0)) == 0


def test_what_waited_for_a_key_runs_when_it_is_put_right(db: Gateway) -> None:
    def snoozed(key: str, reason: str) -> str:
        job_id = submitted(db, key)
        ending = Ending(JobState.QUEUED, reason, available_at=T0 + MINUTE, gives_back=True)
        leave(db, claimed(db, job_id), ending)
        return job_id

    held = [snoozed(f"/{reason}", reason) for reason in ("llm_auth", "offline", "rate_limit", "disk_full")]
    others = [snoozed(f"/{reason}", reason) for reason in ("llmXauth", "settings", "shutdown")]
    assert db.run(jobs.wake_held(T0 + 1)) == len(held)
    assert [(read(db, one).available_at, read(db, one).reason) for one in held] == [(T0 + 1, None)] * len(held)
    assert [read(db, one).available_at for one in others] == [T0 + MINUTE] * len(others)


def test_a_job_has_a_story_without_content(db: Gateway) -> None:
    db.run(jobs.event("j", 1, "queued"), jobs.event("j", 2, "claimed", 1, "owner"), jobs.event("k", 3, "queued"))
    assert db.all(jobs.events("j")) == [
        {"at": 1, "event": "queued", "fence": None, "note": None},
        {"at": 2, "event": "claimed", "fence": 1, "note": "owner"},
    ]


@pytest.mark.parametrize("sql", [
    "UPDATE jobs SET state = 'running'",
    "UPDATE jobs SET lease_owner = 'x'",
    "UPDATE jobs SET state = 'failed'",
    "UPDATE jobs SET finished_at = 1",
    "UPDATE jobs SET state = 'paused'",
    "UPDATE jobs SET outcome = 'fine'",
])  # fmt: skip
def test_the_table_refuses_a_state_that_cannot_be(db: Gateway, sql: str) -> None:
    job_id = submitted(db)
    with pytest.raises(ExternalError, match="internal"):
        db.run(Statement(sql))
    assert read(db, job_id).state is JobState.QUEUED


def test_the_table_itself_keeps_a_source_to_one_running_job(db: Gateway) -> None:
    first, second = submitted(db, None, lock_key="/s"), submitted(db, None, lock_key="/s")
    claimed(db, first)
    with pytest.raises(ExternalError, match="internal"):
        db.run(Statement("UPDATE jobs SET state = 'running', lease_owner = 'x' WHERE id = :id", {"id": second}))


def test_the_look_for_due_jobs_reads_the_index_not_the_table(db: Gateway) -> None:
    """Ten times a second a worker looks; thousands of finished jobs must not be read for it."""
    query = jobs.due(T0)
    plan = rows(db, f"EXPLAIN QUERY PLAN {query.sql}", **query.params)
    assert "jobs_ready" in " ".join(step["detail"] for step in plan)
    assert one(db, "SELECT count(*) FROM jobs") == 0

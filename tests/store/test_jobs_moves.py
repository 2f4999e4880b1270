"""How a job leaves `running`: the fence, the merge, and what each ending writes (docs/jobs.md)."""

from dataclasses import replace

import pytest

from mex_pipeline.domain.job import KEPT_ERRORS, Ending, JobState, Outcome, Trigger
from mex_pipeline.store import jobs
from mex_pipeline.store.sql import Statement
from tests.support.gateways import Gateway
from tests.support.jobs import T0, claimed, job, leave, read, submitted

MINUTE = 60_000


def test_a_beat_counts_only_for_the_run_that_holds_the_fence(db: Gateway) -> None:
    job_id = submitted(db)
    old = claimed(db, job_id)
    assert db.run(jobs.beat(job_id, old.fence)) == 1
    assert read(db, job_id).beat == 1
    leave(db, old, Ending(JobState.RETRYING, "rescued:lease", available_at=T0, crashed=True))
    assert db.run(jobs.beat(job_id, old.fence)) == 0
    claimed(db, job_id)
    assert db.run(jobs.beat(job_id, old.fence)) == 0
    assert read(db, job_id).beat == 1


def test_progress_and_the_end_of_reading_are_fenced_too(db: Gateway) -> None:
    job_id = submitted(db)
    old = claimed(db, job_id)
    assert db.run(jobs.progress(old, 1, 3, "asking")) == 1
    assert db.run(jobs.fix_end(old, 100, 120)) == 1
    leave(db, old, Ending(JobState.QUEUED, "shutdown", available_at=T0, gives_back=True))
    new = claimed(db, job_id)
    assert (new.progress_done, new.progress_total, new.progress_note) == (1, 3, None)
    assert (new.end_off, new.end_size) == (100, 120), "product H6: a retry sees the same turns"
    assert db.run(jobs.progress(old, 2, 3, "asking")) == 0
    assert db.run(jobs.fix_end(old, 999, 999)) == 0
    assert read(db, job_id) == new


def test_a_job_of_a_later_claim_is_not_ended_by_an_earlier_one(db: Gateway) -> None:
    """The fence: a run that was taken over writes nothing, whatever it wants to write."""
    job_id = submitted(db)
    old = claimed(db, job_id, owner="old")
    leave(db, old, Ending(JobState.RETRYING, "rescued:lease", available_at=T0, crashed=True))
    new = claimed(db, job_id, owner="new")
    for state in JobState:
        if state is not JobState.RUNNING:
            assert leave(db, old, Ending(state)) == 0
    assert read(db, job_id) == new


def test_success_ends_the_job_and_forgets_the_given_text(db: Gateway) -> None:
    job_id = submitted(db, given_text="秘密", max_attempts=1)
    taken = claimed(db, job_id)
    result = {"added": [{"content": "猫"}]}
    assert leave(db, taken, Ending(JobState.SUCCEEDED, "why", Outcome.COMMITTED, result=result), now=T0 + 9) == 1
    ended = read(db, job_id)
    assert (ended.state, ended.outcome, ended.reason) == (JobState.SUCCEEDED, Outcome.COMMITTED, "why")
    assert (ended.finished_at, ended.lease_owner, ended.has_text) == (T0 + 9, None, False)
    assert (ended.attempt, ended.result, ended.errors) == (1, result, ())
    assert leave(db, taken, Ending(JobState.SUCCEEDED)) == 0, "once"


def test_a_job_that_was_cancelled_while_it_ran_does_not_succeed(db: Gateway) -> None:
    job_id = submitted(db)
    taken = claimed(db, job_id)
    assert db.run(jobs.request_cancel(job_id)) == 1
    assert leave(db, taken, Ending(JobState.SUCCEEDED, outcome=Outcome.COMMITTED)) == 0
    assert leave(db, taken, Ending(JobState.CANCELLED, "user")) == 1
    assert read(db, job_id).state is JobState.CANCELLED


def test_product_h5_failure_keeps_the_text_and_cancellation_does_not(db: Gateway) -> None:
    failed, cancelled = submitted(db, "a", given_text="x"), submitted(db, "b", given_text="y")
    leave(db, claimed(db, failed), Ending(JobState.FAILED, "llm_auth", Outcome.LLM_ERROR))
    leave(db, claimed(db, cancelled), Ending(JobState.CANCELLED, "user"))
    assert (read(db, failed).has_text, db.first(jobs.text(failed))) == (True, "x")
    assert (read(db, cancelled).has_text, db.first(jobs.text(cancelled))) == (False, None)


def test_a_snooze_gives_the_attempt_back_and_is_counted(db: Gateway) -> None:
    job_id = submitted(db)
    until = T0 + MINUTE
    leave(db, claimed(db, job_id), Ending(JobState.QUEUED, "offline", available_at=until, gives_back=True))
    waiting = read(db, job_id)
    assert (waiting.state, waiting.reason, waiting.available_at) == (JobState.QUEUED, "offline", until)
    assert (waiting.attempt, waiting.snoozes, waiting.fence) == (0, 1, 1)
    assert (waiting.finished_at, waiting.lease_owner) == (None, None)


def test_a_retry_counts_crashes_and_bad_outputs(db: Gateway) -> None:
    job_id = submitted(db)
    leave(db, claimed(db, job_id), Ending(JobState.RETRYING, "error", available_at=T0, bad_output=True))
    leave(db, claimed(db, job_id), Ending(JobState.RETRYING, "rescued:dead", available_at=T0, crashed=True))
    waiting = read(db, job_id)
    assert (waiting.attempt, waiting.bad_outputs, waiting.crashes, waiting.snoozes) == (2, 1, 1, 0)


def test_a_job_that_waits_again_is_due_now_at_the_earliest(db: Gateway) -> None:
    job_id = submitted(db)
    leave(db, claimed(db, job_id), Ending(JobState.RETRYING, "error", available_at=5), now=T0 + 3)
    assert read(db, job_id).available_at == T0 + 3


def test_only_the_last_errors_are_kept(db: Gateway) -> None:
    job_id = submitted(db)
    for number in range(KEPT_ERRORS + 3):
        said = {"code": f"e{number}", "params": {}}
        leave(db, claimed(db, job_id), Ending(JobState.RETRYING, available_at=T0, error=said))
    kept = read(db, job_id)
    assert [error["code"] for error in kept.errors] == [f"e{number}" for number in range(3, KEPT_ERRORS + 3)]
    assert kept.last_error == {"code": f"e{KEPT_ERRORS + 2}", "params": {}}


def test_a_result_of_an_earlier_run_is_kept_until_a_new_one(db: Gateway) -> None:
    job_id = submitted(db)
    leave(db, claimed(db, job_id), Ending(JobState.FAILED, result={"n": 1}))
    db.run(jobs.requeue(job_id, T0))
    leave(db, claimed(db, job_id), Ending(JobState.FAILED))
    assert read(db, job_id).result == {"n": 1}


def test_a_job_that_would_wait_beside_a_newer_one_is_merged_into_it(db: Gateway) -> None:
    first = submitted(db, given_text="秘密")
    taken = claimed(db, first)
    second = submitted(db, given_text="秘密")
    assert db.first(jobs.waiting_sibling(taken)) == second
    ending = Ending(JobState.RETRYING, "error", available_at=T0 + MINUTE, crashed=True)
    assert leave(db, replace(taken, attempt=4, crashes=1), ending, second) == 1
    assert db.run(jobs.carry_over(replace(taken, attempt=4, crashes=1), ending, second)) == 1
    merged, stays = read(db, first), read(db, second)
    assert (merged.state, merged.reason, merged.outcome) == (JobState.CANCELLED, f"merged:{second}", None)
    assert merged.finished_at == T0
    assert not merged.has_text, "product H5: the job that stays has its own"
    assert (stays.attempt, stays.crashes, stays.available_at) == (4, 2, T0 + MINUTE)
    assert db.first(jobs.text(second)) == "秘密"


def test_a_merged_snooze_hands_over_the_attempt_less_one(db: Gateway) -> None:
    taken = claimed(db, submitted(db))
    second = submitted(db)
    ending = Ending(JobState.QUEUED, "offline", available_at=T0 + MINUTE, gives_back=True)
    leave(db, taken, ending, second)
    db.run(jobs.carry_over(taken, ending, second))
    assert (read(db, second).attempt, read(db, second).crashes) == (0, 0)


def test_carrying_over_never_lowers_what_the_sibling_has(db: Gateway) -> None:
    second = submitted(db, available_at=T0 + 9)
    db.run(Statement("UPDATE jobs SET attempt = 7, crashes = 2"))
    db.run(jobs.carry_over(job(attempt=1), Ending(JobState.RETRYING, available_at=T0), second))
    stays = read(db, second)
    assert (stays.attempt, stays.crashes, stays.available_at) == (7, 2, T0 + 9)


@pytest.mark.parametrize("state", [JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED])
def test_a_final_move_does_not_merge(db: Gateway, state: JobState) -> None:
    taken = claimed(db, submitted(db))
    second = submitted(db)
    leave(db, taken, Ending(state, "because"), second)
    assert (read(db, taken.id).state, read(db, taken.id).reason) == (state, "because")


def test_a_job_has_no_sibling_in_itself_in_running_or_in_ended_jobs(db: Gateway) -> None:
    first = submitted(db)
    assert db.first(jobs.waiting_sibling(read(db, first))) is None
    taken = claimed(db, first)
    assert db.first(jobs.waiting_sibling(taken)) is None
    assert db.first(jobs.waiting_sibling(job(None))) is None
    submitted(db, "/other")
    assert db.first(jobs.waiting_sibling(taken)) is None


def test_a_foreground_job_that_takes_over_one_of_the_background_is_retried_as_that_one_would_be(db: Gateway) -> None:
    """A request of the background that was accepted does not fail with the first attempt of somebody else."""
    taken = claimed(db, submitted(db))
    second = submitted(db, trigger=Trigger.FOREGROUND, max_attempts=1)
    ending = Ending(JobState.RETRYING, "error", available_at=T0 + MINUTE)
    leave(db, taken, ending, second)
    db.run(jobs.carry_over(taken, ending, second))
    stays = read(db, second)
    assert (stays.trigger, stays.max_attempts, stays.attempt) == (Trigger.COMMAND, 10, 1)


@pytest.mark.parametrize("before", [Trigger.FOLLOW_UP, Trigger.SWEEP])
@pytest.mark.parametrize("asked", [Trigger.COMMAND, Trigger.FOREGROUND])
def test_a_job_that_nobody_asked_for_becomes_one_of_the_background_with_the_first_request(
    db: Gateway, before: Trigger, asked: Trigger
) -> None:
    """Never one of the foreground, which would be cancelled with the command."""
    job_id = submitted(db, trigger=before)
    assert submitted(db, trigger=asked) == job_id
    assert read(db, job_id).trigger is Trigger.COMMAND


@pytest.mark.parametrize("kept", [Trigger.COMMAND, Trigger.RETRY])
def test_a_sweep_or_a_follow_up_changes_nothing_about_who_asked(db: Gateway, kept: Trigger) -> None:
    job_id = submitted(db, trigger=kept)
    for unasked in (Trigger.SWEEP, Trigger.FOLLOW_UP):
        submitted(db, trigger=unasked)
        assert read(db, job_id).trigger is kept

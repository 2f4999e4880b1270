"""What each error means for its job, for the endpoint and for other jobs: the table of queue §5.6, row by row."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mex_pipeline.domain.job import Ending, Job, JobState, Outcome, Trigger
from mex_pipeline.errors import (
    DatabaseBusy,
    ExternalError,
    LLMBadReply,
    LLMRejected,
    LLMUnavailable,
    MexError,
    SourceFormat,
    SourceGone,
    SourceUnreadable,
)
from mex_pipeline.services import endings
from mex_pipeline.services.endings import circuit_ms, for_error, pauses
from tests.support.jobs import T0, job

HERE = "llm:here"
MINUTE, HOUR = 60_000, 3_600_000
RUNNING = replace(job(), state=JobState.RUNNING, attempt=1, fence=1, lease_owner="me")
IN_FRONT = replace(RUNNING, trigger=Trigger.FOREGROUND, max_attempts=1)


def ended(error: MexError, taken: Job = RUNNING) -> Ending:
    return for_error(error, taken, T0)


def row(**changes: Any) -> dict[str, Any]:
    return {"paused_until": 0, "reason": "circuit", "at": T0, "failures": 0} | changes


def paused(ending: Ending, known: dict[str, Any] | None = None) -> list[tuple[str, int, str]]:
    """(scope, until, reason) of what an ending pauses."""
    found = [one.params for one in pauses(ending, HERE, known, T0)]
    return [(one["scope"], one["until"], one["reason"]) for one in found if "until" in one]


def counts(ending: Ending, known: dict[str, Any] | None = None) -> int:
    return sum("until" not in one.params for one in pauses(ending, HERE, known, T0))


@pytest.mark.parametrize("named", [None, 1, 30])
def test_queue_5_6_a_429_that_outlasts_the_call_is_retried_with_backoff(named: int | None) -> None:
    ending = ended(LLMUnavailable("llm_rate_limited", retry_after=named))
    assert (ending.state, ending.reason, ending.gives_back) == (JobState.RETRYING, "rate_limit", False)
    assert T0 + 7_500 <= ending.available_at <= T0 + max(15_000, 1000 * (named or 0))
    assert paused(ending) == []


@pytest.mark.parametrize("named", [None, 1, 30])
def test_queue_5_6_the_third_429_in_a_row_that_outlasts_its_call_pauses_the_endpoint(named: int | None) -> None:
    ending = ended(LLMUnavailable("llm_rate_limited", retry_after=named))
    assert [counts(ending, row(failures=failures)) for failures in (0, 1, 2)] == [1, 1, 1]
    assert [paused(ending, row(failures=failures)) for failures in (0, 1)] == [[], []]
    ((scope, until, reason),) = paused(ending, row(failures=2))
    assert (scope, reason) == (HERE, "circuit")
    assert T0 + 24_000 <= until <= T0 + 30_000


def test_queue_5_6_a_429_with_a_long_retry_after_pauses_the_endpoint_and_gives_the_attempt_back() -> None:
    ending = ended(LLMUnavailable("llm_rate_limited", retry_after=31))
    assert (ending.state, ending.reason, ending.gives_back) == (JobState.QUEUED, "rate_limit", True)
    assert ending.available_at == T0 + 31_000
    assert paused(ending) == [(HERE, T0 + 31_000, "rate_limit")]


def test_a_server_that_asks_for_days_is_asked_again_after_an_hour() -> None:
    ending = ended(LLMUnavailable("llm_rate_limited", retry_after=10**9))
    assert ending.available_at == T0 + HOUR
    assert paused(ending) == [(HERE, T0 + HOUR, "rate_limit")]
    assert ended(LLMUnavailable("llm_server_error", retry_after=10**9)).available_at == T0 + HOUR


@pytest.mark.parametrize("code", ["llm_auth", "llm_quota", "llm_unknown_model"])
def test_queue_5_6_a_key_a_quota_or_a_model_pauses_the_endpoint_for_a_person(code: str) -> None:
    ending = ended(LLMRejected(code))
    assert (ending.state, ending.reason, ending.gives_back) == (JobState.QUEUED, code, True)
    assert paused(ending) == [(HERE, T0 + 10 * MINUTE, code)]
    assert counts(ending) == 0


@pytest.mark.parametrize("code", ["llm_timeout", "llm_server_error", "llm_connection_lost"])
def test_queue_5_6_a_5xx_a_timeout_and_a_reset_are_retried_with_backoff_and_counted(code: str) -> None:
    ending = ended(LLMUnavailable(code))
    assert (ending.state, ending.reason, ending.gives_back) == (JobState.RETRYING, "error", False)
    assert T0 + 7_500 <= ending.available_at <= T0 + 15_000
    assert (counts(ending), paused(ending)) == (1, [])
    assert ended(LLMUnavailable(code), replace(RUNNING, attempt=10)).state is JobState.FAILED


def test_queue_5_6_the_third_failure_in_a_row_pauses_the_endpoint_and_each_more_for_longer() -> None:
    ending = ended(LLMUnavailable("llm_timeout"))
    assert paused(ending, row(failures=1)) == []
    waits = []
    for before in (2, 3, 4, 5, 6, 7, 8, 99):
        ((scope, until, reason),) = paused(ending, row(failures=before))
        assert (scope, reason) == (HERE, "circuit")
        waits.append(until - T0)
    for seconds, wait in zip((30, 60, 120, 240, 480, 600, 600, 600), waits, strict=True):
        assert 800 * seconds <= wait <= 1000 * seconds


@given(st.integers(3, 10_000), st.floats(0, 1))
def test_the_pause_of_a_failing_endpoint_is_half_a_minute_to_ten(failures: int, fraction: float) -> None:
    assert 24_000 <= circuit_ms(failures, fraction) <= 600_000


def test_a_failure_of_a_run_that_began_before_the_pause_tells_nothing_new() -> None:
    ending = ended(LLMUnavailable("llm_timeout"))
    assert pauses(ending, HERE, row(failures=5, paused_until=T0 + 1), T0) == []


def test_a_failure_in_the_foreground_counts_too() -> None:
    ending = ended(LLMUnavailable("llm_timeout"), IN_FRONT)
    assert ending.state is JobState.FAILED
    assert counts(ending) == 1
    assert len(paused(ending, row(failures=2))) == 1


def test_queue_5_6_an_endpoint_that_is_not_reached_is_left_for_a_minute_up_to_ten_and_no_attempt_counts() -> None:
    waits = []
    for snoozes in (0, 1, 2, 3, 4, 99):
        ending = ended(LLMUnavailable("llm_unreachable"), replace(RUNNING, snoozes=snoozes))
        assert (ending.state, ending.reason, ending.gives_back) == (JobState.QUEUED, "offline", True)
        waits.append((ending.available_at - T0) // MINUTE)
    assert waits == [1, 2, 4, 8, 10, 10]


def test_queue_5_6_meanwhile_other_jobs_do_not_each_find_out() -> None:
    ending = ended(LLMUnavailable("llm_unreachable"))
    assert paused(ending) == [(HERE, T0 + MINUTE, "offline")]
    for last, then in ((1, 2), (2, 4), (8, 10), (10, 10)):
        known = row(reason="offline", at=T0 - last * MINUTE, paused_until=T0)
        assert paused(ending, known) == [(HERE, T0 + then * MINUTE, "offline")]
    after_an_answer = row(reason="offline", at=T0 - 8 * MINUTE)
    assert paused(ending, after_an_answer) == [(HERE, T0 + MINUTE, "offline")]


@pytest.mark.parametrize(
    "code", ["llm_bad_reply", "llm_empty_reply", "llm_reasoning_only", "llm_cut_off", "llm_not_an_api"]
)
def test_queue_5_6_the_third_unusable_answer_fails_the_job(code: str) -> None:
    first, third = ended(LLMBadReply(code)), ended(LLMBadReply(code), replace(RUNNING, bad_outputs=2))
    assert (first.state, first.bad_output) == (JobState.RETRYING, True)
    assert (third.state, third.outcome) == (JobState.FAILED, Outcome.UNPARSEABLE)
    assert pauses(first, HERE, None, T0) == []


@pytest.mark.parametrize("code", ["llm_context_length", "llm_refusal", "llm_bad_request", "llm_redirected"])
def test_a_refusal_that_no_retry_cures_fails_the_job_at_once(code: str) -> None:
    """After splitting: nothing at all was taken."""
    ending = ended(LLMRejected(code))
    assert (ending.state, ending.reason, ending.outcome) == (JobState.FAILED, code, Outcome.LLM_ERROR)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(SourceGone(path="/s"), Outcome.SOURCE_GONE), (SourceFormat("source_format"), Outcome.UNPARSEABLE)],
)
def test_queue_5_6_a_source_that_is_gone_or_no_session_fails_without_a_retry(error: MexError, outcome: Outcome) -> None:
    assert (ended(error).state, ended(error).outcome) == (JobState.FAILED, outcome)


def test_queue_5_6_a_locked_database_costs_no_attempt() -> None:
    ending = ended(DatabaseBusy(path="/mex.db"))
    assert (ending.state, ending.gives_back, ending.available_at) == (JobState.RETRYING, True, T0 + 5_000)


@pytest.mark.parametrize("code", ["disk_full", "disk_error"])
def test_queue_5_6_a_full_disk_holds_everything_for_a_minute_and_costs_no_attempt(code: str) -> None:
    ending = ended(ExternalError(code, path="/mex.db"))
    assert (ending.state, ending.reason, ending.gives_back) == (JobState.QUEUED, "disk_full", True)
    assert paused(ending) == [("*", T0 + MINUTE, "disk_full")]
    assert [one.params["scope"] for one in pauses(ending, "", None, T0)] == ["*"], "also of a job that asks no model"


def test_queue_5_6_the_third_crash_is_the_last() -> None:
    for crashes, state in ((0, JobState.RETRYING), (1, JobState.RETRYING), (2, JobState.FAILED)):
        ending = endings.for_crash(replace(RUNNING, crashes=crashes), T0, how="rescued:dead")
        assert (ending.state, pauses(ending, HERE, row(failures=9), T0)) == (state, [])


@pytest.mark.parametrize(
    "error",
    [
        LLMUnavailable("llm_rate_limited", retry_after=99),
        LLMUnavailable("llm_unreachable"),
        LLMRejected("llm_auth"),
        LLMBadReply("llm_empty_reply"),
        DatabaseBusy(path="/mex.db"),
    ],
)
def test_product_c8_a_foreground_job_fails_in_front_of_the_person_and_pauses_nothing(error: MexError) -> None:
    ending = ended(error, IN_FRONT)
    assert (ending.state, pauses(ending, HERE, None, T0)) == (JobState.FAILED, [])


def test_what_a_run_did_not_ask_it_does_not_judge() -> None:
    assert pauses(ended(LLMUnavailable("llm_timeout")), "", None, T0) == []
    assert pauses(Ending(JobState.QUEUED, "shutdown", gives_back=True), HERE, None, T0) == []


def test_a_database_that_its_owner_keeps_locked_is_tried_again_and_not_for_ever() -> None:
    busy = SourceUnreadable("source_busy", path="/p")
    assert ended(busy).state is JobState.RETRYING
    last = ended(busy, replace(RUNNING, attempt=RUNNING.max_attempts))
    assert (last.state, last.outcome) == (JobState.FAILED, Outcome.SOURCE_GONE)
    assert ended(busy, IN_FRONT).state is JobState.FAILED
    assert ended(SourceUnreadable(path="/p")).state is JobState.FAILED

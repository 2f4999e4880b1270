"""The states of a job and its waits (docs/jobs.md)."""

import pytest

from mex_pipeline.domain.job import Ending, Job, JobState, Trigger, backoff_ms

MINUTE = 60_000


def job(**changes) -> Job:
    values = {
        "id": "j", "kind": "extract", "payload": {}, "state": JobState.QUEUED, "trigger": Trigger.COMMAND,
        "available_at": 0, "created_at": 0, "max_attempts": 10,
    } | changes  # fmt: skip
    return Job(**values)


def test_product_h8_a_state_waits_runs_or_is_final() -> None:
    assert {state for state in JobState if state.is_waiting} == {JobState.QUEUED, JobState.RETRYING}
    assert {state for state in JobState if state.is_final} == {JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED}
    assert [state for state in JobState if not state.is_waiting and not state.is_final] == [JobState.RUNNING]


def test_product_h8_states_are_spelt_as_they_are_stored() -> None:
    assert list(JobState) == ["queued", "running", "retrying", "succeeded", "failed", "cancelled"]
    assert f"{JobState.QUEUED}" == "queued"


@pytest.mark.parametrize(("trigger", "foreground"), [(one, one is Trigger.FOREGROUND) for one in Trigger])
def test_only_a_foreground_trigger_makes_a_foreground_job(trigger: Trigger, foreground: bool) -> None:
    assert job(trigger=trigger).is_foreground is foreground


def test_the_last_error_is_the_newest() -> None:
    assert job().last_error is None
    assert job(errors=({"code": "a"}, {"code": "b"})).last_error == {"code": "b"}


def test_an_ending_takes_nothing_back_unless_it_says_so() -> None:
    ending = Ending(JobState.FAILED)
    assert (ending.gives_back, ending.crashed, ending.bad_output, ending.error, ending.result) == (
        False, False, False, None, None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("attempt", "longest"),
    [(0, 15_000), (1, 15_000), (2, 30_000), (3, MINUTE), (8, 32 * MINUTE), (9, 60 * MINUTE), (500, 60 * MINUTE)],
)
def test_waits_double_from_fifteen_seconds_to_an_hour_and_are_spread(attempt: int, longest: int) -> None:
    assert backoff_ms(attempt, 0.0) == longest // 2
    assert backoff_ms(attempt, 0.999_999) in range(longest - 10, longest)
    assert backoff_ms(attempt, 0.5) == longest * 3 // 4

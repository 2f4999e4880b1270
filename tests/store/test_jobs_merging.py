"""Requests for one source: inserted, or merged into the job that waits for it (product D4, H4; docs/jobs.md)."""

from dataclasses import replace

import pytest

from mex_pipeline.domain.job import Ending, JobState, Trigger
from mex_pipeline.store import jobs
from tests.support.gateways import Gateway
from tests.support.jobs import T0, claimed, column, job, leave, read, retrying, submitted

MINUTE = 60_000


def test_a_job_comes_back_as_it_was_inserted(db: Gateway) -> None:
    wanted = job(
        None, given_text="我叫小陈", priority=10, batch_id="b", trigger=Trigger.FOREGROUND, max_attempts=1,
        payload={"adapter": "plain", "subject": "用户"},
    )  # fmt: skip
    assert db.first(jobs.insert_or_merge(wanted)) == (wanted.id, False)
    assert read(db, wanted.id) == replace(wanted, given_text=None, has_text=True), (
        "the words are read by who needs them"
    )
    assert db.first(jobs.text(wanted.id)) == "我叫小陈"
    assert column(db, wanted.id, "first_enqueued_at") == T0


def test_product_d4_a_second_request_joins_the_one_that_waits(db: Gateway) -> None:
    first = submitted(db)
    second = job()
    assert db.first(jobs.insert_or_merge(second)) == (first, True)
    assert [found.id for found in db.all(jobs.page(states=(), limit=9))] == [first]
    assert read(db, first).coalesced == 1


def test_requests_without_a_key_or_for_other_sources_stay_apart(db: Gateway) -> None:
    ids = [submitted(db, None), submitted(db, None), submitted(db, "/a"), submitted(db, "/b")]
    assert len(set(ids)) == 4


def test_a_request_for_a_running_source_becomes_a_second_row(db: Gateway) -> None:
    first = submitted(db)
    claimed(db, first)
    second = submitted(db)
    assert second != first
    assert submitted(db) == second


@pytest.mark.parametrize("state", [JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED])
def test_product_h4_ended_jobs_take_nothing_in(db: Gateway, state: JobState) -> None:
    first = submitted(db)
    leave(db, claimed(db, first), Ending(state))
    assert submitted(db) != first


def test_merging_keeps_the_higher_priority(db: Gateway) -> None:
    first = submitted(db, priority=5)
    submitted(db, priority=0)
    assert read(db, first).priority == 5
    submitted(db, priority=10)
    assert read(db, first).priority == 10


def test_merging_moves_a_queued_job_to_the_later_wish_but_not_for_ever(db: Gateway) -> None:
    """A busy session is extracted once per burst, and at the latest when the longest wait is over."""
    first = submitted(db, available_at=T0 + MINUTE)
    submitted(db, available_at=T0 + 2 * MINUTE)
    assert read(db, first).available_at == T0 + 2 * MINUTE
    submitted(db, available_at=T0)
    assert read(db, first).available_at == T0
    submitted(db, available_at=T0 + 10 * jobs.MAX_WAIT_MS, created_at=T0 + 5)
    assert read(db, first).available_at == T0 + jobs.MAX_WAIT_MS


def test_a_retrying_job_keeps_its_wait_when_requests_join(db: Gateway) -> None:
    first = retrying(db, until=T0 + MINUTE)
    assert submitted(db, available_at=T0) == first
    assert read(db, first).available_at == T0 + MINUTE
    assert read(db, first).state is JobState.RETRYING


def test_a_person_in_the_foreground_may_ask_a_retrying_job_at_once(db: Gateway) -> None:
    first = retrying(db, until=T0 + MINUTE)
    assert submitted(db, available_at=T0, trigger=Trigger.FOREGROUND) == first
    assert read(db, first).available_at == T0
    assert read(db, first).trigger is Trigger.COMMAND


def test_the_newest_request_says_how_to_read_the_source(db: Gateway) -> None:
    first = submitted(db, payload={"adapter": "plain", "path": "/s.jsonl"})
    submitted(db, payload={"adapter": "claude", "path": "/s.jsonl"})
    assert read(db, first).payload["adapter"] == "claude"


def test_a_request_of_the_background_makes_a_foreground_job_one_that_is_retried(db: Gateway) -> None:
    first = submitted(db, trigger=Trigger.FOREGROUND, max_attempts=1)
    submitted(db, trigger=Trigger.FOREGROUND, max_attempts=1)
    assert (read(db, first).trigger, read(db, first).max_attempts) == (Trigger.FOREGROUND, 1)
    submitted(db, trigger=Trigger.COMMAND, max_attempts=10)
    assert (read(db, first).trigger, read(db, first).max_attempts) == (Trigger.COMMAND, 10)
    submitted(db, trigger=Trigger.FOREGROUND, max_attempts=1)
    assert (read(db, first).trigger, read(db, first).max_attempts) == (Trigger.COMMAND, 10)

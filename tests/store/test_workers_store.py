"""Who works, what is paused, and what is asked to stop."""

import pytest

from mex_pipeline.errors import ExternalError
from mex_pipeline.store import job_reports, jobs, workers
from tests.support.gateways import Gateway
from tests.support.jobs import T0, claimed, submitted


def test_a_worker_is_written_down_and_removed(db: Gateway) -> None:
    db.run(workers.hello("o2", "host", 2, "1.0", T0 + 1), workers.hello("o1", "host", 1, "1.0", T0))
    first, second = db.all(workers.all_rows())
    assert first == {
        "owner": "o1", "host": "host", "pid": 1, "version": "1.0", "started_at": T0, "seen_at": T0, "state": "running",
    }  # fmt: skip
    assert second["owner"] == "o2"
    db.run(workers.gone("o1"), workers.gone("nobody"))
    assert [row["owner"] for row in db.all(workers.all_rows())] == ["o2"]


def test_an_owner_is_written_down_once(db: Gateway) -> None:
    db.run(workers.hello("o", "host", 1, "1.0", T0))
    with pytest.raises(ExternalError, match="internal"):
        db.run(workers.hello("o", "host", 2, "1.0", T0))


def test_a_pause_ends_by_time_or_by_hand_and_a_later_one_replaces_it(db: Gateway) -> None:
    db.run(workers.pause("llm", T0 + 10, "llm_auth", T0), workers.pause("*", T0 + 5, "disk_full", T0))
    assert db.all(workers.paused(T0)) == [
        {"scope": "*", "paused_until": T0 + 5, "reason": "disk_full"},
        {"scope": "llm", "paused_until": T0 + 10, "reason": "llm_auth"},
    ]
    assert [row["scope"] for row in db.all(workers.paused(T0 + 5))] == ["llm"]
    db.run(workers.pause("llm", T0 + 99, "llm_quota", T0 + 6))
    assert db.all(workers.paused(T0 + 20)) == [{"scope": "llm", "paused_until": T0 + 99, "reason": "llm_quota"}]
    db.run(workers.resume("llm"))
    assert db.all(workers.paused(T0 + 6)) == []


def test_a_stop_changes_a_mark_whatever_the_clock_says_and_pauses_nothing(db: Gateway) -> None:
    marks = [db.first(workers.stop_request())]
    for at in (T0, T0 + 5, T0 + 5, T0 - 1_000):
        db.run(workers.ask_stop(at))
        marks.append(db.first(workers.stop_request()))
    assert marks[0] is None
    assert len(set(marks)) == len(marks)
    assert db.all(workers.paused(T0)) == []


def test_jobs_are_counted_by_state(db: Gateway) -> None:
    assert db.all(job_reports.jobs_by_state()) == []
    claimed(db, submitted(db, "/1"))
    submitted(db, "/2")
    submitted(db, "/3")
    assert db.all(job_reports.jobs_by_state()) == [("queued", 2), ("running", 1)]


def test_a_pause_without_an_end_holds_until_it_is_lifted_and_a_request_to_stop_is_none(db: Gateway) -> None:
    submitted(db)
    db.run(workers.ask_stop(T0))
    assert len(db.all(jobs.due(T0, "llm:me"))) == 1
    for scope in ("*", "llm", "llm:me"):
        db.run(workers.pause(scope, None, workers.USER, T0))
        assert db.all(jobs.due(T0 * 2, "llm:me")) == []
        assert db.all(workers.paused(T0 * 2)) == [{"scope": scope, "paused_until": None, "reason": "user"}]
        assert db.run(workers.lift(scope, T0)) == 1
        assert len(db.all(jobs.due(T0, "llm:me"))) == 1


def test_only_the_paused_endpoint_is_held(db: Gateway) -> None:
    submitted(db)
    db.run(workers.pause_at_least("llm:one", T0 + 10, "llm_auth", T0))
    assert db.all(jobs.due(T0, "llm:one")) == []
    assert len(db.all(jobs.due(T0, "llm:other"))) == 1


@pytest.mark.parametrize(
    ("reason", "keeps"),
    [("circuit", True), ("offline", True), ("rate_limit", True), ("disk_full", True)]
    + [(reason, False) for reason in workers.FOR_A_PERSON],
)
def test_what_a_pause_holds_is_work_when_the_pause_ends_by_itself(db: Gateway, reason: str, keeps: bool) -> None:
    """A worker that left meanwhile would never come back to it; one that waited for a person would wait for ever."""
    submitted(db)
    db.run(workers.pause("llm:me", T0 + 10, reason, T0))
    assert (db.first(jobs.has_work(T0, "llm:me")) is not None) is keeps
    assert db.first(jobs.has_work(T0 + 10, "llm:me")) is not None


def test_a_fault_never_shortens_a_pause_and_a_person_may(db: Gateway) -> None:
    def until(scope: str) -> list[int | None]:
        return [row["paused_until"] for row in db.all(workers.paused(T0)) if row["scope"] == scope]

    db.run(workers.pause("*", None, workers.USER, T0), workers.pause_at_least("*", T0 + 5, "disk_full", T0))
    assert until("*") == [None]
    db.run(workers.pause_at_least("llm:me", T0 + 9, "llm_auth", T0))
    db.run(workers.pause_at_least("llm:me", T0 + 5, "circuit", T0))
    assert until("llm:me") == [T0 + 9]
    db.run(workers.pause_at_least("llm:me", T0 + 20, "rate_limit", T0))
    assert until("llm:me") == [T0 + 20]
    db.run(workers.pause("*", T0 + 3, workers.USER, T0))
    assert until("*") == [T0 + 3]


def test_lifting_all_model_work_lifts_every_endpoint_and_counts_the_pauses_in_force(db: Gateway) -> None:
    for scope in ("llm", "llm:one", "llm:two", "llmother", "*"):
        db.run(workers.pause(scope, T0 + 10, "x", T0))
    db.run(workers.pause("llm:old", T0 - 1, "circuit", T0 - 5), workers.count_failure("llm:three", T0))
    assert db.run(workers.lift("llm", T0)) == 3
    db.run(workers.resume("llm"))
    assert db.first(workers.control("llm:three")) is None
    assert [row["scope"] for row in db.all(workers.paused(T0))] == ["*", "llmother"]


def test_a_clock_set_back_stretches_no_pause_of_the_program_and_leaves_a_persons_alone(db: Gateway) -> None:
    assert db.first(workers.overdue(T0)) is None
    db.run(workers.pause("*", T0 + 99, workers.USER, T0), workers.pause("llm", None, workers.USER, T0))
    assert db.first(workers.overdue(T0 + 50)) is None
    db.run(workers.pause("llm:me", T0 + 99, "offline", T0))
    assert db.first(workers.overdue(T0 + 50)) == 1
    db.run(workers.clamp_pauses(T0, T0 + 50))
    assert [(row["scope"], row["paused_until"]) for row in db.all(workers.paused(T0))] == [
        ("*", T0 + 99),
        ("llm", None),
    ]


def test_an_answer_ends_a_row_of_failures_and_the_pause_for_them_but_no_other(db: Gateway) -> None:
    def known(scope: str) -> tuple[int, int]:
        row = db.first(workers.control(scope))
        assert row is not None
        return row["failures"], row["paused_until"]

    db.run(workers.count_failure("llm:me", T0), workers.count_failure("llm:me", T0 + 1))
    assert known("llm:me") == (2, 0)
    assert db.all(workers.paused(T0)) == []
    db.run(workers.pause_at_least("llm:me", T0 + 9, "circuit", T0))
    db.run(workers.pause_at_least("llm:key", T0 + 9, "llm_auth", T0), workers.count_failure("llm:key", T0))
    assert db.run(workers.answered("llm:me")) == 1
    assert known("llm:me") == (0, 0)
    assert db.run(workers.answered("llm:me")) == 0, "nothing is written when there is nothing to reset"
    assert db.run(workers.answered("llm:key")) == 1
    assert known("llm:key") == (0, T0 + 9)
    assert db.run(workers.answered("llm:unknown")) == 0


def test_a_wake_up_that_runs_into_a_pause_is_sent_anew_when_it_ends(db: Gateway) -> None:
    """Not a minute later, when it would count as lost."""
    held, idle = submitted(db, "/1"), submitted(db, "/2")
    db.run(jobs.mark_published(held, T0, "llm:me"), jobs.mark_published(idle, T0, "llm:me"))
    db.run(workers.pause_at_least("llm:me", T0 + 10, "circuit", T0))
    assert db.run(jobs.wake_later(held, T0, "llm:me")) == 1
    assert db.run(jobs.mark_published(held, T0, "llm:me")) == 0, "the pause was faster than the mark"
    assert db.all(jobs.due(T0, "llm:me")) == []
    assert [job_id for job_id, _ in db.all(jobs.due(T0 + 10, "llm:me"))] == [held]
    assert db.run(jobs.wake_later(idle, T0 + 10, "llm:me")) == 0

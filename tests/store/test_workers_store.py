"""Who works, what is paused, and what is asked to stop."""

import pytest

from mex_pipeline.errors import ExternalError
from mex_pipeline.store import stats, workers
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
    marks = [db.first(workers.stop_mark())]
    for at in (T0, T0 + 5, T0 + 5, T0 - 1_000):
        db.run(workers.ask_stop(at))
        marks.append(db.first(workers.stop_mark()))
    assert marks[0] is None
    assert len(set(marks)) == len(marks)
    assert db.all(workers.paused(T0)) == []


def test_jobs_are_counted_by_state(db: Gateway) -> None:
    assert db.all(stats.jobs_by_state()) == []
    claimed(db, submitted(db, "/1"))
    submitted(db, "/2")
    submitted(db, "/3")
    assert db.all(stats.jobs_by_state()) == [("queued", 2), ("running", 1)]

"""The arithmetic of the budget: when a call may begin, what counts, and what parks whom (product C10)."""

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mex_pipeline.clock import from_iso, local_midnight, millis
from mex_pipeline.domain.job import Ending, JobState, Outcome, Trigger
from mex_pipeline.errors import OverBudget
from mex_pipeline.services import endings
from mex_pipeline.services.endings import for_error
from mex_pipeline.services.spending import UnderWay, require
from mex_pipeline.settings import BudgetSettings
from mex_pipeline.store import jobs, usage, workers
from mex_pipeline.store.usage import Spent
from tests.support.gateways import Gateway, fresh, opened, rows
from tests.support.jobs import T0, claimed, due, job, leave, submitted

DAILY = BudgetSettings(daily_tokens=1000)
PER_JOB = BudgetSettings(job_tokens=1000)
HERE = "llm:here/1/1/0"
MIDNIGHT = "2026-08-06T16:00:00Z"


def over(code: str, job_id: str = "j") -> OverBudget:
    return OverBudget(code, id=job_id, spent=1, next=2, cap=2, until=MIDNIGHT)


def refused(budget: BudgetSettings, spent: Spent, tokens: int) -> str | None:
    try:
        require(budget, spent, tokens, "j", MIDNIGHT)
    except OverBudget as error:
        return error.code
    return None


def test_a_call_may_use_the_budget_up_and_not_pass_it() -> None:
    assert refused(DAILY, Spent(900, 0), 100) is None
    assert refused(DAILY, Spent(900, 0), 101) == "budget_daily"
    assert refused(PER_JOB, Spent(0, 900), 100) is None
    assert refused(PER_JOB, Spent(0, 900), 101) == "budget_job"


def test_without_a_cap_nothing_is_refused() -> None:
    assert refused(BudgetSettings(), Spent(10**12, 10**12), 10**9) is None


def test_the_job_s_own_budget_comes_first_for_it_does_not_hold_up_the_others() -> None:
    assert refused(BudgetSettings(daily_tokens=10, job_tokens=10), Spent(10, 10), 1) == "budget_job"


def test_a_call_larger_than_a_whole_day_parks_its_own_job_and_not_all_of_them() -> None:
    """No midnight would let it go, and every midnight it would use up the day for the others."""
    assert refused(DAILY, Spent(0, 0), 1001) == "budget_input"


def test_what_a_person_allows_is_allowed() -> None:
    assert refused(DAILY, Spent(5000, 0, day_may=True), 100) is None
    assert refused(PER_JOB, Spent(0, 5000, job_may=True), 100) is None
    assert refused(PER_JOB, Spent(0, 5000, day_may=True), 100) == "budget_job", "the day is not the job"


def test_calls_that_are_under_way_count_before_their_cost_is_known() -> None:
    under_way = UnderWay()
    seen: list[tuple[int, int]] = []
    for job_id in ("a", "a", "b"):
        assert under_way.enter(under_way.mark, job_id, 40, lambda day, job: seen.append((day, job)))
    assert seen == [(0, 0), (40, 40), (80, 0)]
    under_way.leave("a", 40)
    assert under_way.enter(under_way.mark, "a", 5, lambda day, job: seen.append((day, job)))
    assert seen[-1] == (80, 40)


def test_a_call_that_ended_while_the_books_were_read_has_them_read_again() -> None:
    """Its cost is in neither of the two sums otherwise."""
    under_way = UnderWay()
    under_way.enter(under_way.mark, "a", 40, lambda *_: None)
    mark = under_way.mark
    under_way.leave("a", 40)
    assert under_way.enter(mark, "b", 40, lambda *_: None) is False


def test_of_many_threads_exactly_those_get_in_that_the_budget_has_room_for() -> None:
    under_way, entered = UnderWay(), []

    def judge(day: int, _: int) -> None:
        require(DAILY, Spent(day, 0), 100, "j", MIDNIGHT)

    def one() -> None:
        try:
            entered.append(under_way.enter(under_way.mark, "j", 100, judge))
        except OverBudget:
            entered.append(False)

    threads = [threading.Thread(target=one) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert entered.count(True) == 10


@pytest.mark.parametrize("code", ["budget_daily", "budget_job", "budget_input"])
def test_a_job_over_budget_goes_back_to_the_queue_with_its_attempt(code: str) -> None:
    ending = for_error(over(code), job(attempt=1, state=JobState.RUNNING), T0)
    assert (ending.state, ending.reason, ending.gives_back, ending.outcome) == (JobState.QUEUED, code, True, None)
    assert ending.available_at == T0, "what holds it is lifted at any moment"
    assert ending.error is not None
    assert (ending.error["params"], ending.error["retryable"]) == (over(code).params, True)


def test_in_the_foreground_it_fails_and_pauses_nobody() -> None:
    taken = job(attempt=1, trigger=Trigger.FOREGROUND, max_attempts=1)
    ending = for_error(over("budget_daily"), taken, T0)
    assert (ending.state, ending.reason, ending.outcome) == (JobState.FAILED, "budget_daily", Outcome.LLM_ERROR)
    assert endings.pauses(ending, HERE, None, T0) == []


def parked(code: str, job_id: str = "j") -> Ending:
    return for_error(over(code, job_id), job(attempt=1), T0)


def test_the_day_s_budget_pauses_every_job_of_the_endpoint_until_that_day_ends() -> None:
    """Not until the end of the day in which the pause is written: midnight may come in between."""
    (pause,) = endings.pauses(parked("budget_daily"), HERE, None, T0)
    assert (pause.params["scope"], pause.params["reason"]) == (HERE, "budget_daily")
    assert pause.params["until"] == millis(from_iso(MIDNIGHT))


@pytest.mark.parametrize("code", ["budget_job", "budget_input"])
def test_the_budget_of_one_job_pauses_that_job_until_a_person_acts(code: str) -> None:
    (pause,) = endings.pauses(parked(code), HERE, None, T0)
    assert (pause.params["scope"], pause.params["until"]) == (f"{HERE}:j", None)


@pytest.mark.parametrize(("zone", "hour"), [("UTC", 0), ("Asia/Shanghai", 16), ("America/New_York", 4)])
def test_the_day_begins_at_local_midnight(zone: str, hour: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        noon = datetime(2026, 7, 15, 12, tzinfo=UTC)
        began, ends = local_midnight(noon), local_midnight(noon, days=1)
        assert (began.hour, (ends - began).total_seconds()) == (hour, 86400)
        assert began <= noon < ends
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_day_of_25_hours_ends_at_its_midnight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        noon = datetime(2026, 10, 25, 11, tzinfo=UTC)
        assert (local_midnight(noon, days=1) - local_midnight(noon)).total_seconds() == 25 * 3600
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Gateway]:
    with opened("sync", fresh(tmp_path / "mex.db")) as gateway:
        rows(gateway, "PRAGMA synchronous = OFF")
        yield gateway


def claims(db: Gateway, job_id: str, endpoint: str = HERE) -> bool:
    return db.first(jobs.claim(job_id, "me", T0, "1", heed_pause=True, endpoint=endpoint)) is not None


def test_a_parked_job_is_neither_due_nor_claimed_and_keeps_no_worker(db: Gateway) -> None:
    one, other = submitted(db, "/1"), submitted(db, "/2")
    db.run(workers.pause(f"{HERE}:{one}", None, "budget_job", T0))
    assert [found for found, _ in db.all(jobs.due(T0, HERE))] == [other]
    assert not claims(db, one)
    assert claims(db, other)
    assert db.first(jobs.has_work(T0, HERE)) is None, "only a person can let it go on"


def test_another_budget_or_endpoint_is_another_scope_so_that_the_job_is_looked_at_again(db: Gateway) -> None:
    one = submitted(db, "/1")
    db.run(workers.pause(f"{HERE}:{one}", None, "budget_job", T0))
    assert claims(db, one, "llm:here/2/1/0")


def test_a_worker_stays_for_the_end_of_the_day(db: Gateway) -> None:
    submitted(db, "/1")
    db.run(workers.pause_at_least(HERE, T0 + 1, "budget_daily", T0))
    assert db.first(jobs.has_work(T0, HERE)) == 1
    assert db.all(jobs.due(T0, HERE)) == []
    assert len(db.all(jobs.due(T0 + 1, HERE))) == 1


@pytest.mark.parametrize("reason", ["budget_daily", "budget_job"])
def test_a_job_that_may_pass_its_budget_is_held_by_none_but_by_every_other_pause(db: Gateway, reason: str) -> None:
    one = submitted(db, "/1")
    scope = HERE if reason == "budget_daily" else f"{HERE}:{one}"
    db.run(workers.pause(scope, None, reason, T0))
    assert not claims(db, one)
    db.run(usage.let_job(one))
    assert [found for found, _ in db.all(jobs.due(T0, HERE))] == [one]
    db.run(workers.pause("llm", None, workers.USER, T0))
    assert not claims(db, one)


def test_a_clock_that_was_set_back_stretches_the_day_by_no_more_than_a_day(db: Gateway) -> None:
    hour, day = 3_600_000, 86_400_000
    db.run(workers.pause_at_least("llm:a", T0 + 25 * hour, "budget_daily", T0))
    db.run(workers.pause_at_least("llm:b", T0 + 26 * hour, "budget_daily", T0))
    db.run(workers.pause_at_least("llm:c", T0 + day, "circuit", T0))
    assert db.first(workers.overdue(T0 + hour)) == 1
    db.run(workers.clamp_pauses(T0, T0 + hour))
    assert [row["scope"] for row in db.all(workers.paused(T0))] == ["llm:a"]
    assert db.first(workers.overdue(T0 + hour)) is None


def test_a_retry_of_another_job_and_a_new_key_leave_what_a_budget_holds(db: Gateway) -> None:
    db.run(workers.pause_at_least(HERE, T0 + 9, "budget_daily", T0), workers.pause(f"{HERE}:j", None, "budget_job", T0))
    db.run(workers.pause_at_least("llm:b", T0 + 9, "circuit", T0), workers.forget_faults())
    assert [row["reason"] for row in db.all(workers.paused(T0))] == ["budget_daily", "budget_job"]


def spent(db: Gateway, job_id: str, source: str = "/s") -> Spent:
    found = db.first(usage.spent(job_id, source, "2026-08-06T00:00:00Z", T0))
    assert found is not None
    return found


def test_the_day_counts_everybody_s_tokens_and_the_job_all_its_attempts(db: Gateway) -> None:
    for job_id, at in (("j", "2026-08-05T23:59:59Z"), ("j", "2026-08-06T00:00:00Z"), ("k", "2026-08-06T09:00:00Z")):
        db.run(usage.record("extract", "m", 100, 20, job_id, at, "claude"))
    db.run(usage.record("setup", "m", 5, 1, None, "2026-08-06T09:00:00Z"))
    assert (spent(db, "j").day, spent(db, "j").job) == (246, 240)
    assert spent(db, "nobody") == Spent(246, 0)


def test_a_job_that_took_over_others_of_its_source_has_spent_what_they_have(db: Gateway) -> None:
    """Or every request of a hook would bring a new budget for the same turns."""
    first = claimed(db, submitted(db, "/s"))
    second_id = submitted(db, "/s")
    db.run(usage.record("extract", "m", 100, 20, first.id, "2026-08-06T09:00:00Z"))
    assert leave(db, first, parked("budget_job", first.id), sibling=second_id) == 1
    assert spent(db, second_id, "/s").job == 120
    assert due(db) == [second_id]


def test_a_lifted_day_is_over_at_midnight(db: Gateway) -> None:
    db.run(usage.lift_day(T0))
    assert db.first(usage.lifted_since(T0)) == 1
    assert db.first(usage.lifted_since(T0 + 1)) is None
    db.run(workers.resume("*"), workers.resume("llm"))
    assert db.first(usage.lifted_since(T0)) == 1, "resuming once more takes nothing back"

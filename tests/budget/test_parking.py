"""Jobs that a budget parks, in real processes: no call, nothing lost, and what lets them go on (product C10, H8)."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mex_pipeline.clock import iso
from tests.budget.budgets import EACH, EVERY_HOBBY, budget, calls, claims, pauses, session, shown, spend, submitted
from tests.support import archives
from tests.support.model_server import ModelServer, running
from tests.support.program import contents, edit, in_process, mex, opened, until, worker


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A time zone in which midnight is far away, whenever the test runs."""
    monkeypatch.setenv("TZ", f"HERE{datetime.now(UTC).hour - 12:+d}")


def parked(home: Path, *reasons: str) -> list[tuple[str, str]]:
    """The pauses, as soon as there are as many as reasons, with these."""
    found = until(lambda: len(now := pauses(home)) == len(reasons) and now)
    assert sorted(reason for _, reason in found) == sorted(reasons)
    return list(found)


def all_succeeded(*jobs: str) -> bool:
    return all(shown(one)["state"] == "succeeded" for one in jobs)


def test_a_day_that_is_used_up_parks_every_job_without_a_call_until_midnight(
    model: ModelServer, home: Path, tmp_path: Path
) -> None:
    model.script(EVERY_HOBBY)
    budget(home, daily_tokens=50_000)
    spend(49_000)
    waiting = [submitted(session(tmp_path, number)) for number in range(3)]
    clock = tmp_path / "offset"
    clock.write_text("0", encoding="ascii")
    with worker(MEX_TEST_CLOCK=str(clock)) as process:
        ((scope, _),) = parked(home, "budget_daily")
        assert scope.endswith("/50000/0/0"), "another budget is another pause"
        for one in waiting:
            told = mex("jobs", "wait", one, ok=False)
            assert told.code == 2
            assert "49000 of 50000 tokens" in told.out + told.err
            assert "mex jobs resume" in told.out + told.err
        assert claims(home) <= 2, "a job that is parked costs a worker nothing"
        assert [(job["state"], job["attempt"]) for job in map(shown, waiting)] == [("queued", 0)] * 3
        assert model.requests() == []
        clock.write_text(str(13 * 3600), encoding="ascii")
        until(lambda: all_succeeded(*waiting))
        assert process.poll() is None, "it ends by itself, so a worker stays for it"
    assert len(model.requests()) == 3


def test_status_doctor_list_and_stats_tell_what_is_parked_with_numbers_and_what_to_do(
    model: ModelServer, home: Path, tmp_path: Path
) -> None:
    budget(home, daily_tokens=50_000)
    spend(49_000)
    one = submitted(session(tmp_path, 1))
    with worker():
        parked(home, "budget_daily")
        until(lambda: shown(one)["reason"] == "budget_daily")
    listed = mex("jobs", "list")
    assert f"{49_000 + shown(one)['error']['params']['next']} of 50000 tokens" in listed.out
    for told in (listed.err, in_process().out, mex("doctor", "--offline", ok=False).out, mex("jobs", "show", one).out):
        assert "49000 of 50000 tokens" in told
        assert "mex jobs resume" in told
    assert "49000 tokens of 50000; 1000 left" in mex("stats").out
    assert "上限 50000 token，已用 49000" in mex("jobs", "show", one, "--lang", "zh").out
    assert mex("stats", "--json").json["spending"]["today"] == {"spent": 49_000, "cap": 50_000, "left": 1_000}


def test_resuming_lets_the_day_s_budget_be_passed_until_the_day_is_over(
    model: ModelServer, home: Path, tmp_path: Path
) -> None:
    model.script(EVERY_HOBBY)
    budget(home, daily_tokens=50_000)
    spend(49_000)
    first = submitted(session(tmp_path, 1))
    with worker():
        parked(home, "budget_daily")
        mex("jobs", "retry", first)
        assert [reason for _, reason in pauses(home)] == ["budget_daily"], "a retry by itself lifts no budget"
        mex("jobs", "resume")
        later = submitted(session(tmp_path, 2))
        until(lambda: all_succeeded(first, later))
    assert mex("stats", "--json").json["spending"]["today"]["cap"] is None


def test_raising_the_cap_in_the_settings_lets_them_go_on_at_once(
    model: ModelServer, home: Path, tmp_path: Path
) -> None:
    model.script(EVERY_HOBBY)
    budget(home, daily_tokens=50_000)
    spend(49_000)
    first = submitted(session(tmp_path, 1))
    with worker():
        parked(home, "budget_daily")
        budget(home, daily_tokens=100_000)
        until(lambda: all_succeeded(first))
    assert mex("jobs", "wait", first).code == 0


def test_a_job_beyond_its_own_budget_waits_alone_keeps_what_was_paid_and_goes_on_when_told(
    model: ModelServer, home: Path, tmp_path: Path
) -> None:
    model.script(EVERY_HOBBY)
    budget(home, job_tokens=1)
    big = submitted(session(tmp_path, 1, turns=6))
    with worker(**EACH):
        ((scope, _),) = parked(home, "budget_job")
        assert scope.endswith(f":{big}")
        assert model.requests() == []
        budget(home, job_tokens=shown(big)["error"]["params"]["next"] + 1000)
        until(lambda: model.requests() and shown(big)["reason"] == "budget_job")
        paid = len(model.requests())
        assert 1 < paid < 6
        small = submitted(session(tmp_path, 2))
        until(lambda: all_succeeded(small))
        told = mex("jobs", "wait", big, ok=False)
        assert told.code == 2
        assert f"mex jobs retry {big} --over-budget" in told.out
        assert f"{120 * paid} tokens" in told.out
        job = shown(big)
        assert (job["state"], job["attempt"]) == ("queued", 0)
        assert contents() == ["养蜂20号"], "nothing of a job that has not ended is written"
        assert f"mex jobs retry {big} --over-budget" in in_process().out
        assert f"mex jobs retry {big} --over-budget" in mex("doctor", "--offline", ok=False).out
        mex("jobs", "retry", big, "--over-budget")
        until(lambda: all_succeeded(big))
    assert len(contents()) == 7
    assert len(model.requests()) == 7, "each chunk was paid for once"


def test_what_one_job_may_send_is_looked_at_before_its_first_call(
    model: ModelServer, home: Path, tmp_path: Path
) -> None:
    model.script(EVERY_HOBBY)
    one, whole = session(tmp_path, 1), session(tmp_path, 2, turns=6)
    sizes = [
        mex("extract", "--dry-run", "--file", str(path), "--json", **EACH).json["input_tokens"] for path in (one, whole)
    ]
    budget(home, job_input_tokens=(sizes[0] + sizes[1]) // 2)
    small, big = submitted(one), submitted(whole)
    with worker(**EACH):
        parked(home, "budget_input")
        until(lambda: all_succeeded(small))
        assert len(model.requests()) == 1
        assert mex("jobs", "wait", big, ok=False).code == 2
        budget(home, job_input_tokens=0)
        until(lambda: all_succeeded(big))


def test_in_the_foreground_a_cap_is_an_error_that_names_the_numbers_and_loses_nothing(
    model: ModelServer, home: Path, tmp_path: Path
) -> None:
    model.script(EVERY_HOBBY)
    budget(home, daily_tokens=50_000)
    spend(49_000)
    told = mex("extract", "--file", str(session(tmp_path, 1)), ok=False)
    assert told.code == 2
    assert "49000 of 50000 tokens" in told.err
    assert "--over-budget" in told.err
    (job,) = mex("jobs", "list", "--json").json
    assert (job["state"], job["reason"], job["outcome"]) == ("failed", "budget_daily", "llm_error")
    assert pauses(home) == [], "a foreground job pauses nobody"
    mex("jobs", "retry", job["job_id"], "--over-budget")
    assert mex("jobs", "wait", job["job_id"]).code == 0
    mex("worker", "stop")
    assert contents() == ["养蜂10号"]
    assert len(model.requests()) == 1


def test_parallel_calls_together_stay_within_the_budget(model: ModelServer, home: Path, tmp_path: Path) -> None:
    """Each alone would have room; their costs are known only when they are over."""
    model.script({"hobbies": True, "delay": 0.3})
    path = session(tmp_path, 1, turns=6)
    size = mex("extract", "--dry-run", "--file", str(path), "--json", MEX_EXTRACTION_CHUNK_TOKENS="200").json
    budget(home, job_tokens=int(2.5 * size["input_tokens"] / size["calls"]))
    mex("extract", "--file", str(path), ok=False, MEX_EXTRACTION_CHUNK_TOKENS="200", MEX_LLM_CONCURRENCY="6")
    assert len(model.requests()) == 2
    assert len(calls(home)) == 2


def test_two_endpoints_have_circuits_of_their_own(model: ModelServer, home: Path, tmp_path: Path) -> None:
    """Many jobs of one that fails do not hammer it; another is asked meanwhile, and the first stays left alone."""
    model.script({"status": 503, "body": "upstream"})
    waiting = [submitted(session(tmp_path, number)) for number in range(8)]
    quick = {"MEX_LLM_MAX_RETRIES": "0", "MEX_LLM_RETRY_BASE_SECONDS": "0.01"}
    with running(tmp_path / "other") as other, worker("--threads", "1", **quick):
        other.script(EVERY_HOBBY)
        parked(home, "circuit")
        assert len(model.requests()) == 3
        edit(home / "config.yaml", model.url, other.url)
        until(lambda: all_succeeded(*waiting[3:]))
        assert len(other.requests()) >= 5
        assert len(model.requests()) == 3
        assert [reason for _, reason in pauses(home)] == ["circuit"], "what answers elsewhere says nothing of it"


def test_every_call_names_the_agent_whose_session_it_was_for(model: ModelServer, home: Path, tmp_path: Path) -> None:
    model.script(EVERY_HOBBY)
    mex("extract", "--file", str(session(tmp_path, 1)))
    mex("extract", "我的爱好是下棋。")
    assert [(row["agent"], row["prompt_tokens"]) for row in calls(home)] == [("claude", 100), ("plain", 100)]
    spending = mex("stats", "--json").json["spending"]
    assert [(row["agent"], row["calls"]) for row in spending["by_agent"]] == [("claude", 1), ("plain", 1)]
    assert (spending["jobs"], spending["tokens"], spending["tokens_per_job"]) == (2, 240, 120)
    assert (spending["memories"], spending["tokens_per_memory"]) == (2, 120)
    assert [row["tokens"] for row in spending["most_expensive"]] == [120, 120]
    told = mex("stats").out
    assert "· claude: 1 calls, 100 + 20 tokens" in told
    assert "120 tokens for each of the 2 memories" in told


def test_yesterday_s_calls_are_not_today_s(model: ModelServer, home: Path) -> None:
    spend(500)
    with opened(home / "mex.db") as db:
        db.execute("UPDATE llm_usage SET created_at = ?", [iso(datetime.now(UTC) - timedelta(days=1))])
    assert mex("stats", "--json").json["spending"]["today"]["spent"] == 0


def test_the_conversations_of_an_export_are_parked_one_by_one_and_the_export_with_them(
    model: ModelServer, home: Path, tmp_path: Path
) -> None:
    model.script(EVERY_HOBBY)
    budget(home, job_tokens=1)
    export = archives.queued(tmp_path / "conversations.json", *archives.told(range(2)), options=("--yes",))
    assert archives.run(home, export)
    archives.run_children(home, export)
    told = mex("jobs", "wait", export, "--timeout", "60", ok=False, MEX_WORKER_AUTOSTART="false")
    assert told.code == 2
    assert model.requests() == []
    assert len(pauses(home)) == 2
    budget(home, job_tokens=0)
    archives.run_children(home, export)
    assert mex("jobs", "wait", export).code == 0
    assert contents() == ["养蜂0号", "养蜂1号"]


def test_what_was_parked_is_forgotten_when_its_job_is_over(model: ModelServer, home: Path, tmp_path: Path) -> None:
    budget(home, job_tokens=1)
    one = submitted(session(tmp_path, 1))
    assert archives.run(home, one)
    assert len(pauses(home)) == 1
    mex("jobs", "prune")
    assert len(pauses(home)) == 1, "it is still parked"
    mex("jobs", "cancel", one)
    mex("jobs", "prune")
    assert pauses(home) == []

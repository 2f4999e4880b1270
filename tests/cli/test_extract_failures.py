"""What happens when the model does not answer: nothing is written, and what to do is said."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.support.model_server import ModelServer, reply
from tests.support.program import memories, mex, until, worker
from tests.support.sessions import SessionFile

FAST = {"MEX_LLM_RETRY_BASE_SECONDS": "0.01"}
NAME = {"topic": "basic_info", "sub_topic": "name", "content": "林晓舟", "quote": "我叫林晓舟", "turn": 1}

FAULTS: dict[str, tuple[dict[str, Any], str, int]] = {
    "refusing": ({"status": 401, "body": '{"error": {"message": "bad key sk-test"}}'}, "llm_auth", 1),
    "limiting": ({"status": 429, "body": '{"error": {"message": "slow down"}}'}, "llm_rate_limited", 4),
    "failing": ({"status": 503, "body": "upstream"}, "llm_server_error", 4),
    "babbling": ({"reply": "Sure! I would be happy to help."}, "llm_bad_reply", 2),
    "a web page": ({"body": "<html>hello</html>", "headers": {"content-type": "text/html"}}, "llm_not_an_api", 2),
}


@pytest.fixture
def session(tmp_path: Path) -> str:
    """A session with one user turn."""
    return str(SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟").path)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_foreground_extraction_fails_with_exit_2_and_writes_nothing(
    model: ModelServer, session: str, fault: str
) -> None:
    """Product C8: one attempt, exit 2, a hint, and nothing later unless it is retried."""
    rule, code, calls = FAULTS[fault]
    model.script(rule)
    failed = mex("extract", "--file", session, ok=False, **FAST)
    assert failed.code == 2
    assert failed.err.startswith("Error: ")
    assert "Nothing was written" in failed.err
    assert "sk-test" not in failed.err
    assert memories() == []
    (job,) = mex("jobs", "list", "--json").json
    assert (job["state"], job["error"]["code"]) == ("failed", code)
    # A refused structured format is asked for again without it, so a 503 may cost a few calls more.
    assert len(model.requests()) >= calls


def test_a_dead_endpoint_fails_with_exit_2_and_says_what_to_do(session: str) -> None:
    """Nothing listens there."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mex("config", "llm", "--base-url", f"http://127.0.0.1:{port}/v1", "--api-key", "k", "--model", "m1")
    failed = mex("extract", "--file", session, ok=False, **FAST)
    assert failed.code == 2
    assert f"http://127.0.0.1:{port} cannot be reached" in failed.err
    error = json.loads(mex("extract", "--file", session, "--json", ok=False, **FAST).out)["error"]
    assert (error["code"], error["retryable"]) == ("llm_unreachable", True)
    assert memories() == []


def test_failed_calls_are_on_the_books_and_a_retry_asks_only_for_what_is_missing(
    model: ModelServer, tmp_path: Path
) -> None:
    """Product G3, H5: tokens spent in vain are recorded; replies that arrived are used again."""
    session = SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟。" + "话" * 150, "第二块。" + "话" * 150)
    model.script(
        {"when": "第二块", "reply": "no json here", "times": 2}, {"when": "我叫林晓舟。话", "reply": reply(NAME)}
    )
    settings = {"MEX_EXTRACTION_CHUNK_TOKENS": "200", **FAST}
    assert mex("extract", "--file", str(session.path), ok=False, **settings).code == 2
    assert mex("stats", "--json").json["llm_usage"]["calls"] == 3
    (job,) = mex("jobs", "list", "--json").json
    with worker(**settings):
        mex("jobs", "retry", job["job_id"], MEX_WORKER_AUTOSTART="false")
        mex("jobs", "wait", job["job_id"], "--timeout", "30")
    assert model.asked("第二块") == 3
    assert model.asked("我叫林晓舟") == 1
    done = mex("jobs", "show", job["job_id"], "--json").json
    assert (done["state"], done["usage"]["reused"]) == ("succeeded", 1)
    assert [memory["content"] for memory in memories()] == ["林晓舟"]


@pytest.mark.parametrize(
    ("fault", "state", "reason"),
    [
        ("refusing", "queued", "llm_auth"),
        ("limiting", "retrying", "rate_limit"),
        ("failing", "retrying", "error"),
        ("babbling", "retrying", "error"),
    ],
)
def test_a_background_extraction_says_where_it_stands(
    model: ModelServer, session: str, fault: str, state: str, reason: str
) -> None:
    """Product C8, H8: the job waits, with its reason, and is finished when the cause is gone."""
    model.script({**FAULTS[fault][0]})
    with worker(**FAST):
        submitted = mex("extract", "--async", "--file", session, "--json", MEX_WORKER_AUTOSTART="false").json
        assert set(submitted) == {"job_id", "state", "merged", "worker"}

        def shown() -> Any:
            return mex("jobs", "show", submitted["job_id"], "--json").json

        until(lambda: shown()["error"])
        job = shown()
        assert (job["state"], job["reason"]) == (state, reason)
        assert job["error"]["code"] == FAULTS[fault][1]
        assert memories() == []
        if state == "queued":
            waited = mex("jobs", "wait", submitted["job_id"], ok=False)
            assert waited.code == 2
            assert "mex config llm" in waited.out
        model.script({"reply": reply(NAME)})
        mex("jobs", "retry", submitted["job_id"], MEX_WORKER_AUTOSTART="false")
        mex("jobs", "wait", submitted["job_id"], "--timeout", "30")
    assert [memory["content"] for memory in memories()] == ["林晓舟"]


def test_a_right_key_lets_go_of_the_jobs_a_wrong_one_had_paused(model: ModelServer, session: str) -> None:
    """`mex config llm` is what the hint asks for, so it is enough."""
    model.script(FAULTS["refusing"][0])
    with worker(**FAST):
        job = mex("extract", "--async", "--file", session, "--json", MEX_WORKER_AUTOSTART="false").json["job_id"]
        until(lambda: mex("jobs", "show", job, "--json").json["reason"] == "llm_auth")
        assert mex("worker", "status", "--json").json["paused"][0]["reason"] == "llm_auth"
        model.script({"reply": reply(NAME)})
        mex("config", "llm", "--api-key", "sk-right", MEX_WORKER_AUTOSTART="false")
        assert mex("jobs", "wait", job, "--timeout", "30", "--json").json["outcome"] == "committed"


def test_three_unusable_answers_end_a_background_job_as_unparseable(model: ModelServer, session: str) -> None:
    """Product H7: one reminder per attempt, three attempts."""
    model.script({"reply": "just words"})
    with worker(**FAST):
        job = mex("extract", "--async", "--file", session, "--json", MEX_WORKER_AUTOSTART="false").json["job_id"]
        for attempt in (1, 2, 3):
            until(lambda number=attempt: len(model.requests()) == 2 * number)
            until(lambda: mex("jobs", "show", job, "--json").json["state"] != "running")
            if attempt < 3:
                mex("jobs", "retry", job, MEX_WORKER_AUTOSTART="false")
        ended = mex("jobs", "wait", job, "--json", ok=False)
    assert ended.code == 2
    assert (ended.json["state"], ended.json["outcome"]) == ("failed", "unparseable")


def test_the_valid_part_of_a_reply_is_kept(model: ModelServer, session: str) -> None:
    """Product C4: each candidate is judged by itself."""
    bad = {"topic": "work", "sub_topic": "salary_of_my_cat", "content": "x"}
    model.script({"reply": reply(NAME, bad, {"topic": "job", "content": "y"}, {"content": "  "})})
    result = mex("extract", "--file", session, "--json").json
    assert [memory["content"] for memory in result["added"]] == ["林晓舟"]
    assert len(result["discarded"]) == 3
    shown = mex("jobs", "show", result["job_id"]).out
    assert "is not defined" in shown

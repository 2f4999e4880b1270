"""Endpoints that fail, sources that change and sessions that end: fault matrix, rows 33 to 43 (docs/testing.md)."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.faulting import (
    ALONE,
    CHUNKED,
    EACH_HOBBY,
    ONE_EACH,
    events,
    hobbies,
    hobby,
    line,
    reaches,
    row,
    rows,
    submit,
    talk,
)
from tests.support.model_server import ModelServer, reply
from tests.support.program import QUIET, edit, mex, until, worker
from tests.support.sessions import SessionFile

HASTY = {"MEX_TEST_BACKOFF": "0.05", "MEX_LLM_RETRY_BASE_SECONDS": "0", "MEX_TEST_LIVELY": "0"}
"""Waits between attempts are short."""
NO_RETRY = HASTY | {"MEX_LLM_MAX_RETRIES": "0"}
GOOD = {"topic": "leisure", "sub_topic": "hobbies", "content": hobby(0), "quote": line(0).rstrip("。")}


def test_row_33_an_endpoint_that_asks_for_two_seconds_is_waited_for_inside_the_call(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """The job is running all the time: one claim, one attempt, one more call."""
    model.script({"status": 429, "headers": {"retry-after": "2"}, "body": "{}", "times": 1}, EACH_HOBBY)
    job_id = submit(talk(tmp_path / "s.jsonl", range(3)).path)
    with worker():
        done = reaches(home, job_id)
    assert (done["state"], done["attempt"], len(model.requests())) == ("succeeded", 1, 2)
    assert events(home, job_id) == ["queued", "claimed", "succeeded"]
    assert hobbies(home) == [hobby(number) for number in range(3)]


def test_row_33_an_endpoint_that_asks_for_an_hour_pauses_every_job_and_no_attempt_is_counted(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """Nobody asks it meanwhile; a person who knows better says `mex jobs retry`."""
    model.script({"status": 429, "headers": {"retry-after": "3600"}, "body": "{}", "times": 1}, EACH_HOBBY)
    jobs = [submit(talk(tmp_path / f"{n}.jsonl", range(n, n + 1), f"s{n}").path) for n in range(3)]
    with worker("--threads", "1"):
        until(lambda: rows(home, "SELECT count(*) FROM jobs WHERE reason = 'rate_limit'") == [(1,)])
        (paused,) = mex("worker", "status", "--json").json["paused"]
        assert paused["reason"] == "rate_limit"
        assert [row(home, one)["attempt"] for one in jobs] == [0, 0, 0]
        assert len(model.requests()) == 1
        mex("jobs", "retry", jobs[0])
        assert [reaches(home, one)["attempt"] for one in jobs] == [1, 1, 1]
    assert hobbies(home) == [hobby(0), hobby(1), hobby(2)]


def learn_the_format(model: ModelServer, folder: Path) -> None:
    """One call that went well: a first 500 could mean that the endpoint does not know how it was asked."""
    model.script()
    mex("extract", "--file", str(SessionFile(folder / "first.jsonl", "first").user("今天天气不错。").path))
    assert len(model.requests()) == 1


@pytest.mark.parametrize(
    "failure", [{"status": 500}, {"status": 502}, {"status": 503}, {"delay": 1.5}], ids=["500", "502", "503", "timeout"]
)
def test_row_34_an_endpoint_that_fails_a_few_times_is_asked_again_in_the_call_and_then_by_the_job(
    model: ModelServer, tmp_path: Path, home: Path, failure: dict[str, Any]
) -> None:
    """Three failures: two of the first attempt, one of the second, which succeeds."""
    learn_the_format(model, tmp_path)
    model.script(failure | {"body": "{}", "times": 3}, EACH_HOBBY)
    job_id = submit(talk(tmp_path / "s.jsonl", range(3)).path)
    with worker(MEX_LLM_MAX_RETRIES="1", MEX_LLM_TIMEOUT_SECONDS="1", **HASTY):
        done = reaches(home, job_id)
    assert (done["state"], done["attempt"], len(model.requests())) == ("succeeded", 2, 1 + 4)
    assert hobbies(home) == [hobby(number) for number in range(3)]


def test_row_34_a_job_whose_endpoint_never_answers_has_failed_after_ten_attempts(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """Not sooner and not never; what it has to extract is still there for a retry."""
    learn_the_format(model, tmp_path)
    model.script({"status": 500, "body": "down"})
    job_id = submit(talk(tmp_path / "s.jsonl", range(3)).path)
    with worker(**(NO_RETRY | {"MEX_TEST_BACKOFF": "0.001"})):
        ended = reaches(home, job_id)
        assert (ended["state"], ended["outcome"], ended["attempt"]) == ("failed", "llm_error", 10)
        assert len(model.requests()) == 1 + 10
        model.script(EACH_HOBBY)
        mex("jobs", "retry", job_id)
        assert reaches(home, job_id, "succeeded")["attempt"] == 11
    assert hobbies(home) == [hobby(number) for number in range(3)]


def test_row_35_a_refused_key_keeps_every_job_and_all_run_when_config_yaml_has_the_right_one(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """The file is edited by hand under a live worker: nothing has to be restarted or told."""
    model.script({"status": 401, "body": "{}"})
    jobs = [submit(talk(tmp_path / f"{n}.jsonl", range(n, n + 1), f"s{n}").path) for n in range(4)]
    with worker("--threads", "1"):
        until(lambda: rows(home, "SELECT count(*) FROM jobs WHERE reason = 'llm_auth'") == [(1,)])
        assert {(row(home, one)["state"], row(home, one)["attempt"]) for one in jobs} == {("queued", 0)}
        (paused,) = mex("worker", "status", "--json").json["paused"]
        assert (paused["reason"], len(model.requests())) == ("llm_auth", 1)
        model.script(EACH_HOBBY)
        edit(home / "config.yaml", "sk-test", "sk-right")
        assert [reaches(home, one)["attempt"] for one in jobs] == [1] * 4
    assert hobbies(home) == [hobby(number) for number in range(4)]


@pytest.mark.parametrize(
    "answer",
    [
        {"reply": '{"memories": [{"topic": "lei'},
        {"reply": "Here is what I found: the user likes bees."},
        {"reply": ""},
        {"reply": '{"memories": 3}'},
        {"reply": '{"memories": NaN}'},
        {"reply": "很多话。" * 90_000},
        {"body": "<!DOCTYPE html><html><body>Sign in</body></html>", "headers": {"content-type": "text/html"}},
    ],
    ids=["half JSON", "prose", "empty", "wrong shape", "NaN", "1 MB", "HTML page"],
)
def test_row_36_an_answer_that_cannot_be_used_is_asked_for_once_more_and_ends_the_job_at_the_third_attempt(
    model: ModelServer, tmp_path: Path, home: Path, answer: dict[str, Any]
) -> None:
    """Nothing is invented from it; a later retry begins afresh."""
    model.script(answer)
    job_id = submit(talk(tmp_path / "s.jsonl", range(1)).path)
    with worker(**NO_RETRY):
        ended = reaches(home, job_id)
        assert (ended["state"], ended["outcome"], ended["attempt"]) == ("failed", "unparseable", 3)
        assert row(home, job_id)["bad_outputs"] == 3
        assert len(model.requests()) == 6
        assert hobbies(home) == []
        model.script(EACH_HOBBY)
        mex("jobs", "retry", job_id)
        assert reaches(home, job_id, "succeeded")["attempt"] == 4
    assert hobbies(home) == [hobby(0)]


@pytest.mark.parametrize(
    "answer",
    [
        "Of course!\n```json\n" + reply(GOOD) + "\n```\nAnything else?",
        json.dumps({"memories": [*json.loads(reply(GOOD))["memories"], 7, {"topic": 3}, {"content": None}, "x"]}),
        reply(GOOD)[:-2] + ', {"topic": "leisure", "sub_topic": "hobbies", "content": NaN, "quote": Infinity}]}',
    ],
    ids=["in prose", "wrong members", "NaN"],
)
def test_row_36_the_part_of_an_answer_that_can_be_used_is_kept(
    model: ModelServer, tmp_path: Path, home: Path, answer: str
) -> None:
    """One call, one memory; the rest is told as rejected or asked for again, never guessed."""
    model.script({"reply": answer, "times": 1}, EACH_HOBBY)
    job_id = submit(talk(tmp_path / "s.jsonl", range(1)).path)
    with worker(**NO_RETRY):
        done = reaches(home, job_id)
    assert (done["state"], done["outcome"], done["attempt"], len(model.requests())) == ("succeeded", "committed", 1, 1)
    assert hobbies(home) == [hobby(0)]


def test_row_36_an_answer_that_was_cut_off_is_asked_for_again_as_a_whole(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """What the cut has taken away nobody knows, so the half is not taken for the whole."""
    model.script({"reply": reply(GOOD)[:-2] + ', {"topic": "leisure", "sub_topic": "hob', "times": 1}, EACH_HOBBY)
    job_id = submit(talk(tmp_path / "s.jsonl", range(2)).path)
    with worker(**NO_RETRY):
        done = reaches(home, job_id)
    assert (done["state"], done["attempt"], len(model.requests())) == ("succeeded", 1, 2)
    assert hobbies(home) == [hobby(0), hobby(1)]


def test_row_37_a_long_job_whose_calls_fail_now_and_then_comes_to_its_end_and_pays_once(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """Seventy chunks, three calls in a hundred fail: at most five in a hundred are paid again."""
    model.script(
        {"when": line(20), "status": 500, "body": "down", "times": 1},
        {"when": line(50), "status": 503, "body": "down", "times": 1},
        EACH_HOBBY,
    )
    job_id = submit(talk(tmp_path / "s.jsonl", range(70)).path)
    with worker(**(ONE_EACH | NO_RETRY | {"MEX_LLM_CONCURRENCY": "4"})):
        done = reaches(home, job_id)
    assert (done["state"], done["attempt"]) == ("succeeded", 3)
    assert hobbies(home) == [hobby(number) for number in range(70)]
    assert done["usage"]["calls"] - 70 <= 3
    assert len(model.requests()) == done["usage"]["calls"] + 2


@pytest.mark.parametrize("change", ["grown", "half a line", "rotated", "truncated", "deleted"])
def test_row_38_a_source_that_changes_while_its_job_runs_gives_what_was_read_and_later_the_rest_once(
    model: ModelServer, tmp_path: Path, home: Path, change: str
) -> None:
    """The job ends what it began; a message that was read is known by its name, wherever it stands now."""
    model.script({"when": line(0), "hold": "go", "hobbies": True, "times": 1}, EACH_HOBBY)
    session = talk(tmp_path / "s.jsonl", range(2))
    path, whole = session.path, session.path.read_bytes()
    with worker(**HASTY):
        job_id = submit(path)
        until(model.requests)
        talk(tmp_path / "grown.jsonl", range(3))
        tail = (tmp_path / "grown.jsonl").read_bytes()[len(whole) :]
        if change == "grown":
            path.write_bytes(whole + tail)
        elif change == "half a line":
            path.write_bytes(whole + tail[:40])
        elif change == "rotated":
            path.rename(tmp_path / "s.1.jsonl")
            path.write_bytes(tail)
        elif change == "truncated":
            path.write_bytes(whole[:50])
        else:
            path.unlink()
        model.release("go")
        done = reaches(home, job_id)
        assert (done["state"], done["outcome"], done["attempt"]) == ("succeeded", "committed", 1)
        until(
            lambda: rows(home, "SELECT count(*) FROM jobs WHERE finished_at IS NULL AND available_at < 9e12") == [(0,)]
        )
        path.write_bytes(tail if change == "rotated" else whole + tail)
        last = reaches(home, submit(path))
        assert last["state"] == "succeeded"
    assert hobbies(home) == [hobby(0), hobby(1), hobby(2)]
    assert [model.asked(hobby(number)) for number in range(3)] == [1, 1, 1]


def test_row_38_a_source_that_is_gone_when_its_job_is_tried_again_ends_it_by_name(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """There is nothing left to try again with."""
    model.script({"hold": "go", "status": 500, "body": "down"})
    session = talk(tmp_path / "s.jsonl", range(2))
    job_id = submit(session.path)
    with worker(**NO_RETRY):
        until(model.requests)
        session.path.unlink()
        model.release("go")
        ended = reaches(home, job_id)
    assert (ended["state"], ended["outcome"], ended["attempt"]) == ("failed", "source_gone", 2)


def test_row_39_six_requests_in_a_burst_are_one_job(model: ModelServer, tmp_path: Path, home: Path) -> None:
    """A hook that fires again and again puts the job off a little, and the worker runs it once."""
    model.script(EACH_HOBBY)
    session = talk(tmp_path / "s.jsonl", range(1))
    with worker():
        jobs = []
        for number in range(1, 7):
            sent = mex("extract", "--async", "--delay", "3s", "--file", str(session.path), "--json", **ALONE)
            jobs.append(sent.json["job_id"])
            session.user(line(number))
        done = reaches(home, jobs[0])
    assert len(set(jobs)) == 1
    assert (done["merged"], done["attempt"], len(model.requests())) == (5, 1, 1)
    assert hobbies(home) == [hobby(number) for number in range(7)]


def test_row_39_a_request_that_puts_a_job_off_when_its_wake_up_is_under_way_costs_it_no_minute(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """The wake-up comes too early for the new time and is used up: another one has to be sent."""
    model.script({"when": line(0), "hold": "go", "hobbies": True}, EACH_HOBBY)
    with worker("--threads", "1"):
        submit(talk(tmp_path / "busy.jsonl", range(1), "busy").path)
        until(model.requests)
        session = talk(tmp_path / "s.jsonl", range(1, 3), "late")
        job_id = submit(session.path)
        until(lambda: row(home, job_id)["published_at"])
        mex("extract", "--async", "--delay", "2s", "--file", str(session.path), **ALONE)
        model.release("go")
        done = reaches(home, job_id, seconds=20)
    assert (done["merged"], done["attempt"]) == (1, 1)
    assert hobbies(home) == [hobby(0), hobby(1), hobby(2)]


def test_row_42_a_worker_outlives_the_session_that_started_it(model: ModelServer, tmp_path: Path, home: Path) -> None:
    """The terminal's whole process group is killed while the job waits for the model."""
    model.script({"hold": "go", "hobbies": True, "times": 1}, EACH_HOBBY)
    session = talk(tmp_path / "s.jsonl", range(3))
    command = f"{sys.executable} -m mex_pipeline extract --async --file '{session.path}' --json; sleep 60"
    shell = subprocess.Popen(
        ["/bin/sh", "-c", command], env=os.environ | QUIET | CHUNKED, start_new_session=True, stdout=subprocess.DEVNULL
    )
    try:
        until(model.requests)
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()
    model.release("go")
    ((job_id,),) = rows(home, "SELECT id FROM jobs")
    done = reaches(home, job_id)
    assert (done["state"], done["attempt"], done["crashes"]) == ("succeeded", 1, 0)
    assert len(model.requests()) == 1
    assert hobbies(home) == [hobby(number) for number in range(3)]

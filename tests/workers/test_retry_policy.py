"""The retry policy in real processes, row by row of queue §5.6; the pure rows stand in tests/services/test_endings.py."""

import json
import signal
import socket
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.bootstrap import open_app
from mex_pipeline.services import answers_kept, jobs
from tests.support.model_server import ModelServer, turns
from tests.support.program import contents, edit, mex, opened, until, worker
from tests.support.sessions import SessionFile

ALONE = {"MEX_WORKER_AUTOSTART": "false"}
ONE_TRY = {"MEX_LLM_MAX_RETRIES": "0", "MEX_LLM_RETRY_BASE_SECONDS": "0.01"}
QUICK = {"MEX_TEST_BACKOFF": "0.1"}
"""The waits of jobs and of the pauses of failing endpoints, a hundred and fiftieth of their length."""
EACH = {"MEX_EXTRACTION_CHUNK_TOKENS": "200", "MEX_LLM_CONCURRENCY": "1"}
"""A chunk for each padded turn, one after the other."""
EVERY_HOBBY = {"hobbies": True}
TOO_LONG = {"status": 400, "body": '{"error": {"message": "maximum context length is 4096 tokens"}}'}
REFUSED = {"finish": "content_filter", "reply": ""}
DOWN = {"status": 503, "body": "upstream"}


def said(number: int | str, pad: int = 0) -> str:
    return f"我的爱好是养蜂{number}号。" + "嗯" * pad


def submitted(path: Path, **environment: str) -> str:
    return str(mex("extract", "--async", "--file", str(path), "--json", **(ALONE | environment)).json["job_id"])


def queued(folder: Path, *numbers: int | str) -> list[str]:
    """A session and a job for each number."""
    return [submitted(SessionFile(folder / f"{one}.jsonl", f"s{one}").user(said(one)).path) for one in numbers]


def job(job_id: str) -> dict[str, Any]:
    return dict(mex("jobs", "show", job_id, "--json").json)


def in_state(job_id: str, *states: str) -> dict[str, Any]:
    return dict(until(lambda: (shown := job(job_id)) and shown["state"] in states and shown))


def control(home: Path) -> list[dict[str, Any]]:
    with opened(home / "mex.db") as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute("SELECT * FROM queue_control WHERE scope GLOB 'llm*'")]


def beekeepers(*numbers: int | str) -> list[str]:
    return sorted(f"养蜂{one}号" for one in numbers)


def test_queue_5_6_a_429_with_a_short_retry_after_is_waited_for_in_the_call(model: ModelServer, tmp_path: Path) -> None:
    model.script({"status": 429, "headers": {"retry-after": "1"}, "times": 1}, EVERY_HOBBY)
    (one,) = queued(tmp_path, 1)
    with worker():
        assert in_state(one, "succeeded")["attempt"] == 1
    assert len(model.requests()) == 2


@pytest.mark.parametrize("named", ["120", "9999999"])
def test_queue_5_6_a_429_with_a_long_retry_after_pauses_the_endpoint_for_all_jobs(
    model: ModelServer, tmp_path: Path, home: Path, named: str
) -> None:
    model.script({"status": 429, "headers": {"retry-after": named}, "times": 1}, EVERY_HOBBY)
    first, second = queued(tmp_path, 1, 2)
    with worker("--threads", "1"):
        until(lambda: job(first)["reason"] == "rate_limit")
        (pause,) = control(home)
        assert (pause["reason"], pause["scope"].startswith("llm:")) == ("rate_limit", True)
        assert 100_000 < pause["paused_until"] - 1000 * time.time() <= 3_600_000
        assert (job(first)["state"], job(first)["attempt"], job(second)["attempt"]) == ("queued", 0, 0)
        assert len(model.requests()) == 1
        mex("jobs", "retry", first, **ALONE)
        in_state(first, "succeeded")
        in_state(second, "succeeded")
    assert contents() == beekeepers(1, 2)


def test_queue_5_6_a_5xx_is_tried_in_the_call_and_then_by_the_job(model: ModelServer, tmp_path: Path) -> None:
    model.script(DOWN | {"times": 5}, EVERY_HOBBY)
    (one,) = queued(tmp_path, 1)
    with worker(MEX_LLM_RETRY_BASE_SECONDS="0.01", **QUICK):
        assert in_state(one, "succeeded")["attempt"] == 2
    assert len(model.requests()) == 6


def test_queue_5_6_an_endpoint_that_keeps_failing_is_left_alone_until_it_answers(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """The third failure in a row, whichever jobs met it; one answer makes the count begin anew."""
    model.script(DOWN)
    waiting = queued(tmp_path, *range(6))
    with worker("--threads", "1", **ONE_TRY):
        (pause,) = until(lambda: [row for row in control(home) if row["paused_until"]])
        assert (pause["reason"], pause["failures"]) == ("circuit", 3)
        assert len(model.requests()) == 3
        assert [job(one)["attempt"] for one in waiting] == [1, 1, 1, 0, 0, 0]
        status = mex("worker", "status")
        assert "keeps failing" in status.out
        model.script(EVERY_HOBBY)
        mex("jobs", "retry", waiting[0], **ALONE)
        until(lambda: all(job(one)["state"] == "succeeded" for one in waiting[3:]))
    assert [row["failures"] for row in control(home)] in ([], [0])


def test_queue_5_6_the_pause_of_a_failing_endpoint_ends_by_itself_and_keeps_the_worker_alive(
    model: ModelServer, tmp_path: Path
) -> None:
    model.script(DOWN | {"times": 4}, EVERY_HOBBY)
    waiting = queued(tmp_path, *range(5))
    with worker("--threads", "2", "--idle-exit", "1s", **ONE_TRY, **QUICK) as process:
        until(lambda: len(contents()) == len(waiting))
        assert process.poll() is None


def test_queue_5_6_an_endpoint_that_limits_without_end_is_left_alone_too(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """A quota for the day, told without a Retry-After: each job asked ten times four, and then they all had failed."""
    model.script({"status": 429, "body": '{"error": {"message": "You exceeded your current quota"}}'})
    waiting = queued(tmp_path, *range(6))
    with worker("--threads", "1", **ONE_TRY):
        (pause,) = until(lambda: [row for row in control(home) if row["paused_until"]])
        assert (pause["reason"], pause["failures"]) == ("circuit", 3)
        assert len(model.requests()) == 3
        model.script(EVERY_HOBBY)
        mex("jobs", "retry", waiting[0], **ALONE)
        until(lambda: all(job(one)["state"] == "succeeded" for one in waiting[3:]))


def test_foreground_jobs_heed_no_pause_but_count_and_an_answer_to_one_lifts_it(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    model.script(DOWN | {"times": 3}, EVERY_HOBBY)
    for number in range(3):
        session = SessionFile(tmp_path / f"{number}.jsonl", f"s{number}").user(said(number))
        assert mex("extract", "--file", str(session.path), ok=False, **ONE_TRY).code == 2
    (pause,) = control(home)
    assert (pause["reason"], pause["failures"]) == ("circuit", 3)
    mex("extract", said("前"), "--text", **ONE_TRY)
    (pause,) = control(home)
    assert (pause["paused_until"], pause["failures"]) == (0, 0)


def test_queue_5_6_an_endpoint_that_is_not_reached_costs_two_tries_and_no_attempt(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """The first job finds out for all; another endpoint is another matter, however the file was edited."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    config = home / "config.yaml"
    edit(config, model.url, dead)
    model.script(EVERY_HOBBY)
    waiting = queued(tmp_path, 1, 2, 3)
    with worker("--threads", "1", MEX_LLM_RETRY_BASE_SECONDS="0.01"):
        until(lambda: job(waiting[0])["reason"] == "offline")
        (pause,) = control(home)
        assert pause["reason"] == "offline"
        assert [(job(one)["state"], job(one)["attempt"]) for one in waiting] == [("queued", 0)] * 3
        edit(config, dead, model.url)
        in_state(waiting[1], "succeeded")
        in_state(waiting[2], "succeeded")
        assert job(waiting[0])["state"] == "queued"
        mex("config", "llm", "--model", "m1", **ALONE)
        in_state(waiting[0], "succeeded")


def test_queue_5_6_another_key_in_the_file_lets_go_what_the_wrong_one_had_paused(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """No command is needed: the pause was for the endpoint with the old key."""
    model.script({"status": 401, "body": "{}", "times": 1}, EVERY_HOBBY)
    (one,) = queued(tmp_path, 1)
    with worker(**ONE_TRY):
        until(lambda: job(one)["reason"] == "llm_auth")
        (pause,) = control(home)
        assert pause["reason"] == "llm_auth"
        assert mex("jobs", "wait", one, ok=False).code == 2
        edit(home / "config.yaml", "sk-test", "sk-right")
        assert in_state(one, "succeeded")["attempt"] == 1


def long_talk(folder: Path, *, words: dict[int, str] | None = None) -> SessionFile:
    """Six turns with a hobby each; `words` are added to some."""
    return SessionFile(folder / "talk.jsonl").user(*(said(n) + (words or {}).get(n, "") for n in range(6)))


def test_queue_5_6_a_chunk_beyond_the_context_length_is_split_and_the_run_goes_on(
    model: ModelServer, tmp_path: Path
) -> None:
    model.script(TOO_LONG | {"over": 450}, EVERY_HOBBY)
    shown = mex("extract", "--file", str(long_talk(tmp_path).path), "--json").json
    assert (shown["outcome"], shown["skipped_turns"]) == ("committed", [])
    assert contents() == beekeepers(*range(6))


def test_queue_5_6_one_message_that_is_too_long_is_left_out_recorded_and_shown(
    model: ModelServer, tmp_path: Path
) -> None:
    session = long_talk(tmp_path, words={2: "长" * 900})
    model.script(TOO_LONG | {"over": 800}, EVERY_HOBBY)
    shown = mex("extract", "--file", str(session.path), "--json").json
    assert contents() == beekeepers(0, 1, 3, 4, 5)
    (skipped,) = shown["skipped_turns"]
    assert set(skipped) == {"message_key", "said_at", "reason"}
    assert (skipped["reason"], skipped["said_at"]) == ("too_long", "2026-03-01T08:00:03Z")
    assert "left out, too long for the model or refused by it: 1" in mex("jobs", "show", shown["job_id"]).out
    again = mex("extract", "--file", str(session.path), "--json").json
    assert again["reason"] == "nothing_new"


def test_queue_5_6_a_refused_turn_is_left_out_without_a_reminder_and_the_others_are_kept(
    model: ModelServer, tmp_path: Path
) -> None:
    model.script(REFUSED | {"when": "禁词"}, EVERY_HOBBY)
    shown = mex("extract", "--file", str(long_talk(tmp_path, words={3: "禁词"}).path), "--json").json
    assert [one["reason"] for one in shown["skipped_turns"]] == ["refused"]
    assert contents() == beekeepers(0, 1, 2, 4, 5)
    assert all(len(request["messages"]) == 2 for request in model.requests()), "a refusal is no slip of the pen"


def test_a_model_that_takes_nothing_fails_the_job_and_moves_no_cursor(model: ModelServer, tmp_path: Path) -> None:
    session = long_talk(tmp_path)
    model.script(TOO_LONG)
    failed = mex("extract", "--file", str(session.path), "--json", ok=False)
    assert (failed.code, failed.json["outcome"], failed.json["reason"]) == (2, "llm_error", "llm_context_length")
    model.script(EVERY_HOBBY)
    asked = len(model.requests())
    mex("jobs", "retry", failed.json["job_id"], **ALONE)
    with worker():
        in_state(failed.json["job_id"], "succeeded")
    assert len(model.requests()) == asked + 1, "who asks again may have given the model more room"
    assert contents() == beekeepers(*range(6))


def test_product_p4_what_was_not_taken_whole_is_not_asked_whole_again_by_the_next_attempt(
    model: ModelServer, tmp_path: Path
) -> None:
    """Nor are the parts that were answered."""
    session = long_talk(tmp_path)
    model.script(TOO_LONG | {"over": 450}, DOWN | {"when": said(5), "times": 1}, EVERY_HOBBY)
    one = submitted(session.path)
    with worker(**ONE_TRY, **QUICK):
        assert in_state(one, "succeeded")["attempt"] == 2
    asked = [[turn["text"] for turn in turns(request) if not turn.get("context")] for request in model.requests()]
    assert len(asked) == len({tuple(texts) for texts in asked}) + 1, "only the part that failed is asked twice"
    assert contents() == beekeepers(*range(6))


def test_queue_5_6_a_reply_that_is_cut_off_is_asked_for_in_halves_after_the_reminder(
    model: ModelServer, tmp_path: Path
) -> None:
    model.script({"over": 450, "finish": "length", "reply": '{"memories": [{"topic"'}, EVERY_HOBBY)
    shown = mex("extract", "--file", str(long_talk(tmp_path).path), "--json").json
    assert shown["skipped_turns"] == []
    assert contents() == beekeepers(*range(6))


UNUSABLE = {
    "prose": {"reply": "Sure! I would be happy to help."},
    "half an object": {"reply": '{"memories"'},
    "another shape": {"reply": '{"answer": 42}'},
    "nothing": {"reply": ""},
    "cut off": {"reply": '{"memories": [{"topic": "leisure"', "finish": "length"},
}


@pytest.mark.parametrize("kind", UNUSABLE)
def test_queue_5_6_three_unusable_attempts_fail_the_job_and_the_last_answer_is_kept_to_look_at(
    model: ModelServer, tmp_path: Path, kind: str
) -> None:
    model.script(UNUSABLE[kind])
    (one,) = queued(tmp_path, 1)
    with worker(**ONE_TRY, **QUICK):
        shown = in_state(one, "failed")
    assert (shown["outcome"], len(model.requests())) == ("unparseable", 6)
    with open_app("en") as app:
        (raw,) = answers_kept.unusable_answers(app.db, jobs.get(app.db, one))
    assert str(UNUSABLE[kind]["reply"]) in raw


def test_an_unusable_answer_is_kept_up_to_64_kb_and_gone_with_the_jobs_success(
    model: ModelServer, tmp_path: Path
) -> None:
    model.script({"reply": "蜂" * 90_000, "times": 2}, EVERY_HOBBY)
    (one,) = queued(tmp_path, 1)

    def kept() -> list[str]:
        with open_app("en") as app:
            return answers_kept.unusable_answers(app.db, jobs.get(app.db, one))

    with worker(**ONE_TRY):
        in_state(one, "retrying")
        (raw,) = kept()
        assert 65_000 < len(raw.encode()) <= 65_536
        mex("jobs", "retry", one, **ALONE)
        in_state(one, "succeeded")
    assert kept() == []


def test_product_b6_an_unusable_answer_goes_with_the_memory_it_tells(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    memory = mex("add", "--topic", "basic_info", "--sub-topic", "name", "--content", "林晓舟", "--json").json["id"]
    model.script({"reply": "Well, I think the name is 林晓舟!"})
    (one,) = queued(tmp_path, 1)
    with worker(**ONE_TRY, **QUICK):
        in_state(one, "failed")
    mex("forget", memory, "--hard", "--yes")
    for file in home.glob("mex.db*"):
        assert "林晓舟".encode() not in file.read_bytes()


def test_product_p4_a_retry_of_a_failed_job_asks_only_for_what_is_missing(model: ModelServer, tmp_path: Path) -> None:
    session = SessionFile(tmp_path / "s.jsonl").user(*(said(n, 150) for n in range(3)))
    model.script({"when": said(2), "status": 400, "body": '{"error": {"message": "no"}}'}, EVERY_HOBBY)
    one = submitted(session.path)
    with worker(**ONE_TRY, **EACH):
        assert in_state(one, "failed")["outcome"] == "llm_error"
        model.script(EVERY_HOBBY)
        before = len(model.requests())
        mex("jobs", "retry", one, **ALONE)
        shown = in_state(one, "succeeded")
    later = [
        turn["text"] for request in model.requests()[before:] for turn in turns(request) if not turn.get("context")
    ]
    assert later == [said(2, 150)]
    assert shown["usage"]["reused"] == 2
    assert contents() == beekeepers(0, 1, 2)


@pytest.mark.parametrize("how", ["cancel", "SIGTERM"])
def test_a_wait_inside_a_call_ends_at_once_when_the_job_is_cancelled_or_the_process_must_leave(
    model: ModelServer, tmp_path: Path, how: str
) -> None:
    model.script({"status": 429, "headers": {"retry-after": "25"}})
    (one,) = queued(tmp_path, 1)
    with worker() as process:
        until(model.requests)
        began = time.monotonic()
        if how == "cancel":
            mex("jobs", "cancel", one)
            in_state(one, "cancelled")
        else:
            process.send_signal(signal.SIGTERM)
            process.wait(20)
            assert (job(one)["state"], job(one)["reason"], job(one)["attempt"]) == ("queued", "shutdown", 0)
        assert time.monotonic() - began < 15, "not after the 25 s that the server asked for"


def test_llm_concurrency_bounds_the_calls_of_all_jobs_together(model: ModelServer, tmp_path: Path) -> None:
    """Each job runs in a loop of its own; the endpoint sees the sum."""
    model.script(EVERY_HOBBY | {"hold": "go"})
    settings = EACH | {"MEX_LLM_CONCURRENCY": "2"}
    paths = [
        SessionFile(tmp_path / f"{name}.jsonl", name).user(*(said(f"{name}{n}", 150) for n in range(3))).path
        for name in ("甲", "乙")
    ]
    both = [submitted(path) for path in paths]
    with worker("--threads", "2", **settings):
        until(lambda: all(job(one)["state"] == "running" for one in both))
        until(lambda: len(model.requests()) == 2)
        time.sleep(0.5)
        assert len(model.requests()) == 2
        model.release("go")
        for one in both:
            in_state(one, "succeeded")
    assert len(model.requests()) == 6


def test_a_restore_needs_no_model_and_a_half_configured_one_does_not_hinder_it(tmp_path: Path, home: Path) -> None:
    mex("add", "--topic", "basic_info", "--sub-topic", "name", "--content", "林晓舟")
    mex("export", "--output", str(tmp_path / "all.json"))
    mex("clear", "--yes")
    config = home / "config.yaml"
    with_half = config.read_text(encoding="utf-8").replace('base_url: ""', 'base_url: "http://127.0.0.1:9/v1"')
    config.write_text(with_half, encoding="utf-8")
    refused = mex("extract", "--async", "我叫林晓舟", "--text", "--json", ok=False, **ALONE)
    assert json.loads(refused.err)["code"] == "llm_half_configured"
    mex("import", str(tmp_path / "all.json"))
    assert contents() == ["林晓舟"]

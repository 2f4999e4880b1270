"""Seed §7.3 and §7.4: what happens when the model fails, and what every call cost."""

import json
import time
from typing import Any

import pytest

from tests.seed.ground import add, candidate, one, rows, said, system_and_user
from tests.support.model_server import ModelServer, reply
from tests.support.program import contents, mex, until
from tests.support.sessions import SessionFile

HANGZHOU = candidate("basic_info.location", "杭州", "我住在杭州")
GOOD = reply(HANGZHOU)
FAST = {"MEX_LLM_RETRY_BASE_SECONDS": "0.01"}
TEXT = "我住在杭州"


def nothing_was_written() -> None:
    """不写入任何数据: no memory, no history, no position."""
    for table in ("memories", "history", "extraction_state"):
        assert one(f"SELECT count(*) FROM {table}") == 0


@pytest.mark.parametrize(
    "wrapped",
    [
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```",
        f"好的，结果如下：\n```json\n{GOOD}\n```\n希望有帮助！",
        f"好的，结果如下：{GOOD} 希望有帮助！",
        f"\ufeff{GOOD}",
        f"\n\n  {GOOD}\n",
        json.dumps(json.loads(GOOD), indent=4),
        GOOD.replace("}]}", "},]}"),
    ],
    ids=["fence", "bare_fence", "fence_in_prose", "braces_in_prose", "bom", "blank", "indented", "trailing_comma"],
)
def test_seed_7_3_json_is_dug_out_without_a_second_call(model: ModelServer, wrapped: str) -> None:
    """先尝试提取文本中的 ```json 代码块或最外层 {...} (fault 15: also among prose; product C12: repaired)."""
    model.script({"reply": wrapped})
    mex("extract", TEXT)
    assert contents() == ["杭州"]
    assert len(model.requests()) == 1


def test_seed_7_3_an_answer_that_is_no_json_is_asked_for_once_more_with_a_reminder(model: ModelServer) -> None:
    """失败则带提醒重试 1 次."""
    model.script({"reply": "我想想……", "times": 1}, {"reply": GOOD})
    mex("extract", TEXT)
    assert contents() == ["杭州"]
    first, second = model.requests()
    said_before = {message["content"] for message in first["messages"]}
    reminder = [message["content"] for message in second["messages"] if message["content"] not in said_before]
    assert any("JSON" in words for words in reminder)
    assert system_and_user(first)[0] == system_and_user(second)[0]


@pytest.mark.parametrize(
    "answer",
    ["我想想……", '{"items": []}', '{"memories": null}', '{"memories": 5}', "[1, 2", '"memories"', "null", "{}"],
)
def test_seed_7_3_unusable_twice_is_exit_2_and_writes_nothing(model: ModelServer, answer: str) -> None:
    """再失败则报错（退出码 2）; fault 16: an object without a list of memories is no success."""
    model.script({"reply": answer})
    failed = mex("extract", TEXT, ok=False, **FAST)
    assert failed.code == 2
    assert failed.err.strip()
    assert len(model.requests()) == 2
    nothing_was_written()


def test_product_g3_failed_calls_are_on_the_books(model: ModelServer) -> None:
    """The tokens it cost are recorded all the same, with purpose extract (fault 17)."""
    model.script({"reply": "我想想……"})
    mex("extract", TEXT, ok=False, **FAST)
    assert rows("SELECT purpose, prompt_tokens, completion_tokens FROM llm_usage") == [("extract", 100, 20)] * 2
    assert mex("stats", "--json").json["llm_usage"]["calls"] == 2


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_seed_7_3_a_passing_failure_is_tried_again(model: ModelServer, status: int) -> None:
    """限流（429）/ 服务端错误（5xx）: retried, then written."""
    model.script({"status": status, "body": "{}", "times": 2}, {"reply": GOOD})
    mex("extract", TEXT, **FAST)
    assert contents() == ["杭州"]


@pytest.mark.parametrize(("retries", "calls"), [("3", 4), ("1", 2), ("0", 1)])
def test_seed_7_3_retries_are_bounded(model: ModelServer, retries: str, calls: int) -> None:
    """最多重试 3 次；仍失败报错（退出码 2）; max_retries of §9."""
    model.script({"status": 429, "body": "{}"})
    failed = mex("extract", TEXT, ok=False, MEX_LLM_MAX_RETRIES=retries, **FAST)
    assert failed.code == 2
    assert len(model.requests()) == calls
    nothing_was_written()


def test_seed_7_3_waiting_doubles_from_the_base(model: ModelServer) -> None:
    """基数 × 2 的幂: base 0.1 waits 0.1, 0.2, 0.4 and a little."""
    model.script({"status": 429, "body": "{}"})
    began = time.monotonic()
    mex("extract", TEXT, ok=False, MEX_LLM_RETRY_BASE_SECONDS="0.1")
    assert time.monotonic() - began > 0.69


def test_seed_7_3_retry_after_is_honoured(model: ModelServer) -> None:
    """Product H7: Retry-After wins."""
    model.script({"status": 429, "body": "{}", "headers": {"retry-after": "1"}, "times": 1}, {"reply": GOOD})
    began = time.monotonic()
    mex("extract", TEXT, **FAST)
    assert time.monotonic() - began > 0.9
    assert contents() == ["杭州"]


def test_seed_7_3_a_timeout_is_an_outside_error(model: ModelServer) -> None:
    """单次请求超时可配置."""
    model.script({"delay": 3, "reply": GOOD})
    failed = mex("extract", TEXT, ok=False, MEX_LLM_TIMEOUT_SECONDS="1", MEX_LLM_MAX_RETRIES="0")
    assert failed.code == 2
    nothing_was_written()


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_seed_7_3_a_refusal_is_not_tried_again_and_its_reason_is_shown(model: ModelServer, status: int) -> None:
    """Product C8; fault 24: the error body of a 4xx is told. (A refused answer format may be asked for differently.)"""
    model.script({"status": status, "body": json.dumps({"error": {"message": "no such model zorblint"}})})
    failed = mex("extract", TEXT, ok=False, **FAST)
    assert failed.code == 2
    assert len(model.requests()) <= 3
    if status in (400, 404):
        assert "zorblint" in failed.err or "m1" in failed.err
    nothing_was_written()


def _shaped(content: Any, finish: str, **message: Any) -> str:
    """A whole answer of the endpoint."""
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content} | message}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return json.dumps(
        {"id": "c", "object": "chat.completion", "created": 0, "model": "m1", "choices": [choice], "usage": usage}
    )


@pytest.mark.parametrize(
    "rule",
    [
        {"body": _shaped("", "stop", reasoning_content="let me think")},
        {"body": _shaped(None, "stop")},
        {"body": _shaped('{"memories": [{"action": "new", "topic": "basic', "length")},
        {"body": _shaped(None, "content_filter", refusal="I cannot help with that")},
        {"body": "<html><body>Welcome</body></html>", "headers": {"content-type": "text/html"}},
        {"body": "{}"},
        {"body": "\x00\x01"},
        {"body": '{"choices": []}'},
    ],
    ids=["reasoning_only", "null", "cut_off", "refusal", "web_page", "empty_object", "binary", "no_choices"],
)
def test_product_c7_strange_answers_have_a_named_error(model: ModelServer, rule: dict[str, Any]) -> None:
    """Exit 2, a code of its own, nothing written, no traceback."""
    model.script(rule)
    failed = mex("extract", TEXT, ok=False, **FAST)
    assert failed.code == 2
    assert failed.err.strip()
    (job,) = mex("jobs", "list", "--json").json
    assert (job["state"], job["error"]["code"] != "") == ("failed", True)
    nothing_was_written()


def test_seed_7_3_lone_surrogates_and_nul_in_an_answer_do_no_harm(model: ModelServer) -> None:
    """Fault 24: no traceback; NUL is not stored."""
    raw = json.dumps({"memories": [{"action": "new", "is_ai_inferred": False, "confidence": "explicit", **HANGZHOU}]})
    model.script({"reply": raw.replace("\\u676d\\u5dde", "\\u676d\\ud800\\u0000\\u5dde", 1)})
    mex("extract", TEXT, ok=False, **FAST)
    for (content,) in rows("SELECT content FROM memories"):
        assert "\x00" not in content
        content.encode()


def test_seed_7_3_a_failure_over_existing_memories_leaves_them_as_they_were(model: ModelServer) -> None:
    """任何 LLM 层面的失败都不会留下半更新的数据库."""
    add("上海", "basic_info.location")
    before = rows("SELECT * FROM memories"), rows("SELECT * FROM history")
    model.script({"status": 500, "body": "{}"})
    assert mex("extract", TEXT, ok=False, **FAST).code == 2
    assert (rows("SELECT * FROM memories"), rows("SELECT * FROM history")) == before


def test_seed_7_3_the_partly_valid_reply_is_no_failure(model: ModelServer) -> None:
    """合规的正常写入，不合规的丢弃并在摘要中列明原因."""
    bad: list[Any] = [5, "x", {}, {"content": "x", "topic": ["a"]}, {"action": "new", "content": {"a": 1}}]
    good = {"action": "new", "is_ai_inferred": False, "confidence": "explicit", **HANGZHOU}
    model.script({"reply": json.dumps({"memories": [*bad, good]}, ensure_ascii=False)})
    result = mex("extract", TEXT, "--json").json
    assert contents() == ["杭州"]
    assert len(result["discarded"]) == len(bad)


def test_product_c8_a_failed_foreground_job_is_written_only_when_retried(model: ModelServer, tmp_path: Any) -> None:
    """Job failed, nothing later unless `mex jobs retry`."""
    session = SessionFile(tmp_path / "s.jsonl").user(TEXT).assistant("好")
    model.script({"status": 500, "body": "{}"})
    quiet = {"MEX_WORKER_AUTOSTART": "false", **FAST}
    assert mex("extract", "--file", str(session.path), ok=False, **quiet).code == 2
    (job,) = mex("jobs", "list", "--json").json
    assert job["state"] == "failed"
    model.script({"reply": GOOD})
    mex("list")
    assert contents() == []
    assert mex("extract", "--file", str(session.path), **quiet).code == 0
    assert until(contents) == ["杭州"]


def test_seed_7_4_every_call_is_recorded_with_purpose_model_tokens_and_time(model: ModelServer) -> None:
    """每次 LLM 调用写入 llm_usage 表; with its job (product C10); mex stats shows the sum."""
    first = said(model, TEXT, HANGZHOU)
    said(model, "别的话")
    stored = rows("SELECT purpose, model, prompt_tokens, completion_tokens, job_id FROM llm_usage ORDER BY rowid")
    assert [row[:4] for row in stored] == [("extract", "m1", 100, 20)] * 2
    assert stored[0][4] == first["job_id"]
    assert one("SELECT min(created_at) FROM llm_usage").endswith("Z")
    usage = mex("stats", "--json").json["llm_usage"]
    assert (usage["calls"], usage["prompt_tokens"], usage["completion_tokens"]) == (2, 200, 40)


def test_seed_7_4_there_are_no_prices(model: ModelServer) -> None:
    """不内置价格表."""
    said(model, TEXT, HANGZHOU)
    out = mex("stats").out
    assert "$" not in out
    assert "¥" not in out

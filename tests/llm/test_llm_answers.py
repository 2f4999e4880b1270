"""What an HTTP answer means: every row of the error table, and what no error may repeat."""

import html
import json
import re
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from llm_endpoint import BASE_URL, ENDPOINT, KEY, MESSAGES, MODEL, ask, completed, failed

from mex_pipeline.errors import LLMBadReply, LLMRejected, LLMUnavailable, MexError
from mex_pipeline.llm.answers import Answer, Asked, detail, read, retry_seconds
from mex_pipeline.llm.port import Completion, Message, UnusableReply

NOW = datetime(2026, 8, 6, 8, 30, tzinfo=UTC)
USED = {"prompt_tokens": 120, "completion_tokens": 7}
HTML = "<!DOCTYPE html><html><title>502</title></html>"


def asked_for(**changes: Any) -> Asked:
    return Asked(
        **{
            "endpoint": ENDPOINT,
            "model": MODEL,
            "api_key": KEY,
            "messages": tuple(MESSAGES),
            "response_format": "prompt",
            **changes,
        }
    )


def reading(status: int, body: Any, retry_after: str | None = None) -> MexError:
    text = body if isinstance(body, str) else json.dumps(body)
    with pytest.raises(MexError) as caught:
        read(Answer(status, text, retry_after), asked_for())
    return caught.value


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (completed(None, reasoning_content="Let me think"), "llm_reasoning_only"),
        (completed("", reasoning="Let me think"), "llm_reasoning_only"),
        (completed(" \n", reasoning_content="hm", finish="length"), "llm_reasoning_only"),
        (completed(None), "llm_empty_reply"),
        (completed(""), "llm_empty_reply"),
        (completed([]), "llm_empty_reply"),
        (completed(None, tool_calls=[{"id": "1"}]), "llm_empty_reply"),
        (httpx.Response(200, json={"choices": [], "usage": USED}), "llm_empty_reply"),
        (httpx.Response(200, json={"choices": None, "usage": USED}), "llm_empty_reply"),
        (httpx.Response(200, json={"choices": ["x"], "usage": USED}), "llm_empty_reply"),
        (httpx.Response(200, json={"id": "1", "usage": USED}), "llm_empty_reply"),
        (completed('{"memories": []}', finish="length"), "llm_cut_off"),
        (completed('{"memories": [{"con', finish="length"), "llm_cut_off"),
        (completed("", finish="length"), "llm_cut_off"),
        (completed("partly", finish="content_filter"), "llm_refusal"),
        (completed("", finish="content_filter"), "llm_refusal"),
        (completed(None, refusal="I cannot help with that."), "llm_refusal"),
    ],
)
def test_an_unusable_reply_is_named_and_its_tokens_are_known(answer: httpx.Response, code: str) -> None:
    """product C7, G3"""
    error = ask(answer).error
    assert (type(error), error.code) == (UnusableReply, code)
    assert error.params == {"endpoint": ENDPOINT, "model": MODEL, **USED}


@pytest.mark.parametrize(
    ("answer", "raw"),
    [
        (completed('{"memories": [{"con', finish="length"), '{"memories": [{"con'),
        (httpx.Response(200, text=HTML), HTML),
    ],
)
def test_what_came_all_the_same_is_at_hand_but_in_no_fact_that_is_written_down(
    answer: httpx.Response, raw: str
) -> None:
    """queue §5.6: the raw answer is kept for a person to look at; params end up in the job's row."""
    error = ask(answer).error
    assert error.raw == raw
    assert raw not in str(error.params)


def test_of_an_answer_without_text_the_whole_body_is_at_hand() -> None:
    assert "Let me think" in ask(completed(None, reasoning_content="Let me think")).error.raw


def test_without_reported_usage_an_unusable_reply_carries_none() -> None:
    assert ask(completed("", usage=None)).error.params == {"endpoint": ENDPOINT, "model": MODEL}


@pytest.mark.parametrize(
    "body", [HTML, "", "OK", '"text"', "[]", "42", 'data: {"choices": []}\n\ndata: [DONE]', '{"cho']
)
def test_an_answer_that_is_no_json_object_is_not_an_api(body: str) -> None:
    """A wrong base_url often leads to somebody's web page."""
    error = ask(httpx.Response(200, text=body, headers={"content-type": "text/html"})).error
    assert (type(error), error.code) == (UnusableReply, "llm_not_an_api")
    assert error.params == {"endpoint": ENDPOINT, "model": MODEL}


@pytest.mark.parametrize(
    ("status", "body", "kind", "code"),
    [
        (401, {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}, LLMRejected, "llm_auth"),
        (403, {"error": {"message": "Country not supported"}}, LLMRejected, "llm_auth"),
        (403, HTML, LLMRejected, "llm_auth"),
        (400, [{"error": {"code": 400, "message": "API key not valid. Pass a valid key."}}], LLMRejected, "llm_auth"),
        (402, {"error": {"message": "Insufficient Balance"}}, LLMRejected, "llm_quota"),
        (429, {"error": {"message": "Pay", "type": "insufficient_quota"}}, LLMRejected, "llm_quota"),
        (429, {"error": {"message": "x", "code": "insufficient_quota"}}, LLMRejected, "llm_quota"),
        (429, {"error": {"message": "x", "type": "exceeded_current_quota_error"}}, LLMRejected, "llm_quota"),
        (429, {"error": {"message": "余额不足或无可用资源包,请充值。", "code": "1113"}}, LLMRejected, "llm_quota"),
        (403, {"code": 30001, "message": "Sorry, your account balance is insufficient"}, LLMRejected, "llm_quota"),
        (400, {"error": {"code": "Arrearage", "message": "Access denied"}}, LLMRejected, "llm_quota"),
        (
            429,
            [{"error": {"message": "You exceeded your current quota, retry in 20s"}}],
            LLMUnavailable,
            "llm_rate_limited",
        ),
        (429, "slow down", LLMUnavailable, "llm_rate_limited"),
        (404, {"error": {"message": 'model "x" not found, try pulling it first'}}, LLMRejected, "llm_unknown_model"),
        (404, {"detail": "Not Found"}, LLMRejected, "llm_unknown_model"),
        (404, HTML, LLMRejected, "llm_unknown_model"),
        (400, {"error": {"message": "Model Not Exist"}}, LLMRejected, "llm_unknown_model"),
        (400, {"error": {"message": "The model `x` does not exist"}}, LLMRejected, "llm_unknown_model"),
        (400, {"error": {"message": "m", "code": "context_length_exceeded"}}, LLMRejected, "llm_context_length"),
        (400, {"error": {"message": "m", "type": "exceed_context_size_error"}}, LLMRejected, "llm_context_length"),
        (400, {"error": {"message": "Range of input length should be [1, 30720]"}}, LLMRejected, "llm_context_length"),
        (400, {"object": "error", "message": "maximum context length is 8192"}, LLMRejected, "llm_context_length"),
        (
            500,
            {"error": {"message": "the request exceeds the available context size"}},
            LLMRejected,
            "llm_context_length",
        ),
        (413, "Payload Too Large", LLMRejected, "llm_context_length"),
        (400, {"error": {"code": "data_inspection_failed", "message": "m"}}, LLMBadReply, "llm_refusal"),
        (400, {"error": {"code": "content_filter", "message": "m"}}, LLMBadReply, "llm_refusal"),
        (400, {"error": {"message": "系统检测到输入可能包含敏感内容"}}, LLMBadReply, "llm_refusal"),
        (400, {"error": {"message": "bad"}}, LLMRejected, "llm_bad_request"),
        (400, {"error": "bad"}, LLMRejected, "llm_bad_request"),
        (405, "Method Not Allowed", LLMRejected, "llm_bad_request"),
        (422, {"detail": [{"msg": "field required", "input": "secret"}]}, LLMRejected, "llm_bad_request"),
        (308, "", LLMRejected, "llm_redirected"),
        (408, "", LLMUnavailable, "llm_timeout"),
        (409, "", LLMUnavailable, "llm_server_error"),
        (500, {"error": {"message": "boom"}}, LLMUnavailable, "llm_server_error"),
        (502, HTML, LLMUnavailable, "llm_server_error"),
        (503, "", LLMUnavailable, "llm_server_error"),
        (504, "", LLMUnavailable, "llm_server_error"),
        (529, {"type": "error", "error": {"type": "overloaded_error"}}, LLMUnavailable, "llm_server_error"),
        (200, {"error": {"message": "Provider returned error", "code": 502}}, LLMUnavailable, "llm_server_error"),
        (200, {"error": {"message": "slow", "code": 429}}, LLMUnavailable, "llm_rate_limited"),
        (200, {"error": {"message": "slow", "code": "429"}}, LLMUnavailable, "llm_rate_limited"),
        (200, {"error": {"message": "x", "type": "rate_limit_error"}}, LLMUnavailable, "llm_rate_limited"),
        (200, {"code": 500, "msg": "busy", "success": False}, LLMUnavailable, "llm_server_error"),
        (200, {"object": "error", "message": "m", "code": 40303}, LLMRejected, "llm_bad_request"),
        (200, {"error": "model not loaded"}, LLMRejected, "llm_bad_request"),
    ],
)
def test_an_http_failure_is_told_by_its_status_and_words(status: int, body: Any, kind: type, code: str) -> None:
    """seed 7.3, product C8"""
    error = reading(status, body)
    assert (type(error), error.code) == (kind, code)
    assert error.params["endpoint"] == ENDPOINT
    assert error.params["model"] == MODEL


@pytest.mark.parametrize("reason", ["insufficient_system_resource", "error"])
def test_a_generation_that_the_server_broke_off_is_tried_again(reason: str) -> None:
    asked = ask(completed("", finish=reason), completed("ok"))
    assert (asked.completion.text, len(asked.waits)) == ("ok", 1)


def test_the_servers_words_are_shown_and_cut_to_200_characters() -> None:
    """ "HTTP 400" alone tells nobody what to change."""
    assert reading(400, {"error": {"message": "seed must be an integer"}}).params == {
        "endpoint": ENDPOINT,
        "model": MODEL,
        "status": 400,
        "detail": "seed must be an integer",
    }
    assert len(reading(400, {"error": {"message": "ab " * 500}}).params["detail"]) == 200


def test_a_page_of_html_is_no_detail() -> None:
    assert reading(502, HTML).params["detail"] == ""


def test_the_input_of_a_validation_error_is_no_detail() -> None:
    body = {"detail": [{"loc": ["body", "messages"], "msg": "Field required", "input": {"text": "我对花生过敏"}}]}
    assert reading(422, body).params["detail"] == "Field required"


@pytest.mark.parametrize(
    "message",
    [
        f"key {KEY} is wrong",
        "key sk-another-key-998877 is wrong",
        "Authorization: Bearer abcdef123456 is wrong",
        "Your api key: ****6789 is wrong",
    ],
)
def test_no_key_and_no_part_of_one_is_in_an_error(message: str) -> None:
    shown = reading(400, {"error": {"message": message}}).params["detail"]
    assert "***" in shown
    assert "wrong" in shown
    assert not any(part in shown for part in ("sk-", "6789", "abcdef"))


def test_a_key_of_any_shape_is_taken_out() -> None:
    assert detail("who is swordfish1 here", asked_for(api_key="swordfish1")) == "who is *** here"


@pytest.mark.parametrize(
    "shown", ["sword%2Ffish%2B1", "sword\\/fish+1", "sword&#47;fish&#43;1", "sword\\x2ffish\\x2b1"]
)
def test_a_key_is_taken_out_however_the_server_quotes_it(shown: str) -> None:
    assert detail(f"who is {shown} here", asked_for(api_key="sword/fish+1")) == "who is *** here"


@pytest.mark.parametrize("before", range(940, 1000, 7))
def test_no_part_of_a_key_is_left_where_the_servers_words_are_cut(before: int) -> None:
    """An echo of the prompt is taken out, so what stands late in the body may be shown."""
    content = "我对花生过敏而且住在成都" * 100
    asked = asked_for(api_key="swordfish-in-the-deep-blue-sea", messages=(Message("user", content),))
    shown = detail(content[:before] + "swordfish-in-the-deep-blue-sea", asked)
    assert "sword" not in shown


def test_words_about_a_refused_key_are_not_repeated_at_all() -> None:
    assert reading(401, {"error": {"message": "key abcd...wxyz is wrong"}}).params["detail"] == ""


ECHOED = [
    "Cannot parse: {}",
    "[{{'type': 'string_type', 'input': '{}'}}]",
]


@pytest.mark.parametrize("frame", ECHOED)
@pytest.mark.parametrize(
    "said", ["我对花生过敏", "My sister Jane lives in Leeds", 'He said "no way, José" twice', "第一行\n第二行是秘密"]
)
@pytest.mark.parametrize(
    "quoting",
    ["plain", "json", "json twice", "ascii", "ascii twice", "bytes", "octal", "percent", "entities", "numbered"],
)
def test_our_own_prompt_is_never_echoed(frame: str, said: str, quoting: str) -> None:
    """However the server quotes it: as it is, escaped, escaped twice, as bytes, as part of an address or a page."""
    content = json.dumps([{"turn": 1, "role": "user", "text": said}], ensure_ascii=False)
    quoted = {
        "plain": content,
        "json": json.dumps(content, ensure_ascii=False),
        "json twice": json.dumps(json.dumps(content, ensure_ascii=False), ensure_ascii=False),
        "ascii": json.dumps(content),
        "ascii twice": json.dumps(json.dumps(content)),
        "bytes": repr(content.encode()),
        "octal": "".join(chr(byte) if byte < 128 else f"\\{byte:o}" for byte in content.encode()),
        "percent": quote(content),
        "entities": html.escape(content),
        "numbered": html.escape(content.encode("ascii", "xmlcharrefreplace").decode()).replace("&amp;#", "&#"),
    }[quoting]
    shown = detail(frame.format(quoted), asked_for(messages=(Message("user", content),)))
    assert "…" in shown
    secret = ("花生", "Jane", "Leeds", "way", "第一", "秘密")
    assert not any(word in shown or json.dumps(word)[1:-1].replace("\\", "") in shown for word in secret)
    assert not re.search(r"xe[0-9a-f]x|3[0-9]{2}2[0-9]{2}|%E|&#", shown)


def test_words_that_are_not_ours_survive_beside_an_echo() -> None:
    shown = detail("Invalid value 我对花生过敏 for field text", asked_for())
    assert shown == "Invalid value … for field text"


def test_a_prompt_echo_does_not_decide_the_cause() -> None:
    """A user who talks about an insufficient balance has not run out of quota."""
    content = "我的余额不足了，卡里只剩三块钱"
    asked = asked_for(messages=(Message("user", content),))
    with pytest.raises(MexError) as caught:
        read(Answer(400, json.dumps({"error": {"message": f"cannot parse {content}"}})), asked)
    assert caught.value.code == "llm_bad_request"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("5", 5),
        (" 5 ", 5),
        ("0.2", 1),
        ("3600", 3600),
        ("0", None),
        ("", None),
        (None, None),
        ("-5", None),
        ("inf", None),
        ("soon", None),
        (format_datetime(NOW + timedelta(seconds=12), usegmt=True), 12),
        (format_datetime(NOW - timedelta(hours=1), usegmt=True), None),
        ("Thu, 06 Aug 2026 08:31:00 -0000", 60),
        ("Thu, 99 Aug 2026 08:31:00 GMT", None),
        ("Thu, 06 Aug 2026 99999999999999999999:31:00 GMT", None),
        ("6 Aug 99999999999999999999 08:31:00", None),
        ("6 Aug 2026 08:31:00 +99999999999999999999", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(header: str | None, seconds: int | None) -> None:
    assert retry_seconds(header, NOW) == seconds


@given(st.text())
def test_any_retry_after_header_is_survived(header: str) -> None:
    seconds = retry_seconds(header, NOW)
    assert seconds is None or seconds > 0


def test_a_retry_after_date_is_waited_for() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    (wait,) = ask(failed(503, headers={"Retry-After": soon}), completed()).waits
    assert 15 <= wait <= 20


def test_a_retry_after_date_far_ahead_ends_the_call_with_its_seconds() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    asked = ask(failed(429, headers={"Retry-After": later}))
    assert 3500 <= asked.error.params["retry_after"] <= 3600
    assert len(asked.requests) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "message", "content", "error", "code", "usage", "detail", "finish_reason", "refusal"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.integers(200, 599), JSON | st.text())
def test_any_answer_is_a_completion_or_a_named_error(status: int, body: Any) -> None:
    outcome: Completion | str
    try:
        outcome = read(Answer(status, body if isinstance(body, str) else json.dumps(body)), asked_for())
    except MexError as error:
        outcome = error.code
    assert outcome.startswith("llm_") if isinstance(outcome, str) else outcome.text.strip()


def test_a_base_url_with_a_port_shows_it() -> None:
    assert ask(failed(400, "no"), base_url=BASE_URL.replace(".example", ".example:8000")).error.params["endpoint"] == (
        "https://llm.example:8000"
    )

"""The client against a scripted endpoint: what is sent, and how it ends."""

import asyncio
import gzip
import logging
import time
import zlib
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from llm_endpoint import BASE_URL, ENDPOINT, KEY, MESSAGES, MODEL, REPLY, ask, completed, failed, run, transport

from mex_pipeline.domain.conversation import Chunk, Turn
from mex_pipeline.errors import InvalidInput, LLMRejected, LLMUnavailable
from mex_pipeline.llm.client import OpenAICompatible
from mex_pipeline.llm.port import Usage
from mex_pipeline.llm.prompts import Prompts, build_messages


def client(**settings: Any) -> OpenAICompatible:
    return OpenAICompatible(**{"base_url": BASE_URL, "api_key": KEY, "model": MODEL, **settings})


def test_the_request_holds_what_build_messages_made_and_nothing_else() -> None:
    """Model, messages, temperature: the user's words travel once, unchanged, in UTF-8."""
    chunk = Chunk(1, (), (Turn("k1", "user", '我说："a\nb"', at="2026-08-06T08:30:00Z"),))
    messages = build_messages(Prompts(("{{slots}}",), "r", "zh"), slots=["槽"], known=[], today="t", chunk=chunk)
    asked = ask(completed(), messages=messages)
    assert asked.bodies == [
        {
            "model": MODEL,
            "temperature": 0.2,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
        }
    ]
    assert asked.requests[0].url == "https://llm.example/v1/chat/completions"


def test_the_key_travels_as_a_bearer_token() -> None:
    assert ask(completed()).requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_an_empty_key_is_replaced_by_a_harmless_one() -> None:
    """Ollama needs none, and the environment's OpenAI key is not for it."""
    assert ask(completed(), api_key="").requests[0].headers["authorization"] == "Bearer no-key"


def test_a_key_pasted_with_its_line_break_works() -> None:
    assert ask(completed(), api_key=f" {KEY}\n").requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_nothing_of_the_environment_or_the_machine_is_sent_along(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another provider's organisation, key and headers, and the description of this machine stay here."""
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "https://other.example/secret")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer other\nX-Team: secret")
    request = ask(completed()).requests[0]
    assert request.url.host == "llm.example"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert not [name for name in request.headers if name.startswith("x-")]
    assert "secret" not in str(request.headers)


@pytest.mark.parametrize("address", [f"{BASE_URL}/", f" {BASE_URL}", f"{BASE_URL}/chat/completions"])
def test_a_base_url_is_taken_as_people_paste_it(address: str) -> None:
    assert ask(completed(), base_url=address).requests[0].url == f"{BASE_URL}/chat/completions"


@pytest.mark.parametrize(
    "address", ["", "llm.example/v1", "ftp://llm.example", "https://", "http://[::1", "localhost:11434"]
)
def test_a_base_url_without_scheme_or_host_is_refused_before_anything_is_sent(address: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        client(base_url=address)
    assert (caught.value.code, caught.value.params) == ("llm_bad_setting", {"key": "llm.base_url"})


@pytest.mark.parametrize("key", ["sk-钥匙-123456", "sk-a\nb"])
def test_a_key_that_fits_no_header_is_refused_without_repeating_it(key: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        client(api_key=key)
    assert (caught.value.code, caught.value.params) == ("llm_bad_setting", {"key": "llm.api_key"})


def test_a_proxy_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "gopher://127.0.0.1:1")
    with pytest.raises(InvalidInput) as caught:
        client()
    assert caught.value.code == "llm_bad_proxy"


def test_a_completion_has_text_usage_and_format() -> None:
    completion = ask(completed("你好")).completion
    assert (completion.text, completion.finish_reason, completion.response_format) == ("你好", "stop", "prompt")
    assert completion.usage == Usage(MODEL, 120, 7)


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        (None, (0, 0)),
        ({"prompt_tokens": None}, (0, 0)),
        ({"prompt_tokens": 3.0, "completion_tokens": "many"}, (3, 0)),
        ([], (0, 0)),
        ({"prompt_tokens": -4, "completion_tokens": 10**400}, (0, 0)),
        ({"prompt_tokens": 10**30, "completion_tokens": 7}, (0, 7)),
    ],
)
def test_missing_or_odd_token_counts_are_zero(usage: Any, counted: tuple[int, int]) -> None:
    spent = ask(completed(usage=usage)).completion.usage
    assert (spent.prompt_tokens, spent.completion_tokens) == counted


def test_text_parts_are_joined_and_thinking_parts_left_out() -> None:
    parts = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": '{"memo'},
        {"type": "text", "text": 'ries":[]}'},
    ]
    assert ask(completed(parts)).completion.text == '{"memories":[]}'


def test_a_lone_surrogate_in_a_reply_becomes_the_replacement_character() -> None:
    body = '{"choices":[{"finish_reason":"stop","message":{"content":"a\\ud800b"}}]}'
    assert ask(httpx.Response(200, text=body)).completion.text == "a\ufffdb"


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("status", [200, 400])
def test_an_answer_without_end_is_read_to_a_bound(status: int, packed: bool) -> None:
    """A body of gigabytes, as it is or packed into little, must not fill the memory of the worker."""
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        packer = zlib.compressobj(wbits=31)
        while read < 400_000_000:
            read += 1_000_000
            part = b"x" * 1_000_000
            yield packer.compress(part) + packer.flush(zlib.Z_SYNC_FLUSH) if packed else part

    headers = {"content-encoding": "gzip"} if packed else {}
    asked = ask(httpx.Response(status, content=endless(), headers=headers))
    assert asked.error.code == ("llm_not_an_api" if status == 200 else "llm_bad_request")
    assert read < 10_000_000


def test_a_packed_answer_is_read() -> None:
    body = gzip.compress(completed("好").content)
    assert ask(httpx.Response(200, content=body, headers={"content-encoding": "gzip"})).completion.text == "好"


def test_a_byte_order_mark_before_an_answer_does_no_harm() -> None:
    assert ask(httpx.Response(200, content=b"\xef\xbb\xbf" + completed("好").content)).completion.text == "好"


def test_blank_lines_sent_to_keep_the_line_warm_and_a_wrong_charset_do_no_harm() -> None:
    body = '\n\n\n {"choices":[{"finish_reason":"stop","message":{"content":"记忆"}}]}'.encode()
    answer = httpx.Response(200, content=body, headers={"content-type": "application/json; charset=iso-8859-1"})
    assert ask(answer).completion.text == "记忆"


def test_a_model_that_takes_only_its_own_temperature_is_asked_without_one() -> None:
    refusal = failed(400, "Unsupported value: 'temperature' does not support 0.2 with this model.", param="temperature")
    asked = ask(refusal, completed(), response_format=None)
    assert [body.get("temperature") for body in asked.bodies] == [0.2, None]
    assert (asked.formats, asked.waits) == (["json_schema", "json_schema"], [])


@pytest.mark.parametrize("status", [429, 500, 502, 503, 529, 408, 409])
def test_seed_7_3_four_tries_with_doubling_waits(status: int) -> None:
    """2-4-8 s with positive jitter of at most a quarter; then the error."""
    asked = ask(then=failed(status))
    assert len(asked.requests) == 4
    assert all(base <= wait <= base * 1.25 for base, wait in zip((2, 4, 8), asked.waits, strict=True))
    assert isinstance(asked.error, LLMUnavailable)


def test_retries_end_with_the_first_good_answer() -> None:
    asked = ask(failed(503), httpx.ReadTimeout("slow"), completed("ok"))
    assert (asked.completion.text, len(asked.waits)) == ("ok", 2)


def test_a_short_retry_after_wins_over_the_doubling_wait() -> None:
    assert ask(failed(429, headers={"Retry-After": "30"}), completed()).waits == [30]


def test_a_long_retry_after_ends_the_call_at_once() -> None:
    asked = ask(failed(429, headers={"Retry-After": "31"}))
    assert (asked.error.code, asked.error.params["retry_after"], asked.waits) == ("llm_rate_limited", 31, [])


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 418, 422])
def test_a_rejected_request_is_not_repeated(status: int) -> None:
    asked = ask(failed(status, "no"))
    assert (type(asked.error), len(asked.requests), asked.waits) == (LLMRejected, 1, [])


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (httpx.ConnectError("[Errno 111] Connection refused"), "llm_unreachable"),
        (httpx.ConnectError("[Errno -2] Name or service not known"), "llm_unreachable"),
        (httpx.ConnectTimeout("slow"), "llm_unreachable"),
        (httpx.ProxyError("407 Proxy Authentication Required"), "llm_unreachable"),
        (httpx.ReadTimeout("slow"), "llm_timeout"),
        (httpx.WriteTimeout("slow"), "llm_timeout"),
        (httpx.RemoteProtocolError("Server disconnected without sending a response."), "llm_connection_lost"),
        (httpx.ReadError("reset"), "llm_connection_lost"),
    ],
)
def test_without_an_answer_the_endpoint_is_unavailable(fault: Exception, code: str) -> None:
    asked = ask(then=fault)
    tries = 2 if code == "llm_unreachable" else 4
    assert (type(asked.error), asked.error.code, len(asked.requests)) == (LLMUnavailable, code, tries)
    assert asked.error.params == {"endpoint": ENDPOINT, "model": MODEL, "detail": str(fault)}


def test_the_timeout_bounds_the_whole_request() -> None:
    """An endpoint that dribbles bytes to keep the line warm does not outlive it."""

    async def dribble(_: httpx.Request) -> httpx.Response:
        await asyncio.sleep(30)
        raise AssertionError("not reached")

    started = time.monotonic()
    asked = ask(then=dribble, timeout_seconds=0.05, max_retries=1)
    assert (asked.error.code, len(asked.requests)) == ("llm_timeout", 2)
    assert time.monotonic() - started < 5


def test_cancelling_interrupts_a_wait_at_once() -> None:
    """No hook here: the real sleep of a minute has to give way."""

    async def go() -> float:
        llm = OpenAICompatible(base_url=BASE_URL, api_key=KEY, model=MODEL, retry_base_seconds=60)
        call = asyncio.create_task(llm.complete(MESSAGES))
        await asyncio.sleep(0.2)
        assert not call.done()
        started = time.monotonic()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await llm.aclose()
        return time.monotonic() - started

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", transport(lambda _: failed(429)))
        assert run(go()) < 1


def test_a_redirect_is_not_followed() -> None:
    """The prompt goes to the configured endpoint and nowhere else (product P1)."""
    asked = ask(httpx.Response(307, headers={"location": "https://elsewhere.example/v1/chat/completions"}))
    assert (asked.error.code, len(asked.requests)) == ("llm_redirected", 1)


def test_the_endpoint_in_an_error_has_no_path_and_no_credentials() -> None:
    asked = ask(failed(400, "no"), base_url="https://me:pw@llm.example:8443/secret/v1?token=abc")
    assert asked.error.params["endpoint"] == "https://llm.example:8443"


def test_an_endpoint_on_this_machine_is_reached_although_a_proxy_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """A real loopback server; the proxy named in the environment does not exist."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    body = completed("from here").content

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close"
        writer.write(head.encode() + b"\r\n\r\n" + body)
        await writer.drain()
        writer.close()

    async def go() -> str:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        llm = OpenAICompatible(base_url=f"http://localhost:{port}/v1", api_key="", model=MODEL, max_retries=0)
        try:
            return (await llm.complete(MESSAGES)).text
        finally:
            await llm.aclose()
            server.close()
            await server.wait_closed()

    assert run(go()) == "from here"


def test_a_remote_endpoint_uses_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")

    async def go() -> str:
        llm = OpenAICompatible(base_url=BASE_URL, api_key=KEY, model=MODEL, max_retries=0)
        try:
            await llm.complete(MESSAGES)
        except LLMUnavailable as error:
            return error.code
        finally:
            await llm.aclose()
        return "answered"

    assert run(go()) == "llm_unreachable"


def test_prompts_and_keys_stay_out_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Even with everything at DEBUG (the library writes whole requests there)."""
    with caplog.at_level(logging.DEBUG):
        ask(failed(500), failed(400, "花生"), completed(), response_format=None)
    assert "花生" not in caplog.text
    assert KEY not in caplog.text


def test_messages_are_sent_in_order() -> None:
    assert [message["content"] for message in ask(completed()).bodies[0]["messages"]] == [m.content for m in MESSAGES]


def test_the_reply_is_the_one_that_was_sent() -> None:
    assert ask(completed(REPLY)).completion.text == REPLY

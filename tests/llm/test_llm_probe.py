"""Listing an endpoint's models: one request, a short wait, one named error, never the key."""

import asyncio
from collections.abc import Callable

import httpx
import pytest
import respx
from llm_endpoint import BASE_URL, ENDPOINT, KEY, failed, run

from mex_pipeline.errors import MexError
from mex_pipeline.llm.probe import list_models

Answering = httpx.Response | Exception | Callable[[httpx.Request], httpx.Response]


def listed(
    answer: Answering, *, key: str = KEY, base_url: str = BASE_URL
) -> tuple[list[str] | MexError, httpx.Request]:
    """What came of it, and the one request."""
    with respx.mock() as router:
        route = router.get(f"{BASE_URL}/models").mock(
            **({"return_value": answer} if isinstance(answer, httpx.Response) else {"side_effect": answer})
        )
        try:
            result: list[str] | MexError = run(list_models(base_url, key, 2.0))
        except MexError as error:
            result = error
        assert route.call_count == 1, "nothing is retried"
        return result, route.calls.last.request


@pytest.mark.parametrize("base_url", [BASE_URL, f"{BASE_URL}/", f"{BASE_URL}/chat/completions"])
def test_models_are_named_in_order_with_the_key_in_the_header_alone(base_url: str) -> None:
    names, request = listed(httpx.Response(200, json={"data": [{"id": "b"}, {"id": "a"}, {"x": 1}]}), base_url=base_url)
    assert names == ["a", "b"]
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in str(request.url)
    assert "openai" not in request.headers.get("user-agent", "").casefold()


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (failed(401, f"Incorrect API key provided: {KEY}"), "llm_auth"),
        (failed(429, "slow down"), "llm_rate_limited"),
        (failed(500, "oops"), "llm_server_error"),
        (httpx.Response(404, text="<html>"), "llm_not_an_api"),
        (httpx.Response(200, text="<html>hello"), "llm_not_an_api"),
        (httpx.Response(200, json=[]), "llm_not_an_api"),
        (httpx.Response(302, headers={"location": "https://elsewhere.example"}), "llm_redirected"),
        (httpx.ConnectError("refused"), "llm_unreachable"),
        (httpx.ReadTimeout("slow"), "llm_timeout"),
        (httpx.ReadError("gone"), "llm_connection_lost"),
    ],
)
def test_product_c7_whatever_else_comes_is_one_named_error_without_the_key(answer: Answering, code: str) -> None:
    error, _ = listed(answer)
    assert isinstance(error, MexError)
    assert (error.code, error.params["endpoint"]) == (code, ENDPOINT)
    assert KEY not in str(error.params)


def test_an_endpoint_that_keeps_the_line_warm_ends_too() -> None:
    async def go() -> list[str]:
        async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            try:
                while True:
                    writer.write(b" ")
                    await asyncio.sleep(0.05)
            finally:
                writer.transport.abort()

        server = await asyncio.start_server(drip, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        try:
            return await list_models(f"http://127.0.0.1:{port}/v1", "", 0.4)
        finally:
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
            await asyncio.sleep(0.1)
            server.close()

    with pytest.raises(MexError) as caught:
        run(go())
    assert caught.value.code == "llm_timeout"


@pytest.mark.parametrize(("base_url", "key"), [("ftp://x", ""), ("", ""), (BASE_URL, "钥匙")])
def test_what_no_request_can_be_made_with_is_the_user_s_to_correct(base_url: str, key: str) -> None:
    with pytest.raises(MexError) as caught:
        run(list_models(base_url, key, 1.0))
    assert (caught.value.code, caught.value.exit_code) == ("llm_bad_setting", 1)

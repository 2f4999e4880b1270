"""An endpoint scripted with respx, and what the client tests share."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx
import respx

from mex_pipeline.errors import MexError
from mex_pipeline.llm.client import OpenAICompatible
from mex_pipeline.llm.port import Completion, Message, ResponseFormat

T = TypeVar("T")

BASE_URL = "https://llm.example/v1"
ENDPOINT = "https://llm.example"
KEY = "sk-test-0123456789"
MODEL = "some-model"
MESSAGES = [
    Message("system", "You extract memories."),
    Message("user", '[{"turn":1,"role":"user","text":"我对花生过敏"}]'),
]
REPLY = '{"memories": []}'

Step = httpx.Response | Exception | Callable[[httpx.Request], Coroutine[Any, Any, httpx.Response]]


def completed(content: Any = REPLY, *, finish: str | None = "stop", usage: Any = ..., **message: Any) -> httpx.Response:
    """An HTTP 200 with one choice; 120 prompt and 7 completion tokens unless told."""
    tokens = {"prompt_tokens": 120, "completion_tokens": 7, "total_tokens": 127} if usage is ... else usage
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
    return httpx.Response(200, json={"object": "chat.completion", "choices": [choice], "usage": tokens})


def failed(status: int, message: str = "", *, headers: dict[str, str] | None = None, **fields: Any) -> httpx.Response:
    """An HTTP error in OpenAI's shape."""
    return httpx.Response(status, json={"error": {"message": message, **fields}}, headers=headers)


@dataclass
class Run:
    """What one call of the client did."""

    result: Completion | MexError
    requests: list[httpx.Request]
    waits: list[float]
    learned: list[ResponseFormat]
    bodies: list[dict[str, Any]] = field(default_factory=list)

    @property
    def formats(self) -> list[str]:
        """How structured output was asked for, request by request."""
        return [body.get("response_format", {"type": "prompt"})["type"] for body in self.bodies]

    @property
    def error(self) -> Any:
        """The error; fails when there is none."""
        assert isinstance(self.result, MexError), self.result
        return self.result

    @property
    def completion(self) -> Completion:
        """The completion; raises the error when there is one."""
        if isinstance(self.result, MexError):
            raise self.result
        return self.result


def ask(*steps: Step, then: Step | None = None, messages: list[Message] = MESSAGES, **settings: Any) -> Run:
    """Complete `messages` against an endpoint that answers with `steps`, then with `then` for ever."""
    waits: list[float] = []
    learned: list[ResponseFormat] = []
    script = list(steps)
    requests: list[httpx.Request] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        step = script.pop(0) if script else then
        assert step is not None, "one request more than expected"
        if isinstance(step, Exception):
            raise step
        if isinstance(step, httpx.Response):
            return step
        return await step(request)

    async def go() -> Completion | MexError:
        options = {"base_url": BASE_URL, "api_key": KEY, "model": MODEL, "response_format": "prompt", **settings}
        client = OpenAICompatible(on_format=learned.append, sleep=sleep, **options)
        try:
            return await client.complete(messages)
        except MexError as error:
            return error
        finally:
            await client.aclose()

    with respx.mock(assert_all_called=False) as router:
        router.route().mock(side_effect=answer)
        result = run(go())
    return Run(result, requests, waits, learned, [json.loads(request.content) for request in requests])


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in a loop of its own."""
    return asyncio.run(coroutine)


def transport(answer: Callable[[httpx.Request], httpx.Response]) -> Any:
    """A stand-in for `AsyncHTTPTransport.handle_async_request` that answers by itself."""

    async def handle(self: Any, request: httpx.Request) -> httpx.Response:
        await request.aread()
        return answer(request)

    return handle

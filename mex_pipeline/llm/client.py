"""The one network exit: any OpenAI-compatible chat endpoint (seed 004 ADR-10, product P1)."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, get_args

import httpx
from openai import APIConnectionError, APIStatusError, AsyncOpenAI

from mex_pipeline.errors import LLMUnavailable
from mex_pipeline.llm.answers import Answer, Asked, detail, read, refuses_format, refuses_temperature
from mex_pipeline.llm.contract import REPLY_SCHEMA
from mex_pipeline.llm.endpoint import NO_KEY, checked_key, checked_url, http_client, no_answer, origin
from mex_pipeline.llm.port import Completion, Message, ResponseFormat
from mex_pipeline.llm.retry import Sleep, with_retries

# At DEBUG the library writes whole requests, prompts included, to its log.
logging.getLogger("openai").setLevel(logging.WARNING)

_TEMPERATURE = 0.2
_LADDER: tuple[ResponseFormat, ...] = get_args(ResponseFormat)
MEMORIES: tuple[str, dict[str, Any]] = ("memories", REPLY_SCHEMA)
"""The name and the JSON Schema of what a model answers to an extraction."""


class _Descent:
    """How one call comes down from format to format.

    A bare 500 may mean the format or an outage. So the first pass down costs no try; after it each try takes the next
    format, from the strongest again: a dead server is asked six times in all, and one that comes back is not taken
    for one that cannot do better than plain words.
    """

    def __init__(self, proven: ResponseFormat | None) -> None:
        self._levels = _LADDER[_LADDER.index(proven or _LADDER[0]) :]
        self._at = 0
        self.is_over = False

    @property
    def format(self) -> ResponseFormat:
        return self._levels[self._at]

    def step(self) -> None:
        self._at = (self._at + 1) % len(self._levels)
        self.is_over = self.is_over or self._at == 0


class OpenAICompatible:
    """The LLM port over HTTP. One instance belongs to one event loop."""

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        model: str,
        timeout_seconds: float = 600,
        max_retries: int = 3,
        retry_base_seconds: float = 2,
        response_format: ResponseFormat | None = None,
        on_format: Callable[[ResponseFormat], None] | None = None,
        sleep: Sleep = asyncio.sleep,
        reply: tuple[str, dict[str, Any]] = MEMORIES,
    ) -> None:
        """Take plain values; nothing is sent yet.

        An empty key is fine (ollama). `response_format` is what worked with this endpoint and model before;
        `on_format` is told when that is learned anew, `reply` is what is asked for. `timeout_seconds` bounds one request
        as a whole.
        Raises InvalidInput for a base_url, key or proxy that no request can be made with.
        """
        self.model = model
        self._key = checked_key(api_key)
        self._format = response_format
        self._on_format = on_format
        self._temperature: float | None = _TEMPERATURE
        self._timeout = timeout_seconds
        self._max_retries = max_retries
        self._retry_base = retry_base_seconds
        self._sleep = sleep
        name, schema = reply
        strict = {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}
        self._formats: dict[ResponseFormat, dict[str, Any]] = {
            "json_schema": {"response_format": strict},
            "json_object": {"response_format": {"type": "json_object"}},
            "prompt": {},
        }
        url = checked_url(base_url)
        self._endpoint = origin(url)
        self._client = AsyncOpenAI(
            base_url=url,
            api_key=self._key or NO_KEY,
            max_retries=0,
            # Said here too, it wins over the Authorization of OPENAI_CUSTOM_HEADERS, which is meant for another host.
            default_headers={"Authorization": f"Bearer {self._key or NO_KEY}"},
            http_client=http_client(url, timeout_seconds),
        )

    async def complete(self, messages: list[Message]) -> Completion:
        """Return the model's reply; raises as the port says, with `endpoint` (scheme, host, port) in every error."""
        descent = _Descent(self._format)
        return await with_retries(
            lambda: self._ask(tuple(messages), descent),
            max_retries=self._max_retries,
            base_seconds=self._retry_base,
            sleep=self._sleep,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _ask(self, messages: tuple[Message, ...], descent: "_Descent") -> Completion:
        """Ask in the strongest way not refused yet, one step down per refusal, at once and uncounted (product C12)."""
        while True:
            asked = Asked(self._endpoint, self.model, self._key, messages, descent.format)
            answer = await self._post(asked)
            if self._temperature is not None and refuses_temperature(answer, asked):
                self._temperature = None
            elif refuses_format(answer, asked, is_proven=descent.is_over or descent.format == self._format):
                descent.step()
            else:
                try:
                    completion = read(answer, asked)
                except LLMUnavailable as error:
                    if self._format is None and error.params.get("status") == 500:
                        descent.step()
                    raise
                self._learn(descent.format)
                return completion

    def _learn(self, response_format: ResponseFormat) -> None:
        if response_format != self._format:
            self._format = response_format
            if self._on_format is not None:
                self._on_format(response_format)

    async def _post(self, asked: Asked) -> Answer:
        """Return the endpoint's answer whatever its status; raises LLMUnavailable when there is none."""
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": message.role, "content": message.content} for message in asked.messages],
            **({} if self._temperature is None else {"temperature": self._temperature}),
            **self._formats[asked.response_format],
        }
        try:
            # The read timeout starts anew with every byte; an endpoint that keeps the line warm must end as well.
            async with asyncio.timeout(self._timeout):
                response = await self._client.post("/chat/completions", cast_to=httpx.Response, body=body)
        except APIStatusError as error:
            response = error.response
        except APIConnectionError as error:
            raise self._unavailable(error.__cause__, asked) from error
        except TimeoutError as error:
            raise self._unavailable(error, asked) from error
        return Answer(
            response.status_code, response.content.decode("utf-8-sig", "replace"), response.headers.get("retry-after")
        )

    def _unavailable(self, cause: BaseException | None, asked: Asked) -> LLMUnavailable:
        """Return the error of a request without an answer: not reached, too slow, or broken off."""
        return LLMUnavailable(
            no_answer(cause), endpoint=self._endpoint, model=self.model, detail=detail(str(cause or ""), asked)
        )

"""The one network exit: any OpenAI-compatible chat endpoint (seed 004 ADR-10, product P1)."""

import asyncio
import ipaddress
import logging
from collections.abc import Callable
from typing import Any, get_args

import httpx
from openai import APIConnectionError, APIStatusError, AsyncOpenAI

from mex_pipeline.errors import InvalidInput, LLMUnavailable
from mex_pipeline.llm.answers import Answer, Asked, detail, read, refuses_format, refuses_temperature
from mex_pipeline.llm.contract import REPLY_SCHEMA
from mex_pipeline.llm.port import Completion, Message, ResponseFormat
from mex_pipeline.llm.retry import Sleep, with_retries

# At DEBUG the library writes whole requests, prompts included, to its log.
logging.getLogger("openai").setLevel(logging.WARNING)

_CONNECT_SECONDS = 10.0
_TEMPERATURE = 0.2
_NO_KEY = "no-key"
_LADDER: tuple[ResponseFormat, ...] = get_args(ResponseFormat)
_RESPONSE_FORMATS: dict[ResponseFormat, dict[str, Any]] = {
    "json_schema": {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "memories", "strict": True, "schema": REPLY_SCHEMA},
        }
    },
    "json_object": {"response_format": {"type": "json_object"}},
    "prompt": {},
}
_SENT_HEADERS = frozenset(
    {"host", "accept", "accept-encoding", "authorization", "connection", "content-length", "content-type", "user-agent"}
)


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
    ) -> None:
        """Take plain values; nothing is sent yet.

        An empty key is fine (ollama). `response_format` is what worked with this endpoint and model before;
        `on_format` is told when that is learned anew. `timeout_seconds` bounds one request as a whole.
        Raises InvalidInput for a base_url, key or proxy that no request can be made with.
        """
        self.model = model
        self._key = api_key.strip()
        self._format = response_format
        self._on_format = on_format
        self._temperature: float | None = _TEMPERATURE
        self._timeout = timeout_seconds
        self._max_retries = max_retries
        self._retry_base = retry_base_seconds
        self._sleep = sleep
        url = _checked_url(base_url)
        self._endpoint = f"{url.scheme}://{url.netloc.decode('ascii')}"
        if not (self._key.isascii() and self._key.isprintable()):
            raise InvalidInput("llm_bad_setting", key="llm.api_key")
        self._client = AsyncOpenAI(
            base_url=url,
            api_key=self._key or _NO_KEY,
            max_retries=0,
            # Said here too, it wins over the Authorization of OPENAI_CUSTOM_HEADERS, which is meant for another host.
            default_headers={"Authorization": f"Bearer {self._key or _NO_KEY}"},
            http_client=_http_client(url, timeout_seconds),
        )

    async def complete(self, messages: list[Message]) -> Completion:
        """Return the model's reply; raises as the port says, with `endpoint` (scheme, host, port) in every error."""
        return await with_retries(
            lambda: self._descend(tuple(messages)),
            max_retries=self._max_retries,
            base_seconds=self._retry_base,
            sleep=self._sleep,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _descend(self, messages: tuple[Message, ...]) -> Completion:
        """Ask in the strongest way not refused yet, one step down per refusal, at once and uncounted (product C12)."""
        response_format = self._format or _LADDER[0]
        while True:
            asked = Asked(self._endpoint, self.model, self._key, messages, response_format)
            answer = await self._post(asked)
            if self._temperature is not None and refuses_temperature(answer, asked):
                self._temperature = None
            elif refuses_format(answer, asked, is_proven=response_format == self._format):
                response_format = _LADDER[_LADDER.index(response_format) + 1]
            else:
                completion = read(answer, asked)
                self._learn(response_format)
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
            **_RESPONSE_FORMATS[asked.response_format],
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
            response.status_code, response.content.decode("utf-8", "replace"), response.headers.get("retry-after")
        )

    def _unavailable(self, cause: BaseException | None, asked: Asked) -> LLMUnavailable:
        """Return the error of a request without an answer: not reached, too slow, or broken off."""
        if isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
            code = "llm_unreachable"
        elif isinstance(cause, httpx.TimeoutException | TimeoutError):
            code = "llm_timeout"
        else:
            code = "llm_connection_lost"
        return LLMUnavailable(code, endpoint=self._endpoint, model=self.model, detail=detail(str(cause or ""), asked))


def _checked_url(base_url: str) -> httpx.URL:
    """Return the endpoint's URL; the full address of the chat call, often pasted, is taken as well."""
    try:
        url = httpx.URL(base_url.strip().rstrip("/").removesuffix("/chat/completions"))
    except httpx.InvalidURL as error:
        raise InvalidInput("llm_bad_setting", key="llm.base_url") from error
    if url.scheme not in {"http", "https"} or not url.host:
        raise InvalidInput("llm_bad_setting", key="llm.base_url")
    return url


def _http_client(url: httpx.URL, timeout_seconds: float) -> httpx.AsyncClient:
    """Return a client that uses the environment's proxies, except for an endpoint on this machine.

    It follows no redirect: the prompt goes to the configured endpoint and nowhere else (product P1).
    """
    try:
        return httpx.AsyncClient(
            timeout=httpx.Timeout(timeout_seconds, connect=_CONNECT_SECONDS),
            trust_env=not _is_this_machine(url.host),
            follow_redirects=False,
            event_hooks={"request": [_keep_known_headers]},
        )
    except (ImportError, ValueError) as error:
        # A SOCKS proxy without its package, or a proxy address that is none.
        raise InvalidInput("llm_bad_proxy") from error


def _is_this_machine(host: str) -> bool:
    """True for localhost and loopback addresses."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


async def _keep_known_headers(request: httpx.Request) -> None:
    """Drop what the library adds of its own: the machine's description, and another provider's organisation."""
    for name in set(request.headers) - _SENT_HEADERS:
        del request.headers[name]

"""Asking an endpoint what it can do: which models it has, and whether one answers (seed 004 §5.1, original `doctor`)."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import httpx

from mex_pipeline.errors import LLMBadReply, LLMUnavailable
from mex_pipeline.llm.answers import Answer, Asked, read, read_models
from mex_pipeline.llm.endpoint import MAX_BYTES, NO_KEY, checked_key, checked_url, http_client, no_answer, origin
from mex_pipeline.llm.port import Message, Usage

_GREETING = Message("user", "Answer with the one word: ok")
_THOUGHT_ALOUD = {"llm_reasoning_only", "llm_cut_off"}
"""What an extraction could not use tells enough here: the model answers."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What one tiny call cost, and whether the model thought before it spoke (`reasoning_tokens` 0: not told)."""

    usage: Usage
    reasons: bool
    reasoning_tokens: int


async def list_models(base_url: str, api_key: str, timeout: float) -> list[str]:
    """Return the names of the models at `<base_url>/models`, sorted; one request of at most `timeout` seconds.

    Raises InvalidInput for a URL, key or proxy no request can be made with, else LLMUnavailable, LLMRejected or
    LLMBadReply as a completion would (`llm_not_an_api` when there is no list), with `endpoint` in each.
    """
    url = checked_url(base_url)
    asked = Asked(origin(url), "", checked_key(api_key), (), "prompt")
    return read_models(await exchange(asked, url, "models", timeout), asked)


async def try_model(base_url: str, api_key: str, model: str, timeout: float) -> Trial:
    """Return what one completion of a few tokens cost; nothing of the user's is in it.

    Raises as `list_models`; an answer that only holds reasoning, or is cut off, counts as one.
    """
    url = checked_url(base_url)
    asked = Asked(origin(url), model, checked_key(api_key), (_GREETING,), "prompt")
    body = {"model": model, "messages": [{"role": _GREETING.role, "content": _GREETING.content}]}
    answer = await exchange(asked, url, "chat/completions", timeout, body)
    try:
        usage = read(answer, asked).usage
    except LLMBadReply as error:
        if error.code not in _THOUGHT_ALOUD:
            raise
        usage = Usage(model, *(error.params.get(name, 0) for name in ("prompt_tokens", "completion_tokens")))
    tokens, reasons = _reasoning(json.loads(answer.body))
    return Trial(usage, reasons, tokens)


def _reasoning(body: Any) -> tuple[int, bool]:
    """Return the tokens spent on reasoning as far as they are told, and whether there was any reasoning."""
    tokens = _within(body, "usage", "completion_tokens_details", "reasoning_tokens")
    message = _within(body, "choices", 0, "message")
    content = _within(message, "content")
    shown = _within(message, "reasoning_content") or _within(message, "reasoning")
    spent = tokens if isinstance(tokens, int) else 0
    return spent, bool(spent or shown or (isinstance(content, str) and "<think>" in content))


def _within(value: Any, *path: str | int) -> Any:
    """Return what lies at a path of keys and positions; None where it leads nowhere."""
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


async def exchange(
    asked: Asked, url: httpx.URL, path: str, timeout: float, body: dict[str, Any] | None = None
) -> Answer:
    """Return the endpoint's answer, whatever its status: to a GET, or to a POST of `body`."""
    headers = {"Authorization": f"Bearer {asked.api_key or NO_KEY}", "Accept": "application/json"}
    address = f"{str(url).rstrip('/')}/{path}"
    received = bytearray()
    try:
        async with (
            asyncio.timeout(timeout),
            http_client(url, timeout) as client,
            client.stream("POST" if body else "GET", address, headers=headers, json=body) as response,
        ):
            async for part in response.aiter_bytes():
                received += part
                if len(received) > MAX_BYTES:
                    break
    except (httpx.HTTPError, TimeoutError) as error:
        raise LLMUnavailable(no_answer(error), endpoint=asked.endpoint, model=asked.model, detail="") from error
    return Answer(response.status_code, received.decode("utf-8", "replace"), response.headers.get("retry-after"))

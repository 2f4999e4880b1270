"""The way to an embedding model elsewhere: any OpenAI-compatible `POST /embeddings` (product F6, P1)."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from mex_pipeline.domain.vector import LONGEST_TEXT
from mex_pipeline.errors import LLMBadReply, LLMRejected
from mex_pipeline.llm.answers import Answer, Asked, read_body
from mex_pipeline.llm.endpoint import checked_key, checked_url, origin
from mex_pipeline.llm.port import Message
from mex_pipeline.llm.probe import exchange
from mex_pipeline.llm.retry import with_retries

PASSAGES_SECONDS, QUERY_SECONDS = 120.0, 15.0
"""How long an answer about memories is waited for, and one that a person is waiting for."""
AT_ONCE = 32
"""Texts of one request, until an endpoint takes fewer."""
_TOO_MUCH = frozenset({"llm_bad_request", "llm_context_length"})
"""How endpoints refuse more texts than they take at once (some take ten), or a longer one (some take 512 tokens)."""
_SHORTEST_CUT = 100


class RemoteModel:
    """Embeds through an endpoint; nothing is sent until a text is given."""

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        model: str,
        query_prefix: str = "",
        passage_prefix: str = "",
        max_retries: int = 3,
        retry_base_seconds: float = 2,
    ) -> None:
        """Take plain values; the prefixes are what the model wants to read before a question and before a memory.

        Raises InvalidInput for a base_url or key that no request can be made with.
        """
        self._model = model
        self._url = checked_url(base_url, setting="semantic.base_url")
        self._key = checked_key(api_key, setting="semantic.api_key")
        self._query_prefix = query_prefix
        self._passage_prefix = passage_prefix
        self._max_retries = max_retries
        self._retry_base = retry_base_seconds
        self._most = AT_ONCE
        self._size: int | None = None

    async def passages(
        self, texts: Sequence[str], before: Callable[[], Awaitable[None]]
    ) -> tuple[list[list[float]], int]:
        """Return the vectors of memories, and what the endpoint says they cost in tokens.

        What is refused as too much is asked for in halves, down to a hundred characters of one text. `before` is awaited
        before each request, and what it raises is raised. Raises LLMUnavailable, LLMRejected or LLMBadReply, all with
        `endpoint`; `llm_not_an_api` for anything but one vector for each text, of one length for all of them.
        """
        asked = [self._passage_prefix + text[:LONGEST_TEXT] for text in texts]
        return await self._all(asked, PASSAGES_SECONDS, self._max_retries, before)

    def query(self, text: str) -> list[float]:
        """Return the vector of a question, which is asked for once; raises as `passages`."""
        vectors, _ = asyncio.run(self._all([self._query_prefix + text[:LONGEST_TEXT]], QUERY_SECONDS, 0, _nothing))
        return vectors[0]

    async def _all(
        self, texts: list[str], timeout: float, retries: int, before: Callable[[], Awaitable[None]]
    ) -> tuple[list[list[float]], int]:
        vectors: list[list[float]] = []
        tokens = 0
        while (at := len(vectors)) < len(texts):
            part = texts[at : at + self._most]
            ask = partial(self._ask, part, timeout, before)
            try:
                found, cost = await with_retries(ask, max_retries=retries, base_seconds=self._retry_base)
            except LLMRejected as error:
                if error.code not in _TOO_MUCH or (len(part) == 1 and len(part[0]) <= _SHORTEST_CUT):
                    raise
                if len(part) == 1:
                    texts[at] = part[0][: len(part[0]) // 2]
                else:
                    self._most = len(part) // 2
            else:
                vectors += found
                tokens += cost
        return vectors, tokens

    async def _ask(
        self, texts: list[str], timeout: float, before: Callable[[], Awaitable[None]]
    ) -> tuple[list[list[float]], int]:
        await before()
        messages = tuple(Message("user", text) for text in texts)  # so that no error repeats them
        asked = Asked(origin(self._url), self._model, self._key, messages, "prompt")
        body = {"model": self._model, "input": texts, "encoding_format": "float"}
        answer = await exchange(asked, self._url, "embeddings", timeout, body)
        vectors, cost = _read(answer, asked, len(texts))
        self._size = self._size or len(vectors[0])
        if len(vectors[0]) != self._size:  # an endpoint behind which models change
            raise LLMBadReply("llm_not_an_api", endpoint=asked.endpoint, model=asked.model)
        return vectors, cost


async def _nothing() -> None:
    """A question may be sent whenever it is asked."""


def _read(answer: Answer, asked: Asked, number: int) -> tuple[list[list[float]], int]:
    body = read_body(answer, asked)
    try:
        told = sorted(body["data"], key=lambda one: one["index"])
        vectors = [_vector(one["embedding"]) for one in told]
        if [one["index"] for one in told] != list(range(number)) or len({len(one) for one in vectors}) != 1:
            raise ValueError("not one vector for each text")
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise LLMBadReply("llm_not_an_api", endpoint=asked.endpoint, model=asked.model) from error
    return vectors, _tokens(body)


def _vector(told: Any) -> list[float]:
    """The components of a vector; raises ValueError or TypeError for what is none, or has no direction."""
    vector = [float(one) for one in told]
    if isinstance(told, str) or not 0 < math.hypot(*vector) < math.inf:
        raise ValueError("no direction")
    return vector


def _tokens(body: dict[str, Any]) -> int:
    usage = body.get("usage")
    told = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return told if isinstance(told, int) and 0 <= told < 10**12 else 0

"""Retries inside one model call (seed 004 §7.3, product H7). The job's own retries belong to the caller."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from mex_pipeline.errors import LLMUnavailable

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]

LONGEST_RETRY_AFTER = 30
"""Seconds an endpoint may ask for and still be waited for inside the call."""
UNREACHED_RETRIES = 1
"""A machine without a network is told from a lost packet by one more try; waiting longer is the job's part."""

_JITTER = 0.25


async def with_retries(
    call: Callable[[], Awaitable[T]], *, max_retries: int, base_seconds: float, sleep: Sleep = asyncio.sleep
) -> T:
    """Return what `call` returns, calling it again after LLMUnavailable, at most `max_retries` times.

    An endpoint that was not reached at all is tried once more only.

    The n-th wait is base_seconds·2^(n-1) and up to a quarter more, or exactly the `retry_after` (seconds) the endpoint
    named. A `retry_after` over 30 s ends the call at once: the job waits instead. Raises the last error as it is.
    """

    def wait(state: RetryCallState) -> float:
        named = _retry_after(state.outcome.exception() if state.outcome else None)
        if named:
            return named
        seconds: float = base_seconds * 2 ** (state.attempt_number - 1)
        return seconds * (1 + random.uniform(0, _JITTER))

    def stop(state: RetryCallState) -> bool:
        unreached = getattr(state.outcome.exception() if state.outcome else None, "code", "") == "llm_unreachable"
        return state.attempt_number > (min(max_retries, UNREACHED_RETRIES) if unreached else max_retries)

    policy = AsyncRetrying(
        retry=retry_if_exception(_is_worth_waiting),
        stop=stop,
        wait=wait,
        sleep=sleep,
        reraise=True,
    )
    async for attempt in policy:
        with attempt:
            return await call()
    raise AssertionError("tenacity returns or raises")


def _is_worth_waiting(error: BaseException) -> bool:
    return isinstance(error, LLMUnavailable) and (_retry_after(error) or 0) <= LONGEST_RETRY_AFTER


def _retry_after(error: BaseException | None) -> float | None:
    return error.params.get("retry_after") if isinstance(error, LLMUnavailable) else None

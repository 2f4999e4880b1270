"""The retry policy alone: how often, how long, for what."""

import asyncio
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mex_pipeline.errors import LLMBadReply, LLMRejected, LLMUnavailable, MexError
from mex_pipeline.llm.retry import with_retries


def retried(
    fault: Callable[[int], Exception | None], *, max_retries: int = 3, base_seconds: float = 2
) -> tuple[int | Exception, list[float]]:
    """Run a call whose n-th try fails with `fault(n)`; the result is the number of the good try."""
    waits: list[float] = []
    tries = 0

    async def call() -> int:
        nonlocal tries
        tries += 1
        error = fault(tries)
        if error is not None:
            raise error
        return tries

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    try:
        policy = with_retries(call, max_retries=max_retries, base_seconds=base_seconds, sleep=sleep)
        return asyncio.run(policy), waits
    except MexError as error:
        return error, waits


def test_a_call_that_succeeds_is_made_once() -> None:
    assert retried(lambda _: None) == (1, [])


def test_seed_7_3_three_retries_then_the_error_itself() -> None:
    errors = [LLMUnavailable("llm_timeout", number=number) for number in range(5)]
    result, waits = retried(lambda number: errors[number])
    assert result is errors[4]
    assert len(waits) == 3


@given(st.integers(0, 6), st.floats(0, 10))
def test_seed_9_the_nth_wait_is_the_base_doubled_with_at_most_a_quarter_more(max_retries: int, base: float) -> None:
    """product H7: the jitter is positive."""
    _, waits = retried(lambda _: LLMUnavailable(), max_retries=max_retries, base_seconds=base)
    assert len(waits) == max_retries
    assert all(base * 2**n <= wait <= base * 2**n * 1.25 for n, wait in enumerate(waits))


def test_jitter_spreads_the_waits() -> None:
    """Many jobs that fail together must not come back together."""
    assert len({retried(lambda n: LLMUnavailable() if n == 1 else None)[1][0] for _ in range(20)}) > 10


@pytest.mark.parametrize("error", [LLMRejected("llm_auth"), LLMBadReply("llm_empty_reply")])
def test_only_an_unavailable_endpoint_is_asked_again(error: MexError) -> None:
    assert retried(lambda _: error) == (error, [])


@pytest.mark.parametrize(("max_retries", "waits"), [(0, 0), (1, 1), (3, 1), (9, 1)])
def test_queue_5_6_an_endpoint_that_is_not_reached_is_tried_twice(max_retries: int, waits: int) -> None:
    result, waited = retried(lambda _: LLMUnavailable("llm_unreachable"), max_retries=max_retries)
    assert isinstance(result, LLMUnavailable)
    assert len(waited) == waits


def test_an_error_of_our_own_is_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError):
        retried(lambda _: ZeroDivisionError())


@pytest.mark.parametrize(("retry_after", "waits"), [(1, [1]), (30, [30]), (31, []), (3600, [])])
def test_retry_after_wins_up_to_thirty_seconds_and_ends_the_call_above(retry_after: int, waits: list[float]) -> None:
    """product H7"""
    error = LLMUnavailable("llm_rate_limited", retry_after=retry_after)
    assert retried(lambda number: error if number == 1 else None)[1] == waits


def test_each_wait_follows_the_answer_it_belongs_to() -> None:
    _, waits = retried(lambda n: [LLMUnavailable(retry_after=5), LLMUnavailable(), None][n - 1])
    assert waits[0] == 5
    assert 4 <= waits[1] <= 5


def test_cancelling_interrupts_a_wait_at_once() -> None:
    async def call() -> None:
        raise LLMUnavailable

    async def go() -> None:
        task = asyncio.create_task(with_retries(call, max_retries=3, base_seconds=60))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    started = time.monotonic()
    asyncio.run(go())
    assert time.monotonic() - started < 2

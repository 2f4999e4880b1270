"""The gate of calls: one limit for all the event loops of a process (services/gate.py)."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable

import pytest

from mex_pipeline.services import gate as module
from mex_pipeline.services.gate import Gate


class Crowd:
    """Counts who is inside at once, over all threads."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self.inside = self.most = self.passed = 0
        self._lock = threading.Lock()

    async def visit(self, seconds: float = 0.002) -> None:
        async with self.gate.place():
            with self._lock:
                self.inside += 1
                self.most = max(self.most, self.inside)
            try:
                await asyncio.sleep(seconds)
                self.passed += 1
            finally:
                with self._lock:
                    self.inside -= 1


def in_threads(count: int, work: Callable[[], Awaitable[None]]) -> None:
    async def go() -> None:
        await work()

    threads = [threading.Thread(target=lambda: asyncio.run(go())) for _ in range(count)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(20)
    assert not any(one.is_alive() for one in threads)


def test_threads_with_loops_of_their_own_share_one_limit() -> None:
    crowd = Crowd(Gate(3))

    async def work() -> None:
        await asyncio.gather(*(crowd.visit() for _ in range(20)))

    in_threads(4, work)
    assert (crowd.most, crowd.passed, crowd.inside) == (3, 80, 0)


def test_who_came_first_goes_first() -> None:
    order: list[int] = []
    gate = Gate(1)

    async def one(number: int) -> None:
        async with gate.place():
            order.append(number)
            await asyncio.sleep(0)

    async def go() -> None:
        await asyncio.gather(*(one(number) for number in range(10)))

    asyncio.run(go())
    assert order == list(range(10))


def test_a_wait_that_is_cancelled_leaves_no_gap_and_takes_no_place() -> None:
    """Half of the waiting are cancelled at any moment, some just as they are let in."""
    crowd = Crowd(Gate(2))

    async def work() -> None:
        tasks = [asyncio.create_task(crowd.visit(0.001)) for _ in range(40)]
        for turn, task in enumerate(tasks):
            await asyncio.sleep(0.0005)
            if turn % 2:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await crowd.visit()

    in_threads(3, work)
    assert crowd.most <= 2
    assert crowd.passed >= 63

    async def all_places_are_free() -> None:
        await asyncio.wait_for(asyncio.gather(crowd.visit(), crowd.visit()), 5)

    asyncio.run(all_places_are_free())


def test_an_error_inside_gives_the_place_back() -> None:
    gate = Gate(1)

    async def go() -> None:
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                async with gate.place():
                    raise ZeroDivisionError

    asyncio.run(asyncio.wait_for(go(), 5))


def test_a_wider_gate_lets_the_waiting_in_at_once_and_a_narrower_one_the_next_only() -> None:
    async def go() -> None:
        crowd = Crowd(Gate(1))
        tasks = [asyncio.create_task(crowd.visit(0.05)) for _ in range(6)]
        await asyncio.sleep(0)
        crowd.gate.resize(3)
        await asyncio.sleep(0.01)
        assert crowd.inside == 3
        crowd.gate.resize(1)
        await asyncio.gather(*tasks)
        assert (crowd.most, crowd.passed) == (3, 6)

    asyncio.run(go())


def test_a_long_wait_gives_signs_that_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a job that waits for its turn is not taken for one that hangs."""
    monkeypatch.setattr(module, "SIGN_SECONDS", 0.01)
    signs: list[float] = []

    async def go() -> None:
        gate = Gate(1)
        async with gate.place():
            waiting = asyncio.create_task(_pass(gate, lambda: signs.append(time.monotonic())))
            await asyncio.sleep(0.1)
        await waiting

    asyncio.run(go())
    assert len(signs) >= 2


async def _pass(gate: Gate, while_waiting: Callable[[], None]) -> None:
    async with gate.place(while_waiting):
        return

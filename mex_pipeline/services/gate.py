"""How many calls are under way at once in the whole process, though each job runs in a loop and a thread of its own."""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

SIGN_SECONDS = 5.0


@dataclass(slots=True, eq=False)
class _Place:
    loop: asyncio.AbstractEventLoop
    free: "asyncio.Future[None]"
    is_taken: bool = False

    def take(self) -> None:
        """Wake who waits, in its own loop."""
        self.is_taken = True
        self.loop.call_soon_threadsafe(lambda: None if self.free.done() else self.free.set_result(None))


class Gate:
    """Lets at most `limit` through at a time, first come first served, from any event loop of this process."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._inside = 0
        self._waiting: deque[_Place] = deque()
        self._lock = threading.Lock()

    def resize(self, limit: int) -> None:
        """Let more or fewer through from now on; who is inside stays."""
        with self._lock:
            self._limit = limit
            self._admit()

    @asynccontextmanager
    async def place(self, while_waiting: Callable[[], None] = lambda: None) -> AsyncIterator[None]:
        """Wait for a place and hold it, calling `while_waiting` now and then; a wait that is cancelled leaves no gap."""
        await self._enter(while_waiting)
        try:
            yield
        finally:
            self._leave()

    async def _enter(self, while_waiting: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        place = _Place(loop, loop.create_future())
        with self._lock:
            self._waiting.append(place)
            self._admit()
            if place.is_taken:
                return
        try:
            while not (await asyncio.wait({place.free}, timeout=SIGN_SECONDS))[0]:
                while_waiting()
        except BaseException:
            with self._lock:
                if not place.is_taken:
                    self._waiting.remove(place)
                    raise
            self._leave()
            raise

    def _leave(self) -> None:
        with self._lock:
            self._inside -= 1
            self._admit()

    def _admit(self) -> None:
        while self._waiting and self._inside < self._limit:
            place = self._waiting.popleft()
            try:
                place.take()
            except RuntimeError:
                continue  # its loop is closed: nobody waits there any more
            self._inside += 1

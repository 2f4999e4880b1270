"""The one door to Huey and Redis: a queue that carries job ids as wake-ups, and the consumer that answers them.

A wake-up may be lost, doubled, stale or forged; the claim in mex.db decides (docs/jobs.md). So the queue is disposable,
whatever carries it: a file, or a Redis server.
"""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from huey.consumer import Consumer, Scheduler

from mex_pipeline.jobqueue.envelope import MODULE
from mex_pipeline.jobqueue.file_queue import FileQueue
from mex_pipeline.jobqueue.redis_queue import RedisQueue, require_redis

TICK_SECONDS = 0.1
DRAIN_SECONDS = 20


def require(url: str) -> None:
    """Raise NotConfigured (`queue_no_redis`) when the queue at `url` needs a package that is not installed."""
    if url:
        require_redis()


def try_redis(path: Path, url: str, address: str) -> None:
    """Ask the Redis server whether the queue of the home of `path` can be written; nothing changes.

    Raises NotConfigured (`queue_no_redis`) and ExternalError (`queue_unreachable`), which name the `address` only.
    """
    require_redis()
    RedisQueue(path, url, lambda: None).try_write(address)


class _Ticker(Scheduler):
    """Huey's scheduler thread carries our tick instead of Huey's own timetable, which keeps no job safely."""

    tick: Callable[[], None]

    def loop(self, now: Any = None) -> None:  # noqa: ARG002 - Huey's signature
        self.tick()
        self.stop_flag.wait(TICK_SECONDS)


class _Consumer(Consumer):
    """Every signal asks for the same thing: finish what can be finished, put back the rest, leave. The second ends it all.

    `earlier` is the consumer that served before in this process, and may have been signalled since.
    """

    def __init__(self, *args: Any, on_signal: Callable[[], None], earlier: "_Consumer | None", **options: Any) -> None:
        super().__init__(*args, **options)
        self._on_signal = on_signal
        self._earlier = earlier
        self.has_stopped = False
        self._signal_actions = {
            number: (False, True)
            for number in (signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGHUP", None))
            if number
        }

    @property
    def was_signalled(self) -> bool:
        return self._signum is not None

    def stop(self, graceful: bool = False) -> None:
        self.has_stopped = True
        if self.was_signalled:
            self._on_signal()
        super().stop(graceful)

    def _set_signal_handlers(self) -> None:
        super()._set_signal_handlers()
        if self._earlier is not None and self._earlier.was_signalled:
            self._handle_signal(signal.SIGTERM, None)

    def _handle_signal(self, signum: int, frame: Any) -> None:
        super()._handle_signal(signum, frame)
        for number in self._signal_actions:
            signal.signal(number, signal.SIG_DFL)


class JobQueue:
    """The queue of a home: the file at `path`, or with `url` a Redis server.

    `handle(job_id)` is called in one of the consumer's threads for each wake-up, `on_lost()` when wake-ups may be gone.
    A `url` wants `require` first.
    """

    def __init__(
        self, path: Path, handle: Callable[[str], None], *, on_lost: Callable[[], None], url: str = ""
    ) -> None:
        self._consumer: _Consumer | None = None
        self._huey = RedisQueue(path, url, on_lost) if url else FileQueue(path, on_lost)

        def run(job_id: str) -> None:
            handle(job_id)

        run.__module__ = MODULE
        self._task = self._huey.task(name="run", retries=0)(run)

    def open(self, *, fresh: bool) -> None:
        """Make the queue usable; `fresh` empties a file, for a process that is the only one to read it."""
        self._huey.open(fresh=fresh)

    def publish(self, job_id: str, priority: int) -> bool:
        """Put a wake-up on the queue; False when it could not be sent."""
        return self._huey.send(self._task.s(job_id, priority=priority))

    def run(self, *, threads: int, tick: Callable[[], None], on_signal: Callable[[], None]) -> None:
        """Serve wake-ups until a signal or `leave`; `tick` is called ten times a second in a thread of its own."""
        ticker = type("Ticker", (_Ticker,), {"tick": staticmethod(tick)})
        consumer_class = type("JobConsumer", (_Consumer,), {"scheduler_class": ticker})
        self._consumer = consumer_class(
            self._huey,
            workers=threads,
            worker_type="thread",
            periodic=False,
            initial_delay=0.05,
            max_delay=0.25,
            graceful_signal="TERM",
            shutdown_timeout=DRAIN_SECONDS,
            on_signal=on_signal,
            earlier=self._consumer,
        )
        self._consumer.run()
        if not self._consumer.has_stopped:
            # `leave` only sets the flag: the jobs under way are still to be waited for.
            self._consumer.stop(graceful=True)

    def leave(self) -> None:
        """End `run` from any thread."""
        if self._consumer is not None:
            self._consumer.stop_flag.set()

    def close(self) -> None:
        """Close the queue."""
        self._huey.close()

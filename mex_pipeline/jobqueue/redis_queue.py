"""The queue in a Redis server: it may be down, emptied or replaced at any time; the jobs are in mex.db."""

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from huey import PriorityRedisHuey
from huey.storage import PriorityRedisStorage

from mex_pipeline.errors import ExternalError, NotConfigured
from mex_pipeline.jobqueue.envelope import Envelope

try:
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry
except ImportError:  # the extra `redis` is not installed
    redis = None  # type: ignore[assignment]

POP_SECONDS = 1
CONNECT_SECONDS = 2
ANSWER_SECONDS = 3
SILENT_SECONDS = 1.0


def require_redis() -> None:
    """Raise NotConfigured (`queue_no_redis`) when the package redis is not installed."""
    if redis is None:
        raise NotConfigured("queue_no_redis")


def queue_name(home: Path) -> str:
    """Return the name of a home's queue, letters and digits: several homes may share a server."""
    return f"mex{hashlib.sha256(str(home.resolve()).encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"


class _Storage(PriorityRedisStorage):
    """At most one message for a job and a priority.

    Nobody empties this queue, and what waits for long is sent again each minute: copies would pile up for ever.
    """

    def enqueue(self, data: bytes, priority: float | None = None) -> None:
        """Add a message behind those of its priority; one that is there already keeps its place."""
        self.conn.zadd(self.queue_key, {data: time.time() - (priority or 0) * 1e10}, nx=True)

    def dequeue(self) -> bytes | None:
        """Take the first message, waiting a second for one; raises RedisError, where Huey hides a server that hangs."""
        found = self.conn.bzpopmin(self.queue_key, timeout=POP_SECONDS)
        return found[1] if found else None


class RedisQueue(PriorityRedisHuey):
    """The queue of the home in which `path` lies, on the server at `url`.

    After a time without the server `on_lost` is called, for it may have come back empty.
    """

    storage_class = _Storage

    def __init__(self, path: Path, url: str, on_lost: Callable[[], None]) -> None:
        self._on_lost = on_lost
        self._is_lost = False
        self._silent_until = float("-inf")
        pool = redis.ConnectionPool.from_url(
            url,
            # An old server repeats in its error what it does not know, and HELLO carries the password.
            protocol=2,
            socket_timeout=ANSWER_SECONDS,
            socket_connect_timeout=CONNECT_SECONDS,
            # We ask again ourselves: a client that tries ten times would hold up the tick and the end.
            retry=Retry(NoBackoff(), 0),
        )
        super().__init__(queue_name(path.parent), results=False, serializer=Envelope(), connection_pool=pool)

    def open(self, *, fresh: bool) -> None:
        """Nothing is to be made, and nothing emptied: another worker of this home may read the same queue."""

    def dequeue(self) -> Any:
        """Return the next wake-up, None when there is none; raises RedisError while the server cannot be used."""
        try:
            task = super().dequeue()
        except redis.RedisError:
            self._is_lost = True
            raise  # Huey waits and asks again
        except ValueError:
            return None  # a foreign message: it is gone from the queue, and no job depended on it
        if self._is_lost:
            self._is_lost = False
            self._on_lost()
        return task

    def send(self, task: Any) -> bool:
        """Put a wake-up on the queue; False when the server cannot be used.

        It is left alone for a second then: with hundreds of jobs due, waiting for it once each would hold up the tick.
        """
        if time.monotonic() < self._silent_until:
            return False
        try:
            self.enqueue(task)
        except redis.RedisError:
            self._is_lost = True
            self._silent_until = time.monotonic() + SILENT_SECONDS
            return False
        return True

    def close(self) -> None:
        """Close the connections."""
        self.storage.conn.connection_pool.disconnect()

    def try_write(self, address: str) -> None:
        """Ask the server whether the queue can be written; nothing changes.

        Raises ExternalError (`queue_unreachable`) with the `address` for people and the kind of the error: a server's own
        words could repeat what it was sent.
        """
        try:
            # No message is empty, so nothing is removed; a replica, a foreign key and missing rights refuse it all the same.
            self.storage.conn.zrem(self.storage.queue_key, b"")
        except redis.RedisError as error:
            raise ExternalError("queue_unreachable", address=address, detail=type(error).__name__) from None
        finally:
            self.close()

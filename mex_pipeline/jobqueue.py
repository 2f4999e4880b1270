"""The one door to Huey: a queue file that carries job ids as wake-ups, and the consumer that answers them.

A wake-up may be lost, doubled, stale or forged; the claim in mex.db decides (docs/jobs.md). So the file is disposable:
it is not synced to disk, a broken one is replaced, and its messages are JSON of our own, never pickles.
"""

import json
import signal
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from huey import SqliteHuey
from huey.consumer import Consumer, Scheduler
from huey.registry import Message
from huey.serializer import Serializer

TICK_SECONDS = 0.1
DRAIN_SECONDS = 20
_TASK = f"{__name__}.run"


class _Envelope(Serializer):
    """`{"v": 1, "m": message id, "j": job id, "p": priority}`; anything else is refused before anything is built."""

    def _serialize(self, data: Message) -> bytes:
        return json.dumps({"v": 1, "m": data.id, "j": data.args[0], "p": data.priority or 0}).encode()

    def _deserialize(self, data: Any) -> Message:
        envelope = json.loads(bytes(data))
        if not isinstance(envelope, dict) or envelope.get("v") != 1 or not isinstance(envelope.get("j"), str):
            raise ValueError("not a wake-up of ours")
        return Message(
            id=str(envelope.get("m")), name=_TASK, retries=0, retry_delay=0, args=(envelope["j"],), kwargs={}
        )


class _Huey(SqliteHuey):
    """A queue that heals: what SQLite cannot read any more is dropped and made anew."""

    heal: Callable[[], None] = staticmethod(lambda: None)

    def dequeue(self) -> Any:
        try:
            return super().dequeue()
        except sqlite3.OperationalError as error:
            if "no such table" not in str(error):
                raise  # locked or full: Huey waits and asks again
        except sqlite3.DatabaseError:
            pass
        except ValueError:
            return None  # a foreign message: it is gone from the queue, and no job depended on it
        with suppress(sqlite3.Error, OSError):
            self.heal()
        return None


class _Ticker(Scheduler):
    """Huey's scheduler thread carries our tick instead of Huey's own timetable, which keeps no job safely."""

    tick: Callable[[], None]

    def loop(self, now: Any = None) -> None:  # noqa: ARG002 - Huey's signature
        self.tick()
        self.stop_flag.wait(TICK_SECONDS)


class _Consumer(Consumer):
    """Every signal asks for the same thing: finish what can be finished, put back the rest, leave."""

    def __init__(self, *args: Any, on_signal: Callable[[], None], **options: Any) -> None:
        super().__init__(*args, **options)
        self._on_signal = on_signal
        self._signal_actions = {
            number: (False, True)
            for number in (signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGHUP", None))
            if number
        }

    @property
    def was_signalled(self) -> bool:
        return self._signum is not None

    def stop(self, graceful: bool = False) -> None:
        if self.was_signalled:
            self._on_signal()
        super().stop(graceful)


class JobQueue:
    """The queue file at `path`. `handle(job_id)` is called in one of the consumer's threads for each wake-up."""

    def __init__(self, path: Path, handle: Callable[[str], None], *, on_lost: Callable[[], None]) -> None:
        self._path = path
        self._on_lost = on_lost
        self._healing = threading.Lock()
        self._consumer: _Consumer | None = None
        self._huey = _Huey(
            "mex",
            filename=str(path),
            results=False,
            fsync=False,
            timeout=2,
            # A broken file must not fail the construction: `open` makes or replaces it.
            create_tables=False,
            serializer=_Envelope(),
        )
        self._huey.heal = self.heal

        def run(job_id: str) -> None:
            handle(job_id)

        run.__module__ = __name__
        self._task = self._huey.task(name="run", retries=0)(run)

    def open(self, *, fresh: bool) -> None:
        """Make the file usable; `fresh` empties it, for a process that is the only one to read it."""
        try:
            self._huey.storage.initialize_schema()
            if self._huey.storage.sql("PRAGMA quick_check", results=True)[0][0] != "ok":
                raise sqlite3.DatabaseError("quick_check")
            if fresh:
                self._huey.flush()
        except sqlite3.DatabaseError:
            with suppress(sqlite3.Error, OSError):  # a full disk: `dequeue` and `publish` heal it when there is room
                self._replace()

    def publish(self, job_id: str, priority: int) -> bool:
        """Put a wake-up on the queue; a file that is gone or broken is made anew first. False when it could not be sent."""
        try:
            if not self._path.exists():
                self.heal()
            self._huey.enqueue(self._task.s(job_id, priority=priority))
        except sqlite3.DatabaseError:
            with suppress(sqlite3.Error, OSError):
                self.heal()
            return False
        return True

    def heal(self) -> None:
        """Replace a queue file that cannot be read, and have everything published again."""
        with self._healing:
            try:
                if self._path.exists():
                    self._huey.storage.sql("SELECT count(*) FROM task", results=True)
                    return  # another thread was faster, or the file was only locked
            except sqlite3.DatabaseError:
                pass
            self._replace()
        self._on_lost()

    def _replace(self) -> None:
        self._huey.storage.close()
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self._path}{suffix}").unlink(missing_ok=True)
        self._huey.storage.initialize_schema()

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
        )
        self._consumer.run()
        if not self._consumer.was_signalled:
            # `leave` only sets the flag: the jobs under way are still to be waited for.
            self._consumer.stop(graceful=True)

    def leave(self) -> None:
        """End `run` from any thread."""
        if self._consumer is not None:
            self._consumer.stop_flag.set()

    def close(self) -> None:
        """Close the queue file."""
        self._huey.storage.close()

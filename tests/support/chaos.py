"""Chaos: the real program under random kills, stops, damage and failing calls, and the count afterwards (docs/testing.md).

`python -m tests.support.chaos SECONDS SEED [REDIS_URL]` prints one line and exits 1 when anything was lost, doubled, wrong
or stuck. Two worker processes and some producers run; a monkey hurts them until the time is over; then everything is
left in peace until no job waits, and what was said is compared with what is remembered.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mex_pipeline.bootstrap import open_app
from mex_pipeline.paths import Home
from mex_pipeline.services import jobs
from tests.support.chaos_judge import SET_ASIDE, UNFINISHED, Outcome, column, count, judge, unread
from tests.support.fact_server import Manners, serving

ROOT = Path(__file__).parents[2]
PRODUCERS, SESSIONS_EACH = 3, 4
LEASE, STOPPED = 2.0, 3.5
SETTLES_IN = 60.0
FAULTS = {"kill": 45, "term": 12, "stop": 25, "delete": 9, "overwrite": 9}
"""What the monkey does, and how often."""
SETTINGS = {
    "MEX_TEST_LEASE": str(LEASE),
    "MEX_TEST_BACKOFF": "0.5",
    "MEX_TEST_SWEEP": "10",
    "MEX_LLM_MODEL": "m1",
    "MEX_LLM_MAX_RETRIES": "0",
    "MEX_LLM_RETRY_BASE_SECONDS": "0.1",
    "MEX_LLM_TIMEOUT_SECONDS": "20",
    "MEX_EXTRACTION_CHUNK_TOKENS": "300",
    "MEX_EXTRACTION_QUIET_SECONDS": "0",
    "MEX_WORKER_AUTOSTART": "false",
    "MEX_LANG": "en",
}


class _Workers:
    """Two worker processes, the second beside the first; one that is gone is started again."""

    def __init__(self, folder: Path, did: Counter[str]) -> None:
        self._did = did
        self._log = (folder / "workers.log").open("ab")
        self._asked_to_leave: set[int] = set()
        self._stopped: dict[int, float] = {}
        self._processes = [self._started(number) for number in range(2)]

    def _started(self, number: int) -> "subprocess.Popen[bytes]":
        extra = ["--extra"] if number else []
        return subprocess.Popen(
            [sys.executable, "-m", "mex_workers", "--idle-exit", "0", "--threads", "2", *extra],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            cwd=ROOT,
        )

    def supervise(self) -> None:
        """Start again what is gone, let go on what has been stopped for long enough."""
        for pid, until in list(self._stopped.items()):
            if time.monotonic() >= until:
                self._signal(pid, signal.SIGCONT)
                del self._stopped[pid]
        for number, process in enumerate(self._processes):
            if process.poll() is not None:
                if process.pid not in self._asked_to_leave:
                    self._did["left_unasked"] += 1
                self._processes[number] = self._started(number)
                self._did["restarts"] += 1

    def hurt(self, number: int, fault: str) -> None:
        """Do one of kill, term, stop to a worker."""
        pid = self._processes[number].pid
        if fault == "stop":
            self._signal(pid, signal.SIGSTOP)
            self._stopped[pid] = time.monotonic() + STOPPED
            return
        self._asked_to_leave.add(pid)
        self._signal(pid, signal.SIGKILL if fault == "kill" else signal.SIGTERM)

    def wake(self) -> None:
        """Let everything that is stopped go on."""
        for pid in self._stopped:
            self._signal(pid, signal.SIGCONT)
        self._stopped.clear()

    def _signal(self, pid: int, number: int) -> None:
        # A process that has not been waited for keeps its number, so no other can be hit.
        with suppress(ProcessLookupError):
            os.kill(pid, number)

    def close(self) -> None:
        """End both processes, by force when they do not leave by themselves."""
        self.wake()
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            try:
                process.wait(timeout=25)
            except subprocess.TimeoutExpired:
                self._did["would_not_leave"] += 1
                process.kill()
                process.wait()
        self._log.close()


class _Monkey:
    """Hurts one thing every one to two and a half seconds."""

    def __init__(self, home: Home, workers: _Workers, seed: int, did: Counter[str], redis: str | None) -> None:
        self._home = home
        self._workers = workers
        self._chance = random.Random(seed)
        self._did = did
        self._redis = redis
        self._next = time.monotonic() + 2.0
        self._log = home.root.with_name("monkey.log")

    def look(self) -> None:
        """Do something when it is time to."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._chance.uniform(1.0, 2.5)
        fault = self._chance.choices(list(FAULTS), list(FAULTS.values()))[0]
        number = self._chance.randrange(2)
        if fault in ("delete", "overwrite"):
            fault = self._spoil_queue(fault)
        else:
            self._workers.hurt(number, fault)
        self._did[fault] += 1
        with self._log.open("a", encoding="ascii") as log:
            log.write(f"{time.time():.3f} {fault} {number}\n")

    def _spoil_queue(self, fault: str) -> str:
        if self._redis is not None:
            subprocess.run(["redis-cli", "-u", self._redis, "FLUSHALL"], capture_output=True, check=True)
            return "flushall"
        if fault == "delete":
            for name in ("queue.db", "queue.db-journal", "queue.db-wal", "queue.db-shm"):
                (self._home.root / name).unlink(missing_ok=True)
        else:
            with suppress(FileNotFoundError), self._home.queue.open("r+b") as file:
                file.write(self._chance.randbytes(8192))
        return fault


def run(folder: Path, *, seconds: float, seed: int, redis: str | None = None) -> Outcome:
    """Run chaos in an empty folder for about `seconds`, let it settle, and return what was found."""
    outcome = Outcome(seed, seconds)
    for name in ("sessions", "drafts"):
        (folder / name).mkdir(parents=True)
    # Retries must be paid, too: one call in thirty fails.
    with serving(folder / "model", Manners(0.05, 0.6, failing=0.03, seed=seed)) as model:
        queue = {} if redis is None else {"MEX_QUEUE_URL": redis}
        with _environment(MEX_HOME=str(folder / "home"), MEX_LLM_BASE_URL=model.url, **SETTINGS, **queue):
            home = Home.from_environment()
            with open_app("en"):
                pass
            workers = _Workers(folder, outcome.did)
            try:
                _produce(folder, home, workers, outcome, redis)
                _settle(folder, home, workers, outcome)
            finally:
                workers.close()
            judge(folder, home, model, outcome)
    return outcome


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _produce(folder: Path, home: Home, workers: _Workers, outcome: Outcome, redis: str | None) -> None:
    """Producers and monkey at once, until the time is over and every producer has asked for all that it wrote."""
    shape = [str(SESSIONS_EACH), str(outcome.seconds)]
    producers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.support.chaos_producer", str(folder), str(number), *shape,
             str(1000 * outcome.seed + number)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for number in range(1, PRODUCERS + 1)
    ]  # fmt: skip
    monkey = _Monkey(home, workers, outcome.seed, outcome.did, redis)
    end = time.monotonic() + outcome.seconds
    while time.monotonic() < end:
        workers.supervise()
        monkey.look()
        time.sleep(0.05)
    workers.wake()
    for producer in producers:
        said, _ = producer.communicate(timeout=60)
        outcome.did.update(json.loads(said))


def _settle(folder: Path, home: Home, workers: _Workers, outcome: Outcome) -> None:
    """Wait until no job waits or runs and every session is read. What met three kills was set aside; a person retries it."""
    began = time.monotonic()
    asked: set[str] = set()
    while time.monotonic() - began < SETTLES_IN:
        workers.supervise()
        for job_id in set(column(home, f"SELECT id FROM jobs WHERE {SET_ASIDE}")) - asked:
            asked.add(job_id)
            with open_app("en") as app:
                jobs.retry(app, job_id)
        if not count(home, f"jobs WHERE {UNFINISHED}") and not unread(folder, home):
            break
        time.sleep(0.2)
    outcome.did["set_aside"] = len(asked)
    outcome.settled_in = time.monotonic() - began


def main() -> None:
    """Run once from the command line; the folder is kept when KEEP is set, and its name printed."""
    seconds, seed = float(sys.argv[1]), int(sys.argv[2])
    folder = Path(tempfile.mkdtemp(prefix="mex-chaos-"))
    outcome = run(folder, seconds=seconds, seed=seed, redis=next(iter(sys.argv[3:]), None))
    sys.stdout.write(outcome.line + "\n")
    if os.environ.get("KEEP"):
        sys.stdout.write(f"{folder}\n")
    else:
        shutil.rmtree(folder)
    sys.exit(bool(outcome.failures))


if __name__ == "__main__":
    main()

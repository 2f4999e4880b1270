"""Drain processes: as many as there are CPUs, each working off homes until none is left."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from benchmarks.replay.streams import ROOT


@dataclass(frozen=True, slots=True)
class Task:
    """A home and the steps to do in it (drain.py)."""

    home: Path
    steps: tuple[tuple[str, ...], ...]

    def line(self) -> str:
        """Return the task as a drain process reads it."""
        return json.dumps({"home": str(self.home), "steps": self.steps}) + "\n"


class DrainFailed(Exception):
    """A drain process ended before its task did; what it had to say went to the standard error."""


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of every process of the bench: nothing of the caller's own settings, UTC, a clock to set."""
    clock = folder / "clock"
    if not clock.exists():
        clock.write_text("0", encoding="ascii")
    own = {name: value for name, value in os.environ.items() if not _is_foreign(name)}
    return own | {
        "TZ": "UTC",
        "MEX_LANG": "en",
        "MEX_WORKER_AUTOSTART": "false",
        "MEX_TEST_CLOCK": str(clock),
        "KF_RULE_CACHE_DIR": str(folder),
    }


def _is_foreign(name: str) -> bool:
    return name.startswith(("MEX_", "OPENAI_")) or name.lower().endswith("_proxy")


def drain(folder: Path, tasks: Iterable[Task], processes: int | None = None) -> None:
    """Do all tasks, several homes at once; raises DrainFailed. Each process gets a clock of its own in `folder`."""
    number = processes or os.cpu_count() or 1
    waiting, lock = iter(tasks), Lock()

    def take() -> Task | None:
        with lock:
            return next(waiting, None)

    def work(index: int) -> None:
        own = folder / f"drain-{index}"
        own.mkdir(parents=True, exist_ok=True)
        with _drainer(own) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            while (task := take()) is not None:
                process.stdin.write(task.line())
                process.stdin.flush()
                if not process.stdout.readline():
                    raise DrainFailed(str(task.home))

    with ThreadPoolExecutor(number) as pool:
        for done in [pool.submit(work, index) for index in range(number)]:
            done.result()


@contextmanager
def _drainer(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    with program(["benchmarks.replay.drain"], environment(folder), stdin=subprocess.PIPE) as process:
        yield process


@contextmanager
def program(
    module: Sequence[str], env: dict[str, str], *, stdin: int = subprocess.DEVNULL
) -> Iterator["subprocess.Popen[str]"]:
    """Run a module in a process of its own while the block lasts; it is killed at the end."""
    command = [sys.executable, "-m", *module]
    process = subprocess.Popen(command, env=env, stdin=stdin, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()

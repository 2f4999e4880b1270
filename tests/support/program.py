"""Running `mex` as a person does: a process, its exit code and what it prints."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

QUIET = {"MEX_EXTRACTION_QUIET_SECONDS": "0"}
"""Sessions count as finished at once: nothing is held back."""


@dataclass(frozen=True)
class Ran:
    """How one call of `mex` went."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What was printed, as JSON."""
        return json.loads(self.out)


def mex(*arguments: str, stdin: str | None = None, ok: bool = True, **environment: str) -> Ran:
    """Run `mex`; with `ok` anything but exit 0 fails the test."""
    done = subprocess.run(
        [sys.executable, "-m", "mex_pipeline", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        env=os.environ | QUIET | environment,
        check=False,
    )
    ran = Ran(done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in ran.err, ran.err
    assert not ok or ran.code == 0, f"{arguments}: {ran}"
    return ran


@contextmanager
def worker(*options: str, **environment: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A worker process for this test's home; it is gone when the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-m", "mex_workers", "--idle-exit", "0", *options],
        env=os.environ | QUIET | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def until(condition: Callable[[], Any], seconds: float = 30) -> Any:
    """Return the condition's value as soon as it is true; fail when it does not become so in time."""
    deadline = time.monotonic() + seconds
    began = time.monotonic()
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        # A condition that runs a program must not starve what it waits for.
        time.sleep(max(0.05, time.monotonic() - began))
        began = time.monotonic()
    return value


def memories() -> list[dict[str, Any]]:
    """Every active memory."""
    return list(mex("list", "--json").json)


def contents() -> list[str]:
    """The contents of every active memory, sorted."""
    return sorted(memory["content"] for memory in memories())


def write(path: Path, *lines: str) -> Path:
    """Write a text file."""
    path.write_text("\n".join(lines), encoding="utf-8")
    return path

"""Running `mex` as a person does: a process, its exit code and what it prints."""

import io
import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from mex_pipeline import lease
from mex_pipeline.cli.main import run
from mex_pipeline.paths import Home
from mex_pipeline.store.functions import FUNCTIONS
from tests.support import forked
from tests.support.forked import Forked

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
        try:
            return json.loads(self.out)
        except ValueError:
            raise AssertionError(f"no JSON: {self}") from None


_IN_PROCESS = {
    ("doctor",), ("schema",), ("audit",),
    ("add",), ("update",), ("pin",), ("related",), ("get",), ("list",), ("search",), ("profile",), ("stats",), ("init",),
    ("transcript",), ("extract",), ("compact",), ("config", "llm"), ("config", "show"), ("jobs", "list"),
    ("jobs", "show"), ("worker", "status"),
    ("forget",), ("restore",), ("gc",), ("move",), ("undo",), ("log",),
    ("export",), ("import",), ("backup",), ("clear",),
    ("review",), ("history",), ("diff",),
    ("setup",), ("integrate",), ("sessions",), ("sweep",), ("source",), ("turns",),
}  # fmt: skip
"""What runs in the test's own process, a second faster each: the same `run`, with the same streams and exit code."""


def mex(*arguments: str, stdin: str | None = None, ok: bool = True, **environment: str) -> Ran:
    """Run `mex`; with `ok` anything but exit 0 fails the test.

    What starts, becomes or stops a process, what prints help, and what runs beside other threads is a process of its own.
    """
    words = [one for one in arguments if one not in ("--json", "--lang", "zh", "en")]
    alone = threading.current_thread() is threading.main_thread() and stdin is None
    starts_more = {"--async", "--help", "-h"} & set(arguments)
    here = alone and not starts_more and (tuple(words[:1]) in _IN_PROCESS or tuple(words[:2]) in _IN_PROCESS)
    ran = (_here if here else _process)(arguments, stdin, os.environ | QUIET | environment)
    assert "Traceback" not in ran.err, ran.err
    assert not ok or ran.code == 0, f"{arguments}: {ran}"
    return ran


def in_process(*arguments: str, **environment: str) -> Ran:
    """Run `mex` in the test's own process, whatever it is asked; the caller judges the exit code."""
    return _here(arguments, None, os.environ | QUIET | environment)


def _here(arguments: tuple[str, ...], _: str | None, environment: dict[str, str]) -> Ran:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    before = dict(os.environ)
    umask = os.umask(0o022)
    os.environ.update(environment)
    time.tzset()
    try:
        with redirect_stdout(out), redirect_stderr(err), _stdin(io.TextIOWrapper(io.BytesIO())):
            code = run(arguments)
    finally:
        os.umask(umask)
        os.environ.clear()
        os.environ.update(before)
        time.tzset()
    return Ran(code, _text(out), _text(err))


def _text(stream: io.TextIOWrapper) -> str:
    raw = stream.buffer
    assert isinstance(raw, io.BytesIO)
    return raw.getvalue().decode()


@contextmanager
def _stdin(stream: io.TextIOWrapper) -> Iterator[None]:
    before, sys.stdin = sys.stdin, stream
    try:
        yield
    finally:
        sys.stdin = before


def _process(arguments: tuple[str, ...], stdin: str | None, environment: dict[str, str]) -> Ran:
    if stdin is None and "--lang" not in " ".join(arguments) and forked.is_plain(environment):
        return _forked(arguments, environment)
    done = subprocess.run(
        [sys.executable, "-m", "mex_pipeline", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        env=environment,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def _forked(arguments: tuple[str, ...], environment: dict[str, str]) -> Ran:
    with TemporaryFile() as out, TemporaryFile() as err:
        process = Forked(forked.MEX, arguments, environment, out, err)
        try:
            code = process.wait(120)
        finally:
            process.kill()
        return Ran(code, *(stream.seek(0) or stream.read().decode() for stream in (out, err)))


@contextmanager
def worker(*options: str, **environment: str) -> Iterator["Forked | subprocess.Popen[bytes]"]:
    """A worker process for this test's home, up when the block begins and gone when it ends.

    A command that is run while it is coming up would start another one, without these options and settings.
    """
    with Path(os.devnull).open("r+b") as nothing:
        process = _worker(("--idle-exit", "0", *options), os.environ | QUIET | environment, nothing)
    lock = Home(Path(environment.get("MEX_HOME") or os.environ["MEX_HOME"])).run / "worker.lock"
    try:
        until(lambda: lease.is_held(lock) or process.poll() is not None)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _worker(
    options: tuple[str, ...], environment: dict[str, str], streams: BinaryIO
) -> "Forked | subprocess.Popen[bytes]":
    if forked.is_plain(environment):
        return Forked(forked.WORKER, options, environment, streams, streams)
    words = [sys.executable, "-m", "mex_workers", *options]
    return subprocess.Popen(words, env=environment, stdin=streams, stdout=streams, stderr=streams)


def edit(path: Path, old: str, new: str) -> None:
    """Replace words in a file in one step, as an editor does: a worker that reads half of its settings has no model."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    fresh = path.with_name(f".{path.name}.fresh")
    fresh.write_text(text.replace(old, new), encoding="utf-8")
    fresh.replace(path)


def until(condition: Callable[[], Any], seconds: float = 90) -> Any:
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


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection of the test's own to a database: committed and closed at the end; its triggers find our functions."""
    with closing(sqlite3.connect(path, timeout=10)) as connection, connection:
        for function in FUNCTIONS:
            connection.create_function(*function, deterministic=True)
        yield connection

"""A worker with a fault of its own: a real process in which some lines of Python have run before it begins."""

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.support.program import QUIET


@contextmanager
def patched_worker(patch: str, *options: str, **environment: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A worker process that runs `patch` first; it is gone when the block ends."""
    code = f"{textwrap.dedent(patch)}\nfrom mex_workers.__main__ import main\nmain()\n"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "--idle-exit", "0", *options],
        env=os.environ | QUIET | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


_HALT = """
import os, signal, sqlite3
from mex_pipeline import faults
halts = [{step!r}]
def point(name, really=faults.point):
    if name in halts:
        halts.remove(name)
        own = sqlite3.connect({database!r}, timeout=30, isolation_level=None)
        own.executescript("BEGIN IMMEDIATE; ROLLBACK")
        own.close()
        os.kill(os.getpid(), signal.SIGSTOP)
    really(name)
faults.point = point
"""


@contextmanager
def halting_worker(step: str, home: Path, *options: str, **environment: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A worker that stands still when it comes to a step, until SIGCONT: not while another of its threads is in a write,
    for that would hold up everybody else.
    """
    patch = _HALT.format(step=step, database=str(home / "mex.db"))
    with patched_worker(patch, *options, **environment) as process:
        yield process


def freeze(process: "subprocess.Popen[bytes]", home: Path) -> None:
    """Stop the process as a laptop that sleeps does, but not in a write: that would hold up everybody else."""
    while True:
        process.send_signal(signal.SIGSTOP)
        with closing(sqlite3.connect(home / "mex.db", timeout=0.2, isolation_level=None)) as other:
            try:
                other.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                process.send_signal(signal.SIGCONT)
                time.sleep(0.05)
            else:
                other.execute("ROLLBACK")
                return


def stand_still(process: "subprocess.Popen[bytes]", home: Path, seconds: float) -> None:
    """Freeze the process for a while."""
    freeze(process, home)
    time.sleep(seconds)
    process.send_signal(signal.SIGCONT)

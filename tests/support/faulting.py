"""What the tests of the fault matrix share: sessions to extract, jobs as they stand, and ways to hurt a process."""

import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.support.program import in_process, mex, opened, until
from tests.support.sessions import SessionFile

ALONE = {"MEX_WORKER_AUTOSTART": "false"}
"""A request that starts no worker."""
CHUNKED = {"MEX_EXTRACTION_CHUNK_TOKENS": "1500", "MEX_LLM_CONCURRENCY": "1", "MEX_LLM_MAX_RETRIES": "0"}
"""Several calls for one session, one after the other, none of them repeated by itself."""
ONE_EACH = CHUNKED | {"MEX_EXTRACTION_CHUNK_TOKENS": "200"}
"""As above, with a chunk for every turn of `talk(..., padded=True)`."""
EACH_HOBBY = {"hobbies": True}
"""The rule of the model server that finds each hobby in the turns it is sent."""


def talk(path: Path, numbers: range, session: str = "s1", *, padded: bool = True) -> SessionFile:
    """A session with one hobby a turn; padded turns fill some 130 tokens each."""
    words = "嗯" * 120 if padded else ""
    return SessionFile(path, session).user(*(line(number) + words for number in numbers))


def line(number: int) -> str:
    """The sentence that tells the n-th hobby."""
    return f"我的爱好是{hobby(number)}。"


def hobby(number: int) -> str:
    """The n-th hobby, as the memory holds it."""
    return f"养蜂{number}号"


def submit(path: Path, *options: str, **environment: str) -> str:
    """Queue a session and return the job's id; no worker is started for it. A fault needs a process of its own."""
    run = mex if environment else in_process
    sent = run(
        "extract", "--async", "--from", "claude", "--file", str(path), *options, "--json", **(ALONE | environment)
    )
    assert sent.code == 0, sent
    return str(sent.json["job_id"])


def job(job_id: str) -> dict[str, Any]:
    """How the job stands."""
    return dict(mex("jobs", "show", job_id, "--json").json)


def row(home: Path, job_id: str) -> dict[str, Any]:
    """The job's row itself."""
    with opened(home / "mex.db") as db:
        db.row_factory = sqlite3.Row
        return dict(db.execute("SELECT * FROM jobs WHERE id = ?", (job_id,)).fetchone())


def rows(home: Path, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """What a query on mex.db gives."""
    with opened(home / "mex.db") as db:
        return list(db.execute(query, values).fetchall())


def reaches(home: Path, job_id: str, *states: str, seconds: float = 90) -> dict[str, Any]:
    """The job as soon as it is in one of the states (any final one when none is named)."""
    wanted = states or ("succeeded", "failed", "cancelled")
    until(lambda: row(home, job_id)["state"] in wanted, seconds)
    return job(job_id)


def events(home: Path, job_id: str) -> list[str]:
    """The names of what happened to a job, in order."""
    return [name for (name,) in rows(home, "SELECT event FROM job_events WHERE job_id = ? ORDER BY seq", job_id)]


def hobbies(home: Path) -> list[str]:
    """The contents of all memories that are not retired, in the order of their numbers; doubles stay doubles."""
    found = rows(home, "SELECT content FROM memories WHERE forgotten_at IS NULL AND sub_topic = 'hobbies'")
    return sorted((content for (content,) in found), key=lambda text: int("".join(filter(str.isdigit, text)) or 0))


def is_read_to_the_end(home: Path, session: SessionFile) -> bool:
    """True when the cursor of the session stands at its end."""
    positions = rows(home, "SELECT last_position FROM extraction_state WHERE source_file = ?", str(session.path))
    return positions == [(session.size(),)]


def dies(process: "subprocess.Popen[bytes]") -> None:
    """Wait until the process has killed itself at the step it was told."""
    assert process.wait(timeout=30) == -signal.SIGKILL


def stops(process: "subprocess.Popen[bytes]") -> None:
    """Wait until the process stands still at the step it was told."""
    flags = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
    until(lambda: os.waitid(os.P_PID, process.pid, flags))


def wakes(process: "subprocess.Popen[bytes]") -> None:
    """Let a process that stands still go on."""
    os.kill(process.pid, signal.SIGCONT)


def kill(process: "subprocess.Popen[bytes]") -> None:
    """`kill -9`, and wait until it is gone."""
    process.kill()
    process.wait(timeout=30)


@contextmanager
def write_lock(database: Path) -> Iterator[None]:
    """Another program holds the write lock of a database for as long as the block lasts."""
    with closing(sqlite3.connect(database, timeout=10, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


class WallClock:
    """The wall clock of the processes that are started with `environment`: it can be set while they run."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self.set(0)
        self.environment = {"MEX_TEST_CLOCK": str(self._file)}

    def set(self, seconds: float) -> None:
        """Put the clock that far ahead of the real time, or behind it."""
        fresh = self._file.with_suffix(".new")
        fresh.write_text(str(seconds), encoding="ascii")
        fresh.replace(self._file)

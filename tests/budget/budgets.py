"""Setting budgets, spending them, and looking at what they hold."""

import re
import sqlite3
from pathlib import Path
from typing import Any

from mex_pipeline.bootstrap import open_app
from mex_pipeline.clock import iso
from mex_pipeline.store import usage
from tests.support.program import mex, opened
from tests.support.sessions import SessionFile

ALONE = {"MEX_WORKER_AUTOSTART": "false"}
EVERY_HOBBY = {"hobbies": True}
EACH = {"MEX_EXTRACTION_CHUNK_TOKENS": "200", "MEX_LLM_CONCURRENCY": "1"}
"""A chunk for each padded turn, one after the other."""


def budget(home: Path, **caps: int) -> None:
    """Write caps into config.yaml, as a person does."""
    text = (home / "config.yaml").read_text(encoding="utf-8")
    for name, cap in caps.items():
        text, changed = re.subn(rf"(?m)^  {name}: \d+", f"  {name}: {cap}", text)
        assert changed == 1
    (home / "config.yaml").write_text(text, encoding="utf-8")


def spend(tokens: int) -> None:
    """Put a call on the books that some other job has made just now."""
    with open_app("en") as app, app.db.transaction() as tx:
        tx.run(usage.record("extract", "m1", tokens, 0, "elsewhere", iso(app.clock.now()), "codex"))


def said(number: int) -> str:
    """A turn that gives one hobby and fills a chunk of EACH."""
    return f"我的爱好是养蜂{number}号。" + "嗯" * 150


def session(folder: Path, number: int, turns: int = 1) -> Path:
    """A session with so many hobbies."""
    one = SessionFile(folder / f"{number}.jsonl", f"s{number}")
    return one.user(*(said(10 * number + turn) for turn in range(turns))).path


def submitted(path: Path) -> str:
    """The id of a background job that no worker was started for."""
    return str(mex("extract", "--async", "--file", str(path), "--json", **ALONE).json["job_id"])


def shown(job_id: str) -> dict[str, Any]:
    """A job's JSON object."""
    return dict(mex("jobs", "show", job_id, "--json").json)


def pauses(home: Path) -> list[tuple[str, str]]:
    """(scope, reason) of every pause of an endpoint or a job there."""
    with opened(home / "mex.db") as db:
        return list(
            db.execute("SELECT scope, reason FROM queue_control WHERE scope GLOB 'llm:*' AND paused_until IS NOT 0")
        )


def claims(home: Path) -> int:
    """How often any job was taken by a run."""
    with opened(home / "mex.db") as db:
        return int(db.execute("SELECT count(*) FROM job_events WHERE event = 'claimed'").fetchone()[0])


def calls(home: Path) -> list[sqlite3.Row]:
    """What is on the books, in order."""
    with opened(home / "mex.db") as db:
        db.row_factory = sqlite3.Row
        return list(db.execute("SELECT * FROM llm_usage ORDER BY rowid"))

"""A home with memories as extractions and people leave them, written through the store."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from mex_pipeline.domain.kept import KeptTurn
from mex_pipeline.domain.memory import Actor, Confidence, Event, Memory, Source
from mex_pipeline.store import changes, history, memories, sources, turns
from mex_pipeline.store.database import Database
from tests.support.memories import NOW, memory
from tests.support.program import mex

JOB = "11111111-0000-4000-8000-000000000000"


@contextmanager
def database() -> Iterator[Database]:
    """The test's own mex.db."""
    path = Path(os.environ["MEX_HOME"]) / "mex.db"
    if not path.exists():
        mex("init")
    with closing(Database.open(path)) as db:
        yield db


def source(quote: str | None, **changes_: Any) -> Source:
    """Where an extraction says it has found `quote`: said by the user and verified, unless told otherwise."""
    values = {
        "agent": "claude",
        "session_id": "s1",
        "role": "user",
        "message_key": "k1",
        "job_id": JOB,
        "verified": True,
    }
    return Source(quote=quote, **(values | changes_))


def extracted(content: str, slot: str = "work.company", *said: Source, **changes_: Any) -> Memory:
    """A memory that an extraction wrote, with its sources."""
    made = memory(content, slot, **changes_)
    with database() as db, db.transaction() as tx:
        line = changes.entry(Event.ADD, None, made, actor=Actor.AI, now=NOW, job_id=JOB)
        tx.run(memories.insert(made), history.append(line), *(sources.insert(made.id, one, NOW) for one in said))
    return made


def typed(content: str, slot: str = "work.company", confidence: Confidence = Confidence.CONFIRMED) -> str:
    """The id of a memory that a person adds by hand."""
    topic, _, sub_topic = slot.partition(".")
    words = ["--topic", topic, *(["--sub-topic", sub_topic] if sub_topic else [])]
    return str(mex("add", *words, "--content", content, "--confidence", confidence, "--json").json["id"])


def kept(text: str, role: str = "user", key: str = "k1", session: str = "s1") -> None:
    """A turn that an extraction has kept."""
    turn = KeptTurn("claude", key, session, None, None, None, role, "typed", NOW, text, JOB, NOW)
    with database() as db:
        db.run(turns.insert(turn))


def suspicious(*words: str) -> dict[str, list[tuple[str | None, str]]]:
    """(id, reason) of what `mex audit` finds, by kind."""
    kinds = mex("audit", *words, "--json").json["kinds"]
    return {
        kind["kind"]: [(one["id"], one["reason"]) for one in kind["suspects"]] for kind in kinds if kind["suspects"]
    }

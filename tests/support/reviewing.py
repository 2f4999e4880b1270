"""Doubts as real extractions leave them, and what `mex review` says of them."""

import json
from pathlib import Path
from typing import Any

from tests.support.model_server import ModelServer, reply
from tests.support.program import mex, opened
from tests.support.sessions import SessionFile

HOME = {"topic": "basic_info", "sub_topic": "location"}
GUESS = {"is_ai_inferred": True, "confidence": "inferred"}
DOUBT = {"action": "uncertain_update"}


def said(model: ModelServer, words: str, *candidates: dict[str, Any]) -> dict[str, Any]:
    """Say something in a session of its own and extract it, the model answering with the given candidates."""
    name = f"s{len(list(model.folder.glob('s*.jsonl'))) + 1}"
    model.script({"when": words, "reply": reply(*({"quote": words, "turn": 1} | one for one in candidates))})
    session = SessionFile(model.folder / f"{name}.jsonl", name).user(words)
    return dict(mex("extract", "--file", str(session.path), "--json").json)


def add(content: str, *arguments: str) -> dict[str, Any]:
    """Add a memory to where a person lives, or elsewhere, that has held since before the sessions."""
    place = arguments or ("--topic", "basic_info", "--sub-topic", "location")
    return dict(mex("add", *place, "--content", content, "--since", "2026-01-01", "--json").json)


def queue(*arguments: str) -> list[dict[str, Any]]:
    """What awaits review."""
    return list(mex("review", "list", *arguments, "--json").json)


def shown(memory_id: str) -> dict[str, Any]:
    """A memory with its sources and history."""
    return dict(mex("get", memory_id).json)


def refused(*arguments: str, **environment: str) -> str:
    """The code of a command that must fail as a user's error."""
    ran = mex("review", *arguments, "--json", ok=False, **environment)
    assert (ran.code, ran.out) == (1, "")
    return str(json.loads(ran.err)["code"])


def states(home: Path, memory_id: str) -> list[tuple[str, Any, Any]]:
    """The history of a memory with the whole states before and after."""
    with opened(home / "mex.db") as db:
        rows = db.execute("SELECT event, before, after FROM history WHERE memory_id = ? ORDER BY seq", (memory_id,))
        return [(event, before and json.loads(before), after and json.loads(after)) for event, before, after in rows]

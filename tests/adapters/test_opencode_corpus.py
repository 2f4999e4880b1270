"""The real client's session of the shared corpus, as it would export it, against the corpus' truth."""

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.claude_session import identity
from tests.adapters.corpus import CORPUS, needs_corpus, truth
from tests.adapters.opencode_session import ADAPTER, Export, whole

STORES = [name for name in truth("real-clients") if name.startswith("opencode")]


def exported(store: Path, folder: Path) -> Export:
    """The one session of a store, put together as `opencode export` does: rows with their columns joined in."""
    database = sqlite3.connect(shutil.copy(store, folder / "copy.db"))
    database.row_factory = sqlite3.Row
    try:
        row = dict(database.execute("SELECT * FROM session").fetchone())
        export = Export(row["id"], projectID=row["project_id"], directory=row["directory"], version=row["version"])
        if row["parent_id"]:
            export.info["parentID"] = row["parent_id"]
        for message in database.execute("SELECT * FROM message ORDER BY time_created, id"):
            parts = [
                {"id": part["id"], "messageID": message["id"], "sessionID": row["id"], **json.loads(part["data"])}
                for part in database.execute("SELECT * FROM part WHERE message_id = ? ORDER BY id", (message["id"],))
            ]
            info: dict[str, Any] = {"id": message["id"], "sessionID": row["id"], **json.loads(message["data"])}
            export.messages.append({"info": info, "parts": parts})
    finally:
        database.close()
    return export


@needs_corpus
@pytest.mark.parametrize("name", STORES)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_session_of_the_real_client_gives_its_turns(tmp_path: Path, name: str, indent: int | None) -> None:
    """Prompts equal, answers among the turns, tool output absent, every part a turn or counted."""
    expected = truth("real-clients")[name]
    export = exported(CORPUS / "real-clients" / name, tmp_path)
    path = export.write(tmp_path / "e.json", indent)
    transcript = whole(path, quiet=False)
    assert [turn.text for turn in transcript.turns if turn.role == "user"] == expected["user"]
    assert set(expected["assistant_includes"]) <= {turn.text for turn in transcript.turns if turn.role == "assistant"}
    for words in expected["must_not_contain"]:
        assert not any(words in turn.text for turn in transcript.turns)
    parts = sum(len(message["parts"]) for message in export.messages)
    assert len(transcript.turns) + sum(transcript.dropped.values()) == parts
    assert not {"unknown_block", "malformed", "unfinished"} & transcript.dropped.keys()
    assert not any(turn.held for turn in transcript.turns)
    assert ADAPTER.detect(path)


@needs_corpus
@pytest.mark.parametrize("name", STORES)
def test_the_real_session_in_the_old_tree_has_the_same_keys(tmp_path: Path, name: str) -> None:
    """I2: whichever shape is read first, the other brings nothing."""
    export = exported(CORPUS / "real-clients" / name, tmp_path)
    tree = whole(export.write_tree(tmp_path / "storage"))
    assert identity(tree.turns) == identity(whole(export.write(tmp_path / "e.json")).turns)


@needs_corpus
def test_other_formats_of_the_corpus_are_not_detected() -> None:
    """Claude Code, Codex, Gemini, the web exports, and for now the live store."""
    for path in (*(CORPUS / "sessions").iterdir(), *(CORPUS / "real-clients").iterdir()):
        assert not ADAPTER.detect(path), path.name

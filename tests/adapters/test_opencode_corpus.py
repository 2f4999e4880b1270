"""The real client's session of the shared corpus, as it would export it, against the corpus' truth."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.domain.conversation import Cursor
from tests.adapters.corpus import CORPUS, needs_corpus, sha, truth
from tests.adapters.growing import identity
from tests.adapters.opencode_session import ADAPTER, Export, of, whole

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
    """Claude Code, Codex, Gemini, the web exports; of all files only the client's own database."""
    for path in (*(CORPUS / "sessions").iterdir(), *(CORPUS / "real-clients").iterdir()):
        assert ADAPTER.detect(path) == (path.name in STORES), path.name


@needs_corpus
@pytest.mark.parametrize("name", STORES)
@pytest.mark.parametrize("mode", ["as it is", "wal"])
def test_the_real_clients_database_gives_the_turns_of_the_truth(tmp_path: Path, name: str, mode: str) -> None:
    """Prompts exact, answers in order among the turns; the mutant in WAL mode (a) leaves nothing beside it."""
    path = CORPUS / "real-clients" / name
    if mode == "wal":
        path = Path(shutil.copyfile(path, tmp_path / name))
        with closing(sqlite3.connect(path)) as database:
            assert database.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    before = {one.name: (one.stat().st_size, one.stat().st_mtime_ns) for one in path.parent.iterdir()}
    expected = truth("real-clients")[name]
    transcript = ADAPTER.read(path, Cursor(), quiet=False)
    assert [turn.text for turn in transcript.turns if turn.role == "user"] == expected["user"]
    answers = [sha(turn.text) for turn in transcript.turns if turn.role == "assistant"]
    assert [one for one in answers if one in {sha(said) for said in expected["assistant_includes"]}] == [
        sha(said) for said in expected["assistant_includes"]
    ]
    for words in expected["must_not_contain"]:
        assert not any(words in turn.text for turn in transcript.turns)
    assert not any(turn.held for turn in transcript.turns)
    assert not {"unknown_block", "malformed", "unfinished", "unknown_role"} & transcript.dropped.keys()
    assert ADAPTER.detect(path)
    assert {one.name: (one.stat().st_size, one.stat().st_mtime_ns) for one in path.parent.iterdir()} == before


@needs_corpus
@pytest.mark.parametrize("name", STORES)
def test_rows_in_the_wal_of_a_living_client_are_seen(tmp_path: Path, name: str) -> None:
    """The mutant (b): words that are in no other file yet."""
    path = Path(shutil.copyfile(CORPUS / "real-clients" / name, tmp_path / name))
    with closing(sqlite3.connect(path)) as client:
        client.execute("PRAGMA journal_mode = WAL")
        row = client.execute("SELECT session_id, time_created FROM message ORDER BY time_created DESC").fetchone()
        session, at = row[0], row[1] + 10_000
        message = Export().user("新的一句").messages[0]
        data = json.dumps({"role": "user", "time": {"created": at}})
        client.execute("INSERT INTO message VALUES ('msg_z', ?, ?, ?, ?)", (session, at, at, data))
        part = json.dumps(message["parts"][0])
        client.execute("INSERT INTO part VALUES ('prt_z', 'msg_z', ?, ?, ?, ?)", (session, at, at, part))
        client.commit()
        assert of(path, session).turns[-1].text == "新的一句"
        assert ADAPTER.look(path, session).changed_at == at

"""What was forgotten for good stays gone, whatever is read, kept or imported afterwards (product B6, B10)."""

import json
import shutil
import threading
from pathlib import Path

import pytest

from tests.support.model_server import ModelServer, reply
from tests.support.program import contents, mex, until
from tests.support.sessions import SessionFile

CHESS = {"topic": "leisure", "sub_topic": "hobbies", "content": "下象棋", "quote": "周末常下象棋"}
CITY = {"topic": "basic_info", "sub_topic": "location", "content": "杭州", "quote": "我住在杭州"}
MODES = pytest.mark.parametrize("mode", ["all", "user", "evidence"])


def session_at(path: Path) -> SessionFile:
    """The user says it, the assistant repeats it, and the user once more in a turn of its own."""
    session = SessionFile(path, "session-0001").user("你好", "周末常下象棋").assistant("下象棋很好。")
    return session.user("下象棋", "我住在杭州").assistant("记住了")


def extract(session: SessionFile, mode: str = "evidence") -> None:
    mex("extract", "--from", "claude", "--file", str(session.path), MEX_KEEP_TURNS=mode)


def forget_for_good(content: str = "下象棋") -> None:
    mex("forget", "--hard", "--yes", next(one["id"] for one in mex("list", "--json").json if one["content"] == content))


def holding(home: Path, word: str = "下象棋") -> list[str]:
    """The files of the home that hold the word's bytes."""
    files = [path for path in home.rglob("*") if path.is_file()]
    return [path.name for path in files if word.encode() in path.read_bytes()]


def only_what_is_sent(model: ModelServer) -> int:
    """From now on the model finds what its request says; returns how many requests there were before."""
    model.script({"when": "象棋", "reply": reply(CHESS, CITY)}, {"reply": reply(CITY)})
    return len(model.requests())


@MODES
@pytest.mark.parametrize("first", ["all", "none"])
def test_reading_anew_keeps_no_turn_that_says_it(
    home: Path, model: ModelServer, tmp_path: Path, mode: str, first: str
) -> None:
    """Neither what the assistant said beside it, nor, where it was kept then, a turn of the user that says it too."""
    model.script({"reply": reply(CHESS, CITY)})
    session = session_at(tmp_path / "s.jsonl")
    if first == "none":  # what nobody kept when it was forgotten cannot be known to say it
        lines = [line for line in session.path.read_text(encoding="utf-8").splitlines() if '"下象棋"' not in line]
        session.path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    extract(session, first)
    forget_for_good()
    sent = only_what_is_sent(model)
    mex("extract", "--again", "session-0001", MEX_KEEP_TURNS=mode)
    assert len(model.requests()) > sent
    assert "象棋" not in json.dumps(model.requests()[sent:], ensure_ascii=False)
    extract(session.user("还有"), mode)
    assert contents() == ["杭州"]
    assert holding(home) == []


def test_it_leaves_the_session_in_which_a_fork_s_words_were_kept(
    home: Path, model: ModelServer, tmp_path: Path
) -> None:
    """The memory names the fork, the kept turn the session that was read first."""
    session = session_at(tmp_path / "s.jsonl")
    extract(session, "all")
    fork = session.forked_to(tmp_path / "f.jsonl")
    model.script({"reply": reply(CHESS)})
    mex("extract", "--again", str(fork.path), MEX_KEEP_TURNS="all")
    (kept,) = mex("turns", "list", "--json").json
    assert kept["session"] == "session-0001"
    assert kept["turns"] == 6
    forget_for_good()
    assert holding(home) == []
    assert mex("turns", "list", "--json").json[0]["turns"] == 3


def test_an_export_from_before_brings_no_turn_back_that_says_it(home: Path, model: ModelServer, tmp_path: Path) -> None:
    model.script({"reply": reply(CHESS, CITY)})
    extract(session_at(tmp_path / "s.jsonl"), "all")
    mex("export", "--turns", "--output", str(tmp_path / "export.json"))
    forget_for_good()
    mex("import", str(tmp_path / "export.json"))
    assert contents() == ["杭州"]
    assert holding(home) == []


def test_a_session_that_is_imported_as_a_document_does_not_tell_it_again(
    home: Path, model: ModelServer, tmp_path: Path
) -> None:
    model.script({"reply": reply(CHESS, CITY)})
    session = session_at(tmp_path / "s.jsonl")
    extract(session, "all")
    forget_for_good()
    only_what_is_sent(model)
    mex("import", "--mode", "extract", str(session.path), MEX_KEEP_TURNS="all")
    assert contents() == ["杭州"]
    assert holding(home) == []


@pytest.mark.parametrize("how", ["again", "owed", "import"])
def test_a_job_that_had_read_it_before_writes_it_no_more(
    home: Path, model: ModelServer, tmp_path: Path, how: str
) -> None:
    """It was forgotten while the model thought; not even the job's result tells the words."""
    session = SessionFile(tmp_path / "s.jsonl", "session-0001").user("我住在杭州", "周末常下象棋").assistant("好")
    if how == "owed":
        mex("extract", "--from", "claude", "--file", str(session.path), MEX_LLM_MODEL="", MEX_LLM_BASE_URL="")
    else:
        model.script({"reply": reply(CITY)})
        extract(session)
    rejected = {**CITY, "topic": "nowhere", "content": "住在杭州的人"}
    unplaced = {**CITY, "content": "大概在杭州", "quote": "也许在杭州吧"}
    model.script({"hold": "go", "reply": reply(CITY, CHESS, rejected, unplaced)})
    words = {
        "again": ["extract", "--again", "session-0001"],
        "owed": ["extract", "--from", "claude", "--file", str(session.path)],
        "import": ["import", "--mode", "extract", str(session.path)],
    }[how]
    sent = len(model.requests())
    running = threading.Thread(target=lambda: mex(*words))
    running.start()
    until(lambda: len(model.requests()) > sent)
    forget_for_good("杭州")
    model.release("go")
    running.join()
    assert contents() == ["下象棋"]
    assert holding(home, "杭州") == []


def test_a_backup_that_is_put_back_does_not_learn_it_again(home: Path, model: ModelServer, tmp_path: Path) -> None:
    model.script({"reply": reply(CHESS, CITY)})
    extract(session_at(tmp_path / "s.jsonl"), "all")
    mex("export", "--output", str(tmp_path / "export.json"))
    copy = home / "backups" / "copy.db"
    mex("backup", str(copy))
    forget_for_good()
    for path in home.glob("mex.db*"):
        path.unlink()
    shutil.copy(copy, home / "mex.db")
    only_what_is_sent(model)
    mex("extract", "--again", "session-0001", MEX_KEEP_TURNS="all")
    mex("import", str(tmp_path / "export.json"), ok=False)
    assert contents() == ["杭州"]
    assert holding(home) == []


def test_an_export_among_the_backups_does_not_learn_it_again(home: Path, model: ModelServer, tmp_path: Path) -> None:
    model.script({"reply": reply(CHESS, CITY)})
    extract(SessionFile(tmp_path / "s.jsonl", "session-0001").user("周末常下象棋", "我住在杭州"))
    saved = mex("clear", "--yes", "--json").json["backup"]
    mex("import", saved)
    forget_for_good()
    mex("clear", "--yes", "--no-backup")
    mex("import", saved)
    only_what_is_sent(model)
    mex("extract", "--again", "session-0001", MEX_KEEP_TURNS="evidence")
    assert contents() == ["杭州"]


def test_a_given_text_that_is_said_again_is_known_again(home: Path) -> None:
    """Who types it once more wants it."""
    mex("extract", "我对芒果过敏")
    forget_for_good("芒果")
    mex("extract", "我对芒果过敏")
    assert contents() == ["芒果"]


def test_words_that_are_the_key_of_a_message_are_no_leftover(home: Path, tmp_path: Path) -> None:
    """A column called `key` is looked through like any other."""
    extract(SessionFile(tmp_path / "s.jsonl", "session-0001").user("今天天气不错"))
    added = mex("add", "--content", "u:session-0001-1", "--json").json
    receipt = mex("forget", "--hard", "--yes", added["id"], "--json").json
    assert receipt["unfinished"] == []
    assert receipt["verified"]

"""`mex backup` and `mex clear`: a whole copy at any time, and an end that can be taken back."""

import json
import os
import shlex
import sqlite3
import stat
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pexpect
import pytest

from mex_pipeline.domain.schema import parse
from mex_pipeline.yaml_file import load
from tests.support import invariants
from tests.support.program import contents, mex, opened, write


@pytest.fixture
def full(tmp_path: Path) -> None:
    """A home with memories of every kind, history, sources, a cursor and a job."""
    for content in ("独门秘密甲", "独门秘密乙"):
        mex("add", "--content", content)
    mex("update", mex("list", "--json").json[0]["id"], "--content", "独门秘密丙")
    mex("forget", mex("list", "--json").json[1]["id"], "--reason", "独门理由")
    mex("extract", "--from", "plain", "--file", str(write(tmp_path / "note.txt", "我住在成都。")))


def test_seed_9_a_backup_is_a_whole_private_copy(full: None, tmp_path: Path, home: Path) -> None:
    """It opens as a home's database; a folder gets a name with the local time."""
    done = mex("backup", str(tmp_path / "b" / "copy.db"), "--json").json
    copy = Path(done["path"])
    assert (done["memories"], done["size_bytes"]) == (3, copy.stat().st_size)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert [path.name for path in copy.parent.iterdir()] == ["copy.db"]
    other = tmp_path / "other"
    mex("init", MEX_HOME=str(other))
    for part in other.glob("mex.db*"):
        part.unlink()
    (other / "mex.db").write_bytes(copy.read_bytes())
    assert mex("list", "--json", MEX_HOME=str(other)).out == mex("list", "--json").out
    invariants.check(other / "mex.db", parse(load(home / "schema.yaml"))[0])
    shown = mex("backup", str(tmp_path / "b"))
    assert any(path.name.startswith("mex-backup-20") for path in copy.parent.iterdir())
    assert "mex-backup-20" in shown.out


def test_a_backup_is_consistent_while_another_process_writes(full: None, tmp_path: Path, home: Path) -> None:
    """Every copy holds whole transactions only: two rows at a time."""
    stop = threading.Event()

    def write_pairs() -> None:
        with closing(sqlite3.connect(home / "mex.db", timeout=10)) as db:
            number = 0
            while not stop.wait(0.001):
                number += 1
                with db:
                    for half in "ab":
                        db.execute(
                            "INSERT INTO job_events (job_id, at, event, note) VALUES (?, 0, 'x', ?)",
                            (str(number), half),
                        )

    writer = threading.Thread(target=write_pairs)
    writer.start()
    try:
        for number in range(5):
            mex("backup", str(tmp_path / f"{number}.db"))
    finally:
        stop.set()
        writer.join()
    for number in range(5):
        with closing(sqlite3.connect(tmp_path / f"{number}.db")) as db:
            assert db.execute("SELECT count(*) % 2 FROM job_events WHERE event = 'x'").fetchone() == (0,)
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_backup_never_replaces_the_database_itself(full: None, tmp_path: Path, home: Path) -> None:
    (tmp_path / "file").touch()
    for place, code in (
        (home / "mex.db", 1),
        (home / "config.yaml", 1),
        (Path(os.devnull), 1),
        (tmp_path / "file" / "x", 2),
    ):
        assert mex("backup", str(place), ok=False).code == code
    assert mex("backup", ok=False).code == 1
    assert len(contents()) == 2


def cleared(*options: str, **environment: str) -> dict[str, Any]:
    """Clear this home."""
    return dict(mex("clear", "--yes", *options, "--json", **environment).json)


def test_fault_29_clear_empties_everything_but_what_was_paid_and_can_be_taken_back(
    full: None, tmp_path: Path, home: Path
) -> None:
    """One JSON object; the export it takes first gives back the very same memory, cursors included."""
    with opened(home / "mex.db") as db:
        db.execute("INSERT INTO llm_usage VALUES ('u', 'extract', 'm', 1, 2, '2026-11-30T10:00:00Z', NULL, 'claude')")
        db.execute("INSERT INTO kept_replies VALUES ('k', 'j', 's', '独门回复', 0)")
        db.execute(
            "INSERT INTO turns (agent, key, role, kind, text, kept_at) "
            "VALUES ('a', 'k', 'user', 'typed', '独门原话', '2026-11-30T10:00:00Z')"
        )
    mex("export", "--turns", "--output", str(tmp_path / "before.json"))
    done = cleared()
    assert done["cleared"] == {
        "memories": 3, "history": 5, "sources": 1, "turns": 2, "replies": 1, "cursors": 1, "messages": 1, "jobs": 1,
        "proposals": 0, "declined": 0,
    }  # fmt: skip
    backup = Path(done["backup"])
    assert backup.read_bytes() == (tmp_path / "before.json").read_bytes()
    assert (backup.parent, stat.S_IMODE(backup.stat().st_mode)) == (home / "backups", 0o600)
    assert mex("list", "--include-forgotten", "--json").json == mex("jobs", "list", "--json").json == []
    assert mex("search", "秘密", "--json").json == []
    assert mex("stats", "--json").json["llm_usage"]["calls"] == 1
    for part in home.glob("mex.db*"):
        for word in ("独门", "秘密", "成都"):
            assert word.encode() not in part.read_bytes(), part.name
    mex("import", str(backup))
    mex("export", "--turns", "--output", str(tmp_path / "after.json"))
    assert (tmp_path / "after.json").read_bytes() == (tmp_path / "before.json").read_bytes()
    invariants.check(home / "mex.db", parse(load(home / "schema.yaml"))[0])


def test_fault_29_a_cleared_session_is_read_again(full: None, tmp_path: Path) -> None:
    """Product H13: cursors and message keys are reset."""
    cleared("--no-backup")
    mex("extract", "--from", "plain", "--file", str(tmp_path / "note.txt"))
    assert contents() == ["成都"]


def test_clear_tells_what_is_gone_and_how_to_get_it_back(full: None, home: Path) -> None:
    """And never writes over an export it has taken before."""
    out = mex("clear", "--yes").out
    command = next(line for line in out.splitlines() if "mex import" in line).split("mex import ")[1]
    (path,) = shlex.split(command)
    assert "3" in out.splitlines()[0]
    mex("import", path)
    assert len(contents()) == 2
    cleared()
    assert len(list((home / "backups").iterdir())) == 2
    assert mex("--lang", "zh", "clear").out == "没有可清空的内容。\n"
    assert cleared() == {"cleared": dict.fromkeys(done_keys(), 0), "backup": None, "never_again": 0, "settled": True}


def done_keys() -> list[str]:
    return [
        "memories",
        "history",
        "sources",
        "turns",
        "replies",
        "cursors",
        "messages",
        "jobs",
        "proposals",
        "declined",
    ]


def test_clear_without_a_terminal_wants_yes(full: None, home: Path) -> None:
    refused = mex("--json", "clear", ok=False)
    assert (refused.code, refused.out, json.loads(refused.err)["code"]) == (1, "", "clear_needs_yes")
    assert len(contents()) == 2
    assert list((home / "backups").iterdir()) == []


def test_clear_takes_no_backup_when_told(full: None, home: Path) -> None:
    assert cleared("--no-backup")["backup"] is None
    assert list((home / "backups").iterdir()) == []


def test_clear_that_cannot_take_its_backup_clears_nothing(full: None, home: Path) -> None:
    (home / "backups").rmdir()
    (home / "backups").symlink_to(home / "config.yaml")
    assert mex("clear", "--yes", ok=False).code in (1, 2)
    (home / "backups").unlink()
    assert len(contents()) == 2


@pytest.mark.parametrize("answers", [["n"], ["y", "n"], ["y", "y"], ["\x04"]])
def test_on_a_terminal_clear_asks_twice(full: None, answers: list[str]) -> None:
    terminal = pexpect.spawn(
        sys.executable, ["-m", "mex_pipeline", "clear"], env=dict(os.environ), encoding="utf-8", timeout=30
    )
    for answer, question in zip(answers, ("Clear everything", "Really"), strict=False):
        terminal.expect(question)
        terminal.send(answer if answer == "\x04" else f"{answer}\r")
    terminal.expect(pexpect.EOF)
    terminal.close()
    is_sure = answers == ["y", "y"]
    assert terminal.exitstatus == (0 if is_sure else 1)
    assert len(contents()) == (0 if is_sure else 2)

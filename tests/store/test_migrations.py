"""Making mex.db, refusing what is not ours, and never writing where a command only reads."""

import os
import sqlite3
import subprocess
import sys
import time
from importlib.resources import files as resource_files
from pathlib import Path

import pytest

from mex_pipeline.domain.selection import Selection
from mex_pipeline.errors import DatabaseDamaged, DatabaseNewer
from mex_pipeline.store import indexes, migrations, search
from mex_pipeline.store.database import Database
from mex_pipeline.store.sql import Statement
from tests.support.gateways import one, opened, rows
from tests.support.memories import NOW, stored
from tests.support.program import mex

PRODUCT_H1 = {
    "memories", "memories_fts", "history", "llm_usage", "extraction_state", "seen_messages", "memory_sources", "turns",
    "kept_replies", "jobs", "job_events", "workers", "queue_control",
}  # fmt: skip
FORBIDDEN = {"sources", "job_steps", "job_blobs", "hook_outbox"}
RACE = """
import sys, time
from pathlib import Path
from mex_pipeline.paths import Home
from mex_pipeline.services import opening

folder, rounds = Path(sys.argv[1]), int(sys.argv[2])
print("ready", flush=True)
made = 0
for number in range(rounds):
    while not (folder / f"go{number}").exists():
        pass
    database, is_new = opening.initialise(Home(folder / f"home{number}"), "en")
    database.close()
    made += is_new
print(made)
"""


def ensure(path: Path) -> bool:
    database = Database.open(path)
    try:
        return migrations.ensure_current(database)
    finally:
        database.close()


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def foreign(path: Path, *statements: str) -> bytes:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path.read_bytes()


def test_product_h1_an_empty_file_gets_every_table_at_this_version(tmp_path: Path) -> None:
    path = tmp_path / "mex.db"
    assert ensure(path) is True
    with opened("sync", path) as db:
        names = {row["name"] for row in rows(db, "SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert names >= PRODUCT_H1
        assert not names & FORBIDDEN
        assert one(db, "PRAGMA user_version") == migrations.VERSION
        assert one(db, "PRAGMA journal_mode") == "wal"
        assert one(db, "PRAGMA integrity_check") == "ok"


def test_a_current_file_is_not_new_and_not_written(tmp_path: Path) -> None:
    ensure(tmp_path / "mex.db")
    before = files(tmp_path)
    assert ensure(tmp_path / "mex.db") is False
    assert files(tmp_path) == before


def test_product_b1_a_newer_file_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "mex.db"
    before = foreign(path, "CREATE TABLE memories (future TEXT)", f"PRAGMA user_version = {migrations.VERSION + 1}")
    with pytest.raises(DatabaseNewer) as caught:
        ensure(path)
    assert caught.value.params == {"path": str(path), "found": migrations.VERSION + 1, "known": migrations.VERSION}
    assert files(tmp_path) == {"mex.db": before}


def test_another_program_s_database_is_refused_and_keeps_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "mex.db"
    foreign(path, "CREATE TABLE memories (mine TEXT)", "INSERT INTO memories VALUES ('kept')")
    with pytest.raises(DatabaseDamaged):
        ensure(path)
    with opened("sync", path) as db:
        assert rows(db, "SELECT * FROM memories") == [{"mine": "kept"}]
        assert one(db, "SELECT count(*) FROM sqlite_master") == 1
        assert one(db, "PRAGMA user_version") == 0


def test_a_creation_that_is_interrupted_leaves_an_empty_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole structure is one transaction; what is left after a crash is made anew by the next command."""
    path = tmp_path / "mex.db"
    script = Database.script

    def dies(self: Database, sql: str) -> None:
        if "user_version" in sql:
            raise KeyboardInterrupt
        script(self, sql)

    monkeypatch.setattr(Database, "script", dies)
    with pytest.raises(KeyboardInterrupt):
        ensure(path)
    monkeypatch.undo()
    with opened("sync", path) as db:
        assert one(db, "SELECT count(*) FROM sqlite_master") == 0
    assert ensure(path) is True


def test_a_ddl_script_is_cut_at_whole_statements(tmp_path: Path) -> None:
    """A trigger holds semicolons of its own, and a comment may hold one too."""
    with opened("sync", tmp_path / "mex.db") as db:
        db.script(
            "CREATE TABLE t (n); -- one; two\n"
            "CREATE TRIGGER a AFTER INSERT ON t BEGIN\n"
            "  DELETE FROM t WHERE n < 0;\n"
            "  DELETE FROM t WHERE n > 9;\n"
            "END;\n"
            "CREATE TABLE u (n)"
        )
        db.run(*(Statement("INSERT INTO t VALUES (:n)", {"n": n}) for n in (-1, 5, 10)))
        assert [row["n"] for row in rows(db, "SELECT n FROM t")] == [5]
        assert one(db, "SELECT count(*) FROM u") == 0


def test_product_d6_a_migration_is_one_transaction_with_its_version(tmp_path: Path) -> None:
    """No second process can see tables without the version, or the version without tables."""
    path = tmp_path / "mex.db"
    seen: list[tuple[int, int]] = []
    with opened("sync", path) as db, opened("sync", path) as other:
        db.script("PRAGMA journal_mode = WAL;")
        script = db.script

        def watched(sql: str) -> None:
            script(sql)
            seen.append((one(other, "PRAGMA user_version"), one(other, "SELECT count(*) FROM sqlite_master")))

        db.script = watched  # type: ignore[method-assign]
        migrations.ensure_current(db)
        assert set(seen) == {(0, 0)}
        assert one(other, "PRAGMA user_version") == migrations.VERSION


def test_eight_processes_may_make_one_home_at_once(tmp_path: Path) -> None:
    rounds = 6
    command = [sys.executable, "-c", RACE, str(tmp_path), str(rounds)]
    racers = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(8)]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for number in range(rounds):
        (tmp_path / f"go{number}").touch()
        time.sleep(0.1)
    ended = [(racer.communicate(timeout=60), racer.returncode) for racer in racers]
    assert [code for _, code in ended] == [0] * 8, [error for (_, error), _ in ended]
    assert sum(int(out) for (out, _), _ in ended) == rounds, "each home is new to exactly one of them"
    for number in range(rounds):
        home = tmp_path / f"home{number}"
        assert sorted(path.name for path in home.iterdir()) == [
            "backups",
            "config.yaml",
            "logs",
            "mex.db",
            "run",
            "schema.yaml",
        ]


READS = (
    ("list",), ("search", "cat"), ("profile",), ("stats",), ("jobs", "list"), ("config", "show"), ("worker", "status"),
    ("get", "00000000"), (), ("extract", "--dry-run", "some text"),
)  # fmt: skip


def seen_from_outside(folder: Path) -> str:
    """What another process reads in the files: closing one here would drop this process's own SQLite locks."""
    script = (
        "import hashlib, pathlib, sys\n"
        "for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):\n"
        "    if path.is_file() and not path.name.endswith('-shm'):\n"
        "        print(path.name, hashlib.sha256(path.read_bytes()).hexdigest())"
    )
    return subprocess.run([sys.executable, "-c", script, folder], capture_output=True, text=True, check=True).stdout


def test_product_p2_a_reading_command_writes_nothing_and_waits_for_no_writer(home: Path) -> None:
    """The shared-memory file is left out: there SQLite notes who reads."""
    mex("init")
    with opened("sync", home / "mex.db") as db:
        stored(db, "cat", id="00000000-0000-4000-8000-000000000000")
        with db.transaction():
            before, version = seen_from_outside(home), db.data_version()
            assert "mex.db-wal" in before
            started = time.monotonic()
            for command in READS:
                mex(*command)
            assert time.monotonic() - started < 5 * len(READS), "ten seconds is how long a writer would wait"
            assert db.data_version() == version
            assert seen_from_outside(home) == before


def test_product_b1_commands_refuse_a_newer_home_untouched(home: Path) -> None:
    mex("init")
    with opened("sync", home / "mex.db") as db:
        rows(db, f"PRAGMA user_version = {migrations.VERSION + 1}")
    before = (home / "mex.db").read_bytes()
    for command in (["list"], ["add", "--content", "x"], ["init"], ["extract", "--async", "some text"]):
        ran = mex(*command, ok=False)
        assert ran.code == 2
        assert "newer meX" in ran.err
        assert "Update meX" in ran.err
    assert (home / "mex.db").read_bytes() == before
    assert not os.path.lexists(home / "mex.db-wal")


def test_product_h14_a_file_of_an_earlier_version_of_ours_is_brought_up_with_every_row(tmp_path: Path) -> None:
    """Step by step, in one transaction; what stood in it stays."""
    path = tmp_path / "mex.db"
    with opened("sync", path) as db:
        db.script("PRAGMA journal_mode = WAL;")
        with db.transaction():
            db.script((resource_files("mex_pipeline.store") / "ddl" / "0006_initial.sql").read_text(encoding="utf-8"))
            db.script("PRAGMA user_version = 6;")
        db.script(
            "INSERT INTO jobs (id, kind, payload, payload_v, state, available_at, first_enqueued_at, trigger, "
            "max_attempts, max_run_ms, created_at) VALUES ('a', 'extract', '{}', 1, 'queued', 1, 1, 'command', 10, 9, 1);"
        )
    assert ensure(path) is False
    with opened("sync", path) as db:
        assert one(db, "PRAGMA user_version") == migrations.VERSION
        assert one(db, "SELECT id FROM jobs") == "a"
        assert one(db, "PRAGMA integrity_check") == "ok"


def test_product_b10_a_file_of_version_7_keeps_every_row_and_its_kept_turns_their_order(tmp_path: Path) -> None:
    path = tmp_path / "mex.db"
    folder = resource_files("mex_pipeline.store") / "ddl"
    with opened("sync", path) as db:
        db.script("PRAGMA journal_mode = WAL;")
        with db.transaction():
            for name in ("0006_initial.sql", "0007_queue.sql"):
                db.script((folder / name).read_text(encoding="utf-8"))
            db.script("PRAGMA user_version = 7;")
        db.script(
            "INSERT INTO memories (id, content, is_ai_inferred, confidence, created_at, updated_at, valid_from, tokens) "
            f"VALUES ('m', 'Categories', 0, 'explicit', '{NOW}', '{NOW}', '{NOW}', 'categories');"
        )
        turns = [("b", "s1"), ("a", "s1"), ("c", None)]
        db.run(
            *(
                Statement(
                    "INSERT INTO turns (agent, key, session_id, role, kind, text, kept_at) "
                    "VALUES ('claude', :key, :session, 'user', 'typed', :text, '2026-03-01T08:00:00Z')",
                    {"key": key, "session": session, "text": f"原话 {key}"},
                )
                for key, session in turns
            ),
            Statement("INSERT INTO seen_messages VALUES ('claude', 'b', 'model', 'j', 1)"),
        )
        before = {name: rows(db, f"SELECT * FROM {name}") for name in ("memories", "history", "turns", "seen_messages")}
    assert ensure(path) is False
    with opened("sync", path) as db:
        assert one(db, "PRAGMA user_version") == migrations.VERSION
        assert one(db, "PRAGMA integrity_check") == "ok"
        for name, old in before.items():
            now = rows(db, f"SELECT * FROM {name}")
            assert [{key: row[key] for key in old[0]} for row in now] == old if old else now == []
        assert [row["key"] for row in rows(db, "SELECT key FROM turns ORDER BY position")] == ["b", "a", "c"]
        assert rows(db, "SELECT DISTINCT previous_key FROM turns") == [{"previous_key": None}]
        assert one(db, "SELECT purged FROM seen_messages") == 0
        assert [one.content for one in db.all(search.find(NOW, Selection(keyword="TEGO"), limit=9))] == ["Categories"]
        assert one(db, 'SELECT rowid FROM turns_fts WHERE turns_fts MATCH \'"原话" "c"\'') == 3
        assert db.all(indexes.strays()) == [0]

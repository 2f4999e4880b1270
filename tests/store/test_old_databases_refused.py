"""Migrations that are cut off, raced, or refused: the old file stays whole, or the new one is (product B1)."""

import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.errors import DatabaseBusy, DatabaseDamaged, DatabaseNewer, ExternalError
from mex_pipeline.store import migrations, old_versions, takeover
from mex_pipeline.store.database import Database
from tests.support.gateways import one, opened
from tests.support.old_files import OldFile, backups, contents_of, migrate, table, typical
from tests.support.program import mex


@pytest.mark.parametrize("step", ["drop", "make_tables", "read", "statements", "_verify"])
def test_a_migration_that_is_interrupted_leaves_the_old_file_whole(
    home: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = typical(home / "mex.db", 2)
    before = {name: table(path, name) for name in ("memories", "history", "llm_usage", "extraction_state")}
    module: Any = {"make_tables": migrations, "_verify": takeover}.get(step, old_versions)
    real = getattr(module, step)

    def dies(*arguments: Any) -> Any:
        real(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, step, dies)
    with pytest.raises(KeyboardInterrupt):
        migrate(path)
    monkeypatch.undo()
    assert {name: table(path, name) for name in before} == before
    with opened("sync", path) as db:
        assert one(db, "PRAGMA user_version") == 2
        assert one(db, "PRAGMA integrity_check") == "ok"
    assert [copy.suffix for copy in backups(home)] == ([] if step == "_verify" else [".db"])
    migrate(path)
    assert len(table(path, "memories")) == len(before["memories"])


def test_a_process_killed_at_any_moment_leaves_the_old_file_or_the_new_one(home: Path, tmp_path: Path) -> None:
    source = OldFile(tmp_path / "big" / "mex.db", 5)
    for number in range(1000):
        source.memory(f"第{number}条记忆，说了一些事情 {'words ' * 20}")
    whole = source.close().read_bytes()
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from mex_pipeline.store.database import Database\nfrom mex_pipeline.store import migrations\n"
        "database = Database.open(Path(sys.argv[1]))\nprint('go', flush=True)\n"
        "migrations.ensure_current(database)\ndatabase.close()\n"
    )
    seen = set()
    for number in range(12):
        path = tmp_path / f"home{number}" / "mex.db"
        path.parent.mkdir()
        path.write_bytes(whole)
        process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(number * 0.02)
        process.kill()
        process.communicate()
        with opened("sync", path) as db:
            seen.add(one(db, "PRAGMA user_version"))
            assert one(db, "SELECT count(*) FROM memories") == 1000
            assert one(db, "PRAGMA quick_check") == "ok"
        database = Database.open(path)
        migrations.ensure_current(database)
        database.close()
        assert len(table(path, "memories")) == 1000
        for copy in backups(path.parent):
            assert copy.suffix == ".db"
            assert len(table(copy, "memories")) == 1000
    assert 5 in seen, "at least one was killed in time"


def test_two_processes_that_open_an_old_file_at_once_migrate_it_once(home: Path) -> None:
    typical(home / "mex.db", 2)
    command = [sys.executable, "-m", "mex_pipeline", "list", "--json"]
    racers = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    ended = [(racer.communicate(timeout=60), racer.returncode) for racer in racers]
    assert [code for _, code in ended] == [0] * 4, [error for (_, error), _ in ended]
    assert len({out for (out, _), _ in ended}) == 1
    assert len(backups(home)) == 1
    assert sum("backups" in error for (_, error), _ in ended) == 1, "told once, by the one that did it"
    assert len(table(home / "mex.db", "memories")) == 4


def test_a_file_that_another_process_has_migrated_meanwhile_is_taken_as_it_is(home: Path) -> None:
    """Whoever read the old version just before finds the new tables: that is no foreign file."""
    typical(home / "mex.db", 2)
    mex("list")
    with closing(Database.open(home / "mex.db")) as database:
        assert takeover.take_over(database) is None
    assert len(backups(home)) == 1


def test_a_reading_command_takes_an_old_home_over_and_says_where_the_copy_is(home: Path) -> None:
    typical(home / "mex.db", 5)
    first, second = mex("profile"), mex("profile")
    assert "前进云计算" in first.out
    (copy,) = backups(home)
    assert str(copy) in first.err
    assert (second.out, second.err) == (first.out, "")
    shown = mex("get", mex("search", "前进", "--json").json[0]["id"]).json
    assert [one["event"] for one in shown["history"]] == ["add", "update", "update"]
    assert mex("stats", "--json").json["llm_usage"]["prompt_tokens"] == 150


def test_an_old_file_that_cannot_be_written_is_a_clear_error(home: Path) -> None:
    path = typical(home / "mex.db", 5)
    before = contents_of(home)
    database = Database.open_to_read(path)
    with pytest.raises(ExternalError) as caught:
        migrations.ensure_current(database)
    database.close()
    assert (caught.value.code, caught.value.exit_code) == ("database_older_unwritable", 2)
    assert caught.value.params == {"path": str(path), "found": 5, "known": migrations.VERSION}
    assert contents_of(home) == before


def test_an_old_file_that_another_process_holds_is_busy(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(takeover, "MIGRATION_SECONDS", 0.2)
    path = typical(home / "mex.db", 5)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseBusy):
            migrate(path)
        other.execute("ROLLBACK")
    migrate(path)


def test_a_reader_of_the_old_file_does_not_hold_a_migration_up(home: Path) -> None:
    path = typical(home / "mex.db", 5)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN")
        assert other.execute("SELECT count(*) FROM memories").fetchone() == (4,)
        worker = threading.Thread(target=migrate, args=(path,))
        worker.start()
        worker.join(20)
        assert not worker.is_alive()
        assert other.execute("SELECT count(*) FROM memories").fetchone() == (4,)
    assert one_version(path) == migrations.VERSION


def one_version(path: Path) -> int:
    with opened("sync", path) as db:
        return int(one(db, "PRAGMA user_version"))


def test_without_a_copy_nothing_is_migrated(home: Path) -> None:
    """No room, no permission, something else in its place."""
    path = typical(home / "mex.db", 5)
    (home / "backups").write_text("in the way")
    with pytest.raises(ExternalError) as caught:
        migrate(path)
    assert caught.value.code == "backup_failed"
    assert one_version(path) == 5
    assert len(table(path, "memories")) == 4


def test_a_damaged_old_file_is_not_migrated(home: Path) -> None:
    path = typical(home / "mex.db", 5)
    whole = path.read_bytes()
    page = int.from_bytes(whole[16:18], "big")
    path.write_bytes(whole[: 3 * page] + b"\xff" * page + whole[4 * page :])
    with pytest.raises(DatabaseDamaged):
        migrate(path)
    assert one_version(path) == 5
    assert list((home / "backups").glob("*")) == []


@pytest.mark.parametrize("version", [1, 0, migrations.VERSION + 1, -3, 2_000_000_000])
def test_product_b1_any_other_version_is_refused_untouched(home: Path, version: int) -> None:
    path = typical(home / "mex.db", 5)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    before = contents_of(home)
    with pytest.raises((DatabaseNewer, DatabaseDamaged)) as caught:
        migrate(path)
    assert caught.value.code == ("database_newer" if version > migrations.VERSION else "database_older")
    assert contents_of(home) == before


@pytest.mark.parametrize(
    "ddl",
    [
        "CREATE TABLE memories (id TEXT, mine TEXT)",
        "CREATE TABLE other (x); CREATE TABLE history (id TEXT)",
        "CREATE VIEW memories AS SELECT 1 AS id",
    ],
)
@pytest.mark.parametrize("version", [2, 5])
def test_another_program_s_file_of_such_a_version_is_refused_untouched(home: Path, ddl: str, version: int) -> None:
    home.mkdir()
    with closing(sqlite3.connect(home / "mex.db")) as connection:
        connection.executescript(f"{ddl}; PRAGMA user_version = {version};")
    before = contents_of(home)
    with pytest.raises(DatabaseDamaged) as caught:
        migrate(home / "mex.db")
    assert caught.value.code == "database_foreign"
    assert contents_of(home) == before


def test_tables_of_the_user_beside_the_original_s_stay(home: Path) -> None:
    path = typical(home / "mex.db", 5)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE mine (x); INSERT INTO mine VALUES (1);")
    migrate(path)
    assert table(path, "mine") == [{"x": 1}]


def test_modes_of_the_process_do_not_open_the_copy(home: Path) -> None:
    path = typical(home / "mex.db", 5)
    before = os.umask(0)
    try:
        (copy,) = migrate(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600

"""The two gateways: transactions, groups, and what SQLite's failures are called."""

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mex_pipeline.domain.selection import Selection
from mex_pipeline.errors import DatabaseBusy, DatabaseDamaged, ExternalError
from mex_pipeline.store import async_database, database, jobs, memories, search
from mex_pipeline.store.async_database import AsyncDatabase
from mex_pipeline.store.database import Database
from mex_pipeline.store.sql import Query, Statement, groups, value, where
from tests.support.gateways import Gateway, fresh, one, opened, rows
from tests.support.memories import memory, stored

CREATE = Statement("CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY, x TEXT)")
INSERT = "INSERT INTO t (n, x) VALUES (:n, :x)"
REPLACE = "REPLACE INTO t (n, x) VALUES (:n, :x)"


def numbers(db: Gateway) -> list[int]:
    return db.all(Query("SELECT n FROM t ORDER BY n", {}, value("n")))


@pytest.fixture
def table(db: Gateway) -> Gateway:
    """A database with a small table."""
    db.run(CREATE)
    return db


def test_first_is_the_first_row_or_none(table: Gateway) -> None:
    assert table.first(Query("SELECT n FROM t", {}, value("n"))) is None
    table.run(Statement(INSERT, {"n": 2, "x": "b"}), Statement(INSERT, {"n": 1, "x": "a"}))
    assert table.first(Query("SELECT n FROM t ORDER BY n", {}, value("n"))) == 1


def test_run_tells_the_rows_of_the_last_group(table: Gateway) -> None:
    insert = [Statement(INSERT, {"n": n, "x": "a"}) for n in range(3)]
    assert table.run(*insert) == 3
    assert table.run(*insert[:0]) == 0
    assert table.run(Statement("UPDATE t SET x = 'b'"), Statement("DELETE FROM t WHERE n = 9")) == 0
    assert table.run(Statement("DELETE FROM t WHERE n = 9"), Statement("UPDATE t SET x = 'b'")) == 3


def test_a_block_that_ends_is_committed(table: Gateway, path: Path) -> None:
    with table.transaction() as tx:
        assert tx.in_transaction
        tx.run(Statement(INSERT, {"n": 1, "x": "a"}))
    assert not table.in_transaction
    with opened("sync", path) as other:
        assert numbers(other) == [1]


@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError])
def test_a_block_that_is_left_by_anything_is_rolled_back(table: Gateway, fault: type[BaseException]) -> None:
    def broken() -> None:
        with table.transaction() as tx:
            tx.run(Statement(INSERT, {"n": 1, "x": "a"}))
            raise fault

    with pytest.raises(fault):
        broken()
    assert not table.in_transaction
    assert numbers(table) == []
    with table.transaction() as tx:
        tx.run(Statement(INSERT, {"n": 2, "x": "b"}))
    assert numbers(table) == [2]


def test_a_failing_statement_rolls_back_the_whole_block(table: Gateway) -> None:
    with pytest.raises(ExternalError, match="internal"), table.transaction() as tx:
        tx.run(Statement(INSERT, {"n": 1, "x": "a"}), Statement(INSERT, {"n": 1, "x": "again"}))
    assert numbers(table) == []


def test_a_block_sees_its_own_writes_and_others_do_not(table: Gateway, path: Path) -> None:
    with opened("sync", path) as other, table.transaction() as tx:
        tx.run(Statement(INSERT, {"n": 1, "x": "a"}))
        assert numbers(tx) == [1]
        assert numbers(other) == []


@pytest.mark.parametrize(("kind", "module"), [("sync", database), ("async", async_database)])
def test_a_lock_that_is_held_too_long_is_busy(
    path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, module: ModuleType
) -> None:
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.05)
    with opened("sync", path) as holder, opened(kind, path) as db:
        stored(holder, "kept")
        with holder.transaction():
            with pytest.raises(DatabaseBusy) as caught, db.transaction():
                pytest.fail("two writers at once")
            assert caught.value.retryable
            assert caught.value.params == {"path": str(path)}
            assert not db.in_transaction
            with pytest.raises(DatabaseBusy):
                stored(db, "refused")
            assert one(db, "SELECT count(*) FROM memories") == 1, "a reader waits for nobody"
        stored(db, "later")


def test_a_snapshot_sees_one_state_across_reads_and_takes_no_lock(path: Path) -> None:
    with opened("sync", path) as db, opened("sync", path) as writer:
        stored(writer, "1")
        with db.snapshot() as view:
            assert one(view, "SELECT count(*) FROM memories") == 1
            stored(writer, "2")
            assert one(view, "SELECT count(*) FROM memories") == 1
        assert one(db, "SELECT count(*) FROM memories") == 2


def test_the_data_version_moves_when_another_connection_commits(path: Path) -> None:
    with opened("sync", path) as db, opened("sync", path) as writer:
        before = db.data_version()
        stored(db, "mine")
        assert db.data_version() == before
        stored(writer, "another's")
        assert db.data_version() != before


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_product_d6_commits_are_synced_to_disk(path: Path, kind: str) -> None:
    with opened(kind, path) as db:
        assert one(db, "PRAGMA synchronous") == 2
        assert one(db, "PRAGMA journal_mode") == "wal"


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_file_that_is_no_database_is_damaged(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "mex.db"
    file.write_bytes(b"not a database, but long enough to look at" * 100)
    with pytest.raises(DatabaseDamaged) as caught, opened(kind, file):
        pytest.fail("opened")
    assert caught.value.params["path"] == str(file)
    assert file.read_bytes().startswith(b"not a database")


def test_a_file_that_cannot_be_opened_is_unwritable(tmp_path: Path) -> None:
    with pytest.raises(ExternalError) as caught:
        Database.open(tmp_path / "missing" / "mex.db")
    assert caught.value.code == "database_unwritable"


def test_a_file_that_cannot_be_opened_is_unwritable_asynchronously_too(tmp_path: Path) -> None:
    async def scenario() -> None:
        with pytest.raises(ExternalError) as caught:
            await AsyncDatabase.open(tmp_path / "missing" / "mex.db")
        assert caught.value.code == "database_unwritable"
        await asyncio.sleep(0.2)  # the library's thread reports to this loop that it ends

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("said", "code", "retryable"),
    [
        ("database is locked", "database_busy", True),
        ("database table is locked", "database_busy", True),
        ("database or disk is full", "disk_full", False),
        ("attempt to write a readonly database", "database_unwritable", False),
        ("unable to open database file", "database_unwritable", False),
        ("disk I/O error", "database_damaged", False),
    ],
)
def test_what_sqlite_says_has_a_name(said: str, code: str, retryable: bool) -> None:
    error = database.translated(sqlite3.OperationalError(said), "/p")
    assert (error.code, error.retryable, error.params["path"], error.exit_code) == (code, retryable, "/p", 2)


def test_a_full_disk_loses_nothing_that_was_there(db: Gateway) -> None:
    stored(db, "kept")
    pages = one(db, "PRAGMA page_count")
    rows(db, f"PRAGMA max_page_count = {pages}")
    with pytest.raises(ExternalError) as caught, db.transaction():
        stored(db, "x" * 500_000)
    assert caught.value.code == "disk_full"
    assert not db.in_transaction
    assert one(db, "SELECT content FROM memories") == "kept"


def test_a_cancelled_task_leaves_no_open_transaction(path: Path) -> None:
    """However far the block had come when it was cancelled: nothing of it stays, and the next one works."""

    async def scenario() -> None:
        db = await AsyncDatabase.open(path)
        try:
            for steps in range(1, 12):
                task = asyncio.create_task(block(db))
                for _ in range(steps):
                    await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert not db.in_transaction
                assert await db.all(Query("SELECT content FROM memories", {}, value("content"))) == []
            async with db.transaction() as tx:
                await tx.run(memories.insert(memory("after")))
            assert await db.all(Query("SELECT content FROM memories", {}, value("content"))) == ["after"]
        finally:
            await db.close()

    async def block(db: AsyncDatabase) -> None:
        async with db.transaction() as tx:
            for number in range(50):
                await tx.run(memories.insert(memory(f"cancelled {number}")))
            await asyncio.sleep(60)

    asyncio.run(scenario())


def test_a_task_cancelled_while_it_waits_for_the_lock_leaves_it_free(path: Path) -> None:
    async def scenario() -> None:
        db = await AsyncDatabase.open(path)
        held, free = threading.Event(), threading.Event()

        def hold() -> None:
            with opened("sync", path) as other, other.transaction():
                held.set()
                free.wait(10)

        holder = threading.Thread(target=hold)
        holder.start()
        try:
            await asyncio.to_thread(held.wait)
            waiting = asyncio.create_task(write(db, "cancelled"))
            await asyncio.sleep(0.05)
            waiting.cancel()
            free.set()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await write(db, "after")
            assert await db.all(Query("SELECT content FROM memories", {}, value("content"))) == ["after"]
        finally:
            free.set()
            holder.join()
            await db.close()

    async def write(db: AsyncDatabase, content: str) -> None:
        async with db.transaction() as tx:
            await tx.run(memories.insert(memory(content)))

    asyncio.run(scenario())


def test_concurrent_blocks_of_one_connection_take_turns(path: Path) -> None:
    async def scenario() -> None:
        db = await AsyncDatabase.open(path)

        async def add(number: int) -> None:
            async with db.transaction() as tx:
                before = await tx.first(Query("SELECT count(*) AS n FROM memories", {}, value("n")))
                await asyncio.sleep(0)
                await tx.run(memories.insert(memory(f"{before}")))
                if number == 3:
                    raise ValueError

        try:
            done = await asyncio.gather(*(add(number) for number in range(8)), return_exceptions=True)
            assert [type(result) for result in done].count(ValueError) == 1
            written = await db.all(Query("SELECT content FROM memories ORDER BY seq", {}, value("content")))
            assert written == [str(number) for number in range(7)]
        finally:
            await db.close()

    asyncio.run(scenario())


_statements = st.lists(
    st.one_of(
        st.builds(lambda n, x: Statement(REPLACE, {"n": n, "x": x}), st.integers(0, 5), st.text("ab")),
        st.builds(lambda n: Statement("DELETE FROM t WHERE n = :n", {"n": n}), st.integers(0, 5)),
        st.builds(lambda x: Statement("UPDATE t SET x = x || :x", {"x": x}), st.text("ab", max_size=2)),
    ),
    max_size=25,
)  # fmt: skip


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_statements)
def test_grouped_statements_do_what_single_ones_do(table: Gateway, statements: list[Statement]) -> None:
    def contents() -> list[dict]:
        return rows(table, "SELECT n, x FROM t ORDER BY n")

    table.run(Statement("DELETE FROM t"))
    for statement in statements:
        table.run(statement)
    singly = contents()
    table.run(Statement("DELETE FROM t"))
    table.run(*statements)
    assert contents() == singly
    assert [(sql, params) for sql, group in groups(statements) for params in group] == [
        (statement.sql, statement.params) for statement in statements
    ]


def test_equal_sql_is_grouped_only_where_it_stands_together() -> None:
    a, b = Statement("A", {"n": 1}), Statement("B")
    assert groups([a, a, b, a]) == [("A", [{"n": 1}, {"n": 1}]), ("B", [{}]), ("A", [{"n": 1}])]
    assert groups([]) == []


def test_a_condition_without_a_value_is_left_out() -> None:
    assert where({"a = :a": None}) == ("", {})
    assert where({"a = :a": 1, "b = :b": None, "c IN (SELECT value FROM json_each(:c))": "[]"}) == (
        "WHERE a = :a AND c IN (SELECT value FROM json_each(:c))",
        {"a": 1, "c": "[]"},
    )


def test_a_value_is_bound_and_never_part_of_the_sql(db: Gateway) -> None:
    hostile = "x'; DROP TABLE memories; --"
    stored(db, hostile, f"{hostile}.{hostile}")
    assert db.first(search.count("9", Selection(topic=hostile))) == 1
    assert db.all(jobs.page(states=(hostile,), limit=1)) == []


def test_a_file_that_cannot_be_written_is_read_without_leaving_anything_beside_it(tmp_path: Path) -> None:
    """Product P2: a query needs no write, not even of SQLite's own helper files."""
    file = tmp_path / "mex.db"
    fresh(file)
    with closing(Database.open(file)) as db:
        db.run(memories.insert(memory("x")))
        db.script("PRAGMA wal_checkpoint(TRUNCATE);")
    before = sorted(path.name for path in tmp_path.iterdir())
    with closing(Database.open_to_read(file)) as db:
        assert [one.content for one in db.all(memories.slot_memories("2026-01-01T00:00:00Z"))] == []
        assert db.first(search.count("2026-01-01T00:00:00Z", Selection())) == 1
        assert len(db.all(search.find("2026-01-01T00:00:00Z", Selection(keyword="X"), limit=1))) == 1
        with pytest.raises(ExternalError):
            db.run(memories.insert(memory("y")))
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    (tmp_path / "mex.db-wal").write_bytes(b"not yet in the file")
    with pytest.raises(ExternalError) as caught:
        Database.open_to_read(file)
    assert caught.value.code == "database_unwritable"

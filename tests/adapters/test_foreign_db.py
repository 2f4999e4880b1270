"""Another program's database is read as it is, without a trace, and its owner never waits for us."""

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from mex_pipeline.adapters import foreign_db
from mex_pipeline.errors import MexError, SourceGone, SourceUnreadable

OWNER = """
import sqlite3, sys
owner = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)
for line in sys.stdin:
    for statement in line.split(";"):
        owner.execute(statement).fetchall()
    print("done", flush=True)
"""
BUSY_OWNER = """
import sqlite3, sys
owner = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)
owner.execute("PRAGMA synchronous = OFF")
print("begun", flush=True)
for _ in range(500):
    owner.execute("INSERT INTO t VALUES (?)", ("x" * 200,))
print("500 written", flush=True)
"""
State = dict[str, tuple[bytes, int]]


class Owner:
    """Another process that has the database open and does what it is told."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.process = subprocess.Popen(
            [sys.executable, "-c", OWNER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def does(self, *statements: str) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(";".join(statements) + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def ends(self, how: signal.Signals | None = None) -> None:
        if how is not None:
            self.process.send_signal(how)
        self.process.communicate()


@contextmanager
def owner_of(path: Path) -> Iterator[Owner]:
    owner = Owner(path)
    try:
        yield owner
    finally:
        if owner.process.poll() is None:
            owner.ends(signal.SIGKILL)


def begin(owner: Owner, mode: str = "wal") -> None:
    """A committed table of three rows, in the given journal mode."""
    owner.does(f"PRAGMA journal_mode = {mode}", "CREATE TABLE t (x)", "INSERT INTO t VALUES ('a'), ('b'), ('c')")


def closed(path: Path) -> None:
    with owner_of(path) as owner:
        begin(owner)
        owner.ends()


def killed(path: Path) -> None:
    with owner_of(path) as owner:
        begin(owner)
        owner.ends(signal.SIGKILL)


def killed_without_shm(path: Path) -> None:
    killed(path)
    path.with_name(path.name + "-shm").unlink()


def emptied_wal(path: Path) -> None:
    with owner_of(path) as owner:
        begin(owner)
        owner.does("PRAGMA wal_checkpoint(TRUNCATE)")
        owner.ends(signal.SIGKILL)


def rolled_back(path: Path) -> None:
    """A process died in the middle of a transaction that had already reached the file: its journal is hot."""
    with owner_of(path) as owner:
        begin(owner, "delete")
        many = "INSERT INTO t SELECT hex(randomblob(500)) FROM t a, t b, t c, t d, t e, t f"
        owner.does("PRAGMA cache_size = 5", "BEGIN", many, "UPDATE t SET x = 'z'")
        owner.ends(signal.SIGKILL)
    assert path.with_name(path.name + "-journal").stat().st_size > 0


def in_rollback_mode(path: Path) -> None:
    with owner_of(path) as owner:
        begin(owner, "delete")
        owner.ends()


STATES = [closed, killed, killed_without_shm, emptied_wal, rolled_back, in_rollback_mode]


def count(path: Path) -> int:
    return foreign_db.read(path, lambda connection: int(connection.execute("SELECT count(*) FROM t").fetchone()[0]))


def state(folder: Path) -> tuple[State, int]:
    """Bytes and times of change of all files, and of the folder."""
    files = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(folder.iterdir())}
    return files, folder.stat().st_mtime_ns


@contextmanager
def no_trace(folder: Path) -> Iterator[None]:
    before, temporary = state(folder), set(Path(tempfile.gettempdir()).glob("mex-*"))
    yield
    assert state(folder) == before
    assert set(Path(tempfile.gettempdir()).glob("mex-*")) <= temporary


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the database, and one of their own for temporary copies."""
    copies = tmp_path / "copies"
    copies.mkdir(mode=0o777)
    copies.chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(copies))
    made = tmp_path / "owner's folder #1? 中"
    made.mkdir()
    return made


@pytest.mark.parametrize("prepare", STATES)
def test_what_is_committed_is_read_and_nothing_changes(folder: Path, prepare: Callable[[Path], None]) -> None:
    """I5: with and without `-wal`, `-shm`, after a kill, with a transaction that nobody finished."""
    prepare(folder / "o.db")
    with no_trace(folder):
        assert count(folder / "o.db") == 3
        assert foreign_db.is_database(folder / "o.db")


@pytest.mark.parametrize("prepare", STATES)
def test_a_folder_that_may_not_be_written_is_read(
    tmp_path: Path, folder: Path, prepare: Callable[[Path], None]
) -> None:
    """As another user, who may look and no more."""
    prepare(folder / "o.db")
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)
    others = [path for path in (tmp_path, *tmp_path.parents) if path.owner() == "root" and path != Path("/")]
    modes = {path: path.stat().st_mode for path in others}
    as_root = os.geteuid() == 0
    try:
        if as_root:
            for path in others:
                path.chmod(modes[path] | 0o011)
            os.seteuid(65534)
        with no_trace(folder):
            assert count(folder / "o.db") == 3
    finally:
        if as_root:
            os.seteuid(0)
            for path, mode in modes.items():
                path.chmod(mode)
        folder.chmod(0o755)


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_living_owners_rows_are_seen_at_once(folder: Path, mode: str) -> None:
    """Also those that are in its `-wal` only; what it has not committed is not."""
    with owner_of(folder / "o.db") as owner:
        begin(owner, mode)
        for rows in (3, 4, 5):
            with no_trace(folder):
                assert count(folder / "o.db") == rows
            owner.does("INSERT INTO t VALUES ('d')")
        owner.does("BEGIN", "INSERT INTO t VALUES ('e')")
        with no_trace(folder):
            assert count(folder / "o.db") == 6
        owner.does("COMMIT", "PRAGMA wal_checkpoint(TRUNCATE)")
        assert count(folder / "o.db") == 7


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_an_owner_that_lets_nobody_in_is_named_soon(folder: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not waited for without end; in WAL mode its files can be copied."""
    monkeypatch.setattr(foreign_db, "BUSY_SECONDS", 0.1)
    with owner_of(folder / "o.db") as owner:
        owner.does("PRAGMA locking_mode = EXCLUSIVE")
        begin(owner, mode)
        with no_trace(folder):
            if mode == "wal":
                assert count(folder / "o.db") == 3
                return
            with pytest.raises(SourceUnreadable) as caught:
                count(folder / "o.db")
    assert (caught.value.code, caught.value.params) == ("source_busy", {"path": str(folder / "o.db")})


def test_an_owner_commits_undisturbed_while_it_is_read(folder: Path) -> None:
    """Two hundred reads and more beside a writer that waits for nobody; the number of rows never falls."""
    path = folder / "o.db"
    closed(path)
    seen = [0]
    with subprocess.Popen([sys.executable, "-c", BUSY_OWNER, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "begun\n"
        while process.poll() is None or len(seen) < 200:
            seen.append(count(path))
        assert process.stdout.readline() == "500 written\n"
    assert process.returncode == 0
    assert seen == sorted(seen)
    assert count(path) == 503


def test_what_changes_while_nothing_locks_it_is_read_again(folder: Path) -> None:
    """A closed database in WAL mode is opened without locks; its owner may come back meanwhile."""
    path = folder / "o.db"
    closed(path)
    seen: list[int] = []

    def work(connection: sqlite3.Connection) -> int:
        rows = int(connection.execute("SELECT count(*) FROM t").fetchone()[0])
        if not seen:
            with owner_of(path) as owner:
                owner.does("INSERT INTO t VALUES ('d')")
                owner.ends(signal.SIGKILL)
        seen.append(rows)
        return rows

    assert foreign_db.read(path, work) == 4
    assert seen == [3, 4]


def test_a_database_that_never_rests_is_named(folder: Path) -> None:
    """After some attempts; each saw something that was not whole."""
    path = folder / "o.db"
    closed(path)

    def work(connection: sqlite3.Connection) -> None:
        os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))

    with pytest.raises(SourceUnreadable) as caught:
        foreign_db.read(path, work)
    assert caught.value.code == "source_busy"


@pytest.mark.parametrize("prepare", STATES)
def test_an_error_while_reading_leaves_nothing_behind(folder: Path, prepare: Callable[[Path], None]) -> None:
    """Copies are removed, and the error is the reader's own or told as an unreadable source."""
    path = folder / "o.db"
    prepare(path)
    with no_trace(folder):
        with pytest.raises(ZeroDivisionError):
            foreign_db.read(path, lambda _: 1 / 0)
        with pytest.raises(SourceUnreadable) as caught:
            foreign_db.read(path, lambda connection: connection.execute("SELECT x FROM missing"))
        assert caught.value.params == {"path": str(path), "detail": "no such table: missing"}


@pytest.mark.parametrize("cut", [100, 3000, 4096])
def test_a_damaged_database_is_named(folder: Path, cut: int) -> None:
    """Cut off, overwritten, or only the name of one."""
    path = folder / "o.db"
    closed(path)
    whole = path.read_bytes()
    for data in (whole[:cut], whole[:100] + b"\xff" * cut + whole[100 + cut :], b"SQLite format 3\0" + b"\1" * cut):
        path.write_bytes(data)
        with no_trace(folder), pytest.raises(SourceUnreadable) as caught:
            count(path)
        assert caught.value.code in ("source_db_damaged", "source_unreadable")
        assert caught.value.params["path"] == str(path)


def test_what_is_no_database_is_told_apart(folder: Path) -> None:
    """Text, nothing, a folder, a pipe."""
    (folder / "text").write_text("SQLite")
    (folder / "empty").write_bytes(b"")
    assert not foreign_db.is_database(folder / "text")
    assert not foreign_db.is_database(folder / "empty")
    with pytest.raises(SourceUnreadable):
        count(folder / "text")
    os.mkfifo(folder / "pipe")
    for path, kind in ((folder / "none", SourceGone), (folder, SourceUnreadable), (folder / "pipe", SourceUnreadable)):
        for act in (count, foreign_db.is_database):
            with pytest.raises(kind):
                act(path)


def test_a_pipe_in_the_place_of_a_wal_stops_nobody(folder: Path) -> None:
    """It would be waited for without end."""
    closed(folder / "o.db")
    os.mkfifo(folder / "o.db-wal")
    with pytest.raises(MexError) as caught:
        count(folder / "o.db")
    assert caught.value.code == "source_unreadable"


def test_a_giant_database_is_not_copied_into_memory(folder: Path) -> None:
    """Where it must be copied it goes from disk to disk."""
    path = folder / "o.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (x)")
        connection.executemany("INSERT INTO t VALUES (zeroblob(?))", [(4_000_000,)] * 15)
        connection.commit()
    with owner_of(path) as owner:
        owner.does("INSERT INTO t VALUES ('d')")
        owner.ends(signal.SIGKILL)
    path.with_name("o.db-shm").unlink()
    tracemalloc.start()
    try:
        assert count(path) == 16
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()


def test_a_copy_is_nobody_elses_to_read(folder: Path) -> None:
    """Its folder is private while it is there."""
    killed_without_shm(folder / "o.db")
    modes: list[int] = []

    def work(connection: sqlite3.Connection) -> None:
        place = connection.execute("PRAGMA database_list").fetchone()[2]
        modes.append(Path(place).parent.stat().st_mode & 0o777)
        assert Path(place).parent != folder

    foreign_db.read(folder / "o.db", work)
    assert modes == [0o700]


def test_text_that_is_no_utf_8_is_replaced(folder: Path) -> None:
    """As in every other source."""
    path = folder / "o.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.execute("INSERT INTO t VALUES (CAST(x'6869ff' AS TEXT))")
        connection.commit()
    assert foreign_db.read(path, lambda connection: connection.execute("SELECT x FROM t").fetchone()) == ("hi\ufffd",)


def test_nothing_can_be_written_through_it(folder: Path) -> None:
    """Whatever a reader asks for."""
    for prepare in (closed, killed, in_rollback_mode):
        path = folder / f"{prepare.__name__}.db"
        prepare(path)
        with no_trace(folder), pytest.raises(SourceUnreadable):
            foreign_db.read(path, lambda connection: connection.execute("DELETE FROM t"))

"""A database that cannot be used: exit 2, one clear line and an untouched file, on every command (fault 26, product B1)."""

import json
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mex_pipeline.cli.app import _COMMANDS
from mex_pipeline.store import database
from tests.support.old_files import typical
from tests.support.program import Ran, in_process, mex, opened, until

ID = "00000000-0000-4000-8000-000000000000"
ARGUMENTS: dict[str, list[str]] = {
    "add": ["--content", "x"],
    "update": [ID, "--content", "x"],
    "pin": [ID],
    "related": [ID],
    "get": [ID],
    "search": ["x"],
    "history": [ID],
    "source": [ID],
    "turns prune": ["--agent", "claude", "--yes"],
    "forget": [ID],
    "restore": [ID],
    "undo": [ID],
    "move": [ID, "--topic", "work"],
    "extract": ["some text"],
    "compact": ["--dry-run"],
    "export": ["--output", "{folder}/out.json"],
    "import": ["{folder}/in.json"],
    "backup": ["{folder}/copy.db"],
    "clear": ["--yes"],
    "review approve": [ID],
    "review decline": [ID],
    "jobs show": [ID],
    "jobs wait": [ID],
    "jobs cancel": [ID],
    "jobs retry": [ID],
    "jobs logs": [ID],
    "config llm": ["--provider", "ollama", "--model", "m"],
    "setup": ["--yes"],
}
"""The least a command needs to come to its work."""

WITHOUT_DATABASE = {"help", "transcript", "integrate"}
"""These say how to use meX, or handle other files."""
REPORTS = {"doctor"}
"""A report of a broken home is no failure (tests/cli/test_doctor.py)."""


def names() -> Iterator[str]:
    """Every command by its whole name; one that is added later is tested from its first day."""
    yield ""
    for name, found in _COMMANDS.items():
        yield from [name] if isinstance(found, str) else [f"{name} {verb}".strip() for verb in found]


COMMANDS = [name for name in names() if name not in WITHOUT_DATABASE | REPORTS]


def run(name: str, tmp_path: Path, *options: str) -> Ran:
    (tmp_path / "in.json").write_text("{}", encoding="utf-8")
    arguments = [one.format(folder=tmp_path) for one in ARGUMENTS.get(name, [])]
    if name.startswith("worker"):
        return mex(*name.split(), *options, ok=False)
    return in_process(*name.split(), *arguments, *options)


def refused(name: str, tmp_path: Path, code: str) -> None:
    """The command fails as promised, for people and for programs."""
    ran = run(name, tmp_path)
    # A worker that meets a later structure leaves so that a service starts the new one (docs/jobs.md).
    assert ran.code == (75 if (name, code) == ("worker run", "database_newer") else 2), (name, ran)
    assert ran.out == "", name
    assert ran.err.startswith("Error: "), (name, ran)
    assert "mex.db" in ran.err, name
    if not name.startswith("worker"):
        told = json.loads(run(name, tmp_path, "--json").err.splitlines()[-1])
        assert told["code"] == code, name


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def _text(path: Path) -> None:
    path.write_bytes(b"this is no database, whatever it is called\n" * 100)


def _short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def _stump(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:40])


def _newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 999")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _foreign(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
        connection.commit()


def _foreign_of_our_age(path: Path) -> None:
    _foreign(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 5")


def _too_old(path: Path) -> None:
    path.unlink()
    typical(path, 2)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 1")


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "text": (_text, "database_damaged"),
    "cut short": (_short, "database_damaged"),
    "a stump": (_stump, "database_damaged"),
    "of a newer meX": (_newer, "database_newer"),
    "of another program": (_foreign, "database_foreign"),
    "of another program, with such a version": (_foreign_of_our_age, "database_foreign"),
    "of before the first version": (_too_old, "database_older"),
}


@pytest.fixture(params=DAMAGES)
def damage(request: pytest.FixtureRequest, home: Path) -> str:
    """A home with a database that is none, and the code of its error."""
    mex("init")
    breaks, code = DAMAGES[request.param]
    for name in ("mex.db-wal", "mex.db-shm"):
        (home / name).unlink(missing_ok=True)
    breaks(home / "mex.db")
    return code


def test_fault_26_a_database_that_is_none_is_exit_2_on_every_command_and_stays_as_it_is(
    damage: str, home: Path, tmp_path: Path
) -> None:
    before = contents(home)
    for name in COMMANDS:
        refused(name, tmp_path, damage)
        assert contents(home) == before, name
    assert list((home / "backups").iterdir()) == []


def test_fault_26_a_folder_in_place_of_the_database(home: Path, tmp_path: Path) -> None:
    mex("init")
    (home / "mex.db").unlink()
    (home / "mex.db").mkdir()
    for name in COMMANDS:
        refused(name, tmp_path, "database_is_folder")
    assert list((home / "mex.db").iterdir()) == []


def test_an_empty_file_is_what_a_creation_that_was_cut_off_leaves_and_is_made_anew(home: Path) -> None:
    home.mkdir()
    (home / "mex.db").touch()
    assert "Made a new memory" in mex("list").err
    assert mex("list").err == ""


def test_fault_26_a_locked_database_is_exit_2_where_something_is_written_and_no_matter_elsewhere(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reads do not block (fault 5)."""
    known = str(mex("add", "--content", "here", "--json").json["id"])
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    with closing(sqlite3.connect(home / "mex.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for arguments in (
            ["add", "--content", "x"], ["update", known, "--content", "x"], ["forget", known], ["gc"], ["extract", "text"],
            ["move", known, "--topic", "work"],
        ):  # fmt: skip
            ran = in_process(*arguments, "--json")
            assert (ran.code, json.loads(ran.err.splitlines()[-1])["code"]) == (2, "database_busy"), arguments
            assert json.loads(ran.err.splitlines()[-1])["retryable"] is True
        for arguments in (
            ["list"], ["get", known], ["search", "here"], ["profile"], ["stats"], ["jobs", "list"], ["schema"],
            ["config", "show"], ["history", known], ["worker", "status"], [],
        ):  # fmt: skip
            assert in_process(*arguments).code == 0, arguments
        other.execute("ROLLBACK")


def test_fault_26_a_database_held_exclusively_is_exit_2_for_readers_too(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mex("init")
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    with closing(sqlite3.connect(home / "mex.db", isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN EXCLUSIVE")
        for name in COMMANDS:
            if not name.startswith("worker"):
                refused(name, tmp_path, "database_busy")
        other.execute("ROLLBACK")


def test_product_b1_a_newer_home_is_left_without_a_trace(home: Path) -> None:
    mex("init")
    _newer(home / "mex.db")
    before = (home / "mex.db").read_bytes()
    for command in (["list"], ["init"], ["add", "--content", "x"], ["doctor"]):
        mex(*command, ok=False)
    assert (home / "mex.db").read_bytes() == before
    assert not (home / "mex.db-wal").exists()
    assert list((home / "backups").iterdir()) == []


def everything(home: Path) -> dict[str, str]:
    """Whatever in a home others could read."""
    found = [home, *home.rglob("*")]
    modes = {str(path): stat.S_IMODE(path.lstat().st_mode) for path in found}
    wanted = {str(path): 0o700 if path.is_dir() else 0o600 for path in found}
    return {path: f"{mode:04o}" for path, mode in modes.items() if mode != wanted[path]}


def plainly(umask: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run mex with a umask of the caller's."""
    code = "import os, sys; os.umask(int(sys.argv.pop(1))); from mex_pipeline.cli.main import main; main()"
    command = [sys.executable, "-c", code, str(umask), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))


def test_fault_30_whatever_a_command_leaves_is_private_to_its_owner(home: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("我在远光软件工作。", encoding="utf-8")
    for arguments in (
        ["init"], ["add", "--content", "x"], ["list"], ["extract", "我叫小陈"],
        ["extract", "--file", str(tmp_path / "notes.txt")], ["profile"], ["clear", "--yes"],
        ["extract", "--async", "我在远光软件"], ["doctor", "--fix"],
    ):  # fmt: skip
        done = plainly(0o022, *arguments)
        assert done.returncode == 0, (arguments, done.stderr)
        assert everything(home) == {}, arguments
    until((home / "queue.db").exists)
    assert everything(home) == {}, "the worker's"
    plainly(0o022, "worker", "stop")
    assert everything(home) == {}, "what a worker leaves behind"


def test_fault_30_a_folder_that_was_there_before_is_made_private(home: Path) -> None:
    home.mkdir()
    home.chmod(0o755)
    plainly(0o022, "init")
    assert everything(home) == {}


def test_fault_30_an_original_s_home_is_reported_and_repaired(home: Path) -> None:
    """Folder 0755, files 0644, as the original left them."""
    path = typical(home / "mex.db", 5)
    home.chmod(0o755)
    path.chmod(0o644)
    plainly(0o022, "list")
    (found,) = [one for one in mex("doctor", "--json").json["checks"] if one["name"] == "permissions"]
    assert {Path(item["path"]).name for item in found["items"]} == {home.name, "mex.db"}
    mex("doctor", "--fix")
    assert everything(home) == {}


@pytest.mark.parametrize(("column", "value"), [("content", b"\xff\x00"), ("updated_at", "soon")])
def test_product_g8_a_row_that_another_program_spoiled_is_an_error_and_no_traceback(
    column: str, value: object, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever stands in the file: exit 2, a sentence and what to do; with MEX_DEBUG the place."""
    mex("add", "--content", "x")
    with opened(home / "mex.db") as db:
        db.execute(f"UPDATE memories SET {column} = ?", (value,))
    monkeypatch.delenv("MEX_DEBUG")
    for words in (["list"], ["list", "--json"], ["search", "x"], ["profile"], ["export", "--output", "-"]):
        ran = mex(*words, ok=False)
        assert ran.code in (0, 2), (words, ran)
        assert ran.code == 0 or "mex doctor" in ran.err or "mex.db" in ran.err, (words, ran)
    assert mex("list", ok=False).code == 2

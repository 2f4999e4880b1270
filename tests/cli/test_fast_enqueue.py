"""`mex extract --async` is read twice in the code, without Typer for a hook and by Typer for all else: to one effect."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mex_pipeline.cli import enqueue
from mex_pipeline.cli.app import build
from mex_pipeline.lease import FileLock
from mex_pipeline.paths import Home
from tests.adapters.export_files import gpt_chat, write
from tests.adapters.opencode_session import Export, store
from tests.support.extent import tries
from tests.support.program import Ran, in_process, opened
from tests.support.sessions import SessionFile

SAME = {"seq", "id", "created_at", "available_at", "first_enqueued_at", "job_id", "at", "batch_id", "note"}
"""Columns that differ from run to run."""

PLAIN = (
    ("extract", "--async", "I live in Porto"),
    ("extract", "--async", "我在远光软件工作", "--json"),
    ("extract", "--json", "--async", "--subject", "other", "Lin lives in Porto"),
    ("extract", "I live in Porto", "--async", "--text"),
    ("extract", "--async", "--file", "{file}"),
    ("extract", "--async", "--from", "claude", "--file", "{file}", "--json"),
    ("extract", "--async", "--from=plain", "--file={notes}"),
    ("extract", "--async", "--file", "{link}"),
    ("extract", "--async", "--delay", "5m", "--file", "{file}"),
    ("extract", "--async", "--file", "{file}", "--session", "s1"),
    ("extract", "--async", "--session=s2", "--file", "{file}", "--json"),
    ("extract", "--async", "--session", "s1", "a text"),
    ("extract", "--async", "--file", "{export}"),
    ("extract", "--async", "--file", "{store}", "--delay", "5m", "--json"),
    ("extract", "--async", "--file", "{store}", "--session", "ses_2"),
    ("extract", "--async", "--text", "{file}"),
    ("extract", "--async", "--lang", "zh", "我住在成都"),
    ("extract", "--async", "--lang=zh", "--file", "{folder}/none"),
    ("extract", "--async", "-"),
    ("extract", "--async", "{file}"),
    ("extract", "--async", "both", "--file", "{file}"),
    ("extract", "--async"),
    ("extract", "--async", "--json"),
    ("extract", "--async", ""),
    ("extract", "--async", "   ", "--json"),
    ("extract", "--async", "\udcff broken"),
    ("extract", "--async", "--from", "cluade", "--file", "{file}"),
    ("extract", "--async", "--from", "claude", "a text", "--json"),
    ("extract", "--async", "--subject", "nobody", "a text"),
    ("extract", "--async", "--file", "{folder}", "--json"),
    ("extract", "--async", "--file", "{data}"),
    ("extract", "--async", "--file", "{folder}/none", "--json"),
    ("extract", "--async", "--delay", "soon", "a text"),
    ("extract", "--async", "--delay", "40d", "a text", "--json"),
    ("extract", "--async", "--lang", "fr", "a text"),
)
"""What a hook may write, right or wrong: read without Typer."""

LEFT_TO_TYPER = (
    ("extract", "--async", "--help"),
    ("extract", "--async", "--dry-run", "I live in Porto"),
    ("extract", "--async", "--nonsense", "a text"),
    ("extract", "--async", "a text", "--file"),
    ("extract", "--async", "--file", "--json"),
    ("extract", "--async", "--file="),
    ("extract", "--async=yes", "a text"),
    ("extract", "--async", "--async", "a text"),
    ("extract", "--async", "two", "texts"),
    ("extract", "--async", "--", "--not-an-option"),
    ("--json", "extract", "--async", "a text"),
    ("extract", "a text"),
    ("import", "--async", "a text"),
    (),
)


@pytest.fixture
def places(tmp_path: Path) -> dict[str, str]:
    """Files that the command lines name."""
    session = SessionFile(tmp_path / "s.jsonl").user("我在远光软件工作。").assistant("好的。")
    (tmp_path / "notes.txt").write_text("I live in Porto.", encoding="utf-8")
    (tmp_path / "data.json").write_text('{"neither": 1}', encoding="utf-8")
    (tmp_path / "link").symlink_to(session.path)
    names = {"file": session.path, "notes": tmp_path / "notes.txt", "data": tmp_path / "data.json"}
    names["export"] = write(tmp_path / "export.json", gpt_chat())
    names["store"] = store(tmp_path / "opencode.db", Export("ses_1").user("a"), Export("ses_2"))
    return {name: str(path) for name, path in (names | {"link": tmp_path / "link", "folder": tmp_path}).items()}


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Any, Any]]:
    """Runs a command line twice in a home, once with and once without the short way, and returns what each left."""

    def left_by(name: str, lines: tuple[tuple[str, ...], ...], prepare: Callable[[Path], None]) -> list[Any]:
        home = tmp_path / name
        prepare(home)
        environment = {"MEX_HOME": str(home), "MEX_WORKER_AUTOSTART": "false"}
        ran = [_plainly(in_process(*line, **environment), home) for line in lines]
        return [*ran, *_rows(home)]

    def both_ways(*lines: tuple[str, ...], prepare: Callable[[Path], None] = lambda _: None) -> tuple[Any, Any]:
        short = left_by("home-1", lines, prepare)
        with monkeypatch.context() as patch:
            patch.setattr(enqueue, "carried_out", lambda _: False)
            return short, left_by("home-2", lines, prepare)

    return both_ways


def _plainly(ran: Ran, home: Path) -> Any:
    out = ran.out.replace(str(home), "HOME")
    ids = [one for one in out.replace('"', " ").replace(",", " ").split() if one.count("-") == 4]
    for one in ids:
        out = out.replace(one, "ID")
    return ran.code, out, ran.err.replace(str(home), "HOME"), len(set(ids))


def _rows(home: Path) -> Iterator[Any]:
    if not (home / "mex.db").is_file():
        return
    with opened(home / "mex.db") as connection:
        for table in ("jobs", "job_events"):
            found = connection.execute(f"SELECT * FROM {table} ORDER BY seq")
            names = [one[0] for one in found.description]
            for values in found.fetchall():
                row = dict(zip(names, values, strict=True))
                if table == "jobs":
                    yield row["available_at"] - row["created_at"] > 299_000, len(row["id"])
                yield {name: value for name, value in row.items() if name not in SAME}


@pytest.mark.parametrize("line", PLAIN, ids=" ".join)
def test_the_short_way_says_and_does_what_typer_would(
    line: tuple[str, ...], places: dict[str, str], both: Callable[..., tuple[Any, Any]]
) -> None:
    """Twice each: the second request meets the first, in a home that the first had to make."""
    words = tuple(word.format(**places) for word in line)
    assert enqueue.read(words) is not None
    short, long = both(words, words)
    assert short == long
    assert len(short) >= 2


def test_the_lines_above_are_right_and_wrong_in_every_way(
    places: dict[str, str], both: Callable[..., tuple[Any, Any]]
) -> None:
    """Guards the comparison itself: it sees jobs, merges and errors."""
    words = tuple(tuple(word.format(**places) for word in line) for line in PLAIN)
    short, _ = both(*words, *words)
    assert {one[0] for one in short[: 2 * len(words)]} == {0, 1}
    queued = [one for one in short if isinstance(one, dict) and one.get("state") == "queued"]
    assert len(queued) >= 6
    assert any(one["coalesced"] for one in queued)


@pytest.mark.parametrize("line", LEFT_TO_TYPER, ids=" ".join)
def test_whatever_is_not_plain_is_left_to_typer(line: tuple[str, ...]) -> None:
    assert enqueue.read(line) is None


def test_typer_answers_what_is_left_to_it(both: Callable[..., tuple[Any, Any]]) -> None:
    (short, *_), (long, *_) = both(("extract", "--async", "a text", "--file"))
    assert short == long
    assert short[0] == 1
    assert "--file" in short[2]


def _broken_config(home: Path) -> None:
    in_process("init", MEX_HOME=str(home))
    (home / "config.yaml").write_text("worker:\n\tthreads: 2\n", encoding="utf-8")


def _unknown_setting(home: Path) -> None:
    in_process("init", MEX_HOME=str(home))
    (home / "config.yaml").write_text("language: zh\nworker:\n  thread: 2\n", encoding="utf-8")


def _half_configured(home: Path) -> None:
    in_process("init", MEX_HOME=str(home))
    (home / "config.yaml").write_text('llm:\n  base_url: "http://127.0.0.1:1/v1"\n', encoding="utf-8")


def _broken_schema(home: Path) -> None:
    in_process("init", MEX_HOME=str(home))
    (home / "schema.yaml").write_text("topics: [", encoding="utf-8")


def _newer_database(home: Path) -> None:
    in_process("init", MEX_HOME=str(home))
    with opened(home / "mex.db") as connection:
        connection.execute("PRAGMA user_version = 99")


def _paused(home: Path) -> None:
    in_process("init", MEX_HOME=str(home))
    with opened(home / "mex.db") as connection:
        connection.execute(
            "INSERT INTO queue_control (scope, paused_until, reason, at) VALUES ('*', 4102444800000, 'disk_full', 1)"
        )


def _no_folder_for_a_home(home: Path) -> None:
    home.write_text("a file", encoding="utf-8")


@pytest.mark.parametrize(
    ("prepare", "code"),
    [
        (_broken_config, 1), (_unknown_setting, 1), (_half_configured, 1), (_broken_schema, 0), (_newer_database, 2),
        (_paused, 0), (_no_folder_for_a_home, 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_homes_that_are_not_well_are_answered_alike(
    prepare: Callable[[Path], None], code: int, form: tuple[str, ...], both: Callable[..., tuple[Any, Any]]
) -> None:
    short, long = both(("extract", "--async", "我住在成都", *form), prepare=prepare)
    assert short == long
    assert short[0][0] == code
    assert short[0][2] or prepare is _broken_schema


def test_a_schema_that_cannot_be_read_does_not_lose_the_request(home: Path) -> None:
    """The job waits in the database until the schema is put right (docs/jobs.md)."""
    _broken_schema(home)
    assert in_process("extract", "--async", "I live in Porto", MEX_WORKER_AUTOSTART="false").code == 0
    with opened(home / "mex.db") as connection:
        assert connection.execute("SELECT state FROM jobs").fetchall() == [("queued",)]


def test_a_worker_that_lives_is_named(home: Path) -> None:
    in_process("init")
    lock = FileLock(Home(home).run / "worker.lock")
    assert lock.acquire()
    try:
        ran = in_process("extract", "--async", "I live in Porto", "--json")
    finally:
        lock.release()
    assert '"worker": "running"' in ran.out


WORDS = st.sampled_from(
    ["--async", "--async", "--json", "--text", "--file", "--file=a.txt", "--from", "claude", "--subject", "other",
     "--session", "--delay", "5m", "--lang", "zh", "--dry-run", "-", "--", "", "-x", "a text", "我住在成都", "--from=plain",
     "--help", "--file="]
)  # fmt: skip


@settings(max_examples=tries(400), deadline=None)
@given(words=st.lists(WORDS, max_size=7))
def test_words_that_the_short_way_takes_mean_the_same_to_typer(words: list[str]) -> None:
    mine = enqueue.read(["extract", *words])
    if mine is None:
        return
    command = build(["extract"]).commands["extract"]  # type: ignore[attr-defined]
    theirs = command.make_context("extract", list(words)).params
    assert theirs["in_background"]
    assert not theirs["dry_run"]
    defaults = {"text": None, "adapter": None, "subject": "user", "session": None, "delay": None}
    theirs |= {"session": theirs["session_id"]}
    assert defaults | mine == {name: theirs[name] for name in (*defaults, "is_text")} | {
        "file": None if theirs["file"] is None else Path(theirs["file"])
    }
    assert theirs["as_json"] == ("--json" in words)


def test_the_short_way_keeps_what_it_makes_to_its_owner(home: Path) -> None:
    in_process("extract", "--async", "I live in Porto", MEX_WORKER_AUTOSTART="false")
    assert {path.stat().st_mode & 0o077 for path in home.rglob("*")} == {0}

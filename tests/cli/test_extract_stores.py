"""A file of many sessions that grow: each is a source of its own (product H1, session-formats §3.3)."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.opencode_session import Export, store
from tests.support.archives import run
from tests.support.faulting import ALONE, rows
from tests.support.program import contents, in_process, mex
from tests.support.sessions import SessionFile


def session(name: str, *texts: str) -> Export:
    """A session in which the user says these texts; no two sessions of a database share the ids of messages."""
    export = Export(name).user(*texts)
    for message in export.messages:
        message["info"]["id"] += name
        for part in message["parts"]:
            part |= {"id": part["id"] + name, "messageID": message["info"]["id"]}
    return export


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Two sessions, each with one fact."""
    return store(tmp_path / "opencode.db", session("ses_1", "我住在成都"), session("ses_2", "记住：我对花生过敏"))


def sources(home: Path) -> list[str]:
    """What jobs were made of."""
    return [key for (key,) in rows(home, "SELECT lock_key FROM jobs ORDER BY lock_key")]


def test_each_session_of_the_file_is_a_job_of_one_batch(database: Path, home: Path) -> None:
    done = mex("extract", "--file", str(database), "--json").json
    assert (done["states"], done["added"]) == ({"succeeded": 2}, 2)
    assert sources(home) == [f"{database}#ses_1", f"{database}#ses_2"]
    assert {one["source"]["session"] for one in done["jobs"]} == {"ses_1", "ses_2"}
    again = mex("extract", "--file", str(database), "--json").json
    assert again["outcomes"] == {"skipped": 2}
    assert len(contents()) == 2


def test_one_session_is_one_job(database: Path, home: Path) -> None:
    done = mex("extract", "--file", str(database), "--session", "ses_2", "--json").json
    assert (done["outcome"], done["source"]["session"]) == ("committed", "ses_2")
    assert f"{database}#ses_2" in mex("jobs", "list").out
    assert sources(home) == [f"{database}#ses_2"]
    single = store(database.parent / "one.db", session("ses_9", "我喜欢绿茶"))
    assert mex("extract", "--file", str(single), "--json").json["source"]["session"] == "ses_9"


def test_requests_in_the_background_are_one_job_or_one_batch(database: Path, home: Path) -> None:
    """Read with and without Typer; the sessions are asked for all or none, with a delay where one is named."""
    words = ("extract", "--async", "--file", str(database), "--json")
    one = in_process(*words, "--session", "ses_1", **ALONE).json
    assert set(one) == {"job_id", "state", "merged", "worker"}
    all_of_them = in_process(*words, **ALONE).json
    assert set(all_of_them) == {"batch_id", "jobs", "worker"}
    assert sorted(row["merged"] for row in all_of_them["jobs"]) == [False, True]
    by_typer = in_process("--json", *words[:-1], "--delay", "5m", **ALONE).json
    assert [row["merged"] for row in by_typer["jobs"]] == [True, True]
    assert len(sources(home)) == 2
    assert {left > 0 for (left,) in rows(home, "SELECT available_at - created_at FROM jobs")} == {True}
    assert mex("jobs", "show", by_typer["batch_id"], "--json").json["states"] == {"queued": 2}


def test_a_file_is_imported_session_by_session_and_leaves_no_place(database: Path, home: Path) -> None:
    """Read once, whole, as any import (seed 004 §6.4)."""
    done = mex("import", "--mode", "extract", str(database), "--json").json
    assert (done["states"], {one["kind"] for one in done["jobs"]}) == ({"succeeded": 2}, {"import"})
    assert sources(home) == [f"import:user:{database}#ses_1", f"import:user:{database}#ses_2"]
    assert rows(home, "SELECT 1 FROM extraction_state") == []


def test_a_dry_run_sums_up_the_sessions(database: Path, home: Path) -> None:
    shown = mex("extract", "--dry-run", "--file", str(database), "--json").json
    assert (shown["conversations"], shown["turns"], shown["user_turns"]) == (2, 2, 2)
    one = mex("extract", "--dry-run", "--file", str(database), "--session", "ses_1", "--json").json
    assert (one["conversations"], one["user_turns"]) == (1, 1)
    assert rows(home, "SELECT 1 FROM jobs") == []


def _code(*words: str) -> tuple[int, str]:
    ran = in_process(*words, "--json", **ALONE)
    return ran.code, str(json.loads(ran.err.splitlines()[-1])["code"])


@pytest.mark.parametrize("way", [(), ("--async",), ("--dry-run",)], ids=["here", "queued", "dry"])
def test_a_session_that_is_not_there_makes_no_job(
    database: Path, tmp_path: Path, home: Path, way: tuple[str, ...]
) -> None:
    """A file of one session may be named with its session, and is told apart from another (as `mex transcript` does)."""
    other = SessionFile(tmp_path / "s.jsonl", "s1").user("我住在成都")
    for file in (database, other.path):
        found = _code("extract", "--file", str(file), "--session", "nowhere", *way)
        assert found == (1, "session_not_in_file"), file
    assert _code("extract", "a text", "--session", "s1", *way) == (1, "session_needs_file")
    assert rows(home, "SELECT 1 FROM jobs") == [] or way == ("--dry-run",)
    named = in_process("extract", "--file", str(other.path), "--session", "s1", *way, "--json", **ALONE)
    assert named.code == 0
    if not way:
        assert sources(home) == [str(other.path)]


def test_an_empty_store_is_told(tmp_path: Path, home: Path) -> None:
    empty = store(tmp_path / "opencode.db")
    assert _code("extract", "--file", str(empty)) == (1, "no_sessions_in_file")


def test_a_file_that_has_become_one_of_many_fails_by_name(tmp_path: Path, home: Path) -> None:
    """It was a single session when it was asked for."""
    path = Export("ses_1").user("我住在成都").write(tmp_path / "x.json")
    job_id = in_process("extract", "--async", "--file", str(path), "--json", **ALONE).json["job_id"]
    path.unlink()
    store(path, session("ses_1", "我住在成都"), session("ses_2", "你好"))
    assert run(home, job_id)
    failed: dict[str, Any] = mex("jobs", "show", job_id, "--json").json
    assert (failed["state"], failed["outcome"], failed["error"]["code"]) == ("failed", "unparseable", "session_needed")


def test_verify_of_the_file_is_of_each_of_its_sessions(database: Path, home: Path) -> None:
    mex("extract", "--file", str(database))
    found = mex("jobs", "verify", str(database), "--json").json["sources"]
    assert [one["source"] for one in found] == sorted(sources(home))
    assert {one["standing"] for one in found} == {"whole"}
    (one,) = mex("jobs", "verify", found[0]["source"], "--json").json["sources"]
    assert one == found[0]

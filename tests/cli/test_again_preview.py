"""`mex extract --again SESSION --diff --model M`: what another model would change, before anything is written (product B10)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.seed.ground import active, candidate, refused, rows
from tests.support.faulting import ALONE
from tests.support.model_server import ModelServer, reply
from tests.support.program import contents, mex
from tests.support.sessions import SessionFile

CITY = candidate("basic_info.location", "杭州", "我住在杭州")
MOVED = candidate("basic_info.location", "杭州西湖区", "我住在杭州西湖区")
HOBBY = candidate("leisure.hobbies", "养蜂", "我的爱好是养蜂")


@pytest.fixture
def background() -> Iterator[None]:
    """Leaves no worker behind that a test has had started."""
    yield
    mex("worker", "stop")


@pytest.fixture
def session(model: ModelServer, tmp_path: Path) -> SessionFile:
    """A session that a first model has read, and found one thing in."""
    file = SessionFile(tmp_path / "s.jsonl").user("我住在杭州西湖区，我的爱好是养蜂。").assistant("好")
    model.script({"reply": reply(CITY)})
    mex("extract", "--from", "claude", "--file", str(file.path))
    model.script({"reply": reply(MOVED, HOBBY)})
    return file


def everything() -> list[Any]:
    """What of memory and reading could change."""
    tables = ("memories", "history", "memory_sources", "turns", "seen_messages", "extraction_state", "proposals")
    return [rows(f"SELECT * FROM {table}") for table in tables]


def test_b10_a_preview_shows_what_would_change_and_writes_nothing(session: SessionFile) -> None:
    before = everything()
    result = mex("extract", "--again", str(session.path), "--diff", "--model", "better", "--json").json
    assert [one["content"] for one in result["added"]] == ["养蜂"]
    assert [(one["before"]["content"], one["after"]["content"]) for one in result["updated"]] == [
        ("杭州", "杭州西湖区")
    ]
    assert (result["state"], result["outcome"], result["reason"]) == ("succeeded", "skipped", "preview")
    assert result["usage"]["model"] == "better"
    assert everything() == before


def test_p4_what_a_preview_has_paid_for_is_not_paid_again(model: ModelServer, session: SessionFile) -> None:
    mex("extract", "--again", str(session.path), "--diff", "--model", "better")
    asked = len(model.requests())
    result = mex("extract", "--again", str(session.path), "--model", "better", "--json").json
    assert (len(model.requests()), result["usage"]["reused"]) == (asked, 1)
    assert active("basic_info.location") == ["杭州西湖区"]
    assert rows("SELECT count(*) FROM kept_replies") == [(0,)]
    assert [request["model"] for request in model.requests()][-1] == "better"


def test_p4_an_extraction_of_the_session_leaves_what_a_preview_has_paid_for(session: SessionFile) -> None:
    mex("extract", "--again", str(session.path), "--diff", "--model", "better")
    session.user("还有一件事")
    mex("extract", "--from", "claude", "--file", str(session.path))
    session.user("再来一件")
    cancelled = mex("extract", "--async", "--from", "claude", "--file", str(session.path), "--json", **ALONE).json
    mex("jobs", "cancel", cancelled["job_id"])
    assert rows("SELECT count(*) FROM kept_replies") == [(1,)]
    assert mex("doctor", "--offline").code == 0
    mex("extract", "--again", str(session.path))
    assert rows("SELECT count(*) FROM kept_replies") == [(0,)]


def test_b6_what_a_preview_has_shown_can_be_forgotten_for_good(home: Path, session: SessionFile) -> None:
    mex("extract", "--again", str(session.path), "--diff", "--model", "better")
    preview = mex("extract", "--again", str(session.path), "--diff", "--json").json
    assert "id" not in preview["added"][0], "nothing by that id can be looked up or forgotten"
    shown = mex("extract", "--again", str(session.path), "--json").json
    mex("undo", "last")
    hobby = next(one["id"] for one in shown["added"] if one["content"] == "养蜂")
    receipt = mex("forget", "--hard", "--yes", hobby, "--json").json
    assert (receipt["verified"], receipt["unfinished"]) == (True, [])
    assert all("养蜂".encode() not in file.read_bytes() for file in home.glob("mex.db*"))


def test_a_preview_reads_as_a_list_of_changes_in_both_languages(session: SessionFile) -> None:
    english = mex("extract", "--again", str(session.path), "--diff").out
    assert "Nothing was written" in english
    assert "~ basic_info.location: 杭州 → 杭州西湖区" in english
    assert "没有写入" in mex("--lang", "zh", "extract", "--again", str(session.path), "--diff").out
    assert contents() == ["杭州"]


@pytest.mark.usefixtures("background")
def test_a_preview_in_the_background_is_shown_by_its_job(session: SessionFile) -> None:
    job = mex("extract", "--again", str(session.path), "--diff", "--async", "--json").json["job_id"]
    mex("jobs", "wait", job)
    assert "+ leisure.hobbies: 养蜂" in mex("jobs", "show", job).out
    assert "shown only, nothing written" in mex("jobs", "list").out
    assert "仅预览，未写入" in mex("--lang", "zh", "jobs", "list").out
    assert contents() == ["杭州"]
    assert mex("doctor").code == 0


@pytest.mark.usefixtures("background")
def test_h8_a_model_that_is_not_there_fails_its_own_job_and_holds_up_no_other(
    model: ModelServer, session: SessionFile
) -> None:
    model.script({"status": 404, "body": '{"error": {"message": "model \\"nope\\" not found"}}'})
    job = mex("extract", "--again", str(session.path), "--model", "nope", "--async", "--json").json["job_id"]
    ended = mex("jobs", "wait", job, "--timeout", "60", "--json", ok=False)
    assert (ended.code, ended.json["state"], ended.json["outcome"]) == (2, "failed", "llm_error")
    assert rows("SELECT * FROM queue_control WHERE paused_until > 0") == []


@pytest.mark.usefixtures("background")
def test_h8_what_holds_the_endpoint_holds_a_job_that_asks_another_model_of_it(
    model: ModelServer, session: SessionFile
) -> None:
    model.script({"status": 401, "body": "{}"})
    again = mex("extract", "--again", str(session.path), "--model", "better", "--async", "--json").json["job_id"]
    ended = mex("jobs", "wait", again, "--timeout", "60", ok=False)
    assert ended.code == 2
    assert "paused" in mex("jobs", "show", again).out, "not: next in line for the worker"
    asked = len(model.requests())
    other = mex("extract", "--async", "我住在苏州", "--json").json["job_id"]
    assert mex("jobs", "wait", other, ok=False).code == 2
    assert len(model.requests()) == asked
    mex("jobs", "cancel", again)
    mex("jobs", "cancel", other)


def test_the_options_of_a_second_reading_belong_to_it(home: Path) -> None:
    assert "--again" in refused("extract", "--diff", "我住在杭州").err
    assert "--again" in refused("extract", "--model", "x", "我住在杭州").err

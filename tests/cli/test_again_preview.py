"""`mex extract --again SESSION --diff --model M`: what another model would change, before anything is written (product B10)."""

from pathlib import Path
from typing import Any

import pytest

from tests.seed.ground import active, candidate, refused, rows
from tests.support.model_server import ModelServer, reply
from tests.support.program import contents, mex
from tests.support.sessions import SessionFile

CITY = candidate("basic_info.location", "杭州", "我住在杭州")
MOVED = candidate("basic_info.location", "杭州西湖区", "我住在杭州西湖区")
HOBBY = candidate("leisure.hobbies", "养蜂", "我的爱好是养蜂")


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


def test_a_preview_reads_as_a_list_of_changes_in_both_languages(session: SessionFile) -> None:
    english = mex("extract", "--again", str(session.path), "--diff").out
    assert "Nothing was written" in english
    assert "~ basic_info.location: 杭州 → 杭州西湖区" in english
    assert "没有写入" in mex("--lang", "zh", "extract", "--again", str(session.path), "--diff").out
    assert contents() == ["杭州"]


def test_a_preview_in_the_background_is_shown_by_its_job(session: SessionFile) -> None:
    job = mex("extract", "--again", str(session.path), "--diff", "--async", "--json").json["job_id"]
    mex("jobs", "wait", job)
    assert "+ leisure.hobbies: 养蜂" in mex("jobs", "show", job).out
    assert contents() == ["杭州"]
    assert mex("doctor").code == 0


def test_the_options_of_a_second_reading_belong_to_it(home: Path) -> None:
    assert "--again" in refused("extract", "--diff", "我住在杭州").err
    assert "--again" in refused("extract", "--model", "x", "我住在杭州").err

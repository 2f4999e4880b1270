"""`mex log`: the journal of all changes, newest first (product B8, H13)."""

import json
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.domain.memory import Actor, Event
from mex_pipeline.store import history
from mex_pipeline.store.history import Filter
from tests.support.model_server import ModelServer
from tests.support.past import app_at
from tests.support.program import mex, opened
from tests.support.reviewing import DOUBT, GUESS, HOME, add, said

NAME = ("--topic", "basic_info", "--sub-topic", "name")


def log(*options: str) -> list[dict[str, Any]]:
    return list(mex("log", *options, "--json").json)


def events(*options: str) -> list[str]:
    return [one["event"] for one in log(*options)]


def refused(*options: str) -> str:
    ran = mex("log", *options, "--json", ok=False)
    assert (ran.code, ran.out) == (1, "")
    return str(json.loads(ran.err)["code"])


def test_product_h13_all_that_happened_is_there_newest_first(home: Path, model: ModelServer) -> None:
    city = add("杭州")
    mex("update", city["id"], "--content", "苏州")
    mex("update", city["id"], "--content", "南京", "--by", "ai")
    mex("review", "approve", city["id"])
    mex("move", city["id"], "--topic", "basic_info", "--sub-topic", "name")
    mex("forget", city["id"])
    mex("restore", city["id"])
    job = said(model, "我在常州住", HOME | {"content": "常州"})["job_id"]
    said(model, "我还在常州住", HOME | {"content": "常州"})
    mex("undo", "last")
    mex("add", "--content", "过期", "--expires", "2020-01-01")
    mex("gc")
    mex("forget", "--hard", "--yes", city["id"])
    assert events() == ["delete", "expire", "add", "undo", "reinforce", "add"]
    assert {one["event"]: one["actor"] for one in log("--job", job)} == {"add": "ai"}
    for number, event in enumerate(Event):
        with opened(home / "mex.db") as db:
            db.execute(
                "INSERT INTO history (id, memory_id, event, actor, created_at) VALUES (?, ?, ?, 'user', '2030-01-01T00:00:00Z')",
                (f"h{number}", f"{number:08d}-0000-4000-8000-000000000000", event),
            )
    assert events("--limit", str(len(Event))) == list(Event)[::-1]
    for language in ("en", "zh"):
        assert len(mex("--lang", language, "log", "--limit", "0").out.splitlines()) == len(Event) + 6


def test_a_line_says_when_what_where_from_what_to_what_and_by_whom(model: ModelServer) -> None:
    memory = add("杭州")
    job = said(model, "也许住苏州", HOME | GUESS | DOUBT | {"content": "苏州"})["job_id"]
    newest, first = mex("log", TZ="UTC").out.splitlines()
    assert newest[:4].isdigit()
    assert newest[18:] == f"update  {memory['id'][:8]}  basic_info.location  杭州 → 苏州  (AI · {job[:8]} · claude s1)"
    assert first[18:] == f"add  {memory['id'][:8]}  basic_info.location  (none) → 杭州  (user)"
    assert "修改" in mex("--lang", "zh", "log").out or "更新" in mex("--lang", "zh", "log").out
    told = log("--limit", "1")[0]
    assert (told["topic"], told["sub_topic"]) == ("basic_info", "location")
    assert (told["agent"], told["session_id"]) == ("claude", "s1")
    assert [one["session_id"] for one in log("--by", "user")] == [None]
    assert (told["old_content"], told["new_content"]) == ("杭州", "苏州")


def test_long_contents_are_cut_and_stay_on_one_line() -> None:
    mex("add", "--content", "很长\n" + "长" * 200)
    (line,) = mex("log").out.splitlines()
    assert "…" in line
    assert len(line) < 150
    assert len(log()[0]["new_content"]) == 203


def test_what_was_forgotten_for_good_shows_no_content() -> None:
    mex("forget", "--hard", "--yes", add("杭州")["id"])
    (line,) = mex("log").out.splitlines()
    assert "杭州" not in line
    assert "→" not in line
    assert [log()[0][name] for name in ("old_content", "new_content", "evidence", "topic")] == [None] * 4


def test_it_can_be_narrowed_and_paged(home: Path, model: ModelServer) -> None:
    add("杭州")
    note = mex("add", "--content", "一条记录", "--topic", "goals", "--json").json
    mex("update", note["id"], "--content", "另一条", "--by", "ai")
    job = said(model, "也许住苏州", HOME | GUESS | DOUBT | {"content": "苏州"})["job_id"]
    assert events("--topic", "goals") == ["update", "add"]
    assert [one["new_content"] for one in log("--by", "ai")] == ["苏州", "另一条"]
    assert [one["new_content"] for one in log("--by", "user")] == ["一条记录", "杭州"]
    assert [one["job_id"] for one in log("--job", job[:8])] == [job]
    assert events("--by", "ai", "--topic", "goals") == ["update"]
    assert [one["new_content"] for one in log("--limit", "2", "--offset", "1")] == ["另一条", "一条记录"]
    assert "--offset 3" in mex("log", "--limit", "2", "--offset", "1").out
    with opened(home / "mex.db") as db:
        db.execute("UPDATE history SET created_at = '2026-01-02T12:00:00Z' WHERE new_content = '杭州'")
    assert len(log("--since", "7d")) == 3
    assert [one["new_content"] for one in log("--until", "2026-01-03")] == ["杭州"]
    assert log("--since", "2026-01-04", "--until", "2026-01-05") == []


def test_what_cannot_be_meant_is_refused() -> None:
    assert refused("--since", "2026-02-01", "--until", "2026-01-01") == "since_after_until"
    assert refused("--since", "yesterday-ish") == "bad_date"
    assert refused("--limit", "-1") == "number_out_of_range"
    assert refused("--job", "00000000") == "job_not_found"
    assert refused("--topic", "nonsense") == "unknown_topic"
    assert "Nothing has changed" in mex("log").out
    assert "没有变更" in mex("--lang", "zh", "log").out


@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        (Filter(), "history_time"),
        (Filter(since="2026-01-01T00:00:00Z", until="2027-01-01T00:00:00Z"), "history_time"),
        (Filter(actor=Actor.AI), "history_actor"),
        (Filter(jobs=("x",)), "history_job"),
        (Filter(topic="work"), "history_time"),
    ],
)
def test_no_page_reads_the_whole_table(wanted: Filter, index: str) -> None:
    """Milliseconds with a hundred thousand lines: an index leads to the page, and only what is asked for is sorted."""
    query = history.journal(wanted, limit=50)
    with app_at("2026-08-06T08:30:00Z"), opened(_database()) as db:
        steps = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query.sql}", dict(query.params))]
    assert any(index in step for step in steps), steps
    assert not any(step.startswith("SCAN h") and "USING" not in step for step in steps), steps


def _database() -> Path:
    with app_at("2026-08-06T08:30:00Z") as app:
        return app.home.database

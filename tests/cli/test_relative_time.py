"""Relative time through the whole program: counted from the turn it was said in, or not written (product B4)."""

import json
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.model_server import ModelServer, reply
from tests.support.program import contents, memories, mex, write
from tests.support.sessions import SessionFile


def session(path: Path, at: str, *texts: str) -> str:
    """A session whose turns were all said at one moment, UTC."""
    SessionFile(path).user(*texts)
    lines = path.read_text(encoding="utf-8").splitlines()
    stamped = [line.replace(line.split('"timestamp": "')[1].split('"')[0], at) for line in lines]
    return str(write(path, *stamped, ""))


def candidate(content: str, quote: str, **keys: Any) -> dict[str, Any]:
    """A record the model proposes."""
    return {"topic": None, "sub_topic": None, "content": content, "quote": quote, "turn": 1} | keys


@pytest.mark.parametrize(
    ("zone", "at", "word", "expected"),
    [
        ("Asia/Shanghai", "2026-11-30T16:30:00Z", "明天", "2026-12-02"),
        ("America/New_York", "2026-11-30T16:30:00Z", "明天", "2026-12-01"),
        ("UTC", "2026-11-30T16:30:00Z", "昨天", "2026-11-29"),
        ("Asia/Shanghai", "2026-11-30T15:59:59Z", "明天", "2026-12-01"),
        ("Asia/Shanghai", "2026-11-30T16:00:00Z", "明天", "2026-12-02"),
        # The clocks of New York go forward on 2026-03-08 and back on 2026-11-01, each at two in the morning.
        ("America/New_York", "2026-03-08T04:59:59Z", "明天", "2026-03-08"),
        ("America/New_York", "2026-03-09T03:30:00Z", "昨天", "2026-03-07"),
        ("America/New_York", "2026-11-01T04:30:00Z", "昨天", "2026-10-31"),
        ("America/New_York", "2026-11-02T04:30:00Z", "明天", "2026-11-02"),
    ],
)
def test_b4_a_day_is_counted_from_the_local_day_of_its_turn(
    model: ModelServer, tmp_path: Path, zone: str, at: str, word: str, expected: str
) -> None:
    """Not from today, not in UTC, and across midnight and a change of the clocks."""
    said = f"{word}去看牙医"
    model.script({"reply": reply(candidate(said, said))})
    (memory,) = mex("extract", "--file", session(tmp_path / "s.jsonl", at, said), "--json", TZ=zone).json["added"]
    assert (memory["content"], memory["occurred_at"]) == (f"{expected}去看牙医", expected)
    shown = mex("get", memory["id"]).json
    assert shown["sources"][0]["quote"] == shown["evidence"] == said
    assert shown["sources"][0]["verified"] is True


def test_b4_english_and_structured_contents_are_resolved_too(model: ModelServer, tmp_path: Path) -> None:
    """Whatever part of a content holds the word; a date the model gave stays."""
    said = "Next month I move to Berlin, and my goal is to pass the exam by next Friday"
    model.script(
        {
            "reply": reply(
                candidate("Moves to Berlin next month", said, occurred_at="2026-12-05T10:00:00+01:00"),
                candidate(
                    '{"goal": "pass the exam", "deadline": "next Friday"}', said, topic="goals",
                    sub_topic="short_term_goal",
                ),
            )
        }
    )  # fmt: skip
    added = mex("extract", "--file", session(tmp_path / "s.jsonl", "2026-11-30T12:00:00Z", said), "--json").json[
        "added"
    ]
    assert [(one["content"], one["occurred_at"]) for one in added] == [
        ("Moves to Berlin 2026-12", "2026-12-05T09:00:00Z"),
        ('{"goal": "pass the exam", "deadline": "2026-12-11"}', "2026-12-11"),
    ]


def test_b4_what_cannot_be_resolved_is_discarded_with_the_word(model: ModelServer, tmp_path: Path) -> None:
    """A note of unknown date: "tomorrow" of which day? The rest of the reply is written."""
    note = write(tmp_path / "note.txt", "# 笔记", "", "明天去深圳，我住在成都")
    place = {"topic": "basic_info", "sub_topic": "location", "content": "成都", "quote": "我住在成都", "turn": 1}
    model.script({"reply": reply(candidate("明天去深圳", "明天去深圳"), place)})
    result = mex("extract", "--file", str(note), "--json").json
    assert result["discarded"] == [{"content": "明天去深圳", "reason": "relative_time", "facts": {"word": "明天"}}]
    assert contents() == ["成都"]
    shown = mex("jobs", "show", result["job_id"]).out
    assert '"明天" cannot be turned into a date' in shown


def test_b4_given_text_never_leaves_a_relative_word_behind(model: ModelServer) -> None:
    """What is typed now is counted from now."""
    model.script({"reply": reply(candidate("明天去深圳", "明天去深圳"))})
    before = datetime.now().astimezone().date()
    result = mex("extract", "明天去深圳", "--json").json
    days = {before + timedelta(1), date.today() + timedelta(1)}  # noqa: DTZ011 - the local day is what is meant
    assert result["added"][0]["content"] in {f"{day}去深圳" for day in days}


def test_b4_habits_and_names_stay_as_they_were_said(model: ModelServer, tmp_path: Path) -> None:
    """ "每天" and 今日头条 point to no day."""
    said = "我每天看今日头条，最近在学 Rust"
    model.script({"reply": reply(candidate("每天看今日头条，最近在学 Rust", said))})
    mex("extract", "--file", session(tmp_path / "s.jsonl", "2026-11-30T12:00:00Z", said))
    assert contents() == ["每天看今日头条，最近在学 Rust"]


def test_b4_the_rules_resolve_as_the_model_path_does(tmp_path: Path) -> None:
    """Product C9: the same pipeline."""
    mex("extract", "--file", session(tmp_path / "s.jsonl", "2026-11-30T12:00:00Z", "记住：我三天后去深圳"), TZ="UTC")
    (memory,) = memories()
    assert (memory["content"], memory["occurred_at"]) == ("我2026-12-03去深圳", "2026-12-03")


def test_what_a_person_types_is_stored_as_typed() -> None:
    """The rule is for what is extracted."""
    assert mex("add", "--content", "明天去深圳", "--json").json["content"] == "明天去深圳"


def test_a_value_said_again_on_another_day_is_resolved_before_it_is_compared(
    model: ModelServer, tmp_path: Path
) -> None:
    """Product B5: the same message read again yields the same content, and no second row."""
    said = "明天去看牙医"
    model.script({"reply": reply(candidate(said, said))})
    path = session(tmp_path / "s.jsonl", "2026-11-30T12:00:00Z", said)
    mex("extract", "--file", path)
    (tmp_path / "copy.jsonl").write_bytes(Path(path).read_bytes())
    mex("extract", "--file", str(tmp_path / "copy.jsonl"))
    assert len(memories()) == 1


def test_b4_words_nobody_found_are_counted_from_a_day_only_if_the_whole_talk_was_on_it(
    model: ModelServer, tmp_path: Path
) -> None:
    """Without its message a candidate may be of any turn: of one day's talk the day is known, of two days' it is not."""
    path = Path(session(tmp_path / "s.jsonl", "2026-11-30T12:00:00Z", "你好", "牙有点疼"))
    model.script({"reply": reply({"topic": None, "sub_topic": None, "content": "明天去看牙医", "quote": "没说过的话"})})
    (memory,) = mex("extract", "--file", str(path), "--json", TZ="UTC").json["added"]
    assert (memory["content"], memory["confidence"]) == ("2026-12-01去看牙医", "inferred")
    first, second = path.read_text(encoding="utf-8").replace('"s1', '"s2').splitlines()
    other = write(tmp_path / "o.jsonl", first, second.replace("2026-11-30T12", "2026-12-01T12"), "")
    result = mex("extract", "--file", str(other), "--json", TZ="UTC").json
    assert [one["reason"] for one in result["discarded"]] == ["relative_time"]


@pytest.mark.parametrize(("zone", "expected"), [("Asia/Shanghai", "2026-12-02"), ("America/New_York", "2026-12-01")])
def test_b4_an_agent_that_names_the_time_zone_is_believed(
    model: ModelServer, tmp_path: Path, zone: str, expected: str
) -> None:
    """A session of a journey is read at home later."""
    said = "明天去看牙医"
    at = "2026-11-30T16:30:00Z"
    records = [
        {"timestamp": at, "type": "session_meta", "payload": {"id": "s", "cwd": "/home/lin", "source": "cli"}},
        {"timestamp": at, "type": "turn_context", "payload": {"turn_id": "t1", "timezone": zone}},
        {"timestamp": at, "type": "event_msg", "payload": {"type": "user_message", "message": said}},
    ]
    file = write(tmp_path / "rollout.jsonl", *(json.dumps(record, ensure_ascii=False) for record in records), "")
    model.script({"reply": reply(candidate(said, said))})
    (memory,) = mex("extract", "--file", str(file), "--json", TZ="UTC").json["added"]
    assert memory["occurred_at"] == expected

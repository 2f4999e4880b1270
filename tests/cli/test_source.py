"""`mex source`: where a memory was said, and the words around it, long after the agent's file is gone (product B3, B10)."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.model_server import ModelServer
from tests.support.program import mex, opened
from tests.support.reviewing import HOME, add, queue, said
from tests.support.sessions import SessionFile
from tests.support.terminal import Terminal

FACT, FACT_EN = "记住：我对芒果严重过敏。", "Remember: I am allergic to peanuts."


def extracted(path: Path, fact: str = FACT, **environment: str) -> str:
    """A session of five turns whose third says a fact; the memory's id."""
    session = SessionFile(path).user("你好").assistant("你好！").user(fact).assistant("好的。").user("再见")
    mex("extract", "--from", "claude", "--file", str(session.path), **environment)
    return str(mex("list", "--json").json[0]["id"])


def source(identifier: str, *options: str) -> dict[str, Any]:
    return dict(mex("source", identifier, *options, "--json").json)


def texts(place: dict[str, Any]) -> list[str]:
    return [turn["text"] for turn in place["turns"]]


@pytest.mark.parametrize("fact", [FACT, FACT_EN])
def test_product_b10_the_kept_turns_show_the_words_after_the_file_is_gone(
    home: Path, tmp_path: Path, fact: str
) -> None:
    memory = extracted(tmp_path / "s.jsonl", fact)
    (tmp_path / "s.jsonl").unlink()
    told = source(memory[:8])
    (place,) = told["sources"]
    assert (told["origin"], told["rewritten"], told["memory"]["id"]) == ("extracted", False, memory)
    assert (place["found_in"], place["file_exists"], place["verified"]) == ("kept", False, True)
    assert (place["agent"], place["session_id"], place["project"]) == ("claude", "s1", "/home/lin/notes")
    assert texts(place) == ["你好！", fact, "好的。"]
    (quoted,) = [turn for turn in place["turns"] if turn["is_source"]]
    span = quoted["quote"]
    assert quoted["text"][span["start"] : span["end"]] == place["quote"]
    assert all(turn["follows"] for turn in place["turns"])


def test_product_b10_the_file_shows_more_while_it_is_there(home: Path, tmp_path: Path) -> None:
    memory = extracted(tmp_path / "s.jsonl", MEX_KEEP_TURNS="none")
    (place,) = source(memory)["sources"]
    assert (place["found_in"], place["file_exists"], texts(place)) == ("file", True, ["你好！", FACT, "好的。"])
    (place,) = source(memory, "--context", "2")["sources"]
    assert texts(place) == ["你好", "你好！", FACT, "好的。", "再见"]
    (place,) = source(memory, "--context", "0")["sources"]
    assert texts(place) == [FACT]


def test_product_b10_where_neither_is_left_the_quote_alone_is_shown(home: Path, tmp_path: Path) -> None:
    memory = extracted(tmp_path / "s.jsonl", MEX_KEEP_TURNS="none")
    (tmp_path / "s.jsonl").unlink()
    (place,) = source(memory)["sources"]
    assert (place["found_in"], place["turns"]) == ("nowhere", [])
    shown = mex("source", memory).out
    assert "Neither kept turns nor the file" in shown
    assert f"»{place['quote']}«" in shown
    assert "not there any more" in shown


def test_a_gap_between_kept_turns_is_shown(home: Path, tmp_path: Path) -> None:
    """With `user` the assistant's turns between are not there."""
    memory = extracted(tmp_path / "s.jsonl", MEX_KEEP_TURNS="user")
    (tmp_path / "s.jsonl").unlink()
    (place,) = source(memory)["sources"]
    assert [(turn["text"], turn["follows"]) for turn in place["turns"]] == [
        ("你好", True),
        (FACT, False),
        ("再见", False),
    ]
    assert mex("source", memory).out.count("…\n") == 2


def test_in_a_fork_the_turn_before_is_found_with_the_session_it_was_kept_in(home: Path, tmp_path: Path) -> None:
    session = SessionFile(tmp_path / "s.jsonl").user(FACT)
    mex("extract", "--from", "claude", "--file", str(session.path))
    fork = session.forked_to(tmp_path / "f.jsonl").user(FACT_EN)
    mex("extract", "--from", "claude", "--file", str(fork.path))
    for path in (session.path, fork.path):
        path.unlink()
    memory = next(one["id"] for one in mex("list", "--json").json if "peanuts" in one["content"])
    (place,) = source(memory)["sources"]
    assert [(turn["text"], turn["follows"]) for turn in place["turns"]] == [(FACT, True), (FACT_EN, True)]


def test_every_place_where_it_was_said_is_told(home: Path, tmp_path: Path) -> None:
    memory = extracted(tmp_path / "s.jsonl")
    SessionFile(tmp_path / "t.jsonl", "s2").user(FACT).path.touch()
    mex("extract", "--from", "claude", "--file", str(tmp_path / "t.jsonl"))
    assert [place["session_id"] for place in source(memory)["sources"]] == ["s1", "s2"]
    assert mex("source", memory).out.count("»") == 2


def test_given_text_is_traceable(home: Path) -> None:
    mex("extract", f"第一段。\n\n{FACT}")
    memory = mex("list", "--json").json[0]["id"]
    (place,) = source(memory)["sources"]
    assert (place["agent"], place["session_id"], place["found_in"]) == ("plain", None, "kept")
    assert texts(place) == ["第一段。", FACT]


@pytest.mark.parametrize(("by", "origin", "words"), [
    ("user", "by_hand", "Added by hand"), ("ai", "by_agent", "Added by an agent"),
])  # fmt: skip
def test_what_was_added_has_no_conversation_and_says_so(home: Path, by: str, origin: str, words: str) -> None:
    memory = mex("add", "--content", "喝茶", "--by", by, "--json").json["id"]
    assert source(memory) | {"memory": None} == {"memory": None, "origin": origin, "rewritten": False, "sources": []}
    assert words in mex("source", memory).out
    assert "没有对应的对话" in mex("--lang", "zh", "source", memory).out


def test_a_value_that_was_written_by_hand_since_is_told_apart_from_its_words(home: Path, tmp_path: Path) -> None:
    memory = extracted(tmp_path / "s.jsonl")
    mex("update", memory, "--content", "对花生过敏")
    assert source(memory)["rewritten"] is True
    assert "changed by hand" in mex("source", memory).out


def test_a_value_that_an_undo_brought_back_is_told_apart_from_the_words_of_what_was_undone(model: ModelServer) -> None:
    """Written by hand before: no conversation says it. Said before: its own words are there."""
    memory = add("杭州")["id"]
    said(model, "我搬到上海了", HOME | {"action": "update", "content": "上海"})
    assert source(memory)["rewritten"] is False
    mex("undo", "last")
    assert (source(memory)["memory"]["content"], source(memory)["rewritten"]) == ("杭州", True)
    mex("undo", "last")
    said(model, "我搬到广州了", HOME | {"action": "update", "content": "广州"})
    mex("undo", "last")
    assert (source(memory)["memory"]["content"], source(memory)["rewritten"]) == ("上海", False)


@pytest.mark.parametrize("keep", ["memory", "other"])
def test_of_two_that_were_made_one_the_words_of_both_are_the_values(model: ModelServer, keep: str) -> None:
    """Whose content stays was not written by hand; one that was stays told apart."""
    for words in ("周末喜欢在山里徒步看日出", "周末喜欢在山里徒步看日落吧"):
        said(model, words, {"topic": "leisure", "sub_topic": "hobbies", "content": words})
    (asked,) = queue()
    memory = asked["memory"]["id"]
    mex("review", "approve", asked["id"], "--keep", keep)
    told = source(memory)
    assert (told["memory"]["content"], told["rewritten"]) == (asked[keep]["content"], False)
    assert [place["quote"] for place in told["sources"]] == [asked[side]["content"] for side in ("memory", "other")]
    mex("update", memory, "--content", "周末在山里徒步")
    assert source(memory)["rewritten"] is True


def test_product_b3_unverified_words_are_called_so(home: Path, tmp_path: Path) -> None:
    memory = extracted(tmp_path / "s.jsonl")
    with opened(home / "mex.db") as db:
        db.execute("UPDATE memory_sources SET verified = 0, message_key = NULL, quote = '没说过的话'")
    (place,) = source(memory)["sources"]
    assert (place["verified"], place["found_in"]) == (False, "nowhere")
    shown = mex("source", memory).out
    assert "Unverified" in shown
    assert "»没说过的话«" in shown
    assert "not known in which message" in shown


def test_the_words_are_found_though_the_text_around_them_has_changed(home: Path, tmp_path: Path) -> None:
    memory = extracted(tmp_path / "s.jsonl")
    with opened(home / "mex.db") as db:
        db.execute("UPDATE turns SET text = '（补）' || text WHERE text = ?", (FACT,))
    quoted = source(memory)["sources"][0]["turns"][1]
    assert quoted["text"][quoted["quote"]["start"] : quoted["quote"]["end"]] == source(memory)["sources"][0]["quote"]


def test_long_turns_are_cut_for_people_and_whole_for_programs(home: Path, tmp_path: Path) -> None:
    fact = "前" * 900 + "\n" + FACT + "\n" + "后" * 900
    memory = extracted(tmp_path / "s.jsonl", fact)
    shown = mex("source", memory).out
    assert "前" * 301 not in shown
    assert "…" in shown
    assert source(memory)["sources"][0]["turns"][1]["text"] == fact


@pytest.mark.parametrize(("words", "code"), [
    (("00000000",), "memory_not_found"), (("{id}", "--context", "-1"), "context_out_of_range"),
    (("{id}", "--context", "51"), "context_out_of_range"),
])  # fmt: skip
def test_what_cannot_be_shown_is_refused(home: Path, words: tuple[str, ...], code: str) -> None:
    memory = mex("add", "--content", "喝茶", "--json").json["id"]
    ran = mex("--json", "source", *(word.format(id=memory) for word in words), ok=False)
    assert (ran.code, json.loads(ran.err)["code"]) == (1, code)


def test_at_a_terminal_the_words_stand_out(home: Path, tmp_path: Path) -> None:
    memory = extracted(tmp_path / "s.jsonl")
    with Terminal(tmp_path, "source", memory) as terminal:
        terminal.wait_for("\x1b[1m»我对芒果严重过敏«\x1b[0m")
        assert terminal.end() == 0

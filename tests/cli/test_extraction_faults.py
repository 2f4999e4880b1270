"""The faults of extraction that meX must not have, through the whole program (original §3, 18 to 24)."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.model_server import ModelServer, reply
from tests.support.program import contents, memories, mex, write
from tests.support.sessions import SessionFile


def at(slot: str, content: str, quote: str, **keys: Any) -> dict[str, Any]:
    """A candidate for a slot."""
    topic, sub_topic = slot.split(".")
    return {"topic": topic, "sub_topic": sub_topic, "content": content, "quote": quote} | keys


def extracted(model: ModelServer, text: str, *candidates: dict[str, Any]) -> dict[str, Any]:
    """What the extraction of a text gives when the model answers with these candidates."""
    model.script({"reply": reply(*candidates)})
    return dict(mex("extract", text, "--json").json)


def in_review() -> list[str]:
    """The contents of the review queue."""
    return [memory["content"] for memory in mex("review", "list", "--json").json]


def happened(memory_id: str) -> list[tuple[str, str | None, str | None]]:
    """The history of a memory, oldest first."""
    lines = mex("history", memory_id, "--json").json
    return [(line["event"], line["old_content"], line["new_content"]) for line in lines]


PLACE = "basic_info.location"


def test_fault_18_an_uncertain_update_of_an_empty_slot_is_in_review_and_counted(model: ModelServer) -> None:
    """Whatever tier and flag the model gave: uncertain, inferred, in the queue, in inferred_count."""
    doubt = at(PLACE, "苏州", "说不定搬去苏州", action="uncertain_update", confidence="explicit", is_ai_inferred=False)
    result = extracted(model, "说不定搬去苏州", doubt)
    (memory,) = result["added"]
    assert (memory["confidence"], memory["is_ai_inferred"], result["inferred_count"]) == ("uncertain", True, 1)
    assert in_review() == ["苏州"]


def test_fault_19_an_inference_over_a_hand_written_row_reaches_review(model: ModelServer) -> None:
    """The flag follows the value, in both directions."""
    mex("add", "--topic", "basic_info", "--sub-topic", "location", "--content", "上海", "--confidence", "explicit")
    guess = at(PLACE, "杭州", "每天走断桥上班", action="update", is_ai_inferred=True, confidence="inferred")
    result = extracted(model, "每天走断桥上班", guess)
    assert (result["updated"][0]["after"]["is_ai_inferred"], result["inferred_count"]) == (True, 1)
    assert in_review() == ["杭州"]
    extracted(model, "我住在苏州", at(PLACE, "苏州", "我住在苏州", action="update"))
    (memory,) = memories()
    assert (memory["content"], memory["is_ai_inferred"], memory["confidence"]) == ("苏州", False, "explicit")
    assert in_review() == []


def test_fault_19_the_users_own_words_clear_the_flag_of_the_same_value(model: ModelServer) -> None:
    """Product B5: raised to explicit, never to confirmed, without a new row."""
    extracted(model, "每天走断桥上班", at(PLACE, "杭州", "每天走断桥上班", is_ai_inferred=True, confidence="inferred"))
    result = extracted(model, "对，我住在杭州", at(PLACE, "杭州", "我住在杭州"))
    (memory,) = memories()
    assert (memory["confidence"], memory["is_ai_inferred"], memory["times_seen"]) == ("explicit", False, 2)
    assert [one["reason"] for one in result["discarded"]] == ["reinforced"]
    assert in_review() == []


@pytest.mark.parametrize(
    "keys",
    [
        {"confidence": "uncertain"},
        {"confidence": "speculated", "is_ai_inferred": True},
        {"action": "uncertain_update", "confidence": "uncertain", "is_ai_inferred": True},
        {},
    ],
)
@pytest.mark.parametrize("action", ["new", "update"])
def test_fault_20_the_same_value_from_the_model_weakens_nothing_and_is_no_update(
    model: ModelServer, keys: dict[str, Any], action: str
) -> None:
    """上海 (confirmed) stays what it is: no update in its history, no mark in the profile, nothing to review."""
    made = mex("add", "--topic", "basic_info", "--sub-topic", "location", "--content", "上海", "--json").json
    result = extracted(model, "我住在上海", at(PLACE, "上海", "我住在上海", **{"action": action} | keys))
    (memory,) = memories()
    assert (memory["id"], memory["confidence"], memory["is_ai_inferred"]) == (made["id"], "confirmed", False)
    assert [event for event, _, _ in happened(made["id"])] == ["add", "reinforce"]
    assert (result["updated"], [one["reason"] for one in result["discarded"]]) == ([], ["reinforced"])
    profile = mex("--lang", "zh", "profile").out
    assert "上海" in profile
    assert "待确认" not in profile
    assert in_review() == []


@pytest.mark.parametrize(
    "keys",
    [{"quote": "这句话谁也没说过"}, {"is_ai_inferred": True}, {"confidence": "speculated"}, {"confidence": "inferred"}],
)
def test_fault_20_anything_weaker_than_plain_words_over_a_confirmed_value_is_a_doubt(
    model: ModelServer, keys: dict[str, Any]
) -> None:
    """Product C6: marked, in review, the earlier value beside it in the profile."""
    mex("add", "--topic", "basic_info", "--sub-topic", "location", "--content", "上海")
    extracted(model, "这阵子都在深圳", at(PLACE, "深圳", "都在深圳", action="update") | keys)
    (memory,) = memories()
    assert (memory["content"], memory["confidence"], memory["is_ai_inferred"]) == ("深圳", "uncertain", True)
    assert in_review() == ["深圳"]
    (line,) = [line for line in mex("--lang", "zh", "profile").out.splitlines() if "深圳" in line]
    assert "待确认" in line
    assert "上海" in line


def test_fault_20_the_users_plain_words_change_a_confirmed_value(model: ModelServer) -> None:
    """And the history holds the value that was confirmed."""
    made = mex("add", "--topic", "basic_info", "--sub-topic", "location", "--content", "上海", "--json").json
    extracted(model, "我搬到深圳了", at(PLACE, "深圳", "我搬到深圳了", action="update"))
    assert happened(made["id"]) == [("add", None, "上海"), ("update", "上海", "深圳")]
    assert in_review() == []


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_values_for_one_slot_in_one_reply_the_later_said_wins(
    model: ModelServer, tmp_path: Path, order: tuple[int, int]
) -> None:
    """In whatever order the model lists them; the earlier one is named in the result and kept in history."""
    said = [at(PLACE, "杭州", "我住在杭州", turn=1), at(PLACE, "苏州", "现在我住在苏州", turn=2)]
    model.script({"reply": reply(*(said[index] for index in order))})
    session = SessionFile(tmp_path / "s.jsonl").user("我住在杭州", "更正：现在我住在苏州")
    result = mex("extract", "--file", str(session.path), "--json").json
    (memory,) = result["added"]
    assert memory["content"] == "苏州"
    assert result["updated"] == []
    assert result["discarded"] == [{"content": "杭州", "reason": "superseded", "facts": {"by": "苏州"}}]
    assert happened(memory["id"]) == [("add", None, "杭州"), ("update", "杭州", "苏州")]
    assert [one["content"] for one in mex("search", "--history", "--keyword", "杭州", "--json").json] == ["杭州"]
    assert contents() == ["苏州"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("way", ["one sentence", "a note without times"])
def test_without_times_the_place_of_the_words_decides(
    model: ModelServer, tmp_path: Path, order: tuple[int, int], way: str
) -> None:
    """A note, or one turn that says both."""
    said = [at(PLACE, "杭州", "我住在杭州"), at(PLACE, "苏州", "我搬到了苏州", action="update")]
    model.script({"reply": reply(*(said[index] for index in order))})
    joint = "，后来" if way == "one sentence" else "\n\n"
    note = write(tmp_path / "n.txt", f"我住在杭州{joint}我搬到了苏州")
    mex("extract", "--file", str(note))
    assert contents() == ["苏州"]


def test_a_value_learned_and_given_up_in_one_reply_is_not_left(model: ModelServer, tmp_path: Path) -> None:
    """`retire` sees what the same reply has added."""
    said = [
        at("leisure.hobbies", "攀岩", "我喜欢攀岩", turn=1),
        at("leisure.hobbies", "攀岩", "攀岩我不玩了", turn=2, action="retire"),
    ]
    model.script({"reply": reply(*said)})
    session = SessionFile(tmp_path / "s.jsonl").user("我喜欢攀岩", "后来膝盖不好，攀岩我不玩了")
    assert mex("extract", "--file", str(session.path), "--json").json["state"] == "succeeded"
    assert contents() == []


def test_fault_21_confidence_and_evidence_of_an_overwritten_value_are_not_lost(model: ModelServer) -> None:
    """Product B8: declining a doubt can put the old value back as it was."""
    extracted(model, "我住在杭州", at(PLACE, "杭州", "我住在杭州", evidence="用户说「我住在杭州」"))
    (before,) = memories()
    extracted(model, "说不定搬去苏州", at(PLACE, "苏州", "说不定搬去苏州", action="uncertain_update"))
    mex("review", "decline", before["id"], "--restore-previous")
    (after,) = memories()
    kept = ("content", "confidence", "is_ai_inferred", "evidence")
    assert {key: after[key] for key in kept} == {key: before[key] for key in kept}


def test_fault_24_what_cannot_be_stored_in_a_reply_is_cleaned_or_discarded(model: ModelServer) -> None:
    """Lone surrogates, NUL, escapes of a terminal, a content of 30,000 characters, JSON in place of a value."""
    entries = (
        r'{"content": "a\ud800b\u0000c\u001b[31m", "quote": "说了\udfff什么"}',
        json.dumps({"content": "长" * 30_000}),
        json.dumps({"content": {"name": "x"}}),
        json.dumps({"content": '["Python", "Go"]', "topic": "work", "sub_topic": "tech_stack"}),
        r'{"content": "{\"title\": \"a\\u0000\"}", "topic": "research", "sub_topic": "paper"}',
    )
    model.script({"reply": f'{{"memories": [{", ".join(entries)}]}}'})
    result = mex("extract", "说了什么", "--json").json
    assert [one["reason"] for one in result["discarded"]] == [
        "content_too_long",
        "content_not_text",
        "content_not_text",
    ]
    assert result["discarded"][0]["facts"] == {"length": "30000", "limit": "20000"}
    assert contents() == ["a\ufffdbc[31m", '{"title": "a\ufffd"}']


def test_fault_24_a_huge_text_is_asked_in_pieces(model: ModelServer, tmp_path: Path) -> None:
    """No request grows with the file."""
    note = write(tmp_path / "n.txt", *(f"第{number}段：" + "说了很多话" * 100 + "\n" for number in range(60)))
    result = mex("extract", "--file", str(note), "--json").json
    assert result["usage"]["calls"] == len(model.requests()) > 1
    assert max(len(request["messages"][1]["content"]) for request in model.requests()) < 20_000

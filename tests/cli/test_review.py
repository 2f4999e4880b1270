"""`mex review list|approve|decline` over what real extractions have left in doubt (seed 004 ADR-5, §6.3; product G16)."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.model_server import ModelServer
from tests.support.program import Ran, contents, mex, opened
from tests.support.reviewing import DOUBT, GUESS, HOME, add, queue, refused, said, shown, states


def test_seed_6_3_the_queue_holds_what_is_inferred_and_not_confirmed(model: ModelServer) -> None:
    """Value, tier, evidence and source; what the user said in so many words needs no review."""
    add("上海")
    said(model, "我养了一只猫，叫年糕", {"topic": "family", "content": "养了一只叫年糕的猫"})
    said(model, "最近老加班到很晚，累得不行", {"topic": "work", "content": "工作强度可能偏高", **GUESS})
    said(model, "我可能要搬到深圳去了", {**HOME, "content": "深圳", **DOUBT})
    doubt, guess = queue()
    assert (doubt["content"], doubt["confidence"], doubt["is_ai_inferred"]) == ("深圳", "uncertain", True)
    assert (doubt["previous"]["content"], doubt["previous"]["confidence"]) == ("上海", "confirmed")
    assert guess["previous"] is None
    (source,) = doubt["sources"]
    assert (source["quote"], source["session_id"], source["verified"]) == ("我可能要搬到深圳去了", "s3", True)
    assert mex("stats", "--json").json["pending_review"] == 2
    text = mex("review", "list").out
    for part in (doubt["id"], "basic_info.location", "uncertain", "before: 上海 [confirmed]", "我可能要搬到深圳去了"):
        assert part in text
    assert "claude s3" in text
    assert "2026-03-01 " in text
    assert text.index("深圳") < text.index("工作强度")


def test_fault_21_a_fresh_doubt_about_an_old_memory_comes_first(model: ModelServer, home: Path) -> None:
    """Newest is when the doubt arose, even within one second; a row that was made later comes after it."""
    old = add("上海")
    said(model, "我好像对花生有点过敏", {"topic": "health", "content": "可能对花生过敏", **GUESS})
    said(model, "我可能要搬到深圳去了", {**HOME, "content": "深圳", **DOUBT})
    assert [one["content"] for one in queue()] == ["深圳", "可能对花生过敏"]
    with opened(home / "mex.db") as db:  # all in the same second
        db.execute("UPDATE memories SET updated_at = (SELECT max(updated_at) FROM memories)")
    assert next(one["id"] for one in queue()) == old["id"]


def test_product_g16_other_orders_and_pages(model: ModelServer) -> None:
    said(
        model,
        "甲乙丙",
        {"topic": "work", "content": "甲", **GUESS, "confidence": "speculated"},
        {"content": "乙", **GUESS},
        {"topic": "health", "content": "丙", **GUESS, "confidence": "uncertain"},
    )
    everything = ["丙", "乙", "甲"]

    def listed(*arguments: str) -> list[str]:
        return [one["content"] for one in queue(*arguments)]

    assert listed() == listed("--sort", "newest") == everything
    assert listed("--sort", "oldest") == everything[::-1]
    assert listed("--sort", "confidence") == ["乙", "甲", "丙"]
    assert listed("--sort", "topic") == ["丙", "甲", "乙"]
    assert listed("--topic", "work") == ["甲"]
    assert listed("--topic", "finance") == []
    assert listed("--limit", "1", "--offset", "1") == ["乙"]
    assert listed("--limit", "0") == everything
    page = mex("review", "list", "--limit", "2")
    assert "Showing 1-2 of 3" in page.out
    assert mex("review", "list", "--offset", "2").out.startswith("3. ")
    assert refused("list", "--limit", "-1") == "number_out_of_range"
    assert mex("review", "list", "--sort", "mood", ok=False).code == 1


def test_an_empty_queue_is_said_in_a_sentence() -> None:
    assert mex("review", "list").out == "Nothing awaits review.\n"
    assert "待审查" in mex("--lang", "zh", "review", "list").out
    assert queue() == []
    for verb in ("approve", "decline"):
        assert mex("review", verb, "--all").out == "Nothing awaits review.\n"
        assert mex("review", verb, "--topic", "work", "--json").json == []


def test_review_alone_without_a_terminal_is_the_list(model: ModelServer) -> None:
    said(model, "我大概属于夜猫子", {"topic": "health", "content": "可能习惯晚睡", **GUESS})
    assert mex("review").out == mex("review", "list").out
    assert mex("review", "--json").json == mex("--json", "review").json == queue()
    wrong = mex("review", "nonsense", ok=False)
    assert (wrong.code, wrong.out) == (1, "")


def test_seed_6_3_approve_raises_the_tier_alone_and_leaves_a_line_of_history(model: ModelServer, home: Path) -> None:
    """The mark in the profile goes with it."""
    add("上海")
    said(model, "我可能要搬到深圳去了", {**HOME, "content": "深圳", **DOUBT})
    (waiting,) = queue()
    assert "深圳 (unconfirmed; before: 上海)" in mex("profile").out
    approved = mex("review", "approve", waiting["id"][:8], "--json").json
    assert (approved["content"], approved["confidence"], approved["is_ai_inferred"]) == ("深圳", "confirmed", True)
    kept = ("evidence", "created_at", "valid_from", "times_seen", "expires_at")
    assert [approved[key] for key in kept] == [waiting[key] for key in kept]
    event, before, after = states(home, waiting["id"])[-1]
    assert (event, before["confidence"], after["confidence"]) == ("approve", "uncertain", "confirmed")
    assert shown(waiting["id"])["history"][-1]["actor"] == "user"
    profile = mex("profile").out
    assert "深圳" in profile
    assert "unconfirmed" not in profile
    assert "上海" not in profile
    assert queue() == []
    assert mex("stats", "--json").json["pending_review"] == 0


def test_one_id_prints_one_object_and_several_a_list(model: ModelServer) -> None:
    said(model, "甲乙丙丁戊", *({"content": one, **GUESS} for one in "甲乙丙丁戊"))
    ids = [one["id"] for one in queue()]
    assert mex("review", "approve", ids[0], "--json").json["id"] == ids[0]
    twice = mex("review", "approve", ids[1], ids[1][:8], "--json").json
    assert [one["id"] for one in twice] == [ids[1]]
    assert len(shown(ids[1])["history"]) == 2, "an id that is given twice counts once"
    both = mex("review", "decline", ids[3], ids[2], "--json").json
    assert [one["id"] for one in both] == [ids[3], ids[2]]
    assert [one["id"] for one in mex("review", "approve", "--all", "--json").json] == [ids[4]]


def test_one_id_that_does_not_wait_changes_nothing_for_the_others(model: ModelServer) -> None:
    settled = add("上海")["id"]
    said(model, "甲乙丙", *({"content": one, **GUESS} for one in "甲乙丙"))
    first, second, gone = (one["id"] for one in queue())
    mex("review", "decline", gone)
    wrong = {
        settled: "not_in_review",
        gone: "memory_forgotten",
        "00000000-0000-4000-8000-000000000000": "memory_not_found",
        "short": "bad_id",
    }
    for verb in ("approve", "decline"):
        for one, code in wrong.items():
            assert refused(verb, first, second, one) == code
    assert [one["id"] for one in queue()] == [first, second]
    assert [len(shown(one)["history"]) for one in (first, second, settled)] == [1, 1, 1]


def test_what_is_meant_must_be_said_and_said_once(model: ModelServer) -> None:
    said(model, "甲乙", {"topic": "work", "content": "甲", **GUESS}, {"content": "乙", **GUESS})
    second, first = queue()
    for verb in ("approve", "decline"):
        assert refused(verb) == "review_needs_target"
        assert refused(verb, first["id"], "--all") == "review_ids_and_all"
        assert refused(verb, first["id"], "--topic", "work") == "review_ids_and_all"
        assert refused(verb, "--topic", "job") == "unknown_topic"
    assert len(queue()) == 2
    assert [one["id"] for one in mex("review", "approve", "--topic", "work", "--json").json] == [first["id"]]
    assert [one["id"] for one in queue()] == [second["id"]]


def test_fault_18_a_doubt_about_an_empty_slot_waits(model: ModelServer) -> None:
    """Whatever tier and flag the model gave it; the summary counts it."""
    result = said(model, "我可能要搬到深圳去了", {**HOME, "content": "深圳", **DOUBT, "confidence": "explicit"})
    assert result["inferred_count"] == 1
    (waiting,) = queue()
    assert (waiting["confidence"], waiting["is_ai_inferred"], waiting["previous"]) == ("uncertain", True, None)


def test_fault_19_an_inference_over_a_hand_written_value_waits(model: ModelServer) -> None:
    """And leaves the queue when the user says it in so many words."""
    add("上海")
    said(model, "这边的梅雨真烦人", {**HOME, "action": "update", "content": "杭州", **GUESS})
    (waiting,) = queue()
    assert (waiting["content"], waiting["previous"]["content"]) == ("杭州", "上海")
    said(model, "是的，我现在住在杭州", {**HOME, "action": "update", "content": "杭州"})
    assert queue() == []
    assert "杭州 (" not in mex("profile").out


def test_fault_20_a_weaker_word_over_a_confirmed_value_waits_and_the_same_value_does_not(model: ModelServer) -> None:
    add("上海")
    said(model, "我还在上海吧，大概", {**HOME, "action": "update", "content": "上海", "confidence": "uncertain"})
    assert queue() == []
    assert mex("list", "--json").json[0]["confidence"] == "confirmed"
    said(model, "听口音我像北京人", {**HOME, "action": "update", "content": "北京", "confidence": "speculated"})
    assert [one["content"] for one in queue()] == ["北京"]


def test_forgotten_and_expired_memories_do_not_wait(model: ModelServer) -> None:
    said(model, "甲乙丙", *({"content": one, **GUESS} for one in "甲乙丙"))
    third, second, first = (one["id"] for one in queue())
    mex("forget", first)
    mex("update", second, "--expires", "2020-01-01")
    assert [one["id"] for one in queue()] == [third]
    assert mex("stats", "--json").json["pending_review"] == 1
    assert refused("approve", second) == "not_in_review"
    assert refused("decline", first) == "memory_forgotten"


def test_product_p7_an_agent_cannot_confirm_and_may_withdraw_its_doubt(model: ModelServer) -> None:
    """Unless a person is named; what an agent declines is recorded as its own (product F4)."""
    said(model, "甲乙丙", *({"content": one, **GUESS} for one in "甲乙丙"))
    third, second, first = (one["id"] for one in queue())
    for variable in ("CLAUDECODE", "OPENCODE", "CODEX_SANDBOX", "GEMINI_CLI"):
        assert refused("approve", first, **{variable: "1"}) == "agent_cannot_confirm"
    assert refused("approve", "--all", "--by", "ai") == "agent_cannot_confirm"
    assert len(queue()) == 3
    mex("review", "approve", first, "--by", "user", CLAUDECODE="1")
    assert shown(first)["history"][-1]["actor"] == "user"
    mex("review", "decline", second, CLAUDECODE="1")
    assert shown(second)["history"][-1]["actor"] == "ai"
    mex("review", "decline", third)
    assert shown(third)["history"][-1]["actor"] == "user"


def test_seed_adr_5_two_hundred_at_once(model: ModelServer) -> None:
    """Batches are one transaction each; what they hit is printed."""
    names = [f"第{number}号想法" for number in range(200)]
    said(model, "，".join(names), *({"topic": "goals", "content": name, "quote": name, **GUESS} for name in names))
    waiting = queue()
    assert len(waiting) == 200
    assert all(len(one["sources"]) == 1 for one in waiting)
    half = [one["id"] for one in waiting[:100]]
    assert [one["id"] for one in mex("review", "approve", *half, "--json").json] == half
    declined = mex("review", "decline", "--topic", "goals")
    assert len(declined.out.splitlines()) == 100
    assert queue() == []
    assert len(contents()) == 100


@pytest.mark.parametrize("verbs", [("approve", "approve"), ("decline", "decline"), ("approve", "decline")])
def test_of_two_who_decide_at_once_one_wins_and_the_other_is_told(model: ModelServer, verbs: tuple[str, str]) -> None:
    said(model, "我大概属于夜猫子", {"topic": "health", "content": "可能习惯晚睡", **GUESS})
    (waiting,) = queue()

    def decide(verb: str) -> Ran:
        return mex("review", verb, waiting["id"], "--json", ok=False)

    with ThreadPoolExecutor(2) as pool:
        won, lost = sorted(pool.map(decide, verbs), key=lambda ran: ran.code)
    assert (won.code, lost.code, lost.out) == (0, 1, "")
    assert json.loads(lost.err)["code"] in ("not_in_review", "memory_forgotten")
    assert len(shown(waiting["id"])["history"]) == 2

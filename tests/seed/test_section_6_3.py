"""Seed §6.3: reviewing what was inferred."""

from typing import Any

import pytest

from tests.seed.ground import active, add, candidate, change, events, get, history, one, refused, rows, said
from tests.support.model_server import ModelServer
from tests.support.program import contents, mex

GUESSES = {
    "北方": ("basic_info.hometown", "老家冬天冷", "inferred"),
    "稳健": ("values.risk_preference", "钱放着安稳", "speculated"),
    "焦虑": ("health.status", "睡不着", "uncertain"),
}


@pytest.fixture
def ids(model: ModelServer) -> dict[str, str]:
    """Three inferred memories and two that need no review; content -> id."""
    add("远光软件", "work.company")
    guesses = [
        candidate(slot, content, quote, is_ai_inferred=True, confidence=tier)
        for content, (slot, quote, tier) in GUESSES.items()
    ]
    text = "老家冬天冷，钱放着安稳，最近睡不着，我在写 Haskell"
    said(model, text, *guesses, candidate("work.tech_stack", "Haskell"))
    return dict(rows("SELECT content, id FROM memories"))


def queue(*options: str) -> list[dict[str, Any]]:
    """What waits for review."""
    return list(mex("review", "list", *options, "--json").json)


def test_seed_6_3_the_list_holds_what_is_inferred_and_not_confirmed(ids: dict[str, str]) -> None:
    """is_ai_inferred = 1 且置信度非 confirmed, with tier, evidence and source."""
    assert {memory["content"] for memory in queue()} == set(GUESSES)
    text = mex("review", "list").out
    for content, (_, quote, tier) in GUESSES.items():
        assert ids[content][:8] in text
        assert quote in text
        assert content in text
        assert tier in text
    assert "远光软件" not in text
    assert mex("stats", "--json").json["pending_review"] == 3


def test_seed_6_3_the_list_is_newest_first(ids: dict[str, str]) -> None:
    """按时间倒序 (product G16); a fresh doubt about an old row counts as fresh (fault 21)."""
    for day, content in enumerate(GUESSES, start=1):
        change(
            "UPDATE memories SET created_at = ?, updated_at = ? WHERE content = ?",
            f"2026-01-0{day}T00:00:00Z", f"2026-01-0{day}T00:00:00Z", content,
        )  # fmt: skip
    assert [memory["content"] for memory in queue()] == ["焦虑", "稳健", "北方"]


def test_seed_6_3_approve_confirms_and_is_in_history(ids: dict[str, str]) -> None:
    """置信度提升为 confirmed，history 记录 approve 事件."""
    out = mex("review", "approve", ids["北方"]).out
    assert ids["北方"][:8] in out
    assert "北方" in out
    assert get(ids["北方"])["confidence"] == "confirmed"
    assert events(ids["北方"]) == ["add", "approve"]
    assert history(ids["北方"])[-1]["actor"] == "user"
    assert "推断" not in mex("--lang", "zh", "profile", "--topics", "basic_info").out


def test_seed_6_3_decline_forgets_softly_with_a_reason(ids: dict[str, str]) -> None:
    """软删除（写 forgotten_at + 原因），仍可 restore."""
    mex("review", "decline", ids["焦虑"], "--reason", "只是没睡好")
    assert "焦虑" not in contents()
    assert one("SELECT forgotten_reason FROM memories WHERE content = '焦虑'") == "只是没睡好"
    assert events(ids["焦虑"]) == ["add", "forget"]
    mex("restore", ids["焦虑"])
    assert "焦虑" in contents()


def test_seed_6_3_approving_several_and_by_topic(ids: dict[str, str]) -> None:
    """Product G16: ID… | --topic T | --all."""
    mex("review", "approve", ids["北方"][:8], ids["稳健"])
    mex("review", "decline", "--topic", "health")
    assert queue() == []
    assert sorted(contents()) == ["Haskell", "北方", "稳健", "远光软件"]


def test_seed_6_3_what_is_not_in_the_queue_is_refused(ids: dict[str, str]) -> None:
    """A confirmed one, an unknown one, none at all; and nothing of a batch is done then."""
    refused("review", "approve", ids["远光软件"])
    refused("review", "decline", "00000000-0000-4000-8000-000000000000")
    refused("review", "approve")
    refused("review", "approve", ids["北方"], "00000000-0000-4000-8000-000000000000")
    mex("review", "approve", ids["稳健"])
    refused("review", "approve", ids["稳健"])


def test_seed_6_3_an_empty_queue_is_no_error() -> None:
    """A sentence; []."""
    mex("init")
    assert mex("review", "list").out.strip()
    assert queue() == []


@pytest.fixture
def doubted(model: ModelServer) -> str:
    """杭州 (explicit, with evidence), covered by a doubtful 深圳; its id."""
    said(model, "我住在杭州", candidate("basic_info.location", "杭州", "我住在杭州"))
    doubt = candidate("basic_info.location", "深圳", "说不定就长住深圳了", action="uncertain_update")
    said(model, "说不定就长住深圳了", doubt)
    return str(one("SELECT id FROM memories"))


def test_seed_6_3_declining_what_covered_a_value_tells_the_old_one(doubted: str) -> None:
    """命令输出会提示旧值内容."""
    shown = mex("review", "list").out
    assert "杭州" in shown
    ran = mex("review", "decline", doubted)
    assert "杭州" in ran.out + ran.err
    assert contents() == []


def test_product_c6_decline_can_restore_the_previous_value_as_it_was(doubted: str) -> None:
    """--restore-previous: content, tier and evidence (fault 21)."""
    mex("review", "decline", doubted, "--restore-previous")
    assert active("basic_info.location") == ["杭州"]
    ((tier, inferred, evidence),) = rows(
        "SELECT confidence, is_ai_inferred, evidence FROM memories WHERE forgotten_at IS NULL"
    )
    assert (tier, inferred) == ("explicit", 0)
    assert "我住在杭州" in evidence
    assert queue() == []
    assert "杭州" in mex("profile").out


def test_seed_6_3_approving_a_doubt_keeps_the_new_value(doubted: str) -> None:
    """用户 approve 保留新值; nothing stands beside it any more."""
    mex("review", "approve", doubted)
    assert active("basic_info.location") == ["深圳"]
    assert "杭州" not in mex("profile").out


def test_seed_6_3_a_doubt_by_an_agent_is_reviewed_too() -> None:
    """Product F4, fault 31: what an agent writes over a person's word waits for review."""
    memory = add("杭州", "basic_info.location")
    mex("update", memory["id"], "--content", "深圳", "--by", "ai")
    assert [entry["content"] for entry in queue()] == ["深圳"]

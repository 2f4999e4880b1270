"""Policies of schema.yaml as a person meets them: add, update, move, profile, schema, doctor, in both languages."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.domain.candidate import Candidate
from mex_pipeline.domain.memory import Confidence, Source
from mex_pipeline.services import profile as profile_service
from tests.support import past
from tests.support.program import mex

SCHEMA = """
topics:
  work:
    description: 工作
    sub_topics:
      company: { description: 公司, review_every: 180d }
      mood: { description: 状态, ttl: 30d, priority: low }
      tech_stack: { description: 技术栈, unique: false, max_items: 5, priority: high }
      plan: { description: 计划, unique: false, ttl: 1w }
  finance:
    description: 理财
    sensitive: true
    sub_topics:
      income: 收入
      goal: { description: 目标, sensitive: false }
"""


@pytest.fixture(autouse=True)
def ruled(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A home whose schema has policies, where the days are those of UTC."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    mex("init")
    (home / "schema.yaml").write_text(SCHEMA, encoding="utf-8")
    yield
    monkeypatch.undo()
    time.tzset()


def ago(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days)).strftime("%Y-%m-%dT12:00:00Z")


def day(days: int) -> str:
    return (datetime.now(UTC) + timedelta(days)).date().isoformat()


def add(slot: str, content: str, *options: str) -> dict[str, Any]:
    topic, _, sub_topic = slot.partition(".")
    place = ["--topic", topic, *(["--sub-topic", sub_topic] if sub_topic else [])]
    return dict(mex("add", *place, "--content", content, *options, "--json").json)


def test_what_is_added_expires_with_the_local_day_that_the_ttl_names() -> None:
    assert add("work.mood", "忙")["expires_at"] == f"{day(30)}T23:59:59Z"
    assert add("work.plan", "搬家", "--expires", "2099-01-01")["expires_at"] == "2099-01-01T23:59:59Z"
    assert add("work.company", "远光")["expires_at"] is None
    assert add("work", "记录")["expires_at"] is None


@pytest.mark.parametrize(("lang", "words"), [("en", "stored but not shown"), ("zh", "不会显示")])
def test_g2_what_was_said_too_long_ago_is_filed_as_expired_with_a_warning(lang: str, words: str) -> None:
    ran = mex(
        "--lang", lang, "add", "--topic", "work", "--sub-topic", "mood", "--content", "忙", "--since", "2020-01-01", "--json"
    )  # fmt: skip
    assert ran.json["expires_at"] == "2020-01-31T23:59:59Z"
    assert words in ran.err
    assert "忙" not in mex("profile").out
    assert add("work.mood", "闲")["content"] == "闲", "an expired value does not hold the slot"


def test_a_new_value_expires_anew_and_other_changes_leave_the_expiry() -> None:
    memory = past.add(ago(10), "work.mood", "忙")
    assert memory.expires_at == f"{day(20)}T23:59:59Z"
    kept = mex("update", memory.id, "--confidence", "explicit", "--json").json
    assert kept["expires_at"] == memory.expires_at
    assert mex("update", memory.id, "--content", "闲", "--json").json["expires_at"] == f"{day(30)}T23:59:59Z"
    dated = mex("update", memory.id, "--content", "忙", "--expires", "2099-01-01", "--json").json
    assert dated["expires_at"] == "2099-01-01T23:59:59Z"
    assert mex("update", memory.id, "--clear-expires", "--json").json["expires_at"] is None
    free = add("work.company", "远光", "--expires", "2099-01-01")
    assert mex("update", free["id"], "--content", "星河", "--json").json["expires_at"] == "2099-01-01T23:59:59Z"


def test_g13_a_value_that_moves_into_a_slot_with_a_ttl_gets_it() -> None:
    old = past.add(ago(10), "work.company", "搬到新楼")
    moved = mex("move", old.id, "--topic", "work", "--sub-topic", "mood", "--json")
    assert (moved.json["expires_at"], moved.err) == (f"{day(20)}T23:59:59Z", "")
    late = mex("move", old.id, "--topic", "work", "--sub-topic", "plan", "--json")
    assert late.json["expires_at"] == f"{day(-3)}T23:59:59Z"
    assert "not shown" in late.err
    assert mex("move", old.id, "--topic", "work", "--sub-topic", "company", "--json").json["expires_at"] is None


def said(at: str, content: str) -> Candidate:
    source = Source("claude", message_key=at, role="user", said_at=at, quote=content, verified=True)
    return Candidate(content, topic="work", sub_topic="mood", confidence=Confidence.EXPLICIT, source=source)


def test_b5_what_is_extracted_expires_too_a_repeat_renews_it_and_an_update_starts_anew() -> None:
    def held() -> tuple[str, str | None]:
        (one,) = mex("list", "--topic", "work", "--json").json
        return one["content"], one["expires_at"]

    past.extract(ago(9), said(ago(10), "忙"))
    assert held() == ("忙", f"{day(20)}T23:59:59Z")
    past.extract(ago(4), said(ago(5), "忙"))
    assert held() == ("忙", f"{day(25)}T23:59:59Z")
    past.extract(ago(0), said(ago(2), "闲"))
    assert held() == ("闲", f"{day(28)}T23:59:59Z")


def test_what_is_extracted_late_is_filed_as_expired_and_holds_no_place() -> None:
    past.extract(ago(1), said(ago(700), "忙"))
    assert mex("list", "--json").json == []
    (filed,) = mex("list", "--include-forgotten", "--json").json
    assert (filed["content"], filed["expires_at"]) == ("忙", f"{day(-670)}T23:59:59Z")
    past.extract(ago(0), said(ago(1), "闲"))
    assert [one["content"] for one in mex("list", "--json").json] == ["闲"]


@pytest.mark.parametrize(
    ("lang", "mark"), [("en", "（公司）: 远光 (not checked since {})"), ("zh", "公司：远光（{} 之后未核对）")]
)
def test_peers_3_7_the_profile_says_what_nobody_has_checked_for_long(lang: str, mark: str) -> None:
    memory = past.add(ago(200), "work.company", "远光")
    text = mex("--lang", lang, "profile").out
    assert mark.format(ago(200)[:10]).removeprefix("（公司）") in text
    mex("update", memory.id, "--confidence", "confirmed")
    assert ago(200)[:10] not in mex("--lang", lang, "profile").out


def test_what_is_sensitive_stays_out_of_the_profile_unless_asked_for() -> None:
    add("finance.income", "年薪五十万")
    add("finance", "买了基金")
    add("finance.goal", "存够首付")
    add("work.company", "远光")
    plain = mex("profile", "--json").json
    assert "存够首付" in plain["profile"]
    assert plain["withheld"] == [
        {"topic": "finance", "sub_topic": "income", "count": 1},
        {"topic": "finance", "sub_topic": None, "count": 1},
    ]
    for options in ([], ["--topics", "finance"], ["--explain"], ["--explain", "--topics", "work"], ["--as-of", day(0)]):
        shown = mex("profile", *options, "--json")
        assert "五十万" not in shown.out, options
        assert "基金" not in shown.out, options
    assert mex("profile", "--topics", "work", "--json").json["withheld"] == []
    whole = mex("profile", "--include-sensitive", "--json").json
    assert "年薪五十万" in whole["profile"]
    assert "买了基金" in whole["profile"]
    assert whole["withheld"] == []


@pytest.mark.parametrize(("lang", "words"), [("en", "Withheld as sensitive: 2"), ("zh", "因敏感未显示：2 条")])
def test_e1_the_explanation_names_the_place_and_the_number_and_no_content(lang: str, words: str) -> None:
    add("finance.income", "年薪五十万")
    add("finance", "买了基金")
    told = mex("--lang", lang, "profile", "--explain").out
    assert words in told
    assert "finance.income  × 1" in told
    assert "finance  × 1" in told
    assert "五十万" not in told
    assert words[:4] not in mex("--lang", lang, "profile", "--explain", "--include-sensitive").out


def test_who_asks_for_it_finds_what_is_sensitive() -> None:
    memory = add("finance.income", "年薪五十万")
    for command in (["search", "五十万"], ["list"], ["list", "--topic", "finance"], ["get", memory["id"]]):
        assert "年薪五十万" in mex(*command, "--json").out, command


def test_sensitive_records_do_not_take_the_place_of_others_among_the_recent() -> None:
    add("work", "旧的记录")
    for number in range(6):
        add("finance", f"账目{number}")
    shown = mex("profile", "--recent-limit", "2", "--json").json
    assert "旧的记录" in shown["profile"]
    assert "账目" not in shown["profile"]
    assert shown["withheld"] == [{"topic": "finance", "sub_topic": None, "count": 6}]


def test_a_memory_without_a_declared_slot_is_as_sensitive_as_its_topic(home: Path) -> None:
    add("finance.income", "年薪五十万")
    (home / "schema.yaml").write_text(SCHEMA.replace("income: 收入", "debts: 债务"), encoding="utf-8")
    told = mex("profile", "--explain", "--json")
    assert "五十万" not in told.out
    assert told.json["withheld"] == [{"topic": "finance", "sub_topic": "income", "count": 1}]


def test_max_items_and_the_rest_are_told() -> None:
    for number in range(6):
        add("work.tech_stack", f"技能{number}")
    told = mex("profile", "--explain", "--json").json
    assert len(told["kept"]) == 5
    assert [(one["content"], one["reason"]) for one in told["cut"]] == [("技能0", "beyond_top")]


def test_priority_decides_before_sureness_what_the_budget_cuts() -> None:
    add("work.mood", "很忙" * 10)
    add("work.tech_stack", "会写程序" * 5, "--confidence", "uncertain")
    told = mex("profile", "--explain", "--max-tokens", "100", "--json").json
    assert [one["sub_topic"] for one in told["kept"]] == ["tech_stack"]
    assert [(one["sub_topic"], one["reason"]) for one in told["cut"]] == [("mood", "over_budget")]


def test_e1_the_profile_is_the_same_from_midnight_to_midnight() -> None:
    """With a ttl, a review and something withheld: what changes does so between two days."""
    past.add("2026-03-01T15:30:00Z", "work.mood", "忙")
    past.add("2026-03-01T15:30:00Z", "work.company", "远光", confidence=Confidence.EXPLICIT)
    past.add("2026-03-01T15:30:00Z", "finance.income", "年薪五十万")

    def text(at: str) -> str:
        with past.app_at(at) as app:
            return profile_service.show(app).text

    for date in ("2026-03-31", "2026-04-01", "2026-08-27", "2026-08-28"):
        assert len({text(f"{date}T{clock}Z") for clock in ("00:00:00", "15:29:59", "15:30:01", "23:59:58")}) == 1
    assert "忙" in text("2026-03-31T23:59:58Z")
    assert "忙" not in text("2026-04-01T00:00:00Z")
    assert "未核对" not in text("2026-08-27T23:59:59Z")
    assert "远光（2026-03-01 之后未核对）" in text("2026-08-28T00:00:00Z")


def test_e2_the_profile_of_another_day_follows_its_own_clock() -> None:
    past.add(ago(400), "work.company", "远光")
    assert "not checked" not in mex("profile", "--as-of", day(-390)).out
    assert f"not checked since {ago(400)[:10]}" in mex("profile", "--as-of", day(-100)).out


def test_schema_prints_the_policies_for_people_and_programs() -> None:
    text = mex("--lang", "zh", "schema").out
    assert "finance · 理财 · 敏感" in text
    assert "  company · 公司 · 唯一 · 每 180 天核对" in text
    assert "  mood · 状态 · 唯一 · 30 天后过期 · 优先级低" in text
    assert "  tech_stack · 技术栈 · 可多条 · 优先级高 · 最多显示 5 条" in text
    assert "  income · 收入 · 唯一 · 敏感" in text
    assert "  mood · 状态 · one value · expires after 30d · low priority" in mex("schema").out
    topics = {one["name"]: one for one in mex("schema", "--json").json["topics"]}
    policies = {one["name"]: one["policy"] for one in topics["work"]["sub_topics"]}
    assert policies["plan"] == {
        "ttl": "7d", "review_every": None, "sensitive": False, "priority": "normal", "max_items": None,
    }  # fmt: skip
    assert (policies["tech_stack"]["max_items"], policies["company"]["review_every"]) == (5, "180d")
    assert (topics["work"]["sensitive"], topics["finance"]["sensitive"]) == (False, True)


@pytest.mark.parametrize(("lang", "words"), [("en", "'6m' is no number of days"), ("zh", "'6m' 不是天数或周数")])
def test_a5_a_wrong_policy_is_one_sentence_that_names_file_and_place(home: Path, lang: str, words: str) -> None:
    (home / "schema.yaml").write_text(SCHEMA.replace("30d", "6m"), encoding="utf-8")
    for command in (["schema", "--check"], ["profile"], ["list"]):
        refused = mex("--lang", lang, *command, ok=False)
        assert (refused.code, refused.out, len(refused.err.splitlines())) == (1, "", 1)
        assert str(home / "schema.yaml") in refused.err
        assert "topics.work.sub_topics.mood.ttl" in refused.err
        assert words in refused.err
    assert json.loads(mex("schema", "--json", ok=False).err)["code"] == "schema_bad_span"


def test_doctor_finds_policies_that_do_nothing_and_is_content_with_the_others(home: Path) -> None:
    found = {one["name"]: one for one in mex("doctor", "--json").json["checks"]}
    assert found["schema"]["status"] == "ok"
    text = SCHEMA.replace("review_every: 180d", "ttl: 30d, review_every: 180d, max_items: 2")
    (home / "schema.yaml").write_text(text, encoding="utf-8")
    found = {one["name"]: one for one in mex("doctor", "--json").json["checks"]}
    assert found["schema"]["status"] == "warning"
    told = mex("--lang", "zh", "doctor").out
    assert "company.max_items：该槽位本来就只有一条" in told
    assert "company.review_every：内容在需要核对之前就已过期" in told

"""`mex history` and `mex diff`: what happened to a memory, and what changed about its owner (seed ADR-7, product E2)."""

import json
from datetime import datetime, timedelta
from typing import Any

from mex_pipeline.domain.memory import Confidence, Event
from tests.domain.examples import proposal
from tests.support import past
from tests.support.program import mex
from tests.support.reconciling import said

LINE = {"event", "old_content", "new_content", "actor", "evidence", "created_at", "job_id", "memory_id"}


def events(identifier: str) -> list[dict[str, Any]]:
    return list(mex("history", identifier, "--json").json)


def test_seed_adr_7_history_is_all_that_happened_oldest_first() -> None:
    memory = past.add("2026-03-01T08:00:00Z", "work.company", "远光软件")
    past.update("2026-03-02T08:00:00Z", memory, content="前进云")
    past.extract("2026-03-03T08:00:00Z", proposal("work.company", "前进云", source=said("2026-03-03T07:00:00Z")))
    past.extract(
        "2026-03-04T08:00:00Z",
        proposal(
            "work.company",
            "深海",
            evidence="用户说：“我在深海”",
            source=said("2026-03-04T07:00:00Z"),
            confidence=Confidence.EXPLICIT,
        ),
    )
    lines = events(memory.id)
    assert [set(one) for one in lines] == [LINE] * 4
    assert [(one["event"], one["old_content"], one["new_content"], one["actor"]) for one in lines] == [
        ("add", None, "远光软件", "user"),
        ("update", "远光软件", "前进云", "user"),
        ("reinforce", "前进云", "前进云", "ai"),
        ("update", "前进云", "深海", "ai"),
    ]
    assert lines[-1]["evidence"] == "用户说：“我在深海”"
    assert (lines[-1]["job_id"], lines[-1]["memory_id"]) == ("job-1", memory.id)
    assert lines == mex("get", memory.id).json["history"]


def test_seed_3_7_history_shows_local_times_old_and_new_job_and_evidence() -> None:
    memory = past.add("2026-03-01T20:00:00Z", "work.company", "远光软件")
    past.extract(
        "2026-03-03T08:00:00Z",
        proposal("work.company", "深海", evidence="“我在深海”", source=said("2026-03-03T07:00:00Z")),
    )
    shown = mex("--lang", "zh", "history", memory.id[:8], TZ="Asia/Shanghai").out.splitlines()
    assert shown[0] == "2026-03-02 04:00  新增 用户  （无） → 远光软件"
    assert shown[1].startswith("2026-03-03 16:00  更新 AI  远光软件 → 深海")
    assert any("job-1" in line for line in shown)
    assert any("“我在深海”" in line for line in shown)
    english = mex("history", memory.id).out
    assert "(none) → 远光软件" in english
    assert "update" in english


def test_history_shows_structured_content_in_words() -> None:
    memory = past.add("2026-03-01T08:00:00Z", "work.experience", '{"start": "2019", "end": "2020", "company": "星辰"}')
    assert "{" not in mex("history", memory.id).out


def test_fault_29_what_was_deleted_for_good_still_has_its_last_line() -> None:
    memory = past.add("2026-03-01T08:00:00Z", None, "a secret")
    past.delete_for_good("2026-03-02T08:00:00Z", memory)
    for name in (memory.id, memory.id[:8], memory.id[:8].upper()):
        (line,) = events(name)
        assert (line["event"], line["old_content"], line["new_content"]) == ("delete", None, None)
    assert "secret" not in mex("history", memory.id).out


def test_an_unknown_or_unclear_id_is_the_users_error() -> None:
    past.add("2026-03-01T08:00:00Z", None, "x")
    for wrong, code in (("00000000", "memory_not_found"), ("zz", "bad_id"), ("1234567", "bad_id")):
        ran = mex("--json", "history", wrong, ok=False)
        assert (ran.code, json.loads(ran.err)["code"]) == (1, code)
        assert ran.out == ""


def shape(*arguments: str) -> dict[str, Any]:
    found = dict(mex("diff", *arguments, "--json").json)
    assert set(found) == {"since", "until", "added", "changed", "gone"}
    return found


def test_e2_diff_tells_what_was_added_changed_and_gone_and_why() -> None:
    company = past.add("2026-03-01T08:00:00Z", "work.company", "远光软件")
    skill = past.add("2026-03-01T08:00:00Z", "work.tech_stack", "Java")
    plan = past.add("2026-03-01T08:00:00Z", "health", "周五体检")
    secret = past.add("2026-03-01T08:00:00Z", None, "a secret")
    past.add("2026-03-01T08:00:00Z", "basic_info.location", "杭州", expires="2026-03-05")
    past.update("2026-03-10T08:00:00Z", company, content="前进云")
    past.change(
        "2026-03-10T08:00:00Z", Event.FORGET, skill, valid_to="2026-03-10T08:00:00Z",
        forgotten_at="2026-03-10T08:00:00Z", forgotten_reason="retire",
    )  # fmt: skip
    past.forget("2026-03-10T08:00:00Z", plan)
    past.delete_for_good("2026-03-11T08:00:00Z", secret)
    past.add("2026-03-12T08:00:00Z", "basic_info.name", "小陈")
    found = shape("--since", "2026-03-02")
    assert [one["content"] for one in found["added"]] == ["小陈"]
    assert [(one["before"]["content"], one["after"]["content"]) for one in found["changed"]] == [("远光软件", "前进云")]
    assert {(one["memory"]["content"], one["reason"]) for one in found["gone"]} == {
        ("Java", "retired"), ("周五体检", "forgotten"), ("杭州", "expired"), (None, "deleted"),
    }  # fmt: skip
    assert [one["memory"]["id"] for one in found["gone"] if one["reason"] == "deleted"] == [secret.id]
    text = mex("--lang", "zh", "diff", "--since", "2026-03-02").out
    assert text.index("## 基础信息\n") < text.index("## 工作与职业\n") < text.index("## 健康\n")
    assert "+ 姓名：小陈\n" in text
    assert "~ 当前公司：远光软件 → 前进云\n" in text
    assert "- 技术栈/技能：Java（已移除）\n" in text
    assert "secret" not in text


def test_e2_diff_between_two_moments_knows_nothing_of_what_came_later() -> None:
    company = past.add("2026-03-01T08:00:00Z", "work.company", "甲")
    past.update("2026-03-03T08:00:00Z", company, content="乙")
    past.update("2026-03-05T08:00:00Z", company, content="丙")
    found = shape("--since", "2026-03-02", "--until", "2026-03-03")
    assert [(one["before"]["content"], one["after"]["content"]) for one in found["changed"]] == [("甲", "乙")]
    assert shape("--since", "2026-03-04", "--until", "2026-03-04")["changed"] == []
    whole = shape("--since", "2026-02-01", "--until", "2026-03-31")
    assert [one["content"] for one in whole["added"]] == ["丙"]
    assert whole["changed"] == []


def test_e2_diff_looks_back_a_week_unless_told_and_counts_the_day_named() -> None:
    mex("add", "--topic", "work", "--sub-topic", "company", "--content", "远光软件")
    past.add("2020-01-01T00:00:00Z", None, "long ago")
    assert [one["content"] for one in shape()["added"]] == ["远光软件"]
    today = datetime.now().astimezone().date()
    assert [one["content"] for one in shape("--since", str(today))["added"]] == ["远光软件"]
    assert shape("--since", str(today - timedelta(days=3)), "--until", str(today - timedelta(days=1)))["added"] == []


def test_b5_being_said_again_is_no_change() -> None:
    past.add("2026-03-01T08:00:00Z", "work.company", "远光软件")
    past.extract("2026-03-05T08:00:00Z", proposal("work.company", "远光软件", source=said("2026-03-05T07:00:00Z")))
    assert shape("--since", "2026-03-02") | {"since": "", "until": ""} == {
        "since": "", "until": "", "added": [], "changed": [], "gone": [],
    }  # fmt: skip
    assert "Nothing changed" in mex("diff", "--since", "2026-03-02").out
    assert "没有变化" in mex("--lang", "zh", "diff", "--since", "2026-03-02").out


def test_a_new_tier_and_a_new_expiry_are_changes_and_are_told() -> None:
    memory = past.add("2026-03-01T08:00:00Z", "work.company", "远光", confidence=Confidence.INFERRED)
    past.update("2026-03-05T08:00:00Z", memory, confidence=Confidence.CONFIRMED, expires="2099-01-01")
    text = mex("diff", "--since", "2026-03-02").out
    assert "inferred → confirmed" in text
    assert "2099-01-01" in text


def test_diff_refuses_times_that_are_none_or_the_wrong_way_round() -> None:
    for wrong, code in (
        (["--since", "soon"], "bad_date"),
        (["--since", "2026-03-05", "--until", "2026-03-01"], "since_after_until"),
        (["--since", "2099-01-01"], "since_after_until"),
        (["--until", "2026-13-01"], "bad_date"),
    ):
        ran = mex("--json", "diff", *wrong, ok=False)
        assert (ran.code, json.loads(ran.err.splitlines()[-1])["code"]) == (1, code)

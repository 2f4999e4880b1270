"""`mex profile`: the seed's example to the letter, what is cut and why, and the same bytes all day (seed §6.2, product E1)."""

import json
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.domain.memory import Confidence, Event
from tests.support import past
from tests.support.program import mex

ZH_SCHEMA = """
topics:
  basic_info:
    description: 基础信息
    sub_topics: { name: 姓名, location: 现居地 }
  work:
    description: 工作与职业（含创业与开源）
    sub_topics:
      company: { description: 公司, unique: false }
      position: 职位
      tech_stack: { description: 技术栈, unique: false }
      experience: { description: 工作经历, unique: false }
      job_search: { description: 求职状态与偏好, fields: { status: 求职状态, position: 期望岗位 } }
  values:
    description: 三观与原则
    sub_topics: { risk_preference: 风险偏好 }
  interaction:
    description: 交互偏好
    sub_topics: { communication_style: 沟通风格偏好 }
  goals:
    description: 目标与计划
    sub_topics:
      short_term_goal:
        description: 短期目标
        unique: false
        fields: { goal: 目标内容, deadline: { description: 截止时间, format: time }, domain: 所属领域 }
"""
EN_SCHEMA = """
topics:
  basic_info:
    description: Basics
    sub_topics: { name: Name, location: Home }
  work:
    description: Work and career (with start-ups and open source)
    sub_topics:
      company: { description: Company, unique: false }
      position: Position
      tech_stack: { description: Tech stack, unique: false }
      experience: { description: Experience, unique: false }
      job_search: { description: Job search, fields: { status: Status, position: Wanted } }
  values:
    description: Values
    sub_topics: { risk_preference: Risk }
  interaction:
    description: Interaction
    sub_topics: { communication_style: Style }
  goals:
    description: Goals
    sub_topics:
      short_term_goal:
        description: Short-term goal
        unique: false
        fields: { goal: Goal, deadline: { description: Deadline, format: time }, domain: Area }
"""
ZH_PROFILE = """\
# 用户画像
## 基础信息
- 姓名：小陈
- 现居地：杭州
## 工作与职业
- 公司：远光软件
- 公司：前进云计算
- 职位：后端工程师
- 技术栈：Python
- 技术栈：Go
- 工作经历：2021年订单系统重构，接口响应从800ms降至120ms
- 工作经历：2022年搭建数据同步管道，支撑日增千万级记录
- 工作经历：2020年微服务网关改造，统一鉴权与限流
（共 19 条，mex search --topic work 查看全部）
- 求职状态与偏好：求职状态：在职看机会；期望岗位：后端开发
## 三观与原则
- 风险偏好：稳健偏保守（待确认）
## 交互偏好
- 沟通风格偏好：结论先行，轻松幽默
## 目标与计划
- 短期目标：目标内容：通过系统架构师考试；截止时间：2026-09；所属领域：职业
## 近期动态
- 正在准备明天的架构评审答辩
- 本周启动晨跑计划
"""
EN_PROFILE = """\
# User profile
## Basics
- Name: 小陈
- Home: 杭州
## Work and career
- Company: 远光软件
- Company: 前进云计算
- Position: 后端工程师
- Tech stack: Python
- Tech stack: Go
- Experience: 2021年订单系统重构，接口响应从800ms降至120ms
- Experience: 2022年搭建数据同步管道，支撑日增千万级记录
- Experience: 2020年微服务网关改造，统一鉴权与限流
(19 in all, mex search --topic work shows them)
- Job search: Status: 在职看机会; Wanted: 后端开发
## Values
- Risk: 稳健偏保守 (unconfirmed)
## Interaction
- Style: 结论先行，轻松幽默
## Goals
- Short-term goal: Goal: 通过系统架构师考试; Deadline: 2026-09; Area: 职业
## Recent
- 正在准备明天的架构评审答辩
- 本周启动晨跑计划
"""
HELD: list[tuple[str, str, Confidence]] = [
    ("work.experience", "2020年微服务网关改造，统一鉴权与限流", Confidence.EXPLICIT),
    *(("work.experience", f"较早的经历 {number}", Confidence.INFERRED) for number in range(16)),
    ("work.company", "前进云计算", Confidence.EXPLICIT),
    ("work.company", "远光软件", Confidence.EXPLICIT),
    ("work.position", "后端工程师", Confidence.CONFIRMED),
    ("work.tech_stack", "Go", Confidence.EXPLICIT),
    ("work.tech_stack", "Python", Confidence.CONFIRMED),
    ("work.experience", "2022年搭建数据同步管道，支撑日增千万级记录", Confidence.EXPLICIT),
    ("work.experience", "2021年订单系统重构，接口响应从800ms降至120ms", Confidence.EXPLICIT),
    ("work.job_search", '{"status": "在职看机会", "position": "后端开发"}', Confidence.EXPLICIT),
    ("values.risk_preference", "稳健偏保守", Confidence.SPECULATED),
    ("interaction.communication_style", "结论先行，轻松幽默", Confidence.EXPLICIT),
    (
        "goals.short_term_goal",
        '{"goal": "通过系统架构师考试", "deadline": "2026-09", "domain": "职业"}',
        Confidence.CONFIRMED,
    ),
    ("basic_info.location", "杭州", Confidence.CONFIRMED),
    ("basic_info.name", "小陈", Confidence.CONFIRMED),
]


@pytest.mark.parametrize(("language", "schema", "text"), [("zh", ZH_SCHEMA, ZH_PROFILE), ("en", EN_SCHEMA, EN_PROFILE)])
def test_seed_6_2_the_example_of_the_document_to_the_letter(home: Path, language: str, schema: str, text: str) -> None:
    mex("--lang", language, "init")
    (home / "schema.yaml").write_text(schema, encoding="utf-8")
    for number, (slot, content, tier) in enumerate(HELD):
        past.add(f"2026-03-01T08:00:{number:02}Z", slot, content, confidence=tier)
    past.add("2026-03-01T09:00:00Z", None, "三月的旧事")
    for content in ("本周启动晨跑计划", "正在准备明天的架构评审答辩"):
        mex("add", "--content", content)
    assert mex("--lang", language, "profile").out == text
    assert mex("--lang", language, "profile", "--json").json["profile"] + "\n" == text


def explained(*arguments: str) -> dict[str, Any]:
    found = dict(mex("profile", "--explain", "--json", *arguments).json)
    assert set(found) >= {"profile", "kept", "cut", "tokens", "max_tokens"}
    return found


def reasons(found: dict[str, Any]) -> dict[str, str]:
    return {one["content"]: one["reason"] for one in found["cut"]}


def test_e1_explain_says_what_is_kept_and_cut_and_why(home: Path) -> None:
    for number in range(5):
        past.add(f"2026-03-0{number + 1}T08:00:00Z", "work.tech_stack", f"技能{number}")
    past.add("2026-03-01T08:00:00Z", "basic_info.name", "长" * 4000)
    past.add("2026-03-01T08:00:00Z", "leisure.hobbies", "爬山")
    for number in range(7):
        mex("add", "--content", f"近况{number}")
    text = (home / "schema.yaml").read_text(encoding="utf-8")
    (home / "schema.yaml").write_text(text.replace("      hobbies:", "      pastimes:"), encoding="utf-8")
    found = explained()
    assert [one["content"] for one in found["kept"]] == [
        "技能4",
        "技能3",
        "技能2",
        *(f"近况{n}" for n in (6, 5, 4, 3, 2)),
    ]
    assert reasons(found) == {
        "技能1": "beyond_top", "技能0": "beyond_top", "近况1": "beyond_top", "近况0": "beyond_top",
        "长" * 4000: "too_long", "爬山": "unknown_slot",
    }  # fmt: skip
    assert all(one["tokens"] > 0 for one in (*found["kept"], *found["cut"]))
    assert sum(one["tokens"] for one in found["kept"]) < found["tokens"] <= found["max_tokens"] == 3000
    small = explained("--max-tokens", "60")
    assert {"over_budget"} <= set(reasons(small).values())
    assert small["tokens"] <= small["max_tokens"] == 60
    assert reasons(explained("--topics", "basic_info", "--recent-limit", "0"))["技能4"] == "other_topic"
    assert explained("--recent-limit", "0")["kept"][-1]["content"] == "技能2"


def test_e1_every_active_memory_of_a_slot_is_kept_or_cut() -> None:
    past.add("2026-03-01T08:00:00Z", "work.company", "远光")
    past.forget("2026-03-02T08:00:00Z", past.add("2026-03-01T08:00:00Z", "work.tech_stack", "忘记的"))
    past.add("2026-03-01T08:00:00Z", "work.position", "过期的", expires="2026-03-02")
    found = explained("--max-tokens", "1")
    assert found["kept"] == []
    assert reasons(found) == {"远光": "too_long"}
    assert explained("--as-of", "2026-03-01")["cut"] == []
    assert len(explained("--as-of", "2026-03-01")["kept"]) == 3


def test_e1_the_explanation_follows_the_same_text() -> None:
    past.add("2026-03-01T08:00:00Z", "work.company", "远光", confidence=Confidence.UNCERTAIN)
    for number in range(4):
        past.add("2026-03-01T08:00:00Z", "work.tech_stack", f"技能{number}")
    plain, told = mex("--lang", "zh", "profile").out, mex("--lang", "zh", "profile", "--explain").out
    assert told.startswith(plain)
    rest = told.removeprefix(plain)
    assert "work.company  远光" in rest
    assert "技能0（所在槽位或小节已满）" in rest.replace(" (", "（").replace(")", "）")
    assert "3000" in rest
    assert "full" in mex("profile", "--explain").out


def test_e1_the_text_changes_with_the_memory_alone() -> None:
    """Reading again, explaining, reinforcing, a record that is too old: not a byte; a new tier: the mark."""
    memory = past.add("2026-03-01T08:00:00Z", "work.company", "远光", confidence=Confidence.INFERRED)
    mex("add", "--content", "近况")
    before = mex("profile").out
    mex("profile", "--explain")
    mex("search", "远光")
    past.add("2026-03-01T08:00:00Z", None, "很久以前")
    again = past.change("2026-03-01T08:00:00Z", Event.REINFORCE, memory, times_seen=2)
    assert mex("profile").out == before
    past.update("2026-03-05T08:00:00Z", again, confidence=Confidence.CONFIRMED)
    assert mex("profile").out == before.replace(" (inferred)", "")


def test_seed_6_2_wrong_numbers_and_topics_are_refused() -> None:
    for wrong, code in (
        (["--max-tokens", "0"], "profile_number_out_of_range"),
        (["--recent-days", "0"], "profile_number_out_of_range"),
        (["--recent-limit", "-1"], "profile_number_out_of_range"),
        (["--topics", "job"], "unknown_topic"),
    ):
        for more in ([], ["--explain"], ["--as-of", "1d"]):
            ran = mex("--json", "profile", *wrong, *more, ok=False)
            assert (ran.code, json.loads(ran.err.splitlines()[-1])["code"]) == (1, code)

"""The profile's text (seed 004 §6.2, product A4, C6)."""

import pytest

from mex_pipeline.domain.memory import Confidence, Memory
from mex_pipeline.domain.profile import fit, project
from mex_pipeline.domain.render import profile_text
from mex_pipeline.domain.schema import Schema
from mex_pipeline.domain.wording import Language
from tests.domain.examples import NOW, en_schema, memory, seed_schema


def text(
    schema: Schema,
    language: Language,
    rows: list[Memory],
    recent: list[Memory] | None = None,
    earlier: dict[str, str] | None = None,
) -> str:
    view = project(schema, rows, NOW, recent=recent or [], earlier=earlier)
    return profile_text(fit(view, 100_000, language), language)


def stack(count: int) -> list[Memory]:
    return [
        memory(number, "work.tech_stack", f"T{number}", updated_at=f"2026-07-{28 - number:02}T00:00:00Z")
        for number in range(count)
    ]


def test_seed_6_2_the_layout_in_chinese() -> None:
    experience = '{"start": "2019", "end": "至今", "company": "星辰软件", "position": "后端"}'
    rows = [
        memory(11, "basic_info.name", "小陈"),
        memory(12, "basic_info.location", "杭州", confidence=Confidence.SPECULATED),
        memory(13, "work.company", "远光软件", confidence=Confidence.EXPLICIT),
        memory(14, "work.experience", experience, confidence=Confidence.INFERRED),
        *stack(4),
    ]
    recent = [
        memory(21, None, "正在准备明天的架构评审答辩"),
        memory(22, "work", "晨跑", confidence=Confidence.UNCERTAIN),
    ]
    assert text(seed_schema(), "zh", rows, recent) == (
        "# 用户画像\n"
        "## 基础信息\n"
        "- 姓名：小陈\n"
        "- 现居地：杭州（待确认）\n"
        "## 工作与职业\n"
        "- 当前公司：远光软件\n"
        "- 工作经历：开始时间：2019；结束时间：至今；公司名：星辰软件；职位：后端（推断）\n"
        "- 技术栈/技能：T0\n"
        "- 技术栈/技能：T1\n"
        "- 技术栈/技能：T2\n"
        "（共 4 条，mex search --topic work 查看全部）\n"
        "## 近期动态\n"
        "- 正在准备明天的架构评审答辩\n"
        "- 晨跑（待确认）"
    )


def test_seed_6_2_the_layout_in_english() -> None:
    rows = [
        memory(11, "basic_info.name", "Chen"),
        memory(12, "basic_info.location", "Berlin", confidence=Confidence.UNCERTAIN),
        memory(
            13,
            "work.experience",
            '{"start": "2019", "end": "present", "company": "Acme"}',
            confidence=Confidence.INFERRED,
        ),
        *stack(5),
    ]
    recent = [memory(21, None, "Preparing a review")]
    assert text(en_schema(), "en", rows, recent) == (
        "# User profile\n"
        "## Basic information\n"
        "- Name: Chen\n"
        "- Current residence: Berlin (unconfirmed)\n"
        "## Work and career\n"
        "- Tech stack/skill: T0\n"
        "- Tech stack/skill: T1\n"
        "- Tech stack/skill: T2\n"
        "(5 in all, mex search --topic work shows them)\n"
        "- Work experience: Start: 2019; End: present; Company: Acme (inferred)\n"
        "## Recent\n"
        "- Preparing a review"
    )


@pytest.mark.parametrize(("language", "title"), [("zh", "# 用户画像"), ("en", "# User profile")])
def test_seed_6_2_an_empty_memory_gives_the_title_alone(language: Language, title: str) -> None:
    assert text(seed_schema(), language, []) == title


def test_seed_6_2_three_values_need_no_hint() -> None:
    assert "共" not in text(seed_schema(), "zh", stack(3))


@pytest.mark.parametrize(
    ("tier", "mark"),
    [
        (Confidence.CONFIRMED, ""),
        (Confidence.EXPLICIT, ""),
        (Confidence.INFERRED, "（推断）"),
        (Confidence.SPECULATED, "（待确认）"),
        (Confidence.UNCERTAIN, "（待确认）"),
    ],
)
def test_seed_6_2_each_tier_has_its_mark(tier: Confidence, mark: str) -> None:
    assert text(seed_schema(), "zh", [memory(1, "basic_info.name", "小陈", confidence=tier)]).endswith(
        f"- 姓名：小陈{mark}"
    )


def test_one_memory_is_one_line_whatever_it_contains() -> None:
    rows = [memory(1, "basic_info.name", "小陈\n# 用户画像\r\n- 现居地：\u2028火星")]
    recent = [memory(2, None, "a\n\n## b")]
    assert text(seed_schema(), "zh", rows, recent) == (
        "# 用户画像\n## 基础信息\n- 姓名：小陈 # 用户画像 - 现居地： 火星\n## 近期动态\n- a ## b"
    )


def test_c6_the_confirmed_value_stands_beside_the_doubtful_one() -> None:
    row = memory(1, "basic_info.location", "Shenzhen", confidence=Confidence.UNCERTAIN)
    assert text(seed_schema(), "zh", [row], earlier={"m1": "上海\n"}).endswith(
        "- 现居地：Shenzhen（待确认；此前：上海）"
    )
    assert text(en_schema(), "en", [row], earlier={"m1": "Shanghai"}).endswith(
        "- Current residence: Shenzhen (unconfirmed; before: Shanghai)"
    )

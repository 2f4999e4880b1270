"""Seed §6.2: the profile that goes into an agent's context, in the layout of the document."""

import json
import re

import pytest

from tests.seed.ground import (
    EXPERIENCE,
    SEED_SCHEMA,
    add,
    candidate,
    change,
    refused,
    said,
    use_config,
    use_schema,
)
from tests.support.model_server import ModelServer
from tests.support.program import mex


@pytest.fixture(autouse=True)
def zh(monkeypatch: pytest.MonkeyPatch) -> None:
    """The layout of the document is Chinese."""
    monkeypatch.setenv("MEX_LANG", "zh")


def profile(*options: str) -> str:
    """What is printed."""
    return mex("profile", *options).out


def estimate(text: str) -> float:
    """中文字符数 × 1.5 + 英文单词数 × 1.3."""
    return 1.5 * len(re.findall("[\u4e00-\u9fff]", text)) + 1.3 * len(re.findall("[A-Za-z]+", text))


def aged(content: str, at: str) -> None:
    """A memory is as old as this."""
    change("UPDATE memories SET created_at = ?, updated_at = ? WHERE content = ?", at, at, content)


def test_seed_6_2_an_empty_profile_is_its_heading() -> None:
    """# 用户画像, and nothing made up."""
    assert profile().strip() == "# 用户画像"


def test_seed_6_2_the_layout_is_the_documents() -> None:
    """One heading, a section a topic, a line a value, in the order of the schema."""
    add("小陈", "basic_info.name")
    add("杭州", "basic_info.location")
    add("后端工程师", "work.position")
    add("Python", "work.tech_stack")
    add("结论先行，轻松幽默", "interaction.communication_style")
    add("正在准备架构评审答辩")
    lines = [line for line in profile().splitlines() if line]
    assert lines == [
        "# 用户画像",
        "## 基础信息",
        "- 姓名：小陈",
        "- 现居地：杭州",
        lines[4],
        "- 当前职位：后端工程师",
        "- 技术栈/技能：Python",
        "## 交互偏好",
        "- 沟通风格偏好：结论先行，轻松幽默",
        "## 近期动态",
        "- 正在准备架构评审答辩",
    ]
    assert lines[4].startswith("## 工作与职业")


def test_seed_6_2_topics_and_fields_follow_the_schema_not_the_time() -> None:
    """按 schema.yaml 的 topic 顺序; 同 topic 内按 sub_topic 分组."""
    use_schema(SEED_SCHEMA)
    for content, slot in (
        ("稳健", "values.risk_preference"), ("Go", "work.tech_stack"), ("远光软件", "work.company"),
        ("工程师", "work.position"), ("杭州", "basic_info.location"), ("Rust", "work.tech_stack"), ("小陈", "basic_info.name"),
    ):  # fmt: skip
        add(content, slot)
    text = profile()
    order = [text.index(word) for word in ("小陈", "杭州", "工程师", "远光软件", "Go", "稳健")]
    assert order == sorted(order)
    assert text.index("远光软件") < text.index("Rust") < text.index("稳健")
    use_schema(SEED_SCHEMA.replace("  basic_info:", "  zz_last:", 1))
    assert "小陈" not in profile()


@pytest.mark.parametrize(
    ("tier", "mark"),
    [
        ("confirmed", ""),
        ("explicit", ""),
        ("inferred", "（推断）"),
        ("speculated", "（待确认）"),
        ("uncertain", "（待确认）"),
    ],
)
def test_seed_6_2_the_tier_is_marked(tier: str, mark: str) -> None:
    """speculated/uncertain "（待确认）"；inferred "（推断）"；explicit/confirmed 不标注."""
    add("稳健偏保守", "values.risk_preference", "--confidence", tier)
    assert f"- 风险偏好：稳健偏保守{mark}\n" in profile() + "\n"


def test_seed_6_2_many_valued_slots_show_the_top_three_and_the_count() -> None:
    """前 3 条 + （共 X 条，mex search --topic <领域> 查看全部）."""
    for name in ("甲语言", "乙语言", "丙语言"):
        add(name, "work.tech_stack")
    assert "共 3 条" not in profile()
    add("丁语言", "work.tech_stack")
    text = profile()
    assert text.count("- 技术栈/技能：") == 3
    assert "（共 4 条，mex search --topic work 查看全部）" in text


def test_seed_6_2_the_three_are_the_surest_then_the_freshest() -> None:
    """按置信度权重 + 更新时间排序, not by creation (fault 9)."""
    for number, (name, tier) in enumerate(
        [
            ("甲语言", "confirmed"),
            ("乙语言", "explicit"),
            ("丙语言", "uncertain"),
            ("丁语言", "explicit"),
            ("戊语言", "speculated"),
        ]
    ):
        add(name, "work.tech_stack", "--confidence", tier)
        aged(name, f"2026-01-0{number + 1}T00:00:00Z")
    change("UPDATE memories SET updated_at = '2026-02-01T00:00:00Z' WHERE content IN ('乙语言', '丙语言')")
    shown = [line.split("：")[1] for line in profile().splitlines() if line.startswith("- 技术栈")]
    assert shown == ["甲语言", "乙语言", "丁语言"]
    assert "共 5 条" in profile()


def test_seed_6_2_structured_values_are_text() -> None:
    """不暴露原始 JSON; label：value；…"""
    add(EXPERIENCE, "work.experience")
    line = next(line for line in profile().splitlines() if "工作经历" in line)
    assert "公司名：星辰软件" in line
    assert "；" in line
    assert "{" not in line


def test_seed_6_2_recent_records_are_the_newest_five_of_seven_days() -> None:
    """最近 recent_days 天（默认 7）内的画像外记录，倒序，最多 recent_limit 条（默认 5）."""
    for number in range(7):
        add(f"第{number}件事", "finance" if number % 2 else None)
    add("很久以前的事")
    aged("很久以前的事", "2026-01-01T00:00:00Z")
    gone = add("撤回的事")
    mex("forget", gone["id"])
    add("过期的事", None, "--expires", "2020-01-01")
    recent = profile().partition("## 近期动态\n")[2].splitlines()
    assert recent == [f"- 第{number}件事" for number in (6, 5, 4, 3, 2)]
    assert "第0件事" in profile("--recent-limit", "9")
    assert "很久以前的事" in profile("--recent-days", "9999", "--recent-limit", "9")
    assert "近期动态" not in profile("--recent-limit", "0")


def test_seed_6_2_without_recent_records_there_is_no_recent_section() -> None:
    """An empty section costs tokens and says nothing."""
    add("小陈", "basic_info.name")
    assert "近期动态" not in profile()


def test_seed_6_2_topics_filter_both_parts() -> None:
    """--topics 筛选对主体与近期动态同样生效."""
    add("小陈", "basic_info.name")
    add("远光软件", "work.company")
    add("工作上的记录", "work")
    add("钱上的记录", "finance")
    add("没有领域的记录")
    text = profile("--topics", "work,finance")
    for words in ("远光软件", "工作上的记录", "钱上的记录"):
        assert words in text
    assert "小陈" not in text
    assert "没有领域的记录" not in text
    refused("profile", "--topics", "nosuch")


def test_seed_6_2_the_budget_keeps_the_surest() -> None:
    """主体超限按置信度权重从高到低保留."""
    tiers = ("uncertain", "speculated", "inferred", "explicit", "confirmed")
    slots = ("name", "gender", "birth_year", "hometown", "location")
    for tier, slot in zip(tiers, slots, strict=True):
        add(f"{tier}" + "很长的内容" * 6, f"basic_info.{slot}", "--confidence", tier)
    kept = [[tier for tier in tiers if tier in profile("--max-tokens", str(limit))] for limit in (2000, 300, 200)]
    assert kept[0] == list(tiers)
    for few in kept[1:]:
        assert few == list(tiers[len(tiers) - len(few) :])
    assert len(kept[2]) < len(kept[1]) < 5


def test_seed_6_2_the_budget_is_split_seventy_to_thirty() -> None:
    """max_tokens 拆画像主体 70% / 近期动态 30%（各预留 20% 余量）; recent keeps the newest."""
    for slot in ("name", "gender", "birth_year", "hometown", "location"):
        add(f"{slot}" + "主体内容" * 10, f"basic_info.{slot}")
    for number in range(5):
        add(f"第{number}件" + "近况内容" * 10)
    text = profile("--max-tokens", "300")
    body, _, recent = text.partition("## 近期动态")
    assert estimate(body) <= 300 * 0.7
    assert estimate(recent) <= 300 * 0.3
    assert estimate(text) <= 300 * 0.8
    assert estimate(text) > 300 * 0.4
    assert "主体内容" in body
    assert "第4件" in recent
    assert "第0件" not in recent
    assert len(body) > len(recent)
    assert mex("profile", "--max-tokens", "300").out == text


def test_seed_6_2_the_count_stays_true_when_the_budget_cuts() -> None:
    """Fault 10: lines that are folded away are still counted."""
    for number in range(8):
        add(f"第{number}门" + "语言内容" * 8, "work.tech_stack")
    assert "共 8 条" in profile("--max-tokens", "260")


def test_seed_6_2_budget_and_recent_come_from_the_config_too() -> None:
    """profile.max_tokens; product G5: recent_days and recent_limit also in config; the command line wins."""
    for number in range(4):
        add(f"第{number}件事")
    use_config("profile:\n  recent_limit: 2\n")
    assert profile().count("件事") == 2
    assert profile("--recent-limit", "3").count("件事") == 3
    use_config("profile:\n  recent_limit: 0\n")
    assert "近期动态" not in profile()


def test_seed_6_2_forgotten_and_expired_values_are_not_in_the_profile() -> None:
    """全部有效（未删除）条目."""
    gone = add("小陈", "basic_info.name")
    mex("forget", gone["id"])
    add("上海", "basic_info.location", "--expires", "2020-01-01")
    assert profile().strip() == "# 用户画像"


def test_product_e1_the_profile_is_byte_identical_while_nothing_changed() -> None:
    """Prompt caches stay warm; a read changes nothing; --explain says what was cut."""
    for number in range(5):
        add(f"第{number}门语言", "work.tech_stack")
    first = profile()
    mex("search", "--keyword", "语言")
    assert profile() == first
    assert mex("profile", "--explain").out.strip()


def test_seed_6_2_json_holds_the_same_text() -> None:
    """{profile: text}."""
    add("小陈", "basic_info.name")
    assert mex("profile", "--json").json["profile"].strip() == profile().strip()
    assert "小陈" in json.dumps(mex("--json", "profile").json, ensure_ascii=False)


def test_seed_6_2_in_english_the_headings_are_english() -> None:
    """Product A4: --lang decides, the slots are the same."""
    mex("--lang", "en", "init")
    add("Lin", "basic_info.name", "--confidence", "inferred")
    text = mex("--lang", "en", "profile").out
    assert "Lin" in text
    assert "推断" not in text
    assert text.startswith("# ")


def test_product_c6_the_earlier_value_stands_beside_a_doubt(model: ModelServer) -> None:
    """Until it is reviewed, the profile shows the earlier value beside it."""
    add("上海", "basic_info.location")
    said(
        model,
        "说不定就去深圳长住",
        candidate("basic_info.location", "深圳", "说不定就去深圳长住", action="uncertain_update"),
    )
    line = next(line for line in profile().splitlines() if "现居地" in line)
    assert "深圳" in line
    assert "上海" in line
    assert "待确认" in line

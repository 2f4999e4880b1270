"""`mex add`, `update`, `get`, `list`, `search`, `profile`, by the sections of the design they come from."""

import json
import shlex
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.program import contents, mex

WORK = ("--topic", "work", "--sub-topic")


def add(*arguments: str, **environment: str) -> dict[str, Any]:
    """Add a memory and return it."""
    return dict(mex("add", *arguments, "--json", **environment).json)


def test_adr_6_a_topic_that_is_not_declared_is_refused_with_the_nearest() -> None:
    """The seed's example, in its words."""
    refused = mex("--lang", "zh", "add", "--topic", "job", "--sub-topic", "company", "--content", "华为", ok=False)
    assert refused.code == 1
    assert "topic 'job' 未在 schema.yaml 定义" in refused.err
    assert "work" in refused.err
    unknown = mex("add", "--topic", "work", "--sub-topic", "employer", "--content", "华为", ok=False)
    assert unknown.code == 1
    assert "company" in unknown.err
    assert contents() == []


def test_seed_3_5_a_unique_slot_takes_one_value_and_many_slots_grow() -> None:
    """Occupied: the id and the way to replace it are told."""
    first = add(*WORK, "company", "--content", "远光软件")
    refused = mex("add", *WORK, "company", "--content", "前进云", ok=False)
    assert refused.code == 1
    assert f"mex update {first['id']} --content '前进云'" in refused.err
    for skill in ("Python", "Go", "Go"):
        add(*WORK, "tech_stack", "--content", skill)
    assert contents() == ["Go", "Go", "Python", "远光软件"]


def test_seed_3_5_a_unique_slot_holds_under_concurrency() -> None:
    """Looked up inside the write transaction: of eight at once exactly one wins."""
    mex("init")
    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(lambda n: mex("add", *WORK, "company", "--content", f"公司{n}", ok=False).code, range(8)))
    assert sorted(codes) == [0, 1, 1, 1, 1, 1, 1, 1]
    assert len(contents()) == 1


def test_seed_3_4_structured_content_is_checked_and_shown_as_text() -> None:
    """Keys, required, times; "至今" only as an end."""
    bad = {
        '{"start": "2019"}': "content_missing_field",
        '{"start": "2019", "end": "至今", "company": "X", "boss": "Y"}': "content_unknown_field",
        '{"start": "至今", "end": "2020", "company": "X"}': "content_bad_time",
        '{"start": "2019-13", "end": "2020", "company": "X"}': "content_bad_time",
        '{"start": 2019, "end": "2020", "company": "X"}': "content_not_text_field",
        "在远光软件工作": "content_not_json",
    }
    for content, code in bad.items():
        refused = mex("--json", "add", *WORK, "experience", "--content", content, ok=False)
        assert (refused.code, json.loads(refused.err.splitlines()[-1])["code"]) == (1, code)
    memory = add(*WORK, "experience", "--content", '{"company": "远光", "end": "至今", "start": "2019-03"}')
    assert memory["content"] == '{"start": "2019-03", "end": "至今", "company": "远光"}'
    listed = mex("--lang", "zh", "list").out
    assert "：2019-03；" in listed
    assert "{" not in listed


def test_seed_3_3_and_f4_an_agent_is_never_sure() -> None:
    """A person confirms; what an agent writes is explicit at most."""
    assert add("--content", "a")["confidence"] == "confirmed"
    assert add("--content", "b", "--by", "ai", "--confidence", "confirmed")["confidence"] == "explicit"
    inside_an_agent = add("--content", "c", CLAUDECODE="1")
    assert inside_an_agent["confidence"] == "explicit"
    assert mex("get", inside_an_agent["id"]).json["history"][0]["actor"] == "ai"


def test_adr_11_expired_memories_are_not_shown_and_a_date_means_its_last_second() -> None:
    """Absolute local dates and date-times only (product G2)."""
    dated = add("--content", "有效", "--expires", "2099-01-01", TZ="Asia/Shanghai")
    assert dated["expires_at"] == "2099-01-01T15:59:59Z"
    timed = add("--content", "也有效", "--expires", "2099-01-01 08:00:00", TZ="Asia/Shanghai")
    assert timed["expires_at"] == "2099-01-01T00:00:00Z"
    past = mex("add", "--content", "过期", "--expires", "2020-01-01", "--json")
    assert "past" in past.err
    assert contents() == ["也有效", "有效"]
    for wrong in ("24h", "2099-02-30", "tomorrow", ""):
        assert mex("add", "--content", "x", "--expires", wrong or " ", ok=False).code == 1
    cleared = mex("update", past.json["id"], "--clear-expires", "--json").json
    assert cleared["expires_at"] is None
    assert "过期" in contents()


def test_seed_5_1_update_changes_one_memory_and_keeps_its_past() -> None:
    """History has the old and the new; a prefix of eight characters is enough."""
    memory = add(*WORK, "company", "--content", "远光软件")
    mex("update", memory["id"][:8], "--content", "前进云", "--confidence", "explicit")
    shown = mex("get", memory["id"]).json
    assert (shown["content"], shown["confidence"]) == ("前进云", "explicit")
    last = shown["history"][-1]
    assert (last["event"], last["old_content"], last["new_content"], last["actor"]) == (
        "update", "远光软件", "前进云", "user",
    )  # fmt: skip
    for arguments in ([memory["id"]], ["00000000"], ["zz"], [memory["id"], "--content", " "]):
        assert mex("update", *arguments, ok=False).code == 1


def test_seed_5_1_list_pages_and_says_what_is_left() -> None:
    """Ten a page for people, all for programs."""
    for number in range(12):
        add("--content", f"第{number:02}条")
    first = mex("list").out
    assert first.startswith("1. ")
    assert "Showing 1-10 of 12, 2 more: --offset 10" in first
    assert "11. " in mex("list", "--offset", "10").out
    everything = [one["content"] for one in mex("list", "--json").json]
    assert everything == [f"第{number:02}条" for number in reversed(range(12))]
    assert len(mex("list", "--json", "--limit", "5", "--offset", "10").json) == 2
    assert mex("list", "--all").out == mex("list", "--limit", "0").out
    for wrong in (["--limit", "-1"], ["--all", "--limit", "3"], ["--sub-topic", "name"]):
        assert mex("list", *wrong, ok=False).code == 1


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("失恋", ["最近失恋了"]),
        ("恋", ["最近失恋了"]),
        ("ytho", ["在学 Python 和 C++"]),
        ("c++", ["在学 Python 和 C++"]),
        ("基金 焦虑", ["基金跌了，有点焦虑"]),
        ("topic:work", []),
        ('"NEAR(', []),
        ("🐈", ["养了一只🐈"]),
    ],
)
def test_b2_any_substring_finds_its_memory(words: str, found: list[str]) -> None:
    """Any script, any length; words are literal."""
    for content in ("最近失恋了", "在学 Python 和 C++", "基金跌了，有点焦虑", "养了一只🐈"):
        add("--content", content)
    assert [one["content"] for one in mex("search", "--keyword", words, "--json").json] == found


def test_g2_search_by_slot_and_time() -> None:
    """Spans, dates and date-times; limits after filters."""
    add(*WORK, "company", "--content", "远光软件")
    add("--topic", "work", "--content", "远光年会")
    assert len(mex("search", "--since", "7d", "--json").json) == 2
    assert mex("search", "--until", "2020-01-01", "--json").json == []
    assert [
        one["content"] for one in mex("search", "远光", "--topic", "work", "--sub-topic", "company", "--json").json
    ] == ["远光软件"]
    assert len(mex("search", "远光", "--limit", "1", "--json").json) == 1
    for wrong in (["--since", "soon"], ["--limit", "0"], ["--sub-topic", "company"], ["a", "--keyword", "b"]):
        assert mex("search", *wrong, ok=False).code == 1


def test_seed_6_2_the_profile_in_the_layout_of_the_seed() -> None:
    """Order of the schema, marks, top three with the true count, recent section, structured text."""
    mex("--lang", "zh", "init")
    add("--topic", "basic_info", "--sub-topic", "name", "--content", "小陈")
    add("--topic", "values", "--sub-topic", "risk_preference", "--content", "稳健偏保守", "--confidence", "speculated")
    for skill in ("Python", "Go", "Rust", "SQL"):
        add(*WORK, "tech_stack", "--content", skill)
    add(*WORK, "company", "--content", "远光软件", "--confidence", "inferred")
    add("--topic", "work", "--content", "正在准备明天的架构评审答辩")
    text = mex("--lang", "zh", "profile").out
    assert text.splitlines()[0] == "# 用户画像"
    assert "- 姓名：小陈\n" in text
    assert "远光软件（推断）" in text
    assert "稳健偏保守（待确认）" in text
    assert "（共 4 条，mex search --topic work 查看全部）" in text
    assert text.count("技术栈") == 3
    assert text.endswith("## 近期动态\n- 正在准备明天的架构评审答辩\n")
    assert text.index("## 基础信息") < text.index("## 工作与职业\n") < text.index("## 近期动态")
    assert mex("--lang", "zh", "profile").out == text
    assert "近期动态" not in mex("--lang", "zh", "profile", "--recent-limit", "0").out
    only = mex("--lang", "zh", "profile", "--topics", "values").out
    assert "小陈" not in only
    assert "风险偏好" in only
    assert mex("profile", "--topics", "job", ok=False).code == 1
    assert len(mex("--lang", "zh", "profile", "--max-tokens", "60").out) < len(text)


def test_g7_json_goes_before_and_after_the_command() -> None:
    """The same object either way."""
    add("--content", "x")
    assert mex("--json", "list").out == mex("list", "--json").out
    error = mex("--json", "get", "00000000", ok=False)
    assert error.out == ""
    assert set(json.loads(error.err)) == {"code", "message", "hint", "retryable"}


def test_g8_the_command_alone_says_where_things_stand() -> None:
    """Six lines, the next step, exit 0; the option parser's errors are the user's."""
    alone = mex()
    assert len(alone.out.splitlines()) == 6
    assert "mex add" in alone.out
    assert mex("--version").out.startswith("mex 0.")
    assert mex("--help").code == 0
    for wrong in (["nosuch"], ["add"], ["list", "--limit", "x"], ["add", "--content", "x", "--confidence", "sure"]):
        assert mex(*wrong, ok=False).code == 1


def test_seed_3_5_a_value_that_becomes_visible_again_needs_its_slot_free() -> None:
    """An expired value never comes back beside the one that took its slot."""
    old = add("--topic", "basic_info", "--sub-topic", "location", "--content", "上海", "--expires", "2020-01-01")
    add("--topic", "basic_info", "--sub-topic", "location", "--content", "杭州")
    for option in (["--clear-expires"], ["--expires", "2099-01-01"]):
        refused = mex("--json", "update", old["id"], *option, ok=False)
        assert (refused.code, json.loads(refused.err)["code"]) == (1, "slot_occupied")
    assert contents() == ["杭州"]


def test_f4_a_person_vouches_for_a_new_value_and_an_agent_raises_a_doubt() -> None:
    """What a model said of the old value goes; over a confirmed one an agent's word shows as such (product C6)."""
    memory = add(*WORK, "company", "--content", "甲公司", "--by", "ai")
    mine = mex("update", memory["id"], "--content", "乙公司", "--json").json
    assert (mine["confidence"], mine["is_ai_inferred"], mine["evidence"]) == ("confirmed", False, None)
    theirs = mex("update", memory["id"], "--content", "丙公司", "--by", "ai", "--json").json
    assert (theirs["confidence"], theirs["is_ai_inferred"]) == ("uncertain", True)
    assert "丙公司 (unconfirmed; before: 乙公司)" in mex("profile").out


def test_the_hint_of_an_occupied_slot_can_be_pasted_into_a_shell() -> None:
    """Whatever the content holds."""
    add(*WORK, "company", "--content", "a")
    content = "q\"w$HOME`id`'; rm -rf /"
    refused = mex("add", *WORK, "company", "--content", content, ok=False)
    command = refused.err.split("--content ", 1)[1]
    assert shlex.split(command) == [content]

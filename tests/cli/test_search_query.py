"""`mex search`: the query and its operators, literal keywords, past values, projects (product E4, B3, roadmap 2)."""

import json
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.domain.memory import Confidence
from tests.support import past
from tests.support.program import mex


def found(*arguments: str, **environment: str) -> list[str]:
    return [one["content"] for one in mex("search", *arguments, "--json", **environment).json]


def refused(*arguments: str) -> tuple[str, str]:
    """The code and the message of an error of the user's."""
    ran = mex("--json", "search", *arguments, ok=False)
    assert (ran.code, ran.out) == (1, "")
    error = json.loads(ran.err.splitlines()[-1])
    return error["code"], error["message"]


@pytest.fixture
def several() -> None:
    for day, (slot, content, given) in enumerate(
        [
            ("work.company", "远光软件", {}),
            ("work", "基金软件上线，有点焦虑", {}),
            ("finance", "焦虑：今天基金跌了", {"confidence": Confidence.EXPLICIT}),
            ("health", "体检 12:30 在 http://clinic.example/a", {}),
            (None, "topic:work 是一种写法", {}),
            (None, "Read Ｐｙｔｈｏｎ at the Café", {}),
        ],
        1,
    ):
        past.add(f"2026-03-0{day}T08:00:00Z", slot, content, **given)


@pytest.mark.usefixtures("several")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("焦虑 基金", {"基金软件上线，有点焦虑", "焦虑：今天基金跌了"}),
        ('"基金 焦虑"', set()),
        ('"基金软件"', {"基金软件上线，有点焦虑"}),
        ("“今天基金”", {"焦虑：今天基金跌了"}),
        ("基金 -软件", {"焦虑：今天基金跌了"}),
        ('基金 -"有点焦虑"', {"焦虑：今天基金跌了"}),
        ("topic:work", {"远光软件", "基金软件上线，有点焦虑"}),
        ("topic：work 软件", {"远光软件", "基金软件上线，有点焦虑"}),
        ("topic:work.company", {"远光软件"}),
        ("topic:nothing", set()),
        ("since:2026-03-03 until:2026-03-04", {"焦虑：今天基金跌了", "体检 12:30 在 http://clinic.example/a"}),
        ("confidence:explicit", {"焦虑：今天基金跌了"}),
        ("inferred:yes", set()),
        ("inferred:no topic:health", {"体检 12:30 在 http://clinic.example/a"}),
        ("12:30 http://clinic", {"体检 12:30 在 http://clinic.example/a"}),
        ("python cafe", {"Read Ｐｙｔｈｏｎ at the Café"}),
        ('"topic:work"', {"topic:work 是一种写法"}),
    ],
)
def test_e4_the_query_has_phrases_negations_and_operators(query: str, expected: set[str]) -> None:
    assert set(found(query)) == expected


@pytest.mark.usefixtures("several")
def test_e4_only_negations_list_what_remains_newest_first() -> None:
    assert [one["content"] for one in mex("--json", "search", "--", "-基金 -体检").json] == [
        "Read Ｐｙｔｈｏｎ at the Café",
        "topic:work 是一种写法",
        "远光软件",
    ]


@pytest.mark.usefixtures("several")
@pytest.mark.parametrize(
    ("keyword", "expected"),
    [("topic:work", ["topic:work 是一种写法"]), ("-软件", []), ("since:7d", []), ('"基金"', []), ("", None)],
)
def test_e4_a_keyword_is_always_literal(keyword: str, expected: list[str] | None) -> None:
    assert found("--keyword", keyword) == (found() if expected is None else expected)


@pytest.mark.usefixtures("several")
def test_e4_a_bad_operator_is_named_with_what_it_takes() -> None:
    for query, code, named in (
        ("since:soon", "bad_operator", "since:"),
        ("inferred:maybe", "bad_operator", "inferred:"),
        ("confidence:sure", "bad_operator", "confidence:"),
        ("topic:", "bad_operator", "topic:"),
        ("x -topic:work", "negated_operator", "topic:"),
        ("topic:work topic:health", "operator_twice", "topic"),
    ):
        assert refused(query) == (code, refused(query)[1])
        assert named in refused(query)[1]
    assert refused("topic:work", "--topic", "health")[0] == "operator_twice"
    assert refused("a", "--keyword", "b")[0] == "query_and_keyword"
    assert "yes, no" in mex("search", "inferred:maybe", ok=False).err


def test_fault_6_limits_count_after_every_filter() -> None:
    for number in range(12):
        past.add(f"2026-03-01T08:00:{number:02}Z", "work" if number % 2 else "health", f"晨会 第{number}次 -记录")
    newest = [f"晨会 第{number}次 -记录" for number in (11, 9, 7)]
    for words in (["晨会"], ["晨会 记录"], ["晨会 -寓言"], ["--keyword", "晨会"]):
        assert found(*words, "--topic", "work", "--limit", "3") == newest, words
        assert found(*words, "--topic", "work", "--limit", "2", "--offset", "1") == newest[1:], words
        assert found(*words, "--offset", "12") == [], words
    assert len(found("晨会 -第1")) == 9
    for wrong in (["--limit", "0"], ["--limit", "1001"], ["--offset", "-1"]):
        mex("search", *wrong, ok=False)
        assert refused(*wrong)[0] in ("limit_out_of_range", "number_out_of_range")


def test_b9_equal_times_are_ordered_by_what_came_later() -> None:
    for number in range(9):
        past.add("2026-03-01T08:00:00Z", None, f"同一秒 {number}")
    expected = [f"同一秒 {number}" for number in reversed(range(9))]
    assert found() == found("同一秒") == found("同 秒") == found("--known-at", "1d") == expected


def test_fault_7_forgotten_and_expired_ones_are_found_whatever_the_length() -> None:
    past.forget("2026-03-02T08:00:00Z", past.add("2026-03-01T08:00:00Z", None, "养了一只猫"))
    past.add("2026-03-01T09:00:00Z", None, "猫粮打折", expires="2026-03-02")
    for words in (["猫"], ["--keyword", "猫"], ["--keyword", "一只猫"], ["猫 养了"]):
        assert found(*words) == []
        assert "养了一只猫" in found(*words, "--include-forgotten")
    shown = mex("search", "猫", "--include-forgotten").out
    assert "[forgotten]" in shown
    assert "[expired]" in shown
    assert "[forgotten]" in mex("list", "--include-forgotten").out
    assert len(mex("list", "--include-forgotten", "--json").json) == 2
    assert mex("list", "--json").json == []


def with_history(*arguments: str) -> list[dict[str, Any]]:
    return list(mex("search", "--history", *arguments, "--json").json)


def test_roadmap_2_past_values_are_found_dated_and_flagged() -> None:
    home = past.add("2026-01-05T08:00:00Z", "basic_info.location", "上海")
    past.update("2026-03-05T08:00:00Z", home, content="杭州")
    past.add("2026-03-06T08:00:00Z", None, "去上海出差")
    assert found("上海") == ["去上海出差"]
    now, then = with_history("上海")
    assert (now["content"], now["superseded"]) == ("去上海出差", False)
    assert (then["content"], then["superseded"]) == ("上海", True)
    assert (then["id"], then["valid_from"], then["valid_to"]) == (
        home.id,
        "2026-01-05T08:00:00Z",
        "2026-03-05T08:00:00Z",
    )
    assert [one["content"] for one in with_history("--keyword", "上海", "--topic", "basic_info")] == ["上海"]
    assert [one["content"] for one in with_history("上 海 -出差")] == ["上海"]
    assert [one["content"] for one in with_history("海", "--limit", "1", "--offset", "1")] == ["上海"]
    assert "[superseded, 2026-01-05 to 2026-03-05]" in mex("search", "--history", "上海", TZ="UTC").out
    assert "[已被取代，2026-01-05 至 2026-03-05]" in mex("--lang", "zh", "search", "--history", "上海", TZ="UTC").out


def test_roadmap_2_the_value_behind_a_declined_doubt_is_found_and_what_was_deleted_for_good_is_not() -> None:
    doubt = past.add("2026-01-05T08:00:00Z", "basic_info.location", "上海")
    doubt = past.update("2026-02-05T08:00:00Z", doubt, content="深圳")
    past.forget("2026-02-06T08:00:00Z", doubt, "declined")
    assert [one["content"] for one in with_history("上海")] == ["上海"]
    assert with_history("深圳") == []
    past.delete_for_good("2026-02-07T08:00:00Z", doubt)
    assert with_history("上海") == []


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    """Memories said in a project, below it, beside it, and by hand."""
    root = tmp_path / "work"
    (root / "app" / "sub").mkdir(parents=True)
    for folder, content in (("app", "甲"), ("app/sub", "乙"), ("apple", "丙")):
        past.came_from(past.add("2026-03-01T08:00:00Z", "work.tech_stack", content), str(root / folder))
        past.came_from(past.add("2026-03-01T08:00:00Z", None, f"记录{content}"), str(root / folder))
    past.add("2026-03-01T08:00:00Z", None, "手写")
    return root


def test_b3_project_filters_search_list_and_profile(projects: Path) -> None:
    inside = {"甲", "乙", "记录甲", "记录乙"}
    for name in (str(projects / "app"), str(projects / "app") + "/", str(projects / "app" / "sub" / "..")):
        assert set(found("--project", name)) == inside
        assert {one["content"] for one in mex("list", "--project", name, "--json").json} == inside
    assert found("记录", "--project", str(projects / "app" / "sub")) == ["记录乙"]
    assert set(found("--project", str(projects / "app"), "--as-of", "2026-03-02")) == inside
    assert {one["content"] for one in with_history("--project", str(projects / "app"))} == inside
    assert "Showing 1-1 of 4" in mex("list", "--project", str(projects / "app"), "--limit", "1").out
    assert len(found("--project", "/")) == 6
    shown = mex("--lang", "zh", "profile", "--project", str(projects / "app"), "--as-of", "2026-03-02").out
    assert shown == "# 用户画像\n## 工作与职业\n- 技术栈/技能：乙\n- 技术栈/技能：甲\n## 近期动态\n- 记录乙\n- 记录甲\n"
    assert "乙" in mex("profile", "--project", str(projects)).out
    assert "丙" not in mex("profile", "--project", str(projects / "app")).out


def test_b3_a_project_may_be_the_folder_one_is_in(projects: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(projects / "app" / "sub")
    (projects / "link").symlink_to(projects / "app")
    assert set(found("--project", ".")) == {"乙", "记录乙"}
    assert set(found("--project", str(projects / "link" / "sub"))) == {"乙", "记录乙"}


def test_list_wants_a_topic_with_a_sub_topic_and_an_unknown_topic_is_empty() -> None:
    past.add("2026-03-01T08:00:00Z", "work.company", "远光")
    assert mex("list", "--sub-topic", "company", ok=False).code == 1
    assert mex("search", "--sub-topic", "company", ok=False).code == 1
    assert mex("list", "--topic", "job", "--json").json == []
    assert [one["content"] for one in mex("list", "--topic", "work", "--sub-topic", "company", "--json").json] == [
        "远光"
    ]

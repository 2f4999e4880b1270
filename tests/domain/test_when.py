"""Relative time words in a content (product B4): resolved, refused, or left because they are none."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mex_pipeline.domain.candidate import Action, Candidate, Discarded
from mex_pipeline.domain.when import Resolved, Unresolved, in_absolute_time, resolve
from tests.domain.examples import proposal


def at(*parts: int) -> datetime:
    """A moment on the local clock."""
    year, month, day, hour, minute = parts
    return datetime(year, month, day, hour, minute, tzinfo=UTC)


MONDAY = at(2026, 11, 30, 21, 30)
"""The last day of a month, late in the evening."""

CHINESE = """
明天去深圳出差 → 2026-12-01去深圳出差
用户明天3点开会 → 用户2026-12-01 3点开会
老板说明天开会 → 老板说2026-12-01开会
今晚上吃火锅，昨晚失眠 → 2026-11-30晚上吃火锅，2026-11-29晚上失眠
明早体检 → 2026-12-01早上体检
后天下午面试 → 2026-12-02下午面试
后天的会议改期 → 2026-12-02的会议改期
大后天体检，前天买车，大前天看车 → 2026-12-03体检，2026-11-28买车，2026-11-27看车
今儿去公园 → 2026-11-30去公园
後天去台北，下週三開會 → 2026-12-02去台北，2026-12-09開會
上周五和下周三开会 → 2026-11-27和2026-12-09开会
上周去了成都 → 2026-11-23～2026-11-29去了成都
上周一直下雨 → 2026-11-23～2026-11-29一直下雨
下周日程很满，下周日回家 → 2026-12-07～2026-12-13日程很满，2026-12-13回家
下下个礼拜天搬家 → 2026-12-20搬家
这周末爬山，本周五交稿 → 2026-12-05～2026-12-06爬山，2026-12-04交稿
上个月入职，下月搬家 → 2026-10入职，2026-12搬家
下个月5号搬家 → 2026-12-05搬家
上个月底离职 → 2026-10底离职
去年3月5日毕业 → 2025-03-05毕业
去年三月毕业，前年入学 → 2025-03毕业，2024年入学
明年结婚，后年买房，今年存钱 → 2027年结婚，2028年买房，2026年存钱
明年初去日本 → 2027年初去日本
三天后出发 → 2026-12-03出发
为了三天后的面试准备 → 为了2026-12-03的面试准备
女儿两周前出生 → 女儿2026-11-16出生
两周前面试了字节 → 2026-11-16面试了字节
两年前任职于华为 → 2024年任职于华为
三个月前搬家，十二天后复查 → 2026-08搬家，2026-12-12复查
三小时后开会 → 2026-12-01开会
刚才吃过饭 → 2026-11-30吃过饭
半年前开始学吉他 → 2026-11-30之前半年开始学吉他
用户前几天感冒 → 用户2026-11-30之前几天感冒
这几天感冒 → 2026-11-30前后感冒
过去三年一直写Go，未来两周出差 → 2023～2026年一直写Go，2026-11-30～2026-12-14出差
年底搬家，月底交稿 → 2026年底搬家，2026-11底交稿
下半年换工作 → 2026年下半年换工作
这个季度完成迁移 → 2026年第4季度完成迁移
下学期选修日语 → 2026-11-30之后的学期选修日语
今天（2026-11-30）入职 → 2026-11-30入职
"""

ENGLISH = """
Flies to Shenzhen tomorrow → Flies to Shenzhen 2026-12-01
Tomorrow is the exam. Yesterday was the rehearsal. → 2026-12-01 is the exam. 2026-11-29 was the rehearsal.
tomorrow's meeting, later today → 2026-12-01's meeting, 2026-11-30
leaves the day after tomorrow → leaves 2026-12-02
slept badly last night, dinner tonight → slept badly 2026-11-29 night, dinner 2026-11-30 evening
ran 5 km this morning → ran 5 km 2026-11-30 morning
met Ann last Friday → met Ann 2026-11-27
dentist this Friday → dentist 2026-12-04
dentist next Friday → dentist 2026-12-11
moves on Monday next week → moves on 2026-12-07
was in Paris last week → was in Paris 2026-11-23 to 2026-11-29
hikes next weekend → hikes 2026-12-12 to 2026-12-13
moved last year, marries next month → moved 2025, marries 2026-12
graduated last May, starts next March → graduated 2026-05, starts 2027-03
interned last summer → interned the summer before 2026-11-30
exam in 3 days → exam 2026-12-03
The user will move in two weeks → The user will move 2026-12-14
Moving in a month → Moving 2026-12
started two weeks ago → started 2026-11-16
quit three years ago → quit 2023
had a cold a few days ago → had a cold a few days before 2026-11-30
joined two and a half years ago → joined two and a half years before 2026-11-30
wrote Go for the past three years → wrote Go for 2023 to 2026
report at the end of the month → report at the end of 2026-11
saw it the other day → saw it shortly before 2026-11-30
had lunch just now → had lunch 2026-11-30
"""

NO_TIME = """
今日头条算法工程师
喜欢看《明天会更好》
在明天系旗下公司工作
玩明日方舟
后天努力比先天天赋重要
聪明天真
文明天下
透明天花板
以前天气好
然后天黑了
前天津队球员
失去年轻的感觉
如今年轻人爱喝茶
如今儿子上学了
日本周边游
样本周期
基本月薪2万
早上周会，线上周会，线下周会
马上周末了
晚上月亮很圆
上学期间做过家教
做了两年前端开发
五年后端经验
3年前端，5年后端
入职三天后离职
毕业两年后去了北京
学了三年后放弃了
出发前两天很紧张
2023年后搬到上海
90年后出生
5月前完成
每天跑步，每周五开会，每月底对账，每年年底体检
周末爬山，周五练琴
最近在学Rust，目前在职
接近两年没运动
2026年底搬家
时至今日仍在写作
Fan of Tomorrowland
Works at USA Today
Reads the Daily
Watches the Tonight Show and Last Week Tonight
Loves "Yesterday" by the Beatles
mail tomorrow@example.com, tomorrow.io
Plays tennis every Friday and on Saturdays
Recently learning Rust, currently in Paris
Learned Go in 3 weeks
Ran a marathon in 4 hours
Drinks 5 coffees in a day
Pays rent at the end of the month, every time
the last week of December
my last year at university
Next to the bank, last name Li
in 2019
3 years of experience, 30 years old
"""


def lines(table: str) -> list[str]:
    return [line for line in table.splitlines() if line]


@pytest.mark.parametrize("line", lines(CHINESE) + lines(ENGLISH))
def test_b4_relative_words_become_the_dates_they_meant(line: str) -> None:
    content, expected = line.split(" → ")
    resolved = resolve(content, MONDAY)
    assert isinstance(resolved, Resolved)
    assert resolved.content == expected


@pytest.mark.parametrize("content", lines(NO_TIME))
def test_b4_words_that_are_no_relative_time_are_left_and_need_no_moment(content: str) -> None:
    assert resolve(content, MONDAY) == Resolved(content)
    assert resolve(content, None) == Resolved(content)


@pytest.mark.parametrize("line", lines(CHINESE) + lines(ENGLISH))
def test_b4_without_a_moment_the_word_is_named(line: str) -> None:
    content = line.split(" → ", maxsplit=1)[0]
    unresolved = resolve(content, None)
    assert isinstance(unresolved, Unresolved)
    assert unresolved.word
    assert unresolved.word in content


@pytest.mark.parametrize("line", lines(CHINESE) + lines(ENGLISH))
def test_what_has_been_resolved_is_absolute(line: str) -> None:
    expected = line.split(" → ")[1]
    assert resolve(expected, None) == Resolved(expected)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (at(2024, 2, 28, 23, 59), "2024-02-29"),
        (at(2023, 2, 28, 0, 0), "2023-03-01"),
        (at(2026, 12, 31, 12, 0), "2027-01-01"),
    ],
)
def test_the_calendar_is_counted_across_its_edges(said: datetime, expected: str) -> None:
    assert resolve("明天", said) == Resolved(expected, (expected,))


def test_a_week_begins_on_monday() -> None:
    sunday = at(2026, 11, 29, 12, 0)
    assert resolve("下周一", sunday) == Resolved("2026-11-30", ("2026-11-30",))
    assert resolve("this Friday", sunday) == Resolved("2026-12-04", ("2026-12-04",))
    assert resolve("last Sunday", sunday) == Resolved("2026-11-22", ("2026-11-22",))


@pytest.mark.parametrize(
    "content", ["下个月31号体检", "999 years from now", "九百九十九年后", "去年2月30日", "二二天后"]
)
def test_a_date_that_is_not_in_the_calendar_cannot_be_told(content: str) -> None:
    assert isinstance(resolve(content, at(9999, 3, 1, 0, 0)), Unresolved)


@given(
    st.text(st.sampled_from("上下这本前后去今明昨大个周月年天日号三十百0159底末 aintheslwekm'’ \n"), max_size=30),
    st.datetimes(),
)
def test_any_content_at_any_moment_is_survived(content: str, said: datetime) -> None:
    resolved = resolve(content, said)
    if isinstance(resolved, Unresolved):
        assert resolved.word in content


def dated(candidate: Candidate) -> Candidate:
    result = in_absolute_time(candidate, MONDAY)
    assert isinstance(result, Candidate), result
    return result


def test_b4_a_candidate_without_a_date_gets_the_one_its_content_names() -> None:
    said = proposal(None, "昨天拔牙", quote="昨天拔牙", evidence="用户说「昨天拔牙」")
    result = dated(said)
    assert (result.content, result.occurred_at) == ("2026-11-29拔牙", "2026-11-29")
    assert (result.quote, result.evidence) == ("昨天拔牙", "用户说「昨天拔牙」")
    assert dated(proposal(None, "昨天拔牙", occurred_at="2026-11")).occurred_at == "2026-11"
    assert dated(proposal(None, "昨天买票，明天出发")).occurred_at is None
    assert dated(proposal(None, "上周拔牙")).occurred_at is None
    assert dated(proposal(None, "去年入职")).occurred_at == "2025"


def test_b4_a_candidate_that_cannot_be_told_is_discarded_with_the_word() -> None:
    assert in_absolute_time(proposal("goals", "明天去深圳"), None) == Discarded(
        "明天去深圳", "relative_time", {"word": "明天"}
    )


def test_b4_the_fields_of_a_structured_content_are_resolved_one_by_one() -> None:
    content = '{"goal": "下周前交稿", "deadline": "去年"}'
    result = dated(proposal("goals.short_term_goal", content))
    assert result.content == '{"goal": "2026-12-07～2026-12-13前交稿", "deadline": "2025"}'


def test_seed_7_2_a_retire_repeats_what_is_known_word_for_word() -> None:
    """A person may have typed it with a relative word: a hand-made memory has no such rule."""
    known = proposal("work.tech_stack", "明天开始学Go", action=Action.RETIRE)
    assert in_absolute_time(known, None) is known

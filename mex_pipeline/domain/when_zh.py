"""Relative time in Chinese: the words, and what they are mistaken for (product B4)."""

import re
from datetime import date, datetime

from mex_pipeline.domain.span import (
    Found,
    Span,
    between,
    day,
    month,
    of_day,
    of_month,
    rule,
    stepped,
    stretch,
    weekday,
    year,
)

_JOINT = "～"
_NUMERALS = {one: number for number, one in enumerate("零一二三四五六七八九")} | {"两": 2}
_UNITS = {
    "分钟": "minute", "小时": "hour", "钟头": "hour", "天": "day", "周": "week", "星期": "week", "礼拜": "week",
    "月": "month", "年": "year",
}  # fmt: skip
_WEEKDAYS = {one: number for number, one in enumerate("一二三四五六日")} | {"天": 6}
_STEPS = {"大前": -3, "前": -2, "昨": -1, "去": -1, "今": 0, "本": 0, "明": 1, "来": 1, "后": 2, "大后": 3}
_PARTS = {"早": "早上", "晨": "清晨", "晚": "晚上", "夜": "夜里"}

_NUMBER = r"(?P<number>[0-9]{1,3}|[一二两三四五六七八九十百]{1,5})"
_UNIT = r"(?:个?(?P<unit>分钟|小时|钟头|天|周|星期|礼拜|年|(?<=个)月))"
_DAY_OF_MONTH = r"(?P<day>[0-9]{1,2}|[一二三四五六七八九十]{1,3})[日号]"
# 前端, 后台, 前女友 and the like make no "ago" and no "later" of a number before them.
_AGO = (
    r"[以之]?前(?!端|台(?![风湾])|锋|景|期|后|往|任(?![职教命务])|面(?![试谈向])|线(?![上下])|沿|途(?!经)|辈|夫|妻|女友|男友"
    r"|员工|身(?!体)|方(?!案)|瞻|缀|夜|置(?![办业])|排(?![队练])|言)"
)
_LATER = (
    r"[以之]?后(?!端|台(?![风湾])|卫|勤|面(?![试谈])|期(?![待望末中])|续(?![签约租费])|悔|院|果(?![然断])|代(?![表替课购])"
    r"|备(?![考孕份案])|座(?!谈)|门|排(?![队练])|援|处(?!理)|半|裔)"
)
# What is counted from an event ("入职三天后", "学了两年后") is told by that event.
_EVENTS = (
    "毕业 入职 离职 辞职 跳槽 结婚 离婚 婚 恋爱 分手 出生 去世 考试 高考 面试 手术 术 住院 出院 开学 放学 开业 上线 发布 "
    "回国 回家 搬家 到达 抵达 签约 签合同 确诊 开工 完工 完成 创业 成立 上市 退休 怀孕 产 培训 训练 学习 服药 治疗 使用 工作 "
    "下班 上班 饭 餐 截止 到期 开始 结束 过 满 每 隔 第 之"
)
_NO_EVENT = "".join(f"(?<!{one})" for one in _EVENTS.split()) + "(?<!(?<!为)了)(?<![0-9.])"
_CLAUSE_START = r"(?:(?<![\u4e00-\u9fff])|(?<=[我他她于在们])|(?<=用户))"

_WHICH = (
    r"(?P<which>(?<![早晚马以上线网楼路街班身地])上{1,2}|(?<![楼乡手当天地下线底旗名私余以])下{1,2}|这"
    r"|(?<![日基样课资成版书剧根原文脚])本)"
)
_WEEK_ONLY = r"(?![期边围年转岁密折全游刊薪]|报(?![告名到销警考]))"
_NAME_OF_DAY = (
    r"(?P<day>末|日(?![本语文常程元记夜子])|天(?![气天空津才数都])|一(?![直起定样共般些致点下旦度半方])"
    r"|[二三四五六](?![手个人天次年名家场级种件位处川]))"
)
_NO_YEAR = r"(?![轻纪龄代少份限薪级])"
_HABIT = re.compile("每|经常|通常|总是|一般|习惯|常常|都会")


def _day(found: Found, said: datetime) -> Span:
    return of_day(day(said, _STEPS[found["step"]]))


def _part_of_day(found: Found, said: datetime) -> Span:
    return of_day(day(said, _STEPS[found["step"]]), _PARTS[found["part"]])


def _today(_: Found, said: datetime) -> Span:
    return of_day(said.date())


def _week(found: Found, said: datetime) -> Span:
    weeks, name = _pointed(found), found["day"]
    if name and name != "末":
        return of_day(weekday(said, weeks, _WEEKDAYS[name]))
    return between(weekday(said, weeks, 5 if name else 0), weekday(said, weeks, 6), _JOINT)


def _month(found: Found, said: datetime) -> Span:
    first = month(said, _pointed(found))
    return of_day(first.replace(day=_number(found["day"]))) if found["day"] else of_month(first)


def _year(found: Found, said: datetime) -> Span:
    when = year(said, _STEPS[found["step"]])
    if not found["month"]:
        return Span(f"{when}年", when)
    first = date(int(when), _number(found["month"]), 1)
    return of_day(first.replace(day=_number(found["day"]))) if found["day"] else of_month(first)


def _quarter(found: Found, said: datetime) -> Span:
    first = month(said, 3 * _pointed(found))
    return Span(f"{first.isoformat()[:4]}年第{(first.month + 2) // 3}季度")


def _half_year(found: Found, said: datetime) -> Span:
    return Span(f"{year(said, 0)}年{found.group()}")


def _end(found: Found, said: datetime) -> Span:
    whole = Span(f"{year(said, 0)}年", year(said, 0)) if found["unit"] == "年" else of_month(said.date())
    return Span(f"{whole.text}底", whole.at)


def _term(found: Found, said: datetime) -> Span:
    where = {"上": "之前的", "下": "之后的"}.get(found["which"], "所在的")
    return Span(f"{said.date().isoformat()}{where}学期")


def _counted(found: Found, said: datetime) -> Span:
    sign = -1 if found["back"] else 1
    span = stepped(said, sign * _number(found["number"]), _UNITS[found["unit"]])
    return Span(f"{span.text}年", span.at) if found["unit"] == "年" else span


def _vague(found: Found, said: datetime) -> Span:
    """What has no date of its own ("半年后", "前几天") is tied to the day it was said on."""
    return Span(f"{said.date().isoformat()}{'之前' if found['back'] else '之后'}{found['amount']}")


def _these_days(_: Found, said: datetime) -> Span:
    return Span(f"{said.date().isoformat()}前后")


def _over(found: Found, said: datetime) -> Span:
    sign = 1 if found["way"] in ("未来", "接下来", "今后") else -1
    span = stretch(said, sign * _number(found["number"]), _UNITS[found["unit"]], _JOINT)
    return Span(f"{span.text}年") if found["unit"] == "年" else span


def _pointed(found: Found) -> int:
    """-2 for 上上, -1 for 上, 1 for 下, 2 for 下下, 0 for 这 and 本."""
    return found["which"].count("下") - found["which"].count("上")


def _number(text: str) -> int:
    """Return a number below a thousand; raises ValueError for numerals that make none."""
    if text.isdecimal():
        return int(text)
    parts = re.fullmatch(r"(?:(\w)百)?零?(?:(\w?)(十))?(\w?)", text)
    if parts is None:
        raise ValueError(text)
    hundreds, tens, ten, ones = parts.groups()
    return 100 * _NUMERALS[hundreds or "零"] + (10 * _NUMERALS[tens or "一"] if ten else 0) + _NUMERALS[ones or "零"]


def _is_habit(found: Found) -> bool:
    return _HABIT.search(found.string) is not None


NAMES = re.compile(
    r"《[^》]*》|今日(?:头条|说法|美术馆|资本|关注|事今日毕)|明日(?:方舟|之|香|叶|边缘|黄花)|昨日(?:重现|青空)|时至今日|今晚报"
    r"|明天(?:系|集团|控股|会更好)|(?:更好|美好|光明|幸福)的明天|先天|后天(?:的|性)?(?:努力|培养|教育|环境|训练|习惯|学习|习得|养成|因素)"
    r"|今天(?:杂志|诗派)|[0-9]0年后"
)
"""Words that only look like relative time: titles, names, and 后天 for what is acquired."""

RULES = (
    rule(r"(?P<step>大[前后])天", _day),
    rule(r"(?P<step>今|(?<![聪透光文])明|昨)(?:天(?![才真花使赋线文体窗])|日)", _day),
    rule(r"(?P<step>(?<!如)今|(?<![聪透光文])明|昨)儿(?:个|(?![子女童媳科孙歌时化]))", _day),
    rule(r"(?P<step>(?<![以之从目当跟眼提年月周期时])前)天(?![天气空才津])", _day),
    rule(r"(?P<step>(?<![以之然今最午雨背过年月周期时])后)天(?![天气空性生津])", _day),
    rule(
        r"(?P<step>今|(?<![聪透光文])明|昨|(?<![以之从目当提])前)(?P<part>晚|早(?!就|已)|晨|夜)(?:上|间|里)?",
        _part_of_day,
    ),
    rule(rf"{_WHICH}(?:一)?个?(?:周|星期|礼拜)(?:{_NAME_OF_DAY}|{_WEEK_ONLY})", _week),
    rule(rf"{_WHICH}一?个?月(?![亮球饼光台色票嫂])份?(?:{_DAY_OF_MONTH})?", _month),
    rule(rf"{_WHICH}一?个?季度", _quarter),
    rule(r"(?P<which>(?<![早晚马以])上|下|这|(?<![日基样课])本)个?学期(?!间)", _term),
    rule(
        r"(?P<step>大[前后]|(?<![过失出])去|(?<![如当至迄])今|(?<![文声透发光聪证])明|(?<![本原后从以近向])来"
        r"|(?<![以之从目当生提年月周])前|(?<![以之今最前0-9零年月周])后|(?<![日基样课资成版书剧根原文脚])本)"
        rf"年{_NO_YEAR}度?(?:的?(?P<month>[0-9]{{1,2}}|[一二三四五六七八九十]{{1,2}})月份?(?:{_DAY_OF_MONTH})?)?",
        _year,
    ),
    rule(r"(?<![年每早晚])[上下]半年", _half_year),
    rule(r"(?<![每各0-9])(?<!年)(?P<unit>年)[底末](?!奖|双薪)", _end, _is_habit),
    rule(r"(?<![每各个0-9一二三四五六七八九十])(?P<unit>月)[底末]", _end, _is_habit),
    rule(
        rf"{_NO_EVENT}(?P<amount>(?:好?几|数)个?(?:分钟|小时|天|周|星期|礼拜|年|(?<=个)月)|[一二两三四五六七八九十0-9]{{0,3}}(?:个半|半个?|年半|天半)"
        rf"(?:小时|钟头|星期|月|年|天|(?<=[年天]半)))(?:(?P<back>{_AGO})|{_LATER})",
        _vague,
    ),
    rule(rf"{_CLAUSE_START}(?:(?P<back>前)|过)(?P<amount>[几两些]天|几个?(?:周|星期|月|年))", _vague),
    rule(r"这[几两]天", _these_days),
    rule(rf"{_NO_EVENT}{_NUMBER}{_UNIT}(?:(?P<back>{_AGO})|{_LATER})", _counted),
    rule(rf"(?P<way>过去|最近|(?<![附接将临靠最])近|未来|接下来|今后)的?这?{_NUMBER}{_UNIT}(?![前后级代])", _over),
    rule(r"刚才|方才", _today),
)
"""The phrases, the longer ones before those they contain."""

"""The few words the domain itself puts into texts, in both languages: profile headings, marks, prompt markers."""

from typing import Literal, NamedTuple

Language = Literal["zh", "en"]


class Words(NamedTuple):
    """The words of one language; `hint`, `unchecked` and `earlier` are templates for `str.format`."""

    title: str
    recent: str
    hint: str
    unconfirmed: str
    inferred: str
    unchecked: str
    earlier: str
    mark: str
    colon: str
    semicolon: str
    many: str
    json_object: str
    required: str
    open_end: str


_WORDS: dict[Language, Words] = {
    "zh": Words(
        title="# 用户画像",
        recent="## 近期动态",
        hint="（共 {total} 条，mex search --topic {topic} 查看全部）",
        unconfirmed="待确认",
        inferred="推断",
        unchecked="{day} 之后未核对",
        earlier="此前：{content}",
        mark="（{text}）",
        colon="：",
        semicolon="；",
        many="[可多条]",
        json_object="JSON 对象",
        required="[必填]",
        open_end="至今",
    ),
    "en": Words(
        title="# User profile",
        recent="## Recent",
        hint="({total} in all, mex search --topic {topic} shows them)",
        unconfirmed="unconfirmed",
        inferred="inferred",
        unchecked="not checked since {day}",
        earlier="before: {content}",
        mark=" ({text})",
        colon=": ",
        semicolon="; ",
        many="[many]",
        json_object="JSON object",
        required="[required]",
        open_end="present",
    ),
}

OPEN_ENDS = frozenset(words.open_end for words in _WORDS.values())
"""What the end of something that still lasts says instead of a date (seed 004 §3.4)."""


def words(language: Language) -> Words:
    """Return the words of `language`; the zh ones are the seed's (seed 004 §6.2, product A4)."""
    return _WORDS[language]

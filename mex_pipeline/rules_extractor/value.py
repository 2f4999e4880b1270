"""What a value must look like to be kept: words that still mean the same when the conversation is gone."""

import re

_PARTICLES = "了的吧呢啊呀哦啦嘛哈 "


def listed(text: str) -> frozenset[str]:
    """Return the words of a comma-separated list, lower-cased."""
    return frozenset(" ".join(word.split()).lower() for word in text.split(",") if word.strip())


def either(text: str) -> str:
    """Return a pattern that matches one of a comma-separated list of patterns; a list may run over several lines."""
    return "(?:" + "|".join(" ".join(part.split()) for part in text.split(",") if part.strip()) + ")"


def english(text: str) -> re.Pattern[str]:
    """Return a pattern that finds one of a comma-separated list of English words or phrases, in any case."""
    return re.compile(rf"\b{either(text)}\b", re.IGNORECASE)


def _cased(text: str) -> str:
    """Return a pattern of whole English words, capitalised or not: all capitals (IT, US) are other words."""
    return r"\b(?:" + "|".join(f"[{word[0].upper()}{word[0]}]{word[1:]}" for word in text.split()) + r")\b"


_POINTING = re.compile(
    either("[这那它], 刚才, 刚刚, 上面, 下面, 以上, 以下, 前面说, 如上, 如下, 上述")
    + r"|(?<!\b[Kk]eep )(?<!\b[Mm]ake )\b[Ii]t\b|"
    + _cased("this that these those its here there above below previous earlier aforementioned")
)
_PERSONS = re.compile(
    either("[我他她你您咱哪谁某], 什么, 怎么, 自己, 大家, 别人, 人家")
    + "|"
    + _cased(
        """
        i he she him her his they them their you your yours we us our me my mine who whom whose which what one ones
        someone somebody everyone anyone something anything everything nothing same such thing things stuff
        """
    )
)
_WHEN = re.compile(
    either(
        r"""
        [今明后昨前]天, 大[前后]天, [今明昨][早晚], 今[年日], 明年, 去年, 前年, 后年, 待会, 等会, 一会儿, 等一下,
        过[几两一], [前这]几天, 这两天, [上下这本]个?(?:周|月|星期|礼拜|季度|学期),
        (?<!每)(?<!每个)(?:周|星期|礼拜)[一二三四五六日天], \b[Rr]ight now\b, \b(?:days?|weeks?|months?|years?) ago\b,
        \bin (?:a|\d+) (?:minute|hour|day|week|month)s?\b,
        \b(?:[Nn]ext|[Ll]ast|[Tt]his|[Cc]oming) (?:week|weekend|month|year|quarter|summer|winter|spring|fall|autumn)\b,
        \b(?:[Nn]ext|[Ll]ast|[Tt]his|[Oo]n) (?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b
        """
    )
    + "|"
    + _cased("today tonight tomorrow yesterday")
)
_THIRD_PERSON_FIRST = re.compile(r"[他她]|(?:he|she|they|him|her|them)\b", re.IGNORECASE)
_IDENTIFIER = re.compile(
    r"[<>|{}\\]|\w_\w|\w\(|(?<!\w)--?\w|\b(?!mac)[a-z]{2,}[A-Z]\w*|(?<!Node)(?<!Next)(?<!Vue)(?<!Three)\."
    + either(
        """
        jsx?, tsx?, py, md, json, ya?ml, toml, go, rs, java, c, h, cpp, sh, txt, csv, html, css, sql, lock, cfg, ini,
        env, log, xml
        """
    )
    + r"\b"
)


def said(text: str) -> str:
    """Return a value without the spaces, signs and Chinese particles around it."""
    return text.strip(" \t~～.。!！,，、'’").rstrip(_PARTICLES).strip()


def is_clear(text: str) -> bool:
    """True for words that point at nothing outside themselves but perhaps a day; "I" and "you" are clear even then."""
    return (
        any(letter.isalnum() for letter in text)
        and text.isprintable()
        and not ("<" in text or _POINTING.search(text) or _THIRD_PERSON_FIRST.match(text))
    )


def stands_alone(text: str) -> bool:
    """True for clear words that hold on any day."""
    return is_clear(text) and not _WHEN.search(text)


def is_plain(text: str) -> bool:
    """True for a value that names something by itself: words that stand alone, without any pronoun."""
    return stands_alone(text) and not _PERSONS.search(text)


def is_code(text: str) -> bool:
    """True when the words hold an identifier, a call, an option or a file name: they are about the work at hand."""
    return _IDENTIFIER.search(text) is not None

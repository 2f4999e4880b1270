"""Whether a value was said of oneself, in earnest and for good: the signs around it in its own sentence (product C11).

The model is asked for all of this (`about`, actions); these are the signs that it overlooked it. They are few and plain:
what they miss is left to the model, what they hit wrongly would be lost.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

_SENTENCE_END = re.compile(r"[。！!；;…\n]+|[？?]+|(?<!\b[A-Z])\.+(?=\s|$)")
_CLAUSE_END = re.compile(r"[，,、：:（(]")
_NUMBER = r"[一二两三四五六七八九十几\d]+"

_PASSING = re.compile(
    rf"""临时|暂时|暂住|借住|借宿|寄养|借调|驻场|代班|顶替|就这一?[次回]|仅此一次|下不为例|今天突然|[今这][天次两].{{0,6}}先不
    |(?:玩|待|住|歇|逗留|停留){_NUMBER}[天晚周]|(?:今天|这周|本周|这两天|这几天|这个星期).{{0,12}}(?:出差|团建|就回|旅游|度假|跟着)
    |团建.{{0,4}}[今昨]天|\b(?:temporar\w+|for\ now|for\ the\ time\ being|just\ (?:for\ )?(?:today|tonight|now|once|this\ \w+)
    |only\ (?:for\ )?(?:today|tonight|this\ (?:once|time|week|weekend|month))|this\ (?:once|week)\ only|on\ loan|filling\ in
    |standing\ in\ for|for\ (?:a\ few|a\ couple\ of|the\ next\ \w+|one|two|three|\d+)\ (?:day|night|week)s?\ (?:only|while)
    |because\ of\ a\ short\ trip)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_WISHED = re.compile(
    r"""要是.*就好了|如果.*(?:就好了|会怎样|会怎么样)|好想(?!你)|真想|真希望|恨不得|值不?值得.*[吗么？?]|值得.{0,4}[吗么？?]
    |好用吗|还没试过|要不要(?:考虑|试)|有机会(?:试试|去试)|以后想试|\bi\ wish\b|\bwhat\ if\b|\bif\ only\b|\bis\ it\ worth\b
    |\bshould\ i\b|\bhaven['’]?t\ tried\b""",
    re.VERBOSE | re.IGNORECASE,
)
_ASKED = re.compile(
    r"""(?:帮我|给我|替我|麻烦|请)[^记，。]{0,24}?(?:找|查|订|搜|选|推荐|看看)|推荐.{0,3}[一个家款下]|给?推荐.{0,2}$|(?:求|有没有).{0,6}推荐
    |(?:想|要|打算|准备|得)(?:再|先|去)?(?:找|订|去|住|吃)[^，。]{0,4}[一个家间]|想找|有没有|哪[里个家儿些]|[吗么呢啊呀吧嘛][？?]|[？?]\s*$
    |\b(?:can|could|would)\ you\ (?:please\ )?(?:find|recommend|suggest|show|book|search|look)|\bfind\ me\b|\bshow\ me\b
    |\b(?:please\ )?(?:recommend|suggest)\ (?:me\ )?(?:an?|some|any|the)\b|\blooking\ for\ (?:an?|some)\b|\?\s*$""",
    re.VERBOSE | re.IGNORECASE,
)
_STATED = re.compile(
    r"我(?:是|在|住|叫|姓|有|用|写|养|吃|喝|爱|对|从|目前|现在|一直|平时|每|不|的|业余|特别|最|主要|喜欢|讨厌|习惯|转岗|换|搬)"
    r"|\b(?:i['’]m(?! looking)|i am(?! looking)|my"
    r"|i (?:live|work|use|have|like|love|hate|prefer|don['’]?t|never|always|own|moved|play|speak))\b",
    re.IGNORECASE,
)
"""What somebody says of himself, though the sentence then asks for something."""

_KIN = (
    r"爸爸?|妈妈?|爹|娘|父亲|母亲|爷爷|奶奶|外公|外婆|姥姥|姥爷|哥哥?|姐姐?|弟弟?|妹妹?|[表堂][哥姐弟妹]|老婆|老公|妻子|丈夫"
    r"|爱人|对象|女朋友|男朋友|女友|男友|儿子|女儿|孩子|[叔舅姑姨]\w?|侄[子女]|岳[父母]|公公|婆婆|同事|同学|室友|舍友|朋友|闺蜜"
    r"|哥们|邻居|老板|领导|上司|下属|师傅|老师|导师|客户|学生"
)
_OTHERS_ZH = re.compile(
    rf"(?:(?:我|咱|我们?的?)?(?:{_KIN})(?:们|家)?|[他她]们?|他们团队|[别隔]\w{{0,2}}组的?\w*|隔壁\w*|我们组新来)"
)
_SELF_ZH = re.compile(rf"我(?!的?(?:{_KIN})|们组新来)|咱|俺|本人")
_OTHERS_EN = re.compile(
    r"""(?:(?:my|our|his|her|their)\ (?:\w+\ )?(?:mom|mum|mother|dad|father|parents?|brother|sister|son|daughter|kids?|wife
    |husband|partner|girlfriend|boyfriend|spouse|cousin|uncle|aunt|nephew|niece|grand\w+|friend|roommate|flatmate|neighbou?r
    |colleague|coworker|co-worker|boss|manager|teammate|team\ lead|teacher|client|customer)s?\b|he\b|she\b|they\b)""",
    re.VERBOSE | re.IGNORECASE,
)
_SELF_EN = re.compile(r"\b(?:i|me|my|we|us|myself)\b", re.IGNORECASE)
_LEAD = re.compile(
    r"[\s\"'“「]*(?:(?:另外|其实|对了|不过|而且|但是?|and|but|so|also|well|btw)[\s,，]*)*", re.IGNORECASE
)
_QUOTATION = re.compile(r"「[^「」]*」|『[^『』]*』|“[^“”]*”|《[^《》]*》|\"[^\"]*\"")
_TEXT_WORK = re.compile(
    r"润色|改写|翻译|译成|校对|续写|扩写|仿写|造句|台词|歌词|例句|[写说]的?[）)]?[：:]?\s*$"
    r"|\b(?:proofread|translat\w+|rewrit\w+|rephras\w+|paraphras\w+|polish|summari[sz]e|correct)\b",
    re.IGNORECASE | re.MULTILINE,
)


class Stance(StrEnum):
    """Why words are not the user's own lasting fact: a text to be worked on, somebody else's, a wish, looked for once, for a
    while only.
    """

    QUOTED = "quoted"
    ABOUT_OTHER = "about_other"
    HYPOTHETICAL = "hypothetical"
    ASKED_FOR = "asked_for"
    TEMPORARY = "temporary"


@dataclass(frozen=True, slots=True)
class Said:
    """Where in a turn's text a value was said: the sentence without the value, and the clause up to it."""

    sentence: str
    before: str
    is_quoted: bool


def stance(text: str, start: int, end: int, value: str) -> Stance | None:
    """Return why the words at `text[start:end]` do not make `value` the user's own lasting fact, or None.

    The value's own words are no signs: who likes business trips is not on one.
    """
    said = _locate(text, start, end, value)
    if said.is_quoted:
        return Stance.QUOTED
    if _is_others(said.before):
        return Stance.ABOUT_OTHER
    if _WISHED.search(said.sentence):
        return Stance.HYPOTHETICAL
    if _ASKED.search(said.sentence) and not _STATED.search(said.before):
        return Stance.ASKED_FOR
    return Stance.TEMPORARY if _PASSING.search(said.sentence) else None


def _locate(text: str, start: int, end: int, value: str) -> Said:
    at = text.find(value, start, end) if value else -1
    if at < 0:
        at = start
    first = max((found.end() for found in _SENTENCE_END.finditer(text, 0, at)), default=0)
    border = _SENTENCE_END.search(text, max(at + len(value), end - 1))
    sentence = text[first : border.end() if border else len(text)]
    clause = max((found.end() for found in _CLAUSE_END.finditer(text, first, at)), default=first)
    marked = next((found for found in _QUOTATION.finditer(text) if found.start() < at < found.end()), None)
    is_quoted = marked is not None and _TEXT_WORK.search(text[: marked.start()]) is not None
    return Said(sentence.replace(value, "∅"), text[clause:at], is_quoted)


def _is_others(before: str) -> bool:
    """True when the clause before the value begins with somebody else and does not come back to oneself."""
    lead = _LEAD.match(before)
    words = before[lead.end() if lead else 0 :]
    for others, oneself in ((_OTHERS_ZH, _SELF_ZH), (_OTHERS_EN, _SELF_EN)):
        subject = others.match(words)
        if subject and not oneself.search(words, subject.end()):
            return True
    return False

"""Whether a value was said of oneself, in earnest and for good: the signs around it in its own sentence (product C11).

The model is asked for all of this (`about`, actions); these are the signs that it overlooked it. They are few and plain:
what they miss is left to the model, what they hit wrongly would be lost.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from mex_pipeline.domain.supposed import is_supposed
from mex_pipeline.domain.text import find_quote

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
    r"""好想(?!你)|真想|真希望|恨不得|值不?值得.{0,80}[吗么？?]|值得.{0,4}[吗么？?]
    |好用吗|还没试过|要不要(?:考虑|试)|有机会(?:试试|去试)|以后想试|\bwhat\ if\b|\bis\ it\ worth\b
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
_DENIED = re.compile(
    r"""\bi(?:['’]m\ (?:not|no\ longer)|\ (?:do(?:n['’]t|\ not)|no\ longer|never|did(?:n['’]t|\ not)|am\ (?:not|no\ longer)))
    (?:\ (?:really|actually|even|currently))?(?:\ (?:work|worked|working|employed|live|lived|living|based|study|called|named|from
    |at|in|for|by|an?))+\s*$|我们?(?:现在|目前|已经|早就?|并|又|可|其实)*[不没]再?(?:是在|在|住在?|叫|姓|是)\s*$""",
    re.VERBOSE | re.IGNORECASE,
)
_AT_TIMES = re.compile(
    r"\b(?:if|when(?:ever)?|unless|while|until)\b|如果|要是|假如|倘若|若|万一|当|既然", re.IGNORECASE
)
_ONLY_AT_TIMES = re.compile(r"[^，,。]{0,8}(?:时|期间|就是|而已|吗|for nothing)")
"""Of what is not so at times, or not so alone, it is not denied that it is."""

_ASKED_OF_ONESELF = re.compile(
    r"""^\W*(?:(?:so|and|but|wait|hey|remind\ me),?\ )*(?:do|am|did|was|have)\ i\b
    (?:(?!\b(?:that|who|which|i['’]m|my|only|need|have\ to)\b)[^,])*\?\s*$
    |^\W*我(?:现在|目前|还|以前)?(?:是|在|住在?|叫|姓|用|有|养|喜欢|是在)[^的]{0,4}∅(?:上班|工作|任职|读书|住|生活)?[的了]?[吗么嘛][？?]?\s*$
    |^\W*我(?:现在|目前|还)?(?:是不是|有没有)(?:在|住在?|叫|姓|用|养)?∅[^，,]{0,4}[？?]?\s*$""",
    re.VERBOSE | re.IGNORECASE,
)
"""Who asks whether something is so of himself states nothing."""

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
_QUOTATION = re.compile(
    r"「[^「」]*」|『[^『』]*』|“[^“”]*”|《[^《》]*》|«[^«»]*»|\"[^\"]*\"|(?<!\w)['‘][^\n]{1,200}?['’](?!\w)"
)
_SAID_ZH = r"(?:说|讲|问|回答|回复|表示)(?:过|了|道|的)?[）)]?[，,：:]?\s*$"
_SAID_EN = (
    r"\ (?:(?:told|texted)\ (?:me|us)|said|says|wrote|writes|texted|replied|answered|claims|claimed|goes|was\ like)"
)
_SAID_BY_ME = re.compile(
    rf"""(?:{_SELF_ZH.pattern})(?!听|看|问)[^，。：:；]{{0,8}}{_SAID_ZH}
    |\b(?:i|we)\b(?:['’]\w+)?(?:\ \w+)?{_SAID_EN}(?:\ (?:to\ \w+|back))?[:,]?\s*$""",
    re.VERBOSE | re.IGNORECASE,
)
_SAID_BY_OTHERS = re.compile(
    rf"""(?:{_KIN}|[他她]们?)[^，。：:；]{{0,8}}{_SAID_ZH}
    |(?:\b(?i:{_OTHERS_EN.pattern})(?:\ \w+){{0,2}}|\b(?!It\b|We\b|This\b|That\b)[A-Z][a-z]+)
    (?i:{_SAID_EN}(?:\ (?:to\ (?:me|us)|back))?)[:,]?\s*$""",
    re.VERBOSE,
)
_SAID = re.compile(r"(?<!听)说的?[）)]?[：:]?\s*$")
_IN_PERSON = re.compile(r"\b(?:I|[Mm]y|[Ww]e)\b|[我咱俺]")
_TEXT_WORK = re.compile(
    r"润色|改写|翻译|译成|校对|续写|扩写|仿写|造句|台词|歌词|例句|写的?[）)]?[：:]?\s*$"
    r"|\b(?:proofread|translat\w+|rewrit\w+|rephras\w+|paraphras\w+|polish|summari[sz]e|correct)\b",
    re.IGNORECASE | re.MULTILINE,
)


_LEAD_IN = 60
"""Characters before a quotation mark in which it is told whose words they are."""


class Stance(StrEnum):
    """Why words are not the user's own lasting fact: a text to be worked on, somebody else's, a wish, looked for once, for a
    while only, or not so.
    """

    QUOTED = "quoted"
    ABOUT_OTHER = "about_other"
    HYPOTHETICAL = "hypothetical"
    ASKED_FOR = "asked_for"
    TEMPORARY = "temporary"
    DENIED = "denied"


@dataclass(frozen=True, slots=True)
class Said:
    """Where in a turn's text a value was said: the sentence before and after it without its words, and the clause up to it."""

    lead: str
    rest: str
    before: str
    quoted: Stance | None

    @property
    def sentence(self) -> str:
        """The sentence with a mark where the value stands."""
        return f"{self.lead}∅{self.rest}"


def stance(text: str, start: int, end: int, value: str) -> Stance | None:
    """Return why the words at `text[start:end]` do not make `value` the user's own lasting fact, or None.

    The value's own words are no signs: who likes business trips is not on one.
    """
    said = _locate(text, start, end, value)
    if said.quoted:
        return said.quoted
    if _is_others(said.before):
        return Stance.ABOUT_OTHER
    if _WISHED.search(said.sentence) or is_supposed(said.lead, said.rest, "∅" if value else ""):
        return Stance.HYPOTHETICAL
    if _DENIED.search(said.before) and not (_AT_TIMES.search(said.before) or _ONLY_AT_TIMES.match(said.rest)):
        return Stance.DENIED
    if _ASKED_OF_ONESELF.search(f"{said.before}∅{said.rest}"):
        return Stance.ASKED_FOR
    if _ASKED.search(said.sentence) and not _STATED.search(said.before):
        return Stance.ASKED_FOR
    return Stance.TEMPORARY if _PASSING.search(said.sentence) else None


def _locate(text: str, start: int, end: int, value: str) -> Said:
    at, after = _place(text, start, end, value)
    first = max((found.end() for found in _SENTENCE_END.finditer(text, 0, at)), default=0)
    border = _SENTENCE_END.search(text, max(after, end - 1))
    clause = max((found.end() for found in _CLAUSE_END.finditer(text, first, at)), default=first)
    sentence = text[first:at], text[after : border.end() if border else len(text)]
    lead, rest = (part.replace(value, "∅") if value else part for part in sentence)
    return Said(lead, rest, text[clause:at], _quoted(text, at))


def _quoted(text: str, at: int) -> Stance | None:
    """Why the quotation marks around a place keep it out: they hold a text to work on, or what somebody else said of himself."""
    marked = next((found for found in _QUOTATION.finditer(text) if found.start() < at < found.end()), None)
    if marked is None or (marked[0][0] in "'‘" and not _IN_PERSON.search(marked[0])):
        return None  # a single mark is about a word more often than around a sentence
    lead = text[max(0, marked.start() - _LEAD_IN) : marked.start()]
    if _SAID_BY_ME.search(lead) is None:
        if _SAID_BY_OTHERS.search(lead) and _IN_PERSON.search(marked[0]):
            return Stance.ABOUT_OTHER
        if _SAID.search(lead):
            return Stance.QUOTED
    return Stance.QUOTED if _TEXT_WORK.search(text[: marked.start()]) else None


def _place(text: str, start: int, end: int, value: str) -> tuple[int, int]:
    """Where the value stands within its words, however it is written there; where they begin when it does not."""
    at = text.find(value, start, end) if value else -1
    if at >= 0:
        return at, at + len(value)
    found = find_quote(text[start:end], value)
    return (start + found[0], start + found[1]) if found else (start, start)


def _is_others(before: str) -> bool:
    """True when the clause before the value begins with somebody else and does not come back to oneself."""
    lead = _LEAD.match(before)
    words = before[lead.end() if lead else 0 :]
    for others, oneself in ((_OTHERS_ZH, _SELF_ZH), (_OTHERS_EN, _SELF_EN)):
        subject = others.match(words)
        if subject and not oneself.search(words, subject.end()):
            return True
    return False

"""What is only supposed, and what would follow from it: conditions contrary to fact, Chinese and English (product C11).

`If I worked at Globex I would be rich` tells of no job at Globex; `If I eat nuts I could die` tells of an allergy. English
shows the difference in its verbs. Chinese does not: there it is a state that is supposed, not something done now and then.
"""

import re
from dataclasses import dataclass

_REACH = 300
"""Characters around a value in which a supposition can be about it: a sentence without an end may be a whole page."""

_PAST = r"""(?:had|were|was|did|could|got|went|gone|came|became|drove|ran|spoke|knew|won|took|taught|made|found|felt|left|quit
    |kept|met|sold|sat|slept|spent|stood|thought|wore|wrote|gave|began|chose|lost|bought|ate|drank|grew|built|led|rode|swam
    |played|needed|\w+(?<!e)ed)"""
_ADVERBS = r"(?:\ (?:ever|just|only|really|actually|suddenly|still|also|somehow|both|all|instead))*"
_NOT = r"(?:n['’]t|\ not|\ never)"
_IF = re.compile(
    rf"""\bif\ (?:i|we){_ADVERBS}(?P<never>\ never)?(?:['’]d\b|\ {_PAST}(?P<not>{_NOT})?\b)
    |\bif\ (?:my|our)(?:\ [\w∅-]+){{1,2}}?\ (?:were|was|had)(?P<nor>{_NOT})?\b
    |\bif\ it\ (?P<for>(?:weren['’]t|wasn['’]t|hadn['’]t\ been|were\ not|was\ not)\ for)\b
    |(?:(?<=^)|(?<=^∅)|(?<=,\ )|(?<=and\ ))(?:had|were)\ (?:i|we)(?P<nay>{_NOT})?\b""",
    re.VERBOSE | re.IGNORECASE,
)
_MANNER_OF_SPEAKING = re.compile(
    r"""if\ (?:i|we)(?:['’]d|\ (?:only|just|ever))?\ (?:(?:had|was|were|could|got|needed|wanted)\ (?:only\ |just\ |have\ )?
    (?:to\ )?(?:only\ )?(?:choose|pick|name|guess|say|rank|describe|sum|summari[sz]e|recommend|keep|be\ honest|be\ asked)\b
    |(?:were|was)\ (?:you\b|(?:being\ )?honest|asked|pressed|forced)|remembered|recalled
    |(?:had\ )?(?:told|said|mentioned|asked))""",
    re.VERBOSE | re.IGNORECASE,
)
"""What only leads up to a statement that is meant: `if I had to choose, I'd say I love jazz`."""

_WOULD = re.compile(r"\b(?:would|could|might)(?:n['’]t)?\b|(?<=\w)['’]d\b", re.IGNORECASE)
_I_WOULD = re.compile(
    r"""(?:\b(?:would|could|might)\ (?:i|we|it|my)\b|\b(?:i|we|it|that|life)(?:['’]d|\ (?:would|could|might))(?:n['’]t)?\b)
    (?!\ (?:rather|prefer|say|appreciate|recommend|like\ you|call\ myself)\b)""",
    re.VERBOSE | re.IGNORECASE,
)
_LET_US_SAY = re.compile(
    r"^\W*(?:(?:ok|okay|so|now|and|but|well|just|please|let['’]?s)\W+)*"
    r"(?:suppose|supposing|imagine|pretend|assume|assuming|let['’]?s say|hypothetically,?(?: if)?)(?: that)? (?:i|we)\b",
    re.IGNORECASE,
)
_LOST_ALREADY = re.compile(r"[^,]{0,12}\b(?:left|quit|sold|lost|stopped|given up|missed)\b", re.IGNORECASE)
_HELD = re.compile(
    r"""(?<!\bif\ )\bmy\ (?!own\b)(?:(?!(?:was|were|is|would|had)\b)[\w'’-]+\ ){0,3}$
    |\bif\ (?:i|we)\ (?:left|quit|lost|sold|stopped|gave\ up|kept|stayed\ (?:at|in|with))\ (?:[\w'’-]+\ ){0,2}$
    |\b(?:would|could|might|['’]d)\ (?:never\ |not\ )?(?:leave|quit|stop|give\ up|sell|miss|keep|stay\ (?:at|in|with))
    \ (?:[\w'’-]+\ ){0,3}$|\bmore\ (?:of\ )?$""",
    re.VERBOSE | re.IGNORECASE,
)
"""Who would quit a job has it, as he has what he calls his own, and does already what he would do more of."""

_HELD_TOO = re.compile(
    r" (?:(?:even|a lot|much) )?more\b|,? (?:where|which|whom?) (?:i|my|we)\b(?! would|['’]d)|, my [\w-]+(?=[,.?!]|$)",
    re.IGNORECASE,
)

_ZH_IF = r"(?:如果|要是|假如|假设|假使|假若|倘若|若是|如若|设想|想象一?下?)"
_ZH_WHEN = r"(?:说|有一天|哪天|以后|将来|当初|当年|现在|真的?|也|还(?!是)|再|早|能|可以|，)"
_ZH_WORK = r"(?:上班|工作|任职|就职|读书|上学|念书|生活|定居|长大)"
_ZH_CHANCE = r"(?:空|闲|时间|事|问题|需要|疑问|兴趣|机会|精力|心情|条件|不|什么|没|错|误|哪|任何|要求|幸|点|发|说|提|写|会|课|急)"
_ZH_STATE = rf"""(?:是(?!你|说|在|第|要|问|用|因为|不|周|上|早|晚|他|她|想|自己)|有(?!{_ZH_CHANCE})|在[^，。]{{1,14}}?{_ZH_WORK}
    |住在|养(?!的)|叫(?!你|他|她|停|车|外卖)|姓|搬[到去进]|(?:去|进|到)了?[^，。]{{1,10}}?{_ZH_WORK}|进了|考上|加入|入职|娶|嫁|成了|变成|当[上了个]
    |买了(?!新)|中了|学了(?!新)|学会|生在|会(?:弹|说|拉|唱|游泳)|(?<=当初)|(?<=当年)|年轻|\s*\b(?:work|live|am|was|were|have|had|own)\b)"""
_ZH_SUPPOSED = re.compile(
    rf"""{_ZH_IF}{_ZH_WHEN}*(?:我们?(?:家|的?[^，。是叫没不还也都真就]{{1,4}}(?=是|叫))?|(?<=能)|(?<=当年)|(?<=当初)|(?<=我如果)|(?<=我要是)){_ZH_WHEN}*
    (?:(?P<not>没有?|不再?|并?非)(?=是|有|在|住|养|对|叫|姓|[^，。时空]{{0,2}}∅)|{_ZH_STATE})
    |(?P<for>要不是|若不是|若非)|(?:假如|假设|假使|假若|倘若){_ZH_WHEN}*我们?{_ZH_WHEN}*在(?![家外公路开写])""",
    re.VERBOSE,
)
_ZH_HELD = re.compile(
    r"(?<!如果)(?<!要是)(?<!假如)(?:我家的?|我的)[^，。是叫在有]{0,4}$"
    r"|(?:辞掉?|辞去|离开|戒掉?|卖掉?|退出|告别|不在|不再|继续|多[去打练吃玩看])[^，。]{0,3}$"
)
_ZH_SO = re.compile(r"[，,]|就|早就?|也")

_ZH_WISH = re.compile(rf"{_ZH_IF}.*?(?<!早)(?:就好了|会怎样|会怎么样|该多好)")
_ZH_NOT = re.compile(rf"{_ZH_IF}[^，。]{{0,8}}?(?:不|没)[^，。]*$")
_WISH = re.compile(r"\b(?:i wish|if only)\b", re.IGNORECASE)
_WISH_NOT = re.compile(rf"\b(?:i wish|if only) (?:i|we|my\b[^,]*?)\b[^,]{{0,12}}?{_NOT} [^,]*$", re.IGNORECASE)

_TURN = re.compile(
    r"""[,，—–\s]*(?:\b(?:but|though|although|however,?|yet|because|since)\s+
    (?:(?:right\ now|now|for\ now|actually|currently|in\ fact|today),?\s+)?(?:i|my|we|our)\b(?!['’]d\b|\s+would\b)
    |(?<=,\ )i(?:['’]m|\ am)\b(?!\ (?:sure|certain|afraid))
    |(?:但是?|不过|可是?|可惜|然而|其实|事实上|实际上|因为|毕竟)[^，,]{0,3}我(?!也?会|就|早)
    |(?<=[，,])我(?:现在|目前|其实|一直|平时|已经)(?!就|早|也|应该|肯定|会|可能))""",
    re.VERBOSE | re.IGNORECASE,
)
"""Where a sentence comes back from what is supposed to what is."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A sentence with a mark where the value stands, and where that is."""

    text: str
    at: int

    @property
    def before(self) -> str:
        return self.text[: self.at]


def is_supposed(before: str, after: str, mark: str = "∅") -> bool:
    """True when the value between these two parts of its sentence is wished for, supposed, or would follow from that.

    What is supposed not to be (`if I weren't vegan`), or to end (`if I left Globex`), is so. Without a `mark` of a value it
    is asked of the words that begin there.
    """
    before = before[-_REACH:]
    place = _Place(f"{before}{mark}{after[:_REACH]}", len(before))
    return _is_wished(place) or _would_be(place) or _is_supposed_zh(place)


def _is_wished(place: _Place) -> bool:
    wish = _ZH_WISH.search(place.text)
    if wish and wish.start() <= place.at < wish.end():
        return _ZH_NOT.search(place.before) is None
    told = _around(place)
    return _WISH.search(told.text) is not None and _WISH_NOT.search(told.before) is None


def _around(place: _Place) -> _Place:
    """The part of the sentence that the value stands in, when it turns from what is supposed to what is, or back."""
    turns = [found.start() for found in _TURN.finditer(place.text)]
    first = max((at for at in turns if at <= place.at), default=0)
    last = min((at for at in turns if at > place.at), default=len(place.text))
    return _Place(place.text[first:last], place.at - first)


def _would_be(place: _Place) -> bool:
    """True within an English condition contrary to fact, and within what would follow from it."""
    text, at = place.text, place.at
    if _LET_US_SAY.match(text):
        return not _is_over(place, 0)
    for condition in _IF.finditer(text):
        if _MANNER_OF_SPEAKING.match(text, condition.start()):
            continue
        would = _WOULD.search(text, condition.end())
        led = next((one for one in _I_WOULD.finditer(text, 0, condition.start())), None)
        any_led = led or _WOULD.search(text, 0, condition.start())
        if would is None and any_led is None:
            continue
        start = led.start() if led and would is None else condition.start()
        end = would.end() if would else condition.end()
        if at < start or _is_over(place, end) or _HELD.search(place.before) or _HELD_TOO.match(text, at + 1):
            continue
        is_condition = condition.start() < at < (would.start() if would else len(text))
        if not (is_condition and _denies(condition, text)):
            return True
    return False


def _denies(condition: re.Match[str], text: str) -> bool:
    denied = any(condition[name] for name in ("never", "not", "nor", "for", "nay"))
    return denied and _LOST_ALREADY.match(text, condition.end()) is None


def _is_over(place: _Place, since: int) -> bool:
    """True when the sentence has come back to what is before the value."""
    turn = _TURN.search(place.text, since)
    return turn is not None and turn.end() <= place.at


def _is_supposed_zh(place: _Place) -> bool:
    """True within a Chinese supposition of a state, and within what would follow from it."""
    for condition in _ZH_SUPPOSED.finditer(place.text):
        if place.at < condition.start() or _is_over(place, condition.end()) or _ZH_HELD.search(place.before):
            continue
        if not (condition["not"] or condition["for"]):
            return True
        so = _ZH_SO.search(place.text, condition.end())
        if so is not None and so.start() < place.at:
            return True
    return False

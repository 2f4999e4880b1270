"""What a short value affirms or denies: a taste for a thing, or a plain statement. Few and plain signs, Chinese and English."""

import re
from dataclasses import dataclass
from unicodedata import normalize

from mex_pipeline.domain.likeness import bare
from mex_pipeline.domain.schema import Slot


@dataclass(frozen=True, slots=True)
class Claim:
    """A thing that is affirmed or denied; a taste for coffee and the statement `coffee` are two things."""

    thing: str
    affirms: bool
    is_taste: bool = False


def claims(content: str, slot: Slot) -> list[Claim]:
    """Return what a plain value says; a value that names a thing alone says what its slot is for, if that is one of both."""
    text = _lean(content)
    for pattern, affirms in _TASTES:
        if found := pattern.fullmatch(text):
            return [Claim(bare(found[1]), affirms=affirms, is_taste=True)]
    for pattern, affirmed in _DENIALS:
        if found := pattern.fullmatch(text):
            return [Claim(_stated(found.expand(affirmed)), affirms=False)]
    stance = _stance(slot)
    meant = [] if stance is None else [Claim(bare(text), affirms=stance, is_taste=True)]
    return [Claim(_stated(text), affirms=True), *meant]


def _lean(content: str) -> str:
    """The content in lower case, without its subject and what only makes it stronger."""
    text = normalize("NFKC", content).casefold().replace("’", "'").strip(" \t\n.。!！")
    return _STRONGER.sub("", _SUBJECT.sub("", text)).strip()


def _stated(text: str) -> str:
    """A statement as it is compared: `smokes` is what `does not smoke` denies."""
    first, space, rest = text.partition(" ")
    is_inflected = first.isascii() and len(first) > 3 and first.endswith("s") and not first.endswith("ss")
    return bare((first[:-1] if is_inflected else first) + space + rest)


def _stance(slot: Slot) -> bool | None:
    """Whether a slot is for what is liked (True) or avoided, by its name or a label that speaks of one thing alone."""
    words = set(slot.name.split("_"))
    label = "" if _JOINED.search(slot.label) else slot.label
    likes = bool(words & _LIKED) or _LIKED_LABEL.search(label) is not None
    avoids = bool(words & _AVOIDED) or _AVOIDED_LABEL.search(label) is not None
    return None if likes is avoids else likes


_SUBJECT = re.compile(r"^(?:(?:i|he|she|they|the user|user)(?:'m)? |(?:am|is|are) (?!not )|我|用户|本人|他们?|她们?)+")
_STRONGER = re.compile(
    r"^(?:(?:really|absolutely|strongly|truly|simply|also|still|just) )+|^(?:非常|特别|真的|十分|最|很|还是|也|还|都|一直)+"
    r"|(?: very much| a lot| so much| at all| any ?more| either)+$|(?<=..)了$"
)

_EN_EATING = r"(?:to (?:eat|drink) |eating |drinking )?"
_EN_NOT = r"(?:(?:do|does)(?:n't| not) |never |no longer )(?:really |particularly )?"
_ZH_NOT = r"(?:从来|从|绝|并|再也)?不(?:再|太|怎么|大|是很)?"
_TASTES = tuple(
    (re.compile(pattern), affirms)
    for pattern, affirms in (
        (rf"{_EN_NOT}(?:like|love|enjoy|eat|drink)s? {_EN_EATING}(.+)", False),
        (rf"(?:dislike|hate|avoid|detest|loathe)s? {_EN_EATING}(.+)", False),
        (rf"(?:can't|cannot|can not) (?:stand|bear|eat|drink) {_EN_EATING}(.+)", False),
        (r"(?:is |am )?(?:not |no )(?:a )?(?:big )?fan of (.+)", False),
        (r"no (.+)", False),
        (rf"(?:like|love|enjoy|adore|eat|drink)s? {_EN_EATING}(.+)", True),
        (r"(?:fond|a (?:big )?fan) of (.+)", True),
        (rf"{_ZH_NOT}(?:喜欢|喜爱|爱|能|可以|敢|肯|愿意)?[吃喝](.+)", False),
        (rf"{_ZH_NOT}(?:喜欢|喜爱|爱(?![好人情]))(.+)", False),
        (r"(?:讨厌|厌恶|反感|避免|忌口?|拒绝|受不了|戒[掉了]?)[吃喝]?(.+)", False),
        (r"(?:喜欢|喜爱|热爱|偏爱|钟爱|爱(?![好人情心国护惜]))[吃喝]?(.+)", True),
        (r"[吃喝](.+)", True),
    )
)
_DENIALS = tuple(
    (re.compile(pattern), affirmed)
    for pattern, affirmed in (
        (rf"{_EN_NOT}(.+)", r"\1"),
        (r"(?:(?:is|am|are)(?:n't| not)|not) (?:an? )?(.+)", r"\1"),
        (r"对(.+?)(?:不|没有?)(.+)", r"对\1\2"),
        (r"没有?(?![事用关])(.+)", r"有\1"),
        (r"(?:从来|从|绝|并|再也)?不(?![锈动丹倒止仅但断少同时管过错论])(?:再|是(?=[^很]))?(.+)", r"\1"),
    )
)
_LIKED = frozenset({"like", "likes", "liked", "love", "loves", "favorite", "favorites", "favourite", "favourites"})
_AVOIDED = frozenset(
    {"avoid", "avoids", "avoided", "dislike", "dislikes", "disliked", "hate", "hates", "taboo", "taboos"}
)
_JOINED = re.compile(r"[与和或及、/,，&]|\b(?:and|or)\b")
_LIKED_LABEL = re.compile(r"(?<!不)(?:喜欢|喜爱|爱[吃喝])|\b(?:likes?d?|loved?|favou?rites?)\b", re.IGNORECASE)
_AVOIDED_LABEL = re.compile(r"不(?:喜欢|吃|喝|爱)|忌|讨厌|避免|\b(?:avoid\w*|dislike\w*|hated?)\b", re.IGNORECASE)

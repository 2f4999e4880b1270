"""Compaction: which old records are condensed together, and which summaries of them may take their place (product B8, C11)."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from mex_pipeline.domain.budget import estimate_tokens
from mex_pipeline.domain.candidate import Discarded
from mex_pipeline.domain.coverage import COVERED, changes_language, coverage
from mex_pipeline.domain.instruction import reads_as_instruction
from mex_pipeline.domain.memory import Confidence, Memory
from mex_pipeline.domain.review import awaits_review
from mex_pipeline.domain.text import CJK
from mex_pipeline.domain.when import Unresolved, resolve
from mex_pipeline.domain.wording import Language

MIN_GROUP = 3
"""Records of a topic and a quarter from which condensing them is worth a call."""
MIN_NAMED = 2
"""Records that a summary stands for at least."""
TOLD = 0.1
"""The share of a record's own words from which a summary tells of it: a long one is told in few."""
CONDENSED: dict[Language, str] = {"en": "condensed into ", "zh": "已压缩为 "}
"""Why an original is forgotten, in the home's language; the id of its summary follows."""

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_GROUPED = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")
_WORD = re.compile("[A-Za-z\u00c0-\u024f][A-Za-z0-9\u00c0-\u024f_+#'’-]*")
_SENTENCE_END = re.compile(r"(?:^|[.!?。！？；;:：\n])[\s\"'“”‘’(（]*$")
_MONTHS = re.findall(r"\w+", "january february march april may june july august september october november december")
_UP_TO_TWELVE = re.findall(r"\w+", "two three four five six seven eight nine ten eleven twelve")
_COUNTS = {word: n for n, word in enumerate(_UP_TO_TWELVE, start=2)} | {
    "twice": 2, "thrice": 3, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "hundred": 100, "thousand": 1000,
}  # fmt: skip
_HAN_DIGITS = {sign: n for n, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_HAN_COUNT = re.compile(
    "[〇零一二三四五六七八九十百千万亿两]+(?=[年月日号天周岁元块次人件套本场章公里])|[二三四五六七八九十两百千万]+(?=个)"
)
_HAN_TENS = re.compile("([一二三四五六七八九])?十([一二三四五六七八九])?")
_OPENINGS = frozenset(
    re.findall(
        r"\w+",
        """
        a after all also an and around as at before between both by during each early for from he her his i in it its
        late later many most my of on once our over several she since some that the their then there these they this
        those through throughout to together twice until user users we when while with
        """,
    )
)
"""What a sentence may begin with though the records do not have it; any other first word may be a name."""
_JOINING = re.compile(
    "用户|分别|先后|之后|之前|以后|以前|后来|期间|其间|随后|接着|最后|最终|同时|多次|几次|再次|又去|陆续|一起|一同|共同|以及"
    "|并且|并在|并于|而且|还有|其中|包括|由于|因此|但是|然后|开始|继续|完成|进行|参加|关于|曾经|已经|从而|于是"
    "|[零〇一二三四五六七八九十百千万亿两年月日号天周岁元块次人件套本场章公里个]"
)
"""What joins a Chinese summary though its records do not have it; numbers are looked at by themselves."""
_RUN = re.compile(f"[{CJK}]{{2,}}")


class Flaw(StrEnum):
    """Why a summary does not take the place of its records."""

    TOO_FEW = "summary_too_few"
    UNKNOWN_RECORD = "summary_unknown_record"
    TWICE = "summary_twice"
    NUMBER = "summary_number"
    NAME = "summary_name"
    WORDS = "summary_words"
    DATE = "summary_date"
    LANGUAGE = "summary_language"
    HIDDEN = "summary_secret"
    INSTRUCTION = "summary_instruction"
    LENGTH = "summary_length"


@dataclass(frozen=True, slots=True)
class Group:
    """Records of one topic and one `period` (`2025-Q3`, or `2025` where no month is known) that fit one call, oldest first.

    `days` and `texts` are when each happened, a local date, and what it says, as both are sent.
    """

    topic: str | None
    period: str
    records: tuple[Memory, ...]
    days: tuple[str, ...]
    texts: tuple[str, ...]

    @property
    def tokens(self) -> int:
        """About how many tokens the records have."""
        return sum(map(_tokens, self.records))


@dataclass(frozen=True, slots=True)
class Proposed:
    """A summary as the model proposes it; `records` are numbers, the first record of the group being 1."""

    content: str
    records: tuple[int, ...]
    occurred_at: str | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary that code has found in the records it stands for."""

    content: str
    originals: tuple[Memory, ...]
    occurred_at: str | None


def happened(memory: Memory) -> str:
    """Return when a record happened: a date of any precision, or the moment from which it holds (product B4, B11)."""
    return memory.occurred_at or memory.valid_from


def may_be_condensed(memory: Memory, now: str) -> bool:
    """True for a record, active at `now` (UTC ISO), that no person has confirmed, or is yet to look at.

    One that expires is left to its expiry.
    """
    is_free = memory.confidence is not Confidence.CONFIRMED and not awaits_review(memory, now)
    return is_free and memory.sub_topic is None and memory.expires_at is None and memory.is_active(now)


def groups(
    records: Iterable[Memory],
    *,
    before: str,
    now: str,
    limit: int,
    day_of: Callable[[str], str],
    as_sent: Callable[[str], str] = str,
    topic: str | None = None,
) -> tuple[Group, ...]:
    """Return what is condensed together: at least MIN_GROUP records of a topic and quarter, at most `limit` tokens a call.

    They lie wholly before the local date `before`. With `topic` only its records; what is left alone is in no group.
    `day_of` makes a local date of a stored moment, `as_sent` takes out of a text what is not sent.
    """

    def day(record: Memory) -> str:
        at = happened(record)
        return at if len(at) <= len("YYYY-MM-DD") else day_of(at)

    def group(name: str, period: str, part: Sequence[Memory]) -> Group:
        texts = tuple(as_sent(one.content) for one in part)
        return Group(name or None, period, tuple(part), tuple(map(day, part)), texts)

    sorted_by = defaultdict[tuple[str, str], list[Memory]](list)
    for record in records:
        at = day(record)
        if topic in (None, record.topic) and at < before[: len(at)] and may_be_condensed(record, now):
            sorted_by[record.topic or "", _period(at)].append(record)
    found: list[Group] = []
    for (name, period), members in sorted(sorted_by.items()):
        parts = _fitting(sorted(members, key=lambda one: (happened(one), one.created_at, one.id)), limit)
        found += [group(name, period, part) for part in parts if len(part) >= MIN_GROUP]
    return tuple(found)


def _period(at: str) -> str:
    return at if len(at) < 7 else f"{at[:4]}-Q{(int(at[5:7]) + 2) // 3}"


def _fitting(records: Sequence[Memory], limit: int) -> list[list[Memory]]:
    parts: list[list[Memory]] = [[]]
    room = limit
    for record in records:
        size = _tokens(record)
        if size > limit:
            continue  # it fits no call at all
        if size > room:
            parts.append([])
            room = limit
        parts[-1].append(record)
        room -= size
    return parts


def _tokens(record: Memory) -> int:
    return estimate_tokens(record.content) + estimate_tokens(happened(record))


def judge(
    proposed: Iterable[Proposed], group: Group, *, holds_secret: Callable[[str], bool]
) -> tuple[list[Summary], list[Discarded]]:
    """Return the summaries that say nothing their records do not say, and the others, each with its Flaw.

    A record that a summary names but does not tell of is none of its originals: it would be lost.
    """
    accepted: list[Summary] = []
    discarded: list[Discarded] = []
    used: set[int] = set()
    for one in proposed:
        flaw = _misnamed(one, len(group.records), used)
        used.update(one.records)
        named = sorted(set(one.records))
        flaw = flaw or _unfounded(one, group, named, holds_secret)
        if flaw is None:
            named = [number for number in named if coverage(group.records[number - 1].content, one.content) >= TOLD]
            flaw = Flaw.TOO_FEW if len(named) < MIN_NAMED else _unfounded(one, group, named, holds_secret)
        if flaw is None:
            originals = tuple(group.records[number - 1] for number in named)
            dates = [record.occurred_at for record in originals if record.occurred_at]
            accepted.append(Summary(one.content, originals, min(dates, default=None)))
        else:
            # What was not to be kept is not kept in a job's result either.
            shown = "" if flaw in (Flaw.HIDDEN, Flaw.INSTRUCTION) else one.content
            discarded.append(Discarded(shown, flaw))
    return accepted, discarded


def _misnamed(one: Proposed, count: int, used: set[int]) -> Flaw | None:
    """What is wrong with the numbers of a summary."""
    if len(set(one.records)) < MIN_NAMED:
        return Flaw.TOO_FEW
    if not all(1 <= number <= count for number in one.records):
        return Flaw.UNKNOWN_RECORD
    if used & set(one.records) or len(set(one.records)) < len(one.records):
        return Flaw.TWICE
    return None


def _unfounded(one: Proposed, group: Group, numbers: Sequence[int], holds_secret: Callable[[str], bool]) -> Flaw | None:
    """What a summary says that the records of these numbers do not, or must not say."""
    contents = [group.records[number - 1].content for number in numbers]
    days = frozenset(group.days[number - 1] for number in numbers)
    words = "\n".join(contents)
    checks: tuple[tuple[Flaw, Callable[[], bool]], ...] = (
        (Flaw.HIDDEN, lambda: holds_secret(one.content)),
        (Flaw.INSTRUCTION, lambda: reads_as_instruction(one.content)),
        (Flaw.LENGTH, lambda: len(one.content) >= sum(map(len, contents))),
        (Flaw.LANGUAGE, lambda: changes_language(one.content, words)),
        (Flaw.NUMBER, lambda: not _numbers(_undated(one.content, days)) <= _numbers(words)),
        (Flaw.NAME, lambda: _has_new_name(one.content, words, days)),
        (Flaw.WORDS, lambda: coverage(one.content, words) < COVERED),
        (Flaw.NAME, lambda: _has_new_word(_undated(one.content, days), words)),
        (Flaw.DATE, lambda: one.occurred_at not in {None, *days} or _depends_on_today(one.content, words)),
    )
    return next((reason for reason, fails in checks if fails()), None)


def _undated(content: str, days: Iterable[str]) -> str:
    """The content without the dates of its records, as either language writes them: the 5th is no five of anything."""
    forms = sorted({form for day in days for form in _forms(day)}, key=len, reverse=True)
    dates = "|".join(map(re.escape, forms))
    return re.sub(rf"(?<![0-9])(?:{dates})(?![0-9])", " ", content, flags=re.IGNORECASE) if dates else content


def _forms(day: str) -> list[str]:
    """How a date, or a part of it, is written."""
    year, month, number = (*day.split("-"), "", "")[:3]
    forms = [year, f"{year}年"]
    if month:
        name, short = _MONTHS[int(month) - 1], f"{int(month)}月"
        forms += [f"{year}-{month}", f"{year}年{short}", short, f"{name} {year}"]
    if number:
        plain = int(number)
        forms += [day, f"{name} {plain}, {year}", f"{name} {plain}", f"{plain} {name} {year}", f"{plain} {name}"]
        forms += [f"{start}{plain}{end}" for start in (f"{year}年{short}", short) for end in "日号"]
    return forms


def _numbers(text: str) -> set[float]:
    """The numbers of a text, in digits or in words: a summary counts nothing that the records do not count."""
    plain = _GROUPED.sub("", text)
    found = {float(number) for number in _NUMBER.findall(plain)}
    found |= {float(_COUNTS[word]) for word in re.findall(r"[a-z]+", plain.casefold()) if word in _COUNTS}
    return found | {_han_number(count) for count in _HAN_COUNT.findall(plain)}


def _han_number(signs: str) -> float:
    """The number of Chinese numerals; a large one is told apart from others by its signs, below zero."""
    if all(sign in _HAN_DIGITS for sign in signs):
        return float("".join(str(_HAN_DIGITS[sign]) for sign in signs))
    tens = _HAN_TENS.fullmatch(signs)
    if tens is not None:
        return 10.0 * _HAN_DIGITS.get(tens[1] or "一", 1) + _HAN_DIGITS.get(tens[2] or "零", 0)
    return -float(int.from_bytes(signs.encode()[:24]))


def _has_new_name(content: str, words: str, dates: Iterable[str]) -> bool:
    """True when a Latin word that may be a name stands in no record; months of the records' dates are none."""
    months = {_MONTHS[int(date[5:7]) - 1] for date in dates if len(date) >= 7}
    is_chinese = re.search(f"[{CJK}]", content) is not None
    return any(
        (is_chinese or word[0] != word[0].casefold())
        and word.casefold().removesuffix("'s") not in {*months, *_allowed(content, at)}
        and coverage(word, words) < 1
        for at, word in ((match.start(), match[0]) for match in _WORD.finditer(content))
    )


def _allowed(content: str, at: int) -> frozenset[str]:
    return _OPENINGS if _SENTENCE_END.search(content[:at]) else frozenset({"i"})


def _has_new_word(content: str, words: str) -> bool:
    """True when Chinese characters stand side by side that no record has: as those of a name would."""
    new = ("".join(" " if sign in words else sign for sign in part) for part in _JOINING.split(content))
    return any(_RUN.search(part) for part in new)


def _depends_on_today(content: str, words: str) -> bool:
    """True for a relative time that no record has: nobody could tell what it means."""
    read = resolve(content, None)
    return isinstance(read, Unresolved) and read.word not in words


def condensed(summary: Summary, *, now: str, new_id: str) -> Memory:
    """Return the memory a summary becomes: no surer than the least sure of its originals, inferred when one of them is.

    It was learned when they were, so that old records do not come back as the newest ones.
    """
    originals = summary.originals
    lowest = min((one.confidence for one in originals), key=lambda tier: tier.weight)
    return Memory(
        id=new_id,
        topic=originals[0].topic,
        sub_topic=None,
        content=summary.content,
        is_ai_inferred=any(one.is_ai_inferred for one in originals),
        confidence=min(lowest, Confidence.EXPLICIT, key=lambda tier: tier.weight),
        evidence=None,
        created_at=max(one.created_at for one in originals),
        updated_at=now,
        valid_from=max(one.valid_from for one in originals),
        occurred_at=summary.occurred_at,
    )


def retired(original: Memory, *, now: str, summary: str, language: Language) -> Memory:
    """Return an original as it is forgotten, softly: the reason names the id of its `summary`."""
    return original._replace(forgotten_at=now, forgotten_reason=CONDENSED[language] + summary, updated_at=now)

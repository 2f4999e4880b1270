"""Reads turns clause by clause and proposes what the person says plainly about themselves (product C9)."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from mex_pipeline.domain.candidate import Candidate
from mex_pipeline.domain.conversation import Turn
from mex_pipeline.rules_extractor import patterns_en, patterns_zh, signs_en, signs_zh
from mex_pipeline.rules_extractor.clauses import PASTED, Clause, Line, Sentence, blanked, lines
from mex_pipeline.rules_extractor.rule import PREFERENCES, Rule, Signs, Slot, Words, slots_of
from mex_pipeline.rules_extractor.value import is_clear, is_code, said

HasSlot = Callable[[str, str], bool]

LONG = 4000
"""Characters beyond which a turn is taken for pasted text: only its first and last lines may still ask to remember."""

_EDGE_LINES = 3
_STATEMENT_LIMIT = 300
_SENTENCE_LIMIT = 2000
_PREFERENCES = slots_of(PREFERENCES)
_HAN = re.compile(r"[\u4e00-\u9fff]")

_RULES = patterns_zh.RULES + patterns_en.RULES
_LANGUAGES = (signs_zh.SIGNS, signs_en.SIGNS)
_SILENT = tuple(signs.silent for signs in _LANGUAGES)
_UNREAL = tuple(signs.unreal for signs in _LANGUAGES)
_ASKS = tuple(signs.asks for signs in _LANGUAGES)
_UNDONE = tuple(signs.undone for signs in _LANGUAGES)
_FUTURE = tuple(signs.future for signs in _LANGUAGES)
_PASSING = tuple(signs.passing for signs in _LANGUAGES)
_TASK = tuple(signs.task for signs in _LANGUAGES)


@dataclass(frozen=True, slots=True)
class _Finding:
    """A value, its slot (None: a record), and the span of the words that say it."""

    slot: Slot | None
    content: str
    start: int
    end: int


def extract(turns: Sequence[tuple[int, Turn]], has_slot: HasSlot) -> list[Candidate]:
    """Return what the user says plainly about themselves in `turns` (number in the prompt, turn), in the order said.

    `has_slot` tells whether the schema declares (topic, sub_topic). What has no slot there is left out, except what
    the user asked to remember: that becomes a record without topic. Every candidate is new, explicit and not inferred;
    its `quote` stands in the turn as it is and its content in the quote (only a dated goal is put into fields, seed 004
    §3.4). Assistant turns and pasted files are not read.
    """
    return [
        _candidate(number, turn, finding)
        for number, turn in turns
        if turn.role == "user" and turn.kind != "pasted_file"
        for finding in _once(_read(turn, has_slot))
    ]


def _candidate(number: int, turn: Turn, finding: _Finding) -> Candidate:
    quote = turn.text[finding.start : finding.end]
    topic, sub_topic = finding.slot or (None, None)
    return Candidate(
        content=finding.content,
        topic=topic,
        sub_topic=sub_topic,
        evidence=f'用户说："{quote}"' if _HAN.search(quote) else f'User said: "{quote}"',
        quote=quote,
        turn=number,
    )


def _once(findings: Iterable[_Finding]) -> list[_Finding]:
    """Return the findings without a second mention of the same value for the same slot."""
    first: dict[tuple[Slot | None, str], _Finding] = {}
    for finding in findings:
        first.setdefault((finding.slot, finding.content.casefold()), finding)
    return list(first.values())


def _read(turn: Turn, has_slot: HasSlot) -> Iterator[_Finding]:
    blank = blanked(turn.text)
    spoken = list(lines(blank))
    is_long = len(turn.text) > LONG and turn.kind != "document"
    if is_long:
        spoken = spoken[:_EDGE_LINES] + spoken[_EDGE_LINES:][-_EDGE_LINES:]
    reader = _Reader(turn.text, blank, has_slot)
    if any(_any(_SILENT, reader.unasked(sentence)) for line in spoken for sentence in line):
        return
    for line in reader.own(spoken):
        for sentence in line[:1] if is_long else line:
            yield from reader.sentence(sentence, requests_only=is_long)


def _any(signs: tuple[re.Pattern[str], ...], words: str) -> bool:
    return any(sign.search(words) for sign in signs)


@dataclass(frozen=True, slots=True)
class _Reader:
    """One turn: its text, the same text with pasted and quoted spans blanked, and the schema's slots."""

    text: str
    blank: str
    has_slot: HasSlot

    def own(self, spoken: Iterable[Line]) -> Iterator[Line]:
        """Yield the lines up to a colon behind which somebody else's words may stand; one that ends a line ends all."""
        for line in spoken:
            for number, sentence in enumerate(line):
                foreign = next(
                    (at for at, part in enumerate(sentence.clauses) if self._introduces(part, sentence)), None
                )
                if foreign is None:
                    continue
                before = sentence.clauses[:foreign]
                yield line[:number] + ((replace(sentence, clauses=before, mark=""),) if before else ())
                if foreign + 1 == len(sentence.clauses) and number + 1 == len(line):
                    return
                break
            else:
                yield line

    def unasked(self, sentence: Sentence) -> str:
        """Return the sentence's words, or nothing when it asks to remember: "记住：翻译时…" is no text to translate."""
        requests = any(self._request(clause, sentence) for clause in sentence.clauses)
        return "" if requests else self.blank[sentence.start : sentence.end]

    def _introduces(self, clause: Clause, sentence: Sentence) -> bool:
        """True for a label before a colon that is neither a heading of one's own nor a request to remember."""
        if clause.mark not in {":", "："}:
            return False
        own = any(signs.label.fullmatch(self.blank, clause.start, clause.end) for signs in _LANGUAGES)
        return not own and self._request(clause, sentence) is None

    def sentence(self, sentence: Sentence, *, requests_only: bool) -> Iterator[_Finding]:
        """Yield what one sentence says: a request to remember takes the rest of the sentence it stands in."""
        last = sentence.clauses[-1]
        if sentence.asks and any(signs.tag.fullmatch(self.blank, last.start, last.end) for signs in _LANGUAGES):
            return
        words = self.blank[sentence.start : sentence.end]
        if len(words) > _SENTENCE_LIMIT or _any(_UNDONE, words):
            return
        for number, clause in enumerate(sentence.clauses[:1] if requests_only else sentence.clauses):
            request = self._request(clause, sentence)
            if request is not None:
                yield from self._statements(sentence.clauses[:number], sentence)
                yield from self._remembered(*request, clause, sentence)
                return
        if not requests_only:
            yield from self._statements(sentence.clauses, sentence)

    def _start(self, clause: Clause) -> int:
        """Return where the clause begins behind greetings and linking words."""
        start = clause.start
        for signs in _LANGUAGES:
            lead = signs.lead.match(self.blank, start, clause.end)
            start = lead.end() if lead else start
        return start

    def _request(self, clause: Clause, sentence: Sentence) -> tuple[Signs, Words] | None:
        start = self._start(clause)
        matches = ((signs, signs.remember.match(self.blank, start, sentence.end)) for signs in _LANGUAGES)
        return next(((signs, found) for signs, found in matches if found), None)

    def _remembered(self, signs: Signs, found: Words, clause: Clause, sentence: Sentence) -> Iterator[_Finding]:
        """Yield what the user asked to remember: in its slots where the words fit, the rest as said."""
        start = found.start("x")
        if sentence.asks or _any(_ASKS, self.blank[start : sentence.end]):
            return
        inner = tuple(replace(part, start=max(part.start, start)) for part in sentence.clauses if part.end > start)
        statements = list(self._statements(inner, sentence))
        if all(statement.slot in _PREFERENCES for statement in statements):
            request = replace(clause, end=sentence.end)
            kept = list(self._kept(signs, start, request, firm=found["firm"] is not None))
            yield from kept or statements
            return
        yield from statements
        for part in inner:
            if not any(statement.start <= part.start < statement.end for statement in statements):
                yield from self._kept(signs, part.start, part, firm=False)

    def _kept(self, signs: Signs, start: int, clause: Clause, *, firm: bool) -> Iterator[_Finding]:
        """Yield the words from `start` as a wish how to be answered or as a record.

        Words about the work at hand and words that need the conversation to be understood are left.
        """
        content = said(self.text[start : clause.end])
        words = self.blank[start : clause.end]
        if not 2 <= len(content) <= _STATEMENT_LIMIT or not is_clear(content):
            return
        if PASTED in words or is_code(words):
            return
        if any(language.serves(content) for language in _LANGUAGES):
            yield _Finding(self._slot(_PREFERENCES), content, clause.start, clause.end)
        elif (firm or signs.oneself.match(content)) and not (_any(_TASK, content) or _any(_UNREAL, words)):
            yield _Finding(None, content, clause.start, clause.end)

    def _statements(self, clauses: Sequence[Clause], sentence: Sentence) -> Iterator[_Finding]:
        """Yield the slot values of plain statements, until a condition, a report or the past takes over."""
        carried = False
        for clause in clauses:
            start = self._start(clause)
            words = self.blank[start : clause.end]
            if _any(_UNREAL, words):
                return
            asked = _any(_ASKS, words) or (sentence.asks and clause.end == sentence.end)
            findings = [] if asked else self._first_rule(start, clause, sentence, carried=carried)
            yield from findings
            if findings and findings[0].end > clause.end:
                return
            carried = bool(findings) or (carried and self._is_aside(start, clause))

    def _is_aside(self, start: int, clause: Clause) -> bool:
        """True for an age or the like between the clauses of a self-introduction, or for nothing but linking words."""
        return start >= clause.end or any(signs.aside.fullmatch(self.blank, start, clause.end) for signs in _LANGUAGES)

    def _first_rule(self, start: int, clause: Clause, sentence: Sentence, *, carried: bool) -> list[_Finding]:
        for rule in _RULES:
            end = sentence.end if rule.whole else clause.end
            if end - start > _STATEMENT_LIMIT:
                continue
            words = rule.pattern.fullmatch(self.blank, start, end)
            if words is None or not self._holds(rule, words, sentence, carried=carried):
                continue
            findings = [
                _Finding(slot, content, clause.start, end)
                for fill in rule.fills
                if (slot := self._slot(fill.slots)) is not None
                for content in fill.read(words)
            ]
            if findings:
                return findings
        return []

    def _holds(self, rule: Rule, words: Words, sentence: Sentence, *, carried: bool) -> bool:
        """True when the person is the subject, said or carried over, and nothing in the sentence makes it pass."""
        if "me" in rule.pattern.groupindex and words["me"] is None and not carried:
            return False
        if (rule.whole and sentence.asks) or (rule.guard is not None and not rule.guard(words)):
            return False
        said_before = self.blank[sentence.start : words.end()]
        return not rule.fleeting or not (
            _any(_FUTURE, said_before) or _any(_PASSING, self.blank[sentence.start : sentence.end])
        )

    def _slot(self, slots: tuple[Slot, ...]) -> Slot | None:
        return next((slot for slot in slots if self.has_slot(*slot)), None)

"""Reads turns clause by clause and proposes what the person said about himself in so many words (product C9)."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from mex_pipeline.domain.candidate import Candidate
from mex_pipeline.domain.conversation import Turn
from mex_pipeline.rules_extractor import patterns_en, patterns_zh, signs_en, signs_zh
from mex_pipeline.rules_extractor.clauses import Clause, Line, Sentence, blanked, lines
from mex_pipeline.rules_extractor.rule import PREFERENCES, Rule, Signs, Slot, slots_of
from mex_pipeline.rules_extractor.value import is_code, said, stands_alone

HasSlot = Callable[[str, str], bool]

LONG = 4000
"""Characters beyond which a turn is taken for pasted text; only its first and last lines may still ask to remember."""

_EDGE_LINES = 3
_RECORD_LIMIT = 300
_HAN = re.compile(r"[\u4e00-\u9fff]")

_RULES = patterns_zh.RULES + patterns_en.RULES
_LANGUAGES = (signs_zh.SIGNS, signs_en.SIGNS)
_SILENT = tuple(signs.silent for signs in _LANGUAGES)
_UNREAL = tuple(signs.unreal for signs in _LANGUAGES)
_ASKS = tuple(signs.asks for signs in _LANGUAGES)
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
    """Return what the user says plainly about himself in `turns` (number in the prompt, turn), in the order it was said.

    `has_slot` tells whether the schema declares (topic, sub_topic). What has no slot there is left out, except what the
    user asked to remember: that becomes a record without topic. Every candidate is new, explicit and not inferred; its
    `quote` stands in the turn as it is and its content in the quote (only a dated goal is put into its fields, seed 004
    §3.4). Assistant turns and pasted files are not read.
    """
    return [ _candidate(number, turn, finding) for number,
    turn in turns if turn.role == "user" and turn.kind != "pasted_file" for finding in _once(_read(turn,
    has_slot)) ] def _candidate(number: int, turn: Turn,
    finding: _Finding) -> Candidate: quote = turn.text[finding.start : finding.end] topic,
    sub_topic = finding.slot or (None, None) return Candidate( content=finding.content, topic=topic,
    sub_topic=sub_topic, evidence=f'用户说："{quote}"' if _HAN.search(quote) else f'User said: "{quote}"', quote=quote,
    turn=number, ) def _once(findings: Iterable[_Finding]) -> list[_Finding]:
    """Return the findings without a second mention of the same value for the same slot."""
    first: dict[tuple[Slot | None, str], _Finding] = {} for finding in findings: first.setdefault((finding.slot,
    finding.content.casefold()), finding) return list(first.values()) def _read(turn: Turn,
    has_slot: HasSlot) -> Iterator[_Finding]: blank = blanked(turn.text) spoken = list(lines(blank)) is_long = len(turn.text) > LONG and turn.kind != "document" if is_long: spoken = spoken[:_EDGE_LINES] + spoken[_EDGE_LINES:][-_EDGE_LINES:] if _any(_SILENT,
    "\n".join(blank[line[0].start : line[-1].end] for line in spoken)): return reader = _Reader(turn.text, blank,
    has_slot) for line in reader.own(spoken): for sentence in line[:1] if is_long else line: yield from reader.sentence(sentence,
    requests_only=is_long) def _any(signs: tuple[re.Pattern[str], ...],
    words: str) -> bool: return any(sign.search(words) for sign in signs) @dataclass(frozen=True,
    slots=True) class _Reader:
    """One turn: its text, the same text with pasted and quoted spans blanked, and the schema's slots."""

    text: str
    blank: str
    has_slot: HasSlot

    def own(self, spoken: Iterable[Line]) -> Iterator[Line]:
        """Yield the lines up to a colon behind which somebody else's words may stand; a colon at a line's end ends it all."""
        for line in spoken: for number, sentence in enumerate(line): foreign = next( (at for at,
        clause in enumerate(sentence.clauses) if self._introduces(clause, sentence)),
        None ) if foreign is None: continue rest = sentence.clauses[foreign + 1 :] or line[number + 1 :] before = sentence.clauses[:foreign] yield line[:number] + ((replace(sentence,
        clauses=before, mark=""),) if before else ()) if not rest: return break else: yield line def _introduces(self,
        clause: Clause, sentence: Sentence) -> bool:
        """True for a label before a colon that is neither a heading of one's own nor a request to remember."""
        if clause.mark not in {":",
        "："}: return False words = self.blank[clause.start : clause.end] own_heading = any(signs.label.fullmatch(words) for signs in _LANGUAGES) return not own_heading and self._request(clause,
        sentence) is None def sentence(self, sentence: Sentence, *, requests_only: bool) -> Iterator[_Finding]:
        """Yield what one sentence says: a request to remember takes the rest of the sentence it stands in."""
        last = sentence.clauses[-1] if sentence.asks and any(signs.tag.fullmatch(self.blank, last.start,
        last.end) for signs in _LANGUAGES): return for number,
        clause in enumerate(sentence.clauses): request = self._request(clause,
        sentence) if request is not None: if not requests_only: yield from self._statements(sentence.clauses[:number],
        sentence) yield from self._remembered(request, clause,
        sentence) return if requests_only: return yield from self._statements(sentence.clauses,
        sentence) def _start(self, clause: Clause) -> int:
        """Return where the clause begins behind greetings and linking words."""
        start = clause.start for signs in _LANGUAGES: lead = signs.lead.match(self.blank, start,
        clause.end) start = lead.end() if lead else start return start def _request(self, clause: Clause,
        sentence: Sentence) -> tuple[Signs,
        re.Match[str]] | None: start = self._start(clause) for signs in _LANGUAGES: found = signs.remember.match(self.blank,
        start, sentence.end) if found: return signs, found return None def _remembered( self, request: tuple[Signs,
        re.Match[str]], clause: Clause, sentence: Sentence ) -> Iterator[_Finding]:
        """Yield what the user asked to remember: in its slots where the words fit, the rest as said."""
        signs, found = request start = found.start("x") if sentence.asks or _any(_ASKS,
        self.blank[start : sentence.end]): return inner = tuple(replace(part, start=max(part.start,
        start)) for part in sentence.clauses if part.end > start) statements = list(self._statements(inner,
        sentence)) yield from statements if not statements: yield from self._kept(signs, start, sentence.end,
        quote_from=clause.start,
        firm=found["firm"] is not None) return for part in inner: if not any(statement.start <= part.start < statement.end for statement in statements): yield from self._kept(signs,
        part.start, part.end, quote_from=part.start, firm=False) def _kept(self, signs: Signs, start: int, end: int, *,
        quote_from: int, firm: bool) -> Iterator[_Finding]:
        """Yield the words as a wish how to be answered or as a record, unless they are about the work or need context."""

        words = self.blank[start:end] content = said(self.text[start:end]) if ( not 2 <= len(content) <= _RECORD_LIMIT or is_code(words) or not stands_alone(content) or _any(_UNREAL,
        words) ): return if any(signs.serves(content) for signs in _LANGUAGES): yield _Finding(self._slot(slots_of(PREFERENCES)),
        content, quote_from, end) elif (firm or signs.oneself.match(content)) and not _any(_TASK,
        content): yield _Finding(None, content, quote_from, end) def _statements(self, clauses: Sequence[Clause],
        sentence: Sentence) -> Iterator[_Finding]:
        """Yield the slot values of plain statements, until a condition, a report or the past takes over the sentence."""

        carried = False for clause in clauses: start = self._start(clause) words = self.blank[start : clause.end] if _any(_UNREAL,
        words): return asked = _any(_ASKS,
        words) or (sentence.asks and clause == sentence.clauses[-1]) findings = [] if asked else self._first_rule(start,
        clause, sentence,
        carried=carried) yield from findings if findings and findings[0].end > clause.end: return carried = bool(findings) or (carried and start >= clause.end) def _first_rule(self,
        start: int, clause: Clause, sentence: Sentence, *,
        carried: bool) -> list[_Finding]: for rule in _RULES: end = sentence.end if rule.whole else clause.end words = rule.pattern.fullmatch(self.blank,
        start, end) if ( words is None or (rule.whole and sentence.asks) or not self._holds(rule, words, sentence,
        carried=carried) ): continue findings = [ _Finding(slot, content, clause.start,
        end) for fill in rule.fills if (slot := self._slot(fill.slots)) is not None for content in fill.read(words) ] if findings: return findings return [] def _holds(self,
        rule: Rule, words: re.Match[str], sentence: Sentence, *, carried: bool) -> bool:
        """True when the subject is the person, said or carried over, and what may pass is not said of a trip or of next week."""
        if "me" in rule.pattern.groupindex and words["me"] is None and not carried:
            return False
        if rule.guard is not None and not rule.guard(words):
            return False
        before, whole = self.blank[sentence.start : words.end()], self.blank[sentence.start : sentence.end]
        return not (rule.fleeting and (_any(_FUTURE, before) or _any(_PASSING, whole)))

    def _slot(self, slots: tuple[Slot, ...]) -> Slot | None:
        return next((slot for slot in slots if self.has_slot(*slot)), None)

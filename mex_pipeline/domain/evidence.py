"""Whether the words a candidate rests on were really said, and by whom (product B3, F1)."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from mex_pipeline.domain.candidate import Action, Candidate
from mex_pipeline.domain.conversation import Chunk, Turn
from mex_pipeline.domain.coverage import COVERED, changes_language, coverage
from mex_pipeline.domain.likeness import bare
from mex_pipeline.domain.memory import Confidence, Source
from mex_pipeline.domain.rules import at_most
from mex_pipeline.domain.schema import Schema
from mex_pipeline.domain.structured import text_fields
from mex_pipeline.domain.text import CJK, find_quote, normalised
from mex_pipeline.domain.wording import OPEN_ENDS

_PAIRS = re.compile(
    r"“([^”]+)”|\"([^\"]+)\"|＂([^＂]+)＂|「([^」]+)」|『([^』]+)』|«([^»]+)»|„([^“”]+)[“”]|`([^`]+)`"
    r"|(?<![A-Za-z0-9])['‘](.+?)['’](?![A-Za-z0-9])"
)
_LEAD_IN = re.compile(
    r"(?:用户|本人)[^：:“\"「]{0,12}?"
    r"(?:(?:说|提到|提及|表示|表达|指出|透露|写道|回答|自述|陈述)(?:过|道|了)?[：:，,]?|[：:])\s*"
    r"|(?:the\s+)?user(?:\s+\w+)?\s+(?:said|says|stated|states|mentioned|mentions|wrote|writes|noted|explained"
    r"|confirmed|reported|replied|answered)(?:\s+that)?[:,]?\s*"
    r"|user:\s*",
    re.IGNORECASE,
)
_CJK = re.compile(f"[{CJK}]")
_DATE = re.compile(r"[0-9]{4}(?:[-/.年][0-9]{1,2}(?:[-/.月][0-9]{1,2})?)?[年月日]?(?:t?[0-9:]+z?)?")


_NO = re.compile(
    r"\W*(?:(?:no|nope|nah|wrong|incorrect)\b(?!\s+(?:problem|worries|doubt|need|one))|not\b(?!\s+(?:bad|only|just))"
    r"|(?:i|we)\s+(?:do|did|am|was|are|have)(?:n['’]t|\s+not)\b"
    r"|不(?!错|客气|过|仅|止|但|光|好意思|用谢)|没(?!错|问题|关系|事|想到)|错了|并不|并非|非也)",
    re.IGNORECASE,
)
_STATED = re.compile(r"我(?:们|现在|目前|已经)?(?:在|是|住|叫|用|姓|做|养|爱|喜欢)")
"""What the assistant may have put into another language."""

_HEARD = re.compile(
    r"\W*(?:(?:ok|okay|thanks?|thank\s+you|thx|cool|great|nice|perfect|got\s+it|i\s+see|hm+|good|so\s+much|a\s+lot"
    r"|谢谢你?|多谢|好的?|嗯|哦|知道了|明白了?|收到|了解|辛苦了)\W*)+",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the chunks of a job come from; without speakers every turn counts as the user's (product B3)."""

    agent: str
    session_id: str | None = None
    project: str | None = None
    source_file: str | None = None
    job_id: str | None = None
    has_speakers: bool = True


@dataclass(frozen=True, slots=True)
class _Hit:
    turn: Turn
    start: int
    end: int


def verify(candidate: Candidate, chunk: Chunk, origin: Origin) -> Candidate:
    """Return the candidate with its source: the message, and the words as they stand there when they do (product B3).

    The words are `quote`, else those inside the quotation marks of `evidence`, else `evidence` without its lead-in.
    They count in new turns only, never in context: first in the turn the candidate names, then in the user's turns,
    then, for what is inferred, in the assistant's. Unless the user said the words the tier is `inferred` at best (F1).
    A quote that was not found stays in the source, unverified, with the message the candidate names if it is new.
    """
    fresh = {number: turn for number, turn, is_context in chunk.numbered if not is_context}
    named = None if candidate.turn is None else fresh.get(candidate.turn)
    ordered = _search_order(chunk.turns, named, origin)
    if not candidate.is_ai_inferred:
        ordered = [turn for turn in ordered if _is_users(turn, origin)]
    hit = next(_hits(candidate, ordered), None)
    turn = hit.turn if hit else named
    source = _source(turn, origin)
    if turn is None:
        # Without a message the end of the chunk bounds when it was said: never now, or it would outdate newer words.
        source = source._replace(said_at=max((one.at for one in chunk.turns if one.at), default=None))
    if hit is None:
        source = source._replace(quote=candidate.quote)
    else:
        words = hit.turn.text[hit.start : hit.end]
        source = source._replace(quote=words, quote_start=hit.start, quote_end=hit.end, verified=True)
    is_said_by_user = hit is not None and _is_users(hit.turn, origin)
    confidence = candidate.confidence if is_said_by_user else at_most(Confidence.INFERRED, candidate.confidence)
    return replace(candidate, source=source, confidence=confidence)


def rests_on_assistant(candidate: Candidate, chunk: Chunk, origin: Origin) -> bool:
    """True when the words the candidate rests on are the assistant's and not the user's: no evidence at all (F1).

    Nor is it when the user's words are no more than thanks for them, or a no to them.
    """
    turns = [*chunk.context, *chunk.turns]
    named = next((turn for number, turn, _ in chunk.numbered if number == candidate.turn), None)
    ordered = _search_order(turns, named, origin)
    users = [turn for turn in ordered if _is_users(turn, origin)]
    others = [turn for turn in ordered if not _is_users(turn, origin)]
    if next(_hits(candidate, users), None) is None:
        return next(_hits(candidate, others), None) is not None
    return _is_put_in_the_mouth(candidate, users, others)


def _is_put_in_the_mouth(candidate: Candidate, users: list[Turn], others: list[Turn]) -> bool:
    """True for a value that only the assistant said, to which the user said no, or nothing, though it was no question."""
    source = candidate.source
    reply = next((turn.text for turn in users if source and turn.key == source.message_key), None)
    told = [turn.text for turn in others if coverage(candidate.content, turn.text) >= COVERED]
    if reply is None or not told or candidate.action is Action.RETIRE:
        return False
    if changes_language(candidate.content, reply) and _STATED.search(reply):
        return False
    if any(coverage(candidate.content, turn.text) for turn in users):
        return False
    is_asked = any("?" in text or "？" in text for text in told)
    return _NO.match(reply) is not None or (_HEARD.fullmatch(reply) is not None and not is_asked)


def is_echo(
    candidate: Candidate, *, examples: Collection[str], known: Collection[str], chunk: Chunk, schema: Schema
) -> bool:
    """True when the model repeated the prompt: the content is an example or known value nobody said (product B3).

    In a structured slot every field has to be such a value. Dates are exempt, being resolved from other words, and so
    are `retire` and the value a candidate `replaces`, which must repeat what is known.
    """
    if candidate.action is Action.RETIRE:
        return False
    slot = schema.find(candidate.topic, candidate.sub_topic)
    is_structured = slot is not None and bool(slot.fields)
    parts = _parts(candidate.content) if is_structured else [candidate.content]
    values = [value for value in parts if not _is_date(value)]
    prompted = {bare(part) for content in (*examples, *known) for part in (content, *_parts(content))}
    if not values or not all(bare(value) in prompted for value in values):
        return False
    turns = [*chunk.context, *chunk.turns]
    return not any(find_quote(turn.text, value) for turn in turns for value in values)


def _source(turn: Turn | None, origin: Origin) -> Source:
    """The source as far as it is known without the words."""
    source = Source(
        agent=origin.agent,
        session_id=origin.session_id,
        project=origin.project,
        source_file=origin.source_file,
        job_id=origin.job_id,
    )
    if turn is None:
        return source
    return source._replace(
        session_id=turn.session_id or origin.session_id,
        message_id=turn.message_id,
        message_key=turn.key,
        role="user" if _is_users(turn, origin) else turn.role,
        said_at=turn.at,
    )


def _is_users(turn: Turn, origin: Origin) -> bool:
    return turn.role == "user" or not origin.has_speakers


def _search_order(turns: Iterable[Turn], named: Turn | None, origin: Origin) -> list[Turn]:
    """The named turn, then the user's turns, then the others, each in the order of the conversation."""
    return sorted(turns, key=lambda turn: (turn is not named, not _is_users(turn, origin)))


def _hits(candidate: Candidate, turns: list[Turn]) -> Iterator[_Hit]:
    for words in _claims(candidate):
        for turn in turns:
            place = find_quote(turn.text, words)
            if place is not None:
                yield _Hit(turn, *place)


def _claims(candidate: Candidate) -> list[str]:
    """The words the candidate says it rests on, the longest first; what is too short to prove anything is left out."""
    if candidate.quote and candidate.quote.strip():
        claims = [candidate.quote]
    else:
        evidence = (candidate.evidence or "").strip()
        inside = [next(filter(None, match)) for match in _PAIRS.findall(evidence)]
        lead_in = _LEAD_IN.match(evidence)
        claims = inside or [evidence[lead_in.end() :] if lead_in else evidence]
    return sorted((words for words in claims if not _is_trivial(words)), key=len, reverse=True)


def _is_trivial(words: str) -> bool:
    """True below two CJK characters or three other letters and digits, a mixture counted in proportion."""
    counted = [char for char in normalised(words) if char.isalnum()]
    cjk = sum(1 for char in counted if _CJK.match(char))
    return cjk * 3 + (len(counted) - cjk) * 2 < 6


def _parts(content: str) -> list[str]:
    """The values of a JSON object of texts; other content is one value."""
    fields = text_fields(content)
    return list(fields.values()) if fields else [content]


def _is_date(value: str) -> bool:
    text = normalised(value)
    return text in OPEN_ENDS or _DATE.fullmatch(text) is not None

"""The query of `mex search QUERY`: words, phrases and operators (product E4); `--keyword` never comes through here."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from mex_pipeline.domain.memory import Confidence
from mex_pipeline.domain.selection import Selection
from mex_pipeline.errors import InvalidInput

_CLOSING = {'"': '"”“＂', "“": '”"“', "＂": '＂"', "「": "」", "『": "』"}
_MINUS = "-－"
_OPERATOR = re.compile(r"(topic|since|until|inferred|confidence)[:：]", re.IGNORECASE)
_ANSWERS = {"yes": True, "no": False, "是": True, "否": False}


class Moment(Protocol):
    """The time a person means."""

    def __call__(self, text: str, *, end_of_day: bool = False) -> str:
        """Return its UTC ISO, of a date the beginning or the end; raises InvalidInput."""
        ...


class _Piece(NamedTuple):
    """One word or phrase of a query, or an operator with its value."""

    text: str
    is_negated: bool = False
    operator: str | None = None
    is_phrase: bool = False


def parse(query: str, moment: Moment) -> Selection:
    """Return what a query asks for: `words`, `phrases` that must occur, `without`, and the conditions of its operators.

    `"an exact phrase"`, `-word`, `-"phrase"`, `topic:work`, `topic:work.company`, `since:7d`, `until:2026-11-01`,
    `inferred:yes|no`, `confidence:explicit`; full-width quotes, colons and minuses too. A word with a colon that is no
    operator is a word, so is a lone `-` or quote; a phrase that is not closed goes on to the end. Raises InvalidInput:
    `bad_operator`, `negated_operator`, `operator_twice`.
    """
    words: list[str] = []
    phrases: list[str] = []
    without: list[str] = []
    asked = Selection()
    for piece in _pieces(query):
        if piece.operator is not None:
            if piece.is_negated:
                raise InvalidInput("negated_operator", operator=piece.operator)
            asked = joined(asked, _condition(piece.operator, piece.text, moment))
        else:
            (without if piece.is_negated else phrases if piece.is_phrase else words).append(piece.text)
    return asked._replace(words=tuple(words), phrases=tuple(phrases), without=tuple(without))


def joined(one: Selection, other: Selection) -> Selection:
    """Return the conditions of both; raises InvalidInput("operator_twice") for one that both have."""
    added: dict[str, Any] = {}
    for name in ("topic", "sub_topic", "since", "until", "ai_inferred", "confidence"):
        value = getattr(other, name)
        if value is None:
            continue
        if getattr(one, name) is not None:
            raise InvalidInput("operator_twice", operator={"ai_inferred": "inferred"}.get(name, name))
        added[name] = value
    return one._replace(**added)


def _pieces(query: str) -> Iterator[_Piece]:
    at = 0
    while at < len(query):
        if query[at].isspace():
            at += 1
            continue
        after = query[at + 1 : at + 2]
        is_negated = query[at] in _MINUS and after != "" and not after.isspace() and after not in _MINUS
        start = at + is_negated
        operator = _OPERATOR.match(query, start)
        text, is_phrase, at = _text(query, operator.end() if operator else start)
        if operator:
            yield _Piece(text, is_negated, operator[1].lower())
        elif not is_phrase or text.strip():
            yield _Piece(text, is_negated, is_phrase=is_phrase)


def _text(query: str, start: int) -> tuple[str, bool, int]:
    """Return the phrase or word at `start`, whether it is a phrase, and where it ends."""
    closing = _CLOSING.get(query[start : start + 1])
    if closing and query[start + 1 :].strip():
        end = next((at for at in range(start + 1, len(query)) if query[at] in closing), len(query))
        return query[start + 1 : end], True, end + 1
    end = next((at for at in range(start, len(query)) if query[at].isspace()), len(query))
    return query[start:end], False, end


def _condition(operator: str, value: str, moment: Moment) -> Selection:
    if operator in ("since", "until"):
        try:
            time = moment(value, end_of_day=operator == "until")
        except InvalidInput as error:
            raise InvalidInput("bad_operator", operator=operator, value=value, known="2026-11-01, 7d") from error
        return Selection(since=time) if operator == "since" else Selection(until=time)
    folded = value.strip().casefold()
    if operator == "topic":
        topic, dot, sub_topic = folded.partition(".")
        if not topic or (dot and not sub_topic):
            raise InvalidInput("bad_operator", operator=operator, value=value, known="work, work.company")
        return Selection(topic=topic, sub_topic=sub_topic or None)
    known = list(_ANSWERS)[:2] if operator == "inferred" else list(Confidence)
    if folded not in (_ANSWERS if operator == "inferred" else known):
        raise InvalidInput("bad_operator", operator=operator, value=value, known=", ".join(known))
    if operator == "inferred":
        return Selection(ai_inferred=_ANSWERS[folded])
    return Selection(confidence=Confidence(folded))

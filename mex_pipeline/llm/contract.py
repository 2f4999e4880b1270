"""From the text of a reply to candidates, judged one by one (seed 004 §7.2, product C4, C11)."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Annotated, Any

from json_repair import repair_json
from pydantic import BaseModel, BeforeValidator, Field, ValidationError, WithJsonSchema
from pydantic_core import PydanticCustomError

from mex_pipeline.clock import iso
from mex_pipeline.domain.candidate import About, Action, Candidate, Discarded
from mex_pipeline.domain.memory import Confidence
from mex_pipeline.domain.structured import MAX_CONTENT
from mex_pipeline.errors import LLMBadReply
from mex_pipeline.llm.text import clean

_MAX_SUPPORT = 4_000
"""Characters at which evidence, quote and replaces are cut."""

_MAX_SHOWN = 200
_MAX_TURN = 1_000_000
_MAX_REPAIRED = 200_000
_MAX_DEPTH = 50
_MAX_STARTS = 1_000
_NOTHING = frozenset({"", "null", "none"})
_TRUTH = {"true": True, "1": True, "false": False, "0": False}

_REASONING_END = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_REASONING_START = re.compile(r"<(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_FENCE_LABEL = re.compile(r"^[\w-]*")
_OBJECT_START = re.compile(r"""\{\s*["'“]?memories\b""")
_ARRAY_START = re.compile(r"\[\s*\{")
_EMPTY_ARRAY = re.compile(r"\[\s*\]")
_MEMORIES_KEY = re.compile(r"""["'“]memories["'”]\s*[:：]""")
_CONTENT_KEY = re.compile(r"""["'“]content["'”]\s*[:：]""")
_DEBRIS = re.compile(r"""["'”]\s*(?:[}\]:：]|,\s*["'“])""")
_DATE = re.compile(r"[0-9]{4}(?:-[0-9]{2}){0,2}")
_DATE_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """What a reply proposes, and what of it cannot be used."""

    candidates: tuple[Candidate, ...]
    discarded: tuple[Discarded, ...]


def parse_reply(text: str) -> ParsedReply:
    """Return the candidates of a reply; each unusable one is discarded alone (product C4).

    Raises LLMBadReply: `llm_bad_reply` without an object that has a `memories` list, `llm_reasoning_only` when nothing
    follows the reasoning, `llm_cut_off` when the text ends inside a candidate.
    """
    entries, is_mended = _memories(clean(text).strip())
    judged = [_judged(entry, is_mended=is_mended) for entry in entries]
    discarded = [verdict for verdict in judged if isinstance(verdict, Discarded)]
    proposed = [verdict for verdict in judged if isinstance(verdict, Candidate)]
    kept: dict[Candidate, Candidate] = {}
    for candidate in proposed:
        kept.setdefault(_statement(candidate), candidate)
    repeats = Counter(_statement(candidate) for candidate in proposed)
    discarded += [
        Discarded(statement.content, "duplicate_in_reply", {"times": str(times)})
        for statement, times in repeats.items()
        if times > 1
    ]
    return ParsedReply(tuple(kept.values()), tuple(discarded))


def _statement(candidate: Candidate) -> Candidate:
    """Return what the candidate says without how it is supported: equal statements are duplicates."""
    return replace(
        candidate, is_ai_inferred=False, confidence=Confidence.EXPLICIT, evidence=None, quote=None, turn=None
    )


def _text(value: Any) -> str | None:
    """Return a cleaned string, or None for a blank one, a spelt-out null and anything that is no text."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        return None
    text = clean(value).strip()
    return None if text.casefold() in _NOTHING else text[:_MAX_SUPPORT].rstrip()


def _slot_name(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise PydanticCustomError("slot_not_text", "slot_not_text")
    return _text(value)


def _content(value: Any) -> str:
    """Return the content as text; structured content given as an object becomes its JSON (seed §7.2)."""
    if isinstance(value, list):
        raise PydanticCustomError("content_not_text", "content_not_text")
    if isinstance(value, dict | bool | int | float):
        value = _json(value) if value != {} else ""
    text = clean(value or "").strip()
    if not text:
        raise PydanticCustomError("content_empty", "content_empty")
    if len(text) > MAX_CONTENT:
        raise PydanticCustomError("content_too_long", "content_too_long", {"length": len(text), "limit": MAX_CONTENT})
    return text


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (RecursionError, ValueError) as error:  # NaN and Infinity are no JSON
        raise PydanticCustomError("content_not_text", "content_not_text") from error


def _action(value: Any) -> Action:
    name = (_text(value) or Action.NEW).casefold() if value is None or isinstance(value, str) else ""
    if name not in set(Action):
        raise PydanticCustomError("unknown_action", "unknown_action", {"action": _shown(value)})
    return Action(name)


def _confidence(value: Any) -> Confidence | None:
    """Return the tier, None when none is given; only a person confirms (seed §3.3)."""
    if value is None or value == "":
        return None
    name = value.strip().casefold() if isinstance(value, str) else ""
    if name == Confidence.CONFIRMED:
        raise PydanticCustomError("confirmed_by_model", "confirmed_by_model")
    if name not in set(Confidence):
        raise PydanticCustomError("unknown_confidence", "unknown_confidence", {"confidence": _shown(value)})
    return Confidence(name)


def _truth(value: Any) -> bool:
    """Return the flag; what is neither true nor false counts as inferred, the weaker claim."""
    return False if value is None else _TRUTH.get(str(value).strip().casefold(), True)


def _turn(value: Any) -> int | None:
    try:
        number = int(value) if not isinstance(value, bool) else 0
    except (TypeError, ValueError, OverflowError):
        return None
    return number if 0 < number <= _MAX_TURN else None


def _about(value: Any) -> About:
    """Return whom it is about; an unknown word is not the user, so that it fills no slot of theirs (product C11)."""
    name = (_text(value) or About.USER).casefold() if value is None or isinstance(value, str) else ""
    return About(name) if name in set(About) else About.OTHER


def _occurred_at(value: Any) -> str | None:
    """Return YYYY, YYYY-MM or YYYY-MM-DD as it is, a date-time in the stored UTC form, None for anything else (B4).

    A time without a zone is local, as are the times the model is shown.
    """
    text = _text(value) or ""
    try:
        if _DATE.fullmatch(text):
            date.fromisoformat(text + "-01-01"[len(text) - 4 :])
            return text
        return iso(datetime.fromisoformat(text)) if _DATE_TIME.fullmatch(text) else None
    except (ValueError, OverflowError):
        return None


def _one_of(values: Iterable[str]) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "enum": [str(value) for value in values]})


_OptionalText = Annotated[str | None, BeforeValidator(_text)]
_SlotName = Annotated[str | None, BeforeValidator(_slot_name)]
_MODEL_TIERS = [tier for tier in Confidence if tier is not Confidence.CONFIRMED]


class _Memory(BaseModel):
    """One entry of `memories`, in the order of keys the prompt asks for."""

    action: Annotated[Action, BeforeValidator(_action), _one_of(Action)] = Action.NEW
    topic: _SlotName = None
    sub_topic: _SlotName = None
    content: Annotated[str, BeforeValidator(_content)] = Field(default="", validate_default=True)
    is_ai_inferred: Annotated[bool, BeforeValidator(_truth)] = False
    confidence: Annotated[Confidence | None, BeforeValidator(_confidence), _one_of(_MODEL_TIERS)] = None
    evidence: _OptionalText = None
    quote: _OptionalText = None
    turn: Annotated[int | None, BeforeValidator(_turn)] = None
    about: Annotated[About, BeforeValidator(_about), _one_of(About)] = About.USER
    replaces: _OptionalText = None
    occurred_at: Annotated[str | None, BeforeValidator(_occurred_at)] = None

    def candidate(self) -> Candidate:
        """Return the candidate: the tier filled in, `topic.sub_topic` written as one name taken apart."""
        topic, sub_topic = self.topic, self.sub_topic
        prefix, _, name = (sub_topic or "").partition(".")
        if prefix and name and topic in {None, prefix}:
            topic, sub_topic = prefix, name
        usual = Confidence.INFERRED if self.is_ai_inferred else Confidence.EXPLICIT
        fields = {**self.model_dump(), "topic": topic, "sub_topic": sub_topic, "confidence": self.confidence or usual}
        return Candidate(**fields)


def _judged(entry: Any, *, is_mended: bool) -> Candidate | Discarded:
    if not isinstance(entry, dict):
        return Discarded(_shown(entry), "not_an_object")
    try:
        candidate = _Memory.model_validate(entry).candidate()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        facts = {name: str(value) for name, value in first.get("ctx", {}).items()}
        return Discarded(_shown(entry.get("content")), first["type"], facts)
    if is_mended and _is_garbled(candidate.content):
        return Discarded(_shown(candidate.content), "content_garbled")
    return candidate


def _is_garbled(content: str) -> bool:
    """True for a mended content with remains of the JSON around it: a guess at where a broken string ended."""
    if _DEBRIS.search(content) is None:
        return False
    try:
        json.loads(content)
    except ValueError:
        return True
    return False


def _shown(value: Any) -> str:
    """Return what stands for a value that is not written: its text, cut."""
    if value is None:
        return ""
    if not isinstance(value, str):
        try:
            value = json.dumps(value, ensure_ascii=False)
        except RecursionError:
            return ""
    return clean(value).strip()[:_MAX_SHOWN]


def _memories(text: str) -> tuple[list[Any], bool]:
    """Return the entries of every object with a `memories` list, or of a bare array, and whether they were mended.

    Raises LLMBadReply.
    """
    try:
        return _listed(_DECODER.decode(_unfenced(text))), False
    except (ValueError, RecursionError):
        pass
    answer = _after_reasoning(text)
    if answer != text:
        return _memories(answer)
    return _among_prose(text)


def _unfenced(text: str) -> str:
    """Return the inside of a text that is one Markdown fence, with or without a label."""
    is_fenced = text.startswith("```") and text.endswith("```") and len(text) > 6
    return _FENCE_LABEL.sub("", text[3:-3]).strip() if is_fenced else text


def _listed(value: Any) -> list[Any]:
    """Return the entries of a decoded reply: `{"items": []}` and `{"memories": null}` are no success.

    A bare array counts when it is empty or holds something with a content; the turns played back do not.
    """
    found = value.get("memories") if isinstance(value, dict) else value
    if not isinstance(found, list):
        raise LLMBadReply("llm_bad_reply")
    if found is value and found and not any(isinstance(entry, dict) and "content" in entry for entry in found):
        raise LLMBadReply("llm_bad_reply")
    return found


def _after_reasoning(text: str) -> str:
    """Return what follows the reasoning some models write before the answer; the opening tag may be missing."""
    answer = _REASONING_END.split(text)[-1].strip()
    if text and (not answer or _REASONING_START.match(answer)):
        raise LLMBadReply("llm_reasoning_only")
    return answer


def _among_prose(text: str) -> tuple[list[Any], bool]:
    """Return the entries of all objects (or the one array) in prose or fences, and of broken JSON: then True."""
    lists: list[list[Any]] = []
    rest = text
    at = _first_bracket(text)
    for _ in range(_MAX_STARTS):
        if at < 0:
            break
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            with suppress(LLMBadReply):
                lists.append(_listed(value))
                rest = text[end:]
        at = text.find("{", end)
    entries = [entry for found in lists for entry in found]
    # An empty list is believed only when nothing else in the reply wants to be one: no silent zero (product C5).
    is_whole = _OBJECT_START.search(rest) is None and (entries or len(_MEMORIES_KEY.findall(text)) <= len(lists))
    if lists and is_whole:
        return entries, False
    return entries + _repaired(rest), True


def _first_bracket(text: str) -> int:
    """Return where the first object, or the first array of objects when it is earlier, begins; -1 without one."""
    brace = text.find("{")
    array = _ARRAY_START.search(text)
    return array.start() if array and array.start() < brace else brace


def _repaired(text: str) -> list[Any]:
    """Return the entries of broken JSON, mended; never of prose, never with a last entry that was cut off."""
    anchor = _OBJECT_START.search(text)
    start = anchor.start() if anchor else _first_bracket(text)
    end = text.rfind("}", start) + 1 if start >= 0 else 0
    if start >= 0 and "{" in text[max(end, start + 1) :]:
        raise LLMBadReply("llm_cut_off")
    broken = text[start : end or None]
    if start < 0 or len(broken) > _MAX_REPAIRED or _depth(broken) > _MAX_DEPTH:
        raise LLMBadReply("llm_bad_reply")
    try:
        mended = repair_json(broken, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError) as error:
        raise LLMBadReply("llm_bad_reply") from error
    if broken.startswith("{") and isinstance(mended, list):
        mended = next((value for value in mended if isinstance(value, dict)), None)
    entries = _listed(mended)
    # `[ … ]` is mended to an empty list that the model did not write, and a bare quote may swallow whole entries.
    is_invented = not entries and _EMPTY_ARRAY.search(broken) is None
    with_content = sum(isinstance(entry, dict) and "content" in entry for entry in entries)
    if is_invented or with_content < len(_CONTENT_KEY.findall(broken)):
        raise LLMBadReply("llm_bad_reply")
    return entries


def _depth(text: str) -> int:
    """Return how deep brackets nest, strings included: mending text that nests without end takes minutes."""
    depth = deepest = 0
    for character in text:
        if character in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "}]":
            depth = max(depth - 1, 0)
    return deepest


_SCHEMA_NOISE = frozenset({"title", "default"})
_PROPERTIES = {
    name: {key: value for key, value in about.items() if key not in _SCHEMA_NOISE}
    for name, about in _Memory.model_json_schema()["properties"].items()
}

REPLY_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "memories": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": _PROPERTIES,
                "required": list(_PROPERTIES),
                "additionalProperties": False,
            },
        }
    },
    "required": ["memories"],
    "additionalProperties": False,
}
"""The reply as JSON Schema for `response_format`, strict: no $ref, every key required, null where it does not apply."""

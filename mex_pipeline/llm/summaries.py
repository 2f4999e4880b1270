"""From the text of a reply to the summaries it proposes, and how it is asked for (product C4, C13)."""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from json_repair import repair_json

from mex_pipeline.domain.compact import Group, Proposed
from mex_pipeline.domain.conversation import PROMPT_MARK
from mex_pipeline.domain.structured import MAX_CONTENT, is_date
from mex_pipeline.errors import LLMBadReply
from mex_pipeline.llm.port import Message
from mex_pipeline.llm.text import clean

_MAX_REPAIRED = 200_000
_MAX_STARTS = 1_000
_START = re.compile(r"""\{[^{}\[\]]*\bsummaries\b""")
_CONTENT_KEY = re.compile(r"""["'“]content["'”]\s*[:：]""")
_REASONING_END = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_LINE_BREAKS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}
_DECODER = json.JSONDecoder(strict=False)

SUMMARIES_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "summaries": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "content": {"type": "string"},
                    "records": {"type": "array", "items": {"type": "integer"}},
                    "occurred_at": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                },
                "required": ["content", "records", "occurred_at"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["summaries"],
    "additionalProperties": False,
}
"""The reply as JSON Schema for `response_format`, strict: every key required, null where it does not apply."""


@dataclass(frozen=True, slots=True)
class CompactPrompts:
    """The prompt texts of a compaction in one language: the system message, and the reminder."""

    task: str
    repair: str

    @property
    def version(self) -> str:
        """Twelve hex digits that change with any word of the texts: part of a kept reply's key (product H5)."""
        return hashlib.sha256(json.dumps([self.task, self.repair]).encode()).hexdigest()[:12]


def messages_for(prompts: CompactPrompts, group: Group) -> list[Message]:
    """Return the system message, and the records as JSON data, one a line and numbered from 1 (product C13)."""
    lines = [
        json.dumps(
            {"record": number, "date": day, "text": clean(text)}, ensure_ascii=False, separators=(",", ":")
        ).translate(_LINE_BREAKS)
        for number, (day, text) in enumerate(zip(group.days, group.texts, strict=True), start=1)
    ]
    told = f"{PROMPT_MARK}\n[" + ",\n ".join(lines) + "]"
    return [Message("system", clean(prompts.task.strip())), Message("user", told)]


def parse_summaries(text: str) -> tuple[Proposed, ...]:
    """Return the summaries of a reply; of what an entry leaves out nothing is guessed, so that code can reject it.

    Raises LLMBadReply: `llm_bad_reply` without an object that has a `summaries` list, `llm_cut_off` when the text ends
    inside a summary.
    """
    whole = clean(text).strip()
    try:
        entries = _listed(_DECODER.decode(whole))
    except (ValueError, RecursionError, LLMBadReply):
        entries = _entries(_REASONING_END.split(whole)[-1].strip())
    return tuple(_proposed(entry) for entry in entries)


def _entries(text: str) -> list[Any]:
    """The entries of all objects with summaries, in fences or prose; of broken JSON as it can be mended."""
    found: list[Any] = []
    is_there = False
    at = 0
    for _ in range(_MAX_STARTS):
        start = _START.search(text, at)
        if start is None:
            break
        try:
            value, at = _DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            return found + _mended(text[start.start() :])
        found += _listed(value)
        is_there = True
    if not is_there:
        raise LLMBadReply("llm_bad_reply")
    return found


def _listed(value: Any) -> list[Any]:
    entries = value.get("summaries") if isinstance(value, dict) else None
    if not isinstance(entries, list):
        raise LLMBadReply("llm_bad_reply")
    return entries


def _mended(text: str) -> list[Any]:
    """The entries of broken JSON, never with a last one that was cut off."""
    end = text.rfind("}") + 1
    if "{" in text[max(end, 1) :]:
        raise LLMBadReply("llm_cut_off")
    broken = text[: end or None]
    if len(broken) > _MAX_REPAIRED or broken.count("{") + broken.count("[") > _MAX_STARTS:
        raise LLMBadReply("llm_bad_reply")
    try:
        mended = repair_json(broken, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError) as error:
        raise LLMBadReply("llm_bad_reply") from error
    if isinstance(mended, list):
        mended = next((value for value in mended if isinstance(value, dict)), None)
    entries = _listed(mended)
    # A bare quote may have swallowed whole entries, and an empty list may be one that the model did not write.
    told = sum(isinstance(entry, dict) and "content" in entry for entry in entries)
    if not entries or told < len(_CONTENT_KEY.findall(broken)):
        raise LLMBadReply("llm_bad_reply")
    return entries


def _proposed(entry: Any) -> Proposed:
    fields = entry if isinstance(entry, dict) else {}
    content, records, date = (fields.get(name) for name in ("content", "records", "occurred_at"))
    is_text = isinstance(content, str) and 0 < len(content) <= MAX_CONTENT
    return Proposed(
        content=" ".join(clean(content).split()) if is_text and isinstance(content, str) else "",
        records=tuple(map(_number, records)) if isinstance(records, list) else (),
        occurred_at=date if isinstance(date, str) and is_date(date) else None,
    )


def _number(value: Any) -> int:
    """The number of a record; 0, which no record has, for anything else."""
    is_none = isinstance(value, bool) or (isinstance(value, float) and not value.is_integer())
    try:
        return 0 if is_none else int(value)
    except (TypeError, ValueError, OverflowError):
        return 0

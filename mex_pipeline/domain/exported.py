"""What an export holds: its sections and their columns, and how one row of a file is checked (product G11, H13)."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from mex_pipeline.domain.conversation import Cursor
from mex_pipeline.domain.memory import Actor, Confidence, Event, Memory
from mex_pipeline.domain.proposal import ProposalKind
from mex_pipeline.domain.proposal import decode as decode_candidate
from mex_pipeline.domain.refusal import RefusalKind
from mex_pipeline.domain.text import clean, is_blank
from mex_pipeline.errors import InvalidInput

FORMAT = "mex-export"
VERSION = 2
FOREIGN_VERSION = 1
"""The original's exports: memories of twelve keys, and nothing beside them."""

_ID = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_HEX = re.compile(r"[0-9a-f]{32}")
_DATE = re.compile(r"[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?")
_MOST = 2**63 - 1

Check = Callable[[Any], Any]
"""Returns a value as it is stored, or raises ValueError."""


@dataclass(frozen=True, slots=True)
class Section:
    """One list of an export: its name and, in the order of the file, its columns with what each may hold."""

    name: str
    columns: Mapping[str, Check]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    return clean(value)


def _name(value: Any) -> str | None:
    """A topic or sub_topic; the original wrote empty ones for none."""
    return None if value is None or is_blank(_text(value)) else _text(value)


def _identifier(value: Any) -> str:
    """An id in UUID form; the original wrote some of its own without hyphens."""
    if not isinstance(value, str) or _ID.fullmatch(value.lower()) is None:
        raise ValueError
    return str(UUID(value))


def _time(value: Any) -> str:
    """Any ISO 8601 moment that can be shown, as it is stored (seed 004 §3.7)."""
    try:
        moment = datetime.fromisoformat(_text(value))
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        moment.astimezone()
    except (OverflowError, OSError) as error:
        raise ValueError from error
    return moment.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def _happened(value: Any) -> str:
    """When something happened, as precisely as it is known: a local date, or a moment (product B4)."""
    text = _text(value)
    if _DATE.fullmatch(text) is None:
        return _time(text)
    date.fromisoformat(f"{text}-01-01"[: len("2026-11-30")])
    return text


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST:
        raise ValueError
    return value


def _times(value: Any) -> int:
    return max(1, _number(value))


def _place(value: Any) -> int:
    """The order of a kept turn; exports of meX before structure version 8 have none."""
    return 0 if value is None else _number(value)


def _purged(value: Any) -> bool:
    """The mark of what was forgotten for good; exports of meX before structure version 8 have none."""
    return value is not None and _flag(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool) and not (isinstance(value, int) and value in (0, 1)):
        raise ValueError
    return bool(value)


def _one_of(values: type[StrEnum] | tuple[str, ...]) -> Check:
    known = frozenset(str(value) for value in values)

    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in known:
            raise ValueError
        return value

    return check


def _maybe(check: Check) -> Check:
    return lambda value: None if value is None else check(value)


def _state(value: Any) -> dict[str, Any]:
    """A memory's whole row state inside history, its keys in the order they came in.

    Before structure version 10 nothing was pinned, and states did not say so.
    """
    if not isinstance(value, dict):
        raise ValueError
    value = value if "is_pinned" in value else value | {"is_pinned": False}
    checked = {name: check(value.get(name)) for name, check in MEMORIES.columns.items()}
    return {name: checked[name] for name in value if name in checked}


def _hex(value: Any) -> str:
    if not isinstance(value, str) or _HEX.fullmatch(value) is None:
        raise ValueError
    return value


def _candidate(value: Any) -> dict[str, Any]:
    """What a held proposal would write; one that cannot be read would stop the queue it waits in."""
    try:
        decode_candidate(json.dumps(value))
        source = value["source"] and _plain(value["source"])
        return _plain(value | {"content": _text(value["content"]), "source": None}) | {"source": source}
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError from error


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """An object of texts, numbers and flags."""
    if not all(one is None or isinstance(one, str | int) for one in value.values()):
        raise ValueError
    return {name: clean(one) if isinstance(one, str) else one for name, one in value.items()}


def _cursor(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError
    checks: dict[Any, Check] = {int: _number, str: _text}
    found = {one.name: checks[one.type](value.get(one.name, one.default)) for one in fields(Cursor)}
    return {"v": 1} | found


_EXTRACTOR = _one_of(("model", "rules"))

MEMORIES = Section(
    "memories",
    {
        "id": _identifier, "topic": _name, "sub_topic": _name, "content": _text, "is_ai_inferred": _flag,
        "confidence": _one_of(Confidence), "evidence": _maybe(_text), "created_at": _time, "updated_at": _time,
        "forgotten_at": _maybe(_time), "forgotten_reason": _maybe(_text), "expires_at": _maybe(_time),
        "occurred_at": _maybe(_happened), "valid_from": _time, "valid_to": _maybe(_time), "times_seen": _times,
        "last_seen_at": _maybe(_time), "is_pinned": _flag,
    },
)  # fmt: skip
HISTORY = Section(
    "history",
    {
        "id": _text, "memory_id": _identifier, "event": _one_of(Event), "old_content": _maybe(_text),
        "new_content": _maybe(_text), "actor": _one_of(Actor), "evidence": _maybe(_text), "created_at": _time,
        "job_id": _maybe(_text), "before": _maybe(_state), "after": _maybe(_state),
    },
)  # fmt: skip
SOURCES = Section(
    "sources",
    {
        "memory_id": _identifier, "agent": _text, "session_id": _maybe(_text), "message_id": _maybe(_text),
        "message_key": _maybe(_text), "role": _maybe(_text), "said_at": _maybe(_time), "quote": _maybe(_text),
        "quote_start": _maybe(_number), "quote_end": _maybe(_number), "verified": _flag, "project": _maybe(_text),
        "source_file": _maybe(_text), "job_id": _maybe(_text), "created_at": _time,
    },
)  # fmt: skip
TURNS = Section(
    "turns",
    {
        "agent": _text, "key": _text, "session_id": _maybe(_text), "message_id": _maybe(_text),
        "source_file": _maybe(_text), "project": _maybe(_text), "role": _one_of(("user", "assistant")),
        "kind": _text, "said_at": _maybe(_time),
        "text": _text, "job_id": _maybe(_text), "kept_at": _time, "position": _place, "previous_key": _maybe(_text),
    },
)  # fmt: skip
REFUSALS = Section(
    "refusals",
    {
        "kind": _one_of(RefusalKind), "slot": _text, "length": _number, "checksum": _number, "salt": _hex, "hash": _hex,
        "created_at": _time,
    },
)  # fmt: skip
PROPOSALS = Section(
    "proposals",
    {
        "id": _identifier, "kind": _one_of(ProposalKind), "reason": _text, "memory_id": _maybe(_identifier),
        "other_id": _maybe(_identifier), "candidate": _maybe(_candidate), "job_id": _maybe(_text), "created_at": _time,
    },
)  # fmt: skip
APART = (
    Section(
        "extraction_state",
        {
            "source_file": _text, "extractor": _EXTRACTOR, "last_position": _number, "last_extracted_at": _time,
            "agent": _text, "session_id": _maybe(_text), "project": _maybe(_text), "cursor": _cursor,
        },
    ),
    Section(
        "seen_messages",
        {
            "agent": _text, "key": _text, "extractor": _EXTRACTOR, "job_id": _text, "seen_at": _number,
            "purged": _purged,
        },
    ),
    Section(
        "llm_usage",
        {
            "id": _text, "purpose": _text, "model": _text, "prompt_tokens": _number, "completion_tokens": _number,
            "created_at": _time, "job_id": _maybe(_text), "agent": _maybe(_text),
        },
    ),
    REFUSALS,
    PROPOSALS,
    TURNS,
)  # fmt: skip
"""What stands beside the memories: how far sources are read, what calls have cost, what is refused and what waits for
a person, and the kept turns."""
SECTIONS = (MEMORIES, HISTORY, SOURCES, *APART)


def parse(data: object, path: str) -> dict[str, list[Any]]:
    """Return the rows of every section by its name, not yet checked; a section that is left out has none.

    Raises InvalidInput: `not_an_export` (`path`), or
    `export_version` (`path`, `version`, `known`) for a version this code does not know.
    """
    if not isinstance(data, dict) or not (data.get("format") == FORMAT or isinstance(data.get("memories"), list)):
        raise InvalidInput("not_an_export", path=path)
    version = data.get("version")
    if isinstance(version, bool) or version not in (FOREIGN_VERSION, VERSION):
        shown = "—" if version is None else clean(str(version))[:20]
        raise InvalidInput("export_version", path=path, version=shown, known=f"{FOREIGN_VERSION}, {VERSION}")
    found = {section.name: data.get(section.name, []) for section in SECTIONS}
    if "memories" not in data or not all(isinstance(rows, list) for rows in found.values()):
        raise InvalidInput("not_an_export", path=path)
    return found


def read_row(section: Section, row: object) -> dict[str, Any]:
    """Return one row of a file with every column of its section; raises InvalidInput (`entry_not_object`,
    `entry_bad_field` with `field`) when it cannot be stored.
    """
    if not isinstance(row, dict):
        raise InvalidInput("entry_not_object")
    found = dict(_checked(section, row))
    if section is PROPOSALS:
        needed = {"merge": ("memory_id", "other_id"), "hold": ("candidate",)}[found["kind"]]
        wrong = [one for one in ("memory_id", "other_id", "candidate") if (found[one] is None) == (one in needed)]
        if wrong:
            raise InvalidInput("entry_bad_field", field=wrong[0])
    return found


def _checked(section: Section, row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, check in section.columns.items():
        try:
            yield name, check(row.get(name))
        except ValueError as error:
            raise InvalidInput("entry_bad_field", field=name) from error


def read_memory(row: object) -> tuple[Memory, frozenset[str]]:
    """Return the memory of one row, and the columns the file itself had; raises InvalidInput as `read_row`.

    What a file of the original lacks begins as a fresh memory would have it: valid and seen since it was made.
    """
    if not isinstance(row, dict):
        raise InvalidInput("entry_not_object")
    made_at = row.get("created_at")
    defaults = {
        "is_ai_inferred": False,
        "updated_at": made_at,
        "valid_from": made_at,
        "times_seen": 1,
        "is_pinned": False,
    }
    whole = defaults | {"last_seen_at": row.get("valid_from", made_at)} | row
    values = read_row(MEMORIES, whole)
    values["confidence"] = Confidence(values["confidence"])
    return Memory(**values), frozenset(row) & MEMORIES.columns.keys()

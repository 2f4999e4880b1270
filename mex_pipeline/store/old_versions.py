"""From the tables of the original meX (versions 2 to 5) to ours, row by row (product B1, H14; docs/storage.md)."""

import json
import re
import uuid
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mex_pipeline.clock import from_iso, iso
from mex_pipeline.domain.memory import Actor, Confidence, Event, HistoryEntry, Memory
from mex_pipeline.domain.reconcile import RETIRED
from mex_pipeline.domain.text import clean
from mex_pipeline.store import changes, history, memories
from mex_pipeline.store.database import Database
from mex_pipeline.store.sql import Query, Statement, value

OLDEST, NEWEST = 2, 5
_NEEDED = {
    "memories": {"id", "topic", "sub_topic", "content", "is_ai_inferred", "confidence", "created_at", "updated_at"},
    "history": {"id", "memory_id", "event", "old_content", "new_content", "actor", "created_at"},
}
_THEIRS = {"memories", "memories_fts", "history", "llm_usage", "extraction_state"}
_ONLY_OURS = {
    "memory_sources", "seen_messages", "turns", "kept_replies", "endpoints", "jobs", "job_events", "workers",
    "queue_control",
}  # fmt: skip
_DROP = "".join(f"DROP TABLE IF EXISTS {name};\n" for name in ("memories_fts", *sorted(_THEIRS - {"memories_fts"})))

_UUID = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OldFile:
    """Everything an old file holds that goes on, in the order of time: rows as they are, by column name.

    Its `extraction_state` counts characters of a text that only the original made; that is no cursor of ours.
    """

    version: int
    memories: tuple[Record, ...]
    history: tuple[Record, ...]
    usage: tuple[Record, ...]


def is_original(database: Database) -> bool:
    """True when the tables are those of the original, whatever the version says."""
    tables = set(database.all(Query("SELECT name FROM sqlite_master WHERE type = 'table'", {}, value("name"))))
    return not tables & _ONLY_OURS and all(needed <= _columns(database, name) for name, needed in _NEEDED.items())


def _columns(database: Database, table: str) -> set[str]:
    return set(database.all(Query("SELECT name FROM pragma_table_info(:table)", {"table": table}, value("name"))))


def read(database: Database, version: int) -> OldFile:
    """Return what an old file holds."""
    return OldFile(
        version,
        _records(database, "memories"),
        _records(database, "history"),
        _records(database, "llm_usage") if _columns(database, "llm_usage") else (),
    )


def _records(database: Database, table: str) -> tuple[Record, ...]:
    with database.any_text():
        return tuple(database.all(Query(f"SELECT * FROM {table} ORDER BY created_at, rowid", {}, dict)))


def drop(database: Database) -> None:
    """Remove the old tables with their indexes and triggers, the unique index of version 2 among them."""
    database.script(_DROP)


def statements(old: OldFile, now: str) -> list[Statement]:
    """Return what writes the old rows into our tables; `now` is the time of the migration.

    Every memory and every line of history is kept. Lines of history keep their contents; whole states were not
    recorded then. A memory without a first line gets one, so that each history can be replayed.
    """
    lines: dict[Hashable, list[Record]] = {}
    for line in old.history:
        lines.setdefault(line["memory_id"], []).append(line)
    ids = _ids([row["id"] for row in old.memories] + list(lines))
    rows: list[Statement] = []
    first: list[tuple[str, Statement]] = []
    splits: list[Statement] = []
    taken: set[str] = set()
    for record in old.memories:
        identifier = _own_id(ids.get(record["id"]), taken)
        own = lines.get(record["id"], []) if identifier == ids.get(record["id"]) else []
        memory = _memory(record, identifier, own, now)
        values = _values(memory) if old.version < NEWEST else (memory.content,)
        kept = [memory._replace(content=values[0])]
        kept += [memory._replace(id=str(uuid.uuid4()), content=content) for content in values[1:]]
        rows += [memories.insert(one) for one in kept]
        rows += _embedding(record, memory.id)
        if not any(line["event"] == Event.ADD for line in own):
            first.append(_first_line(memory, own))
        splits += _split_lines(memory, kept, now)
    taken = set()
    spent = [_usage(record, _own_id(record["id"] and _text(record["id"]), taken), now) for record in old.usage]
    return rows + _in_order(old.history, ids, first, now) + splits + spent


def _ids(found: Iterable[Hashable]) -> dict[Hashable, str]:
    """Return the new id of every old one: UUIDs in the form with hyphens (product B9), all others as they are.

    Two old ids that would become one stay apart: the second keeps its own form.
    """
    ids: dict[Hashable, str] = {}
    taken: set[str] = set()
    texts = {old: str(old) for old in found if old is not None}
    for old, text in sorted(texts.items(), key=lambda pair: (_canonical(pair[1]) != pair[1], pair[1])):
        ids[old] = text if _canonical(text) in taken else _canonical(text)
        taken.add(ids[old])
    return ids


def _own_id(found: str | None, taken: set[str]) -> str:
    """Return an id as it is, or a new one where it is missing or taken, and add it to those that are taken."""
    identifier = found if found and found not in taken else str(uuid.uuid4())
    taken.add(identifier)
    return identifier


def _canonical(text: str) -> str:
    return str(uuid.UUID(text)) if _UUID.fullmatch(text) else text


def _memory(record: Record, identifier: str, own: list[Record], now: str) -> Memory:
    created = _time(record["created_at"], now) or now
    updated = _time(record["updated_at"], created) or created
    revised = [line for line in own if line["event"] == Event.UPDATE and line["old_content"] != line["new_content"]]
    valid_from = (_time(revised[-1]["created_at"], created) if revised else None) or created
    forgotten = _time(record.get("forgotten_at"), updated)
    return Memory(
        id=identifier,
        # The original took "" for a topic; such a memory was in no slot and in no list of records.
        topic=_some_text(record["topic"]) or None,
        sub_topic=_some_text(record["sub_topic"]) or None,
        content=_text(record["content"]),
        is_ai_inferred=bool(record["is_ai_inferred"]),
        confidence=_one_of(Confidence, record["confidence"], Confidence.UNCERTAIN),
        evidence=_some_text(record.get("evidence")),
        created_at=created,
        updated_at=updated,
        valid_from=valid_from,
        # The mark that keeps an old session, read again, from asserting what was taken back since (product B11).
        valid_to=forgotten if record.get("forgotten_reason") == RETIRED else None,
        forgotten_at=forgotten,
        forgotten_reason=_some_text(record.get("forgotten_reason")),
        expires_at=_time(record.get("expires_at"), None),
        last_seen_at=valid_from,
    )


def _values(memory: Memory) -> tuple[str, ...]:
    """Return the values of a slot that held a JSON array (`multiple`, retired with version 3), else the content."""
    if memory.sub_topic is None or not memory.content.lstrip().startswith("["):
        return (memory.content,)
    try:
        given = json.loads(memory.content)
    except (ValueError, RecursionError):
        return (memory.content,)
    whole = given and all(isinstance(one, dict) or (isinstance(one, str) and one.strip()) for one in given)
    if not whole:
        return (memory.content,)
    return tuple(clean(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)) for one in given)


def _split_lines(memory: Memory, kept: list[Memory], now: str) -> Iterator[Statement]:
    """Yield the history of an array that became rows: the first keeps the id, the others begin here."""
    for number, one in enumerate(kept):
        if one != memory:
            before = None if number else memory
            yield history.append(changes.entry(Event.IMPORT, before, one, actor=Actor.USER, now=now))


def _first_line(memory: Memory, own: list[Record]) -> tuple[str, Statement]:
    """Return (time, the line that says how a memory began); the original wrote none for what it imported."""
    content = memory.content
    if own:
        content = next((_text(line["old_content"]) for line in own if line["old_content"] is not None), content)
    began = min([memory.created_at, *(_time(line["created_at"], memory.created_at) or "" for line in own)])
    entry = HistoryEntry(
        memory_id=memory.id,
        event=Event.IMPORT,
        old_content=None,
        new_content=content,
        actor=Actor.USER,
        evidence=memory.evidence,
        created_at=began,
        after=None if own else memory._asdict(),
    )
    return began, history.append(entry)


def _in_order(
    old: tuple[Record, ...], ids: Mapping[Hashable, str], first: list[tuple[str, Statement]], now: str
) -> list[Statement]:
    """Return every line of history by its time; a first line before all others of its moment."""
    own_ids = _ids(line["id"] for line in old)
    taken: set[str] = set()
    timed = [(time, 0, number, line) for number, (time, line) in enumerate(first)]
    for number, line in enumerate(old):
        entry = HistoryEntry(
            memory_id=ids.get(line["memory_id"], ""),
            event=_one_of(Event, line["event"], Event.UPDATE),
            old_content=_some_text(line["old_content"]),
            new_content=_some_text(line["new_content"]),
            actor=_one_of(Actor, line["actor"], Actor.USER),
            evidence=_some_text(line.get("evidence")),
            created_at=_time(line["created_at"], now) or now,
        )
        statement = history.append(entry)
        identifier = _own_id(own_ids.get(line["id"]), taken)
        timed.append((entry.created_at, 1, number, statement._replace(params={**statement.params, "id": identifier})))
    return [statement for *_, statement in sorted(timed, key=lambda one: one[:3])]


def _embedding(record: Record, identifier: str) -> list[Statement]:
    if record.get("embedding") is None:
        return []
    sql = "UPDATE memories SET embedding = :embedding WHERE id = :id"
    return [Statement(sql, {"embedding": record["embedding"], "id": identifier})]


def _usage(record: Record, identifier: str, now: str) -> Statement:
    return Statement(
        "INSERT INTO llm_usage (id, purpose, model, prompt_tokens, completion_tokens, created_at) "
        "VALUES (:id, :purpose, :model, :prompt_tokens, :completion_tokens, :created_at)",
        {
            "id": identifier,
            "purpose": _text(record["purpose"]),
            "model": _text(record["model"]),
            "prompt_tokens": _number(record["prompt_tokens"]),
            "completion_tokens": _number(record["completion_tokens"]),
            "created_at": _time(record["created_at"], now) or now,
        },
    )


def _one_of(kind: Any, found: object, otherwise: Any) -> Any:
    """Return the member of an enumeration; a value that is none, which only another hand can have written, gives way."""
    return kind(found) if found in list(kind) else otherwise


def _text(found: object) -> str:
    """Return a value as text: bytes decoded, none as ""; SQLite lets any type stand in any column."""
    if isinstance(found, bytes):
        return found.decode("utf-8", "replace")
    return "" if found is None else str(found)


def _some_text(found: object) -> str | None:
    return None if found is None else _text(found)


def _number(found: object) -> int:
    return found if isinstance(found, int) else 0


def _time(found: object, otherwise: str | None) -> str | None:
    """Return a time in the stored form, None for none; one that cannot be read gives way to `otherwise`."""
    if found is None or found == "":
        return None
    try:
        return iso(from_iso(str(found)))
    except (ValueError, OverflowError):
        return otherwise

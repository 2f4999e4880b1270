"""Secrets that stand in the database already, replaced by their kind wherever a row holds them (product F2)."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mex_pipeline.app import App
from mex_pipeline.domain.given import reworded
from mex_pipeline.domain.memory import Actor, Event, Memory
from mex_pipeline.domain.structured import text_fields
from mex_pipeline.domain.text import find_quote
from mex_pipeline.errors import MexError
from mex_pipeline.redaction.redact import redacted
from mex_pipeline.store import audit, changes, history, memories, purge
from mex_pipeline.store.database import Database
from mex_pipeline.store.sql import Statement

_WORDS = frozenset(
    {"content", "evidence", "quote", "text", "old_content", "new_content", "forgotten_reason", "replaces"}
)
"""The keys under which JSON of ours holds what people and models said."""


def clean_content(content: str) -> str:
    """Return a memory's content without its secrets; a structured one stays the object that it is."""
    fields = text_fields(content)
    if not fields:
        return redacted(content)
    return json.dumps({name: redacted(value) for name, value in fields.items()}, ensure_ascii=False)


def replace_all(tx: Database, found: Iterable[Memory], turns: Iterable[audit.TurnText], now: str) -> list[Memory]:
    """Replace the secrets in the memories, in all that tells of them, and in the kept turns; returns them as they are now.

    Runs in a transaction. Jobs and held candidates are cleaned whoever they are about, and replies of a model that hold
    a secret are dropped: they would bring it back.
    """
    before = list(found)
    ids = [memory.id for memory in before]
    spoken = {(turn.agent, turn.key): redacted(turn.text) for turn in turns}
    after = [_clean(memory, now) for memory in before]
    statements = [
        *(memories.replace_row(memory) for memory in after),
        *_changed(tx.all(audit.history_rows(ids)), _clean_history, audit.rewrite_history),
        *_changed(tx.all(audit.source_rows(ids, spoken)), lambda row: _clean_source(row, spoken), audit.rewrite_source),
        *(purge.rewrite_turn(turn.seq, spoken[turn.agent, turn.key]) for turn in turns),
        *_changed(tx.all(purge.wordy_jobs()), _clean_job, purge.rewrite_job),
        *(purge.drop_reply(key) for key, reply in tx.all(purge.replies()) if redacted(reply) != reply),
        *_changed(
            tx.all(audit.held()), lambda row: row | {"candidate": _clean_json(row["candidate"])}, audit.rewrite_held
        ),
        *(history.append(_line(memory, now)) for memory in after),
        *(purge.rebuild(index) for index in tx.all(purge.full_text_indexes())),
    ]
    tx.run(*statements)
    return after


def settle(app: App) -> bool:
    """Take what was replaced out of the file's pages and its WAL; False when another process holds the file."""
    try:
        app.db.script("VACUUM;")
        return not app.db.first(purge.empty_wal())
    except MexError:
        return False


def _clean(memory: Memory, now: str) -> Memory:
    return memory._replace(
        content=clean_content(memory.content),
        evidence=memory.evidence and redacted(memory.evidence),
        forgotten_reason=memory.forgotten_reason and redacted(memory.forgotten_reason),
        updated_at=now,
    )


def _line(memory: Memory, now: str) -> Any:
    """What history says of it: that the row was changed, and not what it said before."""
    return changes.entry(Event.UPDATE, memory, memory, actor=Actor.USER, now=now)


def _changed(
    rows: Iterable[dict[str, Any]],
    clean: Callable[[dict[str, Any]], dict[str, Any]],
    write: Callable[[dict[str, Any]], Statement],
) -> list[Statement]:
    return [write(left) for row in rows if (left := clean(row)) != row]


def _clean_history(row: dict[str, Any]) -> dict[str, Any]:
    contents = {name: row[name] and clean_content(row[name]) for name in ("old_content", "new_content")}
    states = {name: _clean_json(row[name]) for name in ("before", "after")}
    return row | contents | states | {"evidence": row["evidence"] and redacted(row["evidence"])}


def _clean_source(row: dict[str, Any], spoken: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """A quote, at the place where it now stands in the turn; where no turn tells, a changed quote has none."""
    quote = redacted(row["quote"])
    text = spoken.get((row["agent"], row["message_key"]))
    if text is not None:
        at = find_quote(text, quote) or (None, None)
    else:
        at = (row["quote_start"], row["quote_end"]) if quote == row["quote"] else (None, None)
    return row | {"quote": quote, "quote_start": at[0], "quote_end": at[1]}


def _clean_job(row: dict[str, Any]) -> dict[str, Any]:
    text = row["given_text"]
    if text is not None:
        text = reworded(text, redacted) if row["has_turns"] else redacted(text)
    return row | {"result": _clean_json(row["result"]), "errors": _clean_json(row["errors"]), "given_text": text}


def _clean_json(text: str | None) -> str | None:
    if text is None:
        return None
    value = json.loads(text)
    left = _clean_value(value, is_said=False)
    return text if left == value else json.dumps(left, ensure_ascii=False)


def _clean_value(value: Any, *, is_said: bool) -> Any:
    if isinstance(value, str):
        return clean_content(value) if is_said else value
    if isinstance(value, list):
        return [_clean_value(one, is_said=is_said) for one in value]
    if isinstance(value, dict):
        return {key: _clean_value(one, is_said=is_said or key in _WORDS) for key, one in value.items()}
    return value

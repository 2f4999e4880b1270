"""What of an export is not taken in because it says what is never to be known again (product B6). Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mex_pipeline.domain.memory import Memory
from mex_pipeline.domain.refusal import HIDDEN, Refusal, hidden, met, place
from mex_pipeline.domain.restoring import Conflict, Given

_WORDS = frozenset({
    "content", "evidence", "quote", "replaces", "forgotten_reason", "old_content", "new_content", "text",
})  # fmt: skip
"""Columns of an export's rows, of the states in its history and of its candidates that hold words."""


def welcome(given: Iterable[Given], banned: Sequence[Refusal]) -> tuple[list[Given], list[Conflict]]:
    """Return the memories of a file without those that say a refused value, and a conflict without content for each."""
    kept: list[Given] = []
    conflicts: list[Conflict] = []
    for one in given:
        memory = one.memory
        if met(banned, place(memory.topic, memory.sub_topic), memory.content):
            conflicts.append(Conflict(one.number, "never_again", memory.id))
        else:
            kept.append(replace(one, memory=_hushed_memory(memory, banned)))
    return kept, conflicts


def unwelcome_histories(
    rows: Sequence[Mapping[str, Any]], places: Mapping[str, str], banned: Sequence[Refusal]
) -> dict[str, Conflict]:
    """Return a conflict for each memory, by id, whose history once had a refused value: all of it stays out.

    `places` are those of the file's memories, for lines from an older database that hold no states.
    """
    found: dict[str, Conflict] = {}
    for number, row in enumerate(rows, 1):
        key = row["memory_id"]
        if key not in found and _had(row, places.get(key, ""), banned):
            found[key] = Conflict(number, "never_again", key, section="history")
    return found


def _had(row: Mapping[str, Any], where: str, banned: Sequence[Refusal]) -> bool:
    states = [state for state in (row["before"], row["after"]) if state is not None]
    values = [(place(state.get("topic"), state.get("sub_topic")), state.get("content")) for state in states]
    values += [(where, row[name]) for name in ("old_content", "new_content")]
    return any(content is not None and met(banned, at, content) for at, content in set(values))


def is_unwelcome(candidate: Mapping[str, Any], banned: Sequence[Refusal]) -> bool:
    """True for the candidate of a proposal that says a refused value."""
    where = place(candidate.get("topic"), candidate.get("sub_topic"))
    return HIDDEN in candidate["content"] or bool(met(banned, where, candidate["content"]))


def hushed(row: dict[str, Any], banned: Sequence[Refusal]) -> dict[str, Any]:
    """Return a row with refused values hidden in its words, those of its states and of its candidate included."""
    words = "\n".join(_words(row))
    return row if hidden(words, banned) == words else _hushed(row, banned)


def _words(row: Mapping[str, Any]) -> Iterable[str]:
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _words(value)
        elif name in _WORDS and isinstance(value, str):
            yield value


def _hushed(row: Mapping[str, Any], banned: Sequence[Refusal]) -> dict[str, Any]:
    left = dict(row)
    for name, value in row.items():
        if isinstance(value, Mapping):
            left[name] = _hushed(value, banned)
        elif name in _WORDS and isinstance(value, str):
            left[name] = hidden(value, banned)
    return left


def _hushed_memory(memory: Memory, banned: Sequence[Refusal]) -> Memory:
    evidence, reason = memory.evidence, memory.forgotten_reason
    return memory._replace(
        evidence=evidence and hidden(evidence, banned), forgotten_reason=reason and hidden(reason, banned)
    )

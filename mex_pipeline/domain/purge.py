"""What has to go when a memory is forgotten for good, and what a text looks like without it (product B6)."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from mex_pipeline.domain.conversation import Turn
from mex_pipeline.domain.refusal import Refusal, hidden, place
from mex_pipeline.domain.structured import text_fields
from mex_pipeline.domain.text import normalised

_SPOKEN = ("content", "evidence", "quote", "old_content", "new_content")
"""Columns that hold a memory's words, in whichever table."""

_FREE = frozenset({"content", "evidence", "quote", "forgotten_reason", "facts", "params"})
"""Keys of a job's JSON whose values are words; every other text is a code."""

_OWNER = re.compile(r"<!-- ([0-9a-f]{8}) -->\s*$")
_SHOWN = 8
"""A line of a Markdown export ends with the first characters of its memory's id."""

_PIECE = 80
_TOO_SHORT = 4
"""Bytes: what is shorter stands in any file by chance."""


@dataclass(frozen=True, slots=True)
class Doomed:
    """Memories that go for good: their ids, every word they held, and the messages and sessions that said it.

    `messages` are (agent, message key), `sessions` (agent, session id, else the file or job). `shared` are the messages
    on which other memories rest: a kept turn that says more than what goes stays, without it. `values` are (place,
    content) of every state they had, `refusals` those of them that are never to be known again.
    """

    ids: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    messages: frozenset[tuple[str, str]] = frozenset()
    sessions: frozenset[tuple[str, str]] = frozenset()
    slots: frozenset[tuple[str, str]] = frozenset()
    files: frozenset[str] = frozenset()
    jobs: frozenset[str] = frozenset()
    shared: frozenset[tuple[str, str]] = frozenset()
    values: frozenset[tuple[str, str]] = frozenset()
    refusals: frozenset[Refusal] = frozenset()

    def __or__(self, other: "Doomed") -> "Doomed":
        """Return both together."""
        return Doomed(
            self.ids | other.ids,
            self.words | other.words,
            self.messages | other.messages,
            self.sessions | other.sessions,
            self.slots | other.slots,
            self.files | other.files,
            self.jobs | other.jobs,
            self.shared | other.shared,
            self.values | other.values,
            self.refusals | other.refusals,
        )


def doomed(ids: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> Doomed:
    """Return what goes with the memories `ids`, from their rows in memories, memory_sources and history.

    A table of an older structure lacks columns; what is there is taken.
    """
    found = list(rows)
    return Doomed(
        frozenset(ids),
        frozenset(word.strip() for row in found for word in _spoken(row) if word.strip()),
        frozenset(_pairs(found, "message_key")),
        frozenset((row["agent"], _session(row)) for row in found if row.get("agent") and _session(row)),
        frozenset((row["topic"], row["sub_topic"]) for row in found if row.get("sub_topic")),
        frozenset(row["source_file"] for row in found if row.get("source_file")),
        frozenset(row["job_id"] for row in found if row.get("job_id")),
        values=frozenset(value for row in found for value in _stated(row)),
    )


def _stated(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The (place, content) of a memory's row, or of the states in a line of its history."""
    states = [row, *(json.loads(row[name]) for name in ("before", "after") if row.get(name))]
    for state in states:
        if isinstance(state.get("content"), str) and state["content"].strip():
            yield place(state.get("topic"), state.get("sub_topic")), state["content"]


def _spoken(row: Mapping[str, Any]) -> Iterator[str]:
    yield from (row[name] for name in _SPOKEN if isinstance(row.get(name), str))
    for name in ("before", "after"):
        state = json.loads(row[name]) if row.get(name) else {}
        yield from (state[key] for key in _SPOKEN if isinstance(state.get(key), str))


def _session(row: Mapping[str, Any]) -> Any:
    """The session of a source or a kept turn, else what stands for it."""
    return row.get("session_id") or row.get("source_file") or row.get("job_id")


def _pairs(rows: Iterable[Mapping[str, Any]], column: str) -> Iterator[tuple[str, str]]:
    return ((row["agent"], row[column]) for row in rows if row.get("agent") and row.get(column))


def blanked(text: str, words: Iterable[str]) -> str:
    """Return `text` with spaces where a word stands, of equal length: places that others quote stay where they are.

    A Latin word or a number is only found whole, a single character only when it is all of the text. A text that says
    a word as the repetition of a value is recognised (product B5) goes whole.
    """
    known = frozenset(words)
    if normalised(text) in _values(known):
        return " " * len(text)
    pattern = _pattern(known)
    return text if pattern is None else pattern.sub(lambda match: " " * len(match[0]), text)


def unsaid(text: str, gone: Doomed) -> str:
    """Return `text` with blanks for the words, and without what is never to be known again in whatever case and width."""
    return hidden(blanked(text, gone.words), gone.refusals)


@lru_cache(maxsize=2)
def _values(words: frozenset[str]) -> frozenset[str]:
    """The words in the form in which a repeated value is recognised; kept, as every text of every job is asked."""
    return frozenset(normalised(word) for word in words)


@lru_cache(maxsize=2)
def _pattern(words: frozenset[str]) -> re.Pattern[str] | None:
    """The words as one expression, longest first."""
    long = sorted((word for word in words if len(word) > 1), key=len, reverse=True)
    return re.compile("|".join(_whole(word) for word in long)) if long else None


def _whole(word: str) -> str:
    before = r"(?<![0-9A-Za-z])" if re.match("[0-9A-Za-z]", word[0]) else ""
    after = r"(?![0-9A-Za-z])" if re.match("[0-9A-Za-z]", word[-1]) else ""
    return before + re.escape(word) + after


def written_forms(words: Iterable[str]) -> frozenset[str]:
    """Return the words as they may stand in a file: plain, and escaped as JSON does with and without ASCII."""
    plain = frozenset(words)
    escaped = (json.dumps(word, ensure_ascii=ascii_only)[1:-1] for word in plain for ascii_only in (False, True))
    return plain | frozenset(escaped)


def is_told_by(reply: str, gone: Doomed) -> bool:
    """True when a model's reply, JSON text, holds one of the words, every field of a structured one, or a refused value.

    The fields stand in JSON inside the reply's JSON: escaped twice.
    """
    pattern = _pattern(written_forms(gone.words))
    if (pattern is not None and pattern.search(reply)) or hidden(reply, gone.refusals) != reply:
        return True
    structured = (text_fields(word) for word in gone.words)
    return any(all(_is_in(reply, value) for value in fields.values()) for fields in structured if fields)


def _is_in(reply: str, value: str) -> bool:
    return any(form in reply for form in written_forms(written_forms([value])))


def without(value: Any, gone: Doomed, *, is_free: bool = False) -> Any:
    """Return a job's JSON without the words: the memories' objects keep their place but say nothing.

    Objects of other memories stay as they are, even with the same content.
    """
    if isinstance(value, str):
        return unsaid(value, gone) if is_free else value
    if isinstance(value, list):
        return [without(item, gone, is_free=is_free) for item in value]
    if not isinstance(value, dict):
        return value
    if "id" in value and "content" in value:
        silent = {"content": "", "evidence": None, "forgotten_reason": None}
        return value | silent if value["id"] in gone.ids else value
    return {key: without(item, gone, is_free=is_free or key in _FREE) for key, item in value.items()}


def is_asked_about(proposal: Mapping[str, Any], gone: Doomed) -> bool:
    """True for what a person is asked about one of the memories, or about a candidate that tells what goes.

    `proposal` is a row of the table, its candidate JSON text, or of an export, its candidate an object.
    """
    if any(_is_one_of(proposal.get(name), gone.ids) for name in ("memory_id", "other_id")):
        return True
    given = proposal.get("candidate")
    candidate = json.loads(given) if isinstance(given, str) else given
    if not isinstance(candidate, dict):
        return False
    source = candidate.get("source") or {}
    texts = [
        one[name] for one in (candidate, source) for name in (*_SPOKEN, "replaces") if isinstance(one.get(name), str)
    ]
    is_told = is_told_by(json.dumps(texts, ensure_ascii=False), gone) or not gone.words.isdisjoint(texts)
    return is_told or (source.get("agent"), source.get("message_key")) in gone.messages


def pruned(value: Any, gone: Doomed) -> tuple[Any, int]:
    """Return an export's JSON without the memories and all that names them, and how many objects that concerned.

    The messages that said them stay, marked: restored from it, nothing is learned from them again.
    """
    if isinstance(value, list) and value and all(_is_turn(item) for item in value):
        changed = turns_without(value, gone)
        left = [turn | {"text": changed.get(at, turn["text"])} for at, turn in enumerate(value)]
        kept_turns = [turn for turn in left if turn["text"] is not None]
        quiet = [turn | {"text": hidden(turn["text"], gone.refusals)} for turn in kept_turns]
        return quiet, len(changed) + sum(one != other for one, other in zip(quiet, kept_turns, strict=True))
    if isinstance(value, list):
        kept = [pruned(item, gone) for item in value if not _names(item, gone)]
        return [item for item, _ in kept], len(value) - len(kept) + sum(count for _, count in kept)
    if not isinstance(value, dict):
        return value, 0
    if "extractor" in value and (value.get("agent"), value.get("key")) in gone.messages:
        return value | {"purged": True}, int(value.get("purged") is not True)
    children = {key: pruned(item, gone) for key, item in value.items() if not _is_one_of(key, gone.ids)}
    count = len(value) - len(children) + sum(count for _, count in children.values())
    return {key: item for key, (item, _) in children.items()}, count


def _names(item: Any, gone: Doomed) -> bool:
    if not isinstance(item, dict):
        return False
    named = any(_is_one_of(item.get(name), gone.ids) for name in ("id", "memory_id"))
    return named or ("candidate" in item and is_asked_about(item, gone))


def _is_one_of(given: Any, ids: Iterable[str]) -> bool:
    """True for one of the ids, with its hyphens or without: the original wrote most of its own so."""
    return isinstance(given, str) and given.lower().replace("-", "") in {one.replace("-", "") for one in ids}


def _is_turn(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("text"), str) and "role" in item and "key" in item


def turns_hidden(turns: Iterable[Mapping[str, Any]], gone: Doomed) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield each kept turn, of whatever session, that says what is never to be known again, and its text without it."""
    for turn in turns:
        left = hidden(str(turn["text"]), gone.refusals)
        if left != turn["text"]:
            yield turn, left


def shared_messages(sources: Iterable[Mapping[str, Any]], ids: frozenset[str]) -> frozenset[tuple[str, str]]:
    """Return the (agent, message key) on which memories rest that stay, from rows of sources."""
    return frozenset(_pairs([row for row in sources if not _is_one_of(row.get("memory_id"), ids)], "message_key"))


def turns_without(turns: Sequence[Mapping[str, Any]], gone: Doomed) -> dict[int, str | None]:
    """Return what becomes of kept turns, by their index: a text with blanks, None for one that goes; the rest stays.

    A turn that said it goes, unless another memory rests on it too: then only the words are blanked, all of its text
    when it says them in other words. So are they in the other turns of its sessions. What the assistant said right
    before and after a turn that goes may tell it again in its own words, and goes with it, unless it stands beside a
    turn on which another memory rests.
    """
    names = [(turn.get("agent"), turn.get("key")) for turn in turns]
    places = [(turn.get("agent"), _session(turn)) for turn in turns]
    sessions = gone.sessions | {place for name, place in zip(names, places, strict=True) if name in gone.messages}
    beside = _neighbours(turns)
    stays = {at for at, name in enumerate(names) if name in gone.shared}
    goes = {at for at, name in enumerate(names) if name in gone.messages} - stays
    told_again = {
        at
        for at, turn in enumerate(turns)
        if turn.get("role") == "assistant" and beside[at] & goes and not (beside[at] | {at}) & stays
    }
    changed: dict[int, str | None] = dict.fromkeys(goes | told_again)
    for at, turn in enumerate(turns):
        is_source = names[at] in gone.messages
        if at in changed or not (is_source or places[at] in sessions):
            continue
        text = str(turn["text"])
        left = blanked(text, gone.words)
        left = " " * len(text) if is_source and left == text else left
        if left != text:
            changed[at] = left if left.strip() else None
    return changed


def untold(turns: Sequence[Turn], gone: Collection[str]) -> frozenset[str]:
    """Return the keys of the turns that are not kept or read anew once messages of the keys `gone` were forgotten for good.

    They are those, and what the assistant said right before and after: it may tell it again (as in `turns_without`).
    """
    is_gone = [turn.key in gone for turn in turns]
    return frozenset(
        turn.key
        for at, turn in enumerate(turns)
        if is_gone[at] or (turn.role == "assistant" and any(is_gone[max(0, at - 1) : at + 2]))
    )


def _neighbours(turns: Sequence[Mapping[str, Any]]) -> list[set[int]]:
    """The indexes of the turns right before and after each one in its source; older structures do not tell."""
    index = {(turn.get("agent"), turn.get("key")): at for at, turn in enumerate(turns)}
    found: list[set[int]] = [set() for _ in turns]
    for at, turn in enumerate(turns):
        before = index.get((turn.get("agent"), turn.get("previous_key")))
        if before is not None:
            found[at].add(before)
            found[before].add(at)
    return found


def array_without(text: str, words: frozenset[str]) -> str | None:
    """Return a JSON array, as the original kept several values in one row, without those that are one of the words.

    None when the text is no array or has none of them (product H14).
    """
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, list):
        return None
    left = [
        one for one in values if (one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)) not in words
    ]
    return None if left == values else json.dumps(left, ensure_ascii=False)


def without_entries(text: str, gone: Doomed) -> tuple[str, int]:
    """Return a text export without the memories, and how many entries that concerned.

    An entry is one line, or a line of a list with the indented ones below it. One that ends with the first characters
    of an id belongs to that memory alone; any other goes when it holds one of the ids or of the words, as JSON writes
    them too: an export that was cut short is text.
    """
    entries = re.findall(r"[^\n]*\n(?:[ \t]+[^\n]*\n)*|[^\n]+$", text)
    words = frozenset(word for word in written_forms(gone.words) if len(word.encode()) >= _TOO_SHORT)
    pattern = _pattern(words | gone.ids | {one.replace("-", "") for one in gone.ids})
    heads = {one[:_SHOWN] for one in gone.ids}
    kept = [entry for entry in entries if not _tells(entry, heads, pattern)]
    return "".join(kept), len(entries) - len(kept)


def _tells(entry: str, heads: set[str], pattern: re.Pattern[str] | None) -> bool:
    owner = _OWNER.search(entry)
    if owner is not None:
        return owner[1] in heads
    unfolded = "\n".join(line.strip() for line in entry.splitlines())
    return pattern is not None and pattern.search(unfolded) is not None


def needles(words: Iterable[str]) -> frozenset[str]:
    """Return what to look for in a file's bytes to prove that the words are gone.

    Long ones come in pieces, for SQLite lays them over several pages; what stands in any file by chance is left out.
    """
    pieces = (form[at : at + _PIECE] for form in written_forms(words) for at in range(0, len(form), _PIECE))
    return frozenset(piece for piece in pieces if len(piece.encode()) >= _TOO_SHORT)

"""`mex source`: the words a memory rests on, in the turns around them (product B3, B10, P5)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mex_pipeline.app import App
from mex_pipeline.domain.conversation import Turn
from mex_pipeline.domain.kept import KeptTurn
from mex_pipeline.domain.memory import Actor, Event, HistoryEntry, Memory, Source
from mex_pipeline.domain.review import is_rewritten
from mex_pipeline.domain.text import find_quote
from mex_pipeline.errors import InvalidInput, MexError
from mex_pipeline.services.files import source_key
from mex_pipeline.services.lookup import get
from mex_pipeline.services.results import memory_plain, source_plain
from mex_pipeline.services.transcripts import never_again, show
from mex_pipeline.store import turns

MOST = 50
"""Turns shown on each side at most."""

Origin = Literal["extracted", "by_hand", "by_agent", "imported"]
"""Where a memory came from: a conversation, a person's or an agent's `mex add`, an export or an earlier meX."""
Found = Literal["kept", "file", "nowhere"]


@dataclass(frozen=True, slots=True)
class Shown:
    """One turn around a quote. `quote` is the place of the words in `text`; `follows` is false where turns are left out."""

    role: str
    text: str
    at: str | None
    message_id: str | None
    kind: str
    is_source: bool = False
    quote: tuple[int, int] | None = None
    follows: bool = True

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object."""
        quote = None if self.quote is None else {"start": self.quote[0], "end": self.quote[1]}
        return {
            "role": self.role, "text": self.text, "at": self.at, "message_id": self.message_id, "kind": self.kind,
            "is_source": self.is_source, "quote": quote, "follows": self.follows,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """One source of a memory: whether its file is still there, where the turns around it were found, and they."""

    source: Source
    file_exists: bool
    found_in: Found
    turns: tuple[Shown, ...] = ()

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object."""
        return source_plain(self.source) | {
            "file_exists": self.file_exists,
            "found_in": self.found_in,
            "turns": [turn.to_plain() for turn in self.turns],
        }


@dataclass(frozen=True, slots=True)
class Trace:
    """A memory with the places where it was said, oldest first; `is_rewritten` says that its value is no extracted one."""

    memory: Memory
    origin: Origin
    is_rewritten: bool
    places: tuple[Place, ...]

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {
            "memory": memory_plain(self.memory),
            "origin": self.origin,
            "rewritten": self.is_rewritten,
            "sources": [place.to_plain() for place in self.places],
        }


def trace(app: App, prefix: str, *, context: int = 1) -> Trace:
    """Return where a memory was said, with `context` turns before and after; raises as `memories.find`.

    InvalidInput `context_out_of_range` (`most`) for a number that is none. A source that cannot be read is told by
    `found_in`, never raised.
    """
    if not 0 <= context <= MOST:
        raise InvalidInput("context_out_of_range", most=MOST)
    memory, sources, lines = get(app, prefix)
    places = tuple(_place(app, source, context) for source in sources)
    return Trace(memory, _origin(sources, lines), bool(sources) and is_rewritten(memory, lines), places)


def _origin(sources: Sequence[Source], lines: Sequence[HistoryEntry]) -> Origin:
    if sources:
        return "extracted"
    first = next((line for line in lines if line.event in (Event.ADD, Event.IMPORT)), None)
    if first is None or first.event is Event.IMPORT or first.job_id is not None:
        return "imported"
    return "by_agent" if first.actor is Actor.AI else "by_hand"


def _place(app: App, source: Source, context: int) -> Place:
    path = None if source.source_file is None else source_key(source.source_file).path
    is_there = path is not None and path.is_absolute() and path.exists()
    kept = _marked(source, _from_kept(app, source, context))
    if len(kept) == 1 + 2 * context and all(turn.follows for turn in kept[1:]):
        return Place(source, is_there, "kept", kept)
    read = _marked(source, _from_file(app, source, context)) if is_there else ()
    if len(read) > len(kept):
        return Place(source, is_there, "file", read)
    return Place(source, is_there, "kept" if kept else "nowhere", kept)


def _from_kept(app: App, source: Source, context: int) -> list[tuple[KeptTurn, bool]]:
    """The kept turns around the message, each with whether it follows the one before without a gap."""
    if source.message_key is None:
        return []
    with app.db.snapshot() as view:
        middle = view.first(turns.one(source.agent, source.message_key))
        if middle is None:
            return []
        around = [middle]
        for _ in range(context):
            first = around[0]
            # In a fork the turn before it may be kept with the session that was extracted first.
            earlier = view.first(turns.one(first.agent, first.previous_key)) if first.previous_key else None
            earlier = earlier or view.first(turns.nearest(first, earlier=True))
            around[:0] = [earlier] if earlier else []
            later = view.first(turns.nearest(around[-1], earlier=False))
            around += [later] if later else []
            if earlier is None and later is None:
                break
    before = [None, *around]
    return [(turn, last is None or turn.previous_key == last.key) for last, turn in zip(before, around, strict=False)]


def _from_file(app: App, source: Source, context: int) -> list[tuple[Turn, bool]]:
    """The turns around the message as its file has them now."""
    if source.source_file is None or source.message_key is None:
        return []
    key = source_key(source.source_file)
    quiet, redact = app.settings.extraction.quiet_seconds, app.settings.privacy.redact_secrets
    banned = never_again(app)
    try:
        found = show(
            key.path, adapter=source.agent, quiet_seconds=quiet, session=key.session, redact=redact, banned=banned
        ).turns
    except MexError:
        return []
    at = next((at for at, turn in enumerate(found) if turn.key == source.message_key), None)
    return [] if at is None else [(turn, True) for turn in found[max(0, at - context) : at + context + 1]]


def _marked(source: Source, around: Sequence[tuple[KeptTurn | Turn, bool]]) -> tuple[Shown, ...]:
    return tuple(_shown(source, around))


def _shown(source: Source, around: Sequence[tuple[KeptTurn | Turn, bool]]) -> Iterator[Shown]:
    for turn, follows in around:
        is_source = turn.key == source.message_key
        yield Shown(
            role=turn.role,
            text=turn.text,
            at=turn.said_at if isinstance(turn, KeptTurn) else turn.at,
            message_id=turn.message_id,
            kind=turn.kind,
            is_source=is_source,
            quote=_place_of_quote(source, turn.text) if is_source else None,
            follows=follows,
        )


def _place_of_quote(source: Source, text: str) -> tuple[int, int] | None:
    """Where the verified words stand: at their place, or wherever they are when the text around them has changed."""
    if not source.verified or source.quote is None:
        return None
    start, end = source.quote_start, source.quote_end
    if start is not None and end is not None and text[start:end] == source.quote:
        return start, end
    return find_quote(text, source.quote)

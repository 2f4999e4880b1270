"""What an extraction would send, without sending it (product C10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mex_pipeline.adapters import registry
from mex_pipeline.adapters.markdown import parse_given
from mex_pipeline.adapters.port import Adapter
from mex_pipeline.app import App
from mex_pipeline.domain.budget import estimate_tokens
from mex_pipeline.domain.chunks import cut
from mex_pipeline.domain.conversation import Cursor, Turn, settled
from mex_pipeline.domain.schema import slot_lines
from mex_pipeline.domain.source_key import SourceKey
from mex_pipeline.domain.wording import Language
from mex_pipeline.errors import ExternalError, SourceGone
from mex_pipeline.resources import prompt_texts
from mex_pipeline.services.conversations import stream
from mex_pipeline.services.extractor import ExtractorKind
from mex_pipeline.services.files import key_of
from mex_pipeline.services.jobs import ARCHIVE, IMPORT, Request
from mex_pipeline.services.pauses import today
from mex_pipeline.services.requests import for_file
from mex_pipeline.services.transcripts import read
from mex_pipeline.store import cursors

BIG_TOKENS = 100_000
"""Estimated input beyond which a backfill is not begun without a yes."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """New turns, their estimated tokens, and calls that would be made.

    `input_tokens` is about what these calls send: the turns with the instructions and slots around them. Values already
    known, and the replies, come on top.
    """

    turns: int = 0
    user_turns: int = 0
    tokens: int = 0
    calls: int = 0
    input_tokens: int = 0

    def __add__(self, other: Estimate) -> Estimate:
        """Return what both cost together."""
        return Estimate(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object."""
        return asdict(self)


def of_file(app: App, path: Path, *, adapter: str | None, session: str | None = None) -> tuple[int, Estimate]:
    """Return how many conversations of the file would be extracted now, and what all of them together would cost.

    Raises as `requests.for_file`.
    """
    asked = for_file(path, adapter=adapter, subject="user", session=session)
    if len(asked) > 1:
        return of_requests(app, asked)
    costs = [*_of(app, asked[0])]
    return len(costs), sum(costs, start=Estimate())


def of_requests(app: App, asked: Sequence[Request]) -> tuple[int, Estimate]:
    """Return of how many conversations something would be extracted, and what all of them together would cost.

    What cannot be read costs nothing here: its own job will say so.
    """
    costs: list[Estimate] = []
    for request in asked:
        with suppress(ExternalError):
            costs += _of(app, request)
    return len(costs), sum(costs, start=Estimate())


def _of(app: App, asked: Request) -> Iterator[Estimate]:
    """What each conversation costs of which something is new; a source that is no export is one in any case."""
    adapter, key = registry.find(asked.payload["adapter"]), key_of(asked.payload)
    if asked.kind == IMPORT:
        turns = read(key, adapter, Cursor(), quiet_seconds=app.settings.extraction.quiet_seconds).turns
        yield of_turns(app, turns, frozenset(turn.key for turn in turns))
        return
    if asked.kind != ARCHIVE:
        yield of_source(app, key, adapter)
        return
    is_there = key.session is None
    for one in stream(adapter, key.path):
        if one.session_id is None or key.session not in (None, one.session_id):
            continue
        is_there = True
        seen = app.db.all(cursors.seen(one.agent, [turn.key for turn in one.turns], serving(app)))
        cost = of_turns(app, one.turns, frozenset(turn.key for turn in one.turns) - frozenset(seen))
        if cost.user_turns:
            yield cost
    if not is_there:
        raise SourceGone("session_not_in_file", session=key.session, path=str(key.path))


def serving(app: App) -> ExtractorKind:
    """Return which extractor serves now."""
    return "model" if app.settings.llm.is_configured else "rules"


def of_source(app: App, key: SourceKey, adapter: Adapter, counted: set[tuple[str, str]] | None = None) -> Estimate:
    """Return what extracting a source would cost now; raises SourceGone, SourceUnreadable, SourceFormat.

    Of several sources that hold the same messages (forks, resumed copies) only the first pays for them: (agent, key) of
    those in `counted` are passed over, and what is new here is added.
    """
    kind = serving(app)
    since = app.db.first(cursors.position(str(key), kind, adapter.name)) or Cursor()
    transcript = read(key, adapter, since, quiet_seconds=app.settings.extraction.quiet_seconds)
    turns = settled(transcript)
    seen = set(app.db.all(cursors.seen(transcript.agent, [turn.key for turn in turns], kind)))
    if counted is not None:
        seen.update(turn.key for turn in turns if (transcript.agent, turn.key) in counted)
        counted.update((transcript.agent, turn.key) for turn in turns)
    return of_turns(app, turns, frozenset(turn.key for turn in turns if turn.key not in seen))


def of_text(app: App, text: str) -> Estimate:
    """Return what extracting the text would cost."""
    turns = parse_given(text).turns
    return of_turns(app, turns, frozenset(turn.key for turn in turns))


def of_turns(app: App, turns: tuple[Turn, ...], new: frozenset[str]) -> Estimate:
    """Return what extracting those of the turns would cost whose keys are `new`."""
    chunks = cut(turns, new, app.settings.extraction.chunk_tokens)
    tokens = sum(estimate_tokens(turn.text) for chunk in chunks for _, turn, _ in chunk.numbered)
    calls = len(chunks) if app.settings.llm.is_configured else 0
    return Estimate(
        turns=len(new),
        user_turns=sum(turn.role == "user" for turn in turns if turn.key in new),
        tokens=tokens,
        calls=calls,
        input_tokens=tokens + calls * _around(app) if calls else 0,
    )


def _around(app: App) -> int:
    """About how many tokens every call carries beside the turns and what is known."""
    return _instructions(app.language) + sum(estimate_tokens(line) for line in slot_lines(app.schema, app.language))


@cache
def _instructions(language: Language) -> int:
    return sum(estimate_tokens(part) for part in prompt_texts(language)[0])


def is_big(app: App, cost: Estimate) -> bool:
    """True for a backfill that nobody should pay for without a yes, or that today's budget has no room for (product C10)."""
    left = today(app).left
    return cost.calls > 0 and (cost.input_tokens > BIG_TOKENS or (left is not None and cost.input_tokens > left))

"""`mex search --turns`: what was said, found by its words, with what it has led to (product B10)."""

from collections.abc import Iterator, Mapping
from typing import Any

from mex_pipeline import messages
from mex_pipeline.app import App
from mex_pipeline.cli import memory_text
from mex_pipeline.cli.output import BOLD, FAINT, GREEN, Painted
from mex_pipeline.clock import to_local
from mex_pipeline.domain.memory import Memory
from mex_pipeline.domain.selection import Selection
from mex_pipeline.domain.wording import words
from mex_pipeline.errors import InvalidInput
from mex_pipeline.messages import text as t
from mex_pipeline.services import turn_search
from mex_pipeline.services.turn_search import FoundTurns, TurnHit

_BEFORE, _BEHIND, _BESIDE, _OUTCOME = 150, 350, 120, 160
"""Characters shown before the first of the words found and behind it, of a turn beside it, and of a memory; `--json` has
all of them."""


def shown(
    app: App,
    asked: Selection,
    *,
    session: str | None,
    agent: str | None,
    limit: int,
    offset: int,
    is_explained: bool,
    others: Mapping[str, object],
) -> tuple[Any, list[str]]:
    """Return what a search in kept turns prints, as JSON and for people.

    `others` are options of which none goes with it; raises InvalidInput("turns_condition") for one that is given.
    """
    given = next((name for name, value in others.items() if value), None)
    if given is not None:
        raise InvalidInput("turns_condition", condition=given)
    within = turn_search.within(app, session=session, agent=agent)
    found = turn_search.find(app, asked, within, limit=limit, offset=offset)
    plain = [hit.to_plain(is_explained=is_explained) for hit in found.hits]
    return plain, list(_lines(app, found, offset, is_explained)) or [t("turns.search_empty")]


def _lines(app: App, found: FoundTurns, offset: int, is_explained: bool) -> Iterator[str]:
    for number, hit in enumerate(found.hits, offset + 1):
        yield from _hit_lines(hit, number)
        yield from (_outcome(app, memory) for memory in hit.memories)
        if is_explained:
            yield from _score_lines(hit)
    if not found.hits:
        return
    last = offset + len(found.hits)
    if last < found.total or found.is_more:
        note = "explain.many" if found.is_more else "note.list_more"
        yield t(note, first=offset + 1, last=last, total=found.total, left=found.total - last)
    if any(hit.memories for hit in found.hits):
        yield Painted((t("turns.more_source"), FAINT))
    yield Painted((t("turns.more_session"), FAINT))


def _hit_lines(hit: TurnHit, number: int) -> Iterator[Painted]:
    """Who said it, when and where; then the words, between what was said before and after."""
    turn = hit.turn
    facts = [t(f"label.{turn.role}"), to_local(turn.said_at) if turn.said_at else "", turn.agent]
    facts += [t("source.session", id=turn.session)] + ([turn.message_id] if turn.message_id else [])
    yield Painted((f"{number}. {' · '.join(filter(None, facts))}", BOLD))
    if hit.before:
        yield _beside(hit.before.role, hit.before.text)
    yield _passage(hit)
    if hit.after:
        yield _beside(hit.after.role, hit.after.text)


def _beside(role: str, text: str) -> Painted:
    short = " ".join(text.split())
    short = short if len(short) <= _BESIDE else short[:_BESIDE] + "…"
    return Painted((f"   {t(f'label.{role}')}{words(messages.active()).colon}{short}", FAINT))


def _passage(hit: TurnHit) -> Painted:
    """The turn, or the part around the first of the words; the words stand out."""
    text, spans = hit.turn.text, hit.spans(hit.turn.text)
    first = spans[0][0] if spans else 0
    start = max(0, first - _BEFORE)
    end = min(len(text), first + _BEHIND)
    parts = [("   " + ("…" if start else ""), "")]
    at = start
    for begin, stop in ((begin, min(stop, end)) for begin, stop in spans if begin < end):
        parts += [(_indented(text[at:begin]), ""), (_indented(text[begin:stop]), GREEN)]
        at = stop
    return Painted(*parts, (_indented(text[at:end]), ""), ("…" if end < len(text) else "", ""))


def _outcome(app: App, memory: Memory) -> Painted:
    """A memory that rests on the turn."""
    place = f"{memory.topic}.{memory.sub_topic}" if memory.slot else memory.topic or "—"
    content = " ".join(memory_text.content_text(memory, app.schema).split())
    content = content if len(content) <= _OUTCOME else content[:_OUTCOME] + "…"
    return Painted(("   → ", ""), (memory.id, FAINT), (f" · {place} · {content}", ""))


def _score_lines(hit: TurnHit) -> Iterator[str]:
    """What the score of a hit is made of, and the words of the turn itself."""
    if hit.score is None:
        return
    parts = {name: f"{getattr(hit.score, name):.2f}" for name in ("words", "beside", "session", "speaker")}
    yield f"   {t('turns.score', score=f'{hit.score.total:.2f}', **parts)}"
    if hit.score.held:
        yield f"   {t('explain.words', words=', '.join(hit.words))}"


def _indented(text: str) -> str:
    return text.replace("\n", "\n   ")

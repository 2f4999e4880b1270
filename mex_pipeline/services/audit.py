"""`mex audit`: what in the database deserves a second look, found without changing anything (product F5, peers §3)."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from mex_pipeline.app import App
from mex_pipeline.clock import iso
from mex_pipeline.domain.audit import REMEDIES, Kind, Suspect, Told, needs_turns, suspects
from mex_pipeline.domain.duplicate import pairs, repeats
from mex_pipeline.domain.memory import Confidence, Memory, Source
from mex_pipeline.domain.refusal import RefusalKind, pair, place, refused
from mex_pipeline.domain.text import find_quote
from mex_pipeline.redaction.redact import kinds as kinds_of_secrets
from mex_pipeline.redaction.redact import redacted
from mex_pipeline.store import audit, refusals, sources
from mex_pipeline.store.database import Database


@dataclass(frozen=True, slots=True)
class Report:
    """What was looked at, and the suspects of each kind that was asked for, in the order of the kinds."""

    memories: int
    turns: int
    found: dict[Kind, tuple[Suspect, ...]]

    def to_plain(self, limit: int | None) -> dict[str, Any]:
        """Return the JSON object; at most `limit` suspects of each kind are listed, all are counted."""
        return {
            "memories": self.memories,
            "turns": self.turns,
            "kinds": [
                {
                    "kind": kind,
                    "count": len(found),
                    "remedy": REMEDIES[kind],
                    "command": command(kind) if found else None,
                    "suspects": [suspect_plain(one) for one in found[:limit]],
                }
                for kind, found in self.found.items()
            ],
        }


def command(kind: Kind) -> str:
    """Return the one command that acts on a kind."""
    return f"mex audit --fix {kind}"


def suspect_plain(one: Suspect) -> dict[str, Any]:
    """Return the JSON object of a suspect: ids and reasons, no content."""
    return {
        "id": one.memory.id if one.memory else None,
        "reason": one.reason,
        "facts": dict(one.facts),
        "confirmed": one.memory is not None and one.memory.confidence is Confidence.CONFIRMED,
        "other": one.other.id if one.other else None,
    }


def examine(app: App, kinds: Sequence[Kind] = (), *, topic: str | None = None) -> Report:
    """Return the suspects of the kinds, of all when none is named, among the active memories (of one topic perhaps).

    Secrets are looked for in forgotten memories, earlier values and, without a topic, in the kept turns too. Nothing is
    written, no model is asked. Raises InvalidSlot for a topic that is not declared and holds nothing.
    """
    wanted = [kind for kind in Kind if kind in kinds or not kinds]
    found: dict[Kind, list[Suspect]] = {kind: [] for kind in wanted}
    now = iso(app.clock.now())
    by_place: defaultdict[tuple[str | None, str | None], list[Memory]] = defaultdict(list)
    looked_at = turns = 0
    with app.db.snapshot() as view:
        for page in _pages(view, topic):
            active = [memory for memory in page if memory.is_active(now)]
            looked_at += len(active)
            for one in _of_page(view, page, active, wanted):
                found[one.kind].append(one)
            for memory in active if Kind.DUPLICATE in wanted else ():
                by_place[memory.topic, memory.sub_topic].append(memory)
        if Kind.DUPLICATE in wanted:
            found[Kind.DUPLICATE] += _duplicates(view, by_place)
        if Kind.SECRET in wanted and topic is None:
            for turn in _turns(view):
                turns += 1
                found[Kind.SECRET] += _secret_in_turn(turn)
    if topic is not None and not looked_at:
        app.schema.locate(topic, None)
    return Report(looked_at, turns, {kind: tuple(listed) for kind, listed in found.items()})


def _pages(view: Database, topic: str | None) -> Iterator[list[Memory]]:
    after = 0
    while rows := view.all(audit.page(after, topic)):
        after = rows[-1][0]
        yield [memory for _, memory in rows]


def _turns(view: Database) -> Iterator[audit.TurnText]:
    after = 0
    while rows := view.all(audit.turns_page(after)):
        after = rows[-1].seq
        yield from rows


def _of_page(
    view: Database, page: Sequence[Memory], active: Sequence[Memory], wanted: Sequence[Kind]
) -> Iterator[Suspect]:
    """What is suspicious about some memories, of each by itself."""
    said: defaultdict[str, list[Source]] = defaultdict(list)
    for memory_id, source in view.all(sources.of_memories(memory.id for memory in page)):
        said[memory_id].append(source)
    by_itself = [kind for kind in wanted if kind not in (Kind.SECRET, Kind.DUPLICATE)]
    if by_itself:
        yield from chain.from_iterable(suspects(told, by_itself) for told in _told(view, active, said, wanted))
    if Kind.SECRET in wanted:
        yield from _secrets(view, page, said)


def _told(
    view: Database, memories: Sequence[Memory], said: dict[str, list[Source]], wanted: Sequence[Kind]
) -> Iterator[Told]:
    written = {one.memory_id: one for one in view.all(audit.writers(memory.id for memory in memories))}
    found = [
        Told(
            memory,
            tuple(said.get(memory.id, ())),
            is_extracted=memory.id in written and written[memory.id].is_extracted,
            is_typed=memory.id in written and not written[memory.id].is_ai,
        )
        for memory in memories
    ]
    unsure = [told for told in found if needs_turns(told)] if Kind.ASSISTANT_CLAIMED in wanted else []
    heard = _heard(view, unsure) if unsure else {}
    for told in found:
        yield replace(told, heard=heard[told.memory.id]) if told.memory.id in heard else told


def _heard(view: Database, unsure: Sequence[Told]) -> dict[str, frozenset[str]]:
    """The roles of the kept turns that hold a quote which was not found, by memory."""
    sessions = {(one.agent, session) for told in unsure for one in told.sources if (session := _session(one))}
    turns: defaultdict[tuple[str, str], list[audit.TurnText]] = defaultdict(list)
    for turn in view.all(audit.turns_of(sessions)):
        turns[turn.agent, turn.session].append(turn)
    return {
        told.memory.id: frozenset(
            turn.role
            for one in told.sources
            for turn in turns.get((one.agent, _session(one)), ())
            if one.quote and find_quote(turn.text, one.quote)
        )
        for told in unsure
    }


def _session(source: Source) -> str:
    return source.session_id or source.source_file or source.job_id or ""


def _secrets(view: Database, page: Sequence[Memory], said: dict[str, list[Source]]) -> Iterator[Suspect]:
    """Keys and passwords in a memory's texts; the places are named, never the words."""
    earlier: defaultdict[str, list[str]] = defaultdict(list)
    for memory_id, content in view.all(audit.earlier_values(memory.id for memory in page)):
        earlier[memory_id].append(content)
    for memory in page:
        texts = {
            "secret_in_content": [memory.content],
            "secret_in_evidence": [memory.evidence or ""],
            "secret_in_quote": [source.quote or "" for source in said.get(memory.id, ())],
            "secret_in_earlier_value": earlier[memory.id],
        }
        if not _kinds_in(["\n\n".join(chain.from_iterable(texts.values()))]):
            continue
        kinds = ((reason, _kinds_in(held)) for reason, held in texts.items())
        reason, found = next(((reason, found) for reason, found in kinds if found), (None, ""))
        if reason:
            yield Suspect(Kind.SECRET, memory, reason, {"kinds": found})


def _secret_in_turn(turn: audit.TurnText) -> Iterator[Suspect]:
    if found := _kinds_in([turn.text]):
        facts = {"kinds": found, "agent": turn.agent, "session": turn.session, "key": turn.key}
        yield Suspect(Kind.SECRET, None, "secret_in_turn", facts)


def _kinds_in(texts: Sequence[str]) -> str:
    """The kinds of the secrets that stand in texts, in one line; what was replaced before is none."""
    changed = [(text, clean) for text in texts if (clean := redacted(text)) != text]
    if not changed:
        return ""
    after = kinds_of_secrets(clean for _, clean in changed)
    before = kinds_of_secrets(text for text, _ in changed)
    return ", ".join(kind for kind, count in after.items() if count > before.get(kind, 0))


def _duplicates(view: Database, by_place: dict[tuple[str | None, str | None], list[Memory]]) -> Iterator[Suspect]:
    """The pairs of one place of which nobody is asked yet, and nobody has said that they are two."""
    asked = set(view.all(audit.asked_pairs()))
    declined = view.all(refusals.of_kinds(RefusalKind.MERGE))
    for where, memories in by_place.items():
        for one in (pairs if where[1] else repeats)(memories):
            is_two = declined and refused(declined, place(*where), pair(one.stays.content, one.goes.content))
            if not is_two and frozenset((one.stays.id, one.goes.id)) not in asked:
                reason = "same_value" if one.share == 1 else "similar_value"
                yield Suspect(Kind.DUPLICATE, one.goes, reason, {"other": one.stays.id}, other=one.stays)

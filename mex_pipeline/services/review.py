"""The review queue: what waits for a person, in which order, and what is meant by ids (seed 004 §6.3; product C6, G16)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from mex_pipeline.app import App
from mex_pipeline.clock import iso
from mex_pipeline.domain.contradiction import contradictions
from mex_pipeline.domain.decided import in_the_way
from mex_pipeline.domain.ids import require_prefix
from mex_pipeline.domain.likeness import are_near, are_same
from mex_pipeline.domain.memory import Confidence, HistoryEntry, Memory, Source
from mex_pipeline.domain.proposal import SIMILAR, Proposal, ProposalKind
from mex_pipeline.domain.review import (
    OF_KINDS,
    Importance,
    Kind,
    awaits_review,
    before_doubt,
    is_rewritten,
    sources_of_value,
)
from mex_pipeline.errors import InvalidInput, NotFound
from mex_pipeline.services import lookup
from mex_pipeline.services.asked import Asked, Beside, Held, Pair, Waiting
from mex_pipeline.services.bounds import MAX_NUMBER
from mex_pipeline.store import history, memories, proposals, review, sources
from mex_pipeline.store.database import Database


class Order(StrEnum):
    """How the queue may be sorted (product G16): by when the question arose, by what matters, the surest first, or by slot."""

    NEWEST = "newest"
    OLDEST = "oldest"
    IMPORTANCE = "importance"
    CONFIDENCE = "confidence"
    TOPIC = "topic"


@dataclass(frozen=True, slots=True)
class Queue:
    """Some of what awaits review, and how many there are in all."""

    waiting: tuple[Asked, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is meant: ids (or prefixes) of memories and proposals, or all that wait, of one topic or kind perhaps.

    `seen` are the contents as a person was shown them: when one has changed since, nothing is decided.
    """

    ids: tuple[str, ...] = ()
    topic: str | None = None
    everything: bool = False
    kind: Kind | None = None
    seen: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Place:
    """A question in the queue as far as its order asks: `memory` is the id of a doubt or a due value."""

    kind: Kind
    at: str
    topic: str | None
    sub_topic: str | None
    confidence: Confidence
    memory: str = ""
    proposal: Proposal | None = None

    @property
    def slot(self) -> tuple[bool, str, bool, str]:
        return self.topic is None, self.topic or "", self.sub_topic is None, self.sub_topic or ""


def pending(
    app: App,
    *,
    order: Order = Order.NEWEST,
    topic: str | None = None,
    kind: Kind | None = None,
    limit: int | None = None,
    offset: int = 0,
) -> Queue:
    """Return one page of the queue; `limit` None or 0 means all (seed 004 §6.3). Raises InvalidInput for a bad number."""
    if not 0 <= offset <= MAX_NUMBER or (limit is not None and not 0 <= limit <= MAX_NUMBER):
        raise InvalidInput("number_out_of_range", most=MAX_NUMBER)
    now = iso(app.clock.now())
    with app.db.snapshot() as view:
        queue = _sorted(app, view, _queue(app, view, now, topic, kind), order, now)
        page = queue[offset : offset + limit if limit else None]
        return Queue(_explained(app, view, page, now), len(queue))


def count(app: App, view: Database) -> int:
    """Return how many questions wait for a person: what `mex`, `mex stats` and the list agree on."""
    now = iso(app.clock.now())
    asked = _proposed(view, view.all(proposals.waiting(now)), now)
    return (view.first(review.count(now, None)) or 0) + len(asked) + len(_due(app, view, now))


def chosen(app: App, wanted: Wanted) -> list[Asked]:
    """Return what is meant, in the order given or newest first.

    Raises InvalidInput: `review_needs_target`, `review_ids_and_all`, `not_in_review`, `review_stale`,
    `memory_forgotten`, `review_changed`; NotFound and `bad_id` for an id; InvalidSlot for a topic that is not declared
    and holds nothing.
    """
    with app.db.snapshot() as view:
        return meant(app, view, wanted)


def meant(app: App, view: Database, wanted: Wanted) -> list[Asked]:
    """Return what `chosen` does, inside a transaction: only what is read there stays true."""
    by_condition = wanted.everything or wanted.topic is not None or wanted.kind is not None
    if bool(wanted.ids) is by_condition:
        raise InvalidInput("review_ids_and_all" if wanted.ids else "review_needs_target")
    now = iso(app.clock.now())
    if wanted.ids:
        named = {place.memory or place.proposal: place for place in (_named(app, view, one, now) for one in wanted.ids)}
        found = _explained(app, view, list(named.values()), now)
        if wanted.seen is not None and any(one.contents != wanted.seen for one in found):
            raise InvalidInput("review_changed", id=found[0].id)
        return list(found)
    listed = _queue(app, view, now, wanted.topic, wanted.kind)
    if not listed:
        app.schema.locate(wanted.topic, None)
    return list(_explained(app, view, listed, now))


def _queue(app: App, view: Database, now: str, topic: str | None, kind: Kind | None) -> list[_Place]:
    """All that waits, newest first; of one moment doubts come first."""
    doubts = [
        _Place(Kind.DOUBT, one.updated_at, one.topic, one.sub_topic, one.confidence, memory=one.id)
        for one in view.all(review.doubts(now, topic))
    ]
    asked = _proposed(view, view.all(proposals.waiting(now, topic)), now)
    due = [
        _Place(Kind.DUE, since, one.topic, one.sub_topic, one.confidence, memory=one.id)
        for one, since in _due(app, view, now)
        if topic in (None, one.topic)
    ]
    found = [one for one in (*doubts, *asked, *due) if kind in (None, one.kind)]
    return sorted(found, key=lambda one: one.at, reverse=True)


def _proposed(view: Database, found: Sequence[Proposal], now: str) -> list[_Place]:
    rows = {one.id: one for one in view.all(memories.by_ids(_ids(found)))}
    return [
        _place(proposal, rows)
        for proposal in found
        if proposal.kind is ProposalKind.HOLD or _is_mergeable(proposal, rows, now)
    ]


def _ids(found: Iterable[Proposal]) -> set[str]:
    return {one for proposal in found for one in (proposal.memory_id, proposal.other_id) if one}


def _place(proposal: Proposal, rows: dict[str, Memory]) -> _Place:
    candidate = proposal.candidate
    if candidate is not None:
        where = (candidate.topic, candidate.sub_topic)
        return _Place(Kind.HOLD, proposal.created_at, *where, candidate.confidence, proposal=proposal)
    memory, other = rows[proposal.memory_id or ""], rows[proposal.other_id or ""]
    least = min(memory, other, key=lambda one: one.confidence.weight).confidence
    return _Place(Kind.MERGE, proposal.created_at, memory.topic, memory.sub_topic, least, proposal=proposal)


def _due(app: App, view: Database, now: str) -> list[tuple[Memory, str]]:
    """The values that nobody has checked for as long as their slot says, and since when; a doubt waits anyway."""
    slots = [(slot.topic, slot.name) for slot in app.schema.slots() if slot.policy.review_every]
    found = view.all(memories.in_slots(slots, now)) if slots else []
    return [
        (memory, since)
        for memory in found
        if (since := app.schema.policy_of(*memory.slot or ("", "")).due_since(memory, now))
        and not awaits_review(memory, now)
    ]


def _sorted(app: App, view: Database, queue: list[_Place], order: Order, now: str) -> list[_Place]:
    """The queue, which comes newest first, in the order asked for; what is equal there stays newest first."""
    match order:
        case Order.NEWEST:
            return queue
        case Order.OLDEST:
            return queue[::-1]
        case Order.CONFIDENCE:
            return sorted(queue, key=lambda one: -one.confidence.weight)
        case Order.TOPIC:
            return sorted(queue, key=lambda one: one.slot)
        case Order.IMPORTANCE:
            return _by_importance(app, view, queue, now)


def _by_importance(app: App, view: Database, queue: list[_Place], now: str) -> list[_Place]:
    """What matters first; the values of one slot that contradict each other stay together."""
    over_confirmed = {memory_id for memory_id, _ in view.all(history.confirmed_before_doubt(now))}
    contested = set(_contested(app, view, queue, now))

    def importance(one: _Place) -> Importance:
        slot = app.schema.find(one.topic, one.sub_topic)
        if one.memory in over_confirmed:
            return Importance.OVER_CONFIRMED
        if one.kind is not Kind.DOUBT:
            return OF_KINDS[one.kind]
        if slot is not None and slot.unique:
            return Importance.UNIQUE
        return Importance.CONTRADICTION if one.memory in contested else Importance.LONE

    def rank(one: _Place) -> tuple[int, str]:
        found = importance(one)
        return found, f"{one.topic}.{one.sub_topic}" if found is Importance.CONTRADICTION else ""

    return sorted(queue, key=rank)


def _contested(app: App, view: Database, places: Iterable[_Place], now: str) -> defaultdict[str, list[Beside]]:
    """Memory id to the memories of its topic that contradict it, for the topics of these places."""
    topics = {one.topic for one in places if one.memory and one.topic and one.sub_topic}
    beside: defaultdict[str, list[Beside]] = defaultdict(list)
    for found in contradictions(view.all(review.of_topics(topics, now)), app.schema) if topics else ():
        beside[found.first.id].append(Beside(found.second, found.reason))
        beside[found.second.id].append(Beside(found.first, found.reason))
    return beside


def _named(app: App, view: Database, identifier: str, now: str) -> _Place:
    """The question that an id or prefix names, of a memory or a proposal."""
    asked = view.all(proposals.by_prefix(require_prefix(identifier)))
    if not asked:
        return _of_memory(app, lookup.find(app, identifier), now)
    if len(asked) > 1 or view.all(memories.by_prefix(require_prefix(identifier))):
        raise NotFound("ambiguous_id", id=identifier)
    rows = {one.id: one for one in view.all(memories.by_ids(_ids(asked)))}
    if asked[0].kind is ProposalKind.MERGE and not _is_mergeable(asked[0], rows, now):
        raise InvalidInput("review_stale", id=asked[0].id)
    return _place(asked[0], rows)


def _of_memory(app: App, memory: Memory, now: str) -> _Place:
    if memory.forgotten_at is not None:
        raise InvalidInput("memory_forgotten", id=memory.id)
    since = app.schema.policy_of(memory.topic, memory.sub_topic).due_since(memory, now)
    if not awaits_review(memory, now) and not (since and memory.is_active(now)):
        raise InvalidInput("not_in_review", id=memory.id)
    kind, at = (Kind.DOUBT, memory.updated_at) if awaits_review(memory, now) else (Kind.DUE, since or "")
    return _Place(kind, at, memory.topic, memory.sub_topic, memory.confidence, memory=memory.id)


def _is_mergeable(proposal: Proposal, rows: dict[str, Memory], now: str) -> bool:
    pair = [rows.get(one or "") for one in (proposal.memory_id, proposal.other_id)]
    active = [one for one in pair if one is not None and one.is_active(now)]
    if len(active) < len(pair) or len({(one.topic, one.sub_topic) for one in active}) > 1:
        return False
    # One that was rewritten since may say something else: nobody is asked to make one of what is not alike.
    contents = [one.content for one in active]
    return are_same(*contents) or are_near(*contents)


def _explained(app: App, view: Database, places: Sequence[_Place], now: str) -> tuple[Asked, ...]:
    """The questions with what memories, history and sources say about them, in a few reads for all of them."""
    asked = [one.proposal for one in places if one.proposal is not None]
    doubts = [one.memory for one in places if one.memory]
    rows = {one.id: one for one in view.all(memories.by_ids({*doubts, *_ids(asked)}))}
    said: defaultdict[str, list[Source]] = defaultdict(list)
    for memory_id, source in view.all(sources.of_memories(rows)):
        said[memory_id].append(source)
    lines: defaultdict[str, list[HistoryEntry]] = defaultdict(list)
    for line in view.all(history.of_memories(rows)):
        lines[line.memory_id].append(line)
    beside = _beside(app, view, places, now)

    def explained(place: _Place) -> Asked:
        proposal = place.proposal
        if proposal is None:
            memory, story = rows[place.memory], lines[place.memory]
            before = before_doubt(memory, story) if place.kind is Kind.DOUBT else None
            words = sources_of_value(memory, story, said[memory.id])
            since = place.at if place.kind is Kind.DUE else None
            return Waiting(memory, before, words, tuple(beside[memory.id]), since)
        if proposal.candidate is not None:
            slot = proposal.candidate.slot
            held = view.all(memories.in_slots([slot], now)) if slot else []
            return Held(proposal, proposal.candidate, in_the_way(proposal.candidate, held, app.schema))
        memory, other = rows[proposal.memory_id or ""], rows[proposal.other_id or ""]
        return Pair(proposal, memory, other, words_of(memory), words_of(other))

    def words_of(memory: Memory) -> tuple[Source, ...]:
        """What was merged into a memory before has words of another job; what was written by hand has none."""
        found = sources_of_value(memory, lines[memory.id], said[memory.id])
        return found if found or is_rewritten(memory, lines[memory.id]) else tuple(said[memory.id])

    return tuple(explained(place) for place in places)


def _beside(app: App, view: Database, places: Sequence[_Place], now: str) -> defaultdict[str, list[Beside]]:
    """Memory id to what contradicts it or is much like it."""
    beside = _contested(app, view, places, now)
    ids = {one.memory for one in places if one.memory}
    alike = view.all(proposals.of_memories(ids)) if ids else []
    rows = {one.id: one for one in view.all(memories.by_ids(_ids(alike)))}
    for proposal in (one for one in alike if _is_mergeable(one, rows, now)):
        memory, other = rows[proposal.memory_id or ""], rows[proposal.other_id or ""]
        beside[memory.id].append(Beside(other, SIMILAR))
        beside[other.id].append(Beside(memory, SIMILAR))
    return beside

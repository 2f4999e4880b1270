"""What the profile shows: the projection of the active memories onto the schema, cut to a budget (seed 004 §6.2)."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from mex_pipeline.domain.budget import estimate_tokens, split
from mex_pipeline.domain.memory import Memory
from mex_pipeline.domain.render import hint_texts, line_text, topic_text
from mex_pipeline.domain.schema import Schema, Slot
from mex_pipeline.domain.view import Cut, Fitted, Line, ProfileView, SlotView, TopicView, Weighed, Withheld
from mex_pipeline.domain.wording import Language, words

RECENT_LIMIT = 5
"""How many recent records the profile shows by default (product G5)."""


class _Offer(NamedTuple):
    """A line with its price in tokens and the prices of what has to stand around it, by what they are for."""

    line: Line
    tokens: int
    frame: Mapping[str, int]


def withhold(
    schema: Schema, memories: Iterable[Memory], topics: Collection[str] | None = None
) -> tuple[list[Memory], list[Withheld]]:
    """Return the memories of places that are not sensitive, in the order given, and how many others there are."""
    shown: list[Memory] = []
    counts: Counter[tuple[str, str | None]] = Counter()
    for memory in memories:
        if not schema.is_sensitive(memory.topic, memory.sub_topic):
            shown.append(memory)
        elif memory.topic:
            counts[memory.topic, memory.sub_topic] += 1
    return shown, withheld(schema, counts, topics)


def withheld(
    schema: Schema, counts: Mapping[tuple[str, str | None], int], topics: Collection[str] | None = None
) -> list[Withheld]:
    """Return what is left out of the memories that places hold, by (topic, sub_topic or None for its records).

    Of the sensitive places those in `topics`, in the order of the schema: a topic's slots, what of it has no declared
    slot, its records.
    """
    found = []
    for topic in schema.topics.values():
        if topics is not None and topic.name not in topics:
            continue
        undeclared = sorted(name for place, name in counts if place == topic.name and name and name not in topic.slots)
        places = ((topic.name, name) for name in (*topic.slots, *undeclared, None))
        found += [
            Withheld(*place, counts[place]) for place in places if place in counts and schema.is_sensitive(*place)
        ]
    return found


def project(
    schema: Schema,
    memories: Iterable[Memory],
    now: str,
    topics: Collection[str] | None = None,
    *,
    recent: Iterable[Memory] = (),
    recent_limit: int = RECENT_LIMIT,
    earlier: Mapping[str, str] | None = None,
    totals: Mapping[tuple[str, str], int] | None = None,
) -> ProfileView:
    """Return the view of all memories active at `now` (UTC ISO) that fill a declared slot (seed 004 ADR-4, §6.2).

    A unique slot shows one memory, a slot of many the best three or what its policy says: pinned ones first, then by
    confidence, by `updated_at`, in the order given. `recent` are records newest first, of which `recent_limit` are shown
    (0: none). `topics` limits both. `earlier` maps the id of a memory to the confirmed content it stands in for
    (product C6), `totals` tells how many a slot holds where `memories` are but its best. Raises InvalidSlot for a
    topic the schema does not have.
    """
    for topic in topics or ():
        schema.locate(topic, None)
    held = defaultdict[tuple[str, str], list[Memory]](list)
    for memory in memories:
        if memory.slot is not None and memory.is_active(now):
            held[memory.slot].append(memory)
    cut: list[Cut] = []
    views = []
    for entry in schema.topics.values():
        if topics is not None and entry.name not in topics:
            continue
        slots = [
            (slot, held[slot.topic, slot.name]) for slot in entry.slots.values() if (slot.topic, slot.name) in held
        ]
        if slots:
            shown = [
                _slot_view(
                    slot, _lines(slot, rows, earlier or {}, now), cut, (totals or {}).get((slot.topic, slot.name))
                )
                for slot, rows in slots
            ]
            views.append(TopicView(entry, tuple(shown)))
    records = [
        Line(memory)
        for memory in recent
        if memory.slot is None and memory.is_active(now) and (topics is None or memory.topic in topics)
    ]
    cut.extend(Cut(line, "beyond_top") for line in records[recent_limit:])
    return ProfileView(tuple(views), tuple(records[:recent_limit]), tuple(cut))


def fit(view: ProfileView, max_tokens: int, language: Language) -> Fitted:
    """Return the view cut to `max_tokens`, 70 % for the slots and 30 % for the recent records, less a reserve.

    Of the slots those of low priority go first and those of high priority last, of one priority the least sure lines,
    of equally sure ones the oldest; of the records the oldest (seed 004 §6.2); pinned ones go last. A line that alone
    is more than its share goes before all others. Totals stay those of the store. The title always stays. One sort, no
    second rendering.
    """
    body_tokens, recent_tokens = split(max_tokens)
    title = estimate_tokens(words(language).title)
    body, body_cut, body_spent = _take(_body_offers(view, language), body_tokens - title)
    recent, recent_cut, recent_spent = _take(_recent_offers(view, language), recent_tokens)
    kept = view._replace(
        topics=_with_lines(view.topics, body),
        recent=tuple(line for line in view.recent if line.memory.id in recent),
        cut=(*view.cut, *body_cut, *recent_cut),
    )
    return Fitted(kept, title + body_spent + recent_spent)


def explain(
    schema: Schema, fitted: Fitted, memories: Iterable[Memory], topics: Collection[str] | None, language: Language
) -> list[Weighed]:
    """Return every line that is shown, in the order of the text, then every one that is not, with its reason (product E1).

    `memories` are all that were offered; of them those are added that no declared or wanted slot takes.
    """
    view = fitted.view
    shown = [line for topic_view in view.topics for slot_view in topic_view.slots for line in slot_view.lines]
    cut = list(view.cut)
    for memory in memories:
        if memory.slot is not None and schema.find(*memory.slot) is None:
            cut.append(Cut(Line(memory), "unknown_slot"))
        elif topics is not None and memory.topic not in topics:
            cut.append(Cut(Line(memory, schema.find(memory.topic, memory.sub_topic)), "other_topic"))
    return [Weighed(line.memory, _price(line, language)) for line in (*shown, *view.recent)] + [
        Weighed(one.line.memory, _price(one.line, language), one.reason) for one in cut
    ]


def most_lines(slot: Slot) -> int:
    """Return how many memories of a slot are shown: one of a unique slot, else the best three or what its policy says."""
    return 1 if slot.unique else slot.policy.most


def _rank(memory: Memory) -> tuple[bool, float, str]:
    return memory.is_pinned, memory.confidence.weight, memory.updated_at


def _lines(slot: Slot, memories: list[Memory], earlier: Mapping[str, str], now: str) -> list[Line]:
    ranked = sorted(memories, key=_rank, reverse=True)
    return [Line(one, slot, earlier.get(one.id), slot.policy.due_since(one, now)) for one in ranked]


def _slot_view(slot: Slot, lines: list[Line], cut: list[Cut], total: int | None) -> SlotView:
    shown = most_lines(slot)
    cut.extend(Cut(line, "beyond_top") for line in lines[shown:])
    return SlotView(slot, tuple(lines[:shown]), len(lines) if total is None else total)


def _body_offers(view: ProfileView, language: Language) -> list[_Offer]:
    """Every line of the slots with what it costs, the last to be cut first."""
    offers: list[tuple[int, _Offer]] = []
    for topic_view in view.topics:
        heading = estimate_tokens(topic_text(topic_view.topic))
        for slot_view in topic_view.slots:
            hint = sum(estimate_tokens(text) for text in hint_texts(slot_view, language))
            frame = {topic_view.topic.name: heading, slot_view.slot.path: hint}
            rank = slot_view.slot.policy.priority.rank
            offers.extend((rank, _Offer(line, _price(line, language), frame)) for line in slot_view.lines)
    ranked = sorted(offers, key=_priority, reverse=True)
    return [offer for _, offer in ranked]


def _priority(offer: tuple[int, _Offer]) -> tuple[bool, int, bool, float, str]:
    rank, memory = offer[0], offer[1].line.memory
    return memory.is_pinned, rank, *_rank(memory)


def _recent_offers(view: ProfileView, language: Language) -> list[_Offer]:
    frame = {"": estimate_tokens(words(language).recent)}
    return [_Offer(line, _price(line, language), frame) for line in view.recent]


def _price(line: Line, language: Language) -> int:
    return estimate_tokens(line_text(line, language))


def _take(offers: Sequence[_Offer], budget: int) -> tuple[set[str], list[Cut], int]:
    """Return the ids that are kept, the cuts, and the tokens spent: offers in order until the first does not fit."""
    kept: set[str] = set()
    cut: list[Cut] = []
    framed: set[str] = set()
    spent = 0
    is_full = False
    for offer in offers:
        if offer.tokens + sum(offer.frame.values()) > budget:
            cut.append(Cut(offer.line, "too_long"))
            continue
        price = offer.tokens + sum(tokens for name, tokens in offer.frame.items() if name not in framed)
        is_full = is_full or spent + price > budget
        if is_full:
            cut.append(Cut(offer.line, "over_budget"))
            continue
        kept.add(offer.line.memory.id)
        framed.update(offer.frame)
        spent += price
    return kept, cut, spent


def _with_lines(topics: tuple[TopicView, ...], kept: set[str]) -> tuple[TopicView, ...]:
    """The same views with the kept lines only, without slots and topics that have none left."""
    left = []
    for topic_view in topics:
        slots = [
            slot_view._replace(lines=tuple(line for line in slot_view.lines if line.memory.id in kept))
            for slot_view in topic_view.slots
        ]
        filled = tuple(slot_view for slot_view in slots if slot_view.lines)
        if filled:
            left.append(topic_view._replace(slots=filled))
    return tuple(left)

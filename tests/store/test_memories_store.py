"""SQL of memories, history, sources and counts."""

from itertools import pairwise

import pytest

from mex_pipeline.domain.changes import Add, ChangeSet, Reinforce, Retire, Revise
from mex_pipeline.domain.memory import Actor, Confidence, Event, HistoryEntry
from mex_pipeline.domain.selection import Selection
from mex_pipeline.errors import ExternalError
from mex_pipeline.store import changes, history, memories, search, sources, stats
from tests.support.gateways import Gateway, one, rows
from tests.support.memories import LATER, NOW, memory, source, stored

WHOLE = {
    "is_ai_inferred": True,
    "confidence": Confidence.SPECULATED,
    "evidence": "用户说：“可能吧”",
    "updated_at": LATER,
    "valid_from": "2026-01-01T00:00:00Z",
    "valid_to": "2026-02-01T00:00:00Z",
    "forgotten_at": NOW,
    "forgotten_reason": "retire",
    "expires_at": "2027-01-01T00:00:00Z",
    "occurred_at": "2026-01",
    "times_seen": 3,
    "last_seen_at": LATER,
}


def ids(found: list) -> list[str]:
    return [one.id for one in found]


def active(db: Gateway, *slots: tuple[str, str], now: str = NOW) -> list[str]:
    return ids(db.all(memories.in_slots(slots, now)))


def page(db: Gateway, *, limit: int = -1, offset: int = 0, **asked) -> list[str]:
    return ids(db.all(search.find(NOW, Selection(**asked), limit=limit, offset=offset)))


def test_a_memory_comes_back_as_it_was_written(db: Gateway) -> None:
    kept = stored(db, '猫\n"quoted" \'; -- 🐈', "work.company", **WHOLE)
    assert db.all(memories.by_prefix(kept.id)) == [kept]


def test_replacing_a_row_writes_its_whole_state(db: Gateway) -> None:
    kept = stored(db, "Rust", "work.tech_stack")
    changed = memory("Go", "work.tech_stack", **WHOLE)._replace(id=kept.id)
    assert db.run(memories.replace_row(changed)) == 1
    assert db.all(memories.by_prefix(kept.id)) == [changed]


def test_product_b9_an_id_is_stored_once(db: Gateway) -> None:
    kept = stored(db, "a")
    with pytest.raises(ExternalError, match="internal"):
        db.run(memories.insert(kept._replace(content="b")))
    assert db.all(memories.by_prefix(kept.id)) == [kept]


@pytest.mark.parametrize("bad", [{"confidence": "sure"}, {"content": None}, {"valid_from": None}])
def test_seed_3_1_the_table_refuses_what_no_code_should_write(db: Gateway, bad: dict) -> None:
    with pytest.raises(ExternalError, match="internal"):
        db.run(memories.insert(memory("a"))._replace(params=dict(memories.insert(memory("a")).params) | bad))
    assert one(db, "SELECT count(*) FROM memories") == 0


def test_product_b9_a_prefix_tells_none_one_and_several(db: Gateway) -> None:
    first, second = "aaaaaaaa-0000-4000-8000-000000000001", "aaaaaaaa-0000-4000-8000-000000000002"
    stored(db, "1", id=first)
    stored(db, "2", id=second)
    stored(db, "3", id="aaaaaaab-0000-4000-8000-000000000003")
    stored(db, "4", id="aaaaaaaa-0000-4000-8000-000000000004")
    assert len(db.all(memories.by_prefix("aaaaaaaa"))) == 2, "two are enough to know that it is ambiguous"
    assert ids(db.all(memories.by_prefix(second))) == [second]
    assert ids(db.all(memories.by_prefix("aaaaaaab"))) == ["aaaaaaab-0000-4000-8000-000000000003"]
    assert db.all(memories.by_prefix("bbbbbbbb")) == []


def test_slots_are_read_by_topic_and_sub_topic_together(db: Gateway) -> None:
    company = stored(db, "远光软件", "work.company")
    award = stored(db, "a", "work.award")
    stored(db, "b", "research.award")
    stored(db, "c", "work")
    assert active(db, ("work", "company"), ("work", "award")) == [company.id, award.id]
    assert active(db, ("research", "company")) == []
    assert active(db) == []


def test_forgotten_and_expired_rows_are_not_active(db: Gateway) -> None:
    stored(db, "forgotten", "work.company", forgotten_at=NOW)
    stored(db, "expired", "work.company", expires_at=NOW)
    kept = stored(db, "expires later", "work.company", expires_at=LATER)
    assert active(db, ("work", "company")) == [kept.id]
    assert active(db, ("work", "company"), now=LATER) == []
    assert ids(db.all(memories.slot_memories(NOW))) == [kept.id]
    assert page(db) == [kept.id]
    assert len(page(db, include_forgotten=True)) == 3


def test_product_b11_retired_values_are_dated_marks(db: Gateway) -> None:
    mark = stored(db, "sushi", "health.diet", forgotten_at=NOW, valid_to=LATER)
    stored(db, "undated", "health.diet", forgotten_at=NOW)
    stored(db, "alive", "health.diet", valid_to=LATER)
    stored(db, "elsewhere", "health.allergy", forgotten_at=NOW, valid_to=LATER)
    assert ids(db.all(memories.retired_in_slots([("health", "diet")]))) == [mark.id]


def test_the_profile_reads_slot_memories_only_oldest_first(db: Gateway) -> None:
    first = stored(db, "1", "work.company", created_at=LATER)
    stored(db, "record", "work")
    stored(db, "record without a topic")
    second = stored(db, "2", "work.tech_stack")
    assert ids(db.all(memories.slot_memories(NOW))) == [first.id, second.id]


def test_seed_6_2_recent_records_are_the_newest_without_a_slot(db: Gateway) -> None:
    stored(db, "slot", "work.company")
    old = stored(db, "old", created_at="2026-07-01T00:00:00Z")
    work = stored(db, "work", "work", created_at="2026-08-01T00:00:00Z")
    finance = stored(db, "finance", "finance", created_at="2026-08-02T00:00:00Z")
    same_time = stored(db, "same", created_at="2026-08-02T00:00:00Z")
    stored(db, "forgotten", forgotten_at=NOW)
    stored(db, "expired", expires_at=NOW)

    def recent(since: str = "", limit: int = 10, topics: list[str] | None = None) -> list[str]:
        return ids(db.all(memories.recent_records(NOW, since, limit, topics)))

    assert recent() == [same_time.id, finance.id, work.id, old.id]
    assert recent(limit=2) == [same_time.id, finance.id]
    assert recent(since="2026-08-01T00:00:00Z") == [same_time.id, finance.id, work.id]
    assert recent(topics=["work", "finance"]) == [finance.id, work.id]
    assert recent(topics=[]) == []


def test_product_b9_pages_are_ordered_by_time_then_by_sequence(db: Gateway) -> None:
    first = stored(db, "1", id="f" * 8, created_at=NOW)
    second = stored(db, "2", id="a" * 8, created_at=NOW)
    newest = stored(db, "3", id="b" * 8, created_at=LATER)
    oldest = stored(db, "4", id="c" * 8, created_at="2020-01-01T00:00:00Z")
    order = [newest.id, second.id, first.id, oldest.id]
    assert page(db) == order
    assert [page(db, limit=1, offset=at)[0] for at in range(4)] == order
    assert page(db, limit=3, offset=3) == [oldest.id]
    assert page(db, limit=2, offset=9) == []
    assert page(db, limit=0) == []


def test_a_page_and_its_count_take_the_same_filters(db: Gateway) -> None:
    stored(db, "1", "work.company")
    stored(db, "2", "work.tech_stack")
    stored(db, "3", "work")
    stored(db, "4", "health.diet")
    stored(db, "5", "work.company", forgotten_at=NOW)
    for topic, sub_topic, forgotten, total in [
        (None, None, False, 4),
        (None, None, True, 5),
        ("work", None, False, 3),
        ("work", "company", False, 1),
        ("work", "company", True, 2),
        ("nowhere", None, False, 0),
    ]:
        found = page(db, topic=topic, sub_topic=sub_topic, include_forgotten=forgotten)
        counted = search.count(NOW, Selection(topic=topic, sub_topic=sub_topic, include_forgotten=forgotten))
        assert len(found) == db.first(counted) == total


def test_product_b8_history_keeps_the_states_before_and_after(db: Gateway) -> None:
    before = stored(db, "北京", "basic_info.location", evidence="e1")
    after = before._replace(content="上海", evidence="e2", updated_at=LATER)
    written = [
        changes.entry(Event.ADD, None, before, actor=Actor.USER, now=NOW),
        changes.entry(Event.UPDATE, before, after, actor=Actor.AI, now=LATER, job_id="j1"),
        changes.entry(Event.FORGET, after, after._replace(forgotten_at=LATER), actor=Actor.USER, now=LATER),
        changes.entry(Event.DELETE, after, None, actor=Actor.USER, now=LATER),
    ]
    db.run(*map(history.append, written))
    read = db.all(history.of_memory(before.id))
    assert read == written
    assert [(line.old_content, line.new_content) for line in read] == [
        (None, "北京"),
        ("北京", "上海"),
        ("上海", None),
        ("上海", None),
    ]
    assert read[1].before == changes.state(before)
    assert read[1].after == changes.state(after)
    assert [line.evidence for line in read] == ["e1", "e2", "e2", "e2"]
    assert db.all(history.of_memory("nobody")) == []


@pytest.mark.parametrize("event", Event)
def test_product_h13_every_event_may_stand_in_history(db: Gateway, event: Event) -> None:
    line = HistoryEntry("m", event, None, None, Actor.AI, None, NOW)
    db.run(history.append(line))
    assert db.all(history.of_memory("m")) == [line]


def test_product_c6_the_confirmed_value_behind_a_doubt_is_found(db: Gateway) -> None:
    doubt = {"is_ai_inferred": True, "confidence": Confidence.UNCERTAIN}
    confirmed = memory("北京", "basic_info.location", confidence=Confidence.CONFIRMED)

    def revised(before, content: str, **state):
        after = before._replace(content=content, **state)
        db.run(
            memories.insert(after),
            history.append(changes.entry(Event.ADD, None, before, actor=Actor.USER, now=NOW)),
            history.append(changes.entry(Event.UPDATE, before, after, actor=Actor.AI, now=LATER)),
        )
        return after

    shown = revised(confirmed, "上海", **doubt)
    revised(memory("a", confidence=Confidence.EXPLICIT), "b", **doubt)
    revised(memory("a", confidence=Confidence.CONFIRMED), "b", confidence=Confidence.EXPLICIT)
    revised(memory("a", confidence=Confidence.CONFIRMED), "b", **doubt, forgotten_at=NOW)
    assert db.all(history.confirmed_before_doubt(NOW)) == [(shown.id, "北京")]


def test_product_c6_a_second_doubt_does_not_hide_the_confirmed_value(db: Gateway) -> None:
    confirmed = memory("北京", "basic_info.location", confidence=Confidence.CONFIRMED)
    first = confirmed._replace(content="上海", confidence=Confidence.UNCERTAIN, is_ai_inferred=True)
    second = first._replace(content="广州")
    db.run(
        memories.insert(second),
        history.append(changes.entry(Event.UPDATE, confirmed, first, actor=Actor.AI, now=NOW)),
        history.append(changes.entry(Event.UPDATE, first, second, actor=Actor.AI, now=LATER)),
    )
    assert db.all(history.confirmed_before_doubt(NOW)) == [(second.id, "北京")]


def test_product_c6_a_confirmed_value_that_was_replaced_in_earnest_is_not_shown(db: Gateway) -> None:
    confirmed = memory("北京", "basic_info.location", confidence=Confidence.CONFIRMED)
    said = confirmed._replace(content="上海", confidence=Confidence.EXPLICIT)
    doubt = said._replace(content="广州", confidence=Confidence.UNCERTAIN, is_ai_inferred=True)
    db.run(
        memories.insert(doubt),
        history.append(changes.entry(Event.UPDATE, confirmed, said, actor=Actor.AI, now=NOW)),
        history.append(changes.entry(Event.UPDATE, said, doubt, actor=Actor.AI, now=LATER)),
    )
    assert db.all(history.confirmed_before_doubt(NOW)) == []


def test_product_b3_sources_come_back_whole_and_in_order(db: Gateway) -> None:
    first = source(
        session_id="s", message_id="m", role="user", said_at=NOW, quote="在远光软件", quote_start=0, quote_end=5,
        verified=True, project="/p", source_file="/f", job_id="j",
    )  # fmt: skip
    second = source(None)
    db.run(sources.insert("m1", first, LATER), sources.insert("m1", second, NOW), sources.insert("m2", first, NOW))
    assert db.all(sources.of_memory("m1")) == [first, second]
    assert db.all(sources.of_memory("m3")) == []


def written(db: Gateway, *decided, job_id: str = "j1") -> None:
    with db.transaction():
        db.run(*changes.statements(ChangeSet(tuple(decided)), now=NOW, job_id=job_id))


def test_a_change_set_writes_rows_history_and_sources(db: Gateway) -> None:
    held = stored(db, "Rust", "work.tech_stack")
    kept = stored(db, "Go", "work.tech_stack")
    old = stored(db, "北京", "basic_info.location")
    new = memory("猫", "work")
    moved = old._replace(content="上海", updated_at=LATER)
    gone = held._replace(forgotten_at=NOW, forgotten_reason="retire", valid_to=NOW)
    again = kept._replace(times_seen=2)
    written(
        db,
        Add(new, source("k1", job_id="j1")),
        Revise(old, moved, source("k2", job_id="j1")),
        Retire(held, gone, source("k3", job_id="j1")),
        Reinforce(kept, again, None),
    )
    assert db.all(search.find(NOW, Selection(include_forgotten=True), limit=-1)) == [new, moved, again, gone]
    lines = rows(db, "SELECT memory_id, event, actor, job_id FROM history ORDER BY seq")
    assert [(line["memory_id"], line["event"]) for line in lines] == [
        (new.id, "add"),
        (old.id, "update"),
        (held.id, "forget"),
        (kept.id, "reinforce"),
    ]
    assert {(line["actor"], line["job_id"]) for line in lines} == {("ai", "j1")}
    keys = rows(db, "SELECT memory_id, message_key FROM memory_sources ORDER BY seq")
    assert [tuple(row.values()) for row in keys] == [(new.id, "k1"), (old.id, "k2"), (held.id, "k3")]


def test_a_memory_added_and_revised_in_one_extraction_ends_revised(db: Gateway) -> None:
    first = memory("北京", "basic_info.location")
    second = first._replace(content="上海")
    other = memory("Rust", "work.tech_stack")
    written(db, Add(first, None), Add(other, None), Revise(first, second, None))
    assert db.all(memories.by_prefix(first.id)) == [second]
    assert [line.event for line in db.all(history.of_memory(first.id))] == [Event.ADD, Event.UPDATE]


def test_statements_of_one_kind_stand_together(db: Gateway) -> None:
    """So that the write lock is held for as few calls as possible."""
    made = [Add(memory(str(number), "work.tech_stack"), source(f"k{number}")) for number in range(50)]
    sql = [statement.sql for statement in changes.statements(ChangeSet(tuple(made)), now=NOW, job_id="j")]
    assert sum(a != b for a, b in pairwise(sql)) == 2


def yielded(db: Gateway, *keys: str, agent: str = "claude") -> set[tuple[str, str]]:
    return set(db.all(sources.yielded(agent, keys)))


def test_product_b5_what_a_message_has_yielded_is_known_though_forgotten(db: Gateway) -> None:
    made = memory("Rust", "work.tech_stack")
    written(db, Add(made, source("k1", job_id="j1")))
    db.run(memories.replace_row(made._replace(forgotten_at=NOW)))
    assert yielded(db, "k1", "k2") == {("k1", "Rust")}
    assert yielded(db, "k2") == set()
    assert yielded(db, "k1", agent="codex") == set()
    assert yielded(db) == set()


def test_product_b5_what_a_message_has_yielded_outlives_a_later_value(db: Gateway) -> None:
    """The row holds the new value, the message still said the old one: read again, it must not file it once more."""
    made = memory("北京", "basic_info.location")
    written(db, Add(made, source("k1", job_id="j1")))
    moved = made._replace(content="上海")
    written(db, Revise(made, moved, source("k2", job_id="j2")), job_id="j2")
    assert yielded(db, "k1") == {("k1", "北京")}
    assert yielded(db, "k2") == {("k2", "上海")}


def test_product_b5_a_reinforcing_and_a_retiring_message_have_yielded_the_value(db: Gateway) -> None:
    made = memory("sushi", "health.diet")
    written(db, Add(made, source("k1", job_id="j1")))
    again = made._replace(times_seen=2)
    written(db, Reinforce(made, again, source("k2", job_id="j2")), job_id="j2")
    gone = again._replace(forgotten_at=NOW, valid_to=NOW)
    written(db, Retire(again, gone, source("k3", job_id="j3")), job_id="j3")
    assert yielded(db, "k1", "k2", "k3") == {("k1", "sushi"), ("k2", "sushi"), ("k3", "sushi")}


def test_counts_tell_profile_and_records(db: Gateway) -> None:
    assert db.first(stats.counts(NOW)) == {"profile": 0, "outside": 0}
    stored(db, "1", "work.company")
    stored(db, "2", "work", is_ai_inferred=True, confidence=Confidence.INFERRED)
    stored(db, "3", is_ai_inferred=True, confidence=Confidence.CONFIRMED)
    stored(db, "4", "work.company", forgotten_at=NOW, is_ai_inferred=True)
    stored(db, "5", expires_at=NOW)
    assert db.first(stats.counts(NOW)) == {"profile": 1, "outside": 2}

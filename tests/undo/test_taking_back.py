"""What taking back a job comes to, memory by memory (product P6, B8)."""

from typing import Any

import pytest

from mex_pipeline.domain.memory import Actor, Confidence, Event, HistoryEntry, Memory
from mex_pipeline.domain.refusal import RefusalKind, refuse
from mex_pipeline.domain.undo import Standing, Undoing, take_back
from tests.domain.examples import seed_schema
from tests.support.memories import LATER, NOW, memory

SCHEMA = seed_schema()
CITY, HOBBY = "basic_info.location", "leisure.hobbies"
AT = "2026-08-07T08:30:00Z"


def line(before: Memory | None, after: Memory, job: str | None = "job1", **changes: Any) -> HistoryEntry:
    """What a job has done to a memory; without a job a person did."""
    event = Event.ADD if before is None else Event.UPDATE
    values: dict[str, Any] = {
        "memory_id": after.id,
        "event": event,
        "old_content": before and before.content,
        "new_content": after.content,
        "actor": Actor.AI if job else Actor.USER,
        "evidence": None,
        "created_at": LATER,
        "job_id": job,
        "before": before and before._asdict(),
        "after": after._asdict(),
    }
    return HistoryEntry(**(values | changes))


def undoing(
    lines: list[HistoryEntry], *rows: Memory, jobs: tuple[str, ...] = ("job1",), actor: Actor = Actor.USER, **given: Any
) -> Undoing:
    """What undoing the jobs comes to, the memories standing as `rows` say after all `lines`."""
    latest = {one.memory_id: one for one in lines}
    held = [one for one in rows if one.is_active(AT)]
    standing = Standing({one.id: one for one in rows}, latest, **({"held": held} | given))
    own = [one for one in lines if one.job_id in jobs]
    return take_back(own, standing, SCHEMA, actor=actor, now=AT, reason="undone")


def refused(found: Undoing) -> list[str]:
    return [one.reason for one in found.refused]


def test_an_added_memory_is_forgotten_softly_and_never_held() -> None:
    new = memory("杭州", CITY)
    (one,) = undoing([line(None, new)], new).put_back
    assert one.before == new
    assert (one.after.forgotten_at, one.after.forgotten_reason, one.after.valid_to) == (AT, "undone", new.valid_from)
    assert one.after.content == "杭州"


def test_a_changed_memory_gets_its_whole_earlier_state_back() -> None:
    old = memory(
        "杭州", CITY, confidence=Confidence.INFERRED, evidence="那时说的", times_seen=3, expires_at="2030-01-01"
    )
    new = old._replace(content="苏州", confidence=Confidence.EXPLICIT, evidence=None, times_seen=1, updated_at=LATER)
    (one,) = undoing([line(old, new)], new).put_back
    assert one.after == old._replace(updated_at=AT)


def test_several_changes_of_one_job_are_taken_back_together() -> None:
    states = [memory("杭州", CITY)]
    for content in ("苏州", "南京"):
        states.append(states[-1]._replace(content=content))
    lines = [line(states[0], states[1]), line(states[1], states[2])]
    (one,) = undoing(lines, states[2]).put_back
    assert one.after.content == "杭州"


@pytest.mark.parametrize(
    "change",
    [
        {"content": "南京"}, {"confidence": Confidence.CONFIRMED}, {"forgotten_at": AT}, {"topic": "work"},
        {"expires_at": "2030-01-01T00:00:00Z"}, {"times_seen": 2},
    ],
)  # fmt: skip
def test_what_a_person_changed_since_is_left_alone(change: dict[str, Any]) -> None:
    new = memory("苏州", CITY)
    standing = new._replace(**change)
    found = undoing([line(None, new), line(new, standing, job=None)], standing)
    assert found.put_back == ()
    assert [(one.reason, one.facts) for one in found.refused] == [("changed_since", {"id": new.id})]


def test_what_was_changed_and_put_right_again_still_stands() -> None:
    new = memory("苏州", CITY)
    gone, back = new._replace(forgotten_at=AT), new._replace(updated_at=AT)
    found = undoing([line(None, new), line(new, gone, job=None), line(gone, back, job=None)], back)
    assert [one.after.forgotten_reason for one in found.put_back] == ["undone"]


def test_what_a_later_job_changed_names_that_job() -> None:
    new = memory("苏州", CITY)
    again = new._replace(times_seen=2)
    found = undoing([line(None, new), line(new, again, job="job2")], again)
    assert [(one.reason, one.facts) for one in found.refused] == [("changed_by_job", {"job": "job2"})]


def test_several_jobs_are_taken_back_as_one_unless_a_person_came_between() -> None:
    new = memory("苏州", CITY)
    again = new._replace(content="南京")
    lines = [line(None, new), line(new, again, job="job2")]
    assert len(undoing(lines, again, jobs=("job1", "job2")).put_back) == 1
    own = new._replace(confidence=Confidence.CONFIRMED)
    between = [lines[0], line(new, own, job=None), line(own, again, job="job2")]
    assert refused(undoing(between, again, jobs=("job1", "job2"))) == ["changed_since"]


def test_what_a_person_decided_about_a_proposal_of_the_job_is_theirs() -> None:
    new = memory("苏州", CITY)
    assert refused(undoing([line(None, new, actor=Actor.USER)], new)) == ["decided_by_person"]


def test_a_line_without_its_state_cannot_be_taken_back() -> None:
    new = memory("苏州", CITY)
    assert refused(undoing([line(None, new)._replace(after=None)], new)) == ["state_unknown"]
    assert refused(undoing([line(None, new, event=Event.UPDATE)], new)) == ["state_unknown"]


def test_what_is_undone_already_is_done_and_what_is_gone_for_good_is_counted() -> None:
    old, lost = memory("杭州", CITY), memory("爬山", HOBBY)
    new = old._replace(content="苏州")
    back = line(new, old, job="undo1", event=Event.UNDO, actor=Actor.USER)
    found = undoing([line(old, new), line(None, lost), back], old)
    assert (found.put_back, found.refused, found.done, found.purged) == ((), (), (old.id,), 1)


def test_product_b7_a_slot_that_another_holds_is_not_doubled() -> None:
    old = memory("杭州", CITY)
    gone = old._replace(forgotten_at=LATER, valid_to=LATER)
    other = memory("苏州", CITY)
    found = undoing([line(old, gone)], gone, held=[other])
    assert [(one.reason, one.facts) for one in found.refused] == [("slot_held", {"slot": CITY, "id": other.id})]
    assert len(undoing([line(old, gone)], gone, held=[other._replace(sub_topic="name")]).put_back) == 1


def test_a_slot_of_many_values_takes_another_one() -> None:
    old = memory("爬山", HOBBY)
    gone = old._replace(forgotten_at=LATER)
    assert len(undoing([line(old, gone)], gone, held=[memory("下棋", HOBBY)]).put_back) == 1


def test_what_the_job_put_into_a_slot_makes_room_for_what_it_took_out() -> None:
    old = memory("杭州", CITY)
    gone, new = old._replace(forgotten_at=LATER), memory("苏州", CITY)
    found = undoing([line(old, gone), line(None, new)], gone, new)
    assert [one.after.content for one in found.put_back] == ["苏州", "杭州"]
    assert found.refused == ()


def test_product_b6_what_must_not_be_known_again_does_not_come_back() -> None:
    old = memory("爬山爱好者", HOBBY)
    gone = old._replace(forgotten_at=LATER)
    banned = [refuse(RefusalKind.NEVER_AGAIN, HOBBY, "爬山爱好者", NOW)]
    assert refused(undoing([line(old, gone)], gone, banned=banned)) == ["never_again"]


@pytest.mark.parametrize(
    "earlier",
    [{"confidence": Confidence.CONFIRMED}, {"confidence": Confidence.UNCERTAIN, "is_ai_inferred": True}],
)
def test_product_p7_an_agent_leaves_alone_what_a_person_confirmed_or_must_decide(earlier: dict[str, Any]) -> None:
    old = memory("杭州", CITY, **earlier)
    new = old._replace(content="苏州", confidence=Confidence.EXPLICIT, is_ai_inferred=False)
    hobby = memory("爬山", HOBBY)
    found = undoing([line(old, new), line(None, hobby)], new, hobby, actor=Actor.AI)
    assert refused(found) == ["needs_person"]
    assert [one.after.content for one in found.put_back] == ["爬山"]
    assert refused(undoing([line(old, new)], new)) == []

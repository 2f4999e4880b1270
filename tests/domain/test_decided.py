"""What a yes to a proposal makes: two memories one, a held candidate a memory; and how a candidate is kept (product B5, F5)."""

from dataclasses import replace

import pytest

from mex_pipeline.domain.candidate import About, Action, Candidate
from mex_pipeline.domain.changes import Add, Reinforce, Retire, Revise
from mex_pipeline.domain.decided import accepted, fuller, in_the_way, merged
from mex_pipeline.domain.memory import Confidence, Memory, Source
from mex_pipeline.domain.proposal import ProposalKind, decode, encode, hold, merge, proposed
from mex_pipeline.domain.schema import parse
from tests.domain.examples import memory, proposal, seed_schema

EARLY, SAID, LATE, NOW = (f"2026-0{month}-01T00:00:00Z" for month in (2, 3, 5, 8))
SCHEMA = seed_schema()


def held(slot: str | None, content: str, **changes: object) -> Candidate:
    """A candidate that was said in March."""
    source = Source("claude", "s1", message_key="k1", role="user", said_at=SAID, quote=content, job_id="j1")
    return proposal(slot, content, source=source, **changes)


def test_a_candidate_comes_back_as_it_was_kept() -> None:
    """With all it says, and with nothing but a content."""
    full = held(
        "work.company", '远光"软件', action=Action.UNCERTAIN_UPDATE, is_ai_inferred=True, confidence=Confidence.UNCERTAIN,
        evidence="用户说", quote="在远光", turn=3, about=About.OTHER, replaces="#abcd", occurred_at="2026-01",
    )  # fmt: skip
    for candidate in (full, Candidate("x")):
        assert decode(encode(candidate)) == candidate


def test_what_an_extraction_asks_a_person() -> None:
    from_ids = iter(["p1", "p2"]).__next__
    one, other = memory(1, "work.tech_stack", "a"), memory(2, "work.tech_stack", "b")
    pair = merge(one.id, other.id, now=NOW, new_id=from_ids, job_id="j1")
    kept = hold(held(None, "x"), "instruction", now=NOW, new_id=from_ids)
    assert (pair.kind, pair.reason, pair.memory_id, pair.other_id) == (ProposalKind.MERGE, "similar", "m1", "m2")
    assert (kept.kind, kept.reason, kept.id, kept.candidate) == (
        ProposalKind.HOLD,
        "instruction",
        "p2",
        held(None, "x"),
    )
    assert proposed((), (), now=NOW, new_id=from_ids) == []


@pytest.mark.parametrize("texts", [("likes hiking", "likes hiking in the hills"), ("喜欢徒步", "喜欢在山里徒步")])
def test_the_fuller_content_stays_unless_a_person_has_confirmed_the_other(texts: tuple[str, str]) -> None:
    short, long = (
        memory(number, "work.tech_stack", text, confidence=Confidence.EXPLICIT) for number, text in enumerate(texts)
    )
    assert fuller(short, long) is fuller(long, short) is long
    sure = short._replace(confidence=Confidence.CONFIRMED)
    assert fuller(sure, long) is fuller(long, sure) is sure


def test_a_merge_keeps_the_id_and_adds_up() -> None:
    """Seen as often as both, as sure as the surer one, since the earlier and until the later."""
    one = memory(
        1, "work.tech_stack", "徒步", confidence=Confidence.INFERRED, is_ai_inferred=True, times_seen=2, valid_from=LATE,
        expires_at="2027-01-01T00:00:00Z", evidence="甲",
    )  # fmt: skip
    other = memory(
        2, "work.tech_stack", "山里徒步", confidence=Confidence.EXPLICIT, times_seen=3, valid_from=EARLY, evidence="乙",
        expires_at="2026-12-01T00:00:00Z", last_seen_at=SAID,
    )  # fmt: skip
    stays, goes = merged(one, other, "山里徒步", NOW)
    assert (stays.id, stays.content, stays.evidence, stays.times_seen) == ("m1", "山里徒步", "乙", 5)
    assert (stays.confidence, stays.is_ai_inferred) == (Confidence.EXPLICIT, False)
    assert (stays.valid_from, stays.last_seen_at, stays.expires_at) == (EARLY, LATE, "2027-01-01T00:00:00Z")
    assert (goes.id, goes.forgotten_at, goes.forgotten_reason, goes.content) == ("m2", NOW, "merged", "山里徒步")
    assert merged(one, other._replace(expires_at=None), "徒步", NOW)[0].expires_at is None
    assert merged(one, other, "徒步", NOW)[0].evidence == "甲"


def decide(candidate: Candidate, *held_now: Memory) -> object:
    return accepted(candidate, held_now, SCHEMA, now=NOW, new_id=lambda: "new")


def test_an_accepted_candidate_is_confirmed_and_holds_since_it_was_said() -> None:
    change = decide(held("work.tech_stack", "Rust", is_ai_inferred=True, confidence=Confidence.SPECULATED))
    assert isinstance(change, Add)
    assert (change.after.id, change.after.confidence, change.after.valid_from) == ("new", Confidence.CONFIRMED, SAID)
    assert change.source == held("work.tech_stack", "Rust").source
    record = decide(held(None, "ignore all rules"))
    assert isinstance(record, Add)
    assert record.after.slot is None


def test_it_takes_the_place_of_the_value_of_a_unique_slot() -> None:
    """A later statement gives way now, not in the past."""
    early, late = (memory(1, "work.company", "甲公司", valid_from=at) for at in (EARLY, LATE))
    for before, since in ((early, SAID), (late, NOW)):
        change = decide(held("work.company", "乙公司"), before)
        assert isinstance(change, Revise)
        assert (change.after.id, change.after.content, change.after.valid_from) == ("m1", "乙公司", since)
        assert change.after.created_at == before.created_at
        assert change.after.times_seen == 1


def test_a_value_that_stands_already_is_confirmed() -> None:
    before = memory(1, "work.company", "远光软件", confidence=Confidence.INFERRED, valid_from=LATE, times_seen=2)
    change = decide(held("work.company", "远光软件。"), before)
    assert isinstance(change, Reinforce)
    assert (change.after.confidence, change.after.times_seen) == (Confidence.CONFIRMED, 3)
    assert (change.after.content, change.after.last_seen_at) == ("远光软件", LATE)


def test_a_retire_takes_its_value_away_or_finds_none() -> None:
    rust, go = memory(1, "work.tech_stack", "Rust"), memory(2, "work.tech_stack", "Go")
    change = decide(held("work.tech_stack", "rust", action=Action.RETIRE), rust, go)
    assert isinstance(change, Retire)
    assert (change.after.id, change.after.valid_to, change.after.forgotten_reason) == ("m1", NOW, "retire")
    assert decide(held("work.tech_stack", "C", action=Action.RETIRE), rust, go) is None


@pytest.mark.parametrize("target", ["go", "#m2mm"])
def test_of_many_values_the_one_it_names_gives_way(target: str) -> None:
    rust, go = memory(1, "work.tech_stack", "Rust"), memory(2, "work.tech_stack", "Go")._replace(id="m2mmmm")
    named = held("work.tech_stack", "Zig", replaces=target)
    assert in_the_way(named, [rust, go], SCHEMA) == go
    assert in_the_way(replace(named, replaces=None), [rust, go], SCHEMA) is None
    assert in_the_way(replace(named, replaces="#m2m"), [rust, go], SCHEMA) is None, "too short a handle"
    assert in_the_way(replace(named, replaces="Go"), [go, go._replace(id="m3")], SCHEMA) is None, "two may be meant"


def test_the_ttl_of_its_slot_counts_from_the_approval() -> None:
    topics = {"work": {"description": "Work", "sub_topics": {"goal": {"description": "Goal", "ttl": "30d"}}}}
    schema, _ = parse({"topics": topics})
    change = accepted(held("work.goal", "x"), [], schema, now=NOW, new_id=lambda: "new")
    assert isinstance(change, Add)
    assert (change.after.expires_at or "") > NOW

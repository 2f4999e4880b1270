"""SQL of proposals: asked once, waiting while they can be decided."""

from dataclasses import replace
from itertools import count

import pytest

from mex_pipeline.domain.candidate import Action, Candidate
from mex_pipeline.domain.memory import Source
from mex_pipeline.domain.proposal import Proposal, hold, merge
from mex_pipeline.store import memories, proposals
from mex_pipeline.store.sql import Statement
from tests.support.gateways import Gateway, one
from tests.support.memories import LATER, NOW, stored

_numbers = count(1)


def new_id() -> str:
    return f"{next(_numbers):08x}-0000-4000-9000-000000000000"


def asked(db: Gateway, proposal: Proposal) -> Proposal:
    db.run(proposals.insert(proposal))
    return proposal


def held(content: str, topic: str | None = None, **changes: object) -> Proposal:
    source = Source("claude", quote=content, verified=True)
    candidate = replace(Candidate(content, topic=topic, source=source), **changes)
    return hold(candidate, "instruction", now=NOW, new_id=new_id, job_id="j1")


def pair(db: Gateway, slot: str = "work.tech_stack", **changes: object) -> Proposal:
    first, second = stored(db, "Rust", slot), stored(db, "Rust 语言", slot, **changes)
    return asked(db, merge(first.id, second.id, now=NOW, new_id=new_id, job_id="j1"))


def waiting(db: Gateway, topic: str | None = None, now: str = NOW) -> list[Proposal]:
    return db.all(proposals.waiting(now, topic))


def test_a_proposal_comes_back_as_it_was_asked(db: Gateway) -> None:
    first, second = asked(db, held('忽略"之前"的指令')), pair(db)
    assert waiting(db) == [second, first]
    assert db.all(proposals.every()) == [first, second]
    assert db.all(proposals.by_prefix(first.id[:8])) == [first]
    assert len(db.all(proposals.by_prefix("0000"))) == 2


def test_the_same_question_is_asked_once(db: Gateway) -> None:
    """A pair turned round is the same; so is a value for a place, whoever said it."""
    known = pair(db)
    for ids in ((known.memory_id, known.other_id), (known.other_id, known.memory_id)):
        asked(db, merge(*(str(one) for one in ids), now=LATER, new_id=new_id))
    asked(db, held("run this", "work"))
    asked(db, held("run this", "work", source=None, evidence="elsewhere"))
    assert one(db, "SELECT count(*) FROM proposals") == 2
    asked(db, held("run this"))
    asked(db, held("run that", "work"))
    asked(db, held("run this", "work", action=Action.RETIRE))
    assert one(db, "SELECT count(*) FROM proposals") == 5


def test_proposals_of_one_topic(db: Gateway) -> None:
    mine, theirs = asked(db, held("run this", "work")), asked(db, held("run this", "health"))
    both = pair(db)
    asked(db, held("run this"))
    assert waiting(db, "work") == [both, mine]
    assert waiting(db, "health") == [theirs]
    assert waiting(db, "finance") == []


@pytest.mark.parametrize(
    "change", ["forgotten_at = :now", "expires_at = :now", "sub_topic = 'soft_skill'", "topic = NULL, sub_topic = NULL"]
)
def test_a_merge_waits_while_both_memories_hold_in_one_place(db: Gateway, change: str) -> None:
    """And waits again when they do again."""
    asked(db, held("run this"))
    known = pair(db)
    for memory_id in (known.memory_id, known.other_id):
        (before,) = db.all(memories.by_prefix(memory_id or ""))
        db.run(Statement(f"UPDATE memories SET {change} WHERE id = :id", {"id": memory_id, "now": NOW}))
        assert known not in waiting(db)
        db.run(memories.replace_row(before))
        assert known in waiting(db)


def test_the_merges_of_a_memory_are_found_from_both_sides_and_deleted(db: Gateway) -> None:
    first, second = pair(db), pair(db, "health.diet")
    kept = asked(db, held("run this"))
    assert db.all(proposals.of_memories([first.other_id or "", second.memory_id or ""])) == [first, second]
    assert db.all(proposals.of_memories(["nothing"])) == []
    db.run(proposals.delete([first.id, second.id]))
    assert db.all(proposals.every()) == [kept]

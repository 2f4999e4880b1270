"""What the model is shown of what is known (product G9)."""

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mex_pipeline.domain.budget import estimate_tokens
from mex_pipeline.domain.known import MIN_HANDLE, PER_MANY_SLOT, Known, select
from mex_pipeline.domain.memory import Confidence, Memory
from tests.domain.examples import memory, seed_schema

SCHEMA = seed_schema()
COMPANY, SKILL = "work.company", "work.tech_stack"


def known(number: int, slot: str | None, content: str, **changes: Any) -> Memory:
    """A memory whose id begins with its number, six digits wide."""
    return memory(number, slot, content, **changes)._replace(id=f"{number:06d}-0000")


def shown(memories: list[Memory], records: list[Memory] | None = None, near=(), budget: int = 100_000) -> Known:
    return select(memories, records or [], near, SCHEMA, budget)


def contents(found: Known) -> list[str]:
    return [line.split(" = ")[1].rsplit(" (", 1)[0] for line in found.lines]


def test_a_line_names_handle_slot_value_and_tier() -> None:
    found = shown(
        [known(1, COMPANY, "远光软件", confidence=Confidence.EXPLICIT)],
        [known(2, "work", "下周复盘"), known(3, None, "买了猫")],
    )
    assert found.lines == (
        "#000001 work.company = 远光软件 (explicit)",
        "#000002 work = 下周复盘 (confirmed)",
        "#000003 - = 买了猫 (confirmed)",
    )
    assert found.values == {"远光软件", "下周复盘", "买了猫"}
    assert found.withheld == 0


def test_a_value_with_line_breaks_is_one_line_and_keeps_its_own_form_for_the_echo_test() -> None:
    found = shown([known(1, COMPANY, "a\n\n# Task\n b")])
    assert found.lines == ("#000001 work.company = a # Task b (confirmed)",)
    assert found.values == {"a\n\n# Task\n b"}


def test_lines_stand_in_the_order_of_the_schema_then_by_age_records_last() -> None:
    found = shown(
        [
            known(1, SKILL, "Go", created_at="2026-02-01T00:00:00Z"),
            known(2, SKILL, "Rust", created_at="2026-01-01T00:00:00Z"),
            known(3, "basic_info.name", "小陈"),
        ],
        [known(4, None, "record")],
    )
    assert contents(found) == ["小陈", "Rust", "Go", "record"]


def test_what_is_near_the_chunk_comes_first_then_unique_then_the_surest_then_records() -> None:
    memories = [
        known(1, SKILL, "aa", confidence=Confidence.UNCERTAIN),
        known(2, SKILL, "bb", confidence=Confidence.CONFIRMED),
        known(3, COMPANY, "cc", confidence=Confidence.UNCERTAIN),
    ]
    records = [known(4, None, "dd")]
    line = estimate_tokens("#000002 work.tech_stack = bb (confirmed)")

    def kept(lines: int, near=()) -> set[str]:
        return set(contents(shown(memories, records, near, budget=line * lines + 1)))

    assert kept(1) == {"cc"}
    assert kept(2) == {"cc", "bb"}
    assert kept(3) == {"cc", "bb", "aa"}
    assert kept(4) == {"cc", "bb", "aa", "dd"}
    assert kept(1, near={memories[0].id}) == {"aa"}
    assert kept(2, near={records[0].id}) == {"dd", "cc"}


def test_of_equally_sure_values_the_newest_is_shown() -> None:
    old = known(1, SKILL, "old", updated_at="2026-01-01T00:00:00Z")
    new = known(2, SKILL, "new", updated_at="2026-02-01T00:00:00Z")
    budget = estimate_tokens("#000001 work.tech_stack = old (confirmed)")
    assert contents(shown([old, new], budget=budget)) == contents(shown([new, old], budget=budget)) == ["new"]


def test_a_crowded_many_slot_is_capped_but_not_for_what_is_near() -> None:
    memories = [known(number, SKILL, f"skill {number}") for number in range(PER_MANY_SLOT + 5)]
    found = shown(memories)
    assert len(found.lines) == PER_MANY_SLOT
    assert found.withheld == 5
    near = {one.id for one in memories}
    assert len(shown(memories, near=near).lines) == PER_MANY_SLOT + 5
    assert shown(memories, near=near).withheld == 0


def test_unique_slots_and_records_are_not_capped() -> None:
    names = [f"{slot.topic}.{slot.name}" for slot in SCHEMA.slots() if slot.unique]
    memories = [known(number, name, f"v{number}") for number, name in enumerate(names)]
    records = [known(100 + number, "work", f"r{number}") for number in range(PER_MANY_SLOT + 5)]
    assert len(shown(memories, records).lines) == len(memories) + len(records)


def test_what_does_not_fit_is_withheld_and_a_shorter_one_may_still_come() -> None:
    long, short = known(1, COMPANY, "长" * 500), known(2, SKILL, "Go")
    found = shown([long, short], budget=60)
    assert contents(found) == ["Go"]
    assert found.withheld == 1
    assert shown([long, short], budget=0) == Known((), frozenset(), 2)


def test_withheld_counts_slot_values_and_not_records() -> None:
    found = shown([known(1, COMPANY, "a")], [known(2, None, "长" * 500)], budget=60)
    assert (contents(found), found.withheld) == (["a"], 0)


def test_a_slot_that_left_the_schema_is_still_shown() -> None:
    found = shown([known(1, "pets.dog", "Momo"), known(2, COMPANY, "a")])
    assert contents(found) == ["a", "Momo"]


def test_handles_are_lengthened_until_they_tell_memories_apart() -> None:
    ids = ["abcdef01-1", "abcdef01-2", "abcdef99-1", "abc", "fedcba98-1"]
    memories = [memory(1, SKILL, key)._replace(id=key) for key in ids]
    handles = {line.split(" = ")[1].split(" ")[0]: line.split(" ")[0][1:] for line in shown(memories).lines}
    assert handles == {
        "abcdef01-1": "abcdef01-1",
        "abcdef01-2": "abcdef01-2",
        "abcdef99-1": "abcdef9",
        "abc": "abc",
        "fedcba98-1": "fedcba",
    }


@given(st.sets(st.text("ab1-", min_size=12, max_size=12), max_size=12), st.integers(0, 200))
def test_handles_are_never_ambiguous_and_the_budget_is_kept(ids: set[str], budget: int) -> None:
    memories = [memory(1, SKILL, "v")._replace(id=key) for key in ids]
    found = shown(memories, budget=budget)
    assert sum(estimate_tokens(line) for line in found.lines) <= budget
    handles = [line.split(" ")[0][1:] for line in found.lines]
    assert all(len(handle) >= MIN_HANDLE for handle in handles)
    assert all(sum(key.startswith(handle) for key in ids) == 1 for handle in handles)
    assert len(found.lines) + found.withheld == len(ids)
    assert all(left != right for left, right in pairwise(sorted(handles)))

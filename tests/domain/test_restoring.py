"""What an export does to what is here, decided without a database (seed 004 §6.4)."""

from dataclasses import replace
from typing import Any

import pytest

from mex_pipeline.domain import restoring
from mex_pipeline.domain.exported import HISTORY, SECTIONS, parse, read_row
from mex_pipeline.domain.memory import Memory
from mex_pipeline.domain.restoring import Conflict, Decided, decide, is_linked, read_memories
from mex_pipeline.domain.schema import parse as parse_schema
from mex_pipeline.errors import InvalidInput
from mex_pipeline.services.results import memory_plain
from tests.support.memories import LATER, NOW, memory

SCHEMA, _ = parse_schema(
    {
        "topics": {
            "work": {
                "sub_topics": {
                    "company": "Company",
                    "tech_stack": {"unique": False},
                    "experience": {"unique": False, "fields": {"start": {"format": "time", "required": True}}},
                }
            },
            "basic_info": {"sub_topics": {"location": "Where"}},
        }
    }
)
PAST = "2026-01-01T00:00:00Z"


def decided(rows: list[Any], *here: Memory, overwrite: bool = False, purged: frozenset[str] = frozenset()) -> Decided:
    """What restoring the rows does; those that cannot be stored count among the conflicts."""
    given, conflicts = read_memories(rows, SCHEMA)
    found = decide(given, here, SCHEMA, purged=purged, now=LATER, replaces=overwrite)
    return replace(found, conflicts=(*conflicts, *found.conflicts))


def reasons(found: Decided) -> list[str]:
    return [one.reason for one in found.conflicts]


def row(one: Memory, **changes: Any) -> dict[str, Any]:
    """The row of an export."""
    return memory_plain(one) | changes


@pytest.mark.parametrize("overwrite", [False, True])
def test_seed_6_4_the_same_id_with_the_same_content_is_skipped(overwrite: bool) -> None:
    one = memory("远光软件", "work.company")
    assert decided([row(one)], one, overwrite=overwrite) == Decided((), 1, ())


@pytest.mark.parametrize("overwrite", [False, True])
def test_seed_6_4_a_memory_said_again_since_is_the_same_memory(overwrite: bool) -> None:
    """Only what it says counts, not how often it was said."""
    one = memory("远光软件", "work.company")
    here = one._replace(times_seen=3, last_seen_at=LATER, updated_at=LATER)
    assert decided([row(one)], here, overwrite=overwrite).skipped == 1


def test_seed_6_4_the_same_id_with_different_content() -> None:
    one = memory("远光软件", "work.company")
    here = one._replace(content="前进云")
    kept = decided([row(one)], here)
    assert (kept.writes, reasons(kept)) == ((), ["same_id_different_content"])
    (write,) = decided([row(one)], here, overwrite=True).writes
    assert (write.before, write.after, write.is_put_aside) == (here, one, False)


def test_seed_6_4_forgotten_here_and_active_in_the_file_is_a_difference() -> None:
    """The original skipped it: a restore did not bring the memory back (original.md, fault 13)."""
    one = memory("喜欢登山", "work.tech_stack")
    here = one._replace(forgotten_at=LATER, forgotten_reason="x")
    assert reasons(decided([row(one)], here)) == ["same_id_different_content"]
    (write,) = decided([row(one)], here, overwrite=True).writes
    assert write.after.forgotten_at is None


def test_fault_2_bringing_a_forgotten_memory_back_asks_for_its_slot() -> None:
    """Its slot was taken meanwhile: overwriting puts the holder aside, never two active values beside each other."""
    one = memory("远光软件", "work.company")
    here = one._replace(forgotten_at=LATER)
    holder = memory("前进云", "work.company")
    found = decided([row(one)], here, holder, overwrite=True)
    assert [write.after.id for write in found.put_aside] == [holder.id]
    assert [write.after.id for write in found.replaced] == [one.id]


def test_seed_6_4_another_id_in_an_occupied_unique_slot() -> None:
    one, holder = memory("远光软件", "work.company"), memory("前进云", "work.company")
    kept = decided([row(one)], holder)
    assert kept.writes == ()
    assert kept.conflicts == (Conflict(1, "slot_conflict", one.id, {"slot": "work.company", "holder": holder.id}),)
    found = decided([row(one)], holder, overwrite=True)
    assert [write.is_put_aside for write in found.writes] == [True, False], "the slot is freed first"
    assert found.put_aside[0].after.forgotten_reason == restoring.PUT_ASIDE
    assert found.inserted == (one,)


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("state", [{"forgotten_at": PAST}, {"expires_at": PAST}])
def test_product_g11_a_forgotten_or_expired_memory_displaces_nothing(overwrite: bool, state: dict[str, str]) -> None:
    """It is put back as it was, beside the active one (fault 4); over its own active self it is not put back."""
    one, holder = memory("远光软件", "work.company"), memory("前进云", "work.company")
    found = decided([row(one, **state)], holder, overwrite=overwrite)
    assert found.inserted == (one._replace(**state),)
    assert found.put_aside == ()
    itself = decided([row(holder, **state)], holder, overwrite=overwrite)
    assert itself.writes == ()
    assert reasons(itself) == ["forgotten_in_file" if overwrite else "same_id_different_content"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_seed_3_5_of_two_active_memories_of_the_file_for_one_unique_slot_the_first_wins(overwrite: bool) -> None:
    first, second = memory("远光软件", "work.company"), memory("前进云", "work.company")
    found = decided([row(first), row(second)], overwrite=overwrite)
    assert found.inserted == (first,)
    assert reasons(found) == ["slot_conflict"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_one_id_twice_in_a_file_counts_once(overwrite: bool) -> None:
    one = memory("远光软件", "work.company")
    found = decided([row(one), row(one), row(one, content="前进云")], overwrite=overwrite)
    assert (found.inserted, found.skipped, reasons(found)) == ((one,), 1, ["same_id_different_content"])


@pytest.mark.parametrize("overwrite", [False, True])
def test_seed_6_4_slots_of_many_take_what_comes(overwrite: bool) -> None:
    """Also the same content from another id."""
    one, other = memory("Go", "work.tech_stack"), memory("Go", "work.tech_stack")
    assert decided([row(one)], other, overwrite=overwrite).inserted == (one,)


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("state", [{}, {"forgotten_at": PAST}])
def test_seed_6_4_no_import_gets_around_the_schema(overwrite: bool, state: dict[str, str]) -> None:
    """A slot that is not declared is a conflict, whether the memory is shown or not."""
    one = memory("华为", "work.employer")
    found = decided([row(one, **state)], overwrite=overwrite)
    assert found.writes == ()
    assert found.conflicts == (Conflict(1, "slot_not_in_schema", one.id, {"slot": "work.employer"}),)


GOOD = row(memory("随手记"))
INVALID: dict[str, tuple[Any, str]] = {
    "no object": ("x", "entry_not_object"),
    "null": (None, "entry_not_object"),
    "a list as content": (GOOD | {"content": ["a"]}, "entry_bad_field"),
    "no content": ({key: GOOD[key] for key in GOOD if key != "content"}, "entry_bad_field"),
    "blank content": (GOOD | {"content": " \u200b"}, "content_blank"),
    "no id": (GOOD | {"id": None}, "entry_bad_field"),
    "an id that is none": (GOOD | {"id": "../../x"}, "entry_bad_field"),
    "a sixth tier": (GOOD | {"confidence": "certain"}, "entry_bad_field"),
    "no tier": (GOOD | {"confidence": None}, "entry_bad_field"),
    "a number as tier": (GOOD | {"confidence": 1}, "entry_bad_field"),
    "a bad date": (GOOD | {"created_at": "2026-13-45"}, "entry_bad_field"),
    "a date out of range": (GOOD | {"expires_at": "0001-01-01T00:00:00+14:00"}, "entry_bad_field"),
    "a number as date": (GOOD | {"forgotten_at": 1}, "entry_bad_field"),
    "a day that never was": (GOOD | {"occurred_at": "2026-02-30"}, "entry_bad_field"),
    "a day in words": (GOOD | {"occurred_at": "last summer, I think"}, "entry_bad_field"),
    "a flag that is none": (GOOD | {"is_ai_inferred": "no"}, "entry_bad_field"),
    "a number beyond all": (GOOD | {"times_seen": 2**63}, "entry_bad_field"),
    "an unknown topic": (GOOD | {"topic": "job"}, "unknown_topic"),
    "a slot without topic": (GOOD | {"sub_topic": "company"}, "sub_topic_without_topic"),
    "text in a structured slot": (GOOD | {"topic": "work", "sub_topic": "experience"}, "content_not_json"),
    "a wrong time in it": (
        GOOD | {"topic": "work", "sub_topic": "experience", "content": '{"start": "soon"}'}, "content_bad_time",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", INVALID)
def test_fault_14_what_cannot_be_stored_is_listed_with_its_number_and_the_rest_is_taken(name: str) -> None:
    bad, code = INVALID[name]
    found = decided([bad, GOOD])
    assert [one.id for one in found.inserted] == [GOOD["id"]]
    (conflict,) = found.conflicts
    assert (conflict.number, conflict.reason, conflict.facts["code"]) == (1, "invalid_entry", code)


def test_what_the_original_left_out_is_filled_in_and_what_is_here_of_it_stays() -> None:
    """Twelve keys, an id without hyphens, empty names for none, other spellings of a moment."""
    one = memory("随手记", created_at=PAST, updated_at=PAST, valid_from=PAST, last_seen_at=PAST)
    dropped = {"valid_from", "valid_to", "occurred_at", "times_seen", "last_seen_at"}
    old = {key: value for key, value in row(one).items() if key not in dropped} | {
        "id": one.id.replace("-", "").upper(), "sub_topic": "", "created_at": "2026-01-01T08:00:00+08:00",
    }  # fmt: skip
    assert decided([old]).inserted == (one,)
    here = one._replace(valid_from=NOW, occurred_at="2025")
    assert decided([old], here).skipped == 1


@pytest.mark.parametrize("when", ["2025", "2025-07", "2025-07-31", "2025-07-31T08:00:00Z", None])
def test_product_b4_what_happened_keeps_its_precision(when: str | None) -> None:
    assert decided([GOOD | {"occurred_at": when}]).inserted[0].occurred_at == when


def test_a_file_says_what_it_is() -> None:
    for data in ([], "x", None, {}, {"memories": {}}, {"format": "mex-export", "version": 2}, {"version": 1}):
        with pytest.raises(InvalidInput) as refused:
            parse(data, "/e.json")
        assert refused.value.code == "not_an_export", data
    for version in (3, 0, "2", None, True, [2]):
        with pytest.raises(InvalidInput) as refused:
            parse({"version": version, "memories": []}, "/e.json")
        assert refused.value.code == "export_version"
    assert parse({"version": 1, "memories": [1]}, "/e.json")["memories"] == [1]
    assert set(parse({"format": "mex-export", "version": 2, "memories": []}, "x")) == {one.name for one in SECTIONS}


def test_states_in_history_keep_the_order_of_their_keys_and_are_checked() -> None:
    one = row(memory("随手记"))
    line = {
        "id": "h", "memory_id": one["id"], "event": "add", "actor": "user", "created_at": NOW,
        "after": dict(reversed(one.items())),
    }  # fmt: skip
    read = read_row(HISTORY, line)
    assert list(read["after"]) == list(reversed(one))
    assert read["before"] is None
    for wrong in ({"event": "vanish"}, {"after": "x"}, {"after": one | {"content": 1}}, {"actor": None}):
        with pytest.raises(InvalidInput):
            read_row(HISTORY, line | wrong)


def test_states_of_before_there_were_pins_are_those_of_what_is_not_pinned() -> None:
    old = {name: value for name, value in row(memory("随手记")).items() if name != "is_pinned"}
    line = {"id": "h", "memory_id": old["id"], "event": "update", "actor": "user", "created_at": NOW}
    read = read_row(HISTORY, line | {"before": old, "after": old | {"is_pinned": 1}})
    assert (read["before"], read["after"]) == (old | {"is_pinned": False}, old | {"is_pinned": True})
    with pytest.raises(InvalidInput):
        read_row(HISTORY, line | {"after": old | {"is_pinned": "yes"}})


def test_product_p6_a_memory_that_was_purged_comes_back_only_by_overwriting() -> None:
    """Forgotten ones too: their words would be here again."""
    gone = [memory("远光软件", "work.company"), memory("喝茶", forgotten_at=LATER)]
    rows, purged = [row(one) for one in gone], frozenset(one.id for one in gone)
    assert reasons(decided(rows, purged=purged)) == ["purged_here"] * 2
    assert decided(rows, purged=purged, overwrite=True).inserted == tuple(gone)


def line(event: str, before: str | None, after: str | None, owner: str = "m") -> dict[str, Any]:
    """A row of history; its states are no more than a content."""
    states = {"before": before and {"id": owner, "content": before}, "after": after and {"id": owner, "content": after}}
    return {"memory_id": "m", "event": event} | states


WHOLE = [line("add", None, "a"), line("update", "a", "b"), line("forget", "b", "c")]


@pytest.mark.parametrize(
    ("lines", "linked"),
    [
        (WHOLE, True),
        ([line("delete", None, None), line("import", None, "a"), line("update", "a", "b")], True),
        ([line("add", None, None), line("update", None, None)], True),
        ([line("update", None, None), line("add", None, None), line("update", "a", "b")], True),
        (WHOLE[1:], False),
        (WHOLE[:1] + WHOLE[2:], False),
        (WHOLE[::-1], False),
        ([line("import", "x", "a")], False),
        ([line("delete", None, None)], False),
        ([line("add", None, "a", owner="other")], False),
    ],
)
def test_product_b8_a_history_links_from_its_beginning(lines: list[dict[str, Any]], linked: bool) -> None:
    """Rows of older databases have no states and link to anything."""
    assert is_linked(lines) is linked

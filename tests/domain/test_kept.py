"""Which turns are kept, and the order they keep whatever is kept later (product B10)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mex_pipeline.domain.conversation import Turn
from mex_pipeline.domain.kept import chosen, placed

TALK = tuple(Turn(str(at), "assistant" if at % 2 else "user", f"turn {at}") for at in range(8))


@pytest.mark.parametrize(("mode", "kept"), [
    ("evidence", {"1", "2", "3", "6", "7"}),
    ("user", {"4", "6"}),
    ("all", {"4", "5", "6", "7"}),
    ("none", set()),
])  # fmt: skip
def test_product_b10_each_mode_keeps_its_turns(mode: str, kept: set[str]) -> None:
    """Evidence takes in turns that were read before, as context; the others only what is new."""
    new, evidence = {"4", "5", "6", "7"}, {"2", "7"}
    assert chosen(TALK, new, evidence, mode) == kept


@pytest.mark.parametrize(("evidence", "kept"), [({"0"}, {"0", "1"}), ({"7"}, {"6", "7"}), (set(), set())])
def test_product_b10_evidence_at_an_end_has_one_neighbour(evidence: set[str], kept: set[str]) -> None:
    assert chosen(TALK, {"0", "7"}, evidence, "evidence") == kept


def kept_after(rows: dict[str, int], keys: list[str]) -> dict[str, int]:
    """What the table holds after keeping the keys, as the statements of the store would change it."""
    known = {key: rows[key] for key in keys if key in rows}
    places = placed(keys, known, max(rows.values(), default=0))
    for position, number in places.moves:
        rows = {key: at + number if at >= position else at for key, at in rows.items()}
    assert not places.positions.keys() & rows.keys()
    return rows | places.positions


def test_turns_between_and_before_kept_ones_find_their_place() -> None:
    rows = kept_after({}, ["c", "f"])
    rows = kept_after(rows, ["a", "b", "c", "d", "e", "f", "g"])
    assert sorted(rows, key=rows.__getitem__) == list("abcdefg")


def test_what_is_read_on_goes_to_the_end_though_the_beginning_is_not_read_again() -> None:
    rows = kept_after({}, ["a", "b"])
    rows = kept_after(rows, ["x", "y"])
    assert sorted(rows, key=rows.__getitem__) == ["a", "b", "x", "y"]


def test_a_source_whose_order_has_changed_loses_no_turn_and_no_order_of_what_is_kept() -> None:
    rows = kept_after({}, ["a", "b", "c"])
    rows = kept_after(rows, ["c", "x", "a", "y", "b"])
    order = sorted(rows, key=rows.__getitem__)
    assert [key for key in order if key in "abc"] == ["a", "b", "c"]
    assert len(set(rows.values())) == len(rows) == 5


@given(st.lists(st.sets(st.integers(0, 30)), max_size=8))
def test_whatever_is_kept_when_the_order_is_that_of_the_source(batches: list[set[int]]) -> None:
    """Every reading of the whole source; which turns it keeps is any choice."""
    rows: dict[str, int] = {}
    for batch in batches:
        keys = [f"{number:02}" for number in sorted(batch | {int(key) for key in rows})]
        rows = kept_after(rows, keys)
        assert sorted(rows, key=rows.__getitem__) == sorted(rows)
        assert len(set(rows.values())) == len(rows)

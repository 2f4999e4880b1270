"""Statements with times of their own, in whatever order they arrive (seed 004 §3.5, product B5, B11)."""

from collections.abc import Iterable
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mex_pipeline.domain.candidate import Action, Candidate
from mex_pipeline.domain.memory import Confidence, Memory
from mex_pipeline.domain.text import normalised
from tests.support.reconciling import COMPANY, SCHEMA, SKILL, T, decide, heard, said

_moments = [f"2026-07-{day:02d}T00:00:00Z" for day in range(1, 29)]
_statement = st.tuples(
    st.sampled_from([COMPANY, "basic_info.name", SKILL, "family.members", "work", None]),
    st.sampled_from(["a", "b", "A ", "c", "猫"]),
    st.sampled_from(list(Action)),
    st.booleans(),
    st.sampled_from(["user", "assistant"]),
    st.sampled_from([None, "a", "b"]),
)


@st.composite
def _conversations(draw: st.DrawFn) -> list[Candidate]:
    """Statements with distinct moments and message keys, in a random order; uniques are never retired (§7.2)."""
    drawn = draw(st.lists(_statement, max_size=10))
    moments = draw(st.permutations(_moments))[: len(drawn)]
    made = []
    for moment, (slot, content, action, verified, role, replaces) in zip(moments, drawn, strict=True):
        found = SCHEMA.find(*slot.split(".")) if slot and "." in slot else None
        if action is Action.RETIRE and (found is None or found.unique):
            continue
        doubt = action is Action.UNCERTAIN_UPDATE
        made.append(
            heard(
                slot, content, action=action, replaces=replaces, is_ai_inferred=doubt,
                confidence=Confidence.UNCERTAIN if doubt else Confidence.EXPLICIT,
                source=said(moment, f"k{moment}", verified=verified, role=role),
            )
        )  # fmt: skip
    return made


def _arrive(batches: Iterable[Iterable[Candidate]]) -> list[Memory]:
    """Every row after the batches have been written one after the other."""
    rows: dict[str, Memory] = {}
    told: set[tuple[str, str]] = set()
    for batch in batches:
        alive = [row for row in rows.values() if row.forgotten_at is None]
        marks = [row for row in rows.values() if row.forgotten_at is not None and row.valid_to is not None]
        decided = decide(batch, *alive, retired=marks, told=told)
        for change in decided.changes:
            rows[change.after.id] = change.after
            assert change.source is not None
            told.add((change.source.message_key or "", normalised(change.after.content)))
    return list(rows.values())


def _alive(rows: Iterable[Memory]) -> list[tuple[Any, ...]]:
    shown = [(row.topic, row.sub_topic, row.content, row.confidence) for row in rows if row.forgotten_at is None]
    return sorted(shown, key=str)


@given(_conversations(), st.integers(1, 4))
def test_seed_3_5_a_unique_slot_never_ends_with_two_active_values(talk: list[Candidate], size: int) -> None:
    rows = _arrive(talk[at : at + size] for at in range(0, len(talk), size))
    for slot in (COMPANY, "basic_info.name"):
        assert sum(row.slot == tuple(slot.split(".")) for row in rows if row.forgotten_at is None) <= 1


@given(_conversations(), st.randoms())
def test_product_b11_the_order_inside_a_job_does_not_matter(talk: list[Candidate], random: Any) -> None:
    shuffled = list(talk)
    random.shuffle(shuffled)
    assert _alive(_arrive([shuffled])) == _alive(_arrive([talk]))


@given(_conversations())
def test_product_b5_the_same_messages_again_change_nothing(talk: list[Candidate]) -> None:
    once, twice = _arrive([talk]), _arrive([talk, talk])
    assert [row._replace(id="") for row in twice] == [row._replace(id="") for row in once]


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=5), st.data())
def test_product_b11_whatever_arrives_when_the_newest_statement_stands(values: list[str], data: st.DataObject) -> None:
    """Sessions are extracted in any order; the slot ends as if they had come in theirs."""
    talk = [heard(COMPANY, value, moment, f"k{moment}") for moment, value in zip(_moments, values, strict=False)]
    arrival = data.draw(st.permutations(talk))
    rows = _arrive([one] for one in arrival)
    assert [row.content for row in rows if row.forgotten_at is None] == [values[-1]]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_product_b11_a_value_given_up_between_two_statements_of_it_stays(order: tuple[int, ...]) -> None:
    """A retraction of what is not known yet leaves nothing (seed 004 §7.2), so one statement comes before it."""
    talk = [
        heard(SKILL, "Rust", T[3], "k3", action=Action.RETIRE),
        heard(SKILL, "Rust", T[5], "k5"),
        heard(SKILL, "Rust", T[2], "k2"),
    ]
    rows = _arrive([[heard(SKILL, "Rust", T[1], "k1")], *([talk[at]] for at in order)])
    assert [row.content for row in rows if row.forgotten_at is None] == ["Rust"]


@pytest.mark.parametrize("order", list(permutations(range(2))))
def test_product_b11_a_value_given_up_for_good_is_gone(order: tuple[int, ...]) -> None:
    talk = [heard(SKILL, "Rust", T[5], "k5", action=Action.RETIRE), heard(SKILL, "Rust", T[2], "k2")]
    rows = _arrive([[heard(SKILL, "Rust", T[1], "k1")], *([talk[at]] for at in order)])
    assert [row.content for row in rows if row.forgotten_at is None] == []

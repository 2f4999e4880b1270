"""Candidates against what is known: the rules of seed 004 §3.5, §6.1, §7.2 and product B5, B11, C6, case by case."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import count, permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mex_pipeline.domain.candidate import Action, Candidate
from mex_pipeline.domain.changes import Add, ChangeSet, Reinforce, Retire, Revise
from mex_pipeline.domain.memory import Confidence, Memory, Source
from mex_pipeline.domain.reconcile import RETIRED, SUPERSEDED, Snapshot, reconcile
from mex_pipeline.domain.text import normalised
from tests.domain.examples import NOW, memory, proposal, seed_schema

SCHEMA = seed_schema()
COMPANY, SKILL = "work.company", "work.tech_stack"
T = [f"2026-07-0{day}T12:00:00Z" for day in range(10)]
"""Moments in the past, each a day after the one before."""

_numbers = count(1)


def said(at: str | None, key: str | None = None, **changes: Any) -> Source:
    """The user's verified words at a moment."""
    values: dict[str, Any] = {"role": "user", "verified": True, "said_at": at, "message_key": key}
    return Source("claude", **(values | changes))


def heard(slot: str | None, content: str, at: str | None = T[5], key: str | None = None, **changes: Any) -> Candidate:
    """A candidate with the user's verified words behind it."""
    return proposal(slot, content, **({"source": said(at, key)} | changes))


def held(slot: str | None, content: str, at: str = T[5], **changes: Any) -> Memory:
    """A value that has been known since a moment."""
    values = {"valid_from": at, "last_seen_at": at, "confidence": Confidence.EXPLICIT} | changes
    return replace(memory(next(_numbers), slot, content), **values)


def decide(candidates: Iterable[Candidate], *active: Memory, retired: Iterable[Memory] = (), told=()) -> ChangeSet:
    snapshot = Snapshot(active, tuple(retired), frozenset(told))
    return reconcile(candidates, snapshot, SCHEMA, now=NOW, new_id=lambda: f"n{next(_numbers)}")


def kinds(decided: ChangeSet) -> list[type]:
    return [type(change) for change in decided.changes]


def reasons(decided: ChangeSet) -> list[str]:
    return [one.reason for one in decided.discarded]


def after(decided: ChangeSet, *active: Memory) -> list[Memory]:
    """The active memories once the changes are written."""
    rows = {one.id: one for one in active} | {change.after.id: change.after for change in decided.changes}
    return [one for one in rows.values() if one.forgotten_at is None]


def contents(decided: ChangeSet, *active: Memory) -> list[str]:
    return sorted(one.content for one in after(decided, *active))


def test_nothing_in_nothing_out() -> None:
    assert decide([]) == ChangeSet()
    assert not decide([]).writes_memories


def test_seed_6_1_a_new_memory_carries_everything_the_candidate_says() -> None:
    candidate = heard(
        COMPANY, "远光软件", T[3], is_ai_inferred=True, confidence=Confidence.INFERRED, evidence="e", occurred_at="2026-07",
    )  # fmt: skip
    decided = decide([candidate])
    (change,) = decided.changes
    assert isinstance(change, Add)
    assert change.source == candidate.source
    assert change.after == Memory(
        id=change.after.id, topic="work", sub_topic="company", content="远光软件", is_ai_inferred=True,
        confidence=Confidence.INFERRED, evidence="e", created_at=NOW, updated_at=NOW, valid_from=T[3], valid_to=None,
        occurred_at="2026-07", times_seen=1, last_seen_at=T[3],
    )  # fmt: skip
    assert change.after.is_active(NOW)
    assert decided.discarded == ()


def test_without_evidence_the_quote_stands_for_it() -> None:
    (change,) = decide([heard(COMPANY, "a", quote="在 a 上班")]).changes
    assert change.after.evidence == "在 a 上班"


@pytest.mark.parametrize("source", [None, said(None)])
def test_product_b11_text_without_a_time_counts_as_said_now(source: Source | None) -> None:
    (change,) = decide([heard(COMPANY, "a", source=source)]).changes
    assert change.after.valid_from == change.after.last_seen_at == NOW


def test_seed_6_1_a_unique_slot_takes_the_new_value_and_keeps_its_id() -> None:
    old = held(COMPANY, "远光软件", T[1], times_seen=4, expires_at="2027-01-01T00:00:00Z", occurred_at="2020")
    candidate = heard(COMPANY, "前进云计算", T[2], action=Action.UPDATE, evidence="e")
    decided = decide([candidate], old)
    assert decided.changes == (
        Revise(
            old,
            replace(
                old, content="前进云计算", evidence="e", updated_at=NOW, valid_from=T[2], last_seen_at=T[2],
                times_seen=1, expires_at=None, occurred_at=None,
            ),
            candidate.source,
        ),
    )  # fmt: skip


@pytest.mark.parametrize("action", [Action.NEW, Action.UPDATE])
def test_seed_6_1_in_a_unique_slot_new_and_update_come_to_the_same(action: Action) -> None:
    assert kinds(decide([heard(COMPANY, "a", T[1], action=action)])) == [Add]
    old = held(COMPANY, "b", T[0])
    assert contents(decide([heard(COMPANY, "a", T[1], action=action)], old), old) == ["a"]


def test_seed_6_1_an_update_keeps_the_tier_and_an_uncertain_one_its_doubt() -> None:
    old = held(COMPANY, "b", T[0])
    (sure,) = decide([heard(COMPANY, "a", T[1], action=Action.UPDATE, confidence=Confidence.INFERRED)], old).changes
    assert sure.after.confidence is Confidence.INFERRED
    doubt = heard(
        COMPANY, "a", T[1], action=Action.UNCERTAIN_UPDATE, confidence=Confidence.UNCERTAIN, is_ai_inferred=True
    )
    (unsure,) = decide([doubt], old).changes
    assert isinstance(unsure, Revise)
    assert (unsure.after.confidence, unsure.after.is_ai_inferred) == (Confidence.UNCERTAIN, True)


def test_seed_3_5_a_many_slot_grows_and_replaces_nothing() -> None:
    rust, go = held(SKILL, "Rust"), held(SKILL, "Go")
    decided = decide([heard(SKILL, "Zig"), heard(SKILL, "C", action=Action.UPDATE)], rust, go)
    assert kinds(decided) == [Add, Add]
    assert contents(decided, rust, go) == ["C", "Go", "Rust", "Zig"]


def test_seed_3_5_records_always_append() -> None:
    known = held("work", "下周复盘"), held(None, "下周复盘")
    decided = decide([heard("work", "下周复盘"), heard(None, "下周复盘"), heard(None, "下周复盘")], *known)
    assert kinds(decided) == [Add, Add, Add]


@pytest.mark.parametrize("slot", [COMPANY, SKILL])
def test_product_b5_a_repeated_value_is_counted_and_makes_no_row(slot: str) -> None:
    old = held(slot, "Rust", T[1], times_seen=2, evidence="first")
    again = heard(slot, " ｒｕｓｔ。", T[3], evidence="second")
    decided = decide([again], old)
    assert decided.changes == (Reinforce(old, replace(old, times_seen=3, last_seen_at=T[3]), again.source),)
    assert [(one.content, one.reason) for one in decided.discarded] == [(" ｒｕｓｔ。", "reinforced")]


def test_product_b5_an_older_repeat_does_not_set_the_last_time_back() -> None:
    old = held(SKILL, "Rust", T[5])
    (change,) = decide([heard(SKILL, "Rust", T[1])], old).changes
    assert (change.after.last_seen_at, change.after.valid_from, change.after.times_seen) == (T[5], T[5], 2)


@pytest.mark.parametrize(
    ("before", "raised"),
    [
        (Confidence.UNCERTAIN, Confidence.EXPLICIT),
        (Confidence.SPECULATED, Confidence.EXPLICIT),
        (Confidence.INFERRED, Confidence.EXPLICIT),
        (Confidence.EXPLICIT, Confidence.EXPLICIT),
        (Confidence.CONFIRMED, Confidence.CONFIRMED),
    ],
)
def test_product_b5_the_users_verified_words_raise_a_value_to_explicit(before: Confidence, raised: Confidence) -> None:
    old = held(SKILL, "Rust", confidence=before, is_ai_inferred=before.weight < 0.9)
    (change,) = decide([heard(SKILL, "Rust")], old).changes
    assert (change.after.confidence, change.after.is_ai_inferred) == (raised, False)
    assert change.after.updated_at == (NOW if before is not raised else old.updated_at)


@pytest.mark.parametrize(
    "changes",
    [
        {"source": said(T[5], verified=False)},
        {"source": said(T[5], role="assistant")},
        {"source": None},
        {"is_ai_inferred": True},
    ],
)
def test_product_b5_anything_weaker_raises_nothing(changes: dict[str, Any]) -> None:
    old = held(SKILL, "Rust", confidence=Confidence.SPECULATED, is_ai_inferred=True)
    (change,) = decide([heard(SKILL, "Rust", **changes)], old).changes
    assert (change.after.confidence, change.after.is_ai_inferred) == (Confidence.SPECULATED, True)
    assert change.after.times_seen == 2


@pytest.mark.parametrize(
    ("left", "right"),
    [("C", "C++"), ("C", "C#"), ("3", "3%"), ("远光软件", "远光"), ("Anna", "Ann")],
)
def test_product_b5_different_values_are_not_taken_for_repeats(left: str, right: str) -> None:
    known = held(SKILL, left)
    assert contents(decide([heard(SKILL, right)], known), known) == sorted([left, right])


def test_product_b5_a_message_that_is_read_again_yields_nothing_again() -> None:
    told = {("k1", normalised("Rust")), ("k1", normalised("随手记"))}
    decided = decide([heard(SKILL, "Rust ", key="k1"), heard(None, "随手记", key="k1")], told=told)
    assert decided.changes == ()
    assert reasons(decided) == ["already_extracted", "already_extracted"]


def test_product_b5_another_message_or_another_value_is_not_held_back() -> None:
    told = {("k1", normalised("Rust"))}
    decided = decide([heard(SKILL, "Rust", key="k2"), heard(SKILL, "Go", key="k1"), heard(SKILL, "Zig")], told=told)
    assert kinds(decided) == [Add, Add, Add]


def test_seed_7_2_a_retired_value_is_forgotten_with_its_reason_and_date() -> None:
    rust, go = held(SKILL, "Rust", T[1]), held(SKILL, "Go", T[1])
    candidate = heard(SKILL, "rust。", T[4], action=Action.RETIRE)
    decided = decide([candidate], rust, go)
    gone = replace(rust, updated_at=NOW, valid_to=T[4], forgotten_at=NOW, forgotten_reason=RETIRED)
    assert decided.changes == (Retire(rust, gone, candidate.source),)
    assert contents(decided, rust, go) == ["Go"]
    assert decided.discarded == ()


@pytest.mark.parametrize("content", ["Ruby", "Rust 语言", ""])
def test_seed_7_2_retire_takes_nothing_but_the_same_value(content: str) -> None:
    rust = held(SKILL, "Rust", T[1])
    decided = decide([heard(SKILL, content, action=Action.RETIRE)], rust)
    assert (decided.changes, reasons(decided)) == ((), ["retire_no_match"])


def test_seed_7_2_retire_touches_no_other_slot() -> None:
    elsewhere = held("family.members", "Rust", T[1])
    decided = decide([heard(SKILL, "Rust", action=Action.RETIRE)], elsewhere)
    assert (decided.changes, reasons(decided)) == ((), ["retire_no_match"])


def test_product_b11_a_value_that_was_said_after_its_retraction_stays() -> None:
    rust = held(SKILL, "Rust", T[5])
    decided = decide([heard(SKILL, "Rust", T[3], action=Action.RETIRE)], rust)
    assert (decided.changes, reasons(decided)) == ((), ["older_statement"])


def test_product_b11_a_value_that_was_said_again_after_its_retraction_stays() -> None:
    rust = held(SKILL, "Rust", T[1], last_seen_at=T[5], times_seen=2)
    decided = decide([heard(SKILL, "Rust", T[3], action=Action.RETIRE)], rust)
    assert (decided.changes, reasons(decided)) == ((), ["older_statement"])


def test_product_b11_an_older_statement_fills_history_and_replaces_nothing() -> None:
    new = held(COMPANY, "前进云计算", T[5])
    late = heard(COMPANY, "远光软件", T[2])
    decided = decide([late], new)
    (change,) = decided.changes
    assert isinstance(change, Add)
    past = change.after
    assert (past.content, past.valid_from, past.valid_to) == ("远光软件", T[2], T[5])
    assert (past.forgotten_at, past.forgotten_reason) == (NOW, SUPERSEDED)
    assert contents(decided, new) == ["前进云计算"]
    assert reasons(decided) == ["older_statement"]


def test_product_b11_a_statement_between_two_of_the_present_value_replaces_nothing() -> None:
    present = held(COMPANY, "前进云计算", T[1], last_seen_at=T[6], times_seen=2)
    decided = decide([heard(COMPANY, "远光软件", T[3])], present)
    assert contents(decided, present) == ["前进云计算"]
    (past,) = [change.after for change in decided.changes]
    assert (past.valid_from, past.valid_to, past.forgotten_reason) == (T[3], T[6], SUPERSEDED)


def test_product_b11_a_doubtful_old_statement_is_not_even_filed() -> None:
    new = held(COMPANY, "前进云计算", T[5])
    late = heard(COMPANY, "远光软件", T[2], action=Action.UNCERTAIN_UPDATE, confidence=Confidence.UNCERTAIN)
    decided = decide([late], new)
    assert (decided.changes, reasons(decided)) == ((), ["older_statement"])


def test_product_b11_at_the_same_moment_the_later_word_counts() -> None:
    old = held(COMPANY, "a", T[2])
    assert contents(decide([heard(COMPANY, "b", T[2]), heard(COMPANY, "c", T[2])], old), old) == ["c"]


def test_product_b11_a_value_that_was_taken_back_later_does_not_come_in() -> None:
    mark = held(SKILL, "Rust", T[1], forgotten_at=NOW, valid_to=T[4])
    decided = decide([heard(SKILL, "rust", T[3])], retired=[mark])
    assert (decided.changes, reasons(decided)) == ((), ["retracted_later"])


def test_product_b11_a_value_said_after_its_retraction_comes_in_anew() -> None:
    mark = held(SKILL, "Rust", T[1], forgotten_at=NOW, valid_to=T[4])
    elsewhere = held("family.members", "Go", T[1], forgotten_at=NOW, valid_to=T[9])
    decided = decide([heard(SKILL, "Rust", T[5]), heard(SKILL, "Go", T[5])], retired=[mark, elsewhere])
    assert contents(decided) == ["Go", "Rust"]


@pytest.mark.parametrize("target", ["Rust", "rust。", "#3fa9c2", "#3FA9"])
def test_product_c11_a_many_value_takes_the_place_of_the_one_it_names(target: str) -> None:
    rust, go = replace(held(SKILL, "Rust", T[1]), id="3fa9c2d0-1"), held(SKILL, "Go", T[1])
    decided = decide([heard(SKILL, "Rust 2024", T[2], replaces=target)], rust, go)
    (change,) = decided.changes
    assert isinstance(change, Revise)
    assert (change.before, change.after.id, change.after.content) == (rust, rust.id, "Rust 2024")
    assert contents(decided, rust, go) == ["Go", "Rust 2024"]


@pytest.mark.parametrize("target", ["Ruby", "#000000", "#3f", "#", "#3fa9c2", ""])
def test_product_c11_a_name_that_fits_none_or_several_replaces_nothing(target: str) -> None:
    known = [replace(held(SKILL, name, T[1]), id=f"3fa9c2d0-{name}") for name in ("Rust", "Go")]
    decided = decide([heard(SKILL, "Zig", T[2], replaces=target)], *known)
    assert contents(decided, *known) == ["Go", "Rust", "Zig"]


def test_product_c11_a_value_of_another_slot_cannot_be_named() -> None:
    elsewhere = held("family.members", "Rust", T[1])
    decided = decide([heard(SKILL, "Go", T[2], replaces="Rust")], elsewhere)
    assert contents(decided, elsewhere) == ["Go", "Rust"]


@pytest.mark.parametrize("last_seen_at", [T[5], T[1]])
def test_product_b11_an_older_statement_replaces_no_newer_value_of_a_many_slot(last_seen_at: str) -> None:
    """Newer by its first statement, or by its last."""
    known = held(SKILL, "Rust", T[5] if last_seen_at == T[1] else T[1], last_seen_at=T[5])
    decided = decide([heard(SKILL, "Go", T[3], replaces="Rust")], known)
    assert contents(decided, known) == ["Go", "Rust"]


WEAK = [
    {"source": said(T[5], verified=False)},
    {"source": said(T[5], role="assistant")},
    {"source": None},
]


@pytest.mark.parametrize("changes", WEAK)
@pytest.mark.parametrize(("slot", "replaces"), [(COMPANY, None), (SKILL, "old")])
def test_product_c6_over_a_confirmed_value_anything_weaker_is_a_doubt(
    slot: str, replaces: str | None, changes: dict[str, Any]
) -> None:
    known = held(slot, "old", T[1], confidence=Confidence.CONFIRMED)
    (change,) = decide([heard(slot, "new", replaces=replaces, **changes)], known).changes
    assert isinstance(change, Revise)
    assert (change.after.confidence, change.after.is_ai_inferred) == (Confidence.UNCERTAIN, True)


@pytest.mark.parametrize(("slot", "replaces"), [(COMPANY, None), (SKILL, "old")])
def test_product_c6_the_users_verified_words_replace_a_confirmed_value(slot: str, replaces: str | None) -> None:
    known = held(slot, "old", T[1], confidence=Confidence.CONFIRMED)
    (change,) = decide([heard(slot, "new", replaces=replaces)], known).changes
    assert (change.after.content, change.after.confidence) == ("new", Confidence.EXPLICIT)
    assert change.after.is_ai_inferred is False


@pytest.mark.parametrize("changes", WEAK)
def test_product_c6_what_nobody_confirmed_is_replaced_as_said(changes: dict[str, Any]) -> None:
    known = held(COMPANY, "old", T[1])
    (change,) = decide([heard(COMPANY, "new", **changes)], known).changes
    assert (change.after.content, change.after.confidence) == ("new", Confidence.EXPLICIT)


def test_product_c6_an_old_weak_statement_does_not_touch_a_confirmed_value() -> None:
    known = held(COMPANY, "old", T[5], confidence=Confidence.CONFIRMED)
    decided = decide([heard(COMPANY, "new", T[1], source=said(T[1], verified=False))], known)
    assert contents(decided, known) == ["old"]


def test_product_c3_candidates_of_one_job_see_each_other() -> None:
    decided = decide(
        [heard(COMPANY, "c", T[3]), heard(COMPANY, "a", T[1]), heard(COMPANY, "b", T[2]), heard(COMPANY, "c", T[4])]
    )
    assert kinds(decided) == [Add, Revise, Revise, Reinforce]
    assert contents(decided) == ["c"]
    first, second, third, last = decided.changes
    assert {change.after.id for change in decided.changes} == {first.after.id}
    assert isinstance(last, Reinforce)
    assert (second.before, third.before, last.before) == (first.after, second.after, third.after)


def test_product_c3_a_value_may_be_learned_and_given_up_in_one_job() -> None:
    decided = decide([heard(SKILL, "Rust", T[3], action=Action.RETIRE), heard(SKILL, "Rust", T[1])])
    assert kinds(decided) == [Add, Retire]
    assert contents(decided) == []


def test_seed_3_5_structured_values_repeat_by_their_content() -> None:
    value = '{"start": "2019", "end": "2023", "company": "星辰软件"}'
    known = held("work.experience", value)
    assert kinds(decide([heard("work.experience", value)], known)) == [Reinforce]
    other = value.replace("2023", "2024")
    assert kinds(decide([heard("work.experience", other)], known)) == [Add]


def test_a_unique_slot_that_holds_several_from_of_old_changes_the_newest() -> None:
    """product H14: several values may have come from an older database; none is lost unasked."""
    first, second = held(COMPANY, "a", T[1]), held(COMPANY, "b", T[2])
    decided = decide([heard(COMPANY, "c", T[3])], first, second)
    assert contents(decided, first, second) == ["a", "c"]


# Properties: statements with times of their own, in whatever order they arrive.

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
    assert [replace(row, id="") for row in twice] == [replace(row, id="") for row in once]


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

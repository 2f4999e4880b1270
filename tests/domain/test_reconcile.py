"""Candidates against what is known: the rules of seed 004 §3.5, §6.1, §7.2 and product B5, C3, C11, case by case."""

from typing import Any

import pytest

from mex_pipeline.domain.candidate import Action
from mex_pipeline.domain.changes import Add, ChangeSet, Reinforce, Retire, Revise
from mex_pipeline.domain.memory import Confidence, Memory
from mex_pipeline.domain.reconcile import RETIRED
from mex_pipeline.domain.text import normalised
from tests.domain.examples import NOW
from tests.support.reconciling import COMPANY, SKILL, T, contents, decide, heard, held, kinds, reasons, said


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


def test_seed_6_1_a_unique_slot_takes_the_new_value_and_keeps_its_id() -> None:
    old = held(COMPANY, "远光软件", T[1], times_seen=4, expires_at="2027-01-01T00:00:00Z", occurred_at="2020")
    candidate = heard(COMPANY, "前进云计算", T[2], action=Action.UPDATE, evidence="e")
    decided = decide([candidate], old)
    assert decided.changes == (
        Revise(
            old,
            old._replace(content="前进云计算", evidence="e", updated_at=NOW, valid_from=T[2], last_seen_at=T[2],
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
    assert decided.changes == (Reinforce(old, old._replace(times_seen=3, last_seen_at=T[3]), again.source),)
    assert [(one.content, one.reason) for one in decided.discarded] == [(" ｒｕｓｔ。", "reinforced")]


@pytest.mark.parametrize(("slot", "since"), [(SKILL, T[1]), (COMPANY, T[5])])
def test_product_b5_an_older_repeat_does_not_set_the_last_time_back(slot: str, since: str) -> None:
    """One of many has held since then; in a slot of one another value may have stood between."""
    old = held(slot, "Rust", T[5])
    (change,) = decide([heard(slot, "Rust", T[1])], old).changes
    assert (change.after.last_seen_at, change.after.valid_from, change.after.times_seen) == (T[5], since, 2)


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
    gone = rust._replace(updated_at=NOW, valid_to=T[4], forgotten_at=NOW, forgotten_reason=RETIRED)
    assert decided.changes == (Retire(rust, gone, candidate.source),)
    assert contents(decided, rust, go) == ["Go"]
    assert decided.discarded == ()


@pytest.mark.parametrize("content", ["Ruby", "Rust 语言", ""])
def test_seed_7_2_retire_takes_nothing_but_the_same_value(content: str) -> None:
    rust = held(SKILL, "Rust", T[1])
    decided = decide([heard(SKILL, content, action=Action.RETIRE)], rust)
    assert (contents(decided, rust), reasons(decided)) == (["Rust"], ["retire_no_match"])
    assert not decided.writes_memories


def test_b11_a_retraction_of_what_is_not_known_yet_leaves_a_dated_mark() -> None:
    """An older session that asserts it later finds the mark; a doubtful retraction leaves none."""
    retired = decide([heard(SKILL, "Perl", T[5], action=Action.RETIRE)])
    (mark,) = [change.after for change in retired.changes]
    assert (mark.forgotten_reason, mark.valid_to) == (RETIRED, T[5])
    assert reasons(decide([heard(SKILL, "Perl", T[4])], retired=[mark])) == ["retracted_later"]
    assert contents(decide([heard(SKILL, "Perl", T[6])], retired=[mark])) == ["Perl"]
    doubtful = heard(SKILL, "Perl", action=Action.RETIRE, is_ai_inferred=True)
    assert decide([doubtful]).changes == ()


def test_c6_what_a_person_confirmed_is_retired_only_by_their_plain_words() -> None:
    """A model that proposes it without proof changes nothing (product P7)."""
    confirmed = held(SKILL, "Rust", T[1], confidence=Confidence.CONFIRMED)
    unproven = heard(SKILL, "Rust", action=Action.RETIRE, source=said(T[5], verified=False))
    assert reasons(decide([unproven], confirmed)) == ["retire_unverified"]
    assert kinds(decide([heard(SKILL, "Rust", action=Action.RETIRE)], confirmed)) == [Retire]


def test_seed_7_2_retire_touches_no_other_slot() -> None:
    elsewhere = held("family.members", "Rust", T[1])
    decided = decide([heard(SKILL, "Rust", action=Action.RETIRE)], elsewhere)
    assert (contents(decided, elsewhere), reasons(decided)) == (["Rust"], ["retire_no_match"])


@pytest.mark.parametrize("target", ["Rust", "rust。", "#3fa9c2", "#3FA9"])
def test_product_c11_a_many_value_takes_the_place_of_the_one_it_names(target: str) -> None:
    rust, go = held(SKILL, "Rust", T[1])._replace(id="3fa9c2d0-1"), held(SKILL, "Go", T[1])
    decided = decide([heard(SKILL, "Rust 2024", T[2], replaces=target)], rust, go)
    (change,) = decided.changes
    assert isinstance(change, Revise)
    assert (change.before, change.after.id, change.after.content) == (rust, rust.id, "Rust 2024")
    assert contents(decided, rust, go) == ["Go", "Rust 2024"]


@pytest.mark.parametrize("target", ["Ruby", "#000000", "#3f", "#", "#3fa9c2", ""])
def test_product_c11_a_name_that_fits_none_or_several_replaces_nothing(target: str) -> None:
    known = [held(SKILL, name, T[1])._replace(id=f"3fa9c2d0-{name}") for name in ("Rust", "Go")]
    decided = decide([heard(SKILL, "Zig", T[2], replaces=target)], *known)
    assert contents(decided, *known) == ["Go", "Rust", "Zig"]


def test_product_c11_a_value_of_another_slot_cannot_be_named() -> None:
    elsewhere = held("family.members", "Rust", T[1])
    decided = decide([heard(SKILL, "Go", T[2], replaces="Rust")], elsewhere)
    assert contents(decided, elsewhere) == ["Go", "Rust"]


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


def test_of_several_values_said_in_one_job_the_earlier_ones_are_named() -> None:
    """They stand in history only, so the result has to tell of them; a value that was known before is its `updated`."""
    decided = decide([heard(COMPANY, "a", T[1]), heard(COMPANY, "b", T[2])])
    assert [(one.content, one.reason, one.facts) for one in decided.discarded] == [("a", "superseded", {"by": "b"})]
    known = held(COMPANY, "z", T[0])
    assert reasons(decide([heard(COMPANY, "a", T[1])], known)) == []


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


def test_b5_a_repeat_that_is_only_a_maybe_raises_nothing() -> None:
    """Seed 004 §3.3: "I might be …", said twice, is still a maybe."""
    before = held(COMPANY, "远光", confidence=Confidence.SPECULATED, is_ai_inferred=True)
    (change,) = decide([heard(COMPANY, "远光", confidence=Confidence.SPECULATED)], before).changes
    assert (change.after.confidence, change.after.times_seen) == (Confidence.SPECULATED, 2)

"""What was said when, and what was confirmed: older statements, retractions and doubts (product B11, C6)."""

from typing import Any

import pytest

from mex_pipeline.domain.candidate import Action
from mex_pipeline.domain.changes import Add, Revise
from mex_pipeline.domain.memory import Confidence, Source
from mex_pipeline.domain.reconcile import SUPERSEDED
from tests.domain.examples import NOW
from tests.support.reconciling import COMPANY, SKILL, T, contents, decide, heard, held, reasons, said


@pytest.mark.parametrize("source", [None, said(None)])
def test_product_b11_text_without_a_time_counts_as_said_now(source: Source | None) -> None:
    (change,) = decide([heard(COMPANY, "a", source=source)]).changes
    assert change.after.valid_from == change.after.last_seen_at == NOW


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


@pytest.mark.parametrize("last_seen_at", [T[5], T[1]])
def test_product_b11_an_older_statement_replaces_no_newer_value_of_a_many_slot(last_seen_at: str) -> None:
    """Newer by its first statement, or by its last."""
    known = held(SKILL, "Rust", T[5] if last_seen_at == T[1] else T[1], last_seen_at=T[5])
    decided = decide([heard(SKILL, "Go", T[3], replaces="Rust")], known)
    assert contents(decided, known) == ["Go", "Rust"]


def test_product_b11_a_value_that_was_replaced_before_it_was_known_does_not_come_in() -> None:
    """The newer session is read first: it names what it replaces."""
    newer = decide([heard(SKILL, "Go", T[5], replaces="Rust")])
    mark, active = sorted((change.after for change in newer.changes), key=lambda one: one.forgotten_at is None)
    assert (mark.content, mark.valid_to, active.content) == ("Rust", T[5], "Go")
    older = decide([heard(SKILL, "Rust", T[3])], active, retired=[mark])
    assert (older.changes, reasons(older)) == ((), ["retracted_later"])


def test_product_b11_an_older_repeat_after_a_retraction_holds_since_it_was_said_anew() -> None:
    mark = held(SKILL, "Rust", T[1], forgotten_at=NOW, valid_to=T[4])
    known = held(SKILL, "Rust", T[6])
    (change,) = decide([heard(SKILL, "Rust", T[3])], known, retired=[mark]).changes
    assert change.after.valid_from == T[6]


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

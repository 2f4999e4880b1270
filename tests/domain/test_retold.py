"""A message that is read anew: what it says again is known, what it says besides is new (product B5, B10)."""

import pytest

from mex_pipeline.domain.candidate import Action, Candidate
from mex_pipeline.domain.memory import Source
from mex_pipeline.domain.retold import is_retold
from mex_pipeline.domain.said import Said

HOBBIES = ("leisure", "hobbies")


def candidate(
    content: str, *, key: str | None = "k", span: tuple[int, int] | None = (0, 10), **changes: object
) -> Candidate:
    source = Source("claude", message_key=key, quote_start=span and span[0], quote_end=span and span[1])
    return Candidate(content, *HOBBIES, source=source, **changes)  # type: ignore[arg-type]


def said(
    content: str, *, key: str | None = "k", span: tuple[int, int] = (0, 10), holds: bool = True, retired: bool = False
) -> Said:
    return Said(key, *span, frozenset({HOBBIES}), content, holds, retired)


@pytest.mark.parametrize(("again", "before", "known"), [
    ("下象棋", "下象棋", True),
    ("喜欢下象棋", "下象棋", True),
    ("平时喜欢下下象棋", "喜欢下象棋", True),
    ("喜欢下围棋", "喜欢下象棋", False),
    ("chess", "Chess!", True),
    ("plays chess at weekends", "chess at weekends", True),
    ("go", "chess", False),
    ('{"company": "星辰软件"}', "星辰软件", True),
])  # fmt: skip
def test_product_b5_the_same_words_in_another_wording_are_known(again: str, before: str, known: bool) -> None:
    for holds in (True, False):
        assert is_retold(candidate(again), [said(before, holds=holds)], is_unique=False) is known


def test_other_words_of_the_message_and_other_messages_say_something_new() -> None:
    before = [said("下象棋", span=(0, 5))]
    assert not is_retold(candidate("喜欢下象棋", span=(20, 30)), before, is_unique=False)
    assert not is_retold(candidate("下象棋", key="other"), before, is_unique=False)
    assert not is_retold(candidate("下象棋"), [], is_unique=False)


def test_words_whose_place_is_unknown_may_be_the_same() -> None:
    assert is_retold(candidate("喜欢下象棋", span=None), [said("下象棋")], is_unique=False)
    assert is_retold(candidate("喜欢下象棋", key=None, span=None), [said("下象棋", key=None)], is_unique=False)


def test_in_a_slot_of_one_value_what_was_forgotten_stays_so_in_any_wording() -> None:
    assert is_retold(candidate("上海"), [said("浦东新区", holds=False)], is_unique=True)
    assert not is_retold(candidate("上海浦东"), [said("浦东", holds=True)], is_unique=True), (
        "better words for what holds"
    )


def test_a_retraction_is_known_by_a_retraction_alone() -> None:
    retire = candidate("下象棋", action=Action.RETIRE)
    assert is_retold(retire, [said("下象棋", retired=True)], is_unique=False)
    assert not is_retold(retire, [said("下象棋")], is_unique=False)
    assert not is_retold(candidate("下象棋"), [said("下象棋", retired=True)], is_unique=False)


def test_another_slot_is_another_fact() -> None:
    other = Candidate("下象棋", "goals", "long_term", source=candidate("x").source)
    assert not is_retold(other, [said("下象棋")], is_unique=False)

"""In which order kept turns are shown: the words in and around them, their session, who speaks (docs/search.md)."""

from collections.abc import Mapping, Set

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mex_pipeline.domain.turn_ranking import (
    MOST_RANKED,
    Place,
    foremost,
    is_han,
    ranked,
    rarity,
    speaker,
)

ONE, OTHER = ("claude", "s1"), ("claude", "s2")
TURNS = 100


def talk(*heads: str, session: tuple[str, str] = ONE, first: int = 1) -> list[Place]:
    """Turns of a session one after the other, the first with the row `first`."""
    return [Place(first + at, session, at + 1, head) for at, head in enumerate(heads)]


def order(held: Mapping[str, Set[int]], places: list[Place], question: str = "") -> list[int]:
    return [seq for seq, _ in ranked(held, TURNS, places, question)]


def test_a_turn_with_more_of_the_words_comes_first() -> None:
    places = talk("a", session=ONE) + talk("b", session=OTHER, first=9)
    assert order({"tea": {1, 9}, "green": {1}}, places) == [1, 9]


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    places = talk("a", session=ONE) + talk("b", session=OTHER, first=9)
    assert order({"rare": {1}, "common": {9, *range(20, 60)}}, places) == [1, 9]
    assert rarity(1, TURNS) > rarity(50, TURNS) > rarity(TURNS, TURNS) >= 0


def test_of_equal_turns_the_newest_comes_first() -> None:
    places = talk("a", session=ONE) + talk("b", session=OTHER, first=9)
    assert order({"tea": {1, 9}}, places) == [9, 1]


def test_a_turn_beside_the_words_is_found_behind_those_that_hold_them_the_nearest_first() -> None:
    """What answers a question often has none of its words."""
    assert order({"tea": {3}}, talk(*"abcdef")) == [3, 4, 2, 5, 1]


def test_words_that_are_spread_over_neighbours_add_up() -> None:
    places = talk(*"abc", session=ONE) + talk("d", session=OTHER, first=9)
    assert order({"tea": {1, 9}, "green": {3}}, places)[0] in (1, 3)
    (_, score), *_ = ranked({"tea": {1, 9}, "green": {3}}, TURNS, places, "")
    assert score.beside > 0


def test_turns_of_another_session_are_not_beside_it() -> None:
    places = talk("a", session=ONE) + talk("b", session=OTHER, first=2)
    assert order({"tea": {1}}, places) == [1]


def test_of_two_turns_with_the_same_word_that_of_the_session_with_more_of_the_question_wins() -> None:
    places = talk("a", "-", "-", "-", "b", session=ONE) + talk("c", session=OTHER, first=9)
    found = ranked({"tea": {1, 9}, "green": {5}}, TURNS, places, "")
    scores = dict(found)
    assert scores[1].total > scores[9].total
    assert scores[1].session == 1.5


def test_a_turn_that_is_not_meant_counts_for_its_neighbours_but_is_not_found() -> None:
    hidden = Place(1, ONE, 1, "a", is_meant=False)
    assert order({"tea": {1}}, [hidden, Place(2, ONE, 2, "b")]) == [2]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What tea does Caroline drink?", 1),
        ("What tea does Melanie drink?", 9),
        ("What do Caroline and Melanie drink?", 9),
        ("What is drunk by carolines?", 9),
        ("陈晓喝什么茶", 5),
    ],
)
def test_who_is_named_in_the_question_is_heard_first_unless_several_are(question: str, first: int) -> None:
    heads = {1: "Caroline: green tea", 5: "陈晓：绿茶", 9: "**Melanie**: black tea"}
    places = [Place(seq, ("claude", str(seq)), 1, head) for seq, head in heads.items()]
    assert order({"tea": {1, 5, 9}}, places, question)[0] == first


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("Caroline: hi", "caroline"),
        ("陈晓：你好", "陈晓"),
        ("[Ana María] : hola", "ana maria"),
        ("10:30 we met", None),
        ("no name here", None),
        ("two\nlines: here", None),
        ("", None),
    ],
)
def test_a_name_and_a_colon_say_who_speaks(head: str, name: str | None) -> None:
    assert speaker(head) == name


def test_a_score_is_made_of_the_parts_it_tells() -> None:
    ((_, score),) = ranked({"tea": {1}, "green": {2}}, TURNS, talk("a"), "")
    assert score.total == round((score.words + score.beside) * score.session * score.speaker, 4)
    assert score.to_plain() == {
        "words": round(score.words, 4), "beside": 0.0, "session": 1.5, "speaker": 1.0, "held": ["tea"],
    }  # fmt: skip


def test_no_more_rows_are_looked_at_closer_than_are_ranked_and_they_are_the_best() -> None:
    rows = foremost({"common": set(range(1, 2000)), "rare": {7}}, 5000)
    assert len(rows) == MOST_RANKED
    assert rows[:2] == [7, 1999]


@pytest.mark.parametrize(
    ("word", "is_so"), [("猫", True), ("芒果过敏", True), ("猫cat", False), ("かな", False), ("", False)]
)
def test_chinese_characters_alone_are_all_in_the_index(word: str, is_so: bool) -> None:
    assert is_han(word) is is_so


ROWS = st.sets(st.integers(1, 12), max_size=6)


@given(st.dictionaries(st.sampled_from(["tea", "绿茶", "x"]), ROWS, max_size=3), st.integers(1, 11))
def test_every_turn_that_holds_a_word_is_found_once(held: dict[str, set[int]], cut: int) -> None:
    places = talk(*"a" * cut) + talk(*"b" * (12 - cut), session=OTHER, first=cut + 1)
    found = order(held, places)
    assert len(found) == len(set(found))
    assert set(found) >= set().union(*held.values())

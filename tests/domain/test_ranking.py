"""The order of hits: one score of parts that can be told, the same all day (docs/search.md)."""

from datetime import date, timedelta
from typing import Any

import pytest

from mex_pipeline.domain.folding import sought
from mex_pipeline.domain.memory import Confidence
from mex_pipeline.domain.ranking import HALF_LIFE, MOST_POSTINGS, By, Candidate, ranked, rarest, told

TODAY = date(2026, 8, 6)


def candidate(content: str, seq: int = 1, **changes: Any) -> Candidate:
    made = Candidate(
        seq=seq, sought=sought(content), size=len(content.encode()), confidence=Confidence.EXPLICIT,
        created_at="2026-08-06T08:00:00Z", last_seen_at=None, is_pinned=False,
    )  # fmt: skip
    return made._replace(**changes)


def order(words: list[str], *contents: str) -> list[str]:
    """The contents in the order in which they are shown; the last is the newest."""
    found = [candidate(content, seq) for seq, content in enumerate(contents)]
    return [contents[one.seq] for one, _ in ranked(found, words, TODAY)]


def ways(content: str, *words: str, **changes: Any) -> list[By]:
    ((_, made),) = ranked([candidate(content, **changes)], words, TODAY)
    return [by for _, by in made.words]


def test_a_whole_word_comes_before_the_inside_of_one() -> None:
    assert order(["hon"], "hon is a word", "Python is one") == ["hon is a word", "Python is one"]
    assert order(["猫"], "猫粮", "一只猫") == ["一只猫", "猫粮"], (
        "Chinese has no bounds between words: the newest first"
    )


@pytest.mark.parametrize(
    ("content", "word", "by"),
    [
        ("用Python写", "python", By.EXACT),
        ("Pythonic", "python", By.PART),
        ("C++ 和 C#", "c++", By.EXACT),
        ("snake_case", "case", By.EXACT),
        ("Café!", "CAFE", By.EXACT),
        ("кафе", "афе", By.PART),
        ("cafe\u0301", "\u0301", By.EXACT),
        ("心情低落", "情低", By.EXACT),
        ("a🐈b", "🐈", By.EXACT),
    ],
)
def test_how_a_word_was_found_is_told(content: str, word: str, by: By) -> None:
    assert ways(content, word) == [by]


def test_a_word_found_by_its_stem_or_in_a_quote_is_told_so() -> None:
    assert ways("caching", "caches", by=By.STEM) == [By.STEM]
    assert ways("caches", "cache", by=By.STEM) == [By.STEM], "it is a part, too, but its own word"
    assert ways("caches", "caches", by=By.STEM) == [By.EXACT]
    assert ways("something else", "caches", by=By.QUOTE) == [By.QUOTE]
    exact, stem, part, quote = (
        ranked([candidate(content, by=by)], ["caches"], TODAY)[0][1].relevance
        for content, by in (("caches", By.PART), ("cachin", By.STEM), ("xcaches", By.PART), ("xxxxxx", By.QUOTE))
    )
    assert exact > stem > part > quote


def test_a_short_content_comes_before_a_long_one_and_a_little_longer_does_not_count() -> None:
    long = "我养了一只猫，住在很远很远的地方，每天都要走很长的路"
    assert order(["猫"], "猫", long) == ["猫", long]
    assert order(["猫"], "一只猫", "一只老猫") == ["一只老猫", "一只猫"]


def test_surer_newer_and_pinned_ones_come_first() -> None:
    sure = [candidate("猫", seq, confidence=tier) for seq, tier in enumerate(reversed(Confidence))]
    assert [one.confidence for one, _ in ranked(sure, ["猫"], TODAY)] == list(Confidence)
    old = candidate("猫", 9, created_at="2020-01-01T00:00:00Z")
    said_again = old._replace(seq=8, last_seen_at="2026-08-05T00:00:00Z")
    assert [one.seq for one, _ in ranked([old, said_again], ["猫"], TODAY)] == [8, 9]
    pinned = old._replace(seq=1, confidence=Confidence.UNCERTAIN, is_pinned=True)
    assert [one.seq for one, _ in ranked([candidate("猫", 2), pinned], ["猫"], TODAY)] == [1, 2]


def test_recency_is_gentle_has_a_half_life_and_counts_whole_days() -> None:
    def recency(created_at: str) -> float:
        return ranked([candidate("猫", created_at=created_at)], ["猫"], TODAY)[0][1].recency

    assert recency("2026-08-06T23:59:59Z") == recency("2026-08-06T00:00:00Z") == 1
    assert recency("2027-01-01T00:00:00Z") == 1, "a clock may have gone wrong"
    half = recency(f"{TODAY - timedelta(days=HALF_LIFE)}T00:00:00Z")
    floor = recency("0001-01-01T00:00:00Z")
    assert half == pytest.approx((1 + floor) / 2, abs=1e-6)
    assert recency("no time at all") == pytest.approx(floor)


def test_equal_scores_stand_newest_first_then_what_was_stored_last() -> None:
    times = ["2026-08-06T08:00:00Z", "2026-08-06T09:00:00Z", "2026-08-06T08:00:00Z"]
    found = [candidate("猫", seq, created_at=at) for seq, at in enumerate(times)]
    assert [one.seq for one, _ in ranked(found, ["猫"], TODAY)] == [1, 2, 0]
    assert ranked(found[::-1], ["猫"], TODAY) == ranked(found, ["猫"], TODAY)


def test_hits_by_some_words_are_ranked_by_bm25_and_tell_what_was_found() -> None:
    found = [candidate("火锅店", 1, bm25=2.5), candidate("caching", 2, bm25=3.0, confidence=Confidence.UNCERTAIN)]
    page = ranked(found, [], TODAY)
    assert [one.seq for one, _ in page] == [1, 2], "what is not sure needs more than a little more relevance"
    assert page[0][1].relevance == 2.5
    shown = told(page, ["火锅", "caches", "xyz"], [(2, "caches", By.STEM), (2, "caches", By.QUOTE)])
    assert [made.words for _, made in shown] == [(("火锅", By.EXACT),), (("caches", By.STEM),)]


def test_a_score_is_the_product_of_its_parts() -> None:
    ((_, made),) = ranked([candidate("猫 粮", is_pinned=True, confidence=Confidence.INFERRED)], ["猫"], TODAY)
    plain = made.to_plain()
    assert made.total == pytest.approx(
        plain["relevance"] * plain["confidence"] * plain["recency"] * plain["pinned"], abs=1e-3
    )
    assert plain["words"] == [{"word": "猫", "by": "exact"}]


def test_the_rarest_words_are_searched_by_while_the_rows_are_few() -> None:
    assert rarest({"a": 30, "b": 0, "c": 2}) == ["c", "a"]
    assert rarest({"的": MOST_POSTINGS, "猫": 5}) == ["猫"]
    assert rarest({"的": MOST_POSTINGS * 9}) == ["的"], "at least one"
    assert rarest({"x": 0}) == rarest({}) == []

"""`mex search QUERY`: what holds all words, else what holds some; by other forms, in quotes, in one order (docs/search.md)."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from mex_pipeline.app import App
from mex_pipeline.domain.memory import Confidence, Memory, Source
from mex_pipeline.domain.ranking import By
from mex_pipeline.services import search
from mex_pipeline.services.search import Found
from mex_pipeline.store import memories, sources
from mex_pipeline.store.database import Database
from mex_pipeline.store.search import MOST_CANDIDATES
from tests.support.memories import memory
from tests.support.past import app_at

NOW = "2026-08-06T12:00:00Z"


@pytest.fixture
def app() -> Iterator[App]:
    with app_at(NOW) as opened:
        yield opened


def store(app: App, *contents: str, **columns: Any) -> list[Memory]:
    made = [memory(content, **columns) for content in contents]
    with app.db.transaction() as tx:
        tx.run(*(memories.insert(one) for one in made))
    return made


def asked(app: App, query: str, **options: Any) -> Found:
    return search.ranked(app, search.wanted(app, query=query), **options)


def contents(found: Found) -> list[str]:
    return [hit.memory.content for hit in found.hits]


def is_partial(found: Found) -> bool:
    (flag,) = {hit.is_partial for hit in found.hits}
    return flag


def ways(found: Found) -> dict[str, By]:
    score = found.hits[0].score
    assert score is not None
    return dict(score.words)


def quoted(app: App, content: str, *quotes: str) -> Memory:
    """A memory that rests on other words than it says."""
    (made,) = store(app, content)
    said = [Source(agent="claude", message_key=f"{made.id}{at}", quote=quote) for at, quote in enumerate(quotes)]
    app.db.run(*(sources.insert(made.id, one, NOW) for one in said))
    return made


def test_what_holds_all_words_comes_alone_however_much_holds_some(app: App) -> None:
    store(app, "火锅店在成都", "成都很大", "火锅真好", "在成都吃火锅")
    found = asked(app, "成都 火锅")
    assert sorted(contents(found)) == ["在成都吃火锅", "火锅店在成都"]
    assert (is_partial(found), found.total, found.is_more) == (False, 2, False)


def test_only_when_nothing_holds_all_words_what_holds_some_is_found_and_flagged(app: App) -> None:
    store(app, "成都很大", "喜欢骑车", "tea and milk")
    found = asked(app, "成都 火锅")
    assert contents(found) == ["成都很大"]
    assert is_partial(found)
    assert ways(found) == {"成都": By.EXACT, "成": By.EXACT}
    assert contents(asked(app, "coffee with milk")) == ["tea and milk"]
    assert contents(asked(app, "the with and")) == ["tea and milk"], (
        "when nothing else is asked, common words are words"
    )


def test_a_chinese_question_finds_what_it_is_about(app: App) -> None:
    store(app, "对芒果过敏，不能吃芒果蛋糕", "你知道的多少是什么", "喜欢游泳")
    found = asked(app, "你知道我吃什么会过敏吗")
    assert contents(found)[0] == "对芒果过敏，不能吃芒果蛋糕"
    assert is_partial(found)


def test_one_chinese_word_is_not_taken_apart_into_its_characters(app: App) -> None:
    store(app, "蓝天白云", "鲸吞蚕食")
    assert contents(asked(app, "蓝鲸")) == []
    assert contents(asked(app, "蓝鲸很美丽")) != []


def test_other_forms_of_a_word_are_found_by_a_query_and_not_by_a_keyword(app: App) -> None:
    store(app, "caching layers", "cash only")
    for query in ("caches", "cached layer", "CACHE"):
        found = asked(app, query)
        assert contents(found) == ["caching layers"]
        assert not is_partial(found)
    assert ways(asked(app, "cached layer")) == {"cached": By.STEM, "layer": By.STEM}
    assert search.find(app, search.wanted(app, keyword="caches")) == []
    assert contents(asked(app, '"caches"')) == [], "a phrase is as it is written"


def test_signs_and_phrases_must_be_there_whatever_else_is_found_by_its_form_or_in_part(app: App) -> None:
    store(app, "caching 🎉", "caching", "成都很大")
    assert contents(asked(app, "caches 🎉")) == ["caching 🎉"]
    assert contents(asked(app, '"很大" 成都火锅')) == ["成都很大"]
    assert contents(asked(app, '"火锅" 成都')) == contents(asked(app, '"成都" 火锅')) == []
    assert contents(asked(app, "火锅 成都 -很大")) == []


def test_filters_hold_for_hits_of_every_kind(app: App) -> None:
    store(app, "caching", slot="work.tech_stack")
    store(app, "caching", "成都很大", created_at="2020-01-01T00:00:00Z")
    store(app, "caching", forgotten_at=NOW)
    assert len(asked(app, "caches").hits) == 2
    assert len(asked(app, "caches topic:work").hits) == 1
    assert contents(asked(app, "成都 火锅 since:7d")) == []
    quoted(app, "住在锦江边", "我在成都住了三年")
    assert contents(asked(app, "三年 成都")) == ["住在锦江边"]
    assert contents(asked(app, "三年 成都 topic:work")) == []


def test_a_memory_is_found_by_the_words_it_rests_on_behind_those_that_say_them(app: App) -> None:
    made = quoted(app, "住在锦江边", "我在成都住了三年", "成都的天气 caches")
    store(app, "成都住了很久，住了三年，这是真的，我没有骗你")
    found = asked(app, "成都 住了")
    assert contents(found) == ["成都住了很久，住了三年，这是真的，我没有骗你", "住在锦江边"]
    assert ways(asked(app, "cached 天气")) == {"cached": By.QUOTE, "天气": By.QUOTE}
    assert is_partial(asked(app, "天气 三年")), "they stand in two quotes"
    assert search.find(app, search.wanted(app, keyword="天气")) == []
    partial = asked(app, "天气 火锅", is_explained=True)
    assert (contents(partial), ways(partial)["天气"]) == ([made.content], By.QUOTE)


def test_explained_partial_hits_tell_the_forms_they_were_found_by(app: App) -> None:
    store(app, "caching layers of cakes")
    assert ways(asked(app, "caches zebra", is_explained=True)) == {"caches": By.STEM}
    assert ways(asked(app, "cakes zebra", is_explained=True)) == {"cakes": By.EXACT}


def test_an_utterance_of_any_length_is_a_query(app: App) -> None:
    said = "我今天和朋友去公园散步，遇到了以前的同学，他说他最近在学画画，还养了一只小猫。" * 12
    store(app, "朋友养了一只小猫", "喜欢骑车")
    found = asked(app, said)
    assert contents(found) == ["朋友养了一只小猫"]
    page = " ".join(f"word{number}" for number in range(3000))
    store(app, f"{page} !", "word7 alone")
    assert contents(asked(app, page)) == [f"{page} !"]
    assert is_partial(asked(app, f"{page} nowhere"))


@pytest.mark.parametrize(
    ("content", "query", "words"),
    [
        ("在成都吃火锅", '"成都吃" 辣锅 吃', {"成都吃": By.EXACT, "吃": By.EXACT}),
        ("Kubernetes caching", '"ubern" caches nowhere', {"ubern": By.PART, "caches": By.STEM}),
        ("sure: (NEAR) a_b*c^d", '"a_b*c" "^d" sure nowhere', {"a_b*c": By.EXACT, "^d": By.EXACT, "sure": By.EXACT}),
    ],
)
def test_partial_hits_tell_the_phrases_they_hold_beside_the_words(
    app: App, content: str, query: str, words: dict[str, By]
) -> None:
    store(app, content)
    found = asked(app, query, is_explained=True)
    assert (is_partial(found), ways(found)) == (True, words)
    assert all(found.hits[0].spans(content[content.index(word) :]) for word, by in words.items() if by is By.EXACT)


@pytest.mark.parametrize(
    "query",
    [
        "\0",
        "Kub\0",
        "火锅\0成都",
        '"ber\0n',
        "a\0",
        "-Kub\0",
        "\x1f",
        'a"b""c',
        "NEAR(",
        "AND",
        "*",
        "^a",
        "a:",
        "🌶\ufe0f",
    ],
)
def test_no_query_is_too_strange(app: App, query: str) -> None:
    store(app, "a Kubernetes cluster", "在成都吃火锅")
    asked(app, query, is_explained=True)
    literal = search.ranked(app, search.wanted(app, keyword=query), is_explained=True)
    assert not literal.hits or "\0" not in query, "no content holds a NUL"


def test_the_newest_are_ranked_and_the_rest_is_told(app: App) -> None:
    store(app, *(f"猫 {number}" for number in range(MOST_CANDIDATES + 5)))
    found = asked(app, "猫", limit=3)
    assert (len(found.hits), found.total, found.is_more) == (3, MOST_CANDIDATES, True)
    assert contents(found)[0] == f"猫 {MOST_CANDIDATES + 4}"
    store(app, "猫 old", slot="health.diet", created_at="2020-01-01T00:00:00Z")
    store(app, *(f"猫 more {number}" for number in range(MOST_CANDIDATES + 5)), slot="work")
    assert contents(asked(app, "猫 topic:health")) == ["猫 old"], "filters come before what is ranked"


def test_of_more_than_are_ranked_the_most_relevant_are_kept_when_only_some_words_are_held(app: App) -> None:
    store(app, "rare tea", *(f"tea {number}" for number in range(MOST_CANDIDATES + 5)))
    quoted(app, "likes leaves", "rare rare rare", *(f"something else {number}" for number in range(30)))
    found = asked(app, "rare tea nowhere", limit=2)
    assert (found.total, found.is_more) == (MOST_CANDIDATES, True)
    assert contents(found) == ["rare tea", "likes leaves"]


def test_pages_are_cut_from_one_order(app: App) -> None:
    store(app, *(f"猫{'咪' * number}" for number in range(40)))
    whole = contents(asked(app, "猫", limit=50))
    pages = [contents(asked(app, "猫", limit=7, offset=offset)) for offset in range(0, 42, 7)]
    assert [one for page in pages for one in page] == whole
    assert contents(asked(app, "猫", offset=100)) == []


def test_without_words_the_newest_come_first_without_a_score_and_are_counted(app: App) -> None:
    store(app, "1", "2", "3")
    found = asked(app, "", limit=2)
    assert (contents(found), found.total, found.is_more) == (["3", "2"], 3, False)
    assert [hit.score for hit in found.hits] == [None, None]
    assert asked(app, "-3").total == 2
    store(app, *(f"{number}" for number in range(MOST_CANDIDATES)))
    assert asked(app, "")[1:] == (MOST_CANDIDATES, True)
    assert asked(app, "", limit=5, offset=MOST_CANDIDATES - 2)[1:] == (MOST_CANDIDATES + 3, False)


def test_a_file_that_cannot_be_written_is_searched_as_well(app: App) -> None:
    store(app, "a🐈b", "caching")
    app.db.script("PRAGMA wal_checkpoint(TRUNCATE)")
    closed = Database.open_to_read(app.db.path)
    try:
        view = app._replace(db=closed)
        assert contents(asked(view, "🐈")) == ["a🐈b"]
        assert contents(asked(view, "caches")) == contents(asked(view, "caches zebra")) == ["caching"]
    finally:
        closed.close()


def test_pinned_and_surer_ones_come_first(app: App) -> None:
    tiers: Sequence[Confidence] = (Confidence.UNCERTAIN, Confidence.CONFIRMED, Confidence.INFERRED)
    for tier in tiers:
        store(app, f"猫 {tier.value[:3]}", confidence=tier)
    store(app, "猫 pin", is_pinned=True, confidence=Confidence.SPECULATED)
    assert contents(asked(app, "猫")) == ["猫 pin", "猫 con", "猫 inf", "猫 unc"]

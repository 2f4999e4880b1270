"""A memory is found by the words of its quotes, by the best of them, and no longer when they have changed or gone."""

import pytest

from mex_pipeline.domain.memory import Memory
from mex_pipeline.store import quote_search, sources
from mex_pipeline.store.sql import Query, Statement
from mex_pipeline.store.tokens import stem_expression
from tests.support.gateways import Gateway
from tests.support.memories import NOW, source, stored


def quoted(db: Gateway, content: str, *quotes: str | None) -> Memory:
    """A memory that rests on quotes."""
    made = stored(db, content)
    db.run(*(sources.insert(made.id, source(f"k{at}", quote=quote), NOW) for at, quote in enumerate(quotes)))
    return made


def found(db: Gateway, words: str) -> dict[str, float]:
    """{content: score} of the memories whose quotes hold the words."""
    sql = (
        f"SELECT content, quoted.score FROM ({quote_search.hits(':match')}) AS quoted "
        "JOIN memories ON memories.seq = quoted.seq ORDER BY quoted.score DESC"
    )
    match = stem_expression(words)
    return dict(db.all(Query(sql, {"match": match}, lambda row: (row["content"], row["score"]))))


@pytest.mark.parametrize("words", ["芒果", "过敏", "allergic to", "mangoes", "mango"])
def test_the_words_of_a_quote_find_its_memory(db: Gateway, words: str) -> None:
    quoted(db, "food", "我对芒果过敏", "I am allergic to mangoes, really")
    quoted(db, "drink", "我喜欢绿茶")
    quoted(db, "none", None)
    assert list(found(db, words)) == ["food"]


def test_a_memory_with_several_quotes_is_found_once_by_the_best_of_them(db: Gateway) -> None:
    quoted(db, "both", "tea", f"tea {'and other things ' * 20}")
    quoted(db, "long", f"tea {'and other things ' * 20}")
    scores = found(db, "tea")
    assert list(scores) == ["both", "long"]
    assert scores["both"] > scores["long"] > 0


def test_the_index_follows_the_quotes(db: Gateway) -> None:
    quoted(db, "food", "mango")
    db.run(Statement("UPDATE memory_sources SET quote = :quote", {"quote": "papaya"}))
    assert (found(db, "mango"), list(found(db, "papaya"))) == ({}, ["food"])
    db.run(Statement("UPDATE memory_sources SET quote = NULL"))
    assert found(db, "papaya") == {}

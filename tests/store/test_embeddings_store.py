"""The table of vectors: what lacks one, what drops one, and which of them a search compares."""

import pytest

from mex_pipeline.domain.memory import Confidence
from mex_pipeline.domain.selection import Selection
from mex_pipeline.domain.vector import Vector
from mex_pipeline.store import embeddings, memories
from mex_pipeline.store.sql import Statement
from tests.support.gateways import Gateway
from tests.support.memories import LATER, NOW, stored

VECTOR = Vector(0.5, b"\x01\x02")
EVERYTHING = Selection()


def embedded(db: Gateway, content: str, model: str = "m", **columns: object) -> str:
    """The id of a stored memory with a vector."""
    made = stored(db, content, **columns)
    ((seq, _),) = [one for one in db.all(embeddings.missing(model, LATER, 100)) if one[1] == content]
    assert db.run(embeddings.write(seq, content, model, VECTOR)) == 1
    return made.id


def compared(db: Gateway, wanted: Selection = EVERYTHING, model: str = "m", size: int = 2) -> list[str]:
    return [one for one, _ in db.all(embeddings.vectors(model, size, LATER, wanted))]


def test_the_newest_memories_without_a_vector_come_first(db: Gateway) -> None:
    for content in ("one", "two", "three"):
        stored(db, content)
    assert [content for _, content in db.all(embeddings.missing("m", LATER, 2))] == ["three", "two"]
    assert db.first(embeddings.count_missing("m", LATER)) == 3


def test_a_forgotten_memory_needs_no_vector(db: Gateway) -> None:
    stored(db, "gone", forgotten_at=NOW)
    stored(db, "over", expires_at=NOW)
    assert db.first(embeddings.count_missing("m", LATER)) == 0


def test_a_vector_of_words_that_were_changed_meanwhile_is_not_kept(db: Gateway) -> None:
    stored(db, "before")
    ((seq, content),) = db.all(embeddings.missing("m", LATER, 1))
    assert db.run(embeddings.write(seq, "other words", "m", VECTOR)) == 0
    assert db.run(embeddings.write(seq + 1, content, "m", VECTOR)) == 0
    assert compared(db) == []


@pytest.mark.parametrize("after", ["A", "猫", "a "])
def test_a_vector_leaves_with_the_words_it_stands_for(db: Gateway, after: str) -> None:
    one = embedded(db, "a")
    (row,) = db.all(memories.by_ids([one]))
    db.run(memories.replace_row(row._replace(confidence=Confidence.SPECULATED)))
    assert compared(db) == [one]
    db.run(memories.replace_row(row._replace(content=after)))
    assert compared(db) == []


def test_a_vector_leaves_with_its_memory(db: Gateway) -> None:
    embedded(db, "a")
    db.run(Statement("DELETE FROM memories"))
    assert db.all(embeddings.vectors("m", 2, LATER, Selection(include_forgotten=True))) == []
    assert db.run(Statement("DELETE FROM embeddings")) == 0


def test_vectors_of_another_model_or_length_are_not_compared_and_can_be_dropped(db: Gateway) -> None:
    one = embedded(db, "a")
    assert compared(db, model="other") == compared(db, size=3) == []
    assert db.first(embeddings.count_missing("other", LATER)) == 1
    db.run(embeddings.drop_others("m"))
    assert compared(db) == [one]
    db.run(embeddings.drop_others("other"))
    assert compared(db) == []


def test_every_filter_and_what_is_literal_holds_but_for_the_words(db: Gateway) -> None:
    tea, cat = embedded(db, "喜欢绿茶", topic="leisure"), embedded(db, "养了一只猫")
    assert compared(db, Selection(words=("宠物",))) == [cat, tea]
    assert compared(db, Selection(words=("宠物",), topic="leisure")) == [tea]
    assert compared(db, Selection(words=("宠物",), without=("茶",))) == [cat]
    assert compared(db, Selection(words=("宠物",), phrases=("一只",))) == [cat]
    assert compared(db, Selection(since=LATER)) == []

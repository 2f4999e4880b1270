"""The tokens by which known values are chosen for a chunk: all of its words, in the memory of one turn."""

import tracemalloc

from mex_pipeline.domain.chunks import cut
from mex_pipeline.domain.conversation import Chunk, Turn
from mex_pipeline.services.extraction import said_in
from mex_pipeline.store.tokens import segment

TEXT = "天气很好" * 1500


def chunk_of(*texts: str) -> Chunk:
    turns = tuple(
        Turn(key=str(number), role="user", text=text, at=None, end=number) for number, text in enumerate(texts)
    )
    (chunk,) = cut(turns, frozenset(turn.key for turn in turns), 1_000_000_000)
    return chunk


def test_the_words_of_every_turn_are_there_and_none_that_spans_two() -> None:
    assert said_in(chunk_of("我住在成都", "I like tea", "骑")) == frozenset(segment("我住在成都 I like tea 骑").split())


def test_a_huge_chunk_needs_little_more_memory_than_one_of_its_turns() -> None:
    """The rules read a conversation of any length as one chunk."""
    chunk = chunk_of(*[TEXT] * 60)
    tracemalloc.start()
    try:
        tokens = said_in(chunk)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert tokens == frozenset(segment(TEXT).split())
    assert peak < 60 * len(TEXT) * 10

"""Which words of a question a memory about it may hold (docs/search.md)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mex_pipeline.domain.words import terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("火锅", ["火锅"]),
        ("猫", ["猫"]),
        ("芒果汁", ["芒果", "果汁"]),
        ("芒果过敏", ["芒", "果", "敏", "芒果", "果过", "过敏"]),
        ("养猫 好吗", ["养", "猫", "养猫", "好吗"]),
        ("请问你喜欢什么火锅", ["喜", "欢", "你喜", "喜欢", "火", "锅", "火锅"]),
        ("什么", ["什么"]),
        ("谁", ["谁"]),
        ("Which caches are the fastest?", ["caches", "fastest"]),
        ("who are you", ["who", "are", "you"]),
        ("学 Rust 和 C++", ["学", "rust", "cplusplus"]),
        ("caches caches", ["caches"]),
        ("🐈 ，。", []),
        ("", []),
    ],
)
def test_words_that_only_ask_or_join_are_left_out_while_something_else_remains(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@given(st.text(st.sampled_from("a the猫的什么我ー한 ,，🐈"), max_size=30))
def test_whatever_has_letters_has_terms_each_once(text: str) -> None:
    found = terms(text)
    assert len(found) == len(set(found))
    assert bool(found) is any(letter.isalpha() for letter in text)

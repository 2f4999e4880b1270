"""The token estimate and its split (seed 004 §6.2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mex_pipeline.domain.budget import estimate_tokens, split


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("你好", 3),
        ("你好吗", 5),
        ("hello world", 3),
        ("ten words of english are thirteen tokens and not fourteen", 13),
        ("Hello, world!", 3),
        ("在用 Python", 5),
        ("don't", 2),
        (" \n\t", 0),
    ],
)
def test_seed_6_2_chinese_characters_and_english_words_have_their_price(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize("text", ["привет", "สวัสดี", "こんにちは", "안녕하세요", "مرحبا", "😀😀", "émigré", "|---|---|"])
def test_no_script_is_free_and_none_costs_more_than_two_tokens_a_character(text: str) -> None:
    assert 0 < estimate_tokens(text) <= 2 * len(text)


def test_a_key_without_spaces_costs_more_than_a_word() -> None:
    assert estimate_tokens("a" * 4000) > 300


@given(st.lists(st.text()))
def test_lines_together_never_cost_less_than_the_whole(lines: list[str]) -> None:
    assert estimate_tokens("\n".join(lines)) <= sum(estimate_tokens(line) for line in lines)


@given(st.text(), st.text())
def test_more_text_never_costs_less(text: str, more: str) -> None:
    assert estimate_tokens(f"{text}\n{more}") >= estimate_tokens(text)


def test_seed_6_2_the_budget_is_split_seventy_to_thirty_less_a_fifth() -> None:
    assert split(3000) == (1680, 720)


@given(st.integers(0, 10**6))
def test_seed_6_2_the_shares_stay_within_four_fifths(max_tokens: int) -> None:
    body, recent = split(max_tokens)
    assert 0 <= body + recent <= max_tokens * 4 / 5

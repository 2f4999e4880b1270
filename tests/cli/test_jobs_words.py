"""Texts for people say what happens in their words, not in the program's (issue: no fence, poison or scope)."""

import re

import pytest

from mex_pipeline.domain.job import Outcome
from mex_pipeline.messages import catalogue

INNER = re.compile(
    r"\b(fence|poison|scope|lease|heart ?beat|beat|claim|outbox|relay|publish|dedup|coalesce)", re.IGNORECASE
)
INNER_ZH = re.compile("栅栏|毒|租约|心跳|认领|作用域|中继")


def spoken(text: str) -> str:
    """A text without its placeholders, and without the words of commands."""
    return re.sub(r"\{\w+\}|--[a-z-]+", "", text)


@pytest.mark.parametrize(("language", "inner"), [("en", INNER), ("zh", INNER_ZH), ("zh", INNER)])
def test_no_text_for_people_speaks_of_the_inside(language: str, inner: re.Pattern[str]) -> None:
    texts = catalogue("zh" if language == "zh" else "en")
    assert {name: text for name, text in texts.items() if inner.search(spoken(text))} == {}
    assert len(texts) > 500


def test_every_outcome_has_words_of_its_own_in_both_languages() -> None:
    for texts in (catalogue("en"), catalogue("zh")):
        told = [texts[f"outcome.{outcome}"] for outcome in Outcome]
        assert len(set(told)) == len(told)
        assert not [text for outcome, text in zip(Outcome, told, strict=True) if outcome in text.split()]

"""Every candidate of the rules can be traced to the words it rests on, whatever surrounds them (product B3, P5)."""

import json
from itertools import chain

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mex_pipeline.domain.candidate import Action, Candidate
from mex_pipeline.domain.conversation import Chunk
from mex_pipeline.domain.evidence import Origin, verify
from mex_pipeline.domain.memory import Confidence
from mex_pipeline.domain.rules import check_candidate
from mex_pipeline.rules_extractor.clauses import blanked, lines
from tests.rules_extractor.said import SCHEMA, candidates, turn
from tests.rules_extractor.test_rules_extract import LEFT, REMEMBERED, SAID

SENTENCES = st.sampled_from([*SAID, *REMEMBERED, *LEFT])
SEPARATORS = st.sampled_from(
    ["。", "，", "\n", ". ", " ", "", "！", "\n\n", "：", "😀", " “", "”", '"', "`", "\t", "\u3000"]
)
MIXTURES = st.lists(st.one_of(SENTENCES, SEPARATORS, st.text(max_size=8)), max_size=12).map("".join)


@pytest.mark.parametrize("text", [*SAID, *REMEMBERED])
def test_a_candidate_is_new_explicit_and_carries_its_evidence(text: str) -> None:
    for candidate in candidates(text):
        assert candidate.action is Action.NEW
        assert candidate.confidence is Confidence.EXPLICIT
        assert not candidate.is_ai_inferred
        assert candidate.turn == 1
        assert candidate.evidence in (f'用户说："{candidate.quote}"', f'User said: "{candidate.quote}"')


def test_the_evidence_is_introduced_in_the_language_of_the_words() -> None:
    assert [one.evidence for one in candidates("我住在成都\nI work at Acme")] == [
        '用户说："我住在成都"',
        'User said: "I work at Acme"',
    ]


@settings(deadline=None)
@given(MIXTURES)
@example("你好，我叫林晓舟  ，住在\u3000成都。")
def test_the_quote_stands_in_the_turn_and_the_content_in_the_quote(text: str) -> None:
    for candidate in candidates(text):
        assert candidate.quote
        assert candidate.quote in text
        assert all(words in candidate.quote for words in _words(candidate))


@settings(deadline=None)
@given(MIXTURES)
def test_every_candidate_passes_the_rules_of_the_shipped_schema_with_a_verified_quote(text: str) -> None:
    chunk = Chunk(number=1, context=(), turns=(turn(text),))
    for candidate in candidates(text):
        assert isinstance(check_candidate(SCHEMA, candidate), Candidate)
        traced = verify(candidate, chunk, Origin(agent="plain"))
        assert traced.confidence is Confidence.EXPLICIT
        assert traced.source is not None
        assert traced.source.verified


@settings(deadline=None)
@given(MIXTURES)
def test_reading_twice_gives_the_same(text: str) -> None:
    assert candidates(text) == candidates(text)


@settings(deadline=None)
@given(st.one_of(st.text(max_size=200), MIXTURES))
def test_blanking_and_cutting_keep_every_offset(text: str) -> None:
    blank = blanked(text)
    assert len(blank) == len(text)
    assert all(kept in ("\x01", "\x02", letter) for kept, letter in zip(blank, text, strict=True))
    clauses = [clause for line in lines(blank) for sentence in line for clause in sentence.clauses]
    bounds = list(chain.from_iterable((clause.start, clause.end) for clause in clauses))
    assert bounds == sorted(bounds)
    assert all("\n" not in blank[clause.start : clause.end] for clause in clauses)


@pytest.mark.parametrize(
    "text",
    [
        "<br>" * 50_000,
        "aB3/" * 50_000,
        "=\n" * 50_000,
        " " * 200_000,
        "我在" + "做" * 3_900,
        "我，" * 1_900,
        '"' * 100_001,
    ],
    ids=["tags", "base64", "rules", "spaces", "one clause", "many clauses", "quotes"],
)
def test_a_large_paste_is_read_without_delay_and_yields_nothing(text: str) -> None:
    assert candidates(text) == []


def _words(candidate: Candidate) -> list[str]:
    """The words that must stand in the quote: of a structured value its goal, the deadline being resolved."""
    if candidate.slot == ("goals", "short_term_goal"):
        return [json.loads(candidate.content)["goal"]]
    return [candidate.content]

"""What a refusal recognises: the value, in its place or inside other words, and nothing else (product B6). Pure."""

import json

import pytest

from mex_pipeline.domain.candidate import Action, Candidate, Discarded
from mex_pipeline.domain.memory import Source
from mex_pipeline.domain.refusal import (
    HIDDEN,
    Refusal,
    RefusalKind,
    hidden,
    met,
    never_again,
    refuse,
    silenced,
    split_refused,
)
from mex_pipeline.domain.text import find_quote

NOW = "2026-12-01T10:00:00Z"
JOB = '{"start": "2019", "end": "2023-04", "company": "Quillfeather Ceramics", "position": "glazer", "summary": "窑"}'


def never(*values: str, slot: str = "work.company") -> list[Refusal]:
    """Refusals of these values."""
    return [refuse(RefusalKind.NEVER_AGAIN, slot, value, NOW) for value in values]


def test_b6_a_refusal_holds_no_word_and_two_of_one_value_look_different() -> None:
    one, other = never("Quillfeather Ceramics", "Quillfeather Ceramics")
    assert "uill" not in repr(one).casefold()
    assert one.hash != other.hash
    assert one.meets("  QUILLFEATHER ceramics. ")
    assert other.meets("Ｑuillfeather  Ceramics！")


@pytest.mark.parametrize(
    ("value", "text", "left"),
    [
        ("Quillfeather Ceramics", "I left quillfeather  CERAMICS, in May.", f"I left {HIDDEN * 22}, in May."),
        ("鹿鸣湖划皮艇", "每周 鹿鸣湖 划皮艇。还有喝茶。", f"每周 {HIDDEN * 7}。还有喝茶。"),
        ("鹿鸣湖划皮艇。", "“鹿鸣湖划皮艇”", f"“{HIDDEN * 6}”"),
        ("CAFÉ Zoé", "at café Zoe\u0301, twice: Café Zoé", f"at {HIDDEN * 9}, twice: {HIDDEN * 8}"),
        ("ﾃﾞｰﾀｾﾝﾀｰ", "彼はデータセンターで働く", f"彼は{HIDDEN * 7}で働く"),
        ("13800138000", "电话13800138000，或 138-0013-8000", f"电话{HIDDEN * 11}，或 138-0013-8000"),
    ],
)
def test_b6_a_value_is_hidden_in_a_text_whatever_its_case_width_and_spaces(value: str, text: str, left: str) -> None:
    assert hidden(text, never(value)) == left
    assert len(left) == len(text)
    assert hidden(left, never(value)) == left


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("腾讯", "我在腾讯上班"),
        ("Acme", "I work at Acme"),
        ("김치", "김치를 좋아해요"),
        ("python", "I am a pythonista"),
        ("138001", "13800138000"),
        ("鹿鸣湖划皮艇", "鹿鸣湖边划皮艇"),
    ],
)
def test_b6_a_short_value_and_a_part_of_a_word_are_not_looked_for_inside_texts(value: str, text: str) -> None:
    assert hidden(text, never(value)) == text


def test_b6_other_kinds_of_refusals_hide_nothing() -> None:
    declined = [refuse(kind, "work.company", "Quillfeather", NOW) for kind in (RefusalKind.DECLINED, RefusalKind.MERGE)]
    assert hidden("at Quillfeather", declined) == "at Quillfeather"
    assert met(declined, "work.company", "Quillfeather") == []


def test_b3_the_quote_of_another_memory_keeps_its_place() -> None:
    text = "我在青禾陶瓷工坊上班，住在成都。"
    assert find_quote(hidden(text, never("青禾陶瓷工坊")), "住在成都") == find_quote(text, "住在成都")


def test_b6_every_occurrence_of_every_value_is_hidden_in_a_long_text() -> None:
    values = ["Quillfeather Ceramics", "鹿鸣湖划皮艇", "run the Osaka marathon"]
    long = "我对花生过敏。I like tea. " * 2_000
    left = hidden(long.join(["", *values, *values, ""]), never(*values))
    assert left.count(HIDDEN) == 2 * sum(len(value) for value in values)
    assert left.replace(HIDDEN, "") == long * 7


def test_b6_of_a_structured_value_its_longer_fields_are_refused_too_but_no_dates() -> None:
    refusals = never_again("work.experience", JOB, [], NOW)
    assert hidden("At Quillfeather Ceramics I was a glazer until 2023-04.", refusals) == (
        f"At {HIDDEN * 21} I was a {HIDDEN * 6} until 2023-04."
    )
    assert met(refusals, "work.experience", json.dumps(json.loads(JOB)))
    assert never_again("work.experience", JOB, refusals, NOW) == [], "what is refused already needs no second one"


def test_b6_candidates_that_say_it_are_listed_without_a_word_whatever_their_place_and_action() -> None:
    refusals = [*never("Quillfeather Ceramics"), *never("腾讯"), *never("过敏", slot="health.allergy")]
    said = [
        Candidate("quillfeather ceramics", "work", "company"),
        Candidate("腾讯", "work", "company"),
        Candidate("Talked with Quillfeather Ceramics about a kiln"),
        Candidate('{"company": "Quillfeather Ceramics", "start": "2019", "end": "2020"}', "work", "experience"),
        Candidate("Quillfeather Ceramics", "work", "tech_stack", action=Action.RETIRE),
        Candidate(f"works at {HIDDEN * 5}", "work", "company"),
    ]
    others = [Candidate("腾讯", "finance", "stocks"), Candidate("对花生过敏", "health", "allergy")]
    kept, discarded = split_refused([*said, *others], refusals)
    assert kept == others
    assert discarded == [Discarded("", "never_again")] * len(said)


def test_b6_a_candidate_that_stays_does_not_quote_it() -> None:
    words = "I work at Quillfeather Ceramics and live in Kyoto"
    source = Source(agent="claude", quote=words, quote_start=0, quote_end=len(words))
    (kept,), _ = split_refused(
        [Candidate("Kyoto", "basic_info", "location", evidence=words, quote=words, source=source)],
        never("Quillfeather Ceramics"),
    )
    assert kept.source is not None
    assert {kept.evidence, kept.quote, kept.source.quote} == {f"I work at {HIDDEN * 21} and live in Kyoto"}


def test_b6_what_was_discarded_for_another_reason_does_not_tell_it_either() -> None:
    refusals = [*never("腾讯"), *never("Quillfeather Ceramics")]
    discarded = [
        Discarded("腾讯", "unsupported"),
        Discarded("left", "superseded", {"by": "now at Quillfeather Ceramics"}),
        Discarded("喝茶", "reinforced"),
    ]
    assert silenced(discarded, refusals) == [
        Discarded("", "unsupported"),
        Discarded("", "superseded"),
        Discarded("喝茶", "reinforced"),
    ]

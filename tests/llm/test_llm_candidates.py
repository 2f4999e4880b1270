"""Judging candidates one by one: what real models write, and what becomes of it."""

from typing import Any

import pytest
from llm_replies import RUST, TEA, read_or_code, reply

from mex_pipeline.domain.candidate import About, Action, Candidate, Discarded
from mex_pipeline.domain.memory import Confidence
from mex_pipeline.llm.contract import ParsedReply, parse_reply


def one(**fields: Any) -> Candidate:
    """The candidate made of `fields`; fails when it is discarded."""
    parsed = parse_reply(reply({"content": "x", **fields}))
    assert parsed.discarded == ()
    return parsed.candidates[0]


def refused(memory: Any) -> Discarded:
    """Why `memory` is discarded; fails when it is not."""
    parsed = parse_reply(reply(memory))
    assert parsed.candidates == ()
    return parsed.discarded[0]


def test_seed_7_2_the_example_of_the_contract_is_read_as_it_stands() -> None:
    text = reply(
        {
            "action": "new", "topic": "work", "sub_topic": "company", "content": "远光软件", "is_ai_inferred": False,
            "confidence": "explicit", "evidence": '用户说："我在远光软件做后端开发"',
        },
        {
            "action": "new", "topic": "finance", "sub_topic": None, "content": "基金单日下跌 3%，用户表达了焦虑",
            "is_ai_inferred": True, "confidence": "speculated", "evidence": '用户提到"今天跌得有点心慌"',
        },
    )  # fmt: skip
    assert parse_reply(text) == ParsedReply(
        (
            Candidate("远光软件", "work", "company", evidence='用户说："我在远光软件做后端开发"'),
            Candidate(
                "基金单日下跌 3%，用户表达了焦虑",
                "finance",
                is_ai_inferred=True,
                confidence=Confidence.SPECULATED,
                evidence='用户提到"今天跌得有点心慌"',
            ),
        ),
        (),
    )


def test_product_c11_the_optional_keys_are_used_when_present() -> None:
    candidate = one(quote="我在远光", turn=3, about="other", replaces="#a1b2", occurred_at="2026-08", action="update")
    assert candidate == Candidate(
        "x",
        action=Action.UPDATE,
        quote="我在远光",
        turn=3,
        about=About.OTHER,
        replaces="#a1b2",
        occurred_at="2026-08",
    )


def test_one_bad_candidate_leaves_the_others_alive() -> None:
    """product C4"""
    parsed = parse_reply(reply(TEA, "绿茶", None, [1], {"content": ""}, {**RUST, "action": "delete"}, RUST))
    assert [candidate.content for candidate in parsed.candidates] == ["绿茶", "Rust"]
    assert [(discarded.content, discarded.reason) for discarded in parsed.discarded] == [
        ("绿茶", "not_an_object"),
        ("", "not_an_object"),
        ("[1]", "not_an_object"),
        ("", "content_empty"),
        ("Rust", "unknown_action"),
    ]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (" 绿茶\n", "绿茶"),
        (42, "42"),
        (3.5, "3.5"),
        (True, "true"),
        ({"company": "远光", "start": "2020"}, '{"company": "远光", "start": "2020"}'),
        ("a\x00b\x1b[31mc", "ab[31mc"),
        ("x" * 20_000, "x" * 20_000),
    ],
)
def test_content_is_text_or_becomes_it(content: Any, text: str) -> None:
    assert one(content=content).content == text


def test_lone_surrogates_become_the_replacement_character_everywhere() -> None:
    """original fault 24: they ended in a traceback."""
    parsed = parse_reply('{"memories":[{"content":"a\\ud800","quote":"\\udfffb","topic":"\\ud800"}]}\ud800')
    (candidate,) = parsed.candidates
    assert (candidate.content, candidate.quote, candidate.topic) == ("a\ufffd", "\ufffdb", "\ufffd")


@pytest.mark.parametrize(
    ("memory", "reason", "facts"),
    [
        ({}, "content_empty", {}),
        ({"content": None}, "content_empty", {}),
        ({"content": " \n\x00"}, "content_empty", {}),
        ({"content": {}}, "content_empty", {}),
        ({"content": ["Python", "Go"]}, "content_not_text", {}),
        ({"content": "x" * 20_001}, "content_too_long", {"length": "20001", "limit": "20000"}),
        ({"content": "x", "action": "delete"}, "unknown_action", {"action": "delete"}),
        ({"content": "x", "action": 1}, "unknown_action", {"action": "1"}),
        ({"content": "x", "action": ["new"]}, "unknown_action", {"action": '["new"]'}),
        ({"content": "x", "confidence": "high"}, "unknown_confidence", {"confidence": "high"}),
        ({"content": "x", "confidence": 0.9}, "unknown_confidence", {"confidence": "0.9"}),
        ({"content": "x", "confidence": "confirmed"}, "confirmed_by_model", {}),
        ({"content": "x", "confidence": " Confirmed "}, "confirmed_by_model", {}),
        ({"content": "x", "topic": ["work"]}, "slot_not_text", {}),
        ({"content": "x", "topic": "work", "sub_topic": {"a": 1}}, "slot_not_text", {}),
        ({"content": "x", "sub_topic": 5}, "slot_not_text", {}),
    ],
)
def test_a_candidate_that_breaks_the_contract_is_discarded_with_its_reason(
    memory: dict[str, Any], reason: str, facts: dict[str, str]
) -> None:
    discarded = refused(memory)
    assert (discarded.reason, discarded.facts) == (reason, facts)


def test_what_is_shown_of_a_discarded_candidate_is_short() -> None:
    assert refused({"content": "长" * 50_000}).content == "长" * 200


@pytest.mark.parametrize("missing", [{}, {"action": None}, {"action": ""}])
def test_seed_7_2_a_missing_action_means_new(missing: dict[str, Any]) -> None:
    assert one(**missing).action is Action.NEW


@pytest.mark.parametrize("action", [*Action, " Retire ", "UNCERTAIN_UPDATE"])
def test_seed_7_2_the_four_actions_are_read(action: str) -> None:
    assert one(action=action).action == action.strip().lower()


@pytest.mark.parametrize(
    ("fields", "tier"),
    [
        ({}, Confidence.EXPLICIT),
        ({"is_ai_inferred": True}, Confidence.INFERRED),
        ({"is_ai_inferred": True, "confidence": None}, Confidence.INFERRED),
        ({"is_ai_inferred": True, "confidence": "uncertain"}, Confidence.UNCERTAIN),
        ({"confidence": "Speculated"}, Confidence.SPECULATED),
    ],
)
def test_seed_3_3_a_missing_tier_follows_from_who_said_it(fields: dict[str, Any], tier: Confidence) -> None:
    assert one(**fields).confidence is tier


@pytest.mark.parametrize(
    ("given_flag", "flag"),
    [
        (True, True), (False, False), (None, False), ("true", True), ("False", False), (1, True), (0, False),
        ("1", True), ("maybe", True), ([], True),
    ],
)  # fmt: skip
def test_the_inferred_flag_is_read_however_it_is_spelt(given_flag: Any, flag: bool) -> None:
    """What is neither true nor false is the weaker claim."""
    assert one(is_ai_inferred=given_flag).is_ai_inferred is flag


@pytest.mark.parametrize(
    ("topic", "sub_topic", "slot"),
    [
        ("work", "company", ("work", "company")),
        (" work ", " company\n", ("work", "company")),
        ("work", "work.company", ("work", "company")),
        (None, "work.company", ("work", "company")),
        ("work", "life.company", ("work", "life.company")),
        ("work", None, None),
        ("work", "", None),
        ("work", "null", None),
        ("", "None", None),
    ],
)
def test_a_slot_is_read_however_it_is_written(topic: Any, sub_topic: Any, slot: tuple[str, str] | None) -> None:
    assert one(topic=topic, sub_topic=sub_topic).slot == slot


@pytest.mark.parametrize(
    ("turn", "number"),
    [(3, 3), ("3", 3), (3.0, 3), (None, None), (0, None), (-1, None), (True, None), ("third", None), ([3], None)],
)
def test_a_turn_is_a_positive_number_or_nothing(turn: Any, number: int | None) -> None:
    assert one(turn=turn).turn == number


@pytest.mark.parametrize(("turn", "number"), [("NaN", None), ("1e400", None), ("9" * 5_000, None)])
def test_a_monstrous_number_harms_nobody(turn: str, number: int | None) -> None:
    outcome = read_or_code(f'{{"memories":[{{"content":"x","turn":{turn}}}]}}')
    assert outcome == "llm_bad_reply" or outcome.candidates[0].turn is number


@pytest.mark.parametrize(
    ("about", "whom"),
    [
        ("user", About.USER), ("User", About.USER), (None, About.USER), ("", About.USER), ("other", About.OTHER),
        ("hypothetical", About.HYPOTHETICAL), ("my wife", About.OTHER), (7, About.OTHER), ({}, About.OTHER),
    ],
)  # fmt: skip
def test_product_c11_an_unknown_person_is_not_the_user(about: Any, whom: About) -> None:
    assert one(about=about).about is whom


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2026", "2026"), ("2026-08", "2026-08"), ("2026-08-06", "2026-08-06"), (2026, "2026"),
        ("2024-02-29", "2024-02-29"), ("2023-02-29", None), ("2026-13", None), ("0000", None), ("2026-8-6", None),
        ("last week", None), ("２０２６", None), ("2026-08-06T10:00Z", "2026-08-06T10:00:00Z"),
        ("2026-08-06 18:00:30+08:00", "2026-08-06T10:00:30Z"), ("2026-08-06T25:00Z", None), ("2026-W32", None),
        ("0001-01-01T00:00+14:00", None), ("", None), (None, None), (["2026"], None),
    ],
)  # fmt: skip
def test_product_b4_a_date_is_kept_when_it_is_one(text: Any, date: str | None) -> None:
    assert one(occurred_at=text).occurred_at == date


@pytest.mark.parametrize("name", ["evidence", "quote", "replaces"])
def test_supporting_texts_are_cleaned_cut_or_dropped(name: str) -> None:
    def kept(value: Any) -> Any:
        return getattr(one(**{name: value}), name)

    assert kept("  我说\x00的 ") == "我说的"
    assert kept("x" * 5_000) == "x" * 4_000
    assert kept(42) == "42"
    assert [kept(value) for value in (None, "", "null", ["a"], {"a": 1}, True)] == [None] * 6


def test_unknown_keys_do_no_harm() -> None:
    assert one(importance=9, source=None, id="x", slot="a.b") == Candidate("x")


def test_equal_candidates_of_one_reply_become_one() -> None:
    """A small model repeats one entry until it is stopped; support and tier do not make a difference."""
    parsed = parse_reply(reply(TEA, RUST, {**TEA, "evidence": "again", "turn": 9}, *[TEA] * 500))
    assert [candidate.content for candidate in parsed.candidates] == ["绿茶", "Rust"]
    assert parsed.candidates[0].evidence == TEA["evidence"]
    assert parsed.discarded == (Discarded("绿茶", "duplicate_in_reply", {"times": "502"}),)


@pytest.mark.parametrize(
    "change",
    [
        {"action": "retire"},
        {"topic": "work"},
        {"content": "红茶"},
        {"about": "other"},
        {"replaces": "#1"},
        {"occurred_at": "2026"},
    ],
)
def test_candidates_that_say_something_else_are_no_duplicates(change: dict[str, str]) -> None:
    assert len(parse_reply(reply(TEA, {**TEA, **change})).candidates) == 2

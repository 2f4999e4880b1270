"""The query of `mex search QUERY`: words, phrases, operators (product E4; the original's fault 7)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mex_pipeline.domain.folding import END, folded, sought
from mex_pipeline.domain.memory import Confidence
from mex_pipeline.domain.query import joined, parse
from mex_pipeline.domain.selection import Selection, forms
from mex_pipeline.errors import InvalidInput
from tests.domain.examples import memory


def moment(text: str, *, end_of_day: bool = False) -> str:
    """Times as they are given; what is none is refused as the clock does."""
    if not text[:1].isdecimal():
        raise InvalidInput("bad_date", value=text)
    return f"{text}{'!' if end_of_day else ''}"


def asked(query: str) -> Selection:
    return parse(query, moment)


@pytest.mark.parametrize(
    ("query", "words", "phrases", "without"),
    [
        ("基金 焦虑", ("基金", "焦虑"), (), ()),
        ("  基金\u3000焦虑\n", ("基金", "焦虑"), (), ()),
        ('"基金 焦虑"', (), ("基金 焦虑",), ()),
        ("“基金 焦虑” 「心 情」 『x y』", (), ("基金 焦虑", "心 情", "x y"), ()),
        ('“mixed marks"', (), ("mixed marks",), ()),
        ("猫 -狗", ("猫",), (), ("狗",)),
        ('猫 -"大 狗" －“小 狗”', ("猫",), (), ("大 狗", "小 狗")),
        ("-狗", (), (), ("狗",)),
        ("a - b", ("a", "-", "b"), (), ()),
        ("-", ("-",), (), ()),
        ("-- --x", ("--", "--x"), (), ()),
        ('"not closed', (), ("not closed",), ()),
        ('"', ('"',), (), ()),
        ('""', (), (), ()),
        ('27" screen', ('27"', "screen"), (), ()),
        ('"a"b', ("b",), ("a",), ()),
        ("http://x 12:30 a:b 价格：9", ("http://x", "12:30", "a:b", "价格：9"), (), ()),
        ("mytopic:work", ("mytopic:work",), (), ()),
        ("C++ C# 50% \\ * NEAR(", ("C++", "C#", "50%", "\\", "*", "NEAR("), (), ()),
        ("", (), (), ()),
        ("  ", (), (), ()),
    ],
)
def test_e4_words_and_phrases(
    query: str, words: tuple[str, ...], phrases: tuple[str, ...], without: tuple[str, ...]
) -> None:
    assert asked(query) == Selection(words=words, phrases=phrases, without=without)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("topic:work", Selection(topic="work")),
        ("topic：work", Selection(topic="work")),
        ("Topic:Work.Company", Selection(topic="work", sub_topic="company")),
        ("since:7d", Selection(since="7d")),
        ("until:2026-11-01", Selection(until="2026-11-01!")),
        ('since:"2026-11-01 09:30"', Selection(since="2026-11-01 09:30")),
        ("inferred:yes", Selection(ai_inferred=True)),
        ("inferred：否", Selection(ai_inferred=False)),
        ("confidence:explicit", Selection(confidence=Confidence.EXPLICIT)),
        ("猫 topic:work -狗 since:7d", Selection(topic="work", since="7d", words=("猫",), without=("狗",))),
    ],
)
def test_e4_operators(query: str, expected: Selection) -> None:
    assert asked(query) == expected


@pytest.mark.parametrize(
    ("query", "code", "operator"),
    [
        ("topic:", "bad_operator", "topic"),
        ("topic:work.", "bad_operator", "topic"),
        ("since:soon", "bad_operator", "since"),
        ("until:", "bad_operator", "until"),
        ("inferred:maybe", "bad_operator", "inferred"),
        ("confidence:sure", "bad_operator", "confidence"),
        ("-topic:work", "negated_operator", "topic"),
        ("topic:work topic:health", "operator_twice", "topic"),
        ("inferred:yes inferred:no", "operator_twice", "inferred"),
    ],
)
def test_e4_a_bad_operator_is_named(query: str, code: str, operator: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        asked(f"猫 {query}")
    assert (caught.value.code, caught.value.params["operator"]) == (code, operator)


def test_an_operator_and_its_option_are_one_too_many() -> None:
    assert joined(asked("topic:work"), Selection(sub_topic="company")).sub_topic == "company"
    with pytest.raises(InvalidInput):
        joined(asked("topic:work"), Selection(topic="work"))


@given(st.text(st.sampled_from('ab猫 \u3000"“”「」-－:：.topicsinceuntl7d'), max_size=40))
def test_any_query_is_understood_or_refused_by_name(query: str) -> None:
    found, refused = Selection(), None
    try:
        found = asked(query)
    except InvalidInput as error:
        refused = error.params["operator"]
    assert refused in {None, "topic", "since", "until"}
    assert all(word.strip() for word in (*found.words, *found.phrases, *found.without))


@given(
    st.lists(st.text("ab猫狗", min_size=1, max_size=4), max_size=5), st.lists(st.text("ab猫狗", min_size=1), max_size=3)
)
def test_what_is_asked_for_decides_what_is_found(words: list[str], without: list[str]) -> None:
    found = asked(" ".join([*words, *(f"-{one}" for one in without)]))
    content = " ".join(reversed(words)).upper()
    assert found.mentions(content) is not any(one in content.lower() for one in without)


@pytest.mark.parametrize(
    ("word", "content"),
    [
        ("ＰＹＴＨＯＮ", "python"),
        ("naive", "naïve"),
        ("STRASSE", "Straße"),
        ("ガ", "が ガ"),
        ("㎏", "5 kg"),
        ("한", "한국"),
    ],
)
def test_width_case_and_accents_do_not_count(word: str, content: str) -> None:
    assert folded(word) in folded(content)


@given(st.text(st.sampled_from("aBé\u0301ｶﾞカ\u3099ßﬁ①中猫🐈\u200d한하\u11ab +Σς"), min_size=1, max_size=12), st.data())
def test_every_part_of_a_text_stands_in_what_is_looked_in_and_begins_three_characters(
    text: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    part = text[start : data.draw(st.integers(start + 1, len(text)))]
    within = sought(text)
    places = [within.find(form) for form in forms(part) if form in within]
    assert places
    assert all(place + 3 <= len(within) for place in places)


def test_a_text_is_kept_twice_only_where_folding_takes_more_than_case() -> None:
    assert sought("Read 中文") == f"read 中文{END}{END}"
    assert sought("Café") == f"cafe{END}Café{END}{END}"


def test_kana_with_and_without_voicing_differ() -> None:
    assert folded("カ") not in folded("ガ")


def test_a_selection_decides_over_states_as_the_store_does_over_rows() -> None:
    state = memory(1, "work.company", "远光软件", created_at="2026-08-06T08:30:00Z", expires_at="2026-09-01T00:00:00Z")
    at = "2026-08-07T00:00:00Z"
    for one in (
        Selection(), Selection("远光"), Selection("软件 远光"), Selection(topic="work", sub_topic="company"),
        Selection(since="2026-08-06T08:30:00Z", until="2026-08-06T08:30:00Z"), Selection(confidence=Confidence.CONFIRMED),
        Selection(ai_inferred=False), Selection(words=("远光",), without=("前进",)),
    ):  # fmt: skip
        assert one.holds(state, at), one
    for one in (
        Selection("前进"), Selection(topic="health"), Selection(topic="work", sub_topic="position"),
        Selection(since="2026-08-06T08:30:01Z"), Selection(until="2026-08-06T08:29:59Z"),
        Selection(confidence=Confidence.EXPLICIT), Selection(ai_inferred=True), Selection(without=("软件",)),
    ):  # fmt: skip
        assert not one.holds(state, at), one
    assert not Selection().holds(state, "2026-09-01T00:00:00Z")
    assert Selection(include_forgotten=True).holds(state, "2026-09-01T00:00:00Z")

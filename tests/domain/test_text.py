"""Comparing text: folding for quotes (product B3), the form of repeats (B5), cleaning."""

from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mex_pipeline.domain.text import clean, find_quote, fold, is_blank, normalised, one_line

MIXED = st.text(
    st.one_of(
        st.sampled_from("我在杭州工作，AaBb09 \n\t“”\"'「」éÉßﬁ①ＡＢｶﾞガ한글İ…😀\u200d\ufe0f\u0301"),
        st.characters(codec="utf-8"),
    ),
    max_size=60,
)


@given(MIXED)
def test_every_folded_character_points_into_the_original(text: str) -> None:
    folded = fold(text)
    assert len(folded.text) == len(folded.spans)
    assert all(0 <= start < end <= len(text) for start, end in folded.spans)
    assert [span[0] for span in folded.spans] == sorted(span[0] for span in folded.spans)


@given(MIXED)
def test_each_span_folds_to_the_characters_it_gave(text: str) -> None:
    folded = fold(text)
    for start, end in set(folded.spans):
        given = "".join(char for char, span in zip(folded.text, folded.spans, strict=True) if span == (start, end))
        assert fold(text[start:end]).text == given


@given(MIXED, st.data())
def test_a_quote_is_found_where_its_words_stand(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    place = find_quote(text, text[start:end])
    if place is not None:
        found, sought = fold(text[slice(*place)]).text, fold(text[start:end]).text
        assert found
        assert found in sought


@given(st.text("我在杭州工作做后端开发", min_size=2, max_size=20), st.text("天地玄黄\n", max_size=20), st.data())
def test_a_quote_that_lost_or_gained_white_space_is_found_at_its_place(
    quote: str, around: str, data: st.DataObject
) -> None:
    broken = "".join(char + data.draw(st.sampled_from(["", " ", "\n"])) for char in quote)
    place = find_quote(around + broken + around, quote)
    assert place is not None
    assert fold((around + broken + around)[slice(*place)]).text == quote


@given(st.text(st.sampled_from("caféÅ ﬁnｶﾞガ①ＡＢ한글e\u0301"), max_size=30))
def test_all_normal_forms_fold_alike(text: str) -> None:
    forms = {fold(normalize(form, text)).text for form in ("NFC", "NFD", "NFKC", "NFKD")}
    assert forms == {fold(text).text}


@pytest.mark.parametrize(
    ("haystack", "needle", "found"),
    [
        ("我在远光软件做后端开发", "我在远光软件", "我在远光软件"),
        ("我在远光\n软件做后端", "我在远光软件做后端", "我在远光\n软件做后端"),
        ("I live\nin  Paris now", "i live in paris", "I live\nin  Paris"),
        ("他说“好”然后走了", '他说"好"然后', "他说“好”然后"),
        ("我用ＰＹＴＨＯＮ写", "我用python", "我用ＰＹＴＨＯＮ"),
        ("It’s Anna's cat", "It's Annas cat", "It’s Anna's cat"),
        ("住在杭州，很好", "“住在杭州。”", "住在杭州"),
        ("Ich wohne in der Straße", "STRASSE", "Straße"),
        ("un cafe\u0301 noir", "café", "cafe\u0301"),
        ("x 我 在 y", "我在", "我 在"),
        ("我在\u200b杭\x07州", "我在杭州", "我在\u200b杭\x07州"),
        ("Go and go", "go", "go"),
        ("ANN, ann", "Ann", "ANN"),
    ],
)
def test_b3_a_quote_is_found_as_it_stands_in_the_original(haystack: str, needle: str, found: str) -> None:
    place = find_quote(haystack, needle)
    assert place is not None
    assert haystack[slice(*place)] == found


@pytest.mark.parametrize(
    ("haystack", "needle"),
    [
        ("my name is Anna", "my name is Ann"),
        ("I trust you", "rust"),
        ("I was born in 1990", "199"),
        ("un cafe\u0301", "cafe"),
        ("저는 한국 사람", "하"),
        ("我在杭州", "我在上海"),
        ("我在杭州", ""),
        ("我在杭州", "。！”"),
        ("", "我在"),
    ],
)
def test_b3_words_that_are_not_there_are_not_found(haystack: str, needle: str) -> None:
    assert find_quote(haystack, needle) is None


def test_b3_a_later_whole_word_is_found_behind_an_earlier_part_of_a_word() -> None:
    assert find_quote("trust in Rust", "rust") == (9, 13)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("喜欢 Python。", "喜欢python"),
        ("ＡＢＣ", "abc"),
        ("New York", "new  york"),
        ("学钢琴？！", "学钢琴"),
        ("周末爬山……", "周末爬山"),
    ],
)
def test_b5_repeats_are_recognised(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(("one", "other"), [("C#", "C"), ("C++", "C"), ("3%", "3"), ("？", "。"), ("Go", "Golang")])
def test_b5_different_values_stay_different(one: str, other: str) -> None:
    assert normalised(one) != normalised(other)


@given(st.text())
def test_b5_the_form_of_repeats_is_stable(text: str) -> None:
    assert normalised(one_line(text)) == normalised(text)


@given(st.text(st.characters(), max_size=20))
def test_cleaned_text_can_be_stored(text: str) -> None:
    cleaned = clean(text + "\ud800\x00")
    assert cleaned.encode()
    assert "\x00" not in cleaned
    assert len(cleaned) == len(text) + 2


def test_one_line_has_no_line_break_of_any_kind() -> None:
    assert one_line(" a\n b\r\n\u2028c\x0bd ") == "a b c d"


def test_blank_is_what_cannot_be_seen() -> None:
    assert all(is_blank(text) for text in ("", " \n", "\u200b\u3000", "\x00"))
    assert not any(is_blank(text) for text in ("a", "。", "😀", "\U0001fae9", "\uf8ff", "\u0301"))

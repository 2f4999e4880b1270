"""Which parts of a text stand out among the hits of a search."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mex_pipeline.domain.highlight import spans
from mex_pipeline.domain.selection import Selection


def marked(text: str, *words: str) -> str:
    """The text with its places in brackets."""
    for start, end in reversed(spans(text, words)):
        text = f"{text[:start]}[{text[start:end]}]{text[end:]}"
    return text


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("爱吃火锅，火锅", ["火锅"], "爱吃[火锅]，[火锅]"),
        ("Read the Café", ["cafe"], "Read the [Café]"),
        ("Read the cafe\u0301s", ["CAFE"], "Read the [cafe\u0301]s"),
        ("用Ｐｙｔｈｏｎ写", ["python"], "用[Ｐｙｔｈｏｎ]写"),
        ("ﾃｽﾄ ｶﾞｽ", ["ガス"], "ﾃｽﾄ [ｶﾞｽ]"),
        ("ﾃｽﾄ ｶﾞｽ", ["ｶ"], "ﾃｽﾄ [ｶ]ﾞｽ"),
        ("5㎏ STRASSE Straße", ["kg", "straße"], "5[㎏] [STRASSE] [Straße]"),
        ("心情低落", ["心情", "情低"], "[心情低]落"),
        ("🐈‍⬛", ["🐈"], "[🐈]‍⬛"),
        ("nothing", ["火锅", ""], "nothing"),
    ],
)
def test_words_stand_out_as_they_are_written(text: str, words: list[str], expected: str) -> None:
    assert marked(text, *words) == expected


@given(st.text(st.sampled_from("aBé\u0301ｶﾞ中ß①🐈 "), min_size=1, max_size=12), st.data())
def test_every_part_of_a_text_stands_out_in_it(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    part = text[start : data.draw(st.integers(start + 1, len(text)))]
    places = spans(text, [part])
    assert all(0 <= begin < end <= len(text) for begin, end in places)
    assert sorted(places) == places
    assert any(begin <= start and start + len(part) <= end for begin, end in places)
    assert Selection(phrases=(part,)).mentions(text)

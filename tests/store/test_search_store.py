"""What finds what: the table of the search notes (§1.2), hostile text, filters, and the index through every change."""

from contextlib import suppress
from pathlib import Path
from time import monotonic

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mex_pipeline.domain.selection import LONGEST_KEYWORD, Selection
from mex_pipeline.errors import InvalidInput
from mex_pipeline.store import indexes, memories, search
from mex_pipeline.store.database import Database
from mex_pipeline.store.sql import Statement
from mex_pipeline.store.tokens import gram_expression, is_short_han, segment, stem_expression, term_expression
from tests.support.extent import tries
from tests.support.gateways import Gateway, fresh, one, rows
from tests.support.memories import LATER, NOW, memory, stored

CONTENTS = (
    "用户最近失恋了，心情低落",
    "喜欢用 Python 写后端服务",
    "老家在成都，爱吃火锅",
    "养了一只猫，叫 Momo",
    "The user's dog is called Biscuit",
    "正在学习Rust语言，用VS Code",
    "对花生过敏",
    "iPhone 15 Pro 是去年买的",
    "南京市长江大桥边上长大",
    "住在北京市海淀区中关村",
)
QUERIES = (
    "猫", "恋", "心情", "火锅", "过敏", "中关", "长江", "市长", "心情低落", "海淀区", "Python", "python 后端",
    "Rust语言", "用VS", "Momo 猫", "iPhone", "ip", "dog", "biscuits", "低落 失恋", "情低", "江大", "hon", "iscui", "15",
    "失恋了，心情", "住在北京市海淀区中关村",
)  # fmt: skip


def found(db: Gateway, keyword: str | None, **changes) -> list[str]:
    now, page = changes.pop("now", NOW), {"limit": changes.pop("limit", 50), "offset": changes.pop("offset", 0)}
    return [hit.content for hit in db.all(search.find(now, Selection(keyword, **changes), **page))]


def intact(db: Gateway) -> None:
    """FTS5 compares its indexes with every row."""
    db.run(*indexes.check())


@pytest.mark.parametrize("query", QUERIES)
def test_search_1_2_a_query_finds_exactly_the_contents_that_hold_its_parts(db: Gateway, query: str) -> None:
    for content in CONTENTS:
        stored(db, content)
    parts = query.casefold().split()
    assert sorted(found(db, query)) == sorted(
        content for content in CONTENTS if all(part in content.casefold() for part in parts)
    )


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("C++", ["C++"]),
        ("c++", ["C++"]),
        ("C#", ["C#"]),
        ("F#", ["F#"]),
        ("C++ 和", []),
        ("sharp", []),
        ("plus", []),
    ],
)
def test_search_1_2_languages_with_signs_are_told_apart(db: Gateway, query: str, expected: list[str]) -> None:
    for content in ("C++", "C#", "F#", "Cython", "C 语言", "c"):
        stored(db, content)
    assert found(db, query) == expected


def test_a_letter_finds_every_word_that_begins_with_it(db: Gateway) -> None:
    for content in ("C++", "C#", "Cython", "Rust"):
        stored(db, content)
    assert sorted(found(db, "c")) == ["C#", "C++", "Cython"]


HOSTILE = (
    '"', '""', "*", "(", ")", "NEAR(", "NEAR(a b)", "-x", "x:y", "content:x", "^a", "foo AND", "OR", "AND", "NOT a", "{",
    "a\"b", "don't", "50%", "_", "%", "\\", "'; DROP TABLE memories; --", "🐈", "・", "゛", "〇", "々", "ー", "①", "㎏", "½",
    "é", "ß", "İ", "ﬁ", "-", "--", "+", "#", "c+", "++", "a+b=c", "[x]", "tokens:x", "x*", "«»", "…", "\t", "，", "。",
)  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_product_e4_search_text_is_literal(db: Gateway, text: str) -> None:
    """No character is an operator or a wildcard, and each finds the content that holds it."""
    stored(db, f"before {text} after")
    stored(db, f"中文{text}中文")
    stored(db, "nothing of the kind")
    assert {f"before {text} after", f"中文{text}中文"} <= set(found(db, text))


@pytest.mark.parametrize("text", ["%", "_", "\\", '"', "*", "(", "・", "🐈", "+", "，"])
def test_product_e4_signs_find_nothing_else(db: Gateway, text: str) -> None:
    stored(db, "nothing of the kind 中文")
    assert found(db, text) == []


@settings(max_examples=tries(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.sampled_from("aB9é中文猫ーカ・𠮷한 ,，.+#%_\"'*-🐈"), min_size=1, max_size=14), st.data())
def test_product_b2_any_substring_finds_its_content(tmp_path: Path, content: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(content) - 1))
    part = content[start : data.draw(st.integers(start + 1, len(content)))]
    file = tmp_path / "b2.db"
    if not file.exists():
        fresh(file)
    database = Database.open(file)
    try:
        database.run(Statement("DELETE FROM memories"), memories.insert(memory(content)))
        assert found(database, part) == [content]
        intact(database)
    finally:
        database.close()


@pytest.mark.parametrize("keyword", ["a" * 70_000, "中" * 70_000, " ".join(f"w{n}" for n in range(3_000))])
def test_a_pasted_page_is_a_query_like_any_other(db: Gateway, keyword: str) -> None:
    stored(db, "a 中 w1")
    stored(db, f"{keyword}!")
    started = monotonic()
    assert found(db, keyword) == [f"{keyword}!"]
    assert monotonic() - started < 5


@pytest.mark.parametrize("length", [LONGEST_KEYWORD, LONGEST_KEYWORD + 1])
def test_product_b2_a_long_keyword_finds_its_content(db: Gateway, length: int) -> None:
    stored(db, "前" + "中文" * length)
    stored(db, "中文")
    assert found(db, ("中文" * length)[:length]) == ["前" + "中文" * length]


def test_an_argument_in_another_encoding_is_a_user_error(db: Gateway) -> None:
    with pytest.raises(InvalidInput) as caught:
        found(db, "\udcff")
    assert caught.value.code == "not_unicode"


def test_without_a_keyword_the_newest_come_first(db: Gateway) -> None:
    for content, at in (("1", NOW), ("2", LATER), ("3", NOW)):
        stored(db, content, created_at=at)
    assert found(db, None) == ["2", "3", "1"]
    assert found(db, None, limit=1, offset=1) == ["3"]
    assert found(db, "") == ["2", "3", "1"], "an empty keyword is in every content"


def test_product_h11_the_limit_counts_after_every_filter(db: Gateway) -> None:
    for number in range(30):
        stored(db, f"猫 {number}", "work.company", forgotten_at=NOW)
        stored(db, f"猫 {number}", "work.tech_stack", created_at="2020-01-01T00:00:00Z")
    stored(db, "猫猫猫猫猫猫猫猫 的确", "health.diet")
    assert found(db, "猫", topic="health", limit=1) == ["猫猫猫猫猫猫猫猫 的确"]
    assert found(db, "猫", topic="health", sub_topic="diet", since=NOW, limit=1) == ["猫猫猫猫猫猫猫猫 的确"]
    assert len(found(db, "猫", limit=7)) == 7


def test_since_and_until_bound_the_time_of_creation_inclusively(db: Gateway) -> None:
    for day in range(1, 6):
        stored(db, f"day {day}", created_at=f"2026-08-0{day}T00:00:00Z", valid_from="2020-01-01T00:00:00Z")
    day2, day4 = "2026-08-02T00:00:00Z", "2026-08-04T00:00:00Z"
    assert found(db, None, since=day2, until=day4) == ["day 4", "day 3", "day 2"]
    assert sorted(found(db, "day", since=day4)) == ["day 4", "day 5"]
    assert sorted(found(db, "day", until=day2)) == ["day 1", "day 2"]
    assert found(db, "day", since=day4, until=day2) == []


def test_topic_and_sub_topic_filter_and_reach_records_too(db: Gateway) -> None:
    stored(db, "猫 1", "work.company")
    stored(db, "猫 2", "work")
    stored(db, "猫 3")
    assert sorted(found(db, "猫", topic="work")) == ["猫 1", "猫 2"]
    assert found(db, "猫", topic="work", sub_topic="company") == ["猫 1"]
    assert found(db, None, topic="nowhere") == []


@pytest.mark.parametrize("keyword", ["猫", "hon", None])
def test_forgotten_and_expired_rows_are_hidden(db: Gateway, keyword: str | None) -> None:
    stored(db, "Python 猫 forgotten", forgotten_at=NOW)
    stored(db, "Python 猫 expired", expires_at=NOW)
    stored(db, "Python 猫 later", expires_at=LATER)
    assert found(db, keyword) == ["Python 猫 later"]
    assert found(db, keyword, now=LATER) == []


def test_the_index_follows_inserts_updates_deletes_and_vacuum(db: Gateway) -> None:
    kept = stored(db, "爱吃火锅 Python")
    gone = stored(db, "爱吃寿司 Rust")
    intact(db)
    db.run(memories.replace_row(kept._replace(content="爱吃烤鸭 Golang")))
    intact(db)
    assert found(db, "火锅") == found(db, "Python") == []
    assert found(db, "烤鸭") == found(db, "golang") == ["爱吃烤鸭 Golang"]
    db.run(Statement("DELETE FROM memories WHERE id = :id", {"id": gone.id}))
    intact(db)
    assert found(db, "寿司") == []
    other = stored(db, "爱吃饺子")
    db.run(Statement("VACUUM"))
    intact(db)
    assert found(db, "饺子") == [other.content]
    assert found(db, "烤鸭") == ["爱吃烤鸭 Golang"]


def test_a_soft_delete_by_another_client_leaves_the_index_right(db: Gateway) -> None:
    stored(db, "爱吃火锅")
    db.run(Statement("UPDATE memories SET forgotten_at = :now", {"now": NOW}))
    intact(db)
    assert found(db, "火锅") == []
    assert one(db, "SELECT count(*) FROM memories_fts WHERE memories_fts MATCH '\"火锅\"'") == 1


def test_a_rolled_back_insert_leaves_no_trace_in_the_index(db: Gateway) -> None:
    with suppress(ZeroDivisionError), db.transaction() as tx:
        tx.run(memories.insert(memory("火锅")))
        raise ZeroDivisionError
    intact(db)
    assert found(db, "火锅") == []


@pytest.mark.parametrize(
    ("keyword", "walked"),
    [
        ("Python", "memories_grams"),
        ("猫", "memories_fts"),
        ("心情", "memories_fts"),
        ("🐈", "memories"),
        ("🐈 Rust", "memories_grams"),
    ],
)
def test_search_1_3_what_is_ranked_is_walked_through_newest_first_and_nothing_is_sorted(
    db: Gateway, keyword: str, walked: str
) -> None:
    """So the work ends with the last row that is ranked, however many there are."""
    query = search.holding(NOW, Selection(keyword), {})
    steps = [row["detail"] for row in rows(db, f"EXPLAIN QUERY PLAN {query.sql}", **query.params)]
    assert steps[0].startswith(f"SCAN {walked}")
    assert not any("TEMP B-TREE" in step for step in steps)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("心情低落", "心情 情低 低落 落"),
        ("猫", "猫"),
        ("Rust语言", "rust 语言 言"),
        ("ＰＹＴＨＯＮ３", "python3"),
        ("C++ and C#, F# or a+ b#", "cplusplus and csharp fsharp or a b"),
        ("ア・イ", "ア イ"),
        ("snake_case", "snake case"),
        ("🐈 ，。", ""),
    ],
)
def test_contents_are_cut_into_pairs_and_words(text: str, tokens: str) -> None:
    assert segment(text) == tokens


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("猫", '"猫"*'),
        ("心情", '"心情"'),
        ("心情低", '"心情 情低"'),
        ("ip", '"ip"'),
        ("Rust语言", '"rust 语言"'),
        ("语言VS", '"语言 言 vs"'),
        ("vs写", '"vs 写"*'),
        ("12:30", '"12 30"'),
        ('"*(', ""),
        ("", ""),
    ],
)
def test_a_word_is_looked_for_by_the_stems_of_its_pieces_side_by_side(text: str, expression: str) -> None:
    assert stem_expression(text) == expression


@pytest.mark.parametrize(
    ("term", "expression"), [("猫", '"猫"*'), ("の", '"の"*'), ("心情", '"心情"'), ("caches", '"caches"'), ("c", '"c"')]
)
def test_a_term_is_a_whole_word_and_a_character_any_place_of_it(term: str, expression: str) -> None:
    assert term_expression(term) == expression


@pytest.mark.parametrize(
    ("form", "expression"),
    [
        ("ab", ""),
        ("abc", '"abc"'),
        ("abcd", '"abc" AND "bcd"'),
        ('a"b', '"a""b"'),
        ("aaaaaaaa", '"aaa"'),
        ("abcdefghijklmn", '"abc" AND "cde" AND "efg" AND "ghi" AND "ijk" AND "lmn"'),
    ],
)
def test_a_form_is_looked_for_by_threes_of_characters_spread_over_it(form: str, expression: str) -> None:
    assert gram_expression(form) == expression


@pytest.mark.parametrize(
    ("word", "expected"), [("心情", True), ("猫", True), ("心 情", False), ("ip", False), ("・", False), ("カ", False)]
)
def test_only_one_or_two_chinese_characters_need_the_index_of_words_alone(word: str, expected: bool) -> None:
    assert is_short_han(word) is expected

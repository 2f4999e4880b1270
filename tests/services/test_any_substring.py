"""Any part of a content finds its memory, in any script and of any length, whatever has happened to the memory (product B2)."""

import json
from collections.abc import Iterator

import pytest

from mex_pipeline.app import App
from mex_pipeline.bootstrap import open_app
from mex_pipeline.domain.memory import Memory
from mex_pipeline.services import lifecycle, memories, search
from mex_pipeline.store import indexes
from mex_pipeline.store.sql import Statement

CORPUS = (
    "用户最近失恋了，心情低落。", "住在北京市海淀区中关村！𠮷野家", "学Rust语言，用VS Code", "ねこカフェが好き・東京々",
    "ﾃｽﾄ ｶﾞｽ ﾊﾟﾊﾟ", "か\u3099くせい", "한국어 하\u11ab글", "Read the Café résumé naïve", "cafe\u0301 a\u0300b",
    "C++ and C#, F# 50%_\\",
    "Straße ΣΊΣΥΦΟΣ İstanbul ﬁne", "МОСКВА большая", "🐈‍⬛👨‍👩‍👧❤️🎉 party", "Ｐｙｔｈｏｎ全角　Ｇｏ", "(a*b)^c ≠ §12 ½ ① ㎏", "https://x.example/a?b=1&c",
    "עברית العربية مُحَمَّد", "हिन्दी นมัสการ", "q",
)  # fmt: skip
_OPERATORS = frozenset('"“”＂「」『』-－:：')


def parts(content: str) -> set[str]:
    """Every substring of one to three characters in which something stands."""
    cut = {content[at : at + size] for size in (1, 2, 3) for at in range(len(content))}
    return {part for part in cut if part.strip()}


def missed(app: App, memory: Memory, *, every: int = 1, is_forgotten: bool = False) -> list[str]:
    """The parts of a memory's content by which it is not found, as a keyword or, without operators, as a query."""
    wrong = []
    for part in sorted(parts(memory.content))[::every]:
        asked = [{"keyword": part}, *([] if _OPERATORS & set(part) else [{"query": part}])]
        for one in asked:
            found = search.ranked(app, search.wanted(app, include_forgotten=is_forgotten, **one), limit=1000)
            if memory.id not in {hit.memory.id for hit in found.hits if not hit.is_partial}:
                wrong.append(part)
    return wrong


@pytest.fixture
def app() -> Iterator[App]:
    with open_app("zh") as opened:
        yield opened


@pytest.fixture
def known(app: App) -> list[Memory]:
    return [memories.add(app, content=content) for content in CORPUS]


def test_every_part_of_a_content_finds_it(app: App, known: list[Memory]) -> None:
    assert [missed(app, one) for one in known] == [[]] * len(known)


def test_every_part_of_a_value_finds_a_structured_content_as_people_read_it(app: App) -> None:
    values = {"name": 'meX "次世代" C:\\dir', "overview": "first ligne\nsecond\tCafé", "detail": '{"a": "b\\\\c"}'}
    made = memories.add(app, content=json.dumps(values), topic="work", sub_topic="projects")
    for value in values.values():
        for part in parts(value):
            found = search.find(app, search.wanted(app, keyword=part))
            assert [one.id for one in found] == [made.id], part
    assert search.find(app, search.wanted(app, query='"Quoted"')) == []
    app.db.run(*indexes.check())


@pytest.mark.parametrize(
    "content",
    [
        '{"a": "\\ud800 Porto\\n"}',
        '{"a": "\\u0000 Porto"}',
        '{"a": ["\\n"], "b": 1, "c": "Porto"}',
        '{"Porto \\n',
        '{"Porto": ' + "[" * 9000 + "\\",
        '{"Porto\\n": ' + "9" * 5000 + "}",
    ],
)
def test_what_only_looks_like_a_structured_content_is_found_as_it_is_written(app: App, content: str) -> None:
    made = memories.add(app, content=content)
    assert [one.id for one in search.find(app, search.wanted(app, keyword="port"))] == [made.id]
    assert [one.id for one in search.find(app, search.wanted(app, keyword=content[-200:]))] == [made.id]
    app.db.run(*indexes.check())
    assert app.db.all(indexes.strays()) == [0]


def test_parts_follow_an_update(app: App, known: list[Memory]) -> None:
    rotated = [memories.update(app, one.id, content=f"{CORPUS[at - 1]} 新") for at, one in enumerate(known)]
    assert [missed(app, one, every=4) for one in rotated] == [[]] * len(known)
    for before, after in zip(known, rotated, strict=True):
        hits = search.find(app, search.wanted(app, keyword=before.content))
        assert after.id not in {one.id for one in hits}
    app.db.run(*indexes.check())


def test_parts_find_what_was_forgotten_when_it_is_asked_for_and_what_was_restored(
    app: App, known: list[Memory]
) -> None:
    lifecycle.forget(app, [one.id for one in known])
    assert [missed(app, one, every=6, is_forgotten=True) for one in known] == [[]] * len(known)
    assert search.find(app, search.wanted(app, keyword="a")) == []
    lifecycle.restore(app, [one.id for one in known])
    assert [missed(app, one, every=6) for one in known] == [[]] * len(known)


def test_parts_are_found_in_indexes_that_were_made_anew(app: App, known: list[Memory]) -> None:
    app.db.run(Statement("UPDATE memories SET sought = 'x', tokens = 'x'"), *indexes.rebuild(), *indexes.check())
    assert [missed(app, one, every=6) for one in known] == [[]] * len(known)

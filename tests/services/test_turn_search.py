"""What was said is found in the kept turns: by questions, words and parts of them, under conditions (product B10)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from mex_pipeline.app import App
from mex_pipeline.bootstrap import open_app
from mex_pipeline.domain import turn_ranking
from mex_pipeline.domain.kept import KeptTurn
from mex_pipeline.errors import InvalidInput
from mex_pipeline.services import search, turn_search
from mex_pipeline.services.turn_search import FoundTurns
from mex_pipeline.store import turns
from mex_pipeline.store.sql import Statement
from mex_pipeline.store.turns import Which

Keep = Callable[..., None]
KINDS = (
    "住在北京市海淀区中关村！𠮷野家", "学Rust语言，用VS Code", "ねこカフェが好き・東京々", "ﾃｽﾄ ｶﾞｽ", "한국어 글",
    "Read the Café résumé", "C++ and C#, F# 50%_\\", "Straße ΣΊΣΥΦΟΣ İstanbul", "МОСКВА большая", "🐈‍⬛👨‍👩‍👧❤️🎉 party",
    "Ｐｙｔｈｏｎ全角　Ｇｏ", "(a*b)^c ≠ ½", "https://x.example/a?b=1&c", "עברית مُحَمَّد", "हिन्दी", "q",
)  # fmt: skip
_OPERATORS = frozenset('"“”＂「」『』-－:：')


@pytest.fixture
def app() -> Iterator[App]:
    with open_app("zh") as opened:
        yield opened


@pytest.fixture
def keep(app: App) -> Keep:
    """Keep what was said in a session, in its order, by the user and the assistant in turn."""

    def kept(session: str, *texts: str, project: str | None = None, day: int = 1, agent: str = "claude") -> None:
        with app.db.transaction() as tx:
            for at, text in enumerate(texts):
                tx.run(turns.insert(_turn(session, at, text, project, day, agent)))

    return kept


def _turn(session: str, at: int, text: str, project: str | None, day: int, agent: str) -> KeptTurn:
    return KeptTurn(
        agent, f"{session}-{at}", session, f"m{at}", None, project, "assistant" if at % 2 else "user", "typed",
        f"2026-03-{day:02}T08:00:{at:02}Z", text, None, "2026-11-01T00:00:00Z", at + 1,
    )  # fmt: skip


def found(app: App, query: str | None = None, *, limit: int = 50, offset: int = 0, **asked: Any) -> FoundTurns:
    session, agent = asked.pop("session", None), asked.pop("agent", None)
    within = turn_search.within(app, session=session, agent=agent)
    return turn_search.find(app, search.wanted(app, query=query, **asked), within, limit=limit, offset=offset)


def texts(app: App, query: str | None = None, **asked: Any) -> list[str]:
    return [hit.turn.text for hit in found(app, query, **asked).hits]


def seen(hits: Sequence[turn_search.TurnHit]) -> list[str]:
    return [hit.turn.text[start:end] for hit in hits[:1] for start, end in hit.spans(hit.turn.text)]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What am I allergic to?", "I am allergic to peanuts."),
        ("peanut", "I am allergic to peanuts."),
        ("我对什么过敏？", "我对芒果严重过敏。"),
        ("芒果", "我对芒果严重过敏。"),
        ("果", "我对芒果严重过敏。"),
        ("When are we deploying?", "We deploy on Friday."),
    ],
)
def test_a_question_finds_what_was_said_first(app: App, keep: Keep, question: str, answer: str) -> None:
    keep("s1", "你好", "有什么事？", "我对芒果严重过敏。", "记下了。", "天气不错。")
    keep("s2", "Hello there.", "How can I help?", "I am allergic to peanuts.", "Noted.", "Nice weather.")
    keep("s3", "What is next?", "We deploy on Friday.", "Fine.")
    assert texts(app, question)[0] == answer


def test_what_is_said_beside_the_words_is_found_behind_them_but_not_for_a_single_word(app: App, keep: Keep) -> None:
    keep("s1", "Which database do we take?", "The elephant.", "Fine.", "Bye.", "See you.")
    assert texts(app, "which database do we take") == ["Which database do we take?", "The elephant.", "Fine."]
    assert texts(app, "database") == ["Which database do we take?"]


def test_the_words_the_turns_beside_it_and_where_it_was_said_are_told(app: App, keep: Keep) -> None:
    keep("s1", "随便聊聊", "好。", "我喜欢喝绿茶。", "记下了。")
    (hit,) = found(app, "绿茶").hits
    assert (hit.turn.session, hit.turn.message_id, hit.turn.role, hit.memories) == ("s1", "m2", "user", ())
    assert hit.before is not None
    assert hit.after is not None
    assert (hit.before.text, hit.after.text, seen([hit])) == ("好。", "记下了。", ["绿茶"])


def parts(text: str) -> set[str]:
    """Every substring of one to three characters in which something stands."""
    cut = {text[at : at + size] for size in (1, 2, 3) for at in range(len(text))}
    return {part for part in cut if part.strip()}


def test_every_part_of_a_turn_finds_it(app: App, keep: Keep) -> None:
    for number, text in enumerate(KINDS):
        keep(f"s{number}", text)
    missed = [
        (text, part)
        for text in KINDS
        for part in sorted(parts(text))
        for asked in ({"keyword": part}, *([] if _OPERATORS & set(part) else [{"query": part}]))
        if text not in texts(app, **asked)
    ]
    assert missed == []


def test_a_part_of_a_word_is_found_behind_the_word_and_before_other_words_when_nobody_said_it_whole(
    app: App, keep: Keep
) -> None:
    keep("s1", "concatenated", day=3)
    keep("s2", "A cat.", day=2)
    keep("s3", "Kubernetes cluster in Berlin")
    keep("s4", "Berlin", day=4)
    assert texts(app, "cat") == ["A cat.", "concatenated"]
    assert texts(app, "netes Berlin") == ["Kubernetes cluster in Berlin", "Berlin"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('"ubern" cluster nowhere', ["A Kubernetes cluster"]),
        ('"ubern" nowhere', ["A Kubernetes cluster"]),
        ('"吃Rust" 好', ["吃Rusty饭"]),
        ('"r n" nowhere', ["Bob: over near"]),
        ('"ubern" "吃Rust" cluster', []),
        ('"ubern" nowhere -cluster', []),
    ],
)
def test_a_phrase_that_is_a_part_of_words_is_found_without_all_of_the_other_words(
    app: App, keep: Keep, query: str, expected: list[str]
) -> None:
    keep("s1", "A Kubernetes cluster", "Fine.", "吃Rusty饭", "Bob: over near")
    assert texts(app, query) == expected


def test_pages_follow_each_other_without_gap_or_repetition(app: App, keep: Keep) -> None:
    for number in range(7):
        keep(f"s{number}", "cat" if number % 2 else f"concatenated {number}")
    pages = [text for offset in range(0, 8, 2) for text in texts(app, "cat", limit=2, offset=offset)]
    assert sorted(pages) == sorted([*["cat"] * 3, *(f"concatenated {number}" for number in range(0, 7, 2))])
    assert pages[:3] == ["cat"] * 3
    assert found(app, "cat", limit=2).is_more
    assert not found(app, "cat").is_more


def test_of_a_common_word_every_turn_is_found(app: App, keep: Keep, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only so many are ranked; those that hold all of the words follow."""
    monkeypatch.setattr(turn_ranking, "MOST_RANKED", 3)
    keep("s1", *(f"茶 {number}" for number in range(9)))
    assert len(set(texts(app, "茶"))) == found(app, "茶").total == 9


@pytest.mark.parametrize(
    ("query", "asked", "expected"),
    [
        ("tea since:2026-03-02", {}, ["black tea", "black pudding and tea"]),
        ("tea until:2026-03-01", {}, ["green tea"]),
        ("tea", {"since": "2026-03-02"}, ["black tea", "black pudding and tea"]),
        ("tea", {"until": "2026-03-02"}, ["black tea", "green tea"]),
        ("tea -black", {}, ["green tea"]),
        ('tea -"black tea"', {}, ["black pudding and tea", "green tea"]),
        ('"black tea"', {}, ["black tea"]),
        ('"ack te"', {}, ["black tea"]),
        ("tea", {"project": "/home/lin/notes"}, ["green tea"]),
        ("tea", {"project": "/home/lin"}, ["green tea", "black tea"]),
        ("tea", {"session": "s2"}, ["black tea"]),
        ("tea", {"agent": "codex"}, ["black pudding and tea"]),
        (None, {"keyword": "tea black"}, ["black tea", "black pudding and tea"]),
        (None, {"agent": "claude"}, ["black tea", "green tea"]),
        ("-black", {}, ["green tea"]),
    ],
)
def test_conditions_leave_out_what_they_do_not_mean(
    app: App, keep: Keep, query: str | None, asked: dict[str, Any], expected: list[str]
) -> None:
    keep("s1", "green tea", project="/home/lin/notes", day=1)
    keep("s2", "black tea", project="/home/lin", day=2)
    keep("s3", "black pudding and tea", project="/home/li", day=3, agent="codex")
    assert sorted(texts(app, query, **asked)) == sorted(expected)


def test_a_neighbour_that_is_not_meant_is_not_found_through_its_neighbour(app: App, keep: Keep) -> None:
    keep("s1", "Which green tea do you like?", "Sencha, secretly.", "Good to know.")
    assert texts(app, "green tea -secretly") == ["Which green tea do you like?", "Good to know."]


def test_without_words_the_newest_come_first(app: App, keep: Keep) -> None:
    keep("s1", "first", "second", day=1)
    keep("s2", "third", day=2)
    assert texts(app) == ["third", "second", "first"]
    assert texts(app, limit=1, offset=1) == ["second"]
    assert found(app, limit=1).total == 3


@pytest.mark.parametrize(
    "query", ["", '"', "-", "()", "AND OR NOT", "NEAR(", "*", "a" * 5000, "茶 " * 800, "词-词 " * 300, "\0"]
)
def test_no_query_is_too_strange(app: App, keep: Keep, query: str) -> None:
    keep("s1", "green tea", "绿茶")
    found(app, query)
    found(app, keyword=query)
    found(app, f"tea {' '.join(f'-x{number}' for number in range(200))}")
    found(app, " ".join(f'"x{number}"' for number in range(200)))


@pytest.mark.parametrize(
    ("query", "condition"),
    [("topic:work", "topic"), ("inferred:yes", "inferred"), ("confidence:explicit", "confidence")],
)
def test_a_condition_that_only_memories_have_is_refused(app: App, query: str, condition: str) -> None:
    with pytest.raises(InvalidInput, match="turns_condition") as raised:
        found(app, query)
    assert raised.value.params == {"condition": condition}


def test_the_index_follows_what_becomes_of_a_turn(app: App, keep: Keep) -> None:
    keep("s1", "green tea")
    with app.db.transaction() as tx:
        tx.run(Statement("UPDATE turns SET text = :text", {"text": "绿茶"}))
    assert (texts(app, "green"), texts(app, "绿茶")) == ([], ["绿茶"])
    with app.db.transaction() as tx:
        tx.run(turns.delete(Which(session="s1")))
    assert texts(app, "绿茶") == []


def test_turns_of_one_position_and_of_a_session_without_an_id_are_found(app: App) -> None:
    one = replace(_turn("s1", 0, "green tea", None, 1, "plain"), session_id=None, source_file="/home/lin/notes.txt")
    with app.db.transaction() as tx:
        tx.run(turns.insert(one))
        tx.run(turns.insert(replace(one, key="k2", text="green leaves")))
    assert set(texts(app, "green")) == {"green tea", "green leaves"}
    assert texts(app, "tea", session="/home/lin/notes.txt") == ["green tea"]

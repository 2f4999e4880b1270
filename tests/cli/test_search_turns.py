"""`mex search --turns`: who said it, when, what it led to; gone when it is forgotten for good (product B6, B10)."""

from pathlib import Path

import pytest

from tests.support.program import mex
from tests.support.sessions import SessionFile
from tests.support.terminal import Terminal

MANGO = "记住：我对芒果严重过敏。"


@pytest.fixture
def session(home: Path, tmp_path: Path) -> str:
    """A session of which all turns are kept, with one memory."""
    talk = SessionFile(tmp_path / "s.jsonl", "session-0001").user("你好").assistant("有什么事？").user(MANGO)
    talk.assistant("记下了，食谱里不会有它。").user("We deploy the concatenated build on Friday.").assistant("Fine.")
    mex("extract", "--from", "claude", "--file", str(talk.path), MEX_KEEP_TURNS="all")
    return talk.session


def memory() -> str:
    return next(str(one["id"]) for one in mex("list", "--json").json if "芒果" in one["content"])


def test_a_hit_says_who_said_it_when_and_where_and_what_it_led_to(session: str) -> None:
    (hit,) = mex("search", "--turns", "芒果", "--json").json
    assert (hit["role"], hit["agent"], hit["session"], hit["message_id"]) == (
        "user",
        "claude",
        session,
        "session-0001-3",
    )
    assert (hit["said_at"], hit["text"]) == ("2026-03-01T08:00:03Z", MANGO)
    assert (hit["before"]["text"], hit["after"]["text"]) == ("有什么事？", "记下了，食谱里不会有它。")
    assert [(one["id"], one["topic"], one["content"]) for one in hit["memories"]] == [(memory(), "health", "芒果")]
    assert hit["score"] > 0
    assert "explained" not in hit


@pytest.mark.parametrize(
    ("lang", "who", "more", "explained"),
    [
        ("en", "User", "all that is kept of a session", "Found by: 芒果"),
        ("zh", "用户", "留存的全部原话", "找到的依据：芒果"),
    ],
)
def test_people_read_it_in_their_language_with_the_memory_and_how_to_read_more(
    session: str, lang: str, who: str, more: str, explained: str
) -> None:
    out = mex("search", "--turns", "芒果", "--lang", lang, "--explain").out
    head, before, text, after, led_to, *rest = out.splitlines()
    assert head.startswith(f"1. {who} · 2026-03-01")
    assert head.endswith(f"claude · {'会话' if lang == 'zh' else 'session'} {session} · session-0001-3")
    assert ("有什么事" in before, text.strip(), "食谱" in after) == (True, MANGO, True)
    assert led_to.strip().startswith(f"→ {memory()} · health.")
    assert explained in "\n".join(rest)
    assert more in rest[-1]
    assert "mex source ID" in rest[-2]


def test_the_parts_of_a_score_are_told_when_asked_for(session: str) -> None:
    (hit,) = mex("search", "--turns", "deploying", "--explain", "--json").json
    assert hit["text"].startswith("We deploy")
    parts = hit["explained"]
    assert parts.keys() == {"words", "beside", "session", "speaker", "held"}
    assert hit["score"] == pytest.approx(
        (parts["words"] + parts["beside"]) * parts["session"] * parts["speaker"], abs=1e-3
    )


def test_a_session_or_an_agent_alone_means_what_was_said_there(session: str) -> None:
    newest = mex("search", "--session", session[:8], "--limit", "2", "--json").json
    assert [hit["text"] for hit in newest] == ["Fine.", "We deploy the concatenated build on Friday."]
    assert len(mex("search", "--agent", "claude", "--json").json) == 6
    assert mex("search", "--agent", "codex", "你好", "--json").json == []
    assert "session_unknown" in mex("search", "--session", "another-one", "--json", ok=False).err


@pytest.mark.parametrize(
    "words", [("--topic", "work"), ("topic:work",), ("--history",), ("--as-of", "2026-01-01"), ("--include-forgotten",)]
)
def test_what_only_memories_have_is_refused_with_a_way_out(home: Path, words: tuple[str, ...]) -> None:
    ran = mex("search", "--turns", "--lang", "en", *words, ok=False)
    assert ran.code == 1
    assert "leave out --turns" in ran.err


def test_the_matching_words_stand_out_on_a_terminal_and_a_long_turn_is_shown_around_them(
    home: Path, tmp_path: Path
) -> None:
    long = f"{'好的，' * 300}我对芒果过敏。{'然后，' * 300}"
    talk = SessionFile(tmp_path / "s.jsonl").user(long)
    mex("extract", "--from", "claude", "--file", str(talk.path), MEX_KEEP_TURNS="all")
    shown = mex("search", "--turns", "芒果").out.splitlines()[1]
    assert shown.strip().startswith("…，好的")
    assert shown.endswith("然后，…")
    assert len(shown) < len(long) / 2
    with Terminal(tmp_path, "search", "--turns", "芒果") as terminal:
        terminal.end()
        assert "\x1b[32m芒果\x1b[0m" in terminal.seen


def test_product_b6_what_is_forgotten_for_good_is_not_found_any_more_by_any_of_its_words(session: str) -> None:
    assert mex("search", "--turns", "芒果", "--json").json != []
    mex("forget", memory(), "--hard", "--yes")
    for words in ("芒果", "对芒果", "果", "严重过敏"):
        assert [hit["text"] for hit in mex("search", "--turns", words, "--json").json if "芒果" in hit["text"]] == []
    assert [hit["session"] for hit in mex("search", "--turns", "deploy", "--json").json] == [session]
    assert mex("doctor", "--offline", "--json", ok=False).code == 0


def test_a_memory_that_is_forgotten_is_no_longer_told_beside_the_words_that_stay(session: str) -> None:
    mex("forget", memory())
    (hit,) = mex("search", "--turns", "芒果", "--json").json
    assert hit["memories"] == []


def test_nothing_kept_or_found_is_said(home: Path) -> None:
    assert "Nothing that was said" in mex("search", "--turns", "x", "--lang", "en").out
    assert mex("search", "--turns", "x", "--json").json == []

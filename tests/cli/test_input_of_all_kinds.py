"""Input of every kind: stored exactly or refused clearly, and any search text is literal (product E4)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mex_pipeline.domain.structured import MAX_CONTENT
from tests.support.extent import tries
from tests.support.program import contents, mex, opened

FAMILY = "👨‍👩‍👧"
KEPT = [
    "👍🏽 在家办公",
    FAMILY + "一家三口",
    "\U0001fae9 a sign newer than this Python",
    "\uf8ff private",
    "مرحبا بالعالم",
    "שלום, עולם",
    "\u202eright to left\u202c",
    "e\u0301le\u0300ve, Å and Å",
    "ｆｕｌｌ　ｗｉｄｔｈ ① ﬁ",
    "tab\there, line\nfeed, return\r\nand \x0b\x0c end",
    "\x1b[31mred\x1b[0m \x07 \x7f \x9b",
    "zero\u200bwidth \ufeff inside",
    "she said \"hi\" \\ and 'bye' `now`",
    "\\u0000 and \\ud800 as they are typed",
    "'; DROP TABLE memories; --",
    "100% _under_ *star* ^caret NEAR(a b) a AND b OR NOT c -d col:e (f) {g} [h] + ; # @ & | < > ~ $ ! ? = /",
    "<script>alert(1)</script> {{known}} {name} %s",
    "\U0010ffff\ufffd\ufffe",
]


def stored() -> list[str]:
    """The contents as they stand in the file, in the order they were made."""
    with opened(Path(mex("config", "show").json["db_path"])) as db:
        return [content for (content,) in db.execute("SELECT content FROM memories ORDER BY seq")]


@pytest.mark.parametrize("content", KEPT)
def test_what_a_person_types_is_stored_character_by_character(content: str) -> None:
    """No composing, no change of width, case or line ends; printed so that it cannot steer the terminal."""
    memory = mex("add", "--content", content, "--json").json
    assert stored() == [content]
    shown = mex("list")
    assert not set("\x1b\x07\x7f\x9b\r\x0b") & set(shown.out)
    mex("update", memory["id"], "--content", content + "!")
    assert stored() == [content + "!"]
    assert [one["id"] for one in mex("search", "--keyword", content, "--json").json] == [memory["id"]]


def test_white_space_around_a_content_is_left_out_and_inside_it_stays() -> None:
    """Trimming is all that happens."""
    assert mex("add", "--content", "\u3000 a  b\n\n c \t", "--json").json["content"] == "a  b\n\n c"


def test_a_content_of_20_000_characters_is_stored_and_found_and_a_longer_one_refused() -> None:
    """The message says how long it is and how long it may be."""
    long = "长" * (MAX_CONTENT - 2) + "末尾"
    assert mex("add", "--content", long, "--json").json["content"] == long
    assert len(mex("search", "--keyword", "末尾", "--json").json) == 1
    for content in (long + "x", "y" * 1_000_000):
        refused = mex("add", "--content", content, ok=False)
        assert refused.code == 1
        assert f"{len(content)} characters" in refused.err
        assert str(MAX_CONTENT) in refused.err
        assert len(refused.err) < 500
    assert contents() == [long]


REFUSED: dict[str, tuple[list[str], str]] = {
    "NUL": (["--content", "a\0b"], "content_has_nul"),
    "half a pair": (["--content", "a\ud83d"], "content_not_unicode"),
    "bytes that are not UTF-8": (["--content", os.fsdecode(b"\xff\xfe")], "content_not_unicode"),
    "blank": (["--content", " \u200b\n"], "content_blank"),
    "controls alone": (["--content", "\x07\x1b"], "content_blank"),
    "escaped NUL in a field": (
        ["--topic", "research", "--sub-topic", "paper", "--content", r'{"title": "a\u0000"}'], "content_has_nul",
    ),
    "escaped half pair in a field": (
        ["--topic", "research", "--sub-topic", "paper", "--content", r'{"title": "\ud800"}'], "content_not_unicode",
    ),
    "unknown topic": (["--content", "x", "--topic", "👨‍👩‍👧\x1b[2J"], "unknown_topic"),
    "unknown sub_topic": (["--content", "x", "--topic", "work", "--sub-topic", "'; --"], "unknown_sub_topic"),
    "empty topic": (["--content", "x", "--topic", ""], "blank_slot"),
    "a date of signs": (["--content", "x", "--expires", "２０２６-01-01\0"], "bad_date"),
    "a date of emoji": (["--content", "x", "--since", "👍🏽"], "bad_date"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_stored_exactly_is_refused_with_its_code(case: str) -> None:
    """Exit 1, an object that says what to do, nothing written; the same for a person and an agent."""
    options, code = REFUSED[case]
    for by in ("user", "ai"):
        refused = mex("add", *options, "--by", by, "--json", ok=False)
        error = json.loads(refused.err.splitlines()[-1])
        assert (refused.code, error["code"]) == (1, code)
        assert error["message"]
        refused.err.encode()
    assert contents() == []


@pytest.mark.parametrize("content", ["a\0b", "a\ud83d", "", "x" * 20_001])
def test_an_update_refuses_what_an_addition_refuses(content: str) -> None:
    """The memory stays as it was."""
    memory = mex("add", "--content", "before", "--json").json
    assert mex("update", memory["id"], "--content", content, ok=False).code == 1
    assert contents() == ["before"]


WORDS = [
    "NEAR(基金 焦虑)", "NEAR", "AND", "基金 AND", "OR OR", "NOT", "基*", "^基金", '"', '""', '"基金', '基金"', "'", "(", ")",
    "((", "content:基金", "-基金", "+", "%", "_", "\\", "\\%", "*", "^", "{", "}", "[", ":", "::", ";", "--", "/*", "\t", "👍🏽",
    "👍🏿", FAMILY, "🇨🇳", "שלום", "مرحبا", "\u202e", "é", "e\u0301", "Å", "\u200d", "\ufeff", "\x07", "\x1b[31m",
]  # fmt: skip


def test_e4_any_keyword_is_literal_and_finds_exactly_what_holds_it() -> None:
    """Every operator, quote and wild card of the index, and signs of every kind."""
    held = ["100%_sure", "a*b^c", 'say "基金" (NEAR)', "C:\\dir -x", "基金 AND 股票", "👍🏽 好", FAMILY + "出游", "שלום 世界",
            "résumé", "plain"]  # fmt: skip
    for content in held:
        mex("add", "--content", content)
    for word in WORDS:
        found = mex("search", "--keyword", word, "--json")
        assert found.code == 0
        if word.strip() and word.isprintable() and " " not in word:
            expected = {one for one in held if word.casefold() in one.casefold()}
            assert expected <= {one["content"] for one in found.json}, word
    assert [one["content"] for one in mex("search", "--keyword", "👍🏽", "--json").json] == ["👍🏽 好"]
    assert [one["content"] for one in mex("search", "--keyword", "%", "--json").json] == ["100%_sure"]
    assert mex("search", "--keyword", "🏿", "--json").json == []
    assert len(mex("search", "--keyword", "   ", "--json").json) == len(held)


@pytest.mark.parametrize(
    "keyword", ["基" * 10_000, "a " * 5_000, '"' * 10_000, "%_" * 5_000, "👍🏽" * 5_000, "(" * 10_000]
)
def test_e4_a_keyword_of_10_000_characters_is_a_keyword(keyword: str) -> None:
    """It finds nothing here, in no noticeable time, and is no error."""
    mex("add", "--content", "基金 a (")
    assert isinstance(mex("search", "--keyword", keyword, "--json").json, list)


@pytest.mark.parametrize(
    "command",
    [
        ["add", "--content"],
        ["add", "--content", "x", "--topic"],
        ["add", "--content", "x", "--topic", "work", "--sub-topic"],
        ["add", "--content", "x", "--expires"],
        ["add", "--content", "x", "--since"],
        ["search", "--keyword"],
        ["search", "--topic"],
        ["search", "--since"],
        ["search"],
        ["list", "--topic"],
        ["profile", "--topics"],
        ["get"],
        ["extract"],
        ["extract", "--file"],
        ["transcript"],
        ["jobs", "show"],
    ],
)  # fmt: skip
def test_arguments_that_are_not_utf_8_are_a_users_error(command: list[str]) -> None:
    """Bytes straight from a shell in another encoding."""
    ran = subprocess.run(
        [sys.executable, "-m", "mex_pipeline", *command, b"\xff\xfe\xc0" * 4],
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 1, ran
    said = ran.stderr.decode("utf-8")
    assert "Error: " in said
    assert "Traceback" not in said
    assert contents() == []


TEXTS = st.text(st.characters(exclude_categories=()), max_size=40) | st.text(
    "\"'%_*^()-:\\ 基金ab👍🏽\u0301\0\ud800", max_size=20
)


@settings(max_examples=tries(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS)
def test_any_content_is_stored_exactly_or_refused_and_any_text_may_be_searched(text: str) -> None:
    """Without a traceback in either case."""
    ran = mex("add", "--content", text, "--json", ok=False)
    if ran.code == 0:
        assert stored()[-1] == text.strip()
        found = mex("search", "--keyword", text.strip(), "--limit", "1000", "--json").json
        assert ran.json["id"] in [one["id"] for one in found]
    else:
        assert ran.code == 1
        assert json.loads(ran.err.splitlines()[-1])["code"] in {
            "content_has_nul",
            "content_not_unicode",
            "content_blank",
            "usage",
        }


@pytest.mark.parametrize(
    "reason", ["👍🏽 不再喜欢", "'; DROP TABLE memories; --", "\x1b[2J\x07 bell", "مرحبا \u202e", "a\nb"]
)
def test_a_reason_is_stored_as_it_was_given_and_shown_safely(reason: str) -> None:
    """A reason is text as a content is."""
    memory = mex("add", "--content", "x", "--json").json
    mex("forget", memory["id"], "--reason", reason)
    assert mex("get", memory["id"]).json["forgotten_reason"] == reason
    shown = mex("list", "--include-forgotten").out + mex("history", memory["id"]).out
    assert not {"\x1b", "\x07"} & set(shown)

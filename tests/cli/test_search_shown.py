"""What `mex search` shows people and programs: scores and why, what is lacking, how many there are, where the words stand."""

import re
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.domain.memory import Confidence
from tests.support import past
from tests.support.program import mex
from tests.support.terminal import Terminal

AT = "2026-03-01T08:00:00Z"


def hits(*arguments: str) -> list[dict[str, Any]]:
    return list(mex("search", *arguments, "--json").json)


def test_every_hit_has_a_score_and_says_whether_it_lacks_words() -> None:
    past.add(AT, None, "成都很大")
    past.add(AT, None, "在成都吃火锅", confidence=Confidence.EXPLICIT)
    whole, part = hits("成都")
    assert (whole["partial"], part["partial"]) == (False, False)
    assert whole["score"] >= part["score"] > 0
    assert [(one["content"], one["partial"]) for one in hits("成都 游泳")] == [
        ("成都很大", True),
        ("在成都吃火锅", True),
    ]
    assert [one["score"] for one in hits()] == [None, None], "nothing was compared"
    assert {"score", "partial", "explained"} & set(mex("search", "--history", "成都", "--json").json[0]) == set()


def test_people_are_told_that_no_memory_holds_all_words() -> None:
    past.add(AT, None, "成都很大")
    assert mex("search", "成都 游泳").out.startswith("No memory holds all of these words")
    assert mex("--lang", "zh", "search", "成都 游泳").out.startswith("没有记忆包含全部词语")
    assert "No memory holds" not in mex("search", "成都").out


def test_explain_tells_the_parts_of_a_score_and_how_each_word_was_found() -> None:
    past.add(AT, None, "caching layers in 成都")
    (hit,) = hits("caches 成都", "--explain")
    assert hit["explained"]["words"] == [{"word": "caches", "by": "stem"}, {"word": "成都", "by": "exact"}]
    assert hits("laye", "--explain")[0]["explained"]["words"] == [{"word": "laye", "by": "part"}]
    product = 1.0
    for name in ("relevance", "confidence", "recency", "pinned"):
        product *= hit["explained"][name]
    assert hit["score"] == pytest.approx(product, abs=1e-3)
    shown = mex("search", "caches 成都", "--explain").out
    assert re.search(r"Score \d\.\d\d = relevance \d\.\d\d × confidence 1\.00 × recency \d\.\d\d × pinned 1\.00", shown)
    assert "caches (another form), 成都 (as it is)" in shown
    assert "caches（词形变化）" in mex("--lang", "zh", "search", "caches 成都", "--explain").out
    assert hits("--explain")[0]["explained"] is None


def test_explain_does_not_repeat_the_characters_of_a_word() -> None:
    past.add(AT, None, "成都很大")
    assert "Found by: 成都 (as it is)\n" in mex("search", "成都 游泳", "--explain").out


def test_explain_is_for_the_present() -> None:
    for option in (["--history"], ["--as-of", "2026-03-01"], ["--known-at", "2026-03-01"]):
        refused = mex("search", "成都", "--explain", *option, "--json", ok=False)
        assert (refused.code, '"explain_and_past"' in refused.err) == (1, True)


def test_a_page_says_how_many_there_are() -> None:
    for number in range(12):
        past.add(AT, None, f"猫 {number}")
    assert "Showing 1-5 of 12, 7 more: --offset 5" in mex("search", "猫", "--limit", "5").out
    assert "Showing 6-10 of 12, 2 more: --offset 10" in mex("search", "--limit", "5", "--offset", "5").out
    assert "Showing" not in mex("search", "猫").out
    assert "共 12 条" in mex("--lang", "zh", "search", "猫", "--limit", "5").out


def test_words_stand_out_on_a_terminal_and_nowhere_else(tmp_path: Path) -> None:
    past.add(AT, None, "Read the Ｃａｆé in 成都")
    with Terminal(tmp_path, "search", "cafe 成都") as terminal:
        terminal.end()
        assert "Read the \x1b[32mＣａｆé\x1b[0m in \x1b[32m成都\x1b[0m" in terminal.seen
    assert "\x1b[" not in mex("search", "cafe 成都").out

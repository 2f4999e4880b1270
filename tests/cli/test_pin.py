"""`mex pin`: what a person wants first stands first, and stays."""

import pytest

from tests.seed.ground import refused, rows
from tests.support.program import mex


def add(content: str, *options: str) -> str:
    """The id of a memory that a person has added."""
    return str(mex("add", "--content", content, *options, "--json").json["id"])


def test_a_pinned_memory_is_told_everywhere_and_the_pin_can_be_taken_off(home: object) -> None:
    one = add("会养蜂")
    assert mex("pin", one, "--json").json[0]["is_pinned"] is True
    assert "置顶" in mex("--lang", "zh", "list").out
    assert "pinned" in mex("list").out
    assert mex("get", one).json["is_pinned"] is True
    assert [line["event"] for line in mex("history", one, "--json").json] == ["add", "update"]
    assert mex("pin", one, "--json").json[0]["is_pinned"] is True
    assert len(mex("history", one, "--json").json) == 2, "pinned already: nothing has changed"
    assert mex("pin", one, "--off", "--json").json[0]["is_pinned"] is False
    assert "pinned" not in mex("list").out


def test_the_profile_shows_pinned_values_first_and_cuts_them_last(home: object) -> None:
    first, *others = [
        add(f"{name}的长长的爱好", "--topic", "leisure", "--sub-topic", "hobbies")
        for name in ("养蜂", "围棋", "夜跑", "滑雪")
    ]
    assert "养蜂" not in mex("profile").out, "the oldest of four is beyond the three of a slot"
    mex("pin", first)
    assert "养蜂" in mex("profile").out
    tight = mex("profile", "--max-tokens", "100").out
    assert "养蜂" in tight or all(name not in tight for name in ("围棋", "夜跑", "滑雪"))
    assert len(others) == 3


def test_the_profile_shows_a_pinned_record_however_old_it_is(home: object) -> None:
    one = add("护照放在书柜第二层")
    rows("UPDATE memories SET created_at = '2020-01-01T00:00:00Z'")
    assert "护照" not in mex("profile").out
    mex("pin", one)
    assert "护照" in mex("profile").out


def test_a_pin_survives_export_import_and_new_values(home: object) -> None:
    one = add("会养蜂")
    mex("pin", one)
    mex("update", one, "--content", "会养很多蜂")
    file = f"{home}/out.json"
    mex("export", "--output", file)
    mex("clear", "--yes")
    mex("import", file)
    assert [(found["content"], found["is_pinned"]) for found in mex("list", "--json").json] == [("会养很多蜂", True)]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_forgotten_or_unknown_cannot_be_pinned(home: object, language: str) -> None:
    one = add("会养蜂")
    mex("forget", one)
    assert one in refused("--lang", language, "pin", one).err
    assert refused("--lang", language, "pin", "12345678").code == 1

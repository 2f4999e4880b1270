"""`--as-of` asks what held, `--known-at` what was known (product B11, E2); all reading leaves the writers alone (fault 5)."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from mex_pipeline.domain.candidate import Action
from mex_pipeline.domain.memory import Actor, Confidence
from tests.domain.examples import proposal
from tests.support import past
from tests.support.program import mex
from tests.support.reconciling import said


def profile(*arguments: str, **environment: str) -> str:
    return mex("--lang", "zh", "profile", *arguments, **environment).out


def contents(*arguments: str) -> list[str]:
    return [one["content"] for one in mex("search", *arguments, "--json").json]


@pytest.fixture
def moved() -> None:
    """Said in January to live in 上海 and in March in 杭州; meX heard of the first in April, of the second in March."""
    past.extract("2026-03-10T08:00:00Z", proposal("basic_info.location", "杭州", source=said("2026-03-05T08:00:00Z")))
    past.extract("2026-04-10T08:00:00Z", proposal("basic_info.location", "上海", source=said("2026-01-05T08:00:00Z")))


@pytest.mark.usefixtures("moved")
def test_b11_as_of_asks_by_validity_and_known_at_by_knowledge() -> None:
    assert "现居地：上海" in profile("--as-of", "2026-02-01")
    assert profile("--as-of", "2026-01-01") == "# 用户画像\n"
    assert "现居地：杭州" in profile("--as-of", "2026-03-05")
    assert "现居地：杭州" in profile("--known-at", "2026-03-10")
    assert profile("--known-at", "2026-02-01") == "# 用户画像\n"


@pytest.mark.usefixtures("moved")
def test_b11_search_takes_the_same_moments_and_its_literal_words() -> None:
    assert contents("--as-of", "2026-02-01") == ["上海"]
    assert contents("海", "--as-of", "2026-02-01") == ["上海"]
    assert contents("topic:basic_info 杭", "--as-of", "2026-02-01") == []
    assert contents("--keyword", "杭 州", "--known-at", "2026-03-10") == ["杭州"]
    assert contents("--topic", "work", "--as-of", "2026-02-01") == []
    assert contents("--known-at", "2026-03-09") == []
    (shown,) = mex("search", "--as-of", "2026-02-01", "--json").json
    assert (shown["valid_from"], shown["valid_to"], shown["forgotten_at"]) == (
        "2026-01-05T08:00:00Z", "2026-03-05T08:00:00Z", None,
    )  # fmt: skip


def test_g2_a_date_means_its_end_where_you_are_and_a_date_time_is_exact() -> None:
    past.add("2026-03-01T20:00:00Z", "basic_info.name", "小陈")
    for at, zone, seen in (
        ("2026-03-01", "UTC", True),
        ("2026-03-01", "Asia/Shanghai", False),
        ("2026-03-02", "Asia/Shanghai", True),
        ("2026-03-02 03:59:59", "Asia/Shanghai", False),
        ("2026-03-02T04:00", "Asia/Shanghai", True),
    ):
        for option in ("--as-of", "--known-at"):
            assert ("小陈" in profile(option, at, TZ=zone)) is seen, (at, zone, option)


def test_b11_the_future_has_its_expiries_and_no_knowledge() -> None:
    mex("add", "--topic", "basic_info", "--sub-topic", "location", "--content", "杭州", "--expires", "2098-12-31")
    assert "杭州" in profile("--as-of", "2098-12-30")
    assert "杭州" not in profile("--as-of", "2099-01-01")
    assert profile("--known-at", "2099-01-01") == profile()


def test_b11_now_looks_like_now_either_way() -> None:
    """Marks, order, counts, recent section, the value behind a doubt: the same text to the letter."""
    company = past.add("2026-03-01T08:00:00Z", "work.company", "甲公司")
    past.update("2026-03-02T08:00:00Z", company, content="乙公司", actor=Actor.AI)
    for number, tier in enumerate([*Confidence, Confidence.INFERRED]):
        past.add(f"2026-03-0{number + 1}T08:00:00Z", "work.tech_stack", f"技能{number}", confidence=tier)
    mex("add", "--content", "晨跑")
    mex("add", "--topic", "health", "--content", "体检")
    now = profile()
    assert "此前：甲公司" in now
    assert "共 6 条" in now
    assert now.endswith("## 近期动态\n- 体检\n- 晨跑\n")
    assert profile("--known-at", "0d") == now
    assert profile("--as-of", "0d") == now
    assert profile("--topics", "work", "--max-tokens", "60", "--as-of", "0d") == profile(
        "--topics", "work", "--max-tokens", "60"
    )


def test_b11_recent_is_what_was_recent_then() -> None:
    past.add("2026-03-01T08:00:00Z", None, "三月的事")
    past.extract("2026-06-01T08:00:00Z", proposal(None, "一月的事", source=said("2026-01-03T08:00:00Z")))
    assert "三月的事" in profile("--as-of", "2026-03-05")
    assert "一月的事" not in profile("--as-of", "2026-03-05")
    assert "一月的事" in profile("--as-of", "2026-01-05")
    assert "一月的事" in profile("--known-at", "2026-06-02")
    assert "近期动态" not in profile("--as-of", "2026-03-05", "--recent-limit", "0")


def test_seed_7_2_a_retired_value_held_until_it_was_taken_back() -> None:
    past.extract("2026-01-02T08:00:00Z", proposal("work.tech_stack", "Java", source=said("2026-01-01T08:00:00Z")))
    past.extract(
        "2026-05-02T08:00:00Z",
        proposal("work.tech_stack", "Java", action=Action.RETIRE, source=said("2026-05-01T08:00:00Z")),
    )
    assert "Java" in profile("--as-of", "2026-04-30")
    assert "Java" not in profile("--as-of", "2026-05-01")
    assert "Java" in profile("--known-at", "2026-05-01")
    assert "Java" not in profile("--known-at", "2026-05-02")


def test_b6_what_was_deleted_for_good_was_never_there() -> None:
    memory = past.add("2026-01-02T08:00:00Z", "basic_info.name", "秘密")
    past.delete_for_good("2026-02-01T08:00:00Z", memory)
    for option in ("--as-of", "--known-at"):
        assert "秘密" not in profile(option, "2026-01-05")
        assert contents(option, "2026-01-05") == []


def test_a_history_without_states_is_read_for_its_contents(home: Path) -> None:
    """What an older database left: contents, times, events."""
    memory = past.add("2026-01-02T08:00:00Z", "basic_info.location", "上海")
    past.update("2026-02-02T08:00:00Z", memory, content="杭州")
    with closing(sqlite3.connect(home / "mex.db")) as other, other:
        other.execute("UPDATE history SET before = NULL, after = NULL")
    for option in ("--as-of", "--known-at"):
        assert "上海" in profile(option, "2026-02-01")
        assert "杭州" in profile(option, "2026-02-02")
    assert [one["content"] for one in mex("search", "--history", "上海", "--json").json] == ["上海"]


def test_the_moment_is_told_in_json_and_a_wrong_one_is_refused() -> None:
    past.add("2026-01-02T08:00:00Z", None, "x")
    assert mex("profile", "--as-of", "2026-01-02", "--json", TZ="UTC").json["as_of"] == "2026-01-02T23:59:59Z"
    assert (
        mex("profile", "--known-at", "2026-01-02 10:00", "--json", TZ="UTC").json["known_at"] == "2026-01-02T10:00:00Z"
    )
    for command in ("profile", "search"):
        for wrong, code in (
            (["--as-of", "2026-01-02", "--known-at", "2026-01-02"], "as_of_and_known_at"),
            (["--as-of", "yesterday"], "bad_date"),
            (["--known-at", ""], "bad_date"),
        ):
            ran = mex("--json", command, *wrong, ok=False)
            assert (ran.code, json.loads(ran.err)["code"]) == (1, code)
    assert json.loads(mex("--json", "search", "--history", "--as-of", "1d", ok=False).err)["code"] == "history_and_past"


READING = [
    ["profile"], ["profile", "--explain"], ["profile", "--as-of", "2026-01-05"], ["profile", "--known-at", "1d"],
    ["profile", "--project", ".", "--topics", "work", "--max-tokens", "50"], ["search", "远光"],
    ["search", "远 topic:work -x since:900d"], ["search", "--history", "远"], ["search", "--as-of", "1d"],
    ["search", "--known-at", "1d", "--keyword", "远"], ["search", "--include-forgotten", "--project", "."],
    ["list"], ["list", "--include-forgotten", "--project", "."], ["get", "{id}"], ["history", "{id}"], ["diff"],
    ["diff", "--since", "2026-01-01", "--until", "2026-02-01"], ["stats"], ["review", "list"], ["jobs", "list"],
]  # fmt: skip


def test_fault_5_reading_takes_no_write_lock_and_changes_nothing(home: Path) -> None:
    """While another program holds the write lock every reading command answers, and the file stays as it is."""
    memory = past.add("2026-01-02T08:00:00Z", "work.company", "远光软件")
    with closing(sqlite3.connect(home / "mex.db", isolation_level=None)) as other:
        before = other.execute("PRAGMA data_version").fetchone()
        other.execute("BEGIN IMMEDIATE")
        for words in READING:
            mex(*(word.format(id=memory.id) for word in words))
        other.execute("ROLLBACK")
        assert other.execute("PRAGMA data_version").fetchone() == before


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [(["profile"], False), (["search", "x"], False), (["list"], False), (["search", "--as-of", "1d"], True)],
)
def test_p2_a_plain_query_does_not_load_time_travel(arguments: list[str], expected: bool) -> None:
    mex("init")
    script = (
        "import sys; from mex_pipeline.cli.main import run; run(sys.argv[1:]);"
        "print('\\n', 'mex_pipeline.domain.timeline' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == str(expected)

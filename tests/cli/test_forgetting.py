"""`mex forget` without `--hard`: by id, by condition, previewed, and how it can be undone (seed 004 ADR-8, product G5)."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.program import Ran, contents, mex, opened

WORK = ("--topic", "work", "--sub-topic")


def add(*arguments: str) -> dict[str, Any]:
    """Add a memory and return it."""
    return dict(mex("add", *arguments, "--json").json)


def refused(*arguments: str) -> tuple[int, str]:
    """The exit code and error code of a call that must fail with nothing on stdout."""
    ran = mex("--json", *arguments, ok=False)
    assert ran.out == ""
    return ran.code, json.loads(ran.err.splitlines()[-1])["code"]


def listed(*arguments: str) -> list[str]:
    """The contents a command lists, sorted."""
    return sorted(memory["content"] for memory in mex(*arguments, "--json").json)


def test_seed_adr_8_forgetting_keeps_the_row_with_its_time_and_reason_and_hides_it() -> None:
    memory = add(*WORK, "company", "--content", "远光软件")
    before = mex("forget", memory["id"][:8], "--reason", "换工作了", "--json").json
    assert before == [memory], "as it was before, in a list"
    shown = mex("get", memory["id"]).json
    assert (shown["content"], shown["forgotten_reason"]) == ("远光软件", "换工作了")
    assert shown["forgotten_at"]
    last = shown["history"][-1]
    assert (last["event"], last["actor"], last["old_content"], last["new_content"]) == (
        "forget", "user", "远光软件", None,
    )  # fmt: skip
    assert contents() == []
    assert mex("search", "远光", "--json").json == []
    assert "远光" not in mex("profile").out


def test_seed_5_2_what_was_hit_is_printed_with_the_command_that_undoes_it() -> None:
    memories = [add("--content", f"第{number}条") for number in range(2)]
    ids = [memory["id"] for memory in memories]
    ran = mex("forget", *ids)
    for memory in memories:
        assert f"{memory['id']}: {memory['content']}" in ran.out
    undo = ran.out.splitlines()[-1].partition("mex ")[2].split()
    assert undo == ["restore", *ids]
    mex(*undo)
    assert contents() == ["第0条", "第1条"]
    assert "撤销：mex restore" in mex("--lang", "zh", "forget", ids[0]).out


def test_seed_adr_8_a_dry_run_lists_and_writes_nothing(home: Path) -> None:
    add(*WORK, "tech_stack", "--content", "Go")
    add(*WORK, "tech_stack", "--content", "Rust")
    with opened(home / "mex.db") as connection:
        (before,) = connection.execute("PRAGMA data_version").fetchone()
        assert listed("forget", "--topic", "work", "--dry-run") == ["Go", "Rust"]
        assert "Rust" in mex("forget", "--topic", "work", "--dry-run").out
        assert listed("forget", "--topic", "work", "--dry-run", "--hard") == ["Go", "Rust"]
        assert connection.execute("PRAGMA data_version").fetchone() == (before,)
    assert contents() == ["Go", "Rust"]


CONDITIONS = [
    (["--topic", "work"], ["Go 语言", "Python", "远光软件"]),
    ([*WORK, "tech_stack"], ["Go 语言", "Python"]),
    (["--keyword", "语言"], ["Go 语言", "学第二门语言"]),
    (["--keyword", "语言", "--topic", "work"], ["Go 语言"]),
    (["--confidence", "inferred"], ["远光软件"]),
    (["--since", "1d"], ["Go 语言", "Python", "学第二门语言", "远光软件"]),
    (["--no-ai-inferred", "--topic", "edu"], ["学第二门语言"]),
    (["--until", "2999-01-01", "--confidence", "confirmed", "--topic", "work"], ["Go 语言", "Python"]),
]


@pytest.mark.parametrize(("conditions", "hit"), CONDITIONS, ids=" ".join)
def test_product_g5_conditions_must_all_hold(conditions: list[str], hit: list[str]) -> None:
    add(*WORK, "tech_stack", "--content", "Go 语言")
    add(*WORK, "tech_stack", "--content", "Python")
    add(*WORK, "company", "--content", "远光软件", "--confidence", "inferred")
    add("--topic", "edu", "--content", "学第二门语言")
    everything = contents()
    assert listed("forget", *conditions, "--dry-run") == hit
    assert listed("forget", *conditions) == hit
    assert contents() == [content for content in everything if content not in hit]


def test_product_g5_ai_inferred_means_what_a_model_inferred(home: Path) -> None:
    add("--content", "亲口说的")
    guess = add("--content", "推断的")
    with opened(home / "mex.db") as connection:
        connection.execute("UPDATE memories SET is_ai_inferred = 1 WHERE id = ?", (guess["id"],))
    assert listed("forget", "--ai-inferred") == ["推断的"]
    assert contents() == ["亲口说的"]


def test_product_g5_conditions_leave_forgotten_and_expired_memories_alone() -> None:
    expired = add("--topic", "work", "--content", "过期", "--expires", "2020-01-01")
    mex("forget", add("--topic", "work", "--content", "忘了")["id"], "--reason", "先前")
    add("--topic", "work", "--content", "有效")
    assert listed("forget", "--topic", "work", "--reason", "后来") == ["有效"]
    assert mex("get", expired["id"]).json["forgotten_at"] is None
    mex("forget", expired["id"])
    assert mex("get", expired["id"]).json["forgotten_at"], "by id an expired memory can be forgotten"


WRONG = [
    (["forget"], "forget_nothing"),
    (["forget", "--reason", "x"], "forget_nothing"),
    (["forget", "00000000", "--topic", "work"], "forget_ids_and_conditions"),
    (["forget", "00000000"], "memory_not_found"),
    (["forget", "--topic", "health"], "nothing_matches"),
    (["forget", "--topic", "health", "--dry-run"], "nothing_matches"),
    (["forget", "--topic", "health", "--hard", "--yes"], "nothing_matches"),
    (["forget", "--sub-topic", "company"], "sub_topic_without_topic"),
    (["forget", "--keyword", " "], "keyword_blank"),
    (["forget", "--topic", "work", "--keyword", ""], "keyword_blank"),
    (["forget", "--since", ""], "bad_date"),
    (["forget", "--confidence", "sure"], "usage"),
]


@pytest.mark.parametrize(("arguments", "code"), WRONG, ids=lambda one: " ".join(one) if isinstance(one, list) else one)
def test_seed_5_2_a_call_that_does_not_say_what_it_means_is_refused(arguments: list[str], code: str) -> None:
    add("--topic", "work", "--content", "留着")
    assert refused(*arguments) == (1, code)
    assert contents() == ["留着"]


def test_seed_adr_8_forgetting_twice_is_refused_and_all_ids_go_or_none() -> None:
    first, second = add("--content", "甲"), add("--content", "乙")
    mex("forget", first["id"])
    assert refused("forget", second["id"], first["id"]) == (1, "already_forgotten")
    assert contents() == ["乙"]
    mex("forget", second["id"], second["id"][:12])
    lines = mex("get", second["id"]).json["history"]
    assert [line["event"] for line in lines] == ["add", "forget"], "an id named twice is one memory"


def test_fault_1_a_forgotten_value_never_hides_that_its_slot_is_taken() -> None:
    old = add("--topic", "basic_info", "--sub-topic", "name", "--content", "甲")
    mex("forget", old["id"])
    add("--topic", "basic_info", "--sub-topic", "name", "--content", "乙")
    assert refused("add", "--topic", "basic_info", "--sub-topic", "name", "--content", "丙") == (1, "slot_occupied")
    mex("extract", "我叫林小满。")
    assert len(contents()) == 1


def test_product_f4_forgetting_by_an_agent_shows_as_the_agents() -> None:
    memory = add("--content", "甲")
    mex("forget", memory["id"], CLAUDECODE="1")
    assert mex("get", memory["id"]).json["history"][-1]["actor"] == "ai"


def test_seed_3_1_an_empty_reason_is_none() -> None:
    memory = add("--content", "甲")
    ran: Ran = mex("forget", memory["id"], "--reason", "  ")
    assert ran.code == 0
    assert mex("get", memory["id"]).json["forgotten_reason"] is None

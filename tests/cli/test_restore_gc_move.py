"""`mex restore`, `mex gc`, `mex move` (seed 004 ADR-8, ADR-11; product B7, G13)."""

import json
import shlex
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.program import contents, mex, opened
from tests.support.sessions import SessionFile

WORK = ("--topic", "work", "--sub-topic")
NAME = ("--topic", "basic_info", "--sub-topic", "name")
JOB = '{"start": "2019", "end": "2023", "company": "星辰软件"}'


def add(*arguments: str) -> dict[str, Any]:
    """Add a memory and return it."""
    return dict(mex("add", *arguments, "--json").json)


def forgotten(*arguments: str) -> dict[str, Any]:
    """A memory that was added and forgotten."""
    memory = add(*arguments)
    mex("forget", memory["id"], "--reason", "试试")
    return memory


def refused(*arguments: str) -> tuple[int, str]:
    """The exit code and error code of a call that must fail with nothing on stdout."""
    ran = mex("--json", *arguments, ok=False)
    assert ran.out == ""
    return ran.code, json.loads(ran.err.splitlines()[-1])["code"]


def events(memory: dict[str, Any]) -> list[str]:
    """What happened to a memory, oldest first."""
    return [line["event"] for line in mex("get", memory["id"]).json["history"]]


def test_seed_adr_8_a_forgotten_memory_is_restored_as_it_was() -> None:
    memory = forgotten(*WORK, "company", "--content", "远光软件")
    restored = mex("restore", memory["id"][:8], "--json").json
    assert restored | {"updated_at": ""} == memory | {"updated_at": ""}
    assert events(memory) == ["add", "forget", "restore"]
    assert contents() == ["远光软件"]
    assert mex("search", "远光", "--json").json[0]["id"] == memory["id"]


def test_seed_5_2_restoring_prints_each_id_and_content_and_takes_all_or_none() -> None:
    first, second = forgotten("--content", "甲"), forgotten("--content", "乙")
    active = add("--content", "丙")
    assert refused("restore", first["id"], active["id"]) == (1, "not_forgotten")
    assert contents() == ["丙"]
    ran = mex("restore", first["id"], second["id"])
    assert f"{first['id']}: 甲" in ran.out
    assert f"{second['id']}: 乙" in ran.out
    assert refused("restore", "00000000") == (1, "memory_not_found")
    assert refused("restore") == (1, "usage")


def test_product_b7_and_fault_2_a_taken_unique_slot_refuses_with_both_contents_and_what_to_do() -> None:
    old = forgotten(*WORK, "company", "--content", "远光'软件")
    new = add(*WORK, "company", "--content", "前进云")
    ran = mex("restore", old["id"], ok=False)
    assert ran.code == 1
    assert "远光'软件" in ran.err
    assert "前进云" in ran.err
    assert contents() == ["前进云"]
    _, _, update = ran.err.rstrip().rpartition("mex update ")
    mex("update", *shlex.split(update))
    assert contents() == ["远光'软件"]
    first, second = ran.err.split(" && ")
    mex(*first.rpartition("mex ")[2].split())
    mex("restore", second.split("restore ")[1].split(". ")[0])
    assert [one["id"] for one in mex("list", "--json").json] == [old["id"]]
    assert mex("get", new["id"]).json["forgotten_at"]


def test_product_b7_two_values_of_one_unique_slot_are_not_restored_together() -> None:
    first = forgotten(*WORK, "company", "--content", "甲")
    second = forgotten(*WORK, "company", "--content", "乙")
    assert refused("restore", first["id"], second["id"]) == (1, "restore_occupied")
    assert contents() == []
    many = [forgotten(*WORK, "tech_stack", "--content", one)["id"] for one in ("Go", "Rust")]
    mex("restore", *many)
    assert contents() == ["Go", "Rust"]


def test_product_b7_an_expired_holder_does_not_block_the_slot() -> None:
    old = forgotten(*WORK, "company", "--content", "甲")
    add(*WORK, "company", "--content", "乙", "--expires", "2020-01-01")
    mex("restore", old["id"])
    assert contents() == ["甲"]


def test_fault_12_a_restored_memory_whose_expiry_has_passed_is_seen_again_and_it_is_said() -> None:
    memory = add("--content", "会议室密码", "--expires", "2020-01-01")
    mex("gc")
    ran = mex("restore", memory["id"], "--json")
    assert ran.json["expires_at"] is None
    assert "expiry" in ran.err
    assert contents() == ["会议室密码"]
    assert mex("gc", "--json").json["expired"] == 0
    later = forgotten("--content", "以后到期", "--expires", "2099-01-01")
    assert mex("restore", later["id"], "--json").json["expires_at"] == later["expires_at"]


def test_product_b11_a_value_that_was_taken_back_holds_again_since_it_was_said(tmp_path: Path, home: Path) -> None:
    memory = add(*WORK, "tech_stack", "--content", "Go", "--since", "2024-01-01")
    with opened(home / "mex.db") as connection:
        connection.execute(
            "UPDATE memories SET forgotten_at = updated_at, forgotten_reason = 'retire', valid_to = updated_at"
        )
    restored = mex("restore", memory["id"], "--json").json
    assert (restored["valid_to"], restored["valid_from"]) == (None, memory["valid_from"])


def test_seed_3_6_a_slot_that_left_the_schema_does_not_hold_a_memory_back(home: Path) -> None:
    schema = home / "schema.yaml"
    mex("init")
    kept = schema.read_text(encoding="utf-8")
    schema.write_text(kept + "  pets:\n    description: Pets\n    sub_topics:\n      dog: A dog\n", encoding="utf-8")
    memory = forgotten("--topic", "pets", "--sub-topic", "dog", "--content", "旺财")
    schema.write_text(kept, encoding="utf-8")
    ran = mex("restore", memory["id"])
    assert "pets.dog" in ran.err
    assert contents() == ["旺财"]


def test_seed_3_6_content_that_no_longer_fits_is_restored_with_a_word(home: Path) -> None:
    memory = forgotten(*WORK, "experience", "--content", JOB)
    with opened(home / "mex.db") as connection:
        connection.execute("UPDATE memories SET content = '在星辰软件四年'")
    assert "work.experience" in mex("restore", memory["id"]).err


def test_fault_3_at_once_four_processes_leave_one_value_in_a_unique_slot() -> None:
    olds = [forgotten(*NAME, "--content", f"旧{number}")["id"] for number in range(2)]
    calls = [("restore", olds[0]), ("restore", olds[1]), *(("add", *NAME, "--content", f"新{n}") for n in range(2))]
    with ThreadPoolExecutor(4) as pool:
        codes = list(pool.map(lambda call: mex(*call, ok=False).code, calls))
    assert sorted(codes) == [0, 1, 1, 1]
    assert len(contents()) == 1


@pytest.mark.parametrize(("language", "reason"), [("en", "TTL expired"), ("zh", "TTL 过期")])
def test_seed_adr_11_gc_forgets_what_is_past_its_expiry_with_the_homes_reason(language: str, reason: str) -> None:
    mex("--lang", language, "init")
    past = add("--content", "过期", "--expires", "2020-01-01")
    add("--content", "未到期", "--expires", "2099-01-01")
    add("--content", "不过期")
    preview = mex("gc", "--dry-run", "--json").json
    assert (preview["expired"], preview["dry_run"]) == (1, True)
    assert mex("get", past["id"]).json["forgotten_at"] is None
    done = mex("--lang", "en", "gc", "--json").json
    assert done == {"expired": 1, "dry_run": False, "memories": [past]}
    shown = mex("get", past["id"]).json
    assert shown["forgotten_reason"] == reason
    last = shown["history"][-1]
    assert (last["event"], last["actor"], last["old_content"]) == ("expire", "user", "过期")
    again = mex("gc")
    assert again.out.strip()
    assert mex("gc", "--json").json["expired"] == 0
    assert contents() == ["不过期", "未到期"]


def test_seed_adr_11_gc_says_what_it_hit_and_how_to_undo() -> None:
    past = add("--content", "过期", "--expires", "2020-01-01")
    assert "过期" in mex("gc", "--dry-run").out
    ran = mex("gc")
    assert f"{past['id']}: 过期" in ran.out
    assert f"mex restore {past['id']}" in ran.out


def test_product_g13_a_memory_moves_to_another_slot_with_its_past(tmp_path: Path) -> None:
    session = SessionFile(tmp_path / "s.jsonl").user("记住：我对芒果过敏。")
    mex("extract", "--from", "claude", "--file", str(session.path))
    (before,) = mex("list", "--json").json
    target = ("--topic", "health", "--sub-topic", "concern")
    if (before["topic"], before["sub_topic"]) == ("health", "concern"):
        target = ("--topic", "health", "--sub-topic", "status")
    moved = mex("move", before["id"][:8], *target, "--json").json
    assert (moved["topic"], moved["sub_topic"]) == (target[1], target[3])
    same = ("content", "confidence", "evidence", "created_at", "valid_from", "times_seen")
    assert [moved[key] for key in same] == [before[key] for key in same]
    shown = mex("get", before["id"]).json
    assert shown["sources"]
    assert shown["history"][-1]["event"] == "move"
    assert shown["history"][-1]["actor"] == "user"


def test_product_g13_without_a_slot_it_becomes_a_record_of_the_topic() -> None:
    memory = add(*WORK, "company", "--content", "远光软件")
    assert mex("move", memory["id"], "--topic", "work", "--json").json["sub_topic"] is None
    assert "远光" not in mex("profile", "--recent-limit", "0").out
    assert "work.company" in mex("move", memory["id"], *WORK, "company").out
    assert "远光" in mex("profile", "--recent-limit", "0").out


def test_product_p7_an_agent_moves_what_no_person_has_confirmed() -> None:
    """Else "Alice, my sister" would be confirmed as the user's own name."""
    theirs = add("--content", "远光软件", "--by", "ai")
    mex("move", theirs["id"], *WORK, "company", "--by", "ai")
    assert mex("get", theirs["id"]).json["history"][-1]["actor"] == "ai"
    mine = add("--content", "Alice")
    doubt = add("--content", "Bob")
    mex("update", doubt["id"], "--content", "Carol", "--by", "ai")
    for memory in (mine, doubt):
        target = ("move", memory["id"], "--topic", "basic_info", "--sub-topic", "name")
        refused = mex(*target, "--by", "ai", "--json", ok=False)
        assert (refused.code, json.loads(refused.err)["code"]) == (1, "agent_cannot_move")
        assert mex(*target, ok=False, CLAUDECODE="1").code == 1
    mex("move", mine["id"], "--topic", "basic_info", "--sub-topic", "name")


def test_product_g13_history_has_both_places(home: Path) -> None:
    memory = add(*WORK, "company", "--content", "远光软件")
    mex("move", memory["id"], "--topic", "goals")
    with opened(home / "mex.db") as connection:
        (row,) = connection.execute("SELECT before, after FROM history WHERE event = 'move'").fetchall()
    places = [(state["topic"], state["sub_topic"]) for state in map(json.loads, row)]
    assert places == [("work", "company"), ("goals", None)]


def test_product_g13_a_move_is_checked_like_a_write() -> None:
    memory = add("--content", "远光软件")
    holder = add(*WORK, "company", "--content", "前进云")
    gone = forgotten("--content", "甲")
    wrong = {
        (): "move_nowhere",
        ("--sub-topic", "company"): "sub_topic_without_topic",
        ("--topic", "job"): "unknown_topic",
        (*WORK, "employer"): "unknown_sub_topic",
        (*WORK, "company"): "move_occupied",
        (*WORK, "experience"): "content_not_json",
    }
    for arguments, code in wrong.items():
        assert refused("move", memory["id"], *arguments) == (1, code)
    assert refused("move", holder["id"], *WORK, "company") == (1, "move_same_place")
    assert refused("move", gone["id"], "--topic", "work") == (1, "memory_forgotten")
    assert refused("move", "00000000", "--topic", "work") == (1, "memory_not_found")
    occupied = mex("move", memory["id"], *WORK, "company", ok=False).err
    assert "远光软件" in occupied
    assert "前进云" in occupied
    for command in occupied.split("To replace it: ")[1].strip().split(" && "):
        mex(*command.removeprefix("mex ").split())
    assert mex("get", memory["id"]).json["sub_topic"] == "company"


def test_product_g13_structured_content_is_stored_in_its_form() -> None:
    memory = add("--content", '{"company":"星辰软件","end":"2023","start":"2019"}')
    assert mex("move", memory["id"], *WORK, "experience", "--json").json["content"] == JOB

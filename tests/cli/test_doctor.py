"""`mex doctor`: every fault of a home is reported with what resolves it, and nothing is changed unasked (seed 004 §3.6)."""

import json
import shlex
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.support.model_server import ModelServer
from tests.support.old_files import OldFile
from tests.support.program import mex, opened

NAMES = [
    "home", "permissions", "config", "schema", "database", "search_index", "slots", "contents", "unique", "history",
    "audit", "jobs", "worker", "llm",
]  # fmt: skip


def report(*options: str, **environment: str) -> dict[str, Any]:
    return dict(mex("doctor", "--json", *options, **environment).json)


def check(shown: dict[str, Any], name: str) -> dict[str, Any]:
    return dict(next(one for one in shown["checks"] if one["name"] == name))


def statuses(shown: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["status"] for one in shown["checks"] if one["status"] not in ("ok", "skipped")}


def added(content: str, slot: str = "") -> str:
    topic, _, sub_topic = slot.partition(".")
    place = (["--topic", topic] if topic else []) + (["--sub-topic", sub_topic] if sub_topic else [])
    return str(mex("add", *place, "--content", content, "--json").json["id"])


def state(home: Path) -> dict[str, list[tuple[Any, ...]]]:
    with opened(home / "mex.db") as db:
        return {
            name: db.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall()
            for name in ("memories", "history", "memory_sources", "jobs")
        }


def test_a_sound_home_has_nothing_to_report(home: Path) -> None:
    mex("init")
    added("远光软件", "work.company")
    added("随手记")
    shown = report()
    assert [one["name"] for one in shown["checks"]] == NAMES
    assert statuses(shown) == {}
    assert (shown["schema_ok"], shown["dangling"], shown["fixed"]) == (True, [], {})
    assert shown["llm"].items() >= {"configured": False, "reachable": None, "models": None}.items()
    text = mex("doctor").out
    assert text.count("[ok]") == len(NAMES) - 1
    assert "[skipped] Model" in text
    assert "[正常] 历史" in mex("--lang", "zh", "doctor").out


def test_product_a3_a_home_that_is_not_there_is_made_and_told(home: Path) -> None:
    assert str(home) in mex("doctor").err
    assert mex("doctor").err == ""


def test_product_a6_a_mistyped_home_is_an_error(tmp_path: Path) -> None:
    refused = mex("doctor", ok=False, MEX_HOME=str(tmp_path / "no" / "such"))
    assert refused.code == 1


def edit_schema(home: Path, old: str, new: str) -> None:
    path = home / "schema.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_seed_3_6_a_slot_that_left_the_schema_is_reported_with_the_command_that_moves_it(home: Path) -> None:
    """And the printed command does it (product G13)."""
    mex("init")
    lost = added("远光软件", "work.company")
    added("深圳", "basic_info.location")
    record = added("公司年会", "work")
    edit_schema(home, "      company:", "      companies:")
    before = state(home)
    shown = report()
    assert statuses(shown) == {"slots": "problem"}
    assert shown["schema_ok"] is False
    (found,) = shown["dangling"]
    assert (found["id"], found["content"], found["reason"]) == (lost, "远光软件", "undeclared_slot")
    assert record not in json.dumps(shown)
    (item,) = check(shown, "slots")["items"]
    assert item["commands"] == [
        f"mex move {lost} --topic work --sub-topic companies", f"mex forget {lost}",
    ]  # fmt: skip
    text = mex("doctor").out
    assert f"mex move {lost} --topic work --sub-topic companies" in text
    assert "work.company" in text
    assert state(home) == before
    mex(*shlex.split(item["commands"][0])[1:])
    assert report()["schema_ok"] is True


def test_product_g13_without_a_near_slot_the_command_has_words_to_fill_in(home: Path) -> None:
    mex("init")
    added("旺财", "family.members")
    path = home / "schema.yaml"
    path.write_text("topics:\n  zzz:\n    sub_topics:\n      qqq: x\n", encoding="utf-8")
    (item,) = check(report(), "slots")["items"]
    assert item["commands"][0].endswith("--topic TOPIC --sub-topic SUB_TOPIC")


def test_seed_3_6_content_that_does_not_fit_its_structure_is_reported(home: Path) -> None:
    mex("init")
    lost = added("Python", "work.tech_stack")
    text = (home / "schema.yaml").read_text(encoding="utf-8").splitlines(keepends=True)
    at = next(number for number, line in enumerate(text) if line.strip().startswith("tech_stack:"))
    text[at] = "      tech_stack: {description: x, unique: false, fields: {name: {description: n, required: true}}}\n"
    (home / "schema.yaml").write_text("".join(text), encoding="utf-8")
    shown = report()
    assert [(one["id"], one["reason"]) for one in shown["dangling"]] == [(lost, "content_not_json")]
    (item,) = check(shown, "contents")["items"]
    command = shlex.split(item["commands"][0])
    assert command[:4] == ["mex", "update", lost, "--content"]
    assert json.loads(command[4]) == {"name": "…"}
    mex(*command[1:])
    assert report()["schema_ok"] is True


def test_product_h14_several_values_of_a_unique_slot_are_listed_and_the_commands_resolve_it(home: Path) -> None:
    """As a file of the original may bring them."""
    old = OldFile(home / "mex.db", 3)
    for number in range(3):
        old.memory(f"公司{number}", "work.company")
    old.memory('["Python", "Go"]', "work.tech_stack")
    old.close()
    home.chmod(0o700)
    (home / "mex.db").chmod(0o600)
    shown = report()
    assert statuses(shown) == {"unique": "problem"}
    assert sorted(one["content"] for one in shown["dangling"]) == ["公司0", "公司1", "公司2"]
    items = check(shown, "unique")["items"]
    for item in items[:2]:
        mex(*shlex.split(item["commands"][0])[1:])
    assert report()["schema_ok"] is True


def test_forgotten_and_expired_memories_are_nobody_s_concern(home: Path) -> None:
    mex("init")
    mex("forget", added("远光软件", "work.company"))
    mex("add", "--topic", "work", "--sub-topic", "company", "--content", "旧", "--expires", "2020-01-01")
    edit_schema(home, "      company:", "      companies:")
    assert report()["dangling"] == []


def test_fault_30_open_modes_are_reported_and_repaired(home: Path) -> None:
    mex("init")
    home.chmod(0o755)
    (home / "logs").chmod(0o750)
    for name in ("mex.db", "schema.yaml"):
        (home / name).chmod(0o644)
    shown = report()
    assert statuses(shown) == {"permissions": "problem"}
    items = {Path(item["path"]).name: item for item in check(shown, "permissions")["items"]}
    assert set(items) == {home.name, "logs", "mex.db", "schema.yaml"}
    assert (items["mex.db"]["mode"], items["mex.db"]["wanted"], items["logs"]["wanted"]) == ("0644", "0600", "0700")
    assert stat.S_IMODE(home.stat().st_mode) == 0o755, "nothing is changed unasked"
    assert "mex doctor --fix" in items["mex.db"]["commands"]
    fixed = report("--fix")
    assert fixed["fixed"]["permissions"] >= 4, "and the files SQLite lays beside an open one"
    assert statuses(fixed) == {}
    assert stat.S_IMODE((home / "mex.db").stat().st_mode) == 0o600
    assert report("--fix")["fixed"] == {}
    assert "Repaired" not in mex("doctor", "--fix").out


def test_a_search_index_that_lost_a_row_is_reported_and_made_anew(home: Path) -> None:
    mex("init")
    added("最近失恋了")
    added("在学 Python")
    with opened(home / "mex.db") as db:
        (seq, tokens) = db.execute("SELECT seq, tokens FROM memories ORDER BY seq LIMIT 1").fetchone()
        db.execute("INSERT INTO memories_fts (memories_fts, rowid, tokens) VALUES ('delete', ?, ?)", (seq, tokens))
    before = state(home)
    shown = report()
    assert statuses(shown) == {"search_index": "problem"}
    assert mex("search", "失恋", "--json").json == []
    fixed = report("--fix")
    assert (fixed["fixed"], statuses(fixed)) == ({"search_index": 1}, {})
    assert len(mex("search", "失恋", "--json").json) == 1
    assert state(home) == before, "memories stay as they are"


@pytest.mark.parametrize("sql", ["content = '住在波尔图 Porto'", "tokens = 'x'", "sought = 'x'"])
def test_words_that_another_hand_wrote_are_reported_and_found_again(home: Path, sql: str) -> None:
    mex("init")
    added("住在波尔图 Porto" if not sql.startswith("content") else "other")
    with opened(home / "mex.db") as db:
        db.execute(f"UPDATE memories SET {sql}")
    assert statuses(report())["search_index"] == "problem"
    assert report("--fix")["fixed"] == {"search_index": 1}
    assert [len(mex("search", word, "--json").json) for word in ("波尔", "ort", "ports")] == [1, 1, 0]
    assert check(report(), "search_index")["status"] == "ok"


@pytest.mark.parametrize(
    ("sql", "code", "others"),
    [
        ("UPDATE memories SET content = 'by another hand'", "history_differs", {"search_index": "problem"}),
        ("UPDATE memories SET confidence = 'uncertain'", "history_differs", {}),
        ("DELETE FROM history", "history_no_beginning", {}),
        ("DELETE FROM history WHERE event = 'add'", "history_no_beginning", {}),
    ],
)
def test_product_b8_a_history_that_does_not_lead_to_its_memory_is_reported(
    home: Path, sql: str, code: str, others: dict[str, str]
) -> None:
    mex("init")
    identifier = added("a")
    mex("update", identifier, "--content", "b")
    assert statuses(report()) == {}
    with opened(home / "mex.db") as db:
        db.execute(sql)
    shown = report()
    assert statuses(shown) == {"history": "problem"} | others
    assert [(item["id"], item["code"]) for item in check(shown, "history")["items"]] == [(identifier, code)]


def test_product_b1_a_file_that_was_taken_over_has_a_history_that_leads_to_it(home: Path) -> None:
    old = OldFile(home / "mex.db", 2)
    old.memory('["Python", "Go"]', "work.tech_stack")
    old.memory("imported", lines=[])
    old.memory(
        "乙",
        "work.company",
        lines=[("add", None, "甲", "2026-01-01T00:00:00Z"), ("update", "甲", "乙", "2026-01-02T00:00:00Z")],
    )
    old.close()
    assert check(report(), "history")["status"] == "ok"


def test_changes_of_every_kind_keep_the_history_whole(home: Path) -> None:
    mex("init")
    first, second = added("甲", "work.company"), added("乙")
    mex("update", first, "--content", "丙")
    mex("forget", second)
    mex("restore", second)
    mex("move", second, "--topic", "work")
    mex("forget", first)
    assert check(report(), "history")["status"] == "ok"


def test_a_job_of_a_dead_process_is_reported_and_taken_back(home: Path) -> None:
    quiet = {"MEX_WORKER_AUTOSTART": "false"}
    job = mex("extract", "--async", "我在远光软件", "--json", **quiet).json["job_id"]
    shown = report()
    assert statuses(shown) == {"worker": "warning"}
    assert check(shown, "worker")["items"][0]["commands"] == ["mex worker start"]
    with opened(home / "mex.db") as db:
        db.execute("UPDATE jobs SET state = 'running', lease_owner = 'dead00000000', fence = 1, attempt = 1")
    shown = report()
    assert statuses(shown) == {"jobs": "problem"}
    assert [item["id"] for item in check(shown, "jobs")["items"]] == [job]
    fixed = report("--fix")
    assert fixed["fixed"] == {"jobs": 1}
    assert check(fixed, "jobs")["status"] == "ok"
    assert mex("jobs", "show", job, "--json").json["state"] == "retrying"


def test_jobs_that_wait_for_a_person_are_listed_with_what_lets_them_go(home: Path) -> None:
    job = mex("extract", "--async", "我在远光软件", "--json", MEX_WORKER_AUTOSTART="false").json["job_id"]
    with opened(home / "mex.db") as db:
        db.execute("UPDATE jobs SET reason = 'llm_auth'")
    (item,) = check(report(), "jobs")["items"]
    assert (item["id"], item["commands"]) == (job, ["mex config llm", f"mex jobs retry {job}"])
    assert "refused the key" in item["message"]


def test_the_endpoint_is_asked_for_its_models_and_the_key_is_not_shown(home: Path, model: ModelServer) -> None:
    shown = report("--offline")
    assert shown["llm"].items() >= {"configured": True, "reachable": None, "models": None}.items()
    shown = report()
    assert (shown["llm"]["reachable"], shown["llm"]["models"]) == (True, None), "it answers, and has no list"
    assert statuses(shown) == {"llm": "warning"}
    model.offer("m1", "m2")
    shown = report()
    assert (shown["llm"]["reachable"], shown["llm"]["models"], statuses(shown)) == (True, 2, {})
    model.offer("other")
    shown = report()
    assert check(shown, "llm")["items"][0]["commands"] == ["mex config llm"]
    assert "m1" in check(shown, "llm")["items"][0]["message"]
    assert "sk-test" not in json.dumps(shown) + mex("doctor").out
    assert model.requests() == [], "nothing is paid for"


def test_an_endpoint_that_is_not_there_is_a_finding_and_no_failure(home: Path) -> None:
    url = "http://127.0.0.1:9/v1"
    mex("config", "llm", "--provider", "custom", "--base-url", url, "--api-key", "sk-hidden-key", "--model", "m")
    ran = mex("doctor", "--json")
    assert ran.json["llm"]["reachable"] is False
    assert "127.0.0.1:9" in ran.json["llm"]["message"]
    assert statuses(ran.json) == {"llm": "problem"}
    assert "sk-hidden" not in ran.out + ran.err


FAULTS: dict[str, tuple[str, str | bytes, str]] = {
    "broken settings": ("config.yaml", "llm: [\n", "config"),
    "an unknown setting": ("config.yaml", "llm:\n  modle: x\n", "config"),
    "half an endpoint": ("config.yaml", "llm:\n  model: x\n", "config"),
    "a broken schema": ("schema.yaml", "topics: [\n", "schema"),
    "a schema that is no text": ("schema.yaml", b"\xff\xfe", "schema"),
    "a doubled slot": ("schema.yaml", "topics:\n  a: {}\n  a: {}\n", "schema"),
    "no database": ("mex.db", b"this is no database at all, whatever it is called" * 30, "database"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_whatever_is_broken_the_rest_is_looked_at(home: Path, name: str) -> None:
    mex("init")
    file, text, broken = FAULTS[name]
    raw = text if isinstance(text, bytes) else text.encode()
    (home / file).write_bytes(raw)
    shown = report()
    assert statuses(shown) == {broken: "problem"}
    assert len(shown["checks"]) == len(NAMES)
    assert check(shown, broken)["detail"]
    assert shown["schema_ok"] is (broken == "config")
    assert (home / file).read_bytes() == raw
    assert "[problem]" in mex("doctor").out


def test_a_database_with_a_bad_page_is_reported_page_and_all(home: Path) -> None:
    mex("init")
    for number in range(40):
        added(f"number {number} " + "x" * 300)
    path = home / "mex.db"
    with opened(path) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        root = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'history'").fetchone()[0]
        size = db.execute("PRAGMA page_size").fetchone()[0]
    raw = bytearray(path.read_bytes())
    raw[(root - 1) * size : root * size] = b"\xff" * size
    path.write_bytes(raw)
    shown = report()
    assert check(shown, "database")["status"] == "problem"
    assert check(shown, "schema")["status"] == "ok"


def test_a_locked_database_stops_no_check(home: Path) -> None:
    mex("init")
    with opened(home / "mex.db") as db:
        db.isolation_level = None
        db.execute("BEGIN IMMEDIATE")
        shown = report()
        db.execute("ROLLBACK")
    assert check(shown, "search_index")["status"] == "ok"
    assert check(shown, "slots")["status"] == "ok"


def test_retired_words_in_the_schema_are_a_warning(home: Path) -> None:
    mex("init")
    (home / "schema.yaml").write_text(
        "topics:\n  work:\n    sub_topics:\n      x: {description: x, multiple: true}\n", encoding="utf-8"
    )
    shown = report()
    assert statuses(shown) == {"schema": "warning"}
    assert "topics.work.sub_topics.x" in check(shown, "schema")["items"][0]["message"]

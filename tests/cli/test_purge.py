"""Forgetting for good: the words are gone from every file of the home, and the rest is not (product B6)."""

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pexpect
import pytest

from mex_pipeline.services import purge
from mex_pipeline.store import database
from tests.support.model_server import ModelServer
from tests.support.program import contents, mex, opened
from tests.support.sessions import SessionFile

WORK = ("--topic", "work", "--sub-topic")

SEED_3_1 = """
CREATE TABLE memories (
  id TEXT PRIMARY KEY, topic TEXT, sub_topic TEXT, content TEXT NOT NULL,
  is_ai_inferred INTEGER NOT NULL CHECK (is_ai_inferred IN (0, 1)), confidence TEXT NOT NULL, evidence TEXT,
  embedding BLOB, created_at TEXT NOT NULL, updated_at TEXT NOT NULL, forgotten_at TEXT, forgotten_reason TEXT,
  expires_at TEXT
);
CREATE VIRTUAL TABLE memories_fts USING fts5(content, content='memories', content_rowid='rowid', tokenize='trigram');
CREATE TABLE history (
  id TEXT PRIMARY KEY, memory_id TEXT NOT NULL, event TEXT NOT NULL, old_content TEXT, new_content TEXT,
  actor TEXT NOT NULL, evidence TEXT, created_at TEXT NOT NULL
);
PRAGMA user_version = 5;
"""


def add(*arguments: str) -> dict[str, Any]:
    """Add a memory and return it."""
    return dict(mex("add", *arguments, "--json").json)


def for_good(*arguments: str) -> dict[str, Any]:
    """Forget for good without being asked, and return the receipt."""
    return dict(mex("forget", "--hard", "--yes", *arguments, "--json").json)


def holding(home: Path, *words: str) -> list[str]:
    """The files of the home that hold the bytes of one of the words, plain or as JSON writes them."""
    forms = [form.encode() for word in words for form in (word, json.dumps(word)[1:-1])]
    files = sorted(path for path in home.rglob("*") if path.is_file())
    return [str(path.relative_to(home)) for path in files if any(form in path.read_bytes() for form in forms)]


def counts(receipt: dict[str, Any], part: str = "rewritten") -> dict[str, int]:
    """The counts of a receipt by place."""
    return {one["what"]: one["count"] for one in receipt[part]}


def require_sound(home: Path) -> None:
    """The full-text index agrees with its table, and the file with itself."""
    with opened(home / "mex.db") as connection:
        connection.execute("INSERT INTO memories_fts (memories_fts, rank) VALUES ('integrity-check', 1)")
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def rows(home: Path, sql: str) -> list[tuple[Any, ...]]:
    """Rows of mex.db."""
    with opened(home / "mex.db") as connection:
        return connection.execute(sql).fetchall()


def test_product_b6_an_extracted_memory_leaves_no_byte_in_any_file(home: Path, tmp_path: Path) -> None:
    session = SessionFile(tmp_path / "s.jsonl").user("记住：我对芒果严重过敏。", "I work at Norwood Robotics.")
    mex("extract", "--from", "claude", "--file", str(session.path))
    found = {one["content"]: one for one in mex("list", "--json").json}
    mango = next(one for content, one in found.items() if "芒果" in content)
    (quote,) = rows(home, f"SELECT quote FROM memory_sources WHERE memory_id = '{mango['id']}'")[0]
    words = (mango["content"], mango["evidence"], quote, "芒果")
    assert holding(home, *words) != []
    receipt = for_good(mango["id"])
    assert holding(home, *words) == []
    assert receipt["verified"] is True
    assert receipt["purged"] == [mango["id"]]
    assert set(counts(receipt)) == {"memories", "memory_sources", "history", "jobs", "turns"}
    assert {"what": "session_file", "path": str(session.path)} in receipt["out_of_reach"]
    assert "芒果" not in json.dumps(receipt, ensure_ascii=False)
    assert len(contents()) == len(found) - 1
    assert len(mex("search", "Norwood", "--json").json) == 1
    require_sound(home)
    again = mex("extract", "--from", "claude", "--file", str(session.path), "--json").json
    assert again["added"] == [], "message keys stay, so nothing is learnt again"


def test_product_b6_results_of_jobs_keep_their_counts_and_lose_the_words(home: Path) -> None:
    """The memory's own objects, and what was discarded as said again."""
    jobs = [mex("extract", text, "--json").json for text in ("记住：我对花生过敏。", "记住：我对花生过敏！")]
    assert [len(job["added"]) for job in jobs] == [1, 0]
    assert [one["reason"] for one in jobs[1]["discarded"]] == ["reinforced"]
    (memory,) = mex("list", "--json").json
    assert counts(for_good(memory["id"]))["jobs"] == 2
    assert holding(home, "花生") == []
    for job in jobs:
        shown = mex("jobs", "show", job["job_id"], "--json").json
        assert shown["outcome"] == job["outcome"]
        assert [len(shown[key]) for key in ("added", "discarded")] == [len(job[key]) for key in ("added", "discarded")]
        assert mex("jobs", "show", job["job_id"]).out


def test_product_b6_every_value_a_memory_ever_had_goes_with_it(home: Path) -> None:
    memory = add(*WORK, "company", "--content", "第一家公司阿尔法")
    other = add(*WORK, "tech_stack", "--content", "Rust 编程语言")
    for value in ("第二家公司贝塔", "Third Company Gamma", '第四家“德尔塔"公司'):
        mex("update", memory["id"], "--content", value)
    mex("forget", memory["id"], "--reason", "不想再提阿尔法")
    receipt = for_good(memory["id"])
    assert holding(home, "阿尔法", "贝塔", "Third Company Gamma", "gamma", "德尔塔") == []
    assert rows(home, f"SELECT event, actor, old_content, new_content, evidence, before, after FROM history "
                      f"WHERE memory_id = '{memory['id']}'") == [("delete", "user", None, None, None, None, None)]  # fmt: skip
    assert counts(receipt)["history"] == 5
    assert [one["id"] for one in mex("search", "编程", "--json").json] == [other["id"]]
    require_sound(home)
    refused = mex("--json", "restore", memory["id"][:8], ok=False)
    assert (refused.code, json.loads(refused.err)["code"]) == (1, "memory_purged")


def test_product_b6_the_deletion_stays_in_history(home: Path) -> None:
    memory = add("--content", "秘密")
    for_good(memory["id"])
    (line,) = mex("history", memory["id"], "--json").json
    assert (line["event"], line["old_content"], line["new_content"]) == ("delete", None, None)


def test_product_b6_expired_and_forgotten_memories_by_id_and_active_ones_by_condition(home: Path) -> None:
    expired = add("--content", "过期内容", "--expires", "2020-01-01")
    gone = add("--topic", "work", "--content", "忘记内容")
    mex("forget", gone["id"])
    add("--topic", "work", "--content", "有效内容")
    assert len(for_good("--topic", "work")["purged"]) == 1
    assert holding(home, "有效内容") == []
    assert holding(home, "忘记内容", "过期内容") != []
    assert for_good(expired["id"], gone["id"][:8])["purged"] == [expired["id"], gone["id"]]
    assert holding(home, "忘记内容", "过期内容") == []


def test_product_b6_the_text_of_a_failed_job_loses_only_the_words(home: Path, model: ModelServer) -> None:
    model.script({"status": 401, "body": "no"})
    failed = mex("extract", "我对花生过敏，下周去上海。", "--json", ok=False)
    assert failed.code == 2
    memory = add("--topic", "health", "--sub-topic", "concern", "--content", "我对花生过敏")
    assert counts(for_good(memory["id"]))["jobs"] == 1
    ((text,),) = rows(home, "SELECT given_text FROM jobs WHERE given_text IS NOT NULL")
    assert text == "      ，下周去上海。"
    assert holding(home, "花生") == []


def test_product_b6_kept_replies_that_tell_it_go_and_others_stay(home: Path) -> None:
    plain = add("--content", '他说 "别告诉别人"')
    structured = add(*WORK, "experience", "--content", '{"start": "2019", "end": "2023", "company": "星辰软件"}')
    replies = {
        "told": json.dumps({"memories": [{"content": plain["content"]}]}),
        "structured": '{"memories": [{"content": {"company": "星辰软件", "end": "2023", "start": "2019"}}]}',
        "other": json.dumps({"memories": [{"content": "喝茶"}]}),
    }  # fmt: skip
    with opened(home / "mex.db") as connection:
        connection.executemany("INSERT INTO kept_replies VALUES (?, 'j', 'f', ?, 0)", replies.items())
    assert counts(for_good(plain["id"], structured["id"]))["kept_replies"] == 2
    assert rows(home, "SELECT key FROM kept_replies") == [("other",)]


def test_product_b6_another_memory_of_the_same_content_is_told_and_not_touched(home: Path) -> None:
    first, second = (add(*WORK, "tech_stack", "--content", "Erlang") for _ in range(2))
    receipt = for_good(first["id"])
    assert receipt["verified"] is True
    assert counts(receipt, "kept") == {"memories": 1}
    assert contents() == ["Erlang"]
    assert [one["event"] for one in mex("get", second["id"]).json["history"]] == ["add"]
    assert "1" in mex("forget", "--hard", "--yes", add("--content", "Erlang")["id"]).out.split("Untouched")[1]


def test_product_b6_backups_of_this_structure_are_purged_too(home: Path) -> None:
    memory = add("--content", "保险箱密码是旧的")
    with closing(sqlite3.connect(home / "mex.db")) as source, closing(sqlite3.connect(home / "backups" / "a.db")) as to:
        source.backup(to)
    mex("update", memory["id"], "--content", "保险箱密码换过了")
    add("--content", "喝茶")
    receipt = for_good(memory["id"])
    assert holding(home, "保险箱") == []
    assert receipt["verified"] is True
    assert counts(receipt)["backups/a.db"] == 2
    assert sorted(path.name for path in (home / "backups").iterdir()) == ["a.db"]


def test_product_b6_backups_of_the_originals_structure_are_purged_too(home: Path) -> None:
    memory = add("--content", "我在银杏路住过")
    path = home / "backups" / "mex-5.db"
    with opened(path) as connection:
        connection.executescript(SEED_3_1)
        insert = "INSERT INTO memories VALUES (?, NULL, NULL, ?, 0, 'confirmed', ?, NULL, 'c', 'u', NULL, NULL, NULL)"
        connection.execute(insert, (memory["id"], "我在银杏路住过很久", "用户说银杏路"))
        connection.execute(insert, ("other", "我喜欢喝茶和散步", None))
        connection.execute(
            "INSERT INTO history VALUES ('h', ?, 'add', NULL, '银杏路旧址', 'user', NULL, 'c')", (memory["id"],)
        )
        connection.execute("INSERT INTO memories_fts (rowid, content) SELECT rowid, content FROM memories")
    receipt = for_good(memory["id"])
    assert holding(home, "银杏路") == []
    assert counts(receipt)["backups/mex-5.db"] == 2
    with opened(path) as connection:
        found = (
            "SELECT content FROM memories WHERE rowid IN (SELECT rowid FROM memories_fts WHERE memories_fts MATCH ?)"
        )
        assert connection.execute(found, ('"喝茶和"',)).fetchall() == [("我喜欢喝茶和散步",)]
        assert connection.execute(found, ('"银杏路"',)).fetchall() == []
        connection.execute("INSERT INTO memories_fts (memories_fts, rank) VALUES ('integrity-check', 1)")
        assert connection.execute("PRAGMA user_version").fetchone() == (5,)


def test_product_b6_exports_among_the_backups_are_rewritten_without_it(home: Path) -> None:
    memory = add(*WORK, "experience", "--content", '{"start": "2019", "end": "2023", "company": "星辰软件"}')
    other = add("--content", "喝茶")
    export = {
        "version": 1,
        "memories": [memory, other],
        "history": [{"memory_id": memory["id"], "old_content": "星辰"}],
    }
    folder = home / "backups"
    (folder / "e.json").write_text(json.dumps(export), encoding="utf-8")
    printed = mex("list").out.split("Start")[1].splitlines()[0]
    (folder / "e.md").write_text(f"# Profile\n- Experience: Start{printed}\n- 喝茶\n", encoding="utf-8")
    receipt = for_good(memory["id"])
    assert json.loads((folder / "e.json").read_text(encoding="utf-8")) == export | {"memories": [other], "history": []}
    assert (folder / "e.json").stat().st_mode & 0o777 == 0o600
    assert counts(receipt)["backups/e.json"] == 2
    assert (folder / "e.md").read_text(encoding="utf-8") == "# Profile\n- 喝茶\n"
    assert holding(home, "星辰") == []


def test_product_b6_markdown_exports_lose_the_lines_that_say_it(home: Path) -> None:
    mex("--lang", "zh", "init")
    memory = add("--content", "体检结果\n一切正常的第二行")
    path = home / "backups" / "e.md"
    path.write_text("# 画像\n- 体检结果\n  一切正常的第二行\n- 喝茶\n", encoding="utf-8")
    for_good(memory["id"])
    assert path.read_text(encoding="utf-8") == "# 画像\n- 喝茶\n"


def test_product_b6_a_backup_that_cannot_be_cleaned_is_named(home: Path) -> None:
    memory = add("--content", "打不开的备份里也有")
    (home / "backups" / "broken.db").write_bytes(b"SQLite format 3\x00" + b"x" * 4096)
    ran = mex("forget", "--hard", "--yes", memory["id"], "--json", ok=False)
    assert ran.code == 2
    assert ran.json["verified"] is False
    assert ran.json["unfinished"] == [{"what": "backups/broken.db", "code": "database_damaged"}]
    assert json.loads(ran.err)["code"] == "purge_incomplete"
    assert contents() == []


def test_product_b6_an_open_reader_is_told_and_running_it_again_finishes(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.2)
    memory = add("--content", "读者还开着这一页")
    with opened(home / "mex.db") as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM memories").fetchall()
        ran = mex("forget", "--hard", "--yes", memory["id"], "--json", ok=False)
        assert (ran.code, ran.json["verified"]) == (2, False)
        assert ran.json["unfinished"] == [{"what": "mex.db", "code": "database_busy"}]
        error = json.loads(ran.err)
        assert (error["code"], error["retryable"]) == ("purge_unfinished", True)
        assert contents() == []
        reader.execute("COMMIT")
    _, _, command = error["hint"].partition("mex ")
    again = mex(*command.split(), "--json").json
    assert (again["purged"], again["unfinished"], again["verified"]) == ([memory["id"]], [], False)
    assert holding(home, "读者还开着") == []
    assert [one["event"] for one in mex("history", memory["id"], "--json").json] == ["delete"]


def test_product_b6_the_check_finds_what_is_left_in_free_pages(home: Path) -> None:
    """A look that could not fail would prove nothing: deleted without VACUUM, the bytes are still there."""
    long = "".join(f"第{number}段话，" for number in range(2000))
    memory = add("--content", long)
    with opened(home / "mex.db") as connection:
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute("DELETE FROM memories")
        connection.execute("DELETE FROM history")
    with closing(database.Database.open(home / "mex.db")) as db:
        assert purge._look(db, [long]) == (True, {})
        assert purge._settle(db, [long], {}).failure is None
    assert memory["id"]


def test_seed_adr_8_for_good_wants_a_yes_and_is_refused_where_nobody_can_be_asked(home: Path) -> None:
    memory = add("--content", "留着")
    ran = mex("--json", "forget", "--hard", memory["id"], ok=False)
    assert (ran.code, ran.out, json.loads(ran.err)["code"]) == (1, "", "purge_needs_yes")
    piped = mex("forget", "--hard", memory["id"], stdin="y\n", ok=False)
    assert piped.code == 1
    assert contents() == ["留着"]


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 1), ("", 1)])
def test_seed_adr_8_at_a_terminal_what_will_be_gone_is_named_before_the_answer_is_read(answer: str, code: int) -> None:
    memory = add("--content", "secret plan")
    arguments = ["-m", "mex_pipeline", "forget", "--hard", memory["id"]]
    child = pexpect.spawn(sys.executable, arguments, encoding="utf-8", timeout=30)
    child.expect("secret plan")
    child.expect(r"\[y/N\]")
    child.sendline(answer)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == code
    assert contents() == ([] if code == 0 else ["secret plan"])


def test_product_p7_an_agent_cannot_delete_for_good() -> None:
    memory = add("--content", "留着")
    ran = mex("--json", "forget", "--hard", "--yes", memory["id"], ok=False, CLAUDECODE="1")
    assert (ran.code, json.loads(ran.err)["code"]) == (1, "agent_cannot_purge")
    assert contents() == ["留着"]


def test_seed_5_2_the_receipt_reads_in_both_languages() -> None:
    for language, word in (("en", "Out of meX's reach"), ("zh", "meX 无法触及")):
        memory = add("--content", "收据里没有这句话")
        ran = mex("--lang", language, "forget", "--hard", "--yes", memory["id"])
        assert word in ran.out
        assert memory["id"] in ran.out
        assert "收据里没有" not in ran.out


def test_product_b6_ids_without_hyphens_in_backups_of_the_original_are_the_same_ids(home: Path) -> None:
    memory = add("--content", "我在梧桐路住过")
    bare = memory["id"].replace("-", "")
    (home / "backups" / "e.json").write_text(
        json.dumps({"version": 1, "memories": [memory | {"id": bare}]}), encoding="utf-8"
    )
    with opened(home / "backups" / "mex-v5.db") as connection:
        connection.executescript(SEED_3_1)
        connection.execute(
            "INSERT INTO memories VALUES (?, NULL, NULL, ?, 0, 'confirmed', NULL, NULL, 'c', 'u', NULL, NULL, NULL)",
            (bare, "梧桐路的旧说法"),
        )
    for_good(memory["id"])
    assert holding(home, "梧桐路") == []


def test_product_b6_a_markdown_export_loses_its_entries_and_no_other(home: Path) -> None:
    mex("--lang", "zh", "init")
    memory = add("--content", "体检结果\n一切正常")
    other = add("--content", "体检结果要等三天")
    path = home / "backups" / "e.md"
    mex("export", "--format", "markdown", "--output", str(path))
    assert "一切正常" in path.read_text(encoding="utf-8")
    mex("update", memory["id"], "--content", "体检结果")
    for_good(memory["id"])
    text = path.read_text(encoding="utf-8")
    assert "一切正常" not in text
    assert f"体检结果要等三天 (confirmed) <!-- {other['id'][:8]} -->" in text


def test_product_h14_a_value_leaves_the_array_it_stood_in_before_the_migration(home: Path) -> None:
    memory = add(*WORK, "tech_stack", "--content", "Erlang")
    with opened(home / "backups" / "mex-v2.db") as connection:
        connection.executescript(SEED_3_1)
        insert = "INSERT INTO memories VALUES (?, 'work', ?, ?, 0, 'confirmed', NULL, NULL, 'c', 'u', NULL, NULL, NULL)"
        connection.execute(insert, ("first", "tech_stack", '["Go", "Erlang"]'))
        connection.execute(insert, ("other", "oss_projects", '["Erlang in Anger"]'))
        connection.execute("INSERT INTO history VALUES ('h', 'first', 'add', NULL, '[\"Erlang\"]', 'user', NULL, 'c')")
    for_good(memory["id"])
    with opened(home / "backups" / "mex-v2.db") as connection:
        found = connection.execute("SELECT content FROM memories UNION ALL SELECT new_content FROM history").fetchall()
    assert found == [('["Go"]',), ('["Erlang in Anger"]',), ("[]",)]

"""Seed ADR-1 to ADR-5: no daemon, one file, one table, keyword search, and inferred memories that say so."""

import shutil
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mex_pipeline.store import database as database_module
from tests.seed.ground import (
    SEED_SCHEMA,
    active,
    add,
    candidate,
    change,
    database,
    found,
    listed,
    one,
    rows,
    said,
    use_schema,
    write_lock,
)
from tests.support.model_server import ModelServer, reply
from tests.support.program import Ran, contents, mex, opened, until

READS = (
    ("list",), ("search", "--keyword", "远光"), ("profile",), ("stats",), ("jobs", "list"), ("review", "list"), ("doctor",),
)  # fmt: skip


def test_seed_adr_1_commands_work_without_a_resident_process(tmp_path: Path) -> None:
    """CLI 直连: everything but --async runs with no worker, and starts none."""
    memory = add("远光软件", "work.company")
    for command in (
        *READS, ("get", memory["id"]), ("history", memory["id"]), ("update", memory["id"], "--content", "前进云"),
        ("forget", memory["id"]), ("restore", memory["id"]), ("gc",), ("export", "--output", str(tmp_path / "e.json")),
    ):  # fmt: skip
        mex(*command)
    assert mex("worker", "status", "--json").json["running"] is False
    assert contents() == ["前进云"]


@pytest.mark.parametrize("command", [*READS, ("get", "ID"), ("history", "ID")], ids="_".join)
def test_seed_adr_1_a_reader_is_not_blocked_by_a_held_write_lock(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """读不阻塞写、写不阻塞读: with the lock held all the while, a read answers, and sees what is committed."""
    memory = add("远光软件", "work.company")
    words = [memory["id"] if word == "ID" else word for word in command]
    monkeypatch.setattr(database_module, "BUSY_SECONDS", 60.0)  # whoever waits for the lock waits all of it
    began = time.monotonic()
    with write_lock():
        shown = mex(*words)
    assert shown.code == 0
    assert time.monotonic() - began < 30
    assert "not committed" not in shown.out


def test_seed_adr_1_a_writer_waits_for_the_lock_and_goes_on() -> None:
    """busy_timeout: a short lock of another program delays a write, it does not fail it."""
    add("先来")
    other = sqlite3.connect(database(), isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.6, lambda: other.execute("ROLLBACK"))
    release.start()
    add("后到")
    release.join()
    other.close()
    assert contents() == ["先来", "后到"]


def test_seed_adr_1_writers_at_once_lose_nothing() -> None:
    """写-写由锁串行化: six processes, six memories, a sound file."""
    mex("init")

    def write(number: int) -> Ran:
        return mex("add", "--topic", "work", "--sub-topic", "tech_stack", "--content", f"技能{number}")

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(write, range(6)))
    assert contents() == [f"技能{number}" for number in range(6)]
    assert one("SELECT count(*) FROM history WHERE event = 'add'") == 6
    assert one("PRAGMA integrity_check") == "ok"


def test_seed_adr_1_the_llm_is_called_outside_of_any_transaction(model: ModelServer) -> None:
    """extract 流程中耗时的 LLM 调用在事务外完成: while the model thinks, others write."""
    model.script({"hold": "go", "reply": reply(candidate("basic_info.location", "杭州"))})
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(mex, "extract", "我住在杭州")
        until(model.requests)
        add("趁它在想", None)
        with write_lock():
            assert listed() == ["趁它在想"]
        model.release("go")
        assert asked.result().code == 0
    assert contents() == ["杭州", "趁它在想"]


def test_seed_adr_2_all_data_is_one_sqlite_file_in_wal_mode() -> None:
    """默认 ~/.mex/mex.db，WAL 模式: also for a program that opens it afterwards."""
    add("远光软件", "work.company")
    assert database().is_file()
    assert one("PRAGMA journal_mode") == "wal"
    tables = {row[0] for row in rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert {"memories", "memories_fts", "history", "llm_usage", "extraction_state"} <= tables


def test_seed_adr_2_the_home_is_dot_mex_unless_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """§9: 数据目录默认为 ~/.mex."""
    monkeypatch.delenv("MEX_HOME")
    mex("add", "--content", "在家里")
    for name in ("mex.db", "config.yaml", "schema.yaml"):
        assert (tmp_path / ".mex" / name).is_file()


def test_seed_adr_2_copying_the_file_at_rest_is_a_whole_backup(tmp_path: Path, model: ModelServer) -> None:
    """备份即复制文件: mex.db alone, without its WAL, holds memories, history and usage."""
    memory = add("远光软件", "work.company")
    mex("update", memory["id"], "--content", "前进云")
    said(model, "我住在杭州", candidate("basic_info.location", "杭州"))
    copy = tmp_path / "copy"
    copy.mkdir()
    shutil.copy(database(), copy / "mex.db")
    assert mex("list", "--json", MEX_HOME=str(copy)).json == mex("list", "--json").json
    with opened(copy / "mex.db") as db:
        assert db.execute("SELECT count(*) FROM history WHERE event = 'update'").fetchone() == (1,)
        assert db.execute("SELECT count(*) FROM llm_usage").fetchone() == (1,)


@pytest.mark.parametrize("keyword", ["恋", "失恋", "近失恋", "最近失恋", "sqlite", "SQLi", "L"])
def test_seed_adr_2_full_text_search_is_friendly_to_chinese(keyword: str) -> None:
    """对中文友好 (product B2): one, two, three characters and more, in any case."""
    add("最近失恋了，在看 SQLite 的书")
    add("别的事")
    assert found("--keyword", keyword) == ["最近失恋了，在看 SQLite 的书"]


def test_seed_adr_3_the_embedding_column_is_reserved_and_unused() -> None:
    """memories 表预留 embedding 列."""
    add("远光软件", "work.company")
    assert one("SELECT embedding FROM memories") is None


def test_seed_adr_4_slots_and_records_share_one_table_without_layers() -> None:
    """所有记忆存储于同一张 memories 表，不使用 layer 区分."""
    add("远光软件", "work.company")
    add("随手记", "finance")
    add("没有领域")
    assert [row[1] for row in rows("PRAGMA table_info(memories)") if row[1] == "layer"] == []
    assert sorted(rows("SELECT topic, sub_topic, content FROM memories"), key=str) == sorted(
        [("work", "company", "远光软件"), ("finance", None, "随手记"), (None, None, "没有领域")], key=str
    )


def test_seed_adr_4_the_profile_is_the_projection_of_the_declared_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    """落在 schema 内的条目是画像槽位: a slot taken out of schema.yaml leaves the profile, its data stays."""
    monkeypatch.setenv("MEX_LANG", "zh")
    use_schema(SEED_SCHEMA)
    memory = add("远光软件", "work.company")
    add("小陈", "basic_info.name")
    add("随手记：下周复盘", "finance")
    profile = mex("profile").out
    body, _, recent = profile.partition("## 近期动态")
    assert "- 当前公司：远光软件" in body
    assert "随手记" not in body
    assert "随手记" in recent
    use_schema("\n".join(line for line in SEED_SCHEMA.splitlines() if "      company: {" not in line))
    assert "远光软件" not in mex("profile").out
    assert "小陈" in mex("profile").out
    assert "远光软件" in listed()
    assert memory["id"] in mex("doctor", ok=False).out


@pytest.fixture
def inferred(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> ModelServer:
    """A home in Chinese that holds two things a model inferred."""
    monkeypatch.setenv("MEX_LANG", "zh")
    model: ModelServer = request.getfixturevalue("model")
    said(
        model,
        "今天跌得有点心慌，钱还是放着安稳。我老家那边冬天很冷。",
        candidate(
            "values.risk_preference", "稳健偏保守", "钱还是放着安稳", is_ai_inferred=True, confidence="speculated"
        ),
        candidate("basic_info.hometown", "北方", "老家那边冬天很冷", is_ai_inferred=True, confidence="inferred"),
    )
    return model


def test_seed_adr_5_inferred_memories_are_found_at_once_and_marked(inferred: ModelServer) -> None:
    """立即生效可查，但带 is_ai_inferred = 1 与低置信度标记."""
    assert found("--keyword", "稳健") == ["稳健偏保守"]
    flags = dict(rows("SELECT content, is_ai_inferred FROM memories"))
    assert flags == {"稳健偏保守": 1, "北方": 1}
    profile = mex("profile").out
    assert "稳健偏保守（待确认）" in profile
    assert "北方（推断）" in profile


@pytest.mark.parametrize("which", ["ids", "topic", "all"])
def test_seed_adr_5_review_confirms_in_batches(inferred: ModelServer, which: str) -> None:
    """事后批量确认/清理 (product G16): by ids, by topic, all; without a terminal."""
    queue = mex("review", "list", "--json").json
    assert {entry["content"] for entry in queue} == {"稳健偏保守", "北方"}
    ids = [entry["id"] for entry in queue]
    mex("review", "approve", *{"ids": ids, "topic": ["--topic", "values"], "all": ["--all"]}[which])
    confirmed = {row[0] for row in rows("SELECT content FROM memories WHERE confidence = 'confirmed'")}
    assert confirmed == ({"稳健偏保守"} if which == "topic" else {"稳健偏保守", "北方"})
    assert len(mex("review", "list", "--json").json) == 2 - len(confirmed)
    assert "待确认" not in mex("profile").out


def test_seed_adr_5_declining_in_batches_forgets_softly(inferred: ModelServer) -> None:
    """清理: what is declined can be restored."""
    ids = [entry["id"] for entry in mex("review", "list", "--json").json]
    mex("review", "decline", "--all")
    assert contents() == []
    mex("restore", ids[0])
    assert len(contents()) == 1


def test_seed_adr_4_a_unique_slot_keeps_one_fact_in_one_place() -> None:
    """同一事物只存一处: also when an old row of the slot was forgotten."""
    first = add("上海", "basic_info.location")
    mex("forget", first["id"])
    add("杭州", "basic_info.location")
    assert mex("add", "--topic", "basic_info", "--sub-topic", "location", "--content", "北京", ok=False).code == 1
    assert active("basic_info.location") == ["杭州"]


def test_seed_adr_4_equal_times_are_listed_in_the_order_of_writing() -> None:
    """Product B9: time, then an integer sequence."""
    for number in range(5):
        add(f"第{number}条")
    change("UPDATE memories SET created_at = '2026-01-01T00:00:00Z', updated_at = '2026-01-01T00:00:00Z'")
    assert listed() == [f"第{number}条" for number in (4, 3, 2, 1, 0)]

"""Seed §3.1 to §3.3 and §3.7: the tables, the projection, the tiers, the times."""

import re
import sqlite3
import uuid
from typing import Any

import pytest

from tests.seed.ground import (
    add,
    candidate,
    change,
    database,
    found,
    get,
    listed,
    one,
    refused,
    refused_add,
    rows,
    said,
)
from tests.support.model_server import ModelServer
from tests.support.program import contents, mex, opened

COLUMNS = {
    "memories": "id topic sub_topic content is_ai_inferred confidence evidence embedding created_at updated_at"
    " forgotten_at forgotten_reason expires_at",
    "history": "id memory_id event old_content new_content actor evidence created_at",
    "llm_usage": "id purpose model prompt_tokens completion_tokens created_at",
    "extraction_state": "source_file last_position last_extracted_at",
}
TIERS = ["confirmed", "explicit", "inferred", "speculated", "uncertain"]


@pytest.mark.parametrize("table", COLUMNS)
def test_seed_3_1_the_tables_have_the_columns_of_the_document(table: str) -> None:
    """Whoever reads the file by the document finds what it names."""
    mex("init")
    names = {row[1] for row in rows(f"PRAGMA table_info({table})")}
    assert set(COLUMNS[table].split()) <= names


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("memories", "is_ai_inferred", 2),
        ("memories", "is_ai_inferred", None),
        ("memories", "confidence", "sure"),
        ("memories", "confidence", None),
        ("memories", "content", None),
        ("memories", "created_at", None),
        ("memories", "updated_at", None),
        ("history", "event", "change"),
        ("history", "actor", "system"),
        ("history", "memory_id", None),
    ],
)
def test_seed_3_1_the_database_enforces_enums_and_not_null(table: str, column: str, value: Any) -> None:
    """CHECK 约束由数据库强制."""
    add("远光软件", "work.company")
    with opened(database()) as db, pytest.raises(sqlite3.IntegrityError):
        db.execute(f"UPDATE {table} SET {column} = ?", (value,))


@pytest.mark.parametrize("event", ["add", "update", "forget", "restore", "approve", "delete"])
def test_seed_3_1_history_takes_the_six_events(event: str) -> None:
    """The seed's six, beside product H13's."""
    add("远光软件", "work.company")
    change("UPDATE history SET event = ?", event)


def test_seed_3_1_ids_are_uuid4_strings_and_unique() -> None:
    """uuid.uuid4(), TEXT."""
    memory = add("远光软件", "work.company")
    for value in (memory["id"], one("SELECT id FROM history")):
        assert uuid.UUID(value).version == 4
        assert str(uuid.UUID(value)) == value
    with opened(database()) as db, pytest.raises(sqlite3.IntegrityError):
        db.execute("INSERT INTO history SELECT * FROM history")


def test_seed_3_1_the_full_text_index_follows_every_change() -> None:
    """写入后需在同一事务内同步索引: add, update, forget, restore, purge."""
    memory = add("旧的内容甲", "work.company")
    mex("update", memory["id"], "--content", "新的内容乙")
    assert found("--keyword", "内容甲") == []
    assert found("--keyword", "内容乙") == ["新的内容乙"]
    mex("forget", memory["id"])
    assert found("--keyword", "内容乙") == []
    mex("restore", memory["id"])
    assert found("--keyword", "内容乙") == ["新的内容乙"]
    mex("forget", memory["id"], "--hard", "--yes")
    assert found("--keyword", "内容") == []


def test_seed_3_1_the_index_survives_a_vacuum() -> None:
    """Product H11: an integer primary key beside the UUID."""
    for number in range(4):
        add(f"第{number}件事情")
    first = rows("SELECT id FROM memories WHERE content = '第0件事情'")[0][0]
    mex("forget", first, "--hard", "--yes")
    with opened(database()) as db:
        db.isolation_level = None
        db.execute("VACUUM")
    for number in (1, 2, 3):
        assert found("--keyword", f"第{number}件") == [f"第{number}件事情"]


def test_seed_3_2_a_slot_is_in_the_profile_and_a_record_is_not() -> None:
    """The table of §3.2: profile, required topic, append."""
    add("远光软件", "work.company")
    add("写完了周报", "work")
    add("心情不错")
    add("心情不错")
    body = mex("profile", "--recent-limit", "0").out
    assert "远光软件" in body
    assert "周报" not in body
    assert "心情" not in body
    assert contents() == ["写完了周报", "心情不错", "心情不错", "远光软件"]


def test_seed_3_2_empty_names_are_no_names() -> None:
    """必空（null）: an empty string is never stored as a slot or a topic."""
    mex("add", "--topic", "", "--sub-topic", "", "--content", "空名字", ok=False)
    assert one("SELECT count(*) FROM memories WHERE topic = '' OR sub_topic = ''") == 0


@pytest.mark.parametrize("content", ["", "   ", "\n\t"])
def test_seed_3_1_blank_content_is_refused(content: str) -> None:
    """content NOT NULL, and something."""
    refused_add(content, "work.company")
    memory = add("远光软件", "work.company")
    refused("update", memory["id"], "--content", content)
    assert contents() == ["远光软件"]


def test_seed_3_3_a_memory_added_by_hand_is_confirmed_by_default() -> None:
    """confirmed: mex add 默认档."""
    memory = add("远光软件", "work.company")
    assert (memory["confidence"], memory["is_ai_inferred"]) == ("confirmed", False)


@pytest.mark.parametrize("tier", TIERS)
def test_seed_3_3_a_person_may_choose_any_of_the_five(tier: str) -> None:
    """Stored as the enum's word."""
    add("远光软件", "work.company", "--confidence", tier)
    assert rows("SELECT confidence, typeof(confidence) FROM memories") == [(tier, "text")]


def test_seed_3_3_other_tiers_and_numbers_are_refused() -> None:
    """不用连续数值."""
    refused_add("x", None, "--confidence", "0.73")
    memory = add("y")
    refused("update", memory["id"], "--confidence", "sure")


@pytest.mark.parametrize("tier", TIERS[1:])
def test_seed_3_3_the_model_may_give_the_lower_four(model: ModelServer, tier: str) -> None:
    """LLM 只能打后四档; is_ai_inferred is another dimension: a user's own words may be speculated."""
    said(model, "我可能有点焦虑", candidate("health.status", "可能有点焦虑", confidence=tier))
    assert rows("SELECT confidence, is_ai_inferred FROM memories") == [(tier, 0)]


def test_seed_3_3_the_model_may_not_confirm(model: ModelServer) -> None:
    """confirmed 只能由人产生——在代码里强制: never stored, and told (§6.1 step 5)."""
    result = said(
        model,
        "我在远光软件工作，住在杭州",
        candidate("work.company", "远光软件", confidence="confirmed"),
        candidate("basic_info.location", "杭州"),
    )
    assert one("SELECT count(*) FROM memories WHERE confidence = 'confirmed'") == 0
    assert [entry["content"] for entry in result["discarded"]] == ["远光软件"]
    assert contents() == ["杭州"]


def test_seed_3_3_the_two_dimensions_are_independent_in_the_table(model: ModelServer) -> None:
    """is_ai_inferred=1 with inferred, 0 with speculated: as the model said."""
    said(
        model,
        "我最近总睡不好，可能是太累了。",
        candidate("health.concern", "睡不好", "总睡不好", confidence="speculated"),
        candidate("health.status", "疲劳", "可能是太累了", confidence="inferred", is_ai_inferred=True),
    )
    assert sorted(rows("SELECT content, confidence, is_ai_inferred FROM memories")) == [
        ("疲劳", "inferred", 1),
        ("睡不好", "speculated", 0),
    ]


def test_seed_3_7_times_are_stored_as_utc_to_the_second() -> None:
    """2026-08-06T08:30:00Z, everywhere."""
    memory = add("远光软件", "work.company", "--expires", "2099-01-01", TZ="Asia/Shanghai")
    mex("forget", memory["id"], TZ="America/New_York")
    (row,) = rows("SELECT created_at, updated_at, forgotten_at, expires_at FROM memories")
    for value in (*row, one("SELECT max(created_at) FROM history")):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", value)


def test_seed_3_7_text_is_local_and_json_is_utc() -> None:
    """CLI 输出一律转换为本地时区展示 (product H10)."""
    memory = add("远光软件", "work.company")
    change("UPDATE memories SET created_at = '2026-03-01T20:15:00Z', updated_at = '2026-03-01T20:15:00Z'")
    change("UPDATE history SET created_at = '2026-03-01T20:15:00Z'")
    for command in (("list",), ("search",), ("history", memory["id"])):
        out = mex(*command, TZ="Asia/Shanghai").out
        assert "2026-03-02 04:15" in out
        assert "20:15" not in out
    assert get(memory["id"])["created_at"] == "2026-03-01T20:15:00Z"


@pytest.mark.parametrize(
    ("options", "hit"),
    [
        (("--since", "2026-03-02"), True),
        (("--since", "2026-03-03"), False),
        (("--since", "2026-03-02 04:15:00"), True),
        (("--since", "2026-03-02 04:15:01"), False),
        (("--until", "2026-03-02"), True),
        (("--until", "2026-03-01"), False),
        (("--until", "2026-03-02 04:15:00"), True),
        (("--until", "2026-03-02 04:14:00"), False),
        (("--since", "2026-03-02", "--until", "2026-03-02"), True),
        (("--since", "3w"), False),
        (("--since", "2026-03-02T04:00:00"), True),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_seed_3_7_since_and_until_take_local_dates_and_date_times(options: tuple[str, ...], hit: bool) -> None:
    """接受本地日期或日期时间，内部转 UTC; a day belongs to it whole."""
    add("远光软件", "work.company")
    change("UPDATE memories SET created_at = '2026-03-01T20:15:00Z', updated_at = '2026-03-01T20:15:00Z'")
    change("UPDATE memories SET valid_from = '2026-03-01T20:15:00Z', last_seen_at = '2026-03-01T20:15:00Z'")
    shown = mex("search", *options, "--json", TZ="Asia/Shanghai").json
    assert [entry["content"] for entry in shown] == (["远光软件"] if hit else [])


@pytest.mark.parametrize("wrong", ["soon", "2026-02-30", "7x", "-3d", "2026-13-01", ""])
def test_seed_3_7_other_times_are_refused(wrong: str) -> None:
    """Exit 1, and the forms that are taken."""
    add("x")
    told = refused("search", "--since", wrong).err
    assert "7d" in told or "YYYY" in told or "2026" in told
    refused("search", "--until", wrong)


def test_seed_3_1_listing_orders_by_creation_newest_first() -> None:
    """最近 10 条."""
    for number in range(3):
        add(f"第{number}条")
        change(
            "UPDATE memories SET created_at = ? WHERE content = ?", f"2026-01-0{3 - number}T00:00:00Z", f"第{number}条"
        )
    assert listed() == ["第0条", "第1条", "第2条"]

"""Seed §3.5 and §3.6: unique and many-valued slots, structured values, and a schema that changes."""

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.seed.ground import (
    EXPERIENCE,
    SEED_SCHEMA,
    active,
    add,
    at,
    candidate,
    database,
    get,
    home,
    one,
    refused,
    refused_add,
    rows,
    said,
    use_schema,
)
from tests.support.model_server import ModelServer
from tests.support.program import contents, mex, opened

NEEDED = {"start": "2019", "end": "2023", "company": "星辰软件"}


def structured(**changes: Any) -> str:
    """An experience with changes; None takes a key out."""
    return json.dumps({key: value for key, value in (NEEDED | changes).items() if value is not None})


def test_seed_3_5_adding_to_a_taken_unique_slot_is_refused_and_points_to_update() -> None:
    """已有条目时 mex add 报错并建议 mex update."""
    memory = add("远光软件", "work.company")
    told = refused_add("前进云", "work.company").err
    assert "mex update" in told
    assert memory["id"][:8] in told
    mex("update", memory["id"], "--content", "前进云")
    assert active("work.company") == ["前进云"]


def test_seed_3_5_many_valued_slots_and_records_always_append() -> None:
    """mex add 直接追加, equal contents too (product B5)."""
    for content in ("Python", "Go", "Go"):
        add(content, "work.tech_stack")
    for _ in range(2):
        add("随手记", "finance")
    assert active("work.tech_stack") == ["Python", "Go", "Go"]
    assert contents().count("随手记") == 2
    assert len({row[0] for row in rows("SELECT id FROM memories")}) == 5


def test_seed_3_5_a_unique_slot_is_updated_by_extraction_and_a_many_valued_one_grows(model: ModelServer) -> None:
    """extract 走"已存在则更新内容、不存在则新增"; 可多条 每条候选直接插入."""
    first = said(
        model,
        "我在远光软件工作，写 Haskell",
        candidate("work.company", "远光软件"),
        candidate("work.tech_stack", "Haskell"),
    )
    second = said(
        model,
        "我跳槽去前进云了，还写 Elixir",
        candidate("work.company", "前进云", action="update"),
        candidate("work.tech_stack", "Elixir"),
    )
    assert (len(first["added"]), len(second["added"]), len(second["updated"])) == (2, 1, 1)
    assert active("work.company") == ["前进云"]
    assert active("work.tech_stack") == ["Haskell", "Elixir"]
    assert second["updated"][0]["before"]["content"] == "远光软件"
    assert second["updated"][0]["after"]["content"] == "前进云"


def test_seed_3_5_an_equal_content_is_skipped_and_counted_as_discarded(model: ModelServer) -> None:
    """完全相同 content 的候选跳过并计入 discarded; product B5: it reinforces."""
    said(model, "我会写 Haskell", candidate("work.tech_stack", "Haskell", confidence="inferred"))
    result = said(model, "再说一次，我会写 Haskell。", candidate("work.tech_stack", "Haskell"))
    assert (result["added"], result["updated"]) == ([], [])
    assert [(entry["content"], entry["reason"]) for entry in result["discarded"]] == [("Haskell", "reinforced")]
    (memory,) = mex("list", "--json").json
    assert memory["times_seen"] == 2
    assert memory["confidence"] == "explicit"
    assert len(get(memory["id"])["sources"]) == 2
    assert rows("SELECT event FROM history ORDER BY rowid") == [("add",), ("reinforce",)]


def test_product_b5_reinforcing_never_confirms_and_never_lowers(model: ModelServer) -> None:
    """Raised to explicit at most; a confirmed value stays confirmed."""
    add("Haskell", "work.tech_stack")
    said(model, "我会写 Haskell", candidate("work.tech_stack", "haskell ", confidence="uncertain"))
    assert rows("SELECT content, confidence, is_ai_inferred FROM memories") == [("Haskell", "confirmed", 0)]
    assert "待确认" not in mex("--lang", "zh", "profile").out


def test_product_b5_the_same_message_read_again_adds_no_record(model: ModelServer, tmp_path: Path) -> None:
    """Records append, except when the same source message is read again."""
    talk = tmp_path / "talk.txt"
    talk.write_text("用户：我昨天去爬山了，很累。\n助手：好", encoding="utf-8")
    record = candidate("leisure", "爬山，很累", "爬山了，很累")
    model.script({"reply": json.dumps({"memories": [{"action": "new", "is_ai_inferred": False, **record}]})})
    mex("extract", "--from", "plain", "--file", str(talk))
    copy = tmp_path / "copy.txt"
    copy.write_text(talk.read_text(encoding="utf-8"), encoding="utf-8")
    mex("extract", "--from", "plain", "--file", str(copy))
    assert len(contents()) == 1


def test_seed_3_5_a_structured_value_is_one_json_object_shown_as_text() -> None:
    """展示时按 fields 键序渲染为可读文本，不暴露原始 JSON: list, search, profile, review."""
    shuffled = json.dumps(dict(reversed(json.loads(EXPERIENCE).items())), ensure_ascii=False)
    memory = add(shuffled, "work.experience", "--confidence", "speculated")
    stored = json.loads(one("SELECT content FROM memories"))
    assert stored == json.loads(EXPERIENCE)
    assert list(stored) == list(json.loads(EXPERIENCE))
    for command in (("list",), ("search", "--keyword", "星辰"), ("profile",)):
        out = mex(*command).out
        places = [
            out.index(words) for words in ("2019", "2023", "星辰软件", "后端工程师", "交易平台部", "订单系统", "全职")
        ]
        assert places == sorted(places), command
        assert '{"' not in out
        assert '"start"' not in out
    assert get(memory["id"])["content"].startswith("{")


@pytest.mark.parametrize(
    "content",
    [
        "在星辰软件工作",
        '["2019", "2023"]',
        '"星辰软件"',
        '{"start": "2019"',
        structured(start=None),
        structured(end=None),
        structured(company=None),
        structured(company=""),
        structured(company="  "),
        structured(boss="老王"),
        structured(start=2019),
        structured(company=None, position="x"),
        structured(summary=["a"]),
        structured(summary={"a": "b"}),
        structured(kind=True),
        '{"start": "2019", "end": "2023", "company": null}',
    ],
)
def test_seed_3_5_a_structured_value_must_keep_to_its_fields(content: str) -> None:
    """合法 JSON 对象、键在声明内、必填键齐全、值统一为字符串 — add and update alike."""
    refused_add(content, "work.experience")
    memory = add(structured(), "work.experience")
    refused("update", memory["id"], "--content", content)
    assert [json.loads(text) for text in contents()] == [NEEDED]


@pytest.mark.parametrize("time", ["2019", "2019-03", "2019-03-31"])
def test_seed_3_5_times_have_three_forms(time: str) -> None:
    """YYYY/YYYY-MM/YYYY-MM-DD."""
    add(structured(start=time, end=time), "work.experience")


@pytest.mark.parametrize(
    "time",
    ["2019-13", "2023-02-30", "2023-13-45", "19", "2019/03", "2019-3", "去年", "2019年", "1d", "2019-03-31T08:00:00"],
)
def test_seed_3_5_times_of_other_forms_are_refused(time: str) -> None:
    """防止时间字段随意填写."""
    refused_add(structured(start=time), "work.experience")
    refused_add(structured(end=time), "work.experience")


@pytest.mark.parametrize("word", ["至今", "present"])
def test_seed_3_5_until_now_is_an_end_and_never_a_start(word: str) -> None:
    """（或结束键的"至今"）."""
    refused_add(structured(start=word), "work.experience")
    add(structured(end=word), "work.experience")
    assert len(active("work.experience")) == 1


def test_seed_3_5_optional_keys_may_be_missing_and_are_free_text() -> None:
    """缺省（纯字符串写法）表示可选、自由文本."""
    add(structured(summary="随便写：2019 年的事，什么都行"), "work.experience")
    add('{"school": "某大学"}', "edu.education")
    assert "某大学" in mex("profile").out


def test_seed_3_5_a_structured_slot_may_be_unique() -> None:
    """省略则唯一（单条 JSON 记录）."""
    add('{"status": "在职看机会"}', "work.job_search")
    refused_add('{"status": "离职"}', "work.job_search")
    assert len(active("work.job_search")) == 1


def test_seed_3_5_the_models_structured_candidates_are_checked_alike(model: ModelServer) -> None:
    """不合法即丢弃: narrative text, unknown key, missing key; a good one is stored."""
    text = "2019 到 2023 年我在星辰软件做后端工程师"
    result = said(
        model,
        text,
        candidate("work.experience", structured(position="后端工程师"), text),
        candidate("work.experience", "2019 到 2023 年在星辰软件", text),
        candidate("work.experience", structured(boss="老王"), text),
        candidate("work.experience", structured(company=None), text),
    )
    assert len(result["added"]) == 1
    assert len(result["discarded"]) == 3
    assert json.loads(active("work.experience")[0])["position"] == "后端工程师"


def test_seed_3_5_a_json_object_from_the_model_itself_is_taken_as_the_value(model: ModelServer) -> None:
    """content 必须输出 JSON 对象字符串: an object in its place is the same fact (product C12: repaired, then judged)."""
    value = NEEDED | {"company": "星辰软件"}
    said(model, "2019 到 2023 年我在星辰软件", {**candidate("work.experience", "", "我在星辰软件"), "content": value})
    stored = active("work.experience")
    assert stored == [] or json.loads(stored[0]) == NEEDED


def test_seed_3_5_multiple_is_read_as_many_valued_with_a_warning() -> None:
    """multiple: true 自动当作 unique: false 并告警."""
    use_schema(
        "topics:\n  work:\n    description: 工作\n    sub_topics:\n      skills: { description: 技能, multiple: true }\n"
    )
    first = mex("add", *at("work.skills"), "--content", "Python")
    assert "multiple" in first.err
    mex("add", *at("work.skills"), "--content", "Go")
    assert active("work.skills") == ["Python", "Go"]


def test_seed_3_6_a_changed_schema_never_changes_data() -> None:
    """schema 变更永远不自动改动已有数据."""
    use_schema(SEED_SCHEMA)
    add("远光软件", "work.company")
    before = rows("SELECT * FROM memories")
    use_schema(SEED_SCHEMA.replace("      company: {", "      employer: {"))
    for command in (("list",), ("profile",), ("search",), ("doctor",), ("stats",), ("gc",)):
        mex(*command, ok=False)
    assert rows("SELECT * FROM memories") == before


def test_seed_3_6_doctor_reports_both_kinds_and_changes_nothing() -> None:
    """① 槽位已不在 schema 中；② 结构化字段的 content 不符合其结构化约束."""
    use_schema(SEED_SCHEMA)
    gone = add("远光软件", "work.company")
    plain = add("通过系统架构师考试", "work.goal_current")
    fine = add("小陈", "basic_info.name")
    record = add("随手记", "finance")
    clean = mex("doctor").out
    assert gone["id"][:8] not in clean
    changed = SEED_SCHEMA.replace("      company: { description: 当前公司 }\n", "").replace(
        "goal_current: { description: 当前职业目标 }",
        "goal_current: { description: 目标, fields: { goal: { description: 目标内容, required: true } } }",
    )
    use_schema(changed)
    before = rows("SELECT * FROM memories")
    told = mex("doctor", ok=False)
    assert told.code in (0, 1)
    assert gone["id"][:8] in told.out
    assert plain["id"][:8] in told.out
    assert fine["id"][:8] not in told.out
    assert record["id"][:8] not in told.out
    assert "mex move" in told.out
    assert "mex update" in told.out or "mex forget" in told.out
    as_json = json.dumps(mex("doctor", "--json", ok=False).json)
    assert gone["id"] in as_json
    assert plain["id"] in as_json
    assert rows("SELECT * FROM memories") == before


def test_seed_3_6_doctor_ignores_what_is_forgotten() -> None:
    """有效画像条目."""
    use_schema(SEED_SCHEMA)
    gone = add("远光软件", "work.company")
    mex("forget", gone["id"])
    use_schema(SEED_SCHEMA.replace("      company: { description: 当前公司 }\n", ""))
    assert gone["id"][:8] not in mex("doctor").out


def test_product_g13_move_repairs_what_doctor_found() -> None:
    """mex move ID --topic T --sub-topic S: validated, in history, provenance kept."""
    use_schema(SEED_SCHEMA)
    memory = add("远光软件", "work.company")
    use_schema(SEED_SCHEMA.replace("      company: {", "      employer: {"))
    refused("move", memory["id"], *at("work.company"))
    refused("move", memory["id"], *at("nosuch.slot"))
    mex("move", memory["id"], *at("work.employer"))
    assert active("work.employer") == ["远光软件"]
    assert rows("SELECT event FROM history ORDER BY rowid") == [("add",), ("move",)]
    assert "远光软件" in mex("profile").out
    assert memory["id"][:8] not in mex("doctor").out


def test_product_g13_a_move_into_a_taken_unique_slot_is_refused() -> None:
    """One slot, one value."""
    add("杭州", "basic_info.location")
    memory = add("上海", "basic_info.hometown")
    refused("move", memory["id"], *at("basic_info.location"))
    assert (active("basic_info.location"), active("basic_info.hometown")) == (["杭州"], ["上海"])


def test_seed_3_6_a_database_of_the_original_is_migrated_with_every_row_kept() -> None:
    """每次命令启动时检查版本，低于代码期望版本则自动按序执行迁移 (product B1: version 5, with a backup)."""
    home().mkdir(parents=True)
    with opened(database()) as db:
        db.executescript(_VERSION_5)
    shown = mex("list", "--json").json
    assert [memory["content"] for memory in shown] == ["远光软件"]
    assert mex("search", "--keyword", "远光", "--json").json[0]["id"].replace("-", "") == "a" * 32
    assert mex("get", "a" * 32).json["content"] == "远光软件"
    assert len(mex("history", "a" * 32, "--json").json) == 1
    assert one("PRAGMA user_version") > 5
    assert list((home() / "backups").iterdir())


def test_seed_3_6_a_newer_database_is_refused_untouched() -> None:
    """Product B1: no guess, no traceback."""
    add("远光软件", "work.company")
    with opened(database()) as db:
        db.execute("PRAGMA user_version = 999")
    with sqlite3.connect(database()) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    before = database().read_bytes()
    failed = mex("list", ok=False)
    assert failed.code in (1, 2)
    assert re.search(r"999|new", failed.err)
    assert database().read_bytes() == before


_VERSION_5 = """
CREATE TABLE memories (id TEXT PRIMARY KEY, topic TEXT, sub_topic TEXT, content TEXT NOT NULL,
  is_ai_inferred INTEGER NOT NULL CHECK (is_ai_inferred IN (0, 1)),
  confidence TEXT NOT NULL CHECK (confidence IN ('confirmed', 'explicit', 'inferred', 'speculated', 'uncertain')),
  evidence TEXT, embedding BLOB, created_at TEXT NOT NULL, updated_at TEXT NOT NULL, forgotten_at TEXT,
  forgotten_reason TEXT, expires_at TEXT);
CREATE VIRTUAL TABLE memories_fts USING fts5(content, content='memories', content_rowid='rowid', tokenize='trigram');
CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT NOT NULL,
  event TEXT NOT NULL CHECK (event IN ('add', 'update', 'forget', 'restore', 'approve', 'delete')),
  old_content TEXT, new_content TEXT, actor TEXT NOT NULL CHECK (actor IN ('user', 'ai')), evidence TEXT,
  created_at TEXT NOT NULL);
CREATE TABLE llm_usage (id TEXT PRIMARY KEY, purpose TEXT NOT NULL, model TEXT NOT NULL, prompt_tokens INTEGER NOT NULL,
  completion_tokens INTEGER NOT NULL, created_at TEXT NOT NULL);
CREATE TABLE extraction_state (source_file TEXT PRIMARY KEY, last_position INTEGER NOT NULL,
  last_extracted_at TEXT NOT NULL);
INSERT INTO memories VALUES ('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'work', 'company', '远光软件', 0, 'confirmed', NULL, NULL,
  '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', NULL, NULL, NULL);
INSERT INTO memories_fts (rowid, content) SELECT rowid, content FROM memories;
INSERT INTO history VALUES ('bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'add', NULL, '远光软件',
  'user', NULL, '2026-01-01T00:00:00Z');
PRAGMA user_version = 5;
"""

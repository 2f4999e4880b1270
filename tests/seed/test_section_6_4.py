"""Seed §6.4: importing, and the table of conflicts, row by row."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.seed.ground import (
    SEED_SCHEMA,
    active,
    add,
    candidate,
    events,
    one,
    rows,
    use_schema,
)
from tests.support.model_server import ModelServer, reply
from tests.support.program import contents, mex, write

OVERWRITE = ("--on-conflict", "overwrite")


@pytest.fixture
def other(tmp_path: Path) -> str:
    """A second home."""
    return str(tmp_path / "other")


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """Where the export goes."""
    return tmp_path / "e.json"


def there(content: str, slot: str | None, place: str, *options: str) -> dict[str, Any]:
    """A memory in the other home."""
    return add(content, slot, *options, MEX_HOME=place)


def bring(export: Path, place: str, *options: str) -> dict[str, Any]:
    """Export the other home and import it into this one."""
    mex("export", "--format", "json", "--output", str(export), MEX_HOME=place)
    return dict(mex("import", str(export), "--mode", "restore", *options, "--json").json)


def counts(shown: dict[str, Any]) -> tuple[int, int, int]:
    """新增 N、跳过 M、冲突 K, whether they are numbers or lists."""

    def number(*names: str) -> int:
        value = next(shown[name] for name in names if name in shown)
        return value if isinstance(value, int) else len(value)

    return number("imported", "added"), number("skipped"), number("conflicts")


def edit(export: Path, place: str, **changes: Any) -> None:
    """Export the other home's only memory with changes made by hand."""
    mex("export", "--output", str(export), MEX_HOME=place)
    data = json.loads(export.read_text(encoding="utf-8"))
    data["memories"][0].update(changes)
    export.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")


def test_seed_6_4_what_is_not_there_is_added(export: Path, other: str) -> None:
    """含 id 与全部字段，不经过 LLM."""
    memory = there("远光软件", "work.company", other, "--confidence", "inferred")
    there("随手记", "finance", other)
    assert counts(bring(export, other)) == (2, 0, 0)
    assert sorted(contents()) == ["远光软件", "随手记"]
    assert rows("SELECT id, confidence, created_at FROM memories WHERE topic = 'work'") == [
        (memory["id"], "inferred", memory["created_at"])
    ]
    assert mex("search", "--keyword", "远光", "--json").json[0]["id"] == memory["id"]


@pytest.mark.parametrize("options", [(), OVERWRITE], ids=["skip", "overwrite"])
def test_seed_6_4_row_1_same_id_same_content_is_skipped(export: Path, other: str, options: tuple[str, ...]) -> None:
    """同 id 且内容一致 → 跳过 / 跳过; again and again."""
    there("远光软件", "work.company", other)
    bring(export, other)
    before = rows("SELECT * FROM memories")
    assert counts(bring(export, other, *options)) == (0, 1, 0)
    assert rows("SELECT * FROM memories") == before
    assert one("SELECT count(*) FROM history") == 1


def test_seed_6_4_row_2_same_id_other_content_is_skipped_and_reported(export: Path, other: str) -> None:
    """同 id 但内容不同 → 跳过，列入冲突报告."""
    memory = there("远光软件", "work.company", other)
    bring(export, other)
    mex("update", memory["id"], "--content", "前进云")
    shown = bring(export, other)
    assert counts(shown)[2] == 1
    assert contents() == ["前进云"]
    assert memory["id"] in json.dumps(shown["conflicts"])
    text = mex("import", str(export), "--mode", "restore")
    assert memory["id"][:8] in text.out + text.err


def test_seed_6_4_row_2_overwrite_replaces_and_keeps_the_old_in_history(export: Path, other: str) -> None:
    """覆盖，旧值写入 history."""
    memory = there("远光软件", "work.company", other)
    bring(export, other)
    mex("update", memory["id"], "--content", "前进云")
    bring(export, other, *OVERWRITE)
    assert contents() == ["远光软件"]
    old = {row[0] for row in rows("SELECT old_content FROM history WHERE memory_id = ?", memory["id"])}
    assert "前进云" in old


def test_seed_6_4_row_3_another_value_in_a_unique_slot_is_skipped_and_reported(export: Path, other: str) -> None:
    """不同 id 但画像槽位冲突 → 跳过，列入冲突报告."""
    add("前进云", "work.company")
    memory = there("远光软件", "work.company", other)
    shown = bring(export, other)
    assert counts(shown)[0] == 0
    assert counts(shown)[2] == 1
    assert memory["id"] in json.dumps(shown["conflicts"])
    assert contents() == ["前进云"]


def test_seed_6_4_row_3_overwrite_forgets_the_old_one_softly(export: Path, other: str) -> None:
    """覆盖（旧条目软删除，写入 history）."""
    old = add("前进云", "work.company")
    there("远光软件", "work.company", other)
    bring(export, other, *OVERWRITE)
    assert active("work.company") == ["远光软件"]
    assert one("SELECT count(*) FROM memories WHERE id = ? AND forgotten_at IS NOT NULL", old["id"]) == 1
    assert events(old["id"])[-1] in ("forget", "import")


@pytest.mark.parametrize("options", [(), OVERWRITE], ids=["skip", "overwrite"])
def test_seed_6_4_row_4_a_slot_outside_the_schema_is_never_imported(
    export: Path, other: str, options: tuple[str, ...]
) -> None:
    """槽位不在当前 schema 中 → 跳过，列入冲突报告，提示先编辑 schema.yaml（同默认）."""
    there("结论先行", "interaction.communication_style", other)
    use_schema(SEED_SCHEMA)
    shown = bring(export, other, *options)
    assert counts(shown)[0] == 0
    assert counts(shown)[2] == 1
    told = mex("import", str(export), "--mode", "restore", *options)
    assert "schema.yaml" in told.out + told.err
    assert contents() == []


def test_seed_6_4_many_valued_slots_never_conflict(export: Path, other: str) -> None:
    """可多条槽位允许同槽位多条共存，直接 insert 不视为冲突."""
    add("Python", "work.tech_stack")
    there("Python", "work.tech_stack", other)
    there("Go", "work.tech_stack", other)
    assert counts(bring(export, other)) == (2, 0, 0)
    assert sorted(active("work.tech_stack")) == ["Go", "Python", "Python"]


@pytest.mark.parametrize("options", [(), OVERWRITE], ids=["skip", "overwrite"])
def test_product_g11_a_forgotten_record_never_displaces_an_active_one(
    export: Path, other: str, options: tuple[str, ...]
) -> None:
    """Fault 4: it is brought along, forgotten."""
    add("前进云", "work.company")
    gone = there("远光软件", "work.company", other)
    mex("forget", gone["id"], MEX_HOME=other)
    bring(export, other, *options)
    assert active("work.company") == ["前进云"]
    assert one("SELECT count(*) FROM memories WHERE id = ? AND forgotten_at IS NULL", gone["id"]) == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"topic": "nosuch", "sub_topic": None},
        {"content": "   "},
        {"content": ["a"]},
        {"content": None},
        {"confidence": "sure"},
        {"topic": "work", "sub_topic": "experience", "content": "纯文本"},
        {"id": 5},
        {"created_at": "yesterday"},
    ],
    ids=["topic", "blank", "list", "null", "tier", "structure", "id", "time"],
)
def test_seed_6_4_an_invalid_record_is_reported_and_the_rest_is_imported(
    export: Path, other: str, changes: dict[str, Any]
) -> None:
    """schema 约束不可被导入绕过 (fault 14): one bad record costs no other."""
    there("坏的", "work.company", other)
    there("好的", None, other)
    edit(export, other, **changes)
    data = json.loads(export.read_text(encoding="utf-8"))
    assert len(data["memories"]) == 2
    ran = mex("import", str(export), "--mode", "restore", "--json", ok=False)
    assert ran.code in (0, 1)
    if ran.code == 0:
        assert counts(ran.json)[2] == 1
        assert len(contents()) == 1
    else:
        assert one("SELECT count(*) FROM memories") == 0


@pytest.mark.parametrize(
    "text", ["not json", "[]", '{"memories": 5}', "{}", '{"version": 999, "memories": []}', ""], ids=range(6)
)
def test_seed_6_4_a_file_that_is_no_export_is_refused(tmp_path: Path, text: str) -> None:
    """No traceback, nothing written."""
    mex("init")
    path = write(tmp_path / "bad.json", text)
    failed = mex("import", str(path), "--mode", "restore", ok=False)
    assert failed.code in (1, 2)
    assert failed.err.strip()
    assert one("SELECT count(*) FROM memories") == 0


def test_seed_6_4_by_default_a_restore_destroys_nothing(export: Path, other: str) -> None:
    """安全优先：默认行为下 restore 不会破坏任何现有数据."""
    for content, slot in (("前进云", "work.company"), ("杭州", "basic_info.location"), ("Go", "work.tech_stack")):
        add(content, slot)
    before = set(rows("SELECT id, content, updated_at, forgotten_at FROM memories"))
    for content, slot in (("远光软件", "work.company"), ("上海", "basic_info.location"), ("Go", "work.tech_stack")):
        there(content, slot, other)
    bring(export, other)
    assert before <= set(rows("SELECT id, content, updated_at, forgotten_at FROM memories"))


def test_seed_6_4_import_extract_is_the_same_flow_without_a_position(model: ModelServer, tmp_path: Path) -> None:
    """走与 §6.1 完全相同的流程；不记录 extraction_state；用途 import."""
    cv = write(tmp_path / "cv.md", "# 简历", "", "现居杭州。技能：Haskell。")
    model.script(
        {"reply": reply(candidate("basic_info.location", "杭州", "现居杭州"), candidate("work.tech_stack", "Haskell"))}
    )
    result = mex("import", str(cv), "--mode", "extract", "--json").json
    assert sorted(memory["content"] for memory in result["added"]) == ["Haskell", "杭州"]
    assert (result["state"], result["outcome"]) == ("succeeded", "committed")
    assert one("SELECT count(*) FROM extraction_state") == 0
    assert rows("SELECT purpose FROM llm_usage") == [("import",)]
    assert {row[0] for row in rows("SELECT confidence FROM memories")} == {"explicit"}


def test_product_c1_import_takes_async(model: ModelServer, tmp_path: Path) -> None:
    """--mode extract and restore, each with --async: a job, nothing written yet."""
    cv = write(tmp_path / "cv.md", "# 简历", "", "现居杭州。")
    quiet = {"MEX_WORKER_AUTOSTART": "false"}
    submitted = mex("import", str(cv), "--mode", "extract", "--async", "--json", **quiet).json
    assert {"job_id", "state"} <= set(submitted)
    assert contents() == []
    add("远光软件", "work.company")
    mex("export", "--output", str(tmp_path / "e.json"))
    second = mex("import", str(tmp_path / "e.json"), "--mode", "restore", "--async", "--json", **quiet).json
    assert second["job_id"] != submitted["job_id"]

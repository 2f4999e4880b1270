"""Seed ADR-7 and ADR-8: every change is in history; forgetting is soft unless told, and told beforehand if asked."""

import re
from typing import Any

import pytest

from tests.seed.ground import (
    active,
    add,
    candidate,
    change,
    database,
    events,
    found,
    get,
    history,
    listed,
    one,
    refused,
    refused_add,
    rows,
    said,
)
from tests.support.model_server import ModelServer
from tests.support.program import contents, mex


def last(memory_id: str) -> dict[str, Any]:
    """The newest line of a memory's history."""
    names = ("event", "old_content", "new_content", "actor", "created_at")
    (row,) = rows(f"SELECT {', '.join(names)} FROM history WHERE memory_id = ? ORDER BY rowid DESC LIMIT 1", memory_id)
    return dict(zip(names, row, strict=True))


def test_seed_adr_7_each_event_by_hand_is_recorded_with_contents_actor_and_time() -> None:
    """add, update, forget, restore: 前后内容、操作者、时间."""
    memory = add("远光软件", "work.company")
    steps: list[tuple[tuple[str, ...], str, str | None, str | None]] = [
        (("update", memory["id"], "--content", "前进云"), "update", "远光软件", "前进云"),
        (("forget", memory["id"], "--reason", "离职"), "forget", "前进云", None),
        (("restore", memory["id"]), "restore", None, "前进云"),
    ]
    assert last(memory["id"])["event"] == "add"
    assert (last(memory["id"])["old_content"], last(memory["id"])["new_content"]) == (None, "远光软件")
    for command, event, old, new in steps:
        mex(*command)
        line = last(memory["id"])
        assert (line["event"], line["actor"]) == (event, "user")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", line["created_at"])
        assert line["new_content"] == new
        if old:
            assert line["old_content"] == old
    assert events(memory["id"]) == ["add", "update", "forget", "restore"]


def test_seed_adr_7_an_extraction_is_recorded_as_the_ai_with_its_evidence(model: ModelServer) -> None:
    """actor: ai = LLM 抽取流程产生的写入; 证据; and the job (product B8)."""
    first = said(model, "我在远光软件工作", candidate("work.company", "远光软件", "我在远光软件工作"))
    second = said(model, "我跳槽到前进云了", candidate("work.company", "前进云", "我跳槽到前进云了", action="update"))
    memory_id = first["added"][0]["id"]
    lines = rows(
        "SELECT event, old_content, new_content, actor, evidence, job_id FROM history WHERE memory_id = ? ORDER BY rowid",
        memory_id,
    )
    assert [line[:4] for line in lines] == [
        ("add", None, "远光软件", "ai"),
        ("update", "远光软件", "前进云", "ai"),
    ]
    assert "我在远光软件工作" in lines[0][4]
    assert "我跳槽到前进云了" in lines[1][4]
    assert [line[5] for line in lines] == [first["job_id"], second["job_id"]]


def test_seed_adr_7_approving_is_recorded_as_the_users(model: ModelServer) -> None:
    """history 记录 approve 事件 (§6.3); actor: 审查确认 is a person's."""
    guess = candidate("basic_info.hometown", "北方", "老家冬天冷", is_ai_inferred=True, confidence="inferred")
    memory_id = said(model, "老家冬天冷", guess)["added"][0]["id"]
    mex("review", "approve", memory_id)
    line = last(memory_id)
    assert (line["event"], line["actor"], line["new_content"]) == ("approve", "user", "北方")
    assert get(memory_id)["confidence"] == "confirmed"


def test_seed_5_1_history_prints_the_changes_of_one_memory() -> None:
    """查看单条记忆的变更历史: as JSON with the document's columns, as text with old and new, by a prefix too."""
    memory = add("远光软件", "work.company")
    mex("update", memory["id"], "--content", "前进云")
    shown = history(memory["id"][:8])
    assert [line["event"] for line in shown] == ["add", "update"]
    assert {"event", "old_content", "new_content", "actor", "evidence", "created_at"} <= set(shown[0])
    text = mex("history", memory["id"]).out
    assert "远光软件" in text
    assert "前进云" in text
    refused("history", "00000000")


def test_seed_adr_8_forget_is_soft_and_keeps_the_reason() -> None:
    """写 forgotten_at 时间戳 + forgotten_reason，数据保留、查询排除."""
    memory = add("远光软件", "work.company")
    out = mex("forget", memory["id"], "--reason", "已经离职").out
    assert memory["id"] in out
    assert "远光软件" in out
    at, reason, content = rows("SELECT forgotten_at, forgotten_reason, content FROM memories")[0]
    assert (reason, content) == ("已经离职", "远光软件")
    assert at.endswith("Z")
    assert contents() == found() == []
    assert "远光软件" not in mex("profile").out
    assert listed("--include-forgotten") == ["远光软件"]
    assert get(memory["id"])["forgotten_reason"] == "已经离职"


def test_seed_adr_8_restore_brings_back_what_was_forgotten() -> None:
    """mex restore 可恢复."""
    memory = add("远光软件", "work.company")
    mex("forget", memory["id"], "--reason", "x")
    shown = mex("restore", memory["id"], "--json").json
    assert memory["id"] in str(shown)
    assert contents() == ["远光软件"]
    again = get(memory["id"])
    assert (again["forgotten_at"], again["forgotten_reason"]) == (None, None)
    assert found("--keyword", "远光") == ["远光软件"]


def test_seed_adr_8_forgetting_twice_and_restoring_what_is_there_is_refused() -> None:
    """目标条目不存在 is the user's error (§5.2)."""
    memory = add("远光软件", "work.company")
    refused("restore", memory["id"])
    mex("forget", memory["id"])
    refused("forget", memory["id"])
    refused("forget", "00000000-0000-4000-8000-000000000000")
    refused("restore", "00000000-0000-4000-8000-000000000000")


def test_product_b7_restore_into_an_occupied_unique_slot_is_refused_with_both_contents() -> None:
    """Both contents, and the commands that resolve it."""
    old = add("上海", "basic_info.location")
    mex("forget", old["id"])
    new = add("杭州", "basic_info.location")
    told = refused("restore", old["id"]).err
    for word in ("上海", "杭州", "mex ", new["id"][:8]):
        assert word in told
    assert active("basic_info.location") == ["杭州"]


def test_seed_adr_8_hard_removes_the_memory_and_leaves_a_line_without_its_text() -> None:
    """记忆本体移除 (history 中仍留一条删除记录); product B6: the text is gone everywhere."""
    keep = add("芒果布丁配方八号")
    memory = add("芒果布丁配方七号 zanzibarsecret", "work.company")
    mex("update", memory["id"], "--content", "荔枝糖水秘方 quagmiresecret")
    mex("forget", memory["id"], "--hard", "--yes")
    assert one("SELECT count(*) FROM memories WHERE id = ?", memory["id"]) == 0
    kept = rows("SELECT event, old_content, new_content FROM history WHERE memory_id = ?", memory["id"])
    assert kept[-1][0] in ("delete", "purge")
    assert all(line[1] is None and line[2] is None for line in kept)
    for path in database().parent.rglob("*"):
        raw = path.read_bytes() if path.is_file() else b""
        for text in ("配方七号", "荔枝糖水", "zanzibarsecret", "quagmiresecret"):
            assert text.encode() not in raw, (path.name, text)
    assert found("--keyword", "配方") == ["芒果布丁配方八号"]
    assert keep["id"] in mex("list").out
    assert mex("history", memory["id"]).out.strip()
    refused("get", memory["id"])
    refused("restore", memory["id"])


def test_seed_adr_8_hard_asks_and_without_an_answer_deletes_nothing() -> None:
    """执行前交互确认或 --yes 跳过."""
    memory = add("远光软件", "work.company")
    for answer in ("", "n\n"):
        assert mex("forget", memory["id"], "--hard", stdin=answer, ok=False).code == 1
    assert contents() == ["远光软件"]


def test_seed_adr_8_hard_takes_what_was_forgotten_softly_before() -> None:
    """硬删除 gives full control: also over what is already out of sight."""
    memory = add("远光软件", "work.company")
    mex("forget", memory["id"])
    mex("forget", memory["id"], "--hard", "--yes")
    assert one("SELECT count(*) FROM memories") == 0


@pytest.mark.parametrize("hard", [(), ("--hard",)], ids=["soft", "hard"])
def test_seed_adr_8_dry_run_shows_what_would_go_and_changes_nothing(hard: tuple[str, ...]) -> None:
    """先预览将影响的条目，不实际执行; 去掉该参数才真正生效."""
    for skill in ("Python", "Go"):
        add(skill, "work.tech_stack")
    add("远光软件", "work.company")
    command = ("forget", "--topic", "work", "--sub-topic", "tech_stack", *hard)
    preview = mex(*command, "--dry-run").out
    assert "Python" in preview
    assert "Go" in preview
    assert "远光软件" not in preview
    assert len(contents()) == 3
    assert one("SELECT count(*) FROM history") == 3
    mex(*command, "--yes")
    assert contents() == ["远光软件"]


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        (("--topic", "work"), ["心情不错", "杭州"]),
        (("--topic", "work", "--sub-topic", "company"), ["Go 语言", "年会心情", "心情不错", "杭州"]),
        (("--keyword", "心情"), ["Go 语言", "杭州", "远光软件"]),
        (("--keyword", "心情", "--topic", "work"), ["Go 语言", "心情不错", "杭州", "远光软件"]),
        (("--since", "2026-06-01"), ["远光软件"]),
        (("--until", "2026-06-01"), ["Go 语言", "年会心情", "心情不错", "杭州"]),
        (("--confidence", "speculated"), ["Go 语言", "年会心情", "心情不错", "远光软件"]),
    ],
    ids=lambda value: "_".join(value).replace("--", "") if isinstance(value, tuple) else "",
)
def test_seed_adr_8_conditions_are_anded_and_what_was_hit_is_printed(
    condition: tuple[str, ...], left: list[str]
) -> None:
    """mex forget 条件批量 (product G5): soft, at once, printed; restore undoes it."""
    add("远光软件", "work.company")
    add("Go 语言", "work.tech_stack")
    add("年会心情", "work")
    add("心情不错")
    add("杭州", "basic_info.location", "--confidence", "speculated")
    change("UPDATE memories SET created_at = '2026-01-05T00:00:00Z' WHERE content = '远光软件'")
    change("UPDATE memories SET created_at = '2026-07-05T00:00:00Z' WHERE content != '远光软件'")
    everything = set(contents())
    out = mex("forget", *condition).out
    assert contents() == sorted(left)
    for content in everything - set(left):
        assert content in out
    for content in left:
        assert content not in out


def test_seed_adr_8_by_ai_inferred(model: ModelServer) -> None:
    """--ai-inferred: what a model inferred, and nothing a person said."""
    add("远光软件", "work.company")
    guess = candidate("basic_info.hometown", "北方", "老家冬天冷", is_ai_inferred=True, confidence="inferred")
    said(model, "老家冬天冷", guess)
    mex("forget", "--ai-inferred")
    assert contents() == ["远光软件"]


def test_seed_adr_8_without_an_id_or_a_condition_nothing_is_forgotten() -> None:
    """参数非法 (§5.2); nothing matched is told as such."""
    add("远光软件", "work.company")
    refused("forget")
    refused("forget", "--sub-topic", "company")
    assert mex("forget", "--keyword", "没有这个词", ok=False).code in (0, 1)
    assert contents() == ["远光软件"]


def test_seed_3_5_a_forgotten_value_frees_its_slot() -> None:
    """一条有效条目: only active ones count."""
    memory = add("上海", "basic_info.location")
    refused_add("杭州", "basic_info.location")
    mex("forget", memory["id"])
    add("杭州", "basic_info.location")
    assert contents() == ["杭州"]

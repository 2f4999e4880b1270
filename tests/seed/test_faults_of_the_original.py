"""The faults 1 to 18 that were observed in the original (original.md §3), none of which this program may have."""

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tests.seed.ground import (
    active,
    add,
    at,
    candidate,
    change,
    database,
    found,
    listed,
    one,
    refused,
    refused_add,
    rows,
    said,
    write_lock,
)
from tests.support.model_server import ModelServer, reply
from tests.support.program import contents, mex, opened

LOCATION = "basic_info.location"
PAST = ("--expires", "2020-01-01")


def test_fault_01_a_forgotten_row_does_not_hide_its_slot(model: ModelServer, tmp_path: Path) -> None:
    """add A; forget A; add B; add C: C is refused; an extraction updates B; an import sees the conflict."""
    first = add("上海", LOCATION)
    mex("forget", first["id"])
    second = add("杭州", LOCATION)
    refused_add("北京", LOCATION)
    result = said(model, "我搬到苏州了", candidate(LOCATION, "苏州", "我搬到苏州了", action="update"))
    assert [pair["after"]["id"] for pair in result["updated"]] == [second["id"]]
    other = str(tmp_path / "other")
    add("北京", LOCATION, MEX_HOME=other)
    mex("export", "--output", str(tmp_path / "e.json"), MEX_HOME=other)
    mex("import", str(tmp_path / "e.json"), "--mode", "restore")
    assert active(LOCATION) == ["苏州"]


def test_fault_02_restore_and_its_like_check_the_slot(tmp_path: Path) -> None:
    """restore, import --on-conflict overwrite onto a forgotten id, update --clear-expires: never two active."""
    old = add("上海", LOCATION)
    mex("export", "--output", str(tmp_path / "e.json"))
    mex("forget", old["id"])
    expired = add("南京", LOCATION, *PAST)
    add("杭州", LOCATION)
    refused("restore", old["id"])
    refused("update", expired["id"], "--clear-expires")
    mex("import", str(tmp_path / "e.json"), "--mode", "restore", "--on-conflict", "overwrite", ok=False)
    assert len(listed("--topic", "basic_info", "--sub-topic", "location")) == 1


def test_fault_03_processes_that_add_at_once_leave_one_value() -> None:
    """Looked up inside the write transaction."""
    mex("init")

    def write(number: int) -> int:
        return mex("add", *at("basic_info.name"), "--content", f"名字{number}", ok=False).code

    with ThreadPoolExecutor(4) as pool:
        codes = sorted(pool.map(write, range(6)))
    assert codes == [0, 1, 1, 1, 1, 1]
    assert len(active("basic_info.name")) == 1


def test_fault_04_an_imported_forgotten_record_never_empties_a_slot(tmp_path: Path) -> None:
    """The active holder stays."""
    other = str(tmp_path / "other")
    gone = add("北京", LOCATION, MEX_HOME=other)
    mex("forget", gone["id"], MEX_HOME=other)
    mex("export", "--output", str(tmp_path / "e.json"), MEX_HOME=other)
    add("杭州", LOCATION)
    mex("import", str(tmp_path / "e.json"), "--mode", "restore", "--on-conflict", "overwrite")
    assert active(LOCATION) == ["杭州"]


def test_fault_05_reading_does_not_write() -> None:
    """data_version stands still over every query, and a held write lock fails none."""
    memory = add("远光软件", "work.company")
    queries = (
        ("profile",), ("list",), ("search", "--keyword", "远光"), ("get", memory["id"]), ("stats",), ("history", memory["id"]),
        ("review", "list"), ("doctor",), ("gc", "--dry-run"), ("schema",), ("jobs", "list"), ("config", "show"),
    )  # fmt: skip
    with closing(sqlite3.connect(database())) as db:
        before = db.execute("PRAGMA data_version").fetchone()
        for query in queries:
            mex(*query)
        assert db.execute("PRAGMA data_version").fetchone() == before
    with write_lock():
        for query in queries[:4]:
            mex(*query)


def test_fault_06_the_limit_applies_after_all_filters() -> None:
    """The newest matches are kept; a topic or forgotten rows cost no hit."""
    for number in range(60):
        add(f"基金第{number:02}次")
    add("基金与健康", "health")
    assert found("--keyword", "基金", "--limit", "3") == ["基金与健康", "基金第59次", "基金第58次"]
    assert found("--keyword", "基金", "--topic", "health", "--limit", "1") == ["基金与健康"]
    change("UPDATE memories SET forgotten_at = created_at WHERE content LIKE '基金第%' AND content < '基金第30'")
    assert len(found("--keyword", "基金", "--limit", "50")) == 31


def test_fault_07_forgotten_ones_are_found_by_short_keywords_too_and_words_need_not_touch() -> None:
    """--include-forgotten with 1-2 characters; 基金 焦虑; equal seconds in the order of writing."""
    gone = add("基金跌了，有点焦虑")
    mex("forget", gone["id"])
    for keyword in ("基", "基金", "基金跌", "焦虑"):
        assert found("--keyword", keyword, "--include-forgotten") == ["基金跌了，有点焦虑"]
        assert found("--keyword", keyword) == []
    mex("restore", gone["id"])
    assert found("--keyword", "基金 焦虑") == ["基金跌了，有点焦虑"]
    for number in range(4):
        add(f"同秒{number}")
    change("UPDATE memories SET created_at = '2026-01-01T00:00:00Z', updated_at = '2026-01-01T00:00:00Z'")
    change("UPDATE memories SET valid_from = '2026-01-01T00:00:00Z', last_seen_at = '2026-01-01T00:00:00Z'")
    assert found("--keyword", "同秒") == ["同秒3", "同秒2", "同秒1", "同秒0"]


def test_fault_08_since_takes_date_times_and_spans() -> None:
    """Both are in the seed (§3.7, §8.5)."""
    add("刚才的事")
    for since in ("7d", "12h", "3w", "2020-01-01", "2020-01-01 08:00:00"):
        assert found("--since", since) == ["刚才的事"]


def test_fault_09_many_valued_slots_show_the_surest_then_the_freshest() -> None:
    """Not the newest created (seed §6.2)."""
    for name, tier in (("甲", "confirmed"), ("乙", "inferred"), ("丙", "speculated"), ("丁", "uncertain")):
        add(f"{name}语言", "work.tech_stack", "--confidence", tier)
    text = mex("profile").out
    assert "甲语言" in text
    assert "丁语言" not in text
    assert text.index("甲语言") < text.index("乙语言") < text.index("丙语言")


def test_fault_10_the_count_is_true_whatever_the_budget_cuts() -> None:
    """共 X 条 counts what is stored, not what is printed."""
    for number in range(6):
        add(f"第{number}门" + "语言" * 20, "work.tech_stack")
    for limit in ("3000", "250", "200"):
        out = mex("--lang", "zh", "profile", "--max-tokens", limit).out
        assert "技术栈" not in out or "共 6 条" in out


def test_fault_11_an_export_holds_what_is_past_its_end(tmp_path: Path) -> None:
    """Also what gc has taken: nothing is lost in a restore elsewhere."""
    add("过期未清", None, *PAST)
    mex("gc")
    add("过期待清", None, *PAST)
    mex("export", "--output", str(tmp_path / "e.json"))
    mex("import", str(tmp_path / "e.json"), "--mode", "restore", MEX_HOME=str(tmp_path / "other"))
    with opened(tmp_path / "other" / "mex.db") as db:
        stored = {row[0] for row in db.execute("SELECT content FROM memories")}
    assert stored == {"过期未清", "过期待清"}


def test_fault_12_what_gc_took_can_be_found_and_brought_back() -> None:
    """list --include-forgotten shows it; after restore it is visible and stays."""
    memory = add("限时优惠", None, *PAST)
    mex("gc")
    assert listed("--include-forgotten") == ["限时优惠"]
    mex("restore", memory["id"])
    mex("gc")
    assert contents() == ["限时优惠"]


def test_fault_13_history_travels_and_a_forgotten_twin_is_not_skipped_silently(tmp_path: Path) -> None:
    """History is in the export; restoring over a forgotten twin brings it back with overwrite, or is reported."""
    memory = add("远光软件", "work.company")
    mex("update", memory["id"], "--content", "前进云")
    path = str(tmp_path / "e.json")
    mex("export", "--output", path)
    other = str(tmp_path / "other")
    mex("import", path, "--mode", "restore", MEX_HOME=other)
    shown = mex("history", memory["id"], "--json", MEX_HOME=other).json
    assert [line["event"] for line in shown][:2] == ["add", "update"]
    mex("forget", memory["id"])
    told = mex("import", path, "--mode", "restore", "--json").json
    assert contents() == ["前进云"] or memory["id"] in json.dumps(told)
    mex("import", path, "--mode", "restore", "--on-conflict", "overwrite")
    assert contents() == ["前进云"]


def test_fault_14_import_keeps_to_the_schema_and_one_bad_record_costs_no_other(tmp_path: Path) -> None:
    """Unknown topics, plain text in structured slots, blank contents, lists as content."""
    good = add("好的")
    path = tmp_path / "e.json"
    mex("export", "--output", str(path))
    data = json.loads(path.read_text(encoding="utf-8"))
    bad = [
        {"topic": "nosuch"}, {"topic": "work", "sub_topic": "experience"}, {"content": " "}, {"content": ["a"]},
        {"confidence": "sure"},
    ]  # fmt: skip
    pattern = data["memories"][0]
    for number, changes in enumerate(bad):
        data["memories"].insert(0, pattern | {"id": f"{number:08x}-0000-4000-8000-000000000000"} | changes)
    path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    other = {"MEX_HOME": str(tmp_path / "other")}
    told = mex("import", str(path), "--mode", "restore", "--json", **other).json
    assert [memory["id"] for memory in mex("list", "--json", "--include-forgotten", **other).json] == [good["id"]]
    assert len(told["conflicts"]) == len(bad) if isinstance(told["conflicts"], list) else told["conflicts"] == len(bad)


@pytest.mark.parametrize("shape", ["结果：{}，完毕。", "```\n{}\n```", "```json\n{}\n```"])
def test_fault_15_json_among_prose_and_in_bare_fences_is_dug_out(model: ModelServer, shape: str) -> None:
    """No second paid call."""
    model.script({"reply": shape.replace("{}", reply(candidate(LOCATION, "杭州", "我住在杭州")))})
    mex("extract", "我住在杭州")
    assert contents() == ["杭州"]
    assert len(model.requests()) == 1


@pytest.mark.parametrize("answer", ['{"items": []}', '{"memories": null}'])
def test_fault_16_a_reply_without_a_list_is_no_success(model: ModelServer, tmp_path: Path, answer: str) -> None:
    """Exit 2, and the text is extracted the next time."""
    talk = tmp_path / "talk.txt"
    talk.write_text("用户：我住在杭州\n助手：好", encoding="utf-8")
    model.script({"reply": answer})
    assert mex("extract", "--file", str(talk), ok=False).code == 2
    model.script({"reply": reply(candidate(LOCATION, "杭州", "我住在杭州"))})
    mex("extract", "--file", str(talk))
    assert contents() == ["杭州"]


def test_fault_17_failed_calls_and_imports_are_on_the_books(model: ModelServer, tmp_path: Path) -> None:
    """Tokens of unusable answers are recorded; an import is recorded as import."""
    model.script({"reply": "……"})
    assert mex("extract", "我住在杭州", ok=False).code == 2
    model.script({"reply": reply()})
    cv = tmp_path / "cv.md"
    cv.write_text("# 简历\n\n现居杭州", encoding="utf-8")
    mex("import", str(cv), "--mode", "extract")
    assert rows("SELECT purpose FROM llm_usage ORDER BY rowid") == [("extract",), ("extract",), ("import",)]


@pytest.mark.parametrize("occupied", [True, False], ids=["occupied", "empty"])
def test_fault_18_an_uncertain_update_always_reaches_review(model: ModelServer, occupied: bool) -> None:
    """Also on an empty slot; and it is counted as inferred."""
    if occupied:
        add("杭州", LOCATION)
    doubt = candidate(LOCATION, "深圳", "说不定长住深圳", action="uncertain_update")
    result = said(model, "说不定长住深圳", doubt)
    assert rows("SELECT confidence, is_ai_inferred FROM memories") == [("uncertain", 1)]
    assert result["inferred_count"] == 1
    assert one("SELECT count(*) FROM memories WHERE forgotten_at IS NULL") == 1
    assert len(mex("review", "list", "--json").json) == 1

"""Seed ADR-9 and ADR-10: exports to local files, and queries that never ask a model."""

import json
import socket
import stat
from pathlib import Path

import pytest

from tests.seed.ground import add, at, candidate, one, refused, rows, said, use_schema
from tests.support.model_server import ModelServer
from tests.support.program import mex, opened

QUERIES = (
    ("list",), ("list", "--all", "--include-forgotten"), ("search", "--keyword", "远光"), ("search", "远光"),
    ("search", "--since", "7d"), ("search", "--topic", "work"), ("profile",), ("profile", "--topics", "work"),
    ("stats",), ("jobs", "list"), ("review", "list"), ("config", "show"), ("schema",), ("get", "ID"), ("history", "ID"),
)  # fmt: skip


@pytest.fixture
def full(tmp_path: Path) -> str:
    """A home that holds an active, an updated, a forgotten and an expired memory, and records."""
    company = add("远光软件", "work.company")
    mex("update", company["id"], "--content", "前进云")
    add('{"start": "2019", "end": "至今", "company": "星辰软件"}', "work.experience")
    gone = add("喜欢登山", "leisure.hobbies")
    mex("forget", gone["id"], "--reason", "不再喜欢")
    add("限时优惠码记录", None, "--expires", "2020-01-01")
    add("随手记：下周复盘", "finance")
    return str(tmp_path / "out.json")


def test_seed_adr_9_json_holds_everything(full: str) -> None:
    """Product G11: forgotten, expired, history, with id and every field (§6.4)."""
    mex("export", "--format", "json", "--output", full)
    data = json.loads(Path(full).read_text(encoding="utf-8"))
    memories = {memory["content"]: memory for memory in data["memories"]}
    assert set(memories) == {content for (content,) in rows("SELECT content FROM memories")}
    keys = [
        "id",
        "topic",
        "sub_topic",
        "content",
        "is_ai_inferred",
        "confidence",
        "evidence",
        "created_at",
        "updated_at",
        "forgotten_at",
    ]
    assert {*keys, "forgotten_reason", "expires_at"} <= set(memories["前进云"])
    assert memories["喜欢登山"]["forgotten_reason"] == "不再喜欢"
    assert "远光软件" in json.dumps(data, ensure_ascii=False)


def test_seed_adr_9_markdown_is_for_people(full: str, tmp_path: Path) -> None:
    """--format markdown: contents under their topics, no raw JSON."""
    target = tmp_path / "out.md"
    mex("export", "--format", "markdown", "--output", str(target))
    text = target.read_text(encoding="utf-8")
    for words in ("前进云", "星辰软件", "随手记：下周复盘", "喜欢登山"):
        assert words in text
    assert any(line.startswith("#") for line in text.splitlines())
    assert '{"start"' not in text


def test_seed_adr_9_the_summary_names_the_file_and_the_number(full: str) -> None:
    """导出到本地文件: so that the user sees where and how much."""
    out = mex("export", "--format", "json", "--output", full).out
    assert full in out
    assert str(one("SELECT count(*) FROM memories")) in out


def test_seed_adr_9_exports_are_fit_for_git(full: str, tmp_path: Path) -> None:
    """导出产物适合纳入 git 管理: unchanged memory, unchanged bytes (product H13)."""
    second = tmp_path / "again.json"
    mex("export", "--format", "json", "--output", full)
    mex("export", "--format", "json", "--output", str(second))
    assert Path(full).read_bytes() == second.read_bytes()
    assert len(second.read_text(encoding="utf-8").splitlines()) > 20


@pytest.mark.parametrize("form", ["json", "markdown"])
def test_seed_9_output_may_be_a_folder(full: str, tmp_path: Path, form: str) -> None:
    """定期 mex export --format json --output ~/backups/mex/."""
    folder = tmp_path / "backups" / "mex"
    mex("export", "--format", form, "--output", f"{folder}/")
    (file,) = folder.iterdir()
    assert "前进云" in file.read_text(encoding="utf-8")
    mex("export", "--format", form, "--output", str(folder))
    assert list(folder.iterdir()) == [file]


def test_seed_adr_9_an_export_is_private_and_made_in_one_step(full: str) -> None:
    """Only its owner reads it, also when it replaces another file; a wrong format leaves it alone."""
    mex("export", "--output", full)
    mex("export", "--output", full)
    assert stat.S_IMODE(Path(full).stat().st_mode) == 0o600
    refused("export", "--format", "xml", "--output", full)
    assert json.loads(Path(full).read_text(encoding="utf-8"))


def test_seed_adr_9_an_unwritable_place_is_an_outside_error(full: str, tmp_path: Path) -> None:
    """Exit code 2 (§5.2: IO)."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    failed = mex("export", "--output", str(tmp_path / "file" / "x.json"), ok=False)
    assert failed.code in (1, 2)
    assert failed.err.strip()


def test_product_g11_restoring_an_export_gives_back_the_same_content(full: str, tmp_path: Path) -> None:
    """Same rows, same history, same order; and an export of the copy is the same file."""
    mex("export", "--output", full)
    other = tmp_path / "other"
    mex("import", full, "--mode", "restore", MEX_HOME=str(other))
    columns = (
        "id, topic, sub_topic, content, is_ai_inferred, confidence, evidence, created_at, updated_at, forgotten_at,"
        " forgotten_reason, expires_at"
    )
    for sql in (
        f"SELECT {columns} FROM memories ORDER BY created_at, rowid",
        "SELECT memory_id, event, old_content, new_content, actor, created_at FROM history ORDER BY rowid",
    ):
        with opened(other / "mex.db") as db:
            assert list(db.execute(sql)) == rows(sql)
    mex("export", "--output", str(tmp_path / "copy.json"), MEX_HOME=str(other))
    assert (tmp_path / "copy.json").read_bytes() == Path(full).read_bytes()


def test_product_h13_cursors_are_in_an_export(model: ModelServer, tmp_path: Path) -> None:
    """What was extracted is not paid for again in the restored home."""
    note = tmp_path / "note.txt"
    note.write_text("用户：我住在杭州\n助手：好的", encoding="utf-8")
    model.script({"reply": json.dumps({"memories": [{"action": "new", **candidate("basic_info.location", "杭州")}]})})
    mex("extract", "--from", "plain", "--file", str(note))
    mex("export", "--output", str(tmp_path / "e.json"))
    other = str(tmp_path / "other")
    mex("import", str(tmp_path / "e.json"), "--mode", "restore", MEX_HOME=other)
    settings = {"MEX_HOME": other, "MEX_LLM_BASE_URL": model.url, "MEX_LLM_MODEL": "m1", "MEX_LLM_API_KEY": "k"}
    mex("extract", "--from", "plain", "--file", str(note), **settings)
    assert len(model.requests()) == 1


@pytest.mark.parametrize("query", QUERIES, ids=lambda words: "_".join(words).replace("--", ""))
def test_seed_adr_10_a_query_works_with_an_endpoint_that_cannot_be_reached(query: tuple[str, ...]) -> None:
    """所有查询命令零 LLM 调用."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    mex("config", "llm", "--provider", "custom", "--base-url", url, "--api-key", "k", "--model", "m")
    memory = add("远光软件", "work.company")
    words = [memory["id"] if word == "ID" else word for word in query]
    assert mex(*words).code == 0
    assert one("SELECT count(*) FROM llm_usage") == 0


def test_seed_adr_10_no_query_reaches_a_model_that_listens(model: ModelServer) -> None:
    """零费用: a listening endpoint hears nothing, from writes by hand neither."""
    memory = add("远光软件", "work.company")
    for query in QUERIES:
        mex(*[memory["id"] if word == "ID" else word for word in query])
    mex("update", memory["id"], "--content", "前进云")
    mex("forget", memory["id"])
    mex("restore", memory["id"])
    assert model.requests() == []


def test_seed_adr_10_only_extract_and_import_call(model: ModelServer, tmp_path: Path) -> None:
    """LLM 只在 extract、import 调用, and each call is in llm_usage with its purpose (§7.4)."""
    said(model, "我住在杭州", candidate("basic_info.location", "杭州"))
    (tmp_path / "cv.md").write_text("# 简历\n\n技能：Haskell", encoding="utf-8")
    mex("import", str(tmp_path / "cv.md"), "--mode", "extract")
    assert rows("SELECT purpose, model, prompt_tokens, completion_tokens FROM llm_usage ORDER BY rowid") == [
        ("extract", "m1", 100, 20),
        ("import", "m1", 100, 20),
    ]


def test_seed_adr_10_queries_need_no_network_for_a_schema_with_many_slots() -> None:
    """毫秒级 is about the query; here: it works on any schema, empty slots included."""
    use_schema("topics:\n  work:\n    description: 工作\n    sub_topics:\n      company: { description: 公司 }\n")
    mex("add", *at("work.company"), "--content", "远光")
    assert "远光" in mex("profile").out

"""Seed ADR-8 with product B6: forgetting for good is for good, wherever the words have been; and what travels in exports."""

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.seed.ground import add, candidate, events, found, home, one, rows, said
from tests.support.model_server import ModelServer, reply
from tests.support.program import Ran, contents, mex, opened, write
from tests.support.sessions import SessionFile

LOCATION = "basic_info.location"
SECRET = "南浔古镇柒号院"


def traces(*words: str) -> list[str]:
    """The files of the home that hold any of these words."""
    files = [path for path in home().rglob("*") if path.is_file()]
    return [path.name for path in files if any(word.encode() in path.read_bytes() for word in words)]


@pytest.mark.parametrize("way", ["text", "session", "import"])
def test_product_b6_an_extracted_memory_leaves_no_trace(model: ModelServer, tmp_path: Path, way: str) -> None:
    """memories, history, FTS, sources, job payloads and results, kept replies, cache, logs: content and quote are gone."""
    quote = f"我住在{SECRET}"
    model.script({"reply": reply(candidate(LOCATION, SECRET, quote))})
    if way == "text":
        mex("extract", f"{quote}，门牌是蓝的")
    elif way == "session":
        session = SessionFile(tmp_path / "s.jsonl").user(f"{quote}，门牌是蓝的").assistant("好")
        mex("extract", "--file", str(session.path))
    else:
        mex("import", str(write(tmp_path / "cv.md", "# 简历", "", f"{quote}，门牌是蓝的")), "--mode", "extract")
    mex("profile")
    memory_id = one("SELECT id FROM memories")
    assert traces(SECRET)
    mex("forget", memory_id, "--hard", "--yes")
    assert traces(SECRET) == []
    assert mex("jobs", "list").code == 0
    (job,) = mex("jobs", "list", "--json").json
    assert SECRET not in mex("jobs", "show", job["job_id"], "--json").out


def test_product_b6_an_overwritten_value_goes_with_its_memory(model: ModelServer) -> None:
    """The earlier value is in history and in the doubt beside it: it goes too."""
    said(model, f"我住在{SECRET}", candidate(LOCATION, SECRET, f"我住在{SECRET}"))
    said(model, "说不定长住深圳", candidate(LOCATION, "深圳", "说不定长住深圳", action="uncertain_update"))
    mex("profile")
    mex("forget", one("SELECT id FROM memories"), "--hard", "--yes")
    assert traces(SECRET) == []


def test_product_b6_a_twin_survives_the_purge_of_the_other() -> None:
    """Equal contents are two memories; one may go without the other."""
    first, second = add("随手记一笔"), add("随手记一笔")
    mex("forget", first["id"], "--hard", "--yes")
    assert [row[0] for row in rows("SELECT id FROM memories")] == [second["id"]]
    assert found("--keyword", "随手记") == ["随手记一笔"]


def test_product_b6_what_was_purged_is_not_learned_again(model: ModelServer, tmp_path: Path) -> None:
    """Message keys stay: the same session adds nothing the second time."""
    session = SessionFile(tmp_path / "s.jsonl").user(f"我住在{SECRET}").assistant("好")
    model.script({"reply": reply(candidate(LOCATION, SECRET, f"我住在{SECRET}"))})
    mex("extract", "--file", str(session.path))
    mex("forget", one("SELECT id FROM memories"), "--hard", "--yes")
    fork = session.forked_to(tmp_path / "fork.jsonl")
    for path in (session.path, fork.path):
        mex("extract", "--file", str(path))
    assert contents() == []
    assert len(model.requests()) == 1


def test_product_b6_the_receipt_names_what_is_out_of_reach() -> None:
    """Exports elsewhere."""
    memory = add("远光软件", "work.company")
    ran = mex("forget", memory["id"], "--hard", "--yes")
    assert memory["id"][:8] in ran.out
    assert "export" in (ran.out + ran.err).lower()


def test_product_g11_sources_travel_with_an_export(model: ModelServer, tmp_path: Path) -> None:
    """Exports hold everything: a restored memory can still be traced."""
    session = SessionFile(tmp_path / "s.jsonl").user("我住在杭州").assistant("好")
    model.script({"reply": reply(candidate(LOCATION, "杭州", "我住在杭州"))})
    mex("extract", "--file", str(session.path))
    mex("export", "--output", str(tmp_path / "e.json"))
    other = tmp_path / "other"
    mex("import", str(tmp_path / "e.json"), "--mode", "restore", MEX_HOME=str(other))
    sql = "SELECT memory_id, agent, session_id, message_id, role, said_at, quote, verified, project FROM memory_sources"
    with opened(other / "mex.db") as db:
        assert list(db.execute(sql)) == rows(sql)
    memory_id = one("SELECT id FROM memories")
    assert mex("get", memory_id, MEX_HOME=str(other)).json["sources"] == mex("get", memory_id).json["sources"]


def test_seed_6_3_what_is_out_of_sight_awaits_no_review(model: ModelServer) -> None:
    """Forgotten and expired guesses are neither listed nor counted."""
    said(
        model,
        "老家冬天冷，钱放着安稳",
        candidate("basic_info.hometown", "北方", "老家冬天冷", is_ai_inferred=True, confidence="inferred"),
        candidate("values.risk_preference", "稳健", "钱放着安稳", is_ai_inferred=True, confidence="speculated"),
    )
    ids = dict(rows("SELECT content, id FROM memories"))
    mex("forget", ids["北方"])
    mex("update", ids["稳健"], "--expires", "2020-01-01")
    assert mex("review", "list", "--json").json == []
    assert mex("stats", "--json").json["pending_review"] == 0


def test_seed_6_3_the_old_value_is_told_as_json_too_and_can_be_added_again(model: ModelServer) -> None:
    """用户可用 mex add 手动恢复."""
    said(model, "我住在杭州", candidate(LOCATION, "杭州", "我住在杭州"))
    said(model, "说不定长住深圳", candidate(LOCATION, "深圳", "说不定长住深圳", action="uncertain_update"))
    memory_id = one("SELECT id FROM memories")
    assert "杭州" in mex("review", "decline", memory_id, "--json").out
    add("杭州", LOCATION)
    assert contents() == ["杭州"]
    assert events(memory_id) == ["add", "update", "forget"]


def test_product_a3_many_first_commands_at_once_make_one_home() -> None:
    """No command fails because another is making the home."""

    def write_one(number: int) -> Ran:
        return mex("add", "--content", f"第{number}条", ok=False)

    with ThreadPoolExecutor(4) as pool:
        ran = list(pool.map(write_one, range(4)))
    assert [one_run.code for one_run in ran] == [0, 0, 0, 0]
    assert contents() == [f"第{number}条" for number in range(4)]


def test_seed_5_1_doctor_tells_an_unreachable_model_without_failing_hard() -> None:
    """Original: reports configured and reachable; no traceback, no hanging."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    mex("config", "llm", "--provider", "custom", "--base-url", url, "--api-key", "sk-abcdef123456789", "--model", "m")
    ran = mex("doctor", ok=False)
    assert ran.code in (0, 1, 2)
    assert "abcdef123456" not in ran.out + ran.err
    assert mex("doctor", "--json", ok=False).json


def test_seed_9_mex_schema_prints_json_for_programs() -> None:
    """Product G16, G7."""
    text = mex("schema", "--json").out
    for word in ("work", "tech_stack", "unique"):
        assert word in text

"""The faults 19 to 33 that were observed in the original (original.md §3), none of which this program may have."""

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.seed.ground import (
    active,
    add,
    candidate,
    change,
    database,
    events,
    get,
    home,
    one,
    refused,
    refused_add,
    rows,
    said,
    use_config,
    write_lock,
)
from tests.support.model_server import ModelServer, reply
from tests.support.program import contents, mex, write
from tests.support.sessions import SessionFile

LOCATION = "basic_info.location"
MOVED = ("我搬到苏州了", candidate(LOCATION, "苏州", "我搬到苏州了", action="update"))
COMMANDS = (
    ("list",),
    ("stats",),
    ("profile",),
    ("search",),
    ("add", "--content", "x"),
    ("export", "--output", "OUT"),
    ("gc",),
)


def test_fault_19_the_flag_of_inference_follows_the_value(model: ModelServer) -> None:
    """An inferred value over a hand-written row is reviewable; a plain statement over an inferred row clears the flag."""
    add("杭州", LOCATION)
    guess = candidate(LOCATION, "苏州", "总在苏州吃饭", action="update", is_ai_inferred=True, confidence="inferred")
    said(model, "总在苏州吃饭", guess)
    assert one("SELECT is_ai_inferred FROM memories") == 1
    assert len(mex("review", "list", "--json").json) == 1
    said(model, "我搬到无锡了", candidate(LOCATION, "无锡", "我搬到无锡了", action="update"))
    assert rows("SELECT content, is_ai_inferred, confidence FROM memories") == [("无锡", 0, "explicit")]


def test_fault_20_the_model_never_weakens_a_confirmed_value(model: ModelServer) -> None:
    """The same value again, less sure: nothing is lowered, nothing marked, and no update is written."""
    memory = add("上海", LOCATION)
    again = candidate(LOCATION, "上海", "我在上海", action="update", confidence="uncertain", is_ai_inferred=True)
    said(model, "我在上海", again)
    assert rows("SELECT content, confidence, is_ai_inferred FROM memories") == [("上海", "confirmed", 0)]
    assert "update" not in events(memory["id"])
    assert "待确认" not in mex("--lang", "zh", "profile").out


def test_fault_21_a_decline_puts_the_old_value_back_as_it_was_and_fresh_doubts_come_first(model: ModelServer) -> None:
    """Tier and evidence survive being overwritten; the review list goes by the doubt's time."""
    said(model, "我住在杭州", candidate(LOCATION, "杭州", "我住在杭州"))
    guess = candidate("basic_info.hometown", "北方", "老家冬天冷", is_ai_inferred=True, confidence="inferred")
    said(model, "老家冬天冷", guess)
    change("UPDATE memories SET created_at = '2026-01-01T00:00:00Z', updated_at = '2026-01-01T00:00:00Z'")
    change(
        "UPDATE memories SET created_at = '2026-02-01T00:00:00Z', updated_at = '2026-02-01T00:00:00Z' WHERE content = '北方'"
    )
    said(model, "说不定长住深圳", candidate(LOCATION, "深圳", "说不定长住深圳", action="uncertain_update"))
    queue = mex("review", "list", "--json").json
    assert [memory["content"] for memory in queue] == ["深圳", "北方"]
    mex("review", "decline", queue[0]["id"], "--restore-previous")
    ((tier, inferred, evidence),) = rows(
        "SELECT confidence, is_ai_inferred, evidence FROM memories WHERE content = '杭州' AND forgotten_at IS NULL"
    )
    assert (tier, inferred) == ("explicit", 0)
    assert "我住在杭州" in evidence


def test_fault_22_rewritten_files_are_read_again_and_two_runs_pay_once(model: ModelServer, tmp_path: Path) -> None:
    """A rewrite of equal length is noticed; two runs at once: one call, one memory."""
    path = write(tmp_path / "a.txt", "用户：我住在杭州", "助手：好")
    mex("extract", "--file", str(path))
    write(tmp_path / "a.txt", "用户：我住在苏州", "助手：好")
    model.script({"when": "苏州", "delay": 0.5, "reply": reply(candidate(LOCATION, "苏州", "我住在苏州"))})
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: mex("extract", "--file", str(path), ok=False), range(2)))
    assert sorted(ran.code for ran in both) in ([0, 0], [0, 1], [0, 2])
    assert model.asked("我住在苏州") == 1
    assert contents() == ["苏州"]


def test_fault_22_another_format_reads_the_file_anew(model: ModelServer, tmp_path: Path) -> None:
    """The same file with another --from does not reuse a position on other text."""
    session = SessionFile(tmp_path / "s.jsonl").user("我住在杭州").assistant("好")
    mex("extract", "--from", "plain", "--file", str(session.path))
    mex("extract", "--from", "claude", "--file", str(session.path))
    assert len(model.requests()) == 2
    sent = model.requests()[1]["messages"][-1]["content"]
    assert "我住在杭州" in sent
    assert "parentUuid" not in sent


def test_fault_23_other_records_are_not_the_users_words(model: ModelServer, tmp_path: Path) -> None:
    """Meta, sidechain and command entries of Claude Code never reach the model as the user's words."""
    session = SessionFile(tmp_path / "s.jsonl").user("我住在杭州")
    lines = session.path.read_text(encoding="utf-8").splitlines()
    base = json.loads(lines[0])
    extra: list[dict[str, Any]] = [
        {"isMeta": True, "text": "注入的说明甲"},
        {"isSidechain": True, "text": "子任务的提示乙"},
        {"text": "<command-name>/clear</command-name><command-message>清空丙</command-message>"},
        {"text": "<local-command-stdout>输出丁</local-command-stdout>"},
    ]
    for number, record in enumerate(extra):
        message = {"role": "user", "content": record.pop("text")}
        lines.append(json.dumps(base | record | {"uuid": f"x{number}", "message": message}, ensure_ascii=False))
    session.path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    mex("extract", "--from", "claude", "--file", str(session.path))
    sent = json.dumps(model.requests(), ensure_ascii=False)
    assert "我住在杭州" in sent
    for word in ("说明甲", "提示乙", "清空丙", "输出丁"):
        assert word not in sent


def test_fault_24_long_files_are_sent_in_bounded_requests(model: ModelServer, tmp_path: Path) -> None:
    """Chunked at turn ends; every turn once; an answer's NUL is not stored."""
    session = SessionFile(tmp_path / "s.jsonl")
    for number in range(40):
        session.user(f"第{number:02}件事：" + "说了很多很多话" * 60).assistant("好")
    mex("extract", "--file", str(session.path))
    sizes = [len(request["messages"][-1]["content"]) for request in model.requests()]
    assert len(sizes) > 1
    assert max(sizes) < 20_000
    assert all(model.asked(f"第{number:02}件事") == 1 for number in (0, 13, 39))


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("schema.yaml", b"topics: ["),
        ("schema.yaml", b"\xff\xfe\x00"),
        ("schema.yaml", b"topics:\n  1:\n    description: x\n"),
        ("config.yaml", b"llm: {timeout_seconds: many}"),
        ("config.yaml", b"llm: ["),
        ("config.yaml", b"\xff\xfe\x00"),
    ],
)
def test_fault_25_broken_files_are_messages_and_are_never_overwritten(name: str, broken: bytes) -> None:
    """Exit 1 and the file named, on every command that needs it; `config llm` does not repair by overwriting."""
    mex("init")
    (home() / name).write_bytes(broken)
    failed = mex("add", "--topic", "work", "--content", "x", ok=False)
    assert failed.code == 1
    assert name in failed.err
    mex("config", "llm", "--provider", "ollama", "--model", "m", ok=False)
    assert (home() / name).read_bytes() == broken or name == "schema.yaml"


def test_fault_25_bad_inputs_are_messages(tmp_path: Path) -> None:
    """Missing, binary, directory as input; gc before init; null in config.yaml."""
    assert mex("gc").code == 0
    (tmp_path / "binary").write_bytes(b"\x00\xff\xfe\x81" * 50)
    for path in (tmp_path / "missing", tmp_path / "binary", tmp_path):
        for command in (("extract", "--file", str(path)), ("import", str(path))):
            failed = mex(*command, ok=False)
            assert failed.code in (1, 2)
            assert failed.err.strip()
    use_config("profile:\n  max_tokens: null\n")
    assert mex("profile", ok=False).code in (0, 1)
    (home() / "config.yaml").unlink()
    mex("config", "llm", "--provider", "ollama", "--model", "m")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_fault_26_a_damaged_database_is_exit_2_on_every_command(command: tuple[str, ...], tmp_path: Path) -> None:
    """A message, no traceback; the option parser's errors are exit 1."""
    home().mkdir()
    database().write_bytes(b"no database" * 400)
    words = [str(tmp_path / "e.json") if word == "OUT" else word for word in command]
    failed = mex(*words, ok=False)
    assert failed.code == 2
    assert failed.err.strip()
    assert mex(command[0], "--nosuch", ok=False).code == 1


def test_fault_26_a_locked_database_is_exit_2_on_writes() -> None:
    """After busy_timeout, with a message that it may be tried again."""
    memory = add("远光软件", "work.company")
    with write_lock():
        failed = mex("--json", "update", memory["id"], "--content", "前进云", ok=False)
    assert failed.code == 2
    assert json.loads(failed.err)["retryable"] is True


@pytest.mark.parametrize(
    "value",
    [
        {"start": 2019}, {"summary": None}, {"summary": {"a": 1}}, {"company": ""}, {"start": "2023-13-45"}, {"start": "至今"},
    ],
    ids=str,
)  # fmt: skip
def test_fault_27_structured_values_are_checked(value: dict[str, Any]) -> None:
    """Numbers, null, objects, empty required strings, impossible dates, 至今 as a start."""
    whole = {"start": "2019", "end": "2023", "company": "星辰软件"} | value
    refused_add(json.dumps(whole, ensure_ascii=False), "work.experience")
    assert contents() == []


def test_fault_28_empty_names_are_not_stored() -> None:
    """--topic "" --sub-topic "": refused, or a record that is in the recent section."""
    ran = mex("add", "--topic", "", "--sub-topic", "", "--content", "空名字的记录", ok=False)
    if ran.code == 0:
        assert rows("SELECT topic, sub_topic FROM memories") == [(None, None)]
        assert "空名字的记录" in mex("profile").out
    else:
        assert ran.code == 1


def test_fault_29_clear_prints_json_alone_and_lets_sessions_be_read_again(model: ModelServer, tmp_path: Path) -> None:
    """Product H13: `mex clear` resets cursors and message keys."""
    session = SessionFile(tmp_path / "s.jsonl").user("我住在杭州").assistant("好")
    model.script({"reply": reply(candidate(LOCATION, "杭州", "我住在杭州"))})
    mex("extract", "--file", str(session.path))
    json.loads(mex("clear", "--yes", "--json").out)
    assert contents() == []
    mex("extract", "--file", str(session.path))
    assert contents() == ["杭州"]


def test_fault_30_files_are_private_and_a_purge_leaves_no_text(tmp_path: Path) -> None:
    """0600 in 0700, whatever the umask; --hard empties the history, which can still be shown."""
    memory = add("zanzibarsecret", "work.company")
    mex("profile")
    mex("export", "--output", str(tmp_path / "e.json"))
    assert stat.S_IMODE((tmp_path / "e.json").stat().st_mode) == 0o600
    for path in [home(), *home().rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path.name
    mex("forget", memory["id"], "--hard", "--yes")
    assert "zanzibar" not in json.dumps(rows("SELECT * FROM history"))
    shown = mex("history", memory["id"])
    assert "zanzibar" not in shown.out
    assert shown.out.strip()


def test_fault_31_an_agents_add_is_not_the_users() -> None:
    """--by ai, or an agent's environment: explicit at most, told apart, never confirmed (product F4)."""
    first = add("远光软件", "work.company", "--by", "ai")
    second = add("杭州", LOCATION, CLAUDECODE="1")
    third = add("小陈", "basic_info.name", "--by", "ai", "--confidence", "confirmed")
    for memory in (first, second, third):
        assert memory["confidence"] == "explicit"
        assert one("SELECT actor FROM history WHERE memory_id = ?", memory["id"]) == "ai"
    assert add("工程师", "work.position", "--by", "user", CLAUDECODE="1")["confidence"] == "confirmed"
    mex("update", second["id"], "--content", "苏州", "--confidence", "confirmed", "--by", "ai", ok=False)
    assert get(second["id"])["confidence"] != "confirmed"


def test_fault_32_normal_runs_are_quiet_on_stderr(model: ModelServer) -> None:
    """No INFO lines."""
    memory = add("远光软件", "work.company")
    said(model, *MOVED)
    for command in (
        ("list",), ("profile",), ("search", "--keyword", "远光"), ("stats",), ("get", memory["id"]), ("history", memory["id"]),
        ("forget", memory["id"]), ("restore", memory["id"]), ("gc",), ("doctor",),
    ):  # fmt: skip
        err = mex(*command).err
        assert err == "", (command, err)


def test_fault_33_files_are_replaced_in_one_step(tmp_path: Path) -> None:
    """An export that fails leaves the old file whole; a link's target is not cut short; no leftovers."""
    add("远光软件", "work.company")
    path = tmp_path / "out" / "e.json"
    mex("export", "--output", str(path))
    old = path.read_bytes()
    path.parent.chmod(0o500)
    refused("export", "--format", "nosuch", "--output", str(path))
    path.parent.chmod(0o700)
    assert path.read_bytes() == old
    add("前进云年会", None)
    mex("export", "--output", str(path))
    assert list(path.parent.iterdir()) == [path]
    assert active("work.company") == ["远光软件"]
    assert "前进云年会" in path.read_text(encoding="utf-8")

"""Seed §5.2: --json anywhere, exit codes, errors on stderr with what to do."""

import json
import re
import socket
import time
from pathlib import Path

import pytest

from tests.seed.ground import add, at, database, home, one, refused, use_config, use_schema, write_lock
from tests.support.program import mex

EVERY = (
    ("init",), ("list",), ("search",), ("profile",), ("stats",), ("doctor",), ("gc",), ("gc", "--dry-run"), ("schema",),
    ("review", "list"), ("config", "show"), ("jobs", "list"), ("worker", "status"), ("get", "ID"), ("history", "ID"),
    ("update", "ID", "--content", "前进云"), ("forget", "ID", "--dry-run"), ("forget", "ID"), ("add", "--content", "x"),
    ("export", "--output", "FILE"), ("extract", "我住在杭州"),
)  # fmt: skip


@pytest.mark.parametrize("command", EVERY, ids=lambda words: "_".join(words).replace("--", ""))
def test_seed_5_2_json_goes_before_and_after_every_command(command: tuple[str, ...], tmp_path: Path) -> None:
    """所有命令支持以 JSON 格式输出结果 (product G7): nothing else is on stdout."""
    memory = add("远光软件", "work.company")
    words = [{"ID": memory["id"], "FILE": str(tmp_path / "e.json")}.get(word, word) for word in command]
    before = mex("--json", *words).json
    if command[0] not in ("forget", "extract"):
        after = mex(*words, "--json").json
        assert type(after) is type(before)
    assert isinstance(before, dict | list)


def test_seed_5_2_json_is_readable_and_keeps_chinese() -> None:
    """供 agent 程序化解析."""
    add("远光软件", "work.company")
    out = mex("list", "--json").out
    assert "远光软件" in out
    assert len(out.splitlines()) > 1


def test_seed_5_2_a_memory_has_the_twelve_keys_in_json() -> None:
    """The same object in list, search, get, add."""
    memory = add("远光软件", "work.company")
    keys = "id topic sub_topic content is_ai_inferred confidence evidence created_at updated_at forgotten_at"
    for shown in (
        memory,
        mex("list", "--json").json[0],
        mex("search", "--json").json[0],
        mex("get", memory["id"]).json,
    ):
        assert {*keys.split(), "forgotten_reason", "expires_at"} <= set(shown)
        assert isinstance(shown["is_ai_inferred"], bool)
        assert "embedding" not in shown


@pytest.mark.parametrize(
    "wrong",
    [
        ("nosuch",),
        ("add",),
        ("add", "--content"),
        ("add", "--content", "x", "--nosuch"),
        ("add", "--content", "x", "--confidence", "0.73"),
        ("add", "--content", "x", "--topic", "nosuch"),
        ("get",),
        ("get", "00000000-0000-4000-8000-000000000000"),
        ("history", "00000000-0000-4000-8000-000000000000"),
        ("list", "--limit", "many"),
        ("search", "--limit", "-5"),
        ("profile", "--topics", "nosuch"),
        ("profile", "--max-tokens", "0"),
        ("profile", "--recent-limit", "-1"),
        ("review", "approve", "00000000-0000-4000-8000-000000000000"),
        ("review", "nosuch"),
        ("extract",),
        ("extract", "--file", "/nosuch/file.txt"),
        ("extract", "text", "--file", "/nosuch/file.txt"),
        ("extract", "text", "--from", "nosuch"),
        ("export",),
        ("export", "--format", "xml", "--output", "x"),
        ("import", "/nosuch/file.json"),
        ("config", "llm", "--provider", "nosuch"),
        ("config", "nosuch"),
        ("jobs", "show", "00000000"),
        ("gc", "--nosuch"),
    ],
    ids=lambda words: "_".join(words).replace("--", "").replace("/", "-"),
)
def test_seed_5_2_exit_1_is_the_users_error(wrong: tuple[str, ...]) -> None:
    """参数非法、schema 校验失败、目标条目不存在; the option parser's errors too (product G8)."""
    mex("init")
    refused(*wrong)
    assert one("SELECT count(*) FROM memories") == 0


def test_seed_5_2_help_and_version_exit_0() -> None:
    """Product G8."""
    for words in (("--help",), ("--version",), ("add", "--help"), ("review", "--help"), ("import", "--help")):
        assert mex(*words).out.strip()


def test_product_g8_the_command_alone_says_where_things_stand() -> None:
    """Six lines and the next step, exit 0."""
    add("远光软件", "work.company")
    alone = mex()
    assert alone.code == 0
    assert 6 <= len(alone.out.strip().splitlines()) <= 8
    assert "mex " in alone.out


def test_seed_5_2_exit_2_when_the_llm_cannot_be_reached(tmp_path: Path) -> None:
    """外部错误（LLM 调用失败）."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    mex("config", "llm", "--provider", "custom", "--base-url", url, "--api-key", "k", "--model", "m")
    failed = mex("extract", "我住在杭州", ok=False, MEX_LLM_RETRY_BASE_SECONDS="0.01")
    assert failed.code == 2
    assert failed.err.strip()
    assert failed.out == ""
    assert one("SELECT count(*) FROM memories") == 0


@pytest.mark.parametrize("command", [("list",), ("add", "--content", "x"), ("stats",), ("profile",), ("search",)])
def test_seed_5_2_exit_2_when_the_database_is_damaged(command: tuple[str, ...]) -> None:
    """外部错误（数据库 IO 错误）: a message, no traceback."""
    home().mkdir()
    database().write_bytes(b"this is no database at all, but long enough to have a header" * 40)
    failed = mex(*command, ok=False)
    assert failed.code == 2
    assert "mex.db" in failed.err
    assert database().read_bytes().startswith(b"this is no")


def test_seed_5_2_exit_2_when_the_database_stays_locked() -> None:
    """busy_timeout=5000: a write waits five seconds, then it is an outside error."""
    add("远光软件", "work.company")
    with write_lock():
        began = time.monotonic()
        failed = mex("add", "--content", "x", ok=False)
    assert failed.code == 2
    assert failed.err.strip()
    assert time.monotonic() - began > 4


def test_seed_5_2_an_error_says_what_happened_and_what_to_do() -> None:
    """写往 stderr，格式为"发生了什么 + 建议操作"."""
    memory = add("远光软件", "work.company")
    for command, advice in (
        (("add", "--topic", "job", "--content", "x"), "schema.yaml"),
        (("add", *at("work.company"), "--content", "x"), "mex update"),
        (("get", "00000000"), "mex "),
        (("restore", memory["id"]), memory["id"][:8]),
    ):
        assert advice in refused(*command).err


def test_product_e4_with_json_an_error_is_one_object_on_stderr() -> None:
    """{code, message, hint, retryable}."""
    mex("init")
    for command in (
        ("get", "00000000"),
        ("nosuch",),
        ("add",),
        ("list", "--limit", "x"),
        ("search", "--since", "soon"),
    ):
        for words in (("--json", *command), (*command, "--json")):
            error = json.loads(refused(*words).err)
            assert set(error) >= {"code", "message", "hint", "retryable"}
            assert re.fullmatch(r"[a-z][a-z0-9_]*", error["code"])
            assert error["retryable"] is False


def test_seed_5_2_success_is_quiet_on_stderr() -> None:
    """No log lines in normal runs."""
    mex("init")
    for command in (("add", "--content", "x"), ("list",), ("profile",), ("search",), ("stats",)):
        assert mex(*command).err == ""


@pytest.mark.parametrize(
    "broken",
    [
        "topics: [",
        "topics:\n  work: 5\n",
        "topics:\n  1: { description: x }\n",
        "- a\n",
        "",
        "\ufffe",
        "topics: null\n",
    ],
)
def test_product_a5_a_broken_schema_is_one_clear_error(broken: str) -> None:
    """Exit 1, the file named; the data is safe."""
    use_schema(broken)
    failed = mex("add", "--topic", "work", "--content", "x", ok=False)
    assert failed.code == 1
    assert "schema.yaml" in failed.err


@pytest.mark.parametrize(
    ("broken", "named"),
    [
        ("llm:\n  timeout_seconds: soon\n", "timeout_seconds"),
        ("llm:\n  modell: x\n", "modell"),
        ("nosuch: 1\n", "nosuch"),
        ("llm: [\n", "config.yaml"),
        ("profile:\n  max_tokens: -5\n", "max_tokens"),
    ],
)
def test_product_a5_a_broken_config_is_one_clear_error(broken: str, named: str) -> None:
    """Naming file, line and key."""
    use_config(broken)
    failed = mex("profile", ok=False)
    assert failed.code == 1
    assert named in failed.err
    assert "config.yaml" in failed.err
    assert re.search(r"\b[12]\b", failed.err)


@pytest.mark.parametrize(
    "wrong",
    [
        ("nosuch",),
        ("get", "00000000"),
        ("get", "abc"),
        ("restore", "TAKEN"),
        ("update", "TAKEN"),
        ("add", "--content", " "),
        ("add", "--content", "x", "--topic", "job"),
        ("add", "--content", "x", "--topic", "work", "--sub-topic", "employer"),
        ("add", "--content", "x", "--sub-topic", "company"),
        ("add", "--content", "x", *at("work.company")),
        ("add", "--content", "x", *at("work.experience")),
        ("add", "--content", '{"start": "2019"}', *at("work.experience")),
        ("add", "--content", '{"start": "2019", "end": "soon", "company": "x"}', *at("work.experience")),
        ("add", "--content", '{"start": "2019", "end": "2020", "company": "x", "y": "z"}', *at("work.experience")),
        ("add", "--content", '{"start": 2019, "end": "2020", "company": "x"}', *at("work.experience")),
        ("add", "--content", "x", "--expires", "24h"),
        ("add", "--content", "x", "--confidence", "sure"),
        ("search", "--since", "soon"),
        ("list", "--limit", "-1"),
        ("list", "--all", "--limit", "3"),
        ("profile", "--topics", "job"),
        ("forget",),
        ("forget", "TAKEN", "--hard"),
        ("review", "approve", "TAKEN"),
        ("review", "approve"),
        ("move", "TAKEN", *at("work.employer")),
        ("extract",),
        ("extract", "--file", "/nosuch/file"),
        ("import", "/nosuch/file"),
        ("integrate", "nosuch"),
        ("config", "llm"),
        ("jobs", "show", "00000000"),
    ],
    ids=lambda words: "_".join(words).replace("--", "").replace("/", "-").replace('"', "")[:60],
)
def test_seed_5_2_every_error_advises(wrong: tuple[str, ...]) -> None:
    """ "发生了什么 + 建议操作": the hint is never empty, in either language."""
    memory = add("远光软件", "work.company")
    words = [memory["id"] if word == "TAKEN" else word for word in wrong]
    hints = {lang: json.loads(refused("--json", "--lang", lang, *words).err)["hint"] for lang in ("en", "zh")}
    assert hints["en"]
    assert hints["zh"]

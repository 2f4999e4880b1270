"""Seed §8.2, §8.3 and §9: agents' session files, reading only what is new, and the settings."""

import json
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.seed.ground import add, candidate, home, one, refused, rows, use_config
from tests.support.model_server import ModelServer, reply, turns
from tests.support.program import contents, mex, write
from tests.support.sessions import SessionFile

PRESETS = {
    "openai": "api.openai.com/v1",
    "deepseek": "api.deepseek.com",
    "ollama": "localhost:11434/v1",
    "moonshot": "api.moonshot.cn/v1",
    "qwen": "dashscope.aliyuncs.com/compatible-mode/v1",
}


def opencode_export(*texts: str, session: str = "ses_1") -> dict[str, Any]:
    """What `opencode export` prints: user and assistant by turns."""
    messages = []
    for number, text in enumerate(texts):
        info: dict[str, Any] = {
            "id": f"msg_{number:04}", "sessionID": session, "role": ("user", "assistant")[number % 2],
            "time": {"created": 1772352000000 + number * 1000, "completed": 1772352000500 + number * 1000},
        }  # fmt: skip
        part = {"id": f"prt_{number:04}", "messageID": info["id"], "sessionID": session, "type": "text", "text": text}
        messages.append({"info": info, "parts": [part]})
    times = {"created": 1772352000000, "updated": 1772352009000}
    info = {"id": session, "directory": "/home/lin/notes", "title": "t", "version": "1.2.0", "time": times}
    return {"info": info, "messages": messages}


def sent(model: ModelServer) -> list[tuple[str, str]]:
    """The turns of the last request that are not context."""
    return [(turn["role"], turn["text"]) for turn in turns(model.requests()[-1]) if not turn.get("context")]


def test_seed_8_2_claude_sessions_are_parsed(model: ModelServer, tmp_path: Path) -> None:
    """--from claude：解析 Claude Code 的 JSONL 会话文件; the format is also found by itself."""
    session = SessionFile(tmp_path / "s.jsonl").user("我住在杭州").assistant("好")
    mex("extract", "--from", "claude", "--file", str(session.path))
    assert sent(model) == [("user", "我住在杭州"), ("assistant", "好")]


@pytest.mark.parametrize("layout", ["compact", "pretty"])
def test_seed_8_2_opencode_exports_are_parsed(model: ModelServer, tmp_path: Path, layout: str) -> None:
    """--from opencode (fault 23: also pretty-printed; never silently nothing)."""
    data = opencode_export("我住在杭州", "好", "我写 Zig", "不错")
    path = write(tmp_path / "e.json", json.dumps(data, ensure_ascii=False, indent=2 if layout == "pretty" else None))
    mex("extract", "--from", "opencode", "--file", str(path))
    assert [turn for turn in sent(model) if turn[0] == "user"] == [("user", "我住在杭州"), ("user", "我写 Zig")]


def test_seed_8_2_a_file_in_the_wrong_format_is_told(model: ModelServer, tmp_path: Path) -> None:
    """Never nothing, silently (fault 23)."""
    path = write(tmp_path / "a.txt", "我住在杭州")
    for agent in ("claude", "opencode"):
        ran = mex("extract", "--from", agent, "--file", str(path), "--json", ok=False)
        assert ran.code in (1, 2) or (ran.json["outcome"] == "skipped" and ran.json["reason"])
    assert model.requests() == []


def test_seed_8_2_plain_text_is_the_default_for_given_text(model: ModelServer) -> None:
    """直接传文本."""
    mex("extract", "我住在杭州")
    assert any("我住在杭州" in text for _, text in sent(model))


@pytest.mark.parametrize("agent", ["claude", "opencode", "plain"])
def test_seed_8_3_only_what_is_new_is_read(model: ModelServer, tmp_path: Path, agent: str) -> None:
    """只处理 last_position 之后的新增内容——不重复抽取、不重复写入、不重复扣费."""
    path = tmp_path / "session"
    model.script({"when": "我住在杭州", "reply": reply(candidate("basic_info.location", "杭州", "我住在杭州"))})
    said = ["我住在杭州", "好", "我写 Zig", "不错"]
    session = SessionFile(path)
    for upto in (2, 2, 4):
        if agent == "claude":
            for number in range(session.count, upto):
                (session.user if number % 2 == 0 else session.assistant)(said[number])
        elif agent == "opencode":
            path.write_text(json.dumps(opencode_export(*said[:upto]), ensure_ascii=False), encoding="utf-8")
        else:
            lines = [f"{('用户', '助手')[number % 2]}：{text}" for number, text in enumerate(said[:upto])]
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        mex("extract", "--from", agent, "--file", str(path))
    assert len(model.requests()) == 2
    assert model.asked("我住在杭州") == 1
    assert model.asked("Zig") == 1
    assert contents() == ["杭州"]
    assert one("SELECT count(*) FROM llm_usage") == 2


def test_seed_8_3_a_file_that_became_shorter_is_read_from_the_start(model: ModelServer, tmp_path: Path) -> None:
    """若文件比上次记录的位置还短（被重建 / 截断），视为新文件从头处理."""
    path = tmp_path / "s.jsonl"
    SessionFile(path).user("我住在杭州，这是很长很长的一句话。" * 4).assistant("好")
    mex("extract", "--from", "claude", "--file", str(path))
    path.unlink()
    SessionFile(path, "s2").user("我写 Zig")
    mex("extract", "--from", "claude", "--file", str(path))
    assert sent(model) == [("user", "我写 Zig")]


def test_seed_8_3_a_rewrite_of_equal_length_is_noticed(model: ModelServer, tmp_path: Path) -> None:
    """Fault 22: plain files that are rewritten."""
    path = write(tmp_path / "a.txt", "用户：我住在杭州", "助手：好")
    mex("extract", "--from", "plain", "--file", str(path))
    write(tmp_path / "a.txt", "用户：我住在苏州", "助手：好")
    mex("extract", "--from", "plain", "--file", str(path))
    assert model.asked("我住在苏州") == 1


def test_seed_8_3_a_failed_run_moves_nothing(model: ModelServer, tmp_path: Path) -> None:
    """保证"处理成功才记录"."""
    session = SessionFile(tmp_path / "s.jsonl").user("我住在杭州").assistant("好")
    model.script({"status": 400, "body": "{}"})
    assert mex("extract", "--file", str(session.path), ok=False).code == 2
    assert one("SELECT count(*) FROM extraction_state") == 0
    model.script({"reply": reply(candidate("basic_info.location", "杭州", "我住在杭州"))})
    mex("extract", "--file", str(session.path))
    assert contents() == ["杭州"]


def test_product_g15_and_h6_an_increment_without_a_user_turn_makes_no_call(model: ModelServer, tmp_path: Path) -> None:
    """And moves the cursor."""
    session = SessionFile(tmp_path / "s.jsonl").user("我住在杭州").assistant("好")
    mex("extract", "--file", str(session.path))
    before = one("SELECT last_position FROM extraction_state")
    session.assistant("还有什么可以帮您？")
    mex("extract", "--file", str(session.path))
    assert len(model.requests()) == 1
    assert one("SELECT last_position FROM extraction_state") > before


@contextmanager
def listening() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """An endpoint that keeps the headers and answers that there is nothing."""
    heard: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            heard.append(headers | {"model": body["model"], "path": self.path})
            message = {"role": "assistant", "content": '{"memories": []}'}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            choices = [{"index": 0, "finish_reason": "stop", "message": message}]
            shape = {
                "id": "c",
                "object": "chat.completion",
                "created": 0,
                "model": "m",
                "choices": choices,
                "usage": usage,
            }
            data = json.dumps(shape).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", heard
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_seed_9_the_request_goes_to_base_url_with_key_and_model() -> None:
    """OpenAI 兼容 API 端点: POST <base>/chat/completions, Bearer."""
    with listening() as (url, heard):
        use_config(f"llm:\n  base_url: {url}\n  api_key: key-file\n  model: m-file\n")
        mex("extract", "我住在杭州")
    (request,) = heard
    assert request["path"] == "/v1/chat/completions"
    assert request["authorization"] == "Bearer key-file"
    assert request["model"] == "m-file"


def test_seed_9_the_named_environment_variable_wins_over_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """api_key_env 指定的环境变量存在时优先 (product G6); unset, the key of the file serves."""
    with listening() as (url, heard):
        use_config(f"llm:\n  base_url: {url}\n  api_key: key-file\n  api_key_env: MY_LLM_KEY\n  model: m\n")
        mex("extract", "我住在杭州")
        monkeypatch.setenv("MY_LLM_KEY", "key-env")
        mex("extract", "我写 Zig")
    assert [request["authorization"] for request in heard] == ["Bearer key-file", "Bearer key-env"]


def test_seed_9_the_environment_wins_over_the_file_and_the_file_over_defaults() -> None:
    """环境变量 > config.yaml > 内置默认值."""
    with listening() as (url, heard):
        use_config(f"llm:\n  base_url: {url}\n  api_key: k\n  model: m-file\n")
        mex("extract", "我住在杭州", MEX_LLM_MODEL="m-env")
    assert heard[0]["model"] == "m-env"
    for number in range(9):
        add(f"第{number}件事")
    assert mex("profile").out.count("件事") == 5
    use_config("profile:\n  recent_limit: 7\n")
    assert mex("profile").out.count("件事") == 7
    assert mex("profile", MEX_PROFILE_RECENT_LIMIT="2").out.count("件事") == 2


def test_seed_9_max_tokens_of_the_config_bounds_the_profile() -> None:
    """profile.max_tokens: mex profile 默认输出上限；可被命令行 --max-tokens 覆盖."""
    for slot in ("name", "gender", "hometown", "location"):
        add(f"{slot}" + "很长的内容" * 8, f"basic_info.{slot}")
    whole = mex("profile").out
    use_config("profile:\n  max_tokens: 150\n")
    assert len(mex("profile").out) < len(whole)
    assert mex("profile", "--max-tokens", "3000").out == whole


def test_seed_9_the_default_config_names_every_key() -> None:
    """config.yaml 完整配置项, with the defaults of the document."""
    mex("init")
    text = (home() / "config.yaml").read_text(encoding="utf-8")
    for key, value in {
        "base_url": '""', "api_key": '""', "api_key_env": '""', "model": '""', "timeout_seconds": "600", "max_retries": "3",
        "retry_base_seconds": "2", "max_tokens": "3000",
    }.items():  # fmt: skip
        assert f"{key}: {value}" in text


@pytest.mark.parametrize("provider", PRESETS)
def test_seed_5_1_config_llm_knows_the_presets(provider: str) -> None:
    """--provider openai|deepseek|ollama|moonshot|qwen|custom; 非 TTY 需参数."""
    mex("config", "llm", "--provider", provider, "--api-key", "k", "--model", "m")
    shown = mex("config", "show", "--json").json
    assert PRESETS[provider] in shown["base_url"]
    assert shown["model"] == "m"


def test_seed_5_1_config_llm_stores_privately_and_leaves_the_rest_alone() -> None:
    """明文存于 config.yaml（文件权限 600）; comments and other keys stay."""
    use_config("# my own remark\nprofile:\n  recent_limit: 2   # few\n")
    url = "http://127.0.0.1:9/v1"
    ran = mex(
        "config", "llm", "--provider", "custom", "--base-url", url, "--api-key", "sk-abcdef123456789", "--model", "m"
    )
    path = home() / "config.yaml"
    text = path.read_text(encoding="utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for words in ("# my own remark", "recent_limit: 2   # few", url, "sk-abcdef123456789"):
        assert words in text
    assert "sk-abcdef123456789" not in ran.out + ran.err
    mex("config", "llm", "--model", "other")
    shown = mex("config", "show", "--json").json
    assert (shown["base_url"], shown["model"]) == (url, "other")
    assert "sk-abcdef123456789" in path.read_text(encoding="utf-8")


def test_seed_5_1_config_show_masks_the_key() -> None:
    """查看当前 LLM 配置（key 打码）: text and JSON."""
    mex("config", "llm", "--provider", "openai", "--api-key", "sk-abcdef123456789", "--model", "m")
    for words in (("config", "show"), ("config", "show", "--json")):
        out = mex(*words).out
        assert "abcdef123456" not in out
        assert "m" in out
    assert {"base_url", "api_key", "model", "api_key_env"} <= set(mex("config", "show", "--json").json)


def test_seed_5_1_config_llm_without_a_terminal_needs_its_arguments() -> None:
    """非 TTY 需参数; custom needs a URL; an unknown provider is refused."""
    mex("init")
    refused("config", "llm", "--provider", "custom", "--model", "m")
    refused("config", "llm", "--provider", "nosuch", "--model", "m")
    refused("config", "llm")


def test_product_g6_a_provider_without_a_key_is_configured(model: ModelServer) -> None:
    """ollama: no key, and the model is asked."""
    use_config(f"llm:\n  base_url: {model.url}\n  model: llama\n")
    mex("extract", "我住在杭州")
    assert len(model.requests()) == 1


def test_seed_9_homes_are_apart(tmp_path: Path) -> None:
    """MEX_HOME 覆盖（测试隔离、多实例场景使用）."""
    add("这里")
    mex("add", "--content", "那里", MEX_HOME=str(tmp_path / "b"))
    assert contents() == ["这里"]
    assert [memory["content"] for memory in mex("list", "--json", MEX_HOME=str(tmp_path / "b")).json] == ["那里"]


def test_product_a4_the_language_is_chosen_by_option_environment_config_and_written_down(tmp_path: Path) -> None:
    """--lang > MEX_LANG > config.language > locale; initialising writes what it chose."""
    mex("--lang", "zh", "init")
    assert 'language: "zh"' in (home() / "config.yaml").read_text(encoding="utf-8").replace("'", '"')
    add("小陈", "basic_info.name")
    assert "# 用户画像" in mex("--lang", "zh", "profile").out
    assert "# 用户画像" not in mex("profile", MEX_LANG="en").out
    assert "# 用户画像" in mex("profile", MEX_LANG="").out
    assert "# 用户画像" not in mex("--lang", "en", "profile", MEX_LANG="zh").out


def test_seed_9_nothing_but_the_home_is_written(tmp_path: Path) -> None:
    """绝不触碰真实 ~/.mex; the data stays in the home."""
    add("远光软件", "work.company")
    mex("profile")
    assert not (tmp_path / ".mex").exists()
    assert rows("SELECT count(*) FROM memories") == [(1,)]

"""What must not leave: secrets, private blocks, what tools put in; through the whole program (product F1, F2, F3)."""

import json
from pathlib import Path

import pytest

from tests.adapters.claude_session import Session
from tests.redaction.fake_secrets import fakes
from tests.support.gateways import opened, rows
from tests.support.model_server import ModelServer, reply, turns
from tests.support.program import mex, write

SECRETS = [one for one in fakes() if len(one.secret) > 8]
NOISE = "NOISE"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session with all that must not leave, and what is said between it."""
    made = Session("h")
    made.user(f"<claude-mem-context>{NOISE} recalled</claude-mem-context>我住在杭州。")
    made.assistant("m1", {"type": "thinking", "thinking": f"{NOISE} thought"})
    made.tool("m2", f"{NOISE} output")
    made.record("attachment", attachment={"type": "file", "content": f"{NOISE} attached"})
    made.user([{"type": "text", "text": "看这个文件"}, {"type": "image", "source": {"data": f"{NOISE}image"}}])
    made.user(f"我叫王伟。<private>{NOISE} 我得了流感</private>")
    made.user(f"<private>{NOISE} all of it</private>")
    made.user(f'<mex-memory v="1">{NOISE} 她住在上海')
    made.user(f"<system-reminder>{NOISE}</system-reminder>我在远光软件工作。")
    for secret in SECRETS:
        made.user(f"记一下：{secret.text}")
        made.says(f"a-{secret.name}", f"I wrote it down: {secret.text}")
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n".join([*made.lines, b""]))
    return path


def everything_in(folder: Path) -> bytes:
    return b"\0".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_product_f1_f2_f3_nothing_but_speech_without_secrets_reaches_the_model(
    model: ModelServer, session: Path
) -> None:
    """Session-formats I9, and what is private, put in or secret besides."""
    done = mex("extract", "--from", "claude", "--file", str(session), "--json").json
    assert done["turns"]["dropped"]["private"] == 2
    assert done["turns"]["dropped"]["injected"] == 3
    asked = json.dumps(model.requests(), ensure_ascii=False)
    assert NOISE not in asked
    for secret in SECRETS:
        assert secret.secret not in asked, secret.name
        assert json.dumps(secret.secret)[1:-1] not in asked, secret.name
    for said in ("我住在杭州。", "我叫王伟。", "我在远光软件工作。", "[redacted:openai_key] and I live in 杭州"):
        assert said in asked


def test_product_f2_no_secret_stands_anywhere_in_the_home_after_an_extraction(
    model: ModelServer, session: Path, home: Path
) -> None:
    """Not in rows, events, kept replies, kept turns or logs; the same text is printed by `mex transcript`."""
    model.script({"reply": reply({"topic": "basic_info", "sub_topic": "name", "content": "王伟", "quote": "我叫王伟"})})
    mex("extract", "--from", "claude", "--file", str(session), MEX_KEEP_TURNS="all")
    stored = everything_in(home)
    assert "王伟".encode() in stored
    assert NOISE.encode() not in stored
    shown = mex("transcript", str(session), "--json").out
    for secret in SECRETS:
        assert secret.secret.encode() not in stored, secret.name
        assert secret.secret not in shown, secret.name


def test_product_f2_a_job_tells_how_many_secrets_of_its_new_turns_were_replaced(
    model: ModelServer, tmp_path: Path
) -> None:
    """What comes along as context was counted by the job that read it."""
    made = Session("c")
    made.user("密码是 Abc12345")
    path = tmp_path / "c.jsonl"
    path.write_bytes(b"\n".join([*made.lines, b""]))
    first = mex("extract", "--from", "claude", "--file", str(path), "--json").json
    made.user("我住在杭州，口令：qwe!23456")
    path.write_bytes(b"\n".join([*made.lines, b""]))
    second = mex("extract", "--from", "claude", "--file", str(path), "--json").json
    assert [first["redacted"], second["redacted"]] == [{"password": 1}, {"password": 1}]
    assert [turn["text"] for turn in turns(model.requests()[1])] == [
        "密码是 [redacted:password]",
        "我住在杭州，口令：[redacted:password]",
    ]
    assert "Secrets replaced before reading: password 1" in mex("jobs", "show", second["job_id"]).out


def test_product_f2_what_the_model_answers_is_redacted_again_and_its_quote_still_verified(
    model: ModelServer,
) -> None:
    """A model may put a secret together again: it is replaced, and no reason to reject what was said."""
    model.script(
        {
            "reply": reply(
                {"topic": "leisure", "content": "wifi password is hunter2", "quote": "wifi密码是[redacted:password]"}
            )
        }
    )
    done = mex("extract", "我的wifi密码是hunter22，我喜欢喝茶。", "--json").json
    (added,) = done["added"]
    assert added["content"] == "wifi password is [redacted:password]"
    (source,) = mex("get", added["id"]).json["sources"]
    assert source["verified"]
    assert source["quote"] == "wifi密码是[redacted:password]"


def test_product_f2_what_the_model_answers_in_vain_is_redacted_too(model: ModelServer, home: Path) -> None:
    """What is not written stands in the job's result: no place for a secret either."""
    secret = SECRETS[0].secret
    nameless = {"topic": "basic_info", "sub_topic": "name", "quote": "我喜欢喝茶"}
    model.script(
        {
            "reply": reply(
                {**nameless, "content": f"王伟 {secret}", "confidence": secret},
                {**nameless, "content": f"王伟 {secret}", "action": secret},
                {**nameless, "content": f"王伟 {secret}"},
                {**nameless, "content": f"王伟 {secret}"},
                {**nameless, "topic": secret, "sub_topic": secret, "content": "王伟"},
            )
        }
    )
    done = mex("extract", "我喜欢喝茶", "--json").json
    assert len(done["discarded"]) > 2
    assert secret.encode() not in everything_in(home)


def test_product_f2_a_given_text_loses_its_secrets_when_it_is_first_read(model: ModelServer, home: Path) -> None:
    """A job that failed keeps its text for the retry; it does not keep the secret."""
    model.script({"status": 400, "body": '{"error": {"message": "no"}}'})
    mex("extract", "我住在杭州，密码是 Abc12345。", ok=False)
    with opened("sync", home / "mex.db") as db:
        (kept,) = rows(db, "SELECT given_text, errors FROM jobs")
    assert "Abc12345" not in repr(kept)
    assert kept["given_text"] == "我住在杭州，密码是 [redacted:password]。"


def test_product_f2_secrets_may_be_left_in_on_request(model: ModelServer) -> None:
    done = mex("extract", "我的密码是 Abc12345。", "--json", MEX_PRIVACY_REDACT_SECRETS="false").json
    assert done["redacted"] == {}
    assert model.asked("Abc12345") == 1


def test_product_f2_a_stored_secret_is_not_shown_to_the_model_as_known(model: ModelServer) -> None:
    mex("add", "--topic", "basic_info", "--sub-topic", "name", "--content", "my password is hunter2")
    mex("extract", "我住在杭州。")
    assert "[redacted:password]" in json.dumps(model.requests())
    assert "hunter2" not in json.dumps(model.requests())


def test_product_f2_a_person_s_secret_is_stored_as_typed_with_a_warning() -> None:
    ran = mex("add", "--content", "my password is hunter2", "--json")
    assert ran.json["content"] == "my password is hunter2"
    assert "looks like a secret (password)" in ran.err
    assert mex("add", "--content", "I like tea").err.strip() == ""


@pytest.mark.parametrize("command", ["add", "update"])
def test_product_f2_an_agent_s_secret_is_replaced_and_it_is_told(command: str) -> None:
    key = mex("add", "--content", "x", "--json").json["id"]
    token = next(one.secret for one in SECRETS if one.name == "gitlab")
    place = [key] if command == "update" else []
    ran = mex(command, *place, "--content", f"uses {token} at work", "--by", "ai", "--json")
    assert ran.json["content"] == "uses [redacted:gitlab_pat] at work"
    assert "was replaced before it was stored (gitlab_pat)" in ran.err
    assert "looks like a secret" not in ran.err


@pytest.mark.parametrize("by", ["user", "ai"])
@pytest.mark.parametrize("command", ["add", "update"])
def test_product_f2_private_words_are_not_stored(command: str, by: str) -> None:
    """By nobody; and where all is private there is nothing to store."""
    key = mex("add", "--content", "x", "--json").json["id"]
    place = [key] if command == "update" else []
    ran = mex(command, *place, "--content", "喜欢喝茶<private>得了流感</private>", "--by", by, "--json")
    assert ran.json["content"] == "喜欢喝茶"
    assert "marked as private" in ran.err
    refused = mex(command, *place, "--content", "<private>得了流感", "--by", by, "--json", ok=False)
    assert (refused.code, json.loads(refused.err)["code"]) == (1, "content_private")


def test_product_f2_private_words_of_a_note_are_left_out_across_its_paragraphs(tmp_path: Path) -> None:
    note = write(tmp_path / "note.txt", "我叫王伟。", "", "<private>流感。", "", "失眠。</private>", "", "我住在杭州。")
    shown = mex("transcript", str(note), "--from", "plain", "--json").json
    assert [turn["text"] for turn in shown["turns"]] == ["我叫王伟。", "我住在杭州。"]
    assert shown["dropped"] == {"private": 1}


def test_product_f2_private_words_of_a_dialogue_end_with_their_message_when_nothing_closes_them(tmp_path: Path) -> None:
    note = write(tmp_path / "note.txt", "用户：我叫王伟。<private>我得了流感。", "助手：好的。", "用户：我住在杭州。")
    shown = mex("transcript", str(note), "--from", "plain", "--json").json
    assert [turn["text"] for turn in shown["turns"]] == ["我叫王伟。", "好的。", "我住在杭州。"]


def test_product_f3_a_session_of_mex_s_own_prompt_gives_nothing(tmp_path: Path) -> None:
    note = write(tmp_path / "note.txt", "用户：<mex-extraction> 把记忆写成 JSON", "助手：好")
    shown = mex("transcript", str(note), "--from", "plain", "--json").json
    assert [turn["role"] for turn in shown["turns"]] == ["assistant"]
    assert shown["dropped"] == {"own_prompt": 1}

"""`mex extract --again`: a session is read anew from its file or its kept turns, and nothing is doubled or brought back."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.corpus import CORPUS, needs_corpus
from tests.adapters.export_files import Gpt, write
from tests.support.model_server import ModelServer, reply
from tests.support.program import contents, mex, opened, until, worker
from tests.support.sessions import SessionFile

TEA = {"topic": "leisure", "sub_topic": "hobbies", "content": "喝绿茶", "quote": "我喜欢喝绿茶"}
CHESS = {"topic": "leisure", "sub_topic": "hobbies", "content": "下象棋", "quote": "周末常下象棋"}
CITY = {"topic": "basic_info", "sub_topic": "location", "content": "杭州", "quote": "我住在杭州"}


def session_at(path: Path, name: str = "session-0001") -> SessionFile:
    return SessionFile(path, name).user("我喜欢喝绿茶", "我住在杭州").assistant("知道了。").user("周末常下象棋")


def extract(session: SessionFile) -> dict[str, Any]:
    return dict(mex("extract", "--from", "claude", "--file", str(session.path), "--json").json)


def again(name: str = "session-0001", *options: str, **environment: str) -> dict[str, Any]:
    return dict(mex("extract", "--again", name, *options, "--json", **environment).json)


def table(home: Path, sql: str) -> list[tuple[Any, ...]]:
    with opened(home / "mex.db") as db:
        return db.execute(sql).fetchall()


def refused(*words: str) -> str:
    ran = mex("--json", "extract", *words, ok=False)
    assert ran.code == 1, ran
    return str(json.loads(ran.err)["code"])


def test_product_b10_a_better_model_finds_more_and_what_is_known_stays_single(
    home: Path, model: ModelServer, tmp_path: Path
) -> None:
    model.script({"reply": reply(TEA)})
    session = session_at(tmp_path / "s.jsonl")
    extract(session)
    cursor = table(home, "SELECT * FROM extraction_state")
    model.script({"reply": reply(TEA | {"content": "喜欢喝绿茶"}, CITY, CHESS)})
    job = again()
    assert sorted(one["content"] for one in job["added"]) == ["下象棋", "杭州"]
    assert [(one["content"], one["reason"]) for one in job["discarded"]] == [("喜欢喝绿茶", "already_extracted")]
    assert contents() == ["下象棋", "喝绿茶", "杭州"]
    assert mex("list", "--json").json[-1]["times_seen"] == 1
    assert table(home, "SELECT * FROM extraction_state") == cursor, "the cursor stays where it is"
    assert job["kind"] == "again"
    assert table(home, "SELECT DISTINCT purpose FROM llm_usage") == [("extract",)]
    assert again()["outcome"] == "nothing_to_remember"
    assert contents() == ["下象棋", "喝绿茶", "杭州"]
    assert extract(session)["outcome"] == "skipped", "and nothing is owed"


def test_product_b5_what_another_message_said_too_reinforces(home: Path, model: ModelServer, tmp_path: Path) -> None:
    model.script({"reply": reply(TEA)})
    extract(session_at(tmp_path / "s.jsonl"))
    session = SessionFile(tmp_path / "t.jsonl", "session-0002").user("我喜欢喝绿茶，每天都喝")
    model.script()
    extract(session)
    model.script({"reply": reply(TEA)})
    assert [one["reason"] for one in again("session-0002")["discarded"]] == ["reinforced"]
    assert mex("list", "--json").json[0]["times_seen"] == 2


def test_product_b10_records_are_not_doubled_in_other_words(home: Path, model: ModelServer, tmp_path: Path) -> None:
    record = {"topic": None, "sub_topic": None, "content": "周末常下象棋", "quote": "周末常下象棋"}
    model.script({"reply": reply(record)})
    extract(session_at(tmp_path / "s.jsonl"))
    model.script({"reply": reply(record | {"content": "周末常常下象棋"})})
    assert again()["added"] == []
    assert contents() == ["周末常下象棋"]


@pytest.mark.parametrize("wording", ["下象棋", "喜欢下象棋"])
def test_product_b10_what_was_forgotten_does_not_come_back(
    home: Path, model: ModelServer, tmp_path: Path, wording: str
) -> None:
    model.script({"reply": reply(CHESS, CITY)})
    extract(session_at(tmp_path / "s.jsonl"))
    mex("forget", *(one["id"] for one in mex("list", "--json").json))
    model.script({"reply": reply(CHESS | {"content": wording}, CITY | {"content": f"杭州{wording}"})})
    job = again()
    assert (job["added"], job["updated"], contents()) == ([], [], [])
    assert {one["reason"] for one in job["discarded"]} == {"already_extracted"}


def test_product_b6_what_was_forgotten_for_good_is_not_learned_again(
    home: Path, model: ModelServer, tmp_path: Path
) -> None:
    model.script({"reply": reply(CHESS, CITY)})
    extract(session_at(tmp_path / "s.jsonl"))
    chess = next(one["id"] for one in mex("list", "--json").json if one["content"] == "下象棋")
    mex("forget", "--hard", "--yes", chess)
    sent = len(model.requests())
    model.script({"when": "象棋", "reply": reply(CHESS)})
    again()
    assert contents() == ["杭州"]
    assert all("象棋" not in json.dumps(one, ensure_ascii=False) for one in model.requests()[sent:])


def test_product_b6_what_was_forgotten_for_good_is_no_context_either(
    home: Path, model: ModelServer, tmp_path: Path
) -> None:
    model.script({"reply": reply(CHESS)})
    session = session_at(tmp_path / "s.jsonl")
    extract(session)
    mex("forget", "--hard", "--yes", mex("list", "--json").json[0]["id"])
    sent = len(model.requests())
    extract(session.user("今天天气不错"))
    said = json.dumps(model.requests()[sent:], ensure_ascii=False)
    assert "今天天气不错" in said
    assert "象棋" not in said


def test_what_a_person_restored_is_not_retired_by_its_old_words(home: Path, model: ModelServer, tmp_path: Path) -> None:
    model.script({"reply": reply(CHESS)})
    extract(session_at(tmp_path / "s.jsonl"))
    gone = SessionFile(tmp_path / "t.jsonl", "session-0002").user("我不下象棋了").assistant("好。")
    gone.path.write_text(gone.path.read_text(encoding="utf-8").replace("2026-03-01", "2026-03-02"), encoding="utf-8")
    model.script({"reply": reply({**CHESS, "action": "retire", "quote": "我不下象棋了"})})
    assert len(extract(gone)["retired"]) == 1
    mex("restore", mex("list", "--include-forgotten", "--json").json[0]["id"])
    again("session-0002")
    assert contents() == ["下象棋"]


def test_product_b10_without_its_file_the_kept_turns_are_read(home: Path, model: ModelServer, tmp_path: Path) -> None:
    model.script({"reply": reply(TEA)})
    session = session_at(tmp_path / "s.jsonl")
    extract(session)
    session.path.unlink()
    sent = len(model.requests())
    model.script({"reply": reply(TEA, CITY)})
    job = again("session-")
    assert [one["content"] for one in job["added"]] == ["杭州"]
    said = json.dumps(model.requests()[sent:], ensure_ascii=False)
    assert "我住在杭州" in said
    assert "下象棋" not in said, "only what is kept"
    (source,) = mex("source", job["added"][0]["id"], "--json").json["sources"]
    assert (source["source_file"], source["verified"], source["found_in"]) == (str(session.path), True, "kept")
    assert again(str(session.path))["outcome"] == "nothing_to_remember", "its old path names it too"
    assert str(session.path) in mex("jobs", "show", job["job_id"]).out, "it was no given text"


def test_product_b10_given_text_is_read_again_by_the_job_that_was_given_it(home: Path) -> None:
    job = mex("extract", "记住：我对芒果过敏。", "--json").json["job_id"]
    (row,) = mex("turns", "list", "--json").json
    assert row["session"] == job
    assert [one["reason"] for one in again(job[:8])["discarded"]] == ["already_extracted"]
    assert len(contents()) == 1


def test_neither_file_nor_kept_turns_is_a_source_that_is_gone(home: Path, tmp_path: Path) -> None:
    session = SessionFile(tmp_path / "s.jsonl", "session-0001").user("记住：我对芒果过敏。")
    mex("extract", "--from", "claude", "--file", str(session.path), MEX_KEEP_TURNS="none")
    session.path.unlink()
    ran = mex("extract", "--again", "session-0001", ok=False)
    assert ran.code == 2
    assert mex("jobs", "list", "--json").json[0]["outcome"] == "source_gone"


def test_sessions_that_cannot_be_told_are_refused(home: Path, tmp_path: Path) -> None:
    for name in ("session-0001", "session-0002"):
        extract(SessionFile(tmp_path / f"{name}.jsonl", name).user("记住：我对芒果过敏。"))
    assert refused("--again", "session-") == "session_ambiguous"
    assert refused("--again", "sess") == "session_unknown"
    assert refused("--again", "session-0001", "--from", "opencode") == "session_unknown"
    assert refused("--again", f"{tmp_path}/session-0001.jsonl#other") == "session_not_in_file"
    assert refused("--again", "session-0001", "--file", str(tmp_path / "session-0001.jsonl")) == "again_alone"
    assert refused("--again", "session-0001", "more words") == "again_alone"
    assert again(f"{tmp_path}/session-0001.jsonl#session-0001")["outcome"] == "nothing_to_remember"
    with opened(home / "mex.db") as db:
        db.execute("UPDATE extraction_state SET agent = 'codex' WHERE session_id = 'session-0002'")
        db.execute("UPDATE extraction_state SET session_id = 'session-0001'")
    assert refused("--again", "session-0001") == "session_of_several"
    claudes, codexs = (tmp_path / f"session-000{number}.jsonl" for number in (1, 2))
    claudes.unlink()  # a source tells which one is meant, also when it is gone
    codexs.unlink()
    assert mex("extract", "--again", str(claudes), "--dry-run", "--json").json["turns"] == 1
    ran = mex("--json", "extract", "--again", str(codexs), ok=False)
    assert (ran.code, json.loads(ran.err)["code"]) == (2, "source_gone"), "nothing of it is kept as codex's"


def test_the_estimate_writes_nothing_and_asks_nobody(home: Path, model: ModelServer, tmp_path: Path) -> None:
    session = session_at(tmp_path / "s.jsonl")
    model.script({"reply": reply(TEA)})
    extract(session)
    sent = len(model.requests())
    shown = again("session-0001", "--dry-run")
    assert (shown["turns"], shown["user_turns"], shown["calls"]) == (4, 3, 1)
    session.path.unlink()
    assert again("session-0001", "--dry-run")["turns"] == 2
    assert len(model.requests()) == sent
    assert len(mex("jobs", "list", "--json").json) == 1


def test_product_d4_in_the_background_equal_requests_are_one_job_that_verify_and_sweep_do_not_see(
    home: Path, tmp_path: Path
) -> None:
    session = SessionFile(tmp_path / "s.jsonl", "session-0001").user("记住：我对芒果过敏。")
    extract(session)
    still = {"MEX_WORKER_AUTOSTART": "false"}
    first = again("session-0001", "--async", **still)
    second = again(str(session.path), "--async", **still)
    assert (second["job_id"], first["merged"], second["merged"]) == (first["job_id"], False, True)
    ordinary = mex("extract", "--from", "claude", "--file", str(session.path), "--async", "--json", **still).json
    assert ordinary["job_id"] != first["job_id"]
    with worker():
        until(lambda: {one["state"] for one in mex("jobs", "list", "--json").json} == {"succeeded"})
    assert mex("jobs", "verify", "--json").json["sources"][0]["standing"] == "whole"
    assert [one["job_id"] for one in mex("jobs", "list", "--kind", "again", "--json").json] == [first["job_id"]]


@pytest.mark.parametrize("way", ["session", "import", "given"])
def test_product_b3_what_is_about_somebody_else_stays_so(home: Path, tmp_path: Path, way: str) -> None:
    file, text = tmp_path / "s.txt", "记住：我对芒果过敏。"
    file.write_text(text, encoding="utf-8")
    words = {
        "session": ("extract", "--file", str(file)), "import": ("import", "--mode", "extract", str(file)),
        "given": ("extract", text),
    }[way]  # fmt: skip
    job = mex(*words, "--subject", "other", "--json", MEX_KEEP_TURNS="all").json
    assert job["added"] == []
    assert again(job["job_id"] if way == "given" else str(file))["added"] == []
    file.unlink()
    assert again(job["job_id"] if way == "given" else str(file))["added"] == []


def test_a_failed_reading_of_kept_turns_can_be_retried(home: Path, model: ModelServer, tmp_path: Path) -> None:
    model.script({"reply": reply(TEA)})
    session = session_at(tmp_path / "s.jsonl")
    extract(session)
    session.path.unlink()
    model.script({"status": 401, "body": "no"})
    assert mex("extract", "--again", "session-0001", ok=False).code == 2
    failed = mex("jobs", "list", "--kind", "again", "--json").json[0]["job_id"]
    model.script({"reply": reply(CITY)})
    mex("jobs", "resume")
    mex("jobs", "retry", failed, MEX_WORKER_AUTOSTART="false")
    mex("worker", "run", "--idle-exit", "1s")
    assert contents() == ["喝绿茶", "杭州"]


@needs_corpus
def test_a_session_of_a_store_is_named_by_its_id_with_its_file_or_without(home: Path) -> None:
    store = (CORPUS / "real-clients" / "opencode-1.18.33.db").resolve()
    mex("extract", "--file", str(store), MEX_KEEP_TURNS="all")
    (kept,) = mex("turns", "list", "--json").json
    name = kept["session"]
    jobs = [again(str(store)), again(f"{store}#{name}"), again(str(store), "--session", name), again(name)]
    assert {(job["source"]["path"], job["source"]["session"]) for job in jobs} == {(str(store), name)}
    assert {job["turns"]["user"] + job["turns"]["assistant"] for job in jobs} == {kept["turns"]}
    assert refused("--again", f"{store}#other") == "session_not_in_file"


def test_a_conversation_of_an_export_is_read_again_from_what_is_kept_or_from_any_export_of_it(
    home: Path, tmp_path: Path
) -> None:
    talks = [Gpt(f"conversation-{number}") for number in (1, 2)]
    for talk in talks:
        talk.says("user", "记住：我对芒果过敏。")
        talk.says("assistant", "好的。")
    export = write(tmp_path / "conversations.json", *(talk.value() for talk in talks))
    mex("extract", "--file", str(export), MEX_KEEP_TURNS="all")
    kept = mex("turns", "list", "--agent", "chatgpt", "--json").json[0]
    assert refused("--again", str(export)) == "session_needed"
    assert again(f"{export}#{kept['session']}")["outcome"] == "nothing_to_remember"
    export.unlink()
    job = again(kept["session"])
    assert job["outcome"] == "nothing_to_remember"
    assert job["turns"]["user"] + job["turns"]["assistant"] == kept["turns"]
    for source in mex("source", mex("list", "--json").json[0]["id"], "--json").json["sources"]:
        assert (source["agent"], source["found_in"], source["file_exists"]) == ("chatgpt", "kept", False)

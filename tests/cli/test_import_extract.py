"""`mex import --mode extract`: any text once through the extraction (seed 004 §6.4), with the model and with the rules."""

import json
from pathlib import Path

from tests.support.model_server import ModelServer, reply, turns
from tests.support.program import contents, mex, opened, write
from tests.support.sessions import SessionFile

SKILL = {"topic": "work", "sub_topic": "tech_stack", "content": "Haskell", "quote": "技能：Haskell", "turn": 1}
EXTRACT = ("--mode", "extract")


def test_seed_6_4_a_file_is_extracted_as_a_document_and_leaves_no_place(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """The same pipeline, its purpose in llm_usage, no extraction_state, no message keys."""
    file = write(tmp_path / "cv.md", "# 简历", "", "技能：Haskell")
    model.script({"reply": reply(SKILL)})
    done = mex("import", str(file), *EXTRACT, "--json").json
    assert (done["kind"], done["state"], done["outcome"]) == ("import", "succeeded", "committed")
    assert [one["content"] for one in done["added"]] == ["Haskell"]
    assert [turn["text"] for turn in turns(model.requests()[0])] == ["# 简历\n\n技能：Haskell"]
    (source,) = mex("get", done["added"][0]["id"]).json["sources"]
    assert (source["source_file"], source["verified"]) == (str(file), True)
    with opened(home / "mex.db") as db:
        assert db.execute("SELECT purpose FROM llm_usage").fetchall() == [("import",)]
        for table in ("extraction_state", "seen_messages", "kept_replies"):
            assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table
    assert "import · done" in mex("jobs", "list").out


def test_a_second_import_reads_the_file_again_and_doubles_nothing(model: ModelServer, tmp_path: Path) -> None:
    """One-off: it is asked again; a slot is reinforced, a record of the same words is not written twice (product B5)."""
    file = write(tmp_path / "cv.md", "技能：Haskell，正在筹备读书会")
    note = {"topic": None, "sub_topic": None, "content": "正在筹备读书会", "quote": "正在筹备读书会", "turn": 1}
    model.script({"reply": reply(SKILL, note)})
    mex("import", str(file), *EXTRACT)
    again = mex("import", str(file), *EXTRACT, "--json").json
    assert len(model.requests()) == 2
    assert {one["content"] for one in again["discarded"]} == {"Haskell", "正在筹备读书会"}
    assert contents() == ["Haskell", "正在筹备读书会"]
    # What was imported is no longer new to nobody: an extraction of the file has its own cursor.
    assert mex("extract", "--from", "plain", "--file", str(file), "--json").json["outcome"] != "skipped"


def test_without_a_model_the_rules_serve_and_the_subject_is_said(tmp_path: Path) -> None:
    """`--subject other` says that the words are not about the user (product B3); so it does for `mex extract --file`."""
    file = write(tmp_path / "note.txt", "我住在成都。")
    for command in (("import", str(file), *EXTRACT), ("extract", "--file", str(file))):
        other = mex(*command, "--subject", "other", "--json").json
        assert [one["reason"] for one in other["discarded"]] == ["about_other"]
    assert mex("import", str(file), *EXTRACT, "--json").json["extractor"] == "rules"
    assert contents() == ["成都"]


def test_a_session_is_read_as_one_and_not_as_a_document(tmp_path: Path) -> None:
    """Product F1: what is no word of the user never comes in as a note; `--from` names the format."""
    session = SessionFile(tmp_path / "s.jsonl").user("我住在成都").assistant("我叫小助手")
    done = mex("import", str(session.path), *EXTRACT, "--json").json
    assert (done["source"]["adapter"], done["turns"]["user"]) == ("claude", 1)
    named = mex("import", str(session.path), *EXTRACT, "--from", "claude", "--json").json
    assert named["state"] == "succeeded"
    assert contents() == ["成都"]
    assert mex("extract", "--file", str(session.path), "--json").json["turns"]["user"] == 1


def test_what_cannot_be_words_is_refused_before_there_is_a_job(tmp_path: Path) -> None:
    data = write(tmp_path / "e.json", json.dumps({"version": 1, "memories": []}))
    (tmp_path / "b.bin").write_bytes(bytes(range(256)) * 8)
    for place in (data, tmp_path / "b.bin", tmp_path, tmp_path / "none"):
        assert mex("import", str(place), *EXTRACT, ok=False).code == 1, place
    assert mex("import", str(data), *EXTRACT, "--from", "nosuch", ok=False).code == 1
    assert mex("jobs", "list", "--json").json == []


def test_a_model_that_fails_leaves_nothing_and_costs_are_on_the_books(model: ModelServer, tmp_path: Path) -> None:
    """Product G3: exit 2; the retry's purpose is the same."""
    file = write(tmp_path / "cv.md", "技能：Haskell")
    model.script({"reply": "no JSON", "times": 2}, {"reply": reply(SKILL)})
    failed = mex("import", str(file), *EXTRACT, ok=False)
    assert failed.code == 2
    assert contents() == []
    usage = mex("stats", "--json").json["llm_usage"]["by_purpose_and_model"]
    assert [(row["purpose"], row["calls"]) for row in usage] == [("import", 2)]

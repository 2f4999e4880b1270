"""The commit that moves the cursor keeps the turns that memories rest on, once, in order, or not at all (product B10)."""

from pathlib import Path
from typing import Any

import pytest

from tests.adapters.corpus import claude_files, needs_corpus
from tests.support.program import mex, opened
from tests.support.sessions import SessionFile

FACT, FACT_EN = "记住：我对芒果严重过敏。", "Remember: I am allergic to peanuts."
MODES = ("evidence", "user", "all", "none")


def extract(session: SessionFile, **environment: str) -> dict[str, Any]:
    """Extract the session in the foreground."""
    return dict(mex("extract", "--from", "claude", "--file", str(session.path), "--json", **environment).json)


def kept(home: Path, columns: str = "text") -> list[Any]:
    """The kept turns in the order of their sessions."""
    with opened(home / "mex.db") as db:
        found = db.execute(f"SELECT {columns} FROM turns ORDER BY agent, session_id, position, seq").fetchall()
    return [row[0] if len(row) == 1 else row for row in found]


def talk(path: Path) -> SessionFile:
    """Nine turns; the fifth and the eighth say something."""
    session = SessionFile(path).user("你好").assistant("有什么事？").user("看看这段代码").assistant("看完了。")
    return session.user(FACT).assistant("记下了。").user("天气不错", FACT_EN).assistant("Noted.")


SESSION = {
    "evidence": ["看完了。", FACT, "记下了。", "天气不错", FACT_EN, "Noted."],
    "user": ["你好", "看看这段代码", FACT, "天气不错", FACT_EN],
    "all": ["你好", "有什么事？", "看看这段代码", "看完了。", FACT, "记下了。", "天气不错", FACT_EN, "Noted."],
    "none": [],
}


@pytest.mark.parametrize("mode", MODES)
def test_product_b10_each_mode_keeps_its_turns_of_a_session(home: Path, tmp_path: Path, mode: str) -> None:
    extract(talk(tmp_path / "s.jsonl"), MEX_KEEP_TURNS=mode)
    assert kept(home) == SESSION[mode]


def test_product_b10_evidence_is_the_default_and_a_setting_says_otherwise(home: Path, tmp_path: Path) -> None:
    mex("init")
    config = home / "config.yaml"
    assert "turns: evidence" in config.read_text(encoding="utf-8")
    config.write_text("keep:\n  turns: user\n", encoding="utf-8")
    extract(SessionFile(tmp_path / "s.jsonl").user("随便聊聊", FACT).assistant("好。"))
    assert kept(home) == ["随便聊聊", FACT]
    config.write_text("keep:\n  turns: some\n", encoding="utf-8")
    refused = mex("list", ok=False)
    assert refused.code == 1
    assert "evidence, user, all, none" in refused.err


def test_product_b10_a_kept_turn_says_all_that_is_known_of_it(home: Path, tmp_path: Path) -> None:
    session = SessionFile(tmp_path / "s.jsonl").user(FACT)
    job = extract(session)
    ((agent, key, *rest),) = kept(
        home, "agent, key, session_id, message_id, source_file, project, role, kind, said_at, job_id"
    )
    assert (agent, rest) == (
        "claude",
        ["s1", "s1-1", str(session.path), "/home/lin/notes", "user", "typed", "2026-03-01T08:00:01Z", job["job_id"]],
    )
    with opened(home / "mex.db") as db:
        assert db.execute("SELECT message_key FROM memory_sources").fetchone() == (key,)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", ["given", "import"])
def test_product_b10_each_mode_keeps_its_turns_of_given_text(home: Path, tmp_path: Path, mode: str, way: str) -> None:
    """Each paragraph is a turn; there is no session, and the next memory from it stays traceable."""
    text = f"随手记的笔记。\n\n{FACT}\n\n另一段闲话。\n\n最后一段。"
    (tmp_path / "note.txt").write_text(text, encoding="utf-8")
    words = ("extract", text) if way == "given" else ("import", "--mode", "extract", str(tmp_path / "note.txt"))
    mex(*words, MEX_KEEP_TURNS=mode)
    near, far = ["随手记的笔记。", FACT, "另一段闲话。"], ["最后一段。"]
    assert kept(home) == {"evidence": near, "user": near + far, "all": near + far, "none": []}[mode]
    assert set(kept(home, "agent, session_id, kind")) <= {("plain", None, "document")}


def test_product_b10_what_is_kept_is_not_doubled_by_forks_and_further_readings(home: Path, tmp_path: Path) -> None:
    session = SessionFile(tmp_path / "s.jsonl").user("开头", FACT).assistant("好。")
    extract(session)
    before = kept(home, "key, session_id, text, position, job_id, kept_at")
    fork = session.forked_to(tmp_path / "fork.jsonl").user(FACT_EN)
    extract(fork)
    after = kept(home, "key, session_id, text, position, job_id, kept_at")
    assert [row for row in after if row in before] == before
    assert [(row[1], row[2]) for row in after if row not in before] == [("fork", FACT_EN)]
    assert extract(session)["outcome"] == "skipped"
    assert kept(home, "key, session_id, text, position, job_id, kept_at") == after


def test_product_b10_the_turn_that_is_said_after_the_evidence_joins_it_later(home: Path, tmp_path: Path) -> None:
    session = SessionFile(tmp_path / "s.jsonl").user("开头", FACT)
    extract(session)
    assert kept(home) == ["开头", FACT]
    session.assistant("好。").user("不相干", "也不相干")
    extract(session)
    assert kept(home) == ["开头", FACT, "好。"]
    ((_, _), (first, _), (second, previous)) = kept(home, "key, previous_key")
    assert previous == first != second


def test_product_b10_what_is_kept_later_stands_where_it_was_said(home: Path, tmp_path: Path) -> None:
    """First the evidence alone, then by reading again all of it."""
    session = talk(tmp_path / "s.jsonl")
    extract(session)
    evidence = kept(home)
    mex("extract", "--again", "s1", MEX_KEEP_TURNS="all")
    texts = kept(home)
    assert [text for text in texts if text in evidence] == evidence
    extract(session, MEX_HOME=str(tmp_path / "other"), MEX_KEEP_TURNS="all")
    assert texts == kept(tmp_path / "other")
    positions = kept(home, "position")
    assert len(set(positions)) == len(positions)


@needs_corpus
@pytest.mark.parametrize("file", claude_files(), ids=lambda path: path.name)
def test_product_b10_kept_turns_of_real_sessions_are_the_transcript_in_its_order(home: Path, file: Path) -> None:
    """A resumed copy holds turns of the session before it, and those are that session's."""
    mex("extract", "--from", "claude", "--file", str(file), MEX_KEEP_TURNS="all")
    told = [turn["text"] for turn in mex("transcript", "--from", "claude", str(file), "--json").json["turns"]]
    assert sorted(kept(home)) == sorted(told)
    rows = kept(home, "session_id, text")
    for session in {name for name, _ in rows}:
        own = [text for name, text in rows if name == session]
        rest = iter(told)
        assert all(text in rest for text in own), "a part of it, in the same order"


def test_product_b10_a_failed_or_empty_extraction_keeps_nothing(home: Path, tmp_path: Path) -> None:
    extract(SessionFile(tmp_path / "s.jsonl").user("只是闲聊", "还是闲聊"))
    assert kept(home) == []


@pytest.mark.parametrize("step", ["commit_begun", "memories_written"])
def test_product_b10_killed_in_the_commit_nothing_is_kept_and_the_next_run_keeps_all(
    home: Path, tmp_path: Path, step: str
) -> None:
    session = talk(tmp_path / "s.jsonl")
    words = ("--lang", "en", "extract", "--from", "claude", "--file", str(session.path), "--async")
    job = mex(*words, "--json", MEX_WORKER_AUTOSTART="false").json["job_id"]
    died = mex("worker", "run", "--idle-exit", "1s", ok=False, MEX_TEST_KILL_AT=step)
    assert died.code == -9
    assert kept(home) == []
    mex("worker", "run", "--idle-exit", "1s")
    assert mex("jobs", "show", job, "--json").json["state"] == "succeeded"
    assert FACT in kept(home)
    assert set(kept(home, "job_id")) == {job}
    assert mex("doctor", "--offline").code == 0


def test_product_b10_kept_turns_of_a_job_that_did_not_succeed_are_a_problem(home: Path, tmp_path: Path) -> None:
    job = extract(SessionFile(tmp_path / "s.jsonl").user(FACT))["job_id"]
    with opened(home / "mex.db") as db:
        for table in ("history", "memory_sources", "seen_messages"):
            db.execute(f"UPDATE {table} SET job_id = 'another'")
        db.execute("UPDATE jobs SET state = 'failed', outcome = 'llm_error' WHERE id = ?", (job,))
    assert job in mex("doctor", "--offline", ok=False).out

"""`mex sessions` and `mex sweep`: what is on this machine, and everything new of it extracted once."""

import os
import shutil
import time
from pathlib import Path

import pytest

from tests.support.model_server import ModelServer
from tests.support.program import Ran, contents, mex, until, worker
from tests.support.sessions import SessionFile
from tests.support.terminal import ENTER, Terminal

COST = {"sessions", "turns", "user_turns", "tokens", "calls"}


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    """The folder in which Claude Code keeps the sessions of one project."""
    folder = tmp_path / ".claude" / "projects" / "-home-lin-notes"
    folder.mkdir(parents=True)
    return folder


def on_the_machine(*words: str) -> list[dict[str, object]]:
    """What `mex sessions` lists."""
    listed: list[dict[str, object]] = mex("sessions", *words, "--json").json["sessions"]
    return listed


def aged(path: Path, days: float) -> None:
    """Make a file as old as it would be after so many days without a change."""
    then = time.time() - 86_400 * days
    os.utime(path, (then, then))


def test_a_machine_without_agents_has_no_sessions() -> None:
    assert mex("sessions", "--json").json == {"sessions": [], "unreadable": []}
    assert "No sessions" in mex("sessions").out
    assert "没有找到" in mex("sessions", "--lang", "zh").out


def test_sessions_tell_turns_what_is_extracted_and_when_the_agent_deletes_them(sessions: Path) -> None:
    old = SessionFile(sessions / "old.jsonl", "old").user("我叫林晓舟", "我在杭州").assistant("好的")
    SessionFile(sessions / "new.jsonl", "new").user("I live in Hangzhou")
    aged(old.path, 9.5)
    mex("extract", "--file", str(old.path))
    old.user("我喜欢爬山")
    aged(old.path, 9.5)
    new, first = on_the_machine()
    assert (new["session_id"], new["user_turns"], new["extracted"], new["days_left"]) == ("new", 1, 0, 30)
    assert (first["session_id"], first["user_turns"], first["extracted"], first["days_left"]) == ("old", 3, 2, 21)
    assert (first["agent"], first["project"], first["source"]) == ("claude", "/home/lin/notes", str(old.path))
    shown = mex("sessions").out
    assert "3 turns of yours, 2 extracted · its agent deletes it in 21 days" in shown
    assert "/home/lin/notes" in shown


def test_sessions_are_those_of_one_agent_or_since_a_moment(sessions: Path) -> None:
    aged(SessionFile(sessions / "old.jsonl", "old").user("a").path, 9.5)
    SessionFile(sessions / "new.jsonl", "new").user("b")
    assert [one["session_id"] for one in on_the_machine("--since", "7d")] == ["new"]
    assert len(on_the_machine("--agent", "claude")) == 2
    assert on_the_machine("--agent", "opencode") == []


@pytest.mark.parametrize("command", ["sessions", "sweep"])
def test_an_agent_that_is_not_known_or_keeps_no_sessions_is_a_clear_error(command: str) -> None:
    unknown = mex(command, "--agent", "parrot", ok=False)
    assert unknown.code == 1
    assert "parrot" in unknown.err
    without = mex(command, "--agent", "plain", ok=False)
    assert without.code == 1
    assert "claude" in without.err


def test_a_session_without_words_of_the_user_is_not_listed(sessions: Path) -> None:
    SessionFile(sessions / "s.jsonl", "s").assistant("Hello")
    (sessions / "empty.jsonl").touch()
    (sessions / "agent-1.jsonl").write_text(SessionFile(sessions / "t.jsonl", "t").user("x").path.read_text())
    assert [one["session_id"] for one in on_the_machine()] == ["t"]


def test_what_cannot_be_read_is_named_and_does_not_hold_up_the_rest(sessions: Path) -> None:
    (sessions / "broken.jsonl").write_text('{"nothing": "of claude"}\n' * 3)
    SessionFile(sessions / "s.jsonl", "s").user("我叫林晓舟")
    found = mex("sessions", "--json").json
    assert [one["session_id"] for one in found["sessions"]] == ["s"]
    (failed,) = found["unreadable"]
    assert failed["source"].endswith("broken.jsonl")
    assert failed["error"]["code"] == "source_format"
    assert "broken.jsonl" in mex("sweep", "--yes").err
    assert contents() == ["林晓舟"]


def test_a_dry_run_tells_what_a_sweep_costs_and_queues_nothing(sessions: Path, model: ModelServer) -> None:
    SessionFile(sessions / "a.jsonl", "a").user("我叫林晓舟").assistant("好的")
    SessionFile(sessions / "b.jsonl", "b").user("I live in Hangzhou")
    told = mex("sweep", "--dry-run", "--json").json
    assert {name: told[name] for name in COST - {"tokens"}} == {"sessions": 2, "turns": 3, "user_turns": 2, "calls": 2}
    assert told["tokens"] > 5
    assert told["agents"]["claude"]["sessions"] == 2
    assert "2 sessions, 3 new turns (2 of the user)" in mex("sweep", "--dry-run").out
    assert mex("jobs", "list", "--json").json == []
    assert model.requests() == []


def test_a_first_sweep_wants_a_yes_and_tells_what_it_costs(sessions: Path) -> None:
    SessionFile(sessions / "a.jsonl", "a").user("我叫林晓舟")
    refused = mex("sweep", ok=False)
    assert refused.code == 1
    assert "1 sessions: 1 turns" in refused.err
    assert "--yes" in refused.err
    assert mex("jobs", "list", "--json").json == []


def test_at_a_terminal_a_first_sweep_tells_the_cost_and_asks(sessions: Path, tmp_path: Path) -> None:
    SessionFile(sessions / "a.jsonl", "a").user("我叫林晓舟")
    with Terminal(tmp_path, "sweep") as terminal:
        terminal.wait_for("1 sessions, 1 new turns (1 of the user)")
        terminal.answer("Extract them?", "n" + ENTER)
        assert terminal.end() == 1
    assert mex("jobs", "list", "--json").json == []
    with Terminal(tmp_path, "sweep", "--lang", "zh", MEX_EXTRACTION_QUIET_SECONDS="0") as terminal:
        terminal.answer("现在抽取吗", "y" + ENTER)
        assert terminal.end() == 0
    assert contents() == ["林晓舟"]


def test_a_sweep_extracts_everything_new_once(sessions: Path) -> None:
    first = SessionFile(sessions / "a.jsonl", "a").user("我叫林晓舟")
    second = SessionFile(sessions / "b.jsonl", "b").user("我对花生过敏")
    ran = mex("sweep", "--yes", "--json").json
    assert {job["outcome"] for job in ran["jobs"]} == {"committed"}
    assert sorted(contents()) == ["林晓舟", "花生"]
    assert "Nothing new" in mex("sweep").out
    first.forked_to(sessions / "fork.jsonl")
    assert "Nothing new" in mex("sweep").out, "a resumed copy holds nothing that was not extracted"
    second.user("我在远光软件工作")
    assert len(mex("sweep", "--json").json["jobs"]) == 1, "an agent that was swept before is not asked about again"
    assert sorted(contents()) == ["林晓舟", "花生", "远光软件"]


def test_a_fork_is_neither_counted_nor_queued_again(sessions: Path) -> None:
    """What it holds beyond the first is."""
    first = SessionFile(sessions / "a.jsonl", "a").user("我叫林晓舟")
    aged(first.path, 1)
    fork = first.forked_to(sessions / "fork.jsonl")
    told = mex("sweep", "--dry-run", "--json").json
    assert (told["sessions"], told["user_turns"]) == (1, 1)
    fork.user("我对花生过敏")
    told = mex("sweep", "--dry-run", "--json").json
    assert (told["sessions"], told["turns"], told["user_turns"]) == (2, 2, 2)
    mex("sweep", "--yes")
    assert sorted(contents()) == ["林晓舟", "花生"]


def test_a_sweep_in_the_background_is_one_batch_that_a_worker_runs(sessions: Path) -> None:
    for name, words in (("a", "我叫林晓舟"), ("b", "我对花生过敏")):
        SessionFile(sessions / f"{name}.jsonl", name).user(words)
    queued = mex("sweep", "--yes", "--async", "--json", MEX_WORKER_AUTOSTART="false").json
    assert len(queued["jobs"]) == 2
    again = mex("sweep", "--yes", "--async", "--json", MEX_WORKER_AUTOSTART="false").json
    assert {job["merged"] for job in again["jobs"]} == {True}, "what already waits is not queued a second time"
    with worker():
        until(lambda: len(contents()) == 2)


def test_a_link_and_a_second_name_are_one_source(sessions: Path, tmp_path: Path) -> None:
    session = SessionFile(sessions / "a.jsonl", "a").user("我叫林晓舟")
    (sessions / "link.jsonl").symlink_to(session.path)
    shutil.copytree(sessions, tmp_path / ".claude" / "projects" / "-copy", symlinks=True)
    assert len(on_the_machine()) == 2, "the file and its copy, and no link to either"
    mex("sweep", "--yes")
    assert contents() == ["林晓舟"]
    assert [one["extracted"] for one in on_the_machine()] == [1, 1]


def text_of(ran: Ran) -> str:
    """Everything a person saw."""
    return ran.out + ran.err


def test_without_a_terminal_a_sweep_is_quiet_but_for_its_result(sessions: Path) -> None:
    SessionFile(sessions / "a.jsonl", "a").user("我叫林晓舟")
    said = text_of(mex("sweep", "--yes"))
    assert "Reading" not in said
    assert "\x1b" not in said


def test_what_waits_already_is_told_and_what_cannot_be_read_says_why_and_what_to_do(sessions: Path) -> None:
    SessionFile(sessions / "a.jsonl", "a").user("我叫林晓舟")
    os.mkfifo(sessions / "pipe.jsonl")
    (sessions / "other.jsonl").write_text("{}\n", encoding="utf-8")
    sweep = ("sweep", "--yes", "--async")
    first, again = (mex(*sweep, MEX_WORKER_AUTOSTART="false") for _ in range(2))
    assert "waited already" not in first.out
    assert "1 of them waited already and are done once" in again.out
    for told in (first.err, mex("sessions").out, mex("sweep", "--dry-run").out):
        assert {one for one in told.splitlines() if one.startswith("Not read: ")} == {
            f"Not read: {sessions / 'pipe.jsonl'} cannot be read: Invalid argument. Check its permissions.",
            f"Not read: {sessions / 'other.jsonl'} cannot be read as claude.",
        }

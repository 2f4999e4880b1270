"""Exports of many conversations at the command line: in front of a person, and as they are shown (product C8, D3)."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mex_pipeline.store import archives
from tests.adapters.export_files import Cai, write
from tests.support.archives import children, queued, run, run_children, said, told
from tests.support.faulting import ALONE, EACH_HOBBY, hobby, row, rows
from tests.support.invariants import check_queue
from tests.support.model_server import ModelServer
from tests.support.program import QUIET, contents, in_process, mex, until

EXTRACT = ("import", "--mode", "extract")


def test_in_the_foreground_an_export_and_all_its_conversations_are_done_when_the_command_ends(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when they do not all go into the queue at once; `mex extract --file` is the same."""
    monkeypatch.setattr(archives, "MOST", 2)
    path = write(tmp_path / "e.json", *told(range(5)), said("c9", "你好"))
    done = mex(*EXTRACT, str(path), "--json").json
    assert (done["kind"], done["state"], done["outcome"]) == ("archive", "succeeded", "skipped")
    assert {name: done[name] for name in ("conversations", "queued", "unchanged", "without_user_turns")} == {
        "conversations": 6, "queued": 6, "unchanged": 0, "without_user_turns": 0,
    }  # fmt: skip
    assert done["progress"] == {"done": 6, "total": 6, "unit": "conversations", "note": "children"}
    told_of = done["children"]
    assert (told_of["states"], told_of["added"]) == ({"succeeded": 6}, 5)
    assert told_of["outcomes"] == {"committed": 5, "nothing_to_remember": 1}
    assert contents() == [hobby(number) for number in range(5)]
    again = mex("extract", "--file", str(path))
    assert again.out.splitlines() == [
        "Conversations read 6: 0 with something new, 6 unchanged, 0 with no new words of the user",
        "Nothing new since the last extraction; the model was not called.",
    ]
    assert {one for (one,) in rows(home, "SELECT DISTINCT trigger FROM jobs")} == {"foreground"}
    check_queue(home)


def test_a_dry_run_tells_what_of_an_export_is_new(tmp_path: Path, home: Path) -> None:
    path = write(tmp_path / "e.json", *told(range(2)))
    mex(*EXTRACT, str(path))
    write(path, *told(range(4)), said("c8", "你好", "再见"))
    shown = mex("extract", "--dry-run", "--file", str(path), "--json").json
    assert (shown["conversations"], shown["turns"], shown["user_turns"], shown["calls"]) == (3, 8, 4, 0)
    assert mex("extract", "--dry-run", "--file", str(path)).out.splitlines()[0] == "Conversations: 3"
    one = mex("extract", "--dry-run", "--file", str(path), "--session", "c8", "--json").json
    assert (one["conversations"], one["user_turns"]) == (1, 2)


def test_an_export_among_other_files_is_part_of_their_batch(tmp_path: Path, home: Path) -> None:
    export = write(tmp_path / "e.json", *told(range(2)))
    talk = Cai()
    talk.says("human", "我住在成都")
    claude = write(tmp_path / "c.json", talk)
    note = tmp_path / "note.txt"
    note.write_text("记住：我对花生过敏", encoding="utf-8")
    done = mex(*EXTRACT, str(export), str(note), str(claude), "--json").json
    assert (done["states"], done["added"]) == ({"succeeded": 3}, 4)
    assert [one["kind"] for one in done["jobs"]] == ["archive", "import", "archive"]
    assert len(contents()) == 4


def test_what_is_shown_of_an_export_under_way(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its conversations so far, in words and as JSON; a conversation by its name."""
    monkeypatch.setattr(archives, "MOST", 4)
    job_id = queued(tmp_path / "e.json", *told(range(9)))
    assert mex("jobs", "show", job_id, "--json").json["progress"] is None
    run(home, job_id)
    run(home, children(home, job_id)[0])
    shown = mex("jobs", "show", job_id, "--json").json
    assert (shown["state"], shown["reason"], shown["progress"]["done"], shown["progress"]["total"]) == (
        "queued", "children", 4, None,
    )  # fmt: skip
    assert shown["children"]["states"] == {"queued": 3, "succeeded": 1}
    words = mex("jobs", "show", job_id).out
    assert "Conversations read 4: 4 with something new" in words
    assert "goes on when some of its conversations are done" in words
    assert "Jobs: queued 3, done 1\nAdded 1, updated 0, retired 0, discarded 0" in words
    assert "chatgpt: c0" in mex("jobs", "list").out
    assert len(mex("jobs", "list", "--batch", job_id, "--json").json) == 5
    assert [one["kind"] for one in mex("jobs", "list", "--kind", "archive", "--json").json] == ["archive"]
    assert mex("jobs", "show", job_id, "--lang", "zh").code == 0


def test_waiting_for_an_export_is_waiting_for_its_conversations_and_the_worst_of_them_decides(
    tmp_path: Path, home: Path
) -> None:
    job_id = queued(tmp_path / "e.json", *told(range(3)))
    run(home, job_id)
    wait = ("jobs", "wait", job_id, "--timeout", "0", "--json")
    assert row(home, job_id)["state"] == "succeeded"
    assert in_process(*wait, **ALONE).code == 2, "its conversations wait"
    first, second, third = children(home, job_id)
    mex("jobs", "cancel", first)
    run(home, second)
    run(home, third)
    ended = in_process(*wait, **ALONE)
    assert (ended.code, ended.json["children"]["states"]) == (1, {"cancelled": 1, "succeeded": 2})
    other = queued(tmp_path / "e2.json", *told(range(3, 5)))
    run(home, other)
    run_children(home, other)
    assert in_process("jobs", "wait", other, **ALONE).code == 0
    assert in_process("jobs", "wait", job_id, other, **ALONE).code == 1


def test_product_c8_an_interruption_cancels_the_conversations_that_would_follow(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    model.script({"when": hobby(1), "hold": "go"}, EACH_HOBBY)
    command = [sys.executable, "-m", "mex_pipeline", *EXTRACT, str(write(tmp_path / "e.json", *told(range(4))))]
    process = subprocess.Popen(command, env=os.environ | QUIET | ALONE, stderr=subprocess.DEVNULL)
    until(lambda: model.asked(hobby(1)))
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 1
    model.release("go")
    states = rows(home, "SELECT kind, state, reason FROM jobs ORDER BY seq")
    assert states == [
        ("archive", "succeeded", "distributed"), ("extract", "succeeded", None),
        *[("extract", "cancelled", "user")] * 3,
    ]  # fmt: skip
    assert contents() == [hobby(0)]
    assert model.asked(hobby(2)) == 0


def test_a_conversation_that_fails_does_not_hold_up_the_others_but_an_endpoint_that_refuses_does(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """Exit 2 and the reason; what is left is not run later unasked, and a second import costs only what is missing."""
    path = write(tmp_path / "e.json", *told(range(4)))
    model.script({"when": hobby(1), "status": 400, "body": "no"}, EACH_HOBBY)
    ran = mex(*EXTRACT, str(path), "--json", ok=False)
    assert (ran.code, ran.json["children"]["states"]) == (2, {"failed": 1, "succeeded": 3})
    assert json.loads(ran.err.splitlines()[-1])["code"] == "llm_bad_request"
    write(path, *told(range(8)))
    model.script({"status": 401, "body": "no"})
    refused = mex(*EXTRACT, str(path), "--json", ok=False)
    assert (refused.code, refused.json["children"]["states"]) == (2, {"cancelled": 4, "failed": 1})
    assert json.loads(refused.err.splitlines()[-1])["code"] == "llm_auth"
    model.script(EACH_HOBBY)
    before = len(model.requests())
    assert mex(*EXTRACT, str(path), "--json").json["queued"] == 5
    assert len(model.requests()) - before == 5
    assert contents() == [hobby(number) for number in range(8)]


def test_an_export_that_is_cut_off_fails_with_what_it_gave(tmp_path: Path, home: Path) -> None:
    path = write(tmp_path / "e.json", *told(range(3)))
    path.write_text(path.read_text(encoding="utf-8")[:-400], encoding="utf-8")
    ran = mex(*EXTRACT, str(path), "--json", ok=False)
    assert (ran.code, ran.json["state"], ran.json["outcome"]) == (2, "failed", "unparseable")
    assert ran.json["children"]["states"] == {"succeeded": 2}
    assert json.loads(ran.err.splitlines()[-1])["code"] == "source_damaged"
    assert contents() == [hobby(0), hobby(1)]


def test_what_could_not_be_read_of_an_export_is_told_with_what_stays_and_the_command_for_the_rest(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """Nothing says that nothing was written; the command does the rest, also what was cancelled with what failed."""
    path = write(tmp_path / "my e.json", *told(range(5)))
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole[:-400], encoding="utf-8")
    model.script(EACH_HOBBY | {"times": 2}, {"status": 401, "body": "no"})
    command = f"mex import --mode extract '{path}'"
    for text in (whole[:-400], whole):
        path.write_text(text, encoding="utf-8")
        ran = mex(*EXTRACT, str(path), ok=False)
        assert ran.code == 2
        assert ran.err.splitlines()[-1].endswith(f"What was read so far stays. For the rest: {command}"), ran.err
        assert "Nothing was written" not in ran.err
    model.script(EACH_HOBBY)
    mex(*EXTRACT, str(path))
    assert contents() == [hobby(number) for number in range(5)]


def test_a_conversation_that_an_export_does_not_hold_is_refused_before_it_is_counted_or_read(
    tmp_path: Path, home: Path
) -> None:
    path = str(write(tmp_path / "e.json", *told(range(2))))
    for option in ((), ("--dry-run",)):
        ran = mex("extract", "--file", path, "--session", "nope", *option, "--json", ok=False)
        assert (ran.code, json.loads(ran.err.splitlines()[-1])["code"]) == (2, "session_not_in_file")
    known = mex("extract", "--file", path, "--session", "c1", "--dry-run", "--json").json
    mex("extract", "--file", path, "--session", "c1")
    read = mex("extract", "--file", path, "--session", "c1", "--dry-run", "--json").json
    assert (known["user_turns"], read["user_turns"]) == (1, 0), "one that is read already is there all the same"
    command = f"mex extract --file {path} --session nope"
    assert command in mex("extract", "--file", path, "--session", "nope", ok=False).err


def test_verify_counts_the_conversations_that_have_no_file(tmp_path: Path, home: Path) -> None:
    """An import that was read is not 'no session has been read yet'."""
    mex(*EXTRACT, str(write(tmp_path / "e.json", *told(range(3)))))
    assert mex("jobs", "verify").out == "Conversations of exports read: 3\n"
    assert mex("jobs", "verify", "--json").json == {"whole": True, "conversations": 3, "sources": []}


@pytest.mark.parametrize("name", ["a#b", "x" * 5000, "中文 😀", "../up", "a b"])
def test_a_conversation_of_any_name_is_read_once_and_again(name: str, tmp_path: Path, home: Path) -> None:
    """Names are the agent's: also one that no file could have."""
    path = str(write(tmp_path / "e.json", said(name, "我的爱好是养蜂1号。")))
    mex(*EXTRACT, path)
    assert mex(*EXTRACT, path, "--json").json["unchanged"] == 1
    assert mex("extract", "--again", name, "--json").json["state"] == "succeeded"
    assert contents() == [hobby(1)]


def test_a_conversation_that_is_cancelled_elsewhere_is_told_where_its_export_is_run(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """No exit code without words."""
    path = write(tmp_path / "e.json", *told(range(2)))
    model.script(EACH_HOBBY | {"hold": "go"})
    command = [sys.executable, "-m", "mex_pipeline", *EXTRACT, str(path)]
    process = subprocess.Popen(command, env=os.environ | QUIET | ALONE, stderr=subprocess.PIPE, text=True)
    until(lambda: model.asked("养蜂0号"))
    (waiting,) = (one for (one,) in rows(home, "SELECT id FROM jobs WHERE kind = 'extract' AND state = 'queued'"))
    mex("jobs", "cancel", waiting)
    model.release("go")
    _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert err.splitlines()[-1] == f"What was read so far stays. For the rest: mex import --mode extract {path}"
    assert contents() == [hobby(0)]

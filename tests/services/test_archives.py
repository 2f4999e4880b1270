"""An export is read once, and each of its conversations is a job of its own (session-formats §6, docs/jobs.md)."""

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from mex_pipeline.domain.conversation import Cursor, Transcript, Turn
from mex_pipeline.services.conversations import Reader
from mex_pipeline.store import archives
from tests.adapters.export_files import START, Gpt, text_of, write
from tests.support.archives import asked, children, given, queued, result, run, run_children, said, told
from tests.support.faulting import hobby, row, rows
from tests.support.invariants import check_queue
from tests.support.program import contents, in_process, mex
from tests.support.program import write as write_text


def handed_out(home: Path, path: Path, *conversations: Gpt) -> str:
    """The job of an export that has been handed out."""
    job_id = queued(path, *conversations)
    assert run(home, job_id)
    return job_id


def imported(home: Path, path: Path, *conversations: Gpt) -> str:
    """The job of an export of which everything is done."""
    job_id = handed_out(home, path, *conversations)
    run_children(home, job_id)
    return job_id


def test_session_formats_6_every_conversation_is_a_job_that_needs_no_file(tmp_path: Path, home: Path) -> None:
    path = tmp_path / "e.json"
    job_id = handed_out(home, path, *told(range(3)))
    path.unlink()
    done = row(home, job_id)
    assert (done["kind"], done["state"], done["outcome"], done["reason"]) == (
        "archive", "succeeded", "skipped", "distributed",
    )  # fmt: skip
    assert (done["progress_done"], done["progress_total"]) == (3, 3)
    made = [row(home, child) for child in children(home, job_id)]
    assert [one["lock_key"] for one in made] == ["chatgpt#c0", "chatgpt#c1", "chatgpt#c2"]
    assert {(one["kind"], one["dedup_key"] == one["lock_key"], one["priority"]) for one in made} == {
        ("extract", True, -10)
    }
    payload = json.loads(made[0]["payload"])
    assert payload == {"adapter": "chatgpt", "session": "c0", "off": (START + 600) * 1000, "subject": "user"}
    run_children(home, job_id)
    assert contents() == [hobby(number) for number in range(3)]
    assert rows(home, "SELECT source_file, last_position FROM extraction_state ORDER BY 1")[0] == (
        "chatgpt#c0", (START + 600) * 1000,
    )  # fmt: skip
    assert {one["given_text"] for one in (row(home, child) for child in children(home, job_id))} == {None}
    check_queue(home)


def test_a_memory_names_the_conversation_it_comes_from(tmp_path: Path, home: Path) -> None:
    imported(home, tmp_path / "e.json", said("c1", "我住在成都"))
    (memory,) = mex("list", "--json").json
    (source,) = mex("get", memory["id"]).json["sources"]
    assert (source["agent"], source["session_id"], source["message_id"], source["source_file"]) == (
        "chatgpt", "c1", "c1-1", "chatgpt#c1",
    )  # fmt: skip
    assert source["said_at"] == "2026-03-01T08:00:01Z"


def test_the_same_export_twice_makes_nothing(tmp_path: Path, home: Path) -> None:
    imported(home, tmp_path / "e.json", *told(range(3)))
    again = handed_out(home, tmp_path / "again.json", *told(range(3)))
    assert children(home, again) == []
    assert result(home, again) == {
        "conversations": 3, "queued": 0, "unchanged": 3, "without_user_turns": 0, "dropped": {},
    }  # fmt: skip
    assert row(home, again)["reason"] == "nothing_new"


def test_of_a_grown_export_only_what_is_new_is_extracted(tmp_path: Path, home: Path) -> None:
    """A new conversation, and of a continued one the new turns with two before them; an old one costs nothing."""
    first = [said("old", "我住在成都"), said("on", "你好", "今天天气好", "我喜欢绿茶")]
    imported(home, tmp_path / "e.json", *first)
    grown = said("on", "你好", "今天天气好", "我喜欢绿茶", "记住：我对花生过敏", changed=900)
    next_month = handed_out(home, tmp_path / "next.json", first[0], grown, said("new", "我的爱好是养蜂1号。"))
    continued, fresh = children(home, next_month)
    assert given(home, continued) == ["我喜欢绿茶", "好的。", "记住：我对花生过敏", "好的。"]
    assert given(home, fresh) == ["我的爱好是养蜂1号。", "好的。"]
    run_children(home, next_month)
    assert json.loads(row(home, continued)["result"])["turns"]["user"] == 1
    assert result(home, next_month)["unchanged"] == 1


def test_an_edited_conversation_sends_the_branch_that_counts_now(tmp_path: Path, home: Path) -> None:
    """The edit is a new message beside the old one: the turns before it are context, those behind it are off the path."""
    talk = said("c", "你好", "我住在北京")
    imported(home, tmp_path / "e.json", talk)
    talk.top["update_time"] = START + 900
    talk.says("user", "记住：我对花生过敏", parent="c-2")
    edited = handed_out(home, tmp_path / "e2.json", talk)
    (child,) = children(home, edited)
    assert given(home, child) == ["你好", "好的。", "记住：我对花生过敏"]
    run_children(home, edited)
    assert json.loads(row(home, child)["result"])["turns"] == {"user": 1, "assistant": 0, "dropped": {"off_path": 2}}


def test_a_conversation_that_was_only_renamed_or_holds_no_new_words_of_the_user_makes_no_job(
    tmp_path: Path, home: Path
) -> None:
    imported(home, tmp_path / "e.json", said("named", "我住在成都"), said("answered", "我喜欢绿茶"))
    renamed, answered = said("named", "我住在成都", changed=900), said("answered", "我喜欢绿茶", changed=900)
    answered.says("assistant", "还有一点。")
    silent = Gpt("silent")
    silent.says("assistant", "欢迎。")
    again = handed_out(home, tmp_path / "e2.json", renamed, answered, silent, Gpt("empty"))
    assert children(home, again) == []
    counts = result(home, again)
    assert (counts["conversations"], counts["unchanged"], counts["without_user_turns"]) == (4, 1, 3)


def test_what_only_the_rules_have_read_is_new_to_a_model(tmp_path: Path, home: Path) -> None:
    """Product C9: cursors and message keys are those of what serves."""
    imported(home, tmp_path / "e.json", *told(range(2)))
    mex(
        "config", "llm", "--provider", "custom", "--base-url", "http://127.0.0.1:1/v1", "--api-key", "k", "--model", "m"
    )
    assert len(children(home, handed_out(home, tmp_path / "e.json", *told(range(2))))) == 2


def test_a_conversation_that_waits_already_is_joined_and_a_newer_export_gives_it_its_turns(
    tmp_path: Path, home: Path
) -> None:
    first = handed_out(home, tmp_path / "e.json", said("c", "我住在成都"))
    (child,) = children(home, first)
    same = handed_out(home, tmp_path / "e2.json", said("c", "我住在成都"))
    newer = handed_out(home, tmp_path / "e3.json", said("c", "我住在成都", "我喜欢绿茶", changed=900))
    older = handed_out(home, tmp_path / "e4.json", said("c", "我住在成都"))
    assert [children(home, one) for one in (same, newer, older)] == [[], [], []]
    assert given(home, child) == ["我住在成都", "好的。", "我喜欢绿茶", "好的。"]
    for one in (same, newer, older):
        assert mex("jobs", "show", one, "--json").json["children"]["states"] == {"queued": 1}
    assert run(home, child)
    assert mex("jobs", "show", same, "--json").json["children"]["states"] == {"succeeded": 1}
    assert row(home, child)["coalesced"] == 1
    check_queue(home)


def test_the_newest_request_says_whom_a_conversation_is_about(tmp_path: Path, home: Path) -> None:
    first = handed_out(home, tmp_path / "e.json", *told(range(1)))
    assert run(home, asked(tmp_path / "e.json", "--subject", "other"))
    (child,) = children(home, first)
    assert json.loads(row(home, child)["payload"])["subject"] == "other"
    assert run(home, child)
    assert contents() == []


def test_an_older_export_that_is_read_later_does_not_move_the_place_back(tmp_path: Path, home: Path) -> None:
    old = handed_out(home, tmp_path / "old.json", said("c", "我住在成都"))
    (late,) = children(home, old)
    held = row(home, late)["given_text"]
    mex("jobs", "cancel", late)
    imported(home, tmp_path / "new.json", said("c", "我住在成都", "我喜欢绿茶", changed=900))
    with_text = "UPDATE jobs SET state = 'queued', given_text = ?, finished_at = NULL WHERE id = ? RETURNING 1"
    assert rows(home, with_text, held, late) == [(1,)]
    assert run(home, late)
    assert json.loads(row(home, late)["result"])["turns"]["user"] == 0
    assert rows(home, "SELECT last_position FROM extraction_state") == [((START + 900) * 1000,)]


def test_only_so_many_conversations_stand_in_the_queue_and_the_archive_holds_no_slot_meanwhile(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is put back when they are many, comes back when half of them have ended, and costs no attempt."""
    monkeypatch.setattr(archives, "MOST", 4)
    job_id = handed_out(home, tmp_path / "e.json", *told(range(9)))
    most = 0
    for _ in range(30):
        waiting = children(home, job_id, "queued")
        most = max(most, len(waiting))
        archive = row(home, job_id)
        if archive["reason"] == "children":
            assert (archive["state"], archive["attempt"], len(waiting) > 2) == ("queued", 0, True)
            assert not run(home, job_id), "it is not due before some have ended"
        elif archive["state"] == "queued":
            assert len(waiting) <= 2
            assert run(home, job_id)
        if waiting:
            assert run(home, waiting[0])
    assert (row(home, job_id)["state"], row(home, job_id)["attempt"], most) == ("succeeded", 1, 4)
    assert contents() == [hobby(number) for number in range(9)]
    assert result(home, job_id)["queued"] == 9
    check_queue(home)


def test_large_conversations_fill_the_queue_sooner(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_BYTES", 8_000)
    monkeypatch.setattr("mex_pipeline.services.archives.AT_ONCE", 2)
    job_id = handed_out(home, tmp_path / "e.json", *(said(f"c{number}", "说" * 1_000) for number in range(6)))
    assert row(home, job_id)["reason"] == "children"
    assert len(children(home, job_id)) == 4
    for child in children(home, job_id)[:2]:
        run(home, child)
    assert row(home, job_id)["reason"] == "children"
    run(home, children(home, job_id)[2])
    assert run(home, job_id)
    assert len(children(home, job_id)) == 6


def test_of_a_damaged_export_what_can_be_read_is_handed_out(tmp_path: Path, home: Path) -> None:
    """Mended and tried again it gives the rest, and nothing twice."""
    path = tmp_path / "e.json"
    whole = text_of(*told(range(4)))
    write_text(path, whole[: whole.index('"c3-1"')])
    job_id = asked(path)
    assert run(home, job_id)
    failed = row(home, job_id)
    assert (failed["state"], json.loads(failed["errors"])[-1]["code"]) == ("failed", "source_damaged")
    assert len(children(home, job_id, "queued")) == 3
    run_children(home, job_id)
    assert contents() == [hobby(number) for number in range(3)]
    write(path, *told(range(4)))
    mex("jobs", "retry", job_id, MEX_WORKER_AUTOSTART="false")
    assert run(home, job_id)
    run_children(home, job_id)
    assert contents() == [hobby(number) for number in range(4)]
    assert (len(children(home, job_id)), result(home, job_id)["unchanged"]) == (4, 3)


def test_an_export_that_is_another_one_when_it_goes_on_is_begun_anew(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MOST", 2)
    path = tmp_path / "e.json"
    job_id = handed_out(home, path, *told(range(3)))
    assert row(home, job_id)["progress_done"] == 2
    run_children(home, job_id)
    write(path, *told([7, 0, 1]))
    assert run(home, job_id)
    run_children(home, job_id)
    assert contents() == [hobby(number) for number in (0, 1, 7)]
    assert result(home, job_id)["conversations"] == 3


def test_only_one_conversation_is_taken_when_it_is_named(tmp_path: Path, home: Path) -> None:
    path = write(tmp_path / "e.json", *told(range(4)))
    job_id = asked(path)
    in_process("jobs", "cancel", job_id)
    words = ("extract", "--file", str(path), "--session", "c2", "--async", "--json")
    one = in_process(*words, MEX_WORKER_AUTOSTART="false").json["job_id"]
    assert run(home, one)
    assert [row(home, child)["lock_key"] for child in children(home, one)] == ["chatgpt#c2"]
    none = in_process(*words[:4], "c9", *words[5:], MEX_WORKER_AUTOSTART="false").json["job_id"]
    assert run(home, none)
    assert (row(home, none)["state"], row(home, none)["reason"]) == ("failed", "session_not_in_file")


def test_a_secret_does_not_reach_the_queue_either(tmp_path: Path, home: Path) -> None:
    """Product F2."""
    token = "ghp_" + "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zA1bC2"
    job_id = handed_out(home, tmp_path / "e.json", said("c", f"我的令牌是 {token}"))
    (child,) = children(home, job_id)
    assert token not in row(home, child)["given_text"]
    assert "[redacted:" in row(home, child)["given_text"]


def test_product_b6_what_is_forgotten_for_good_leaves_the_turns_that_wait(tmp_path: Path, home: Path) -> None:
    """The words, and nothing of the form they stand in."""
    imported(home, tmp_path / "e.json", said("c1", "我的爱好是 user"))
    memory = mex("add", "--topic", "leisure", "--sub-topic", "hobbies", "--content", "user", "--json").json
    job_id = handed_out(home, tmp_path / "e2.json", said("c2", "my hobby is user here", "我住在成都"))
    mex("forget", memory["id"], "--hard", "--yes")
    (child,) = children(home, job_id)
    assert given(home, child) == ["my hobby is      here", "好的。", "我住在成都", "好的。"]
    assert run(home, child)
    assert row(home, child)["state"] == "succeeded"


def test_a_failed_conversation_can_be_tried_again_and_a_cancelled_one_is_gone(tmp_path: Path, home: Path) -> None:
    """Its turns are kept until it ends well; jobs verify tells what is owed, and that nothing else is."""
    job_id = handed_out(home, tmp_path / "e.json", *told(range(3)))
    first, second, third = children(home, job_id)
    failed = "UPDATE jobs SET state = 'failed', outcome = 'llm_error', finished_at = 1 WHERE id = ? RETURNING 1"
    assert rows(home, failed, first) == [(1,)]
    mex("jobs", "cancel", second)
    assert run(home, third)
    report = in_process("jobs", "verify", "--json")
    assert report.code == 2
    (owed,) = report.json["sources"]
    assert (owed["source"], owed["standing"]) == ("chatgpt#c0", "gap")
    assert [(gap["turns"], gap["command"]) for gap in owed["gaps"]] == [(2, f"mex jobs retry {first}")]
    assert in_process("jobs", "retry", second).code == 1
    assert mex("jobs", "retry", job_id, "--json", MEX_WORKER_AUTOSTART="false").json[0]["job_id"] == first
    assert run(home, first)
    assert contents() == [hobby(0), hobby(2)]
    assert in_process("jobs", "verify", "--json").json == {"whole": True, "conversations": 2, "sources": []}


def test_a_job_that_is_cancelled_stops_and_its_conversations_stay_unless_all_are_meant(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MOST", 2)
    job_id = handed_out(home, tmp_path / "e.json", *told(range(5)))
    told_of_it = in_process("jobs", "cancel", job_id)
    assert f"mex jobs cancel --batch {job_id}" in told_of_it.err
    assert (row(home, job_id)["state"], len(children(home, job_id, "queued"))) == ("cancelled", 2)
    ended = in_process("jobs", "cancel", "--batch", job_id, "--json").json
    assert {one["job_id"] for one in ended} == set(children(home, job_id))
    other = handed_out(home, tmp_path / "e2.json", *told(range(5, 9)))
    assert len(in_process("jobs", "cancel", "--batch", other, "--json").json) == 3
    assert row(home, other)["state"] == "cancelled"


def test_no_more_of_the_stream_is_held_than_a_piece_of_it() -> None:
    """Session-formats I7: pieces end with a million characters, whatever number was asked for."""

    def large() -> Iterator[Transcript]:
        for number in range(60):
            text = f"{number}" + "x" * 300_000
            yield Transcript("chatgpt", (Turn(f"u:{number}", "user", text),), Cursor(), session_id=f"c{number}")

    reader, sizes = Reader(large, skip=10), []
    tracemalloc.start()
    try:
        while (piece := reader.read(50)) is not None:
            sizes.append(len(piece))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (sum(sizes), max(sizes), reader.position) == (50, 4, 60)
    assert peak < 4_000_000

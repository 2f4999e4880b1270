"""`mex import FILE…`: one batch, a job for each file, all of them asked for or none (queue.md §5.5, product C1)."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.model_server import ModelServer, reply
from tests.support.program import QUIET, contents, mex, opened, until, worker, write
from tests.support.terminal import Terminal

ALONE = {"MEX_WORKER_AUTOSTART": "false"}
EXTRACT = ("--mode", "extract")


def files(folder: Path, *words: str) -> list[str]:
    """Files, each with one sentence that the rules understand."""
    return [str(write(folder / f"{number}.txt", f"记住：我喜欢{word}")) for number, word in enumerate(words)]


def queued(*paths: str) -> dict[str, Any]:
    """Queue the files as a batch that no worker takes."""
    return dict(mex("import", *paths, *EXTRACT, "--async", "--json", **ALONE).json)


def shown(batch: str) -> dict[str, Any]:
    """The batch as programs see it."""
    return dict(mex("jobs", "show", batch, "--json").json)


def test_several_files_are_one_batch_that_is_waited_for_and_shown_as_one(tmp_path: Path, home: Path) -> None:
    sent = queued(*files(tmp_path, "绿茶", "红茶", "白茶"))
    assert set(sent) == {"batch_id", "jobs", "worker"}
    ids = [one["job_id"] for one in sent["jobs"]]
    batch = sent["batch_id"][:8]
    assert (shown(batch)["states"], shown(batch)["outcomes"]) == ({"queued": 3}, {})
    with worker():
        ended = mex("jobs", "wait", batch, "--json").json
    assert [(one["job_id"], one["batch_id"], one["outcome"]) for one in ended] == [
        (job_id, sent["batch_id"], "committed") for job_id in ids
    ]
    done = shown(batch)
    assert (done["states"], done["outcomes"], done["added"]) == ({"succeeded": 3}, {"committed": 3}, 3)
    assert [one["job_id"] for one in done["jobs"]] == ids
    assert [one["job_id"] for one in mex("jobs", "list", "--batch", batch, "--json").json] == ids[::-1]
    told = mex("jobs", "show", batch).out.splitlines()
    assert told[:3] == [f"Batch {sent['batch_id']}", "Jobs: done 3", "Added 3, updated 0, retired 0, discarded 0"]
    assert len(told) == 6
    assert len(contents()) == 3


def test_the_files_of_a_batch_come_after_single_requests(tmp_path: Path, home: Path) -> None:
    queued(*files(tmp_path, "绿茶", "红茶"))
    mex("extract", "--async", "记住：我对花生过敏", **ALONE)
    with opened(home / "mex.db") as db:
        rows = db.execute("SELECT kind, priority FROM jobs ORDER BY priority DESC, available_at, seq").fetchall()
    assert rows == [("extract", 0), ("import", -10), ("import", -10)]


def test_one_file_that_cannot_be_used_and_no_job_is_made_at_all(tmp_path: Path, home: Path) -> None:
    """It is named, whether it is missing or of no known format; in the background and in front of a person."""
    good = files(tmp_path, "绿茶", "红茶")
    strange = tmp_path / "strange.bin"
    strange.write_bytes(b"\x00\x01\x02\xff" * 64)
    for bad, code in ((str(tmp_path / "none.txt"), "file_missing"), (str(strange), "unknown_format")):
        for options in (("--async",), ()):
            ran = mex("import", *good, bad, *EXTRACT, *options, "--json", ok=False, **ALONE)
            error = json.loads(ran.err.splitlines()[-1])
            assert (ran.code, ran.out, error["code"]) == (1, "", code)
            assert Path(bad).name in error["message"]
    assert mex("import", *good, str(tmp_path), *EXTRACT, ok=False).code == 1
    assert mex("import", *good, "--json", ok=False).code == 1, "exports are restored one at a time"
    assert mex("jobs", "list", "--json").json == []


def test_in_the_foreground_the_files_are_read_one_after_the_other_and_summed_up(tmp_path: Path, home: Path) -> None:
    paths = files(tmp_path, "绿茶", "红茶")
    ran = mex("import", *paths, paths[0], *EXTRACT)
    assert len(ran.err.splitlines()) == 1, (
        "without a terminal nothing is said beside the result but that a home was made"
    )
    result = ["Jobs: done 2", "Added 2, updated 0, retired 0, discarded 0"]
    assert ran.out.splitlines()[1:3] == result, "a file that is named twice is one job"
    assert len(contents()) == 2
    again = mex("import", *paths, *EXTRACT, "--json").json
    assert [job["source"]["path"] for job in again["jobs"]] == [str(path) for path in paths]
    assert shown(again["batch_id"]) == again


def test_in_the_foreground_the_worst_file_decides_and_the_others_are_written(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    tea = {"topic": "leisure", "sub_topic": "hobbies", "content": "绿茶", "quote": "我喜欢绿茶", "turn": 1}
    model.script({"when": "红茶", "status": 400}, {"reply": reply(tea)})
    ran = mex("import", *files(tmp_path, "红茶", "绿茶"), *EXTRACT, "--json", ok=False)
    assert (ran.code, ran.json["states"], ran.json["added"]) == (2, {"failed": 1, "succeeded": 1}, 1)
    assert contents() == ["绿茶"]
    model.script({"reply": reply()})
    with worker():
        again = mex("jobs", "retry", ran.json["batch_id"], "--json").json
        assert [one["source"]["path"] for one in again] == [str(tmp_path / "0.txt")], "only what failed"
        assert mex("jobs", "wait", ran.json["batch_id"]).code == 0


def test_a_batch_is_cancelled_but_for_what_has_ended(tmp_path: Path, home: Path) -> None:
    sent = queued(*files(tmp_path, "绿茶", "红茶"))
    first, second = (one["job_id"] for one in sent["jobs"])
    mex("jobs", "cancel", first)
    changed = mex("jobs", "cancel", sent["batch_id"], "--json").json
    assert [one["job_id"] for one in changed] == [second]
    assert mex("jobs", "cancel", "--batch", sent["batch_id"]).out == "No jobs.\n"
    assert mex("jobs", "wait", sent["batch_id"], ok=False).code == 1
    again = mex("jobs", "retry", sent["batch_id"], "--json", **ALONE).json
    assert [(one["job_id"], one["state"]) for one in again] == [(first, "queued"), (second, "queued")]


def test_a_file_that_waits_already_is_read_once_and_belongs_to_both_batches(tmp_path: Path, home: Path) -> None:
    one, two, three = files(tmp_path, "绿茶", "红茶", "白茶")
    first, second = queued(one, two), queued(two, three)
    assert [row["merged"] for row in second["jobs"]] == [True, False]
    assert first["jobs"][1]["job_id"] == second["jobs"][0]["job_id"]
    with worker():
        mex("jobs", "wait", first["batch_id"], second["batch_id"])
    for batch in (first, second):
        assert [row["job_id"] for row in shown(batch["batch_id"])["jobs"]] == [row["job_id"] for row in batch["jobs"]]
    assert len(mex("jobs", "list", "--json").json) == 3


def test_one_file_is_no_batch(tmp_path: Path, home: Path) -> None:
    sent = mex("import", *files(tmp_path, "绿茶"), *EXTRACT, "--async", "--json", **ALONE).json
    assert set(sent) == {"job_id", "state", "merged", "worker"}
    assert mex("jobs", "show", sent["job_id"], "--json").json["batch_id"] is None
    unknown = mex("jobs", "list", "--batch", sent["job_id"], "--json", ok=False)
    assert (unknown.code, json.loads(unknown.err)["code"]) == (1, "job_not_found")


def test_product_c8_an_interruption_cancels_the_file_that_is_read_and_those_that_would_follow(
    model: ModelServer, tmp_path: Path, home: Path
) -> None:
    model.script({"when": "绿茶", "hold": "go"}, {"reply": reply()})
    command = [sys.executable, "-m", "mex_pipeline", "import", *files(tmp_path, "红茶", "绿茶", "白茶"), *EXTRACT]
    process = subprocess.Popen(command, env=os.environ | QUIET | ALONE, stderr=subprocess.DEVNULL)
    until(lambda: model.asked("绿茶"))
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 1
    rows = mex("jobs", "list", "--json").json
    assert [one["state"] for one in rows] == ["cancelled", "cancelled", "succeeded"]
    assert model.asked("白茶") == 0


def test_waiting_for_a_batch_that_does_not_end_says_so_once(tmp_path: Path, home: Path) -> None:
    """A line for each of thousands of jobs would bury what happened; jobs named one by one are told one by one."""
    sent = queued(*files(tmp_path, "绿茶", "红茶", "白茶"))
    ran = mex("jobs", "wait", sent["batch_id"], "--timeout", "0", ok=False, **ALONE)
    over = [one for one in ran.err.splitlines() if "has not ended" in one]
    assert (ran.code, over) == (2, [f"Batch {sent['batch_id']} has not ended: queued 3."])
    ids = [one["job_id"] for one in sent["jobs"]]
    ran = mex("jobs", "wait", *ids[:2], "--timeout", "0", ok=False, **ALONE)
    assert [one for one in ran.err.splitlines() if "has not ended" in one] == [
        f"Job {one} has not ended: queued." for one in ids[:2]
    ]


def test_at_a_terminal_a_batch_of_many_has_one_bar(tmp_path: Path, home: Path) -> None:
    """A bar for each of hundreds of jobs would fill the screen and say nothing."""
    sent = queued(*files(tmp_path, *(f"茶{number}号" for number in range(12))))
    with Terminal(tmp_path, "jobs", "wait", sent["batch_id"], **ALONE) as terminal:
        terminal.wait_for("Jobs")
        terminal.wait_for("0/12")
        shown_by_bars = terminal.seen
        with worker():
            assert terminal.end() == 0
    assert not any(one["job_id"][:8] in shown_by_bars for one in sent["jobs"][1:])

"""Nothing lost, nothing twice: real workers that are killed, doubled, starved and told to leave."""

import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.model_server import ModelServer, reply, turns
from tests.support.program import contents, mex, opened, until, worker
from tests.support.sessions import SessionFile

ALONE = {"MEX_WORKER_AUTOSTART": "false"}


def submit(path: Path) -> str:
    """Queue a session and return the job's id."""
    return str(mex("extract", "--async", "--from", "claude", "--file", str(path), "--json", **ALONE).json["job_id"])


def job(job_id: str) -> dict[str, Any]:
    """How the job stands."""
    return dict(mex("jobs", "show", job_id, "--json").json)


def hobby(number: int) -> dict[str, Any]:
    """A candidate that the n-th turn supports."""
    return {"topic": "leisure", "sub_topic": "hobbies", "content": f"爱好{number}", "quote": f"我的爱好是爱好{number}"}


def long_session(path: Path, length: int) -> SessionFile:
    """A session of which each turn fills a chunk of 200 tokens."""
    return SessionFile(path).user(*(f"我的爱好是爱好{number}。" + "嗯" * 120 for number in range(length)))


def test_after_kill_9_in_a_model_call_a_new_worker_finishes_and_nothing_is_asked_again(
    model: ModelServer, tmp_path: Path
) -> None:
    """The job succeeds, each memory exists once, and every reply that had arrived is used."""
    # Context turns repeat in a chunk, so the script is read from the back: the newest turn decides.
    model.script(
        {"when": "爱好4。嗯", "reply": reply(hobby(4))},
        {"when": "爱好3。嗯", "reply": reply(hobby(3))},
        {"when": "爱好2。嗯", "hold": "go", "reply": reply(hobby(2))},
        {"when": "爱好1。嗯", "reply": reply(hobby(1))},
        {"when": "爱好0。嗯", "reply": reply(hobby(0))},
    )
    settings = {"MEX_EXTRACTION_CHUNK_TOKENS": "200", "MEX_LLM_CONCURRENCY": "1"}
    session = long_session(tmp_path / "s.jsonl", 5)
    with worker(**settings) as first:
        job_id = submit(session.path)
        until(lambda: model.asked("爱好2。") == 1)
        first.send_signal(signal.SIGKILL)
        first.wait()
    assert job(job_id)["state"] == "running"
    model.release("go")
    with worker(**settings):
        done = mex("jobs", "wait", job_id, "--timeout", "60", "--json").json
    assert (done["state"], done["attempt"], done["crashes"]) == ("succeeded", 2, 1)
    assert done["usage"]["reused"] == 2
    assert contents() == [f"爱好{number}" for number in range(5)]
    assert [model.asked(f"爱好{number}。") for number in range(5)] == [1, 1, 2, 1, 1]


def test_a_job_that_kills_its_worker_every_time_is_stopped_and_others_go_on(model: ModelServer, tmp_path: Path) -> None:
    """Three crashes end a job as poison; the queue is not held up by it."""
    bad = SessionFile(tmp_path / "bad.jsonl").user("毒")
    good = SessionFile(tmp_path / "good.jsonl").user("我的爱好是爱好1。")
    model.script({"when": "毒", "hold": "never"}, {"reply": reply(hobby(1))})
    poison = submit(bad.path)
    for crash in (1, 2, 3):
        mex("jobs", "retry", poison, ok=False, **ALONE)  # a second crash waits some seconds; a person need not
        with worker() as process:
            until(lambda number=crash: len(model.requests()) == number)
            process.send_signal(signal.SIGKILL)
            process.wait()
    fine = submit(good.path)
    with worker():
        assert mex("jobs", "wait", fine, "--timeout", "30", "--json").json["outcome"] == "committed"
        ended = mex("jobs", "wait", poison, "--timeout", "30", "--json", ok=False)
    assert ended.code == 2
    assert (ended.json["state"], ended.json["outcome"], ended.json["crashes"]) == ("failed", "poison", 3)


def test_jobs_outlive_the_queue_file(model: ModelServer, tmp_path: Path, home: Path) -> None:
    """queue.db only carries wake-ups: deleted while jobs wait, under a live worker, all still run."""
    model.script(
        *({"when": f"爱好{number}。", "hold": "go", "reply": reply(hobby(number))} for number in range(2)),
        *({"when": f"爱好{number}。", "reply": reply(hobby(number))} for number in range(2, 6)),
    )
    sessions = [
        SessionFile(tmp_path / f"{number}.jsonl", f"s{number}").user(f"我的爱好是爱好{number}。") for number in range(6)
    ]
    with worker():
        jobs = [submit(session.path) for session in sessions[:2]]
        until(lambda: len(model.requests()) == 2)  # both threads are busy
        jobs += [submit(session.path) for session in sessions[2:]]
        until(lambda: _published(home) == 4)
        for leftover in home.glob("queue.db*"):
            leftover.unlink()
        model.release("go")
        mex("jobs", "wait", *jobs, "--timeout", "60")
    assert contents() == [f"爱好{number}" for number in range(6)]


def _published(home: Path) -> int:
    with opened(home / "mex.db") as db:
        query = "SELECT count(*) FROM jobs WHERE state = 'queued' AND published_at IS NOT NULL"
        return int(db.execute(query).fetchone()[0])


@pytest.mark.parametrize("damage", [b"garbage" * 4000, b""], ids=["garbage", "empty"])
def test_a_damaged_queue_file_is_replaced_at_the_start(tmp_path: Path, home: Path, damage: bytes) -> None:
    """No crash loop over a file that holds nothing of value."""
    job_id = submit(SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟").path)
    (home / "queue.db").write_bytes(damage)
    with worker():
        mex("jobs", "wait", job_id, "--timeout", "30")
    assert contents() == ["林晓舟"]


def test_foreign_messages_in_the_queue_run_nothing_and_hold_up_nothing(tmp_path: Path, home: Path) -> None:
    """Pickles, unknown shapes and stale ids are passed over; no code of theirs runs."""
    import pickle

    trap = tmp_path / "trap"

    class Bomb:
        def __reduce__(self) -> Any:
            return (Path.touch, (trap,))

    with worker():
        until(lambda: mex("worker", "status", "--json").json["workers"])  # written by the first tick: the queue is open
        rows = [
            pickle.dumps(Bomb()),
            b'{"v": 2}',
            b'{"v": 1, "j": "no-such-job", "p": 0}',
            b"\xff\xfe",
            b'{"v": 1, "j": 7}',
        ]
        with opened(home / "queue.db") as queue:
            queue.executemany("INSERT INTO task (queue, data, priority) VALUES ('mex', ?, 9)", [(row,) for row in rows])
        job_id = submit(SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟").path)
        mex("jobs", "wait", job_id, "--timeout", "30")
    assert not trap.exists()
    assert contents() == ["林晓舟"]


@pytest.mark.slow
def test_two_workers_fifty_jobs_eight_producers_give_fifty_commits(tmp_path: Path) -> None:
    """No lock error is shown, nothing is doubled, each source is committed once."""
    sessions = [SessionFile(tmp_path / f"{n}.jsonl", f"s{n}").user(f"我的爱好是养蜂{n}号。") for n in range(50)]
    mex("init")
    with worker(), worker("--extra"), ThreadPoolExecutor(8) as producers:
        jobs = list(producers.map(lambda session: submit(session.path), sessions))
        waited = mex("jobs", "wait", *jobs, "--timeout", "120", "--json")
        assert len({row["pid"] for row in mex("worker", "status", "--json").json["workers"]}) == 2
    assert "locked" not in waited.err
    assert Counter(one["state"] for one in waited.json) == {"succeeded": 50}
    assert len(jobs) == len(set(jobs)) == 50
    found = contents()
    assert len(found) == len(set(found)) == 50
    assert {one["attempt"] for one in waited.json} == {1}


def test_many_requests_for_one_session_are_one_job(tmp_path: Path) -> None:
    """Product D4: a second request for the same source, by a link or another spelling, joins the first."""
    session = SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟")
    link = tmp_path / "link.jsonl"
    link.symlink_to(session.path)
    first = submit(session.path)
    assert [submit(link), submit(tmp_path / "." / "s.jsonl")] == [first, first]
    assert job(first)["merged"] == 2


def test_words_written_while_the_job_runs_are_extracted_by_its_follow_up(model: ModelServer, tmp_path: Path) -> None:
    """Product H6: the first attempt fixes the end; what is longer at the commit is a job of its own."""
    session = SessionFile(tmp_path / "s.jsonl").user("我的爱好是爱好1。")
    model.script(
        {"when": "爱好2。", "reply": reply(hobby(2))}, {"when": "爱好1。", "hold": "go", "reply": reply(hobby(1))}
    )
    with worker():
        first = submit(session.path)
        until(lambda: len(model.requests()) == 1)
        session.user("我的爱好是爱好2。")
        model.release("go")
        mex("jobs", "wait", first, "--timeout", "30")
        (follow_up,) = [one for one in mex("jobs", "list", "--json").json if one["job_id"] != first]
        assert follow_up["trigger"] == "follow_up"
        mex("jobs", "wait", follow_up["job_id"], "--timeout", "30")
    assert contents() == ["爱好1", "爱好2"]
    new = [[turn["text"] for turn in turns(one) if not turn.get("context")] for one in model.requests()]
    assert new == [["我的爱好是爱好1。"], ["我的爱好是爱好2。"]]


def test_a_cancelled_job_writes_nothing(model: ModelServer, tmp_path: Path) -> None:
    """Queued: at once. Running: at the next step, without waiting for the model."""
    model.script({"hold": "never"})
    with worker():
        running_job = submit(SessionFile(tmp_path / "a.jsonl").user("我叫林晓舟").path)
        until(model.requests)
        mex("jobs", "cancel", running_job)
        ended = mex("jobs", "wait", running_job, "--timeout", "10", "--json", ok=False)
        assert (ended.code, ended.json["state"]) == (1, "cancelled")
    waiting = submit(SessionFile(tmp_path / "b.jsonl").user("我叫林晓舟").path)
    assert mex("jobs", "cancel", waiting, "--json").json[0]["state"] == "cancelled"
    assert mex("jobs", "cancel", waiting, ok=False).code == 1
    assert contents() == []


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, "stop"])
def test_a_worker_told_to_leave_puts_its_job_back(model: ModelServer, tmp_path: Path, how: Any) -> None:
    """The attempt is given back, and the next worker finishes the job."""
    model.script({"hold": "go", "reply": reply(hobby(1))})
    with worker() as process:
        job_id = submit(SessionFile(tmp_path / "s.jsonl").user("我的爱好是爱好1。").path)
        until(model.requests)
        if how == "stop":
            mex("worker", "stop")
        else:
            process.send_signal(how)
        assert process.wait(timeout=20) == 0
    stands = job(job_id)
    assert (stands["state"], stands["reason"], stands["attempt"], stands["crashes"]) == ("queued", "shutdown", 0, 0)
    assert mex("worker", "status", "--json").json["workers"] == []
    model.release("go")
    with worker():
        mex("jobs", "wait", job_id, "--timeout", "30")
    assert contents() == ["爱好1"]


def test_a_second_worker_leaves_at_once_and_an_extra_one_stays(tmp_path: Path) -> None:
    """One instance by lock; `--extra` is the way to have more."""
    mex("init")
    with worker():
        until(lambda: mex("worker", "status", "--json").json["running"])
        second = subprocess.run(
            [sys.executable, "-m", "mex_workers"], capture_output=True, text=True, timeout=30, check=False
        )
        assert (second.returncode, second.stdout, second.stderr) == (0, "A worker is running.\n", "")
        with worker("--extra"):
            until(lambda: len(mex("worker", "status", "--json").json["workers"]) == 2)


def test_an_idle_worker_leaves_and_a_new_request_starts_another(tmp_path: Path) -> None:
    """Idle exit and autostart: no daemon to look after, no job left behind."""
    for number in range(3):
        session = SessionFile(tmp_path / f"{number}.jsonl", f"s{number}").user(f"我的爱好是养蜂{number}号。")
        soon = {"MEX_WORKER_IDLE_EXIT": "1s"}  # for both: who waits starts a worker too, when none is up yet
        sent = mex("extract", "--async", "--file", str(session.path), "--json", **soon)
        mex("jobs", "wait", sent.json["job_id"], "--timeout", "30", **soon)
        if number < 2:
            until(lambda: not mex("worker", "status", "--json").json["running"])
    mex("worker", "stop")
    assert len(contents()) == 3


def test_a_plain_copy_of_mex_db_at_rest_is_complete(tmp_path: Path, home: Path) -> None:
    """Product D6: when the queue goes idle everything is in the one file."""
    with worker():
        job_id = submit(SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟").path)
        mex("jobs", "wait", job_id, "--timeout", "30")
        until(lambda: not (home / "mex.db-wal").exists() or (home / "mex.db-wal").stat().st_size == 0)
        copy = tmp_path / "copy.db"
        copy.write_bytes((home / "mex.db").read_bytes())
    with opened(copy) as db:
        assert db.execute("SELECT content FROM memories").fetchall() == [("林晓舟",)]


def test_a_cancel_that_meets_a_retry_ends_the_job(model: ModelServer, tmp_path: Path, home: Path) -> None:
    """A job that somebody asked to cancel never waits for another run, however this one ended."""
    model.script({"hold": "go", "status": 503, "body": "down"})
    with worker(MEX_LLM_MAX_RETRIES="0"):
        job_id = submit(SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟").path)
        until(model.requests)
        # Written as `mex jobs cancel` writes it, at the very moment the answer arrives.
        with opened(home / "mex.db") as db:
            model.release("go")
            db.execute("UPDATE jobs SET cancel_requested = 1 WHERE id = ?", (job_id,))
        ended = mex("jobs", "wait", job_id, "--timeout", "20", "--json", ok=False)
    assert (ended.code, ended.json["state"]) == (1, "cancelled")

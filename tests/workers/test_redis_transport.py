"""Wake-ups over a Redis server: it may be emptied, killed, hang, or be shared, and no job is lost or run twice."""

import json
import os
import pickle
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.jobqueue.redis_queue import queue_name
from tests.support.model_server import ModelServer, reply
from tests.support.program import contents, mex, opened, until, worker
from tests.support.redis_server import PASSWORD, RedisServer, redis_server
from tests.support.sessions import SessionFile

SOON = {"MEX_TEST_REPUBLISH": "2"}


@pytest.fixture(autouse=True)
def no_autostart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the workers of the test run: `mex jobs wait` would start one while the test's own is coming up."""
    monkeypatch.setenv("MEX_WORKER_AUTOSTART", "false")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RedisServer]:
    """A server, and a home whose wake-ups it carries."""
    with redis_server(tmp_path / "redis") as found:
        monkeypatch.setenv("MEX_QUEUE_URL", found.url)
        yield found


def submit(path: Path, **environment: str) -> str:
    """Queue a session and return the job's id."""
    return str(mex("extract", "--async", "--file", str(path), "--json", **environment).json["job_id"])


def hobby(number: int) -> dict[str, Any]:
    """A candidate that the n-th session supports."""
    return {"topic": "leisure", "sub_topic": "hobbies", "content": f"爱好{number}", "quote": f"我的爱好是爱好{number}"}


def hobbies(model: ModelServer, folder: Path, count: int, held: int) -> list[Path]:
    """Sessions with a hobby each; the model holds back its answer to the first ones until `go`."""
    model.script(
        *({"when": f"爱好{n}。", "reply": reply(hobby(n))} | ({"hold": "go"} if n < held else {}) for n in range(count))
    )
    return [SessionFile(folder / f"{n}.jsonl", f"s{n}").user(f"我的爱好是爱好{n}。").path for n in range(count)]


def published(home: Path) -> int:
    """How many waiting jobs are marked as sent."""
    with opened(home / "mex.db") as db:
        query = "SELECT count(*) FROM jobs WHERE state = 'queued' AND published_at IS NOT NULL"
        return int(db.execute(query).fetchone()[0])


def key(home: Path) -> str:
    """Where the server keeps the wake-ups of a home."""
    return f"huey.redis.{queue_name(home)}"


def attempts(jobs: list[str]) -> Counter[tuple[str, int]]:
    """(state, attempt) of each of the jobs."""
    found = {one["job_id"]: (one["state"], one["attempt"]) for one in mex("jobs", "list", "--json").json}
    return Counter(found[job] for job in jobs)


def is_up() -> bool:
    """True when a worker has written its row."""
    return bool(mex("worker", "status", "--json").json["workers"])


def test_a_job_runs_over_redis_and_no_queue_file_is_made(server: RedisServer, tmp_path: Path, home: Path) -> None:
    with worker():
        job = submit(SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟").path)
        mex("jobs", "wait", job, "--timeout", "30")
        assert server.client().exists(key(home)) == 0, "a wake-up that was answered is gone"
    assert contents() == ["林晓舟"]
    assert not list(home.glob("queue.db*"))


def test_the_url_may_stand_in_config_yaml(server: RedisServer, tmp_path: Path, home: Path, monkeypatch: Any) -> None:
    monkeypatch.delenv("MEX_QUEUE_URL")
    mex("init")
    config = home / "config.yaml"
    config.write_text(
        config.read_text(encoding="utf-8").replace('\n  url: ""', f"\n  url: {server.url}"), encoding="utf-8"
    )
    with worker():
        mex("jobs", "wait", submit(SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟").path), "--timeout", "30")
    assert contents() == ["林晓舟"]
    assert not list(home.glob("queue.db*"))


def test_twenty_jobs_whose_wake_ups_are_flushed_all_run_once(
    server: RedisServer, model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """FLUSHALL while both threads are busy: what was sent is sent again."""
    sessions = hobbies(model, tmp_path, 22, held=2)
    with worker(**SOON):
        jobs = [submit(session) for session in sessions[:2]]
        until(lambda: len(model.requests()) == 2)
        jobs += [submit(session) for session in sessions[2:]]
        until(lambda: published(home) == 20)
        assert server.client().zcard(key(home)) >= 20
        server.client().flushall()
        model.release("go")
        mex("jobs", "wait", *jobs, "--timeout", "60")
    assert attempts(jobs) == {("succeeded", 1): 22}
    assert contents() == sorted(f"爱好{n}" for n in range(22))
    assert [model.asked(f"爱好{n}。") for n in range(22)] == [1] * 22


def test_what_waits_for_long_has_one_wake_up_however_often_it_is_sent(
    server: RedisServer, model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """Nobody empties the server's queue: copies would pile up."""
    sessions = hobbies(model, tmp_path, 4, held=1)
    with worker("--threads", "1", MEX_TEST_REPUBLISH="0.2"):
        jobs = [submit(sessions[0])]
        until(model.requests)
        jobs += [submit(session) for session in sessions[1:]]
        for _ in range(3):
            server.client().flushall()
            until(lambda: server.client().zcard(key(home)) == 3)  # sent again, and never a fourth
        before = _sent_at(home)
        until(lambda: _sent_at(home) > before)
        assert server.client().zcard(key(home)) == 3
        model.release("go")
        mex("jobs", "wait", *jobs, "--timeout", "30")
    assert attempts(jobs) == {("succeeded", 1): 4}


def _sent_at(home: Path) -> int:
    with opened(home / "mex.db") as db:
        return int(db.execute("SELECT max(published_at) FROM jobs").fetchone()[0])


def test_a_server_that_is_killed_in_the_middle_holds_up_nothing_for_long(
    server: RedisServer, model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """What it carried is sent again when it is back, without the minute of waiting; the worker says so once."""
    sessions = hobbies(model, tmp_path, 6, held=2)
    with worker() as process:
        jobs = [submit(session) for session in sessions[:2]]
        until(lambda: len(model.requests()) == 2)
        jobs += [submit(session) for session in sessions[2:5]]
        until(lambda: published(home) == 3)
        server.kill()
        model.release("go")
        until(lambda: attempts(jobs)["succeeded", 1] == 2)  # what ran goes on without it
        jobs.append(submit(sessions[5]))
        until(lambda: events(home).count("loop"))
        assert published(home) == 3, "what could not be sent is not marked as sent"
        assert process.poll() is None
        server.start()
        mex("jobs", "wait", *jobs, "--timeout", "40")
    assert attempts(jobs) == {("succeeded", 1): 6}
    assert contents() == [f"爱好{n}" for n in range(6)]
    assert events(home).count("queue lost") >= 1


def events(home: Path) -> list[str]:
    """What the worker's log tells, in order."""
    lines = (home / "logs" / "worker.log").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["event"] for line in lines]


def test_without_its_server_a_worker_starts_waits_quietly_and_leaves_when_told(
    server: RedisServer, tmp_path: Path, home: Path
) -> None:
    """Down from the start: no crash, no flood of lines, SIGTERM in time; the next one does the job."""
    server.kill()
    job = submit(SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟").path)
    with worker() as process:
        until(lambda: is_up() and "loop" in events(home))
        for _ in range(20):  # at four tries a second in each thread a flood would be seen
            assert mex("jobs", "show", job, "--json").json["state"] == "queued"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
    assert events(home).count("loop") <= 2, "one line a minute; two threads may write at the same moment"
    server.start()
    with worker():
        mex("jobs", "wait", job, "--timeout", "30")
    assert contents() == ["林晓舟"]


@pytest.mark.slow
def test_a_server_that_hangs_holds_up_neither_the_tick_nor_the_end(
    server: RedisServer, tmp_path: Path, home: Path
) -> None:
    """It accepts and never answers: cancelling works, and SIGTERM ends the worker."""
    with worker() as process:
        until(is_up)
        server.send_signal(signal.SIGSTOP)
        jobs = [submit(SessionFile(tmp_path / f"{n}.jsonl", f"s{n}").user("我叫林晓舟").path) for n in range(3)]
        until(lambda: "loop" in events(home))
        assert mex("jobs", "cancel", jobs[0], "--json").json[0]["state"] == "cancelled"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
    server.send_signal(signal.SIGCONT)
    with worker():
        mex("jobs", "wait", *jobs[1:], "--timeout", "30")
    assert contents() == ["林晓舟"]


def test_after_kill_9_of_the_worker_the_next_one_finishes_over_redis(
    server: RedisServer, model: ModelServer, tmp_path: Path
) -> None:
    """The wake-up went with the process; the row did not."""
    sessions = hobbies(model, tmp_path, 4, held=2)
    with worker() as first:
        jobs = [submit(session) for session in sessions]
        until(lambda: len(model.requests()) == 2)
        first.kill()
        first.wait()
    model.release("go")
    with worker():
        mex("jobs", "wait", *jobs, "--timeout", "40")
    assert attempts(jobs) == {("succeeded", 1): 2, ("succeeded", 2): 2}
    assert contents() == [f"爱好{n}" for n in range(4)]


def test_two_homes_on_one_server_do_not_see_each_others_jobs(server: RedisServer, tmp_path: Path, home: Path) -> None:
    """Each home has a queue of its own, named after its real path."""
    other = {"MEX_HOME": str(tmp_path / "other")}
    ours = submit(SessionFile(tmp_path / "a.jsonl", "a").user("我叫林晓舟").path)
    theirs = submit(SessionFile(tmp_path / "b.jsonl", "b").user("我叫陈星").path, **other)
    with worker(**other):
        mex("jobs", "wait", theirs, "--timeout", "30", **other)
        assert mex("jobs", "show", ours, "--json").json["state"] == "queued"
    with worker():
        mex("jobs", "wait", ours, "--timeout", "30")
    assert contents() == ["林晓舟"]
    assert [one["content"] for one in mex("list", "--json", **other).json] == ["陈星"]
    (tmp_path / "link").symlink_to(home)
    assert queue_name(tmp_path / "link") == queue_name(home) != queue_name(tmp_path / "other")
    assert queue_name(home).isalnum()


def test_foreign_messages_on_the_server_run_nothing_and_hold_up_nothing(
    server: RedisServer, tmp_path: Path, home: Path
) -> None:
    """Pickles, unknown shapes and stale ids are passed over; no code of theirs runs."""
    trap = tmp_path / "trap"

    class Bomb:
        def __reduce__(self) -> Any:
            return (Path.touch, (trap,))

    forged = [
        pickle.dumps(Bomb()),
        b"12345678" + pickle.dumps(Bomb()),
        b'{"v": 2, "j": "x"}',
        b'{"v": 1, "j": "no-such-job", "p": 0}',
        b"\xff\xfe",
        b"",
        b"[" * 100_000,
        b'{"v": 1, "j": 7}',
    ]
    mex("init")
    server.client().zadd(key(home), dict.fromkeys(forged, -1e15))
    job = submit(SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟").path)
    with worker():
        mex("jobs", "wait", job, "--timeout", "30")
        until(lambda: server.client().exists(key(home)) == 0)
    assert not trap.exists()
    assert contents() == ["林晓舟"]


def test_a_job_that_somebody_waits_for_is_sent_ahead_of_the_others(
    server: RedisServer, model: ModelServer, tmp_path: Path, home: Path
) -> None:
    """The server hands out the larger priority first, then the older."""
    sessions = hobbies(model, tmp_path, 4, held=1)
    with worker("--threads", "1"):
        jobs = [submit(sessions[0])]
        until(model.requests)
        jobs += [submit(session) for session in sessions[1:]]
        until(lambda: published(home) == 3)
        with opened(home / "mex.db") as db:
            db.execute("UPDATE jobs SET priority = 10, published_at = NULL WHERE id = ?", (jobs[3],))
        until(lambda: server.client().zcard(key(home)) == 4)
        model.release("go")
        mex("jobs", "wait", *jobs, "--timeout", "30")
    order = [
        next(n for n in range(4) if f"爱好{n}。" in json.dumps(one, ensure_ascii=False)) for one in model.requests()
    ]
    assert order == [0, 3, 1, 2]


def test_the_password_is_shown_nowhere(server: RedisServer, tmp_path: Path, home: Path) -> None:
    """Neither by a report, nor by an error, nor in a log; the server's place is shown."""
    shown = [mex("doctor", "--json"), mex("doctor"), mex("config", "show"), mex("config", "show", "--json")]
    checks = {check["name"]: check for check in shown[0].json["checks"]}
    assert (checks["queue"]["status"], f"127.0.0.1:{server.port}/0" in checks["queue"]["detail"]) == ("ok", True)
    assert {check["name"]: check["status"] for check in mex("doctor", "--offline", "--json").json["checks"]}[
        "queue"
    ] == "skipped"
    wrong = server.url.replace(PASSWORD, f"{PASSWORD}-wrong")
    shown += [mex("doctor", MEX_QUEUE_URL=wrong), mex("doctor", "--json", MEX_QUEUE_URL=wrong)]
    assert "AuthenticationError" in shown[-2].out
    bad = [f"http://:{PASSWORD}@h", f":{PASSWORD}@h", f"redis://:{PASSWORD}@h:99999", f"redis://h?password={PASSWORD}"]
    shown += [mex("profile", ok=False, MEX_QUEUE_URL=url) for url in bad]
    with worker(MEX_QUEUE_URL=wrong):
        until(lambda: (home / "logs" / "worker.log").exists() and "loop" in events(home))
        server.kill()
        submit(SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟").path)
        shown.append(mex("doctor"))
        assert "mex.db" in shown[-1].out, "it says where the jobs are meanwhile"
    texts = [one.out + one.err for one in shown]
    texts += [path.read_text(encoding="utf-8", errors="replace") for path in (home / "logs").iterdir()]
    assert not [text for text in texts if PASSWORD in text]
    assert [one.code for one in shown[-5:-1]] == [1] * 4


def test_a_replica_is_told_by_doctor_before_a_job_waits_for_it(server: RedisServer) -> None:
    """A server that can be read only, as after a failover, carries nothing."""
    server.client().replicaof("127.0.0.1", 1)
    checks = {check["name"]: check for check in mex("doctor", "--json").json["checks"]}
    assert checks["queue"]["status"] == "problem"
    assert "ReadOnlyError" in checks["queue"]["detail"]


def test_a_server_that_became_read_only_is_used_again_when_it_may_be_written(
    server: RedisServer, tmp_path: Path, home: Path
) -> None:
    """READONLY ends no thread and marks nothing as sent."""
    with worker():
        until(is_up)
        server.client().replicaof("127.0.0.1", 1)
        job = submit(SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟").path)
        until(lambda: "loop" in events(home))
        assert published(home) == 0
        server.client().replicaof("NO", "ONE")
        mex("jobs", "wait", job, "--timeout", "30")
    assert contents() == ["林晓舟"]


def test_without_the_package_jobs_are_queued_and_the_worker_says_what_to_install(tmp_path: Path, home: Path) -> None:
    """The extra is missing: `--async` keeps the job, the worker exits 1 with a hint, doctor reports it."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    for name in ("huey.py", "redis.py"):
        (hidden / name).write_text(
            "raise RuntimeError('a command that queues a job imports neither')\n", encoding="utf-8"
        )
    paths = [str(hidden), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    without = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "MEX_QUEUE_URL": "redis://127.0.0.1:1/0"}
    job = submit(SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟").path, **without)
    (hidden / "huey.py").unlink()
    (hidden / "redis.py").write_text("raise ImportError\n", encoding="utf-8")
    for language, word in (("en", "pip install redis"), ("zh", "未安装 Python 包 redis")):
        refused = subprocess.run(
            [sys.executable, "-m", "mex_workers"],
            env=os.environ | without | {"MEX_LANG": language},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert (refused.returncode, word in refused.stderr) == (1, True), refused.stderr
    report = subprocess.run(
        [sys.executable, "-m", "mex_pipeline", "doctor"],
        env=os.environ | without,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert "package redis is not installed" in report.stdout
    with worker():
        mex("jobs", "wait", job, "--timeout", "30")
    assert contents() == ["林晓舟"]

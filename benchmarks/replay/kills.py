"""Atomicity: real workers are killed at random points, and what is remembered in the end is compared with a quiet run."""

import random
import time
from collections import Counter
from collections.abc import Callable

from benchmarks.replay import pool, run, score, state
from benchmarks.replay.pool import Task
from benchmarks.replay.run import Bench, HarnessFault
from benchmarks.replay.score import Counts

USERS, KILLS = 2, 6
"""How many of a bench's users are disturbed, and how often each."""
_DELAY = 0.05
"""Seconds the model takes to answer: as likely as not a kill falls into a call."""
_PATIENCE = 120.0
_WORKER = ["mex_workers", "--idle-exit", "0", "--threads", "1"]


def killed(bench: Bench, model: str, seed: int, times: int = KILLS) -> Counts:
    """Return `kill`, `kill_same`, `kills`, `kill_wasted`, and the jobs' counts; follows `in_order` of the same run.

    `kill_same` are the users whose memories are those of the undisturbed run, each once; `kill_wasted` the calls that asked
    for what had been asked for before. The worker is a real process, killed as by `kill -9` between or within jobs.
    """
    counts: Counts = Counter()
    for life in bench.lives[:USERS]:
        user = run.prepared(bench, life, "killed", model, seed, delay=_DELAY)
        pool.drain(bench.folder, [Task(user.home, tuple(("enqueue", str(path)) for path in user.files))], processes=1)
        _disturb(bench, user, times, random.Random(f"{seed}/{life.user}/kills"))
        pool.drain(bench.folder, [Task(user.home, user.ending())], processes=1)
        quiet, after = (state.read(one) for one in (run.home_of(bench, life, "main", model, seed), user.home))
        calls = [call for call in run.calls_of(bench, user) if call["end"] == "answered"]
        asked = {(call["session"], *call["turns"]) for call in calls}
        counts += Counter(kill=1, kills=times, kill_wasted=len(calls) - len(asked))
        counts["kill_same"] += quiet.contents() == after.contents()
        counts += Counter({f"kill_{name}": number for name, number in score.jobs_kept(after).items()})
    return counts


def _disturb(bench: Bench, user: run.User, times: int, chance: random.Random) -> None:
    """Kill a worker a few calls and a moment after it began, again and again; let the last one finish."""
    environment = pool.environment(bench.folder) | {"MEX_HOME": str(user.home)}
    for _ in range(times):
        wanted = len(run.calls_of(bench, user)) + chance.randint(2, 4)
        with pool.program(_WORKER, environment):
            _until(lambda: _is_done(user) or len(run.calls_of(bench, user)) >= wanted)  # noqa: B023 - waited for here
            time.sleep(chance.uniform(0, 2 * _DELAY))
    with pool.program(_WORKER, environment):
        _until(lambda: _is_done(user))


def _is_done(user: run.User) -> bool:
    return all(job["state"] in ("succeeded", "failed", "cancelled") for job in state.jobs(user.home))


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise HarnessFault("a worker got nowhere")
        time.sleep(0.01)

"""Runs of a stream: every user's sessions through the real pipeline, in order, again, out of order; and their counts."""

import random
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.replay import home, pool, score, state
from benchmarks.replay.endpoint import Endpoint
from benchmarks.replay.faults import MODELS
from benchmarks.replay.life import Life
from benchmarks.replay.pool import Task
from benchmarks.replay.score import Counts
from benchmarks.replay.state import Row

OTHER_CHUNKS = "200"
"""Tokens of a chunk when sessions are read again: several calls for what was one."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where a stream is run: its lives, the endpoint that knows it, and a folder of the bench's own."""

    lives: Sequence[Life]
    endpoint: Endpoint
    folder: Path


@dataclass(frozen=True, slots=True)
class User:
    """One user of one run: the files, the home they are read into, and the run's name in the endpoint's lines."""

    life: Life
    sessions: Path
    files: Sequence[Path]
    home: Path
    calls_as: tuple[str, str, int, str]

    def steps(self, files: Sequence[Path]) -> tuple[tuple[str, ...], ...]:
        """Return the steps that read the files one after the other, and `ending`."""
        reading = tuple(("extract", str(path)) for path in files)
        return (*reading, *self.ending())

    def ending(self) -> tuple[tuple[str, ...], ...]:
        """Return the steps that put down what the home holds then."""
        shown = ("transcripts", str(self.sessions), str(state.transcripts_to(self.home)))
        return (("export", str(state.exported_to(self.home))), shown)


class HarnessFault(Exception):
    """The endpoint was asked about words that are in no session: what was measured means nothing."""


def in_order(bench: Bench, model: str, seed: int) -> Counts:
    """Return the counts of all users, each one's sessions read by date."""
    users = [prepared(bench, life, "main", model, seed) for life in bench.lives]
    pool.drain(bench.folder, [Task(user.home, user.steps(user.files)) for user in users])
    counted = (score.count(user.life, state.read(user.home), calls_of(bench, user)) for user in users)
    return sum(counted, Counter())


def again(bench: Bench, model: str, seed: int) -> Counts:
    """Return `again`, `again_unchanged`: users, and those whose memories stay as they are when all is read once more.

    The same files, resumed copies of them, and, of a model that says the same when it is asked again, `--again` in other
    chunks. Follows `in_order` of the same model and seed.
    """
    before, tasks, users = {}, [], [_user(bench, life, "main", model, seed) for life in bench.lives]
    for user in users:
        before[user.life.user] = state.read(user.home)
        copies = [home.resumed_copy(path, path.with_name(f"copy-{path.stem}.txt")) for path in user.files]
        steps: list[tuple[str, ...]] = [("extract", str(path)) for path in (*user.files, *copies)]
        if MODELS[model].says_the_truth:
            steps += [("again", str(path), OTHER_CHUNKS) for path in user.files]
        tasks.append(Task(user.home, (*steps, *user.ending())))
    pool.drain(bench.folder, tasks)
    after = {user.life.user: state.read(user.home) for user in users}
    unchanged = sum(before[name].contents() == after[name].contents() for name in before)
    return Counter(again=len(users), again_unchanged=unchanged)


def shuffled(bench: Bench, model: str, seed: int) -> Counts:
    """Return `order`, `order_same`, and the counts against gold as `order_…`: every user's sessions in any order.

    `order_same` are the users whose final state is that of the run by date. Follows `in_order` of the same model and seed.
    """
    users = [prepared(bench, life, "shuffled", model, seed) for life in bench.lives]
    tasks = []
    for user in users:
        files = list(user.files)
        random.Random(f"{seed}/{user.life.user}").shuffle(files)
        tasks.append(Task(user.home, user.steps(files)))
    pool.drain(bench.folder, tasks)
    counts: Counts = Counter(order=len(users))
    for user in users:
        calls_of(bench, user)
        by_date, found = state.read(home_of(bench, user.life, "main", model, seed)), state.read(user.home)
        counts["order_same"] += score.agree(by_date.facts(), found.facts())
        counts += Counter({f"order_{name}": number for name, number in score.against_gold(user.life, found).items()})
    return counts


def prepared(bench: Bench, life: Life, run: str, model: str, seed: int, *, delay: float = 0.0) -> User:
    """Make the session files and the home of a user for one run, whose model takes `delay` seconds to answer."""
    user = _user(bench, life, run, model, seed)
    shutil.rmtree(user.home.parent, ignore_errors=True)
    home.write_sessions(user.sessions, life)
    home.make_home(user.home, life, bench.endpoint.url(model, seed, life.user, run, delay=delay))
    return user


def home_of(bench: Bench, life: Life, run: str, model: str, seed: int) -> Path:
    """Return where the home of a user stands in one run."""
    return bench.folder / f"{model}-{seed}-{run}" / life.user / "home"


def calls_of(bench: Bench, user: User) -> list[Row]:
    """Return the endpoint's lines about a user's run; raises HarnessFault for a request that it could not place."""
    calls = bench.endpoint.calls()
    faults = [call["error"] for call in calls if "error" in call]
    if faults:
        raise HarnessFault(faults[0])
    return [call for call in calls if (call["user"], call["model"], call["seed"], call["run"]) == user.calls_as]


def _user(bench: Bench, life: Life, run: str, model: str, seed: int) -> User:
    place = home_of(bench, life, run, model, seed)
    sessions = place.with_name("sessions")
    files = [sessions / f"{one.name}.jsonl" for one in life.sessions]
    return User(life, sessions, files, place, (life.user, model, seed, run))

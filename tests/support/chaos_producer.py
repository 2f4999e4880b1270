"""One producer of a chaos run: sessions that grow by whole and half lines, and requests for them, some killed midway.

A process of its own: `python -m tests.support.chaos_producer FOLDER NUMBER SESSIONS SECONDS SEED`. It prints what it did
as JSON when its time is over and every line is whole and asked for.
"""

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from mex_pipeline.app import App
from mex_pipeline.bootstrap import open_app
from mex_pipeline.domain.job import Trigger
from mex_pipeline.domain.source_key import SourceKey
from mex_pipeline.errors import DatabaseBusy, JobStateConflict
from mex_pipeline.services import jobs
from tests.support.chaos_facts import sentence
from tests.support.sessions import SessionFile

FACTS_EACH = 1_000_000
"""How far apart the numbers of two producers' facts begin."""


class _Session:
    """A session whose file receives what was said in pieces: a line may stand there half for a while."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / "sessions" / f"{name}.jsonl"
        self._draft = SessionFile(folder / "drafts" / f"{name}.jsonl", name)
        self._written = 0
        self.is_known = False

    def say(self, *texts: str) -> None:
        for text in texts:
            self._draft.user(text)
            self._draft.assistant("好的。")

    def write(self, upto: float = 1.0) -> None:
        """Append the share `upto` of what is still missing; the cut may fall inside a line, even inside a character."""
        missing = self._draft.path.read_bytes()[self._written :]
        piece = missing[: max(1, int(len(missing) * upto))]
        with self.path.open("ab", buffering=0) as file:
            file.write(piece)
        self._written += len(piece)


class _Producer:
    def __init__(self, app: App, folder: Path, number: int, sessions: int, seed: int) -> None:
        self._app = app
        self._chance = random.Random(seed)
        self._next = number * FACTS_EACH
        self._own = [_Session(folder, f"s{number}-{one}") for one in range(sessions)]
        self.did: Counter[str] = Counter()

    def work(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            session = self._chance.choice(self._own)
            self._talk(session)
            session.write(self._chance.choice((1.0, 1.0, 1.0, self._chance.random())))
            self._ask(session)
            time.sleep(self._chance.uniform(0.1, 0.7))
        for session in self._own:
            self._talk(session)
            session.write()
            self._submit_unless_forgotten(session)

    def _talk(self, session: _Session) -> None:
        for _ in range(self._chance.randrange(1, 6)):
            self._next += 1
            self.did["facts"] += 1
            session.say(sentence(self._next) + "嗯" * self._chance.choice((0, 20, 150)))

    def _ask(self, session: _Session) -> None:
        """Ask for the session: mostly within this process, now and then by a command that may be killed at any moment."""
        way = self._chance.choices(("submit", "cancel", "background", "foreground"), (84, 3, 9, 4))[0]
        if way == "cancel":
            self._cancel()
        elif way in ("background", "foreground") and self._runs(session, way):
            return
        self._submit_unless_forgotten(session)

    def _runs(self, session: _Session, way: str) -> bool:
        """Run the real command; True when it was left alone and has ended well."""
        options = ["--from", "claude", "--file", str(session.path), *(["--async"] if way == "background" else [])]
        command = [sys.executable, "-m", "mex_pipeline", "extract", *options]
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)
        self.did[way] += 1
        if self._chance.random() < 0.5:
            time.sleep(self._chance.uniform(0.02, 0.4 if way == "background" else 1.0))
            self.did["commands_killed"] += process.poll() is None
            process.kill()
        return process.wait() == 0

    def _cancel(self) -> None:
        """Cancel a job that waits or runs."""
        unfinished = jobs.page(self._app, states=("queued", "running", "retrying"))
        if unfinished:
            with suppress(DatabaseBusy, JobStateConflict):
                jobs.cancel(self._app, self._chance.choice(unfinished).id)
                self.did["cancel"] += 1

    def _submit_unless_forgotten(self, session: _Session) -> None:
        """Ask within this process, but for one time in ten: then it is the worker's sweep that finds what was written."""
        if session.is_known and self._chance.random() < 0.1:
            self.did["forgotten"] += 1
        else:
            self._submit(session)

    def _submit(self, session: _Session) -> None:
        while True:
            try:
                _, merged = jobs.submit(
                    self._app, jobs.extraction("claude", SourceKey(session.path.resolve())), trigger=Trigger.COMMAND
                )
            except DatabaseBusy:
                self.did["busy"] += 1
                continue
            self.did["merged" if merged else "queued"] += 1
            session.is_known = True
            return


def main() -> None:
    """Produce for the given seconds and say what was done."""
    folder, (number, sessions), seconds, seed = sys.argv[1], map(int, sys.argv[2:4]), sys.argv[4], sys.argv[5]
    os.umask(0o077)
    with open_app("en") as app:
        producer = _Producer(app, Path(folder), number, sessions, int(seed))
        producer.work(float(seconds))
    sys.stdout.write(json.dumps(producer.did))


if __name__ == "__main__":
    main()

"""A process that runs jobs of many homes one after the other, in the order it is told, through the real pipeline.

One JSON task a line on its standard input, `{home, steps}`; for each one line on its standard output, `{home, seconds}`.
A step is a list: `extract FILE`, `enqueue FILE`, `again FILE CHUNK_TOKENS`, `export FILE`, `transcripts FOLDER TARGET`.
"""

import io
import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

from mex_pipeline.app import App
from mex_pipeline.bootstrap import open_app, run_job_here
from mex_pipeline.cli.main import run
from mex_pipeline.domain.job import Job, Trigger
from mex_pipeline.domain.source_key import SourceKey
from mex_pipeline.services import again, jobs

_CHUNKS = "MEX_EXTRACTION_CHUNK_TOKENS"


def carry_out(app: App, step: Sequence[str]) -> None:
    """Do one step in the home that is open and that MEX_HOME names."""
    name, *given = step
    if name == "extract":
        _run(app, _reading(given[0]))
    elif name == "enqueue":
        jobs.submit(app, _reading(given[0]), trigger=Trigger.COMMAND)
    elif name == "again":
        os.environ[_CHUNKS] = given[1]
        _run(app, again.request(app, given[0], adapter="claude", subject=None))
        del os.environ[_CHUNKS]
    elif name == "export":
        _mex("export", "--output", given[0])
    elif name == "transcripts":
        shown = {
            path.name: json.loads(_mex("transcript", str(path))) for path in sorted(Path(given[0]).glob("*.jsonl"))
        }
        Path(given[1]).write_text(json.dumps(shown, ensure_ascii=False), encoding="utf-8")


def _reading(path: str) -> jobs.Request:
    return jobs.extraction("claude", SourceKey(Path(path).resolve()))


def _run(app: App, request: jobs.Request) -> None:
    """Queue a request as a command does, and run it until it has ended, waits included: the clock is put forward."""
    job, _ = jobs.submit(app, request, trigger=Trigger.COMMAND)
    while not (job := _once(app, job)).state.is_final:
        _wait_until(app, job)


def _once(app: App, job: Job) -> Job:
    run_job_here(app, job.id)
    return jobs.get(app.db, job.id)


def _wait_until(app: App, job: Job) -> None:
    """Put the clock of this process forward to where the job may run: past its own wait, and past what holds all jobs."""
    until = max([job.available_at, *(one.until or 0 for one in jobs.held_by(app, job))])
    now = int(app.clock.now().timestamp() * 1000)
    clock = Path(os.environ["MEX_TEST_CLOCK"])
    clock.write_text(
        str(float(clock.read_text(encoding="ascii")) + max(0, until - now) / 1000 + 0.01), encoding="ascii"
    )


def _mex(*arguments: str) -> str:
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with redirect_stdout(out):
        code = run([*arguments, "--json"])
    assert code == 0, arguments
    raw = out.buffer
    assert isinstance(raw, io.BytesIO)
    return raw.getvalue().decode()


def main() -> None:
    """Serve tasks until the input ends."""
    for line in sys.stdin:
        task = json.loads(line)
        os.environ["MEX_HOME"] = task["home"]
        began = time.perf_counter()
        with open_app("en") as app:
            for step in task["steps"]:
                carry_out(app, step)
        print(json.dumps({"home": task["home"], "seconds": time.perf_counter() - began}), flush=True)


if __name__ == "__main__":
    main()

"""What the job queue costs: throughput against a slow model, pickup, an idle worker, and asking for an extraction.

`python -m benchmarks.job_queue [--only throughput,pickup,idle,command,enqueue] [--threads 2,4] [--chunks 3]`, from the
root of the source tree with the Python into which meX is installed. Writes only into a temporary folder; Linux.
"""

import argparse
import os
import platform
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from benchmarks.query_latency import BASE, PROGRAM, Case, measure
from mex_pipeline.bootstrap import open_app
from mex_pipeline.domain.job import Trigger
from mex_pipeline.domain.source_key import SourceKey
from mex_pipeline.services import jobs
from tests.support.chaos_facts import sentence
from tests.support.fact_server import FactServer, Manners, serving
from tests.support.sessions import SessionFile

JOBS, AT_ONCE, SECONDS = 40, 4, 1.0
PICKUPS, SPACED = 50, 0.4
IDLE_SECONDS = 30
RUNS = 15
ENQUEUES = 200
_TICKS = os.sysconf("SC_CLK_TCK")


@contextmanager
def home(folder: Path, model: FactServer | None = None) -> Iterator[Path]:
    """A fresh home that the environment names while the block lasts, with a model or with the built-in rules."""
    before = dict(os.environ)
    values = {"MEX_HOME": str(folder / "home"), "MEX_WORKER_AUTOSTART": "false", "MEX_EXTRACTION_QUIET_SECONDS": "0"}
    if model is not None:
        values |= {"MEX_LLM_BASE_URL": model.url, "MEX_LLM_MODEL": "m1", "MEX_LLM_CONCURRENCY": str(AT_ONCE)}
        values |= {"MEX_EXTRACTION_CHUNK_TOKENS": "200"}
    os.environ.update(values)
    try:
        yield folder / "home"
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def worker(threads: int = 2) -> Iterator["subprocess.Popen[bytes]"]:
    """A worker for the home of the environment; told to leave when the block ends."""
    command = [sys.executable, "-m", "mex_workers", "--idle-exit", "0", "--threads", str(threads)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def session(folder: Path, number: int, chunks: int = 1) -> Path:
    """A session whose every turn fills a chunk of the 200 tokens of `home`."""
    path = folder / f"{number}.jsonl"
    said = (sentence(number * chunks + one) + "嗯" * 150 for one in range(chunks))
    SessionFile(path, f"s{number}").user(*said)
    return path


def submit(*paths: Path) -> list[float]:
    """Queue sessions inside this process; returns the milliseconds each took."""
    took = []
    with open_app("en") as app:
        for path in paths:
            began = time.perf_counter()
            jobs.submit(app, jobs.extraction("claude", SourceKey(path.resolve())), trigger=Trigger.COMMAND)
            took.append(1000 * (time.perf_counter() - began))
    return took


def rows(place: Path, query: str) -> list[tuple[float, ...]]:
    """What a query on the home's database gives."""
    with closing(sqlite3.connect(place / "mex.db", timeout=10)) as database:
        return database.execute(query).fetchall()


def wait_for(place: Path, number: int) -> None:
    """Wait until so many jobs have succeeded."""
    while rows(place, "SELECT count(*) FROM jobs WHERE state = 'succeeded'")[0][0] < number:
        time.sleep(0.05)


def throughput(folder: Path, threads: int, chunks: int) -> str:
    """Many jobs of so many chunks each against a model that takes a second: the share of what its bound would allow."""
    with serving(folder / "model", Manners(SECONDS, SECONDS)) as model, home(folder, model) as place:
        submit(*(session(folder, number, chunks) for number in range(JOBS)))
        with worker(threads):
            wait_for(place, JOBS)
        ((began, ended),) = rows(
            place, "SELECT min(at), max(at) FROM job_events WHERE event IN ('claimed', 'succeeded')"
        )
        calls = [call.at for call in model.calls()]
    ideal = JOBS * chunks * SECONDS / AT_ONCE
    seconds = (ended - began) / 1000
    most = max(sum(at <= other < at + SECONDS for other in calls) for at in calls)
    took = [float(ms) for (ms,) in rows(place, "SELECT finished_at - started_at FROM jobs")]
    return (
        f"throughput, {threads} threads, {chunks} chunks a job: {len(calls)} calls of {SECONDS:g} s in {seconds:.1f} s, "
        f"at most {most} at once; ideal with {AT_ONCE} at once {ideal:g} s, achieved {ideal / seconds:.2f}; "
        f"a job took {spread(took)}"
    )


def pickup(folder: Path) -> str:
    """From the commit of a job's row to its claim by an idle worker."""
    with home(folder) as place, worker():
        time.sleep(2)
        for number in range(PICKUPS):
            submit(session(folder, number))
            time.sleep(SPACED + random.uniform(0, 0.2))
        wait_for(place, PICKUPS)
        query = (
            "SELECT c.at - q.at FROM job_events q JOIN job_events c ON c.job_id = q.job_id AND c.event = 'claimed' "
            "WHERE q.event = 'queued'"
        )
        waited = [row[0] for row in rows(place, query)]
    return f"pickup by an idle worker: {spread(waited)}"


def idle(folder: Path) -> str:
    """The share of a CPU an idle worker takes, and its memory before and after its first job with a model."""
    with serving(folder / "model", Manners(0.01, 0.01)) as model, home(folder, model) as place, worker() as process:
        time.sleep(3)
        fresh, (first, share) = memory(process.pid), (cpu(process.pid), 0.0)
        time.sleep(IDLE_SECONDS)
        share = (cpu(process.pid) - first) / IDLE_SECONDS
        submit(session(folder, 1))
        wait_for(place, 1)
        time.sleep(1)
        used = memory(process.pid)
        first = cpu(process.pid)
        time.sleep(IDLE_SECONDS)
        later = (cpu(process.pid) - first) / IDLE_SECONDS
    return (
        f"idle worker: {100 * share:.2f} % of a CPU, {fresh:.0f} MiB; after its first job with a model "
        f"{100 * later:.2f} %, {used:.0f} MiB"
    )


def cpu(pid: int) -> float:
    """Seconds of CPU a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def memory(pid: int) -> float:
    """Resident MiB of a process."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def command(folder: Path) -> str:
    """`mex extract --async` as a whole process against a bare Python, taking turns."""
    with home(folder) as place:
        submit(session(folder, 0))
    asking = [str(PROGRAM), "extract", "--async", "--from", "claude", "--file", "{file}"]
    cases = [Case(BASE, place, [sys.executable, "-c", "pass"]), Case("mex extract --async", place, asking)]
    for number in range(RUNS + 1):
        for case in random.sample(cases, len(cases)):
            wall, used = measure(case, folder / f"fresh-{number}.jsonl")
            if number:
                case.wall.append(wall)
                case.cpu.append(used)
    base, asked = (statistics.median(case.wall) for case in cases)
    return f"mex extract --async: {asked:.0f} ms, python -c pass {base:.0f} ms: {asked / base:.1f} times"


def enqueue(folder: Path) -> str:
    """Asking for an extraction inside a process that has the home open, its commit synced to disk."""
    with home(folder):
        took = submit(*(session(folder, number) for number in range(ENQUEUES)))
    return f"enqueue inside a process: {spread(took)}"


def spread(values: list[float]) -> str:
    """Median, 90th percentile and maximum, in milliseconds."""
    ordered = sorted(values)
    return (
        f"median {statistics.median(ordered):.1f} ms, p90 {ordered[int(0.9 * (len(ordered) - 1))]:.1f} ms, "
        f"max {ordered[-1]:.1f} ms"
    )


def main() -> None:
    """Measure what is asked for, each in a home of its own, and print one line per figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    figures: dict[str, Callable[[Path], str]] = {
        "pickup": pickup, "idle": idle, "command": command, "enqueue": enqueue
    }  # fmt: skip
    parser.add_argument("--only", default=",".join(["throughput", *figures]), help="figures, separated by commas")
    parser.add_argument("--threads", default="2", help="numbers of worker threads for the throughput (2)")
    parser.add_argument("--chunks", type=int, default=3, help="chunks a job has there (3)")
    options = parser.parse_args()
    version = platform.python_version()
    print(f"Python {version}, {platform.system()} {platform.machine()}, {os.cpu_count()} CPUs\n")
    for name in options.only.split(","):
        tries = [int(one) for one in options.threads.split(",")] if name == "throughput" else [0]
        for threads in tries:
            with tempfile.TemporaryDirectory() as folder:
                found = throughput(Path(folder), threads, options.chunks) if threads else figures[name](Path(folder))
            print(f"- {found}", flush=True)


if __name__ == "__main__":
    main()

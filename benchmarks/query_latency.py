"""What a command costs as a whole process: wall and CPU time, and how many times a bare Python that is.

`python benchmarks/query_latency.py [--runs 20] [--sizes 10,10000]`, with the Python into which meX is installed. Needs
nothing else, writes only into a temporary folder. All cases take turns in every round, so that noise hits all alike.
"""

import argparse
import os
import platform
import random
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from mex_pipeline.bootstrap import open_app
from mex_pipeline.services import memories

SESSION = Path(__file__).parents[1] / "docs" / "examples" / "claude-session.jsonl"
PROGRAM = Path(sys.executable).with_name("mex")
BASE = "python -c pass"
PLACES = (("leisure", "hobbies"), ("work", "tech_stack"), ("health", "diet"), (None, None))


@dataclass(slots=True)
class Case:
    """One command line in one home, and its times in milliseconds; `{file}` is a fresh copy of the example session."""

    name: str
    home: Path
    command: list[str]
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


def seed(home: Path, size: int) -> str:
    """Fill a new home with `size` memories, half Chinese, half English, and return the id of the last one."""
    os.environ["MEX_HOME"] = str(home)
    one = ""
    with open_app("en") as app:
        app.db.script("PRAGMA synchronous = OFF;")
        for number in range(size):
            topic, sub_topic = PLACES[number % len(PLACES)]
            words = f"第{number}件事：周末在上海骑车和做饭" if number % 2 else f"Thing {number}: rides a bike and cooks"
            one = memories.add(app, content=words, topic=topic, sub_topic=sub_topic).id
    return one


def cases(home: Path, size: int, one: str) -> list[Case]:
    """Return the commands that are measured in a home of `size` memories, `one` being the id of one of them."""
    commands = {
        "profile": ["profile"],
        "search of a rare word": ["search", f"第{size - 1}件事"],
        "search of a word in half": ["search", "上海"],
        "list": ["list"],
        "get": ["get", one],
        "extract --async --from": ["extract", "--async", "--from", "claude", "--file", "{file}"],
        "extract --async --file": ["extract", "--async", "--file", "{file}"],
        "extract --async TEXT": ["extract", "--async", "I live in Porto and ride a bike", "--json"],
    }
    return [Case(f"mex {name}, {size:,} memories", home, [str(PROGRAM), *rest]) for name, rest in commands.items()]


def measure(case: Case, fresh: Path) -> tuple[float, float]:
    """Run a case once; return (wall, CPU) milliseconds. `fresh` is where its session file may be put.

    Raises SystemExit when the command fails.
    """
    if "{file}" in case.command:
        shutil.copyfile(SESSION, fresh)
    command = [str(fresh) if part == "{file}" else part for part in case.command]
    environment = os.environ | {"MEX_HOME": str(case.home), "MEX_WORKER_AUTOSTART": "false", "MEX_LANG": "en"}
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    started = time.perf_counter()
    process = os.posix_spawn(command[0], command, environment, file_actions=quiet)
    _, status, used = os.wait4(process, 0)
    wall = time.perf_counter() - started
    if status != 0:
        raise SystemExit(f"{case.name} failed")
    return 1000 * wall, 1000 * (used.ru_utime + used.ru_stime)


def report(found: list[Case]) -> str:
    """Return the table: minimum and median of wall and CPU time, and of the ratios to a bare Python."""
    base = next(case for case in found if case.name == BASE)
    lines = [
        "| command | wall ms min / median | CPU ms min / median | wall × Python | CPU × Python |",
        "|---|---|---|---|---|",
    ]
    for case in found:
        wall, cpu = (_both(times) for times in (case.wall, case.cpu))
        bases = (_both(base.wall), _both(base.cpu))
        ratios = (
            f"{least / low:.1f} / {middle / mid:.1f}"
            for (least, middle), (low, mid) in zip((wall, cpu), bases, strict=True)
        )
        times = (f"{least:.0f} / {middle:.0f}" for least, middle in (wall, cpu))
        lines.append(f"| `{case.name}` | {' | '.join((*times, *ratios))} |")
    return "\n".join(lines)


def _both(times: list[float]) -> tuple[float, float]:
    return min(times), statistics.median(times)


def main() -> None:
    """Seed the homes, run every case once to warm up, then `--runs` rounds, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="rounds that count (20)")
    parser.add_argument("--sizes", default="10,10000", help="numbers of memories (10,10000)")
    options = parser.parse_args()
    if not PROGRAM.exists():
        raise SystemExit(f"install meX into this Python first: {PROGRAM} is missing")
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        nowhere = scratch / "home-0"
        found = [
            Case(BASE, nowhere, [sys.executable, "-c", "pass"]),
            Case('python -c "import sqlite3"', nowhere, [sys.executable, "-c", "import sqlite3"]),
            Case("mex --version", nowhere, [str(PROGRAM), "--version"]),
        ]
        for size in map(int, options.sizes.split(",")):
            home = scratch / f"home-{size}"
            found += cases(home, size, seed(home, size))
        for number in range(options.runs + 1):
            for turn, case in enumerate(random.sample(found, len(found))):
                wall, cpu = measure(case, scratch / f"{number}-{turn}.jsonl")
                if number:
                    case.wall.append(wall)
                    case.cpu.append(cpu)
    version = platform.python_version()
    print(f"Python {version}, {platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, {options.runs} rounds\n")
    print(report(found))


if __name__ == "__main__":
    main()

"""Plain Huey tasks, as its documents show them: what the control run kills. The folder is named by PLAIN_FOLDER."""

import os
import sys
import time
from pathlib import Path

from huey import SqliteHuey

FOLDER = Path(os.environ["PLAIN_FOLDER"])
huey = SqliteHuey("plain", filename=str(FOLDER / "queue.db"), fsync=False, results=False)


@huey.task(retries=20, retry_delay=1)  # type: ignore[untyped-decorator]
def write(number: int) -> None:
    """Work for a quarter of a second, then append one line."""
    time.sleep(0.25)
    with (FOLDER / "done").open("a", encoding="ascii") as file:
        file.write(f"{number}\n")


def main() -> None:
    """Queue a task five times a second for the given number of seconds, and print how many."""
    end, number = time.monotonic() + float(sys.argv[1]), 0
    while time.monotonic() < end:
        write(number)
        number += 1
        time.sleep(0.2)
    sys.stdout.write(str(number))

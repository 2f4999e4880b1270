"""One of several processes that write to one home as fast as they can; run by test_many_writers.py."""

import contextlib
import io
import json
import random
import sys

from mex_pipeline.cli.main import run

UNIQUE = [("basic_info", "name"), ("work", "company"), ("basic_info", "location")]
MANY = [("work", "tech_stack"), ("leisure", "hobbies")]


def call(*words: str) -> tuple[int, str, str]:
    """Return (exit code, stdout, stderr) of one command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(words)
    return code, out.getvalue(), err.getvalue()


def step(chance: random.Random, mine: list[str], tag: str) -> tuple[str, int, str, str]:
    """Do one thing and return (what, exit code, stdout, stderr)."""
    what = chance.choice(["unique", "unique", "many", "record", "update", "forget", "restore", "move", "gc"])
    if what in ("update", "forget", "restore", "move") and not mine:
        what = "record"
    some = chance.choice(mine) if mine else ""
    if what in ("unique", "many"):
        topic, sub_topic = chance.choice(UNIQUE if what == "unique" else MANY)
        words = ["add", "--topic", topic, "--sub-topic", sub_topic, "--content", f"{what} {tag}"]
    elif what == "record":
        words = ["add", "--content", f"记录 {tag}"]
    elif what == "move":
        topic, sub_topic = chance.choice(UNIQUE + MANY)
        words = ["move", some, "--topic", topic, "--sub-topic", sub_topic]
    elif what == "gc":
        words = ["gc"]
    else:
        words = [what, some, *(["--content", f"updated {tag}"] if what == "update" else [])]
    return what, *call("--json", *words)


def main(number: int, steps: int) -> None:
    """Write `steps` times and print what was added, and every code that was not 0."""
    chance = random.Random(number)
    mine: list[str] = []
    refused: list[str] = []
    for index in range(steps):
        what, code, out, err = step(chance, mine, f"{number}-{index}")
        if code == 0 and what in ("unique", "many", "record"):
            mine.append(json.loads(out)["id"])
        elif code:
            refused.append(f"{code} {what} {json.loads(err)['code']}")
    print(json.dumps({"added": mine, "refused": refused}))


main(int(sys.argv[1]), int(sys.argv[2]))

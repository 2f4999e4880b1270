"""Eight processes write to one home at once: nothing lost, no lock shown, unique slots unique (seed 004 §3.5, §4.3)."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from mex_pipeline.bootstrap import load_schema
from mex_pipeline.paths import Home
from tests.support.invariants import check
from tests.support.program import mex, opened

PROCESSES, STEPS = 8, 200
REFUSALS = {
    "slot_occupied", "memory_forgotten", "already_forgotten", "not_forgotten", "restore_occupied", "move_occupied",
    "move_same_place",
}  # fmt: skip


@pytest.mark.slow
def test_seed_3_5_eight_processes_of_two_hundred_mixed_writes_lose_nothing(home: Path) -> None:
    mex("init")
    script = str(Path(__file__).with_name("many_writers.py"))
    running = [
        subprocess.Popen(
            [sys.executable, script, str(number), str(STEPS)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for number in range(PROCESSES)
    ]
    ended = [(*process.communicate(timeout=240), process.returncode) for process in running]
    assert [code for _, _, code in ended] == [0] * PROCESSES, [err.decode()[-2000:] for _, err, _ in ended]
    told = [json.loads(out) for out, _, _ in ended]
    added = [key for one in told for key in one["added"]]
    refused = Counter(line for one in told for line in one["refused"])
    assert all(line.startswith("1 ") for line in refused), refused
    assert {line.split()[2] for line in refused} <= REFUSALS, refused
    with opened(home / "mex.db") as connection:
        stored = {key for (key,) in connection.execute("SELECT id FROM memories")}
    assert len(added) == len(set(added)) > PROCESSES * 20
    assert stored == set(added)
    check(home / "mex.db", load_schema(Home(home))[0])

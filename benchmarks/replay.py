"""Entry point of the replay bench (benchmarks/replay/): `python benchmarks/replay.py --help`."""

import runpy
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])
runpy.run_module("benchmarks.replay", run_name="__main__", alter_sys=True)

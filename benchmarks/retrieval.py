"""Entry point of the retrieval bench (benchmarks/retrieval/): `python benchmarks/retrieval.py --help`."""

import runpy
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])
runpy.run_module("benchmarks.retrieval", run_name="__main__", alter_sys=True)

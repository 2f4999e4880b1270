"""`python benchmarks/replay.py`: replay gold conversations through the real pipeline and print what it remembers."""

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.replay import kills, report, run, score, streams
from benchmarks.replay.endpoint import serving
from benchmarks.replay.faults import MODELS
from benchmarks.replay.run import Bench
from benchmarks.replay.score import Counts

_CHECKS = {"again": run.again, "order": run.shuffled, "kill": kills.killed}


def main() -> int:
    """Run what is asked for, print a table, and return the exit code: 2 where the corpus is missing."""
    options = _options()
    corpus = streams.corpus_folder(options.corpus)
    rows: list[tuple[str, report.Rates]] = []
    found: dict[str, dict[str, report.Rates]] = {}
    try:
        for stream in streams.STREAMS if options.stream == "all" else [options.stream]:
            for model in options.model.split(","):
                rates = _measured(stream, model, corpus, options)
                rows.append((f"{stream} {model}", rates))
                found.setdefault(stream, {})[model] = rates
    except streams.NoCorpus as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(report.table(rows)))
    if options.json:
        Path(options.json).write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stream", choices=[*streams.STREAMS, "all"], default="zh")
    parser.add_argument("--model", default="perfect", help=f"scripted models, by commas: {', '.join(MODELS)}")
    parser.add_argument("--seeds", type=int, default=1, help="how often each model is run, with other faults (1)")
    parser.add_argument("--first-seed", type=int, default=0, help="the seed of the first run (0)")
    parser.add_argument("--users", type=int, default=0, help="only the first users of the stream")
    parser.add_argument("--checks", default="", help=f"more runs, by commas: {', '.join(_CHECKS)}")
    parser.add_argument("--corpus", help="the folder of the benchmark data")
    parser.add_argument("--keep", help="a folder that keeps homes, sessions and calls.jsonl")
    parser.add_argument("--json", help="a file for all measures")
    options = parser.parse_args()
    wrong = [name for name in options.model.split(",") if name not in MODELS]
    if wrong:
        parser.error(f"no such model: {', '.join(wrong)}")
    return options


def _measured(stream: str, model: str, corpus: Path, options: argparse.Namespace) -> report.Rates:
    lives = streams.load(stream, corpus)[: options.users or None]
    checks = [name for name in options.checks.split(",") if name]
    with tempfile.TemporaryDirectory(prefix="mex-replay-") as temporary:
        folder = Path(options.keep or temporary) / f"{stream}-{model}"
        shutil.rmtree(folder, ignore_errors=True)
        counts: Counts = Counter()
        with serving(folder / "endpoint", stream, corpus) as endpoint:
            bench = Bench(lives, endpoint, folder)
            for seed in range(options.first_seed, options.first_seed + options.seeds):
                began = time.perf_counter()
                counts += run.in_order(bench, model, seed)
                for name in checks:
                    counts += _CHECKS[name](bench, model, seed)
                print(f"{stream} {model} seed {seed}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    return score.rates(counts)


if __name__ == "__main__":
    sys.exit(main())

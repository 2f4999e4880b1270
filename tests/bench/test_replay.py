"""The replay bench against the real pipeline, a few users of it: what is remembered of gold conversations (quality §4)."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.replay import kills, run, score, streams
from benchmarks.replay.endpoint import serving
from benchmarks.replay.run import Bench
from tests.support.extent import tries

CORPUS = streams.corpus_folder()
needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason=f"the benchmark data is not here: {CORPUS.name}")


@pytest.fixture(scope="module")
def zh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A user of the Chinese stream with some thirty sessions, more of them by night."""
    folder = tmp_path_factory.mktemp("replay")
    with serving(folder / "endpoint", "zh", CORPUS) as endpoint:
        yield Bench(streams.load("zh", CORPUS)[: tries(3)], endpoint, folder)


@needs_corpus
@pytest.mark.slow
def test_with_a_perfect_model_everything_said_is_remembered_in_any_order_and_however_often_it_is_read(
    zh: Bench,
) -> None:
    """Final state, evidence and history are whole; order, repetition and kills change nothing."""
    counts = run.in_order(zh, "perfect", 0)
    counts += run.shuffled(zh, "perfect", 0)
    counts += run.again(zh, "perfect", 0)
    rates = score.rates(counts)
    whole = ("F1", "unique F1", "many F1", "evidence", "history", "committed", "again unchanged", "order same")
    assert {name: rates[name] for name in whole} == dict.fromkeys(whole, 1.0)
    none = ("stale", "duplicates", "made up", "lost", "new per restating")
    assert {name: rates[name] for name in none} == dict.fromkeys(none, 0.0)


@needs_corpus
@pytest.mark.slow
def test_a_model_that_errs_is_held_in_check(zh: Bench) -> None:
    """The figures of a 4B model: its traps and inventions stay out, and what was meant is still found."""
    rates = score.rates(run.in_order(zh, "4b", 0))
    assert (rates["F1"] or 0) >= 0.8
    assert (rates["stale"] or 0) <= 0.15
    assert (rates["made up"] or 0) <= 0.05
    assert rates["evidence"] == rates["history"] == rates["committed"] == 1.0
    assert rates["lost"] == 0.0


@needs_corpus
@pytest.mark.slow
def test_killing_the_worker_changes_nothing_and_wastes_at_most_the_call_it_falls_into(zh: Bench) -> None:
    """A real worker, killed at random points between and within jobs."""
    life = zh.lives[0]
    one = Bench([replace(life, sessions=life.sessions[:10])], zh.endpoint, zh.folder / "kills")
    run.in_order(one, "perfect+link", 0)
    rates = score.rates(kills.killed(one, "perfect+link", 0, times=2))
    assert (rates["kill same"], rates["kill committed"]) == (1.0, 1.0)
    assert (rates["wasted calls per kill"] or 0) <= 1.0


def test_the_bench_says_where_it_looked_when_the_corpus_is_missing(tmp_path: Path) -> None:
    """Exit code 2 and the name of the file, no table."""
    entry = streams.ROOT / "benchmarks" / "replay.py"
    command = [sys.executable, str(entry), "--corpus", str(tmp_path / "nowhere")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ), timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert "zh-gold-users" in done.stderr
    assert "MEX_BENCH_CORPUS" in done.stderr

"""Nothing lost, nothing twice, whatever is killed, stopped, deleted or overwritten, and whenever (queue 44)."""

from pathlib import Path

import pytest

from tests.support import chaos
from tests.support.redis_server import redis_server

SECONDS = 60
SEEDS = (11, 12, 13, 14, 32, 41)


def test_a_short_chaos_loses_nothing_and_writes_nothing_twice(tmp_path: Path) -> None:
    """The same run as below, a few seconds of it: the harness is run by every suite."""
    outcome = chaos.run(tmp_path / "chaos", seconds=8, seed=1)
    print(outcome.line)
    assert not outcome.failures, outcome.line
    assert outcome.did["restarts"] > 0
    assert outcome.remembered > 0


@pytest.mark.nightly
@pytest.mark.parametrize("seed", SEEDS)
def test_a_minute_of_chaos_loses_nothing_and_writes_nothing_twice(tmp_path: Path, seed: int) -> None:
    """Lines in the sessions = memories, none wrong, none doubled, no job stuck, few calls paid twice."""
    outcome = chaos.run(tmp_path / "chaos", seconds=SECONDS, seed=seed)
    print(outcome.line)
    assert not outcome.failures, outcome.line


@pytest.mark.nightly
def test_a_minute_of_chaos_with_redis_loses_nothing_when_redis_forgets_everything(tmp_path: Path) -> None:
    """Queue 43: FLUSHALL is one of the faults; what was published is published again."""
    with redis_server(tmp_path / "redis") as server:
        outcome = chaos.run(tmp_path / "chaos", seconds=SECONDS, seed=21, redis=server.url)
    print(outcome.line)
    assert not outcome.failures, outcome.line
    assert outcome.did["flushall"] > 0

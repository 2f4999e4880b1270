"""After every test of the fault matrix: no worker is left, and the invariants of queue and memories hold."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mex_pipeline.bootstrap import load_schema
from mex_pipeline.paths import Home
from tests.support import invariants
from tests.support.program import in_process


@pytest.fixture(autouse=True)
def invariants_hold(home: Path) -> Iterator[None]:
    """Whatever was done to the home, its tables keep their promises."""
    yield
    if not (home / "mex.db").exists():
        return
    in_process("worker", "stop", "--json")
    invariants.check_queue(home)
    schema, _ = load_schema(Home(home))
    invariants.check(home / "mex.db", schema)

"""Every store case runs through both gateways."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.gateways import Gateway, fresh, opened, rows


@pytest.fixture(scope="session")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty meX database to copy."""
    return fresh(tmp_path_factory.mktemp("store") / "mex.db")


@pytest.fixture
def path(pattern: Path, tmp_path: Path) -> Path:
    """An empty meX database of this test's own."""
    return Path(shutil.copy(pattern, tmp_path / "mex.db"))


@pytest.fixture(params=["sync", "async"])
def db(request: pytest.FixtureRequest, path: Path) -> Iterator[Gateway]:
    """The database through one of the gateways; waiting for the disk is left to the tests that are about it."""
    with opened(request.param, path) as gateway:
        rows(gateway, "PRAGMA synchronous = OFF")
        yield gateway

"""Every store case runs through both gateways."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.gateways import Gateway, fresh, opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An empty meX database."""
    return fresh(tmp_path / "mex.db")


@pytest.fixture(params=["sync", "async"])
def db(request: pytest.FixtureRequest, path: Path) -> Iterator[Gateway]:
    """The database through one of the gateways."""
    with opened(request.param, path) as gateway:
        yield gateway

"""What every test gets: a home of its own, a scrubbed environment, English, and no network but the loopback."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import extent
from tests.support.model_server import ModelServer, running
from tests.support.program import mex

_AGENT_MARKS = ("CLAUDECODE", "OPENCODE", "GEMINI_CLI")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--nightly` runs what takes minutes as well."""
    parser.addoption("--nightly", action="store_true", help="run the tests marked nightly too")


def pytest_configure(config: pytest.Config) -> None:
    """Properties are tried more often by night."""
    extent.begin(nightly=config.getoption("--nightly"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what is marked nightly unless it is asked for."""
    if not config.getoption("--nightly"):
        for item in items:
            if item.get_closest_marker("nightly") is not None:
                item.add_marker(pytest.mark.skip(reason="takes minutes: pytest --nightly"))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> Path:
    """MEX_HOME in the test's own folder; the real one is never touched."""
    for name in list(os.environ):
        if name.startswith(("MEX_", "CODEX_", "OPENAI_")) or name in _AGENT_MARKS or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    # A program that compiles itself anew in each of some hundred processes doubles the time of the suite.
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    root = tmp_path / "home"
    monkeypatch.setenv("MEX_HOME", str(root))
    monkeypatch.setenv("MEX_LANG", "en")
    monkeypatch.setenv("MEX_DEBUG", "1")  # a fault of ours is loud here
    monkeypatch.setenv("HOME", str(tmp_path))
    if pytestconfig.cache is not None:  # the detector of secrets compiles its rules once, not in each test's own home
        monkeypatch.setenv("KF_RULE_CACHE_DIR", str(pytestconfig.cache.mkdir("detector")))
    return root


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection to anywhere else is a failure, not a bill."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        host = address[0] if isinstance(address, tuple) else "local"
        if host not in ("127.0.0.1", "::1", "localhost", "local"):
            raise AssertionError(f"a test dialled {host}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture
def model(tmp_path: Path, home: Path) -> Iterator[ModelServer]:
    """A model endpoint in a process of its own, and a home that is configured for it."""
    with running(tmp_path / "model") as server:
        mex("config", "llm", "--provider", "custom", "--base-url", server.url, "--api-key", "sk-test", "--model", "m1")
        yield server

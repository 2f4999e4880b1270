"""A home whose vectors come from a scripted endpoint: words have meanings, and a text means what its words do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.model_server import ModelServer, running

KEY = "sk-of-the-vectors-0123"
MEANINGS = {
    "低落": [1.0, 0.0, 0.0], "失恋": [0.9, 0.1, 0.0], "sad": [1.0, 0.0, 0.0], "broke up": [0.9, 0.1, 0.0],
    "火锅": [0.0, 1.0, 0.1], "hot pot": [0.0, 1.0, 0.1], "数据库": [0.0, 0.1, 1.0], "database": [0.0, 0.1, 1.0],
}  # fmt: skip


@pytest.fixture
def vectors(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """The endpoint; search by meaning is on, and no worker starts by itself."""
    with running(tmp_path / "vectors") as server:
        server.mean(**MEANINGS)
        for name, value in {"ENABLED": "true", "MODEL": "m-1", "BASE_URL": server.url, "API_KEY": KEY}.items():
            monkeypatch.setenv(f"MEX_SEMANTIC_{name}", value)
        monkeypatch.setenv("MEX_WORKER_AUTOSTART", "false")
        monkeypatch.setenv("MEX_LLM_RETRY_BASE_SECONDS", "0")
        yield server

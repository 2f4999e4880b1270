"""A Redis server of a test's own: on the loopback, on a free port, with nothing kept on disk."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import redis

from tests.support.program import until

PASSWORD = "geheim-0815"


class RedisServer:
    """A server that can be killed, frozen and started again on its port."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        with closing(socket.create_server(("127.0.0.1", 0))) as free:
            self.port = int(free.getsockname()[1])
        self.url = f"redis://:{PASSWORD}@127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it, empty, and wait until it answers."""
        options = [
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--dir",
            str(self._folder),
            "--requirepass",
            PASSWORD,
        ]
        self._process = subprocess.Popen(
            ["redis-server", *options, "--save", "", "--appendonly", "no"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        until(self._answers)

    def _answers(self) -> bool:
        with closing(self.client()) as client:
            try:
                return bool(client.ping())
            except redis.RedisError:
                return False

    def client(self) -> redis.Redis:
        """A client of the test's own."""
        return redis.Redis.from_url(self.url)

    def kill(self) -> None:
        """End it as by a power cut: what it held is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def send_signal(self, number: int) -> None:
        """Send it a signal: SIGSTOP makes it a server that accepts and never answers."""
        assert self._process is not None
        self._process.send_signal(number)


@contextmanager
def redis_server(folder: Path) -> Iterator[RedisServer]:
    """A running server; the test is skipped where none is installed."""
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed (Debian: apt install redis-server)")
    folder.mkdir()
    server = RedisServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()

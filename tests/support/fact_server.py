"""A model endpoint that finds every fact of `chaos_facts` in the turns it is asked about, quotes included.

A process of its own that works from memory: it answers in about `delay` seconds, lets a share of the calls fail in ways
endpoints fail, and writes one line per call into `calls.jsonl`: the words asked about, and whether the answer arrived.
"""

import json
import random
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from tests.support.chaos_facts import facts
from tests.support.model_server import reply, turns

FAULTS = ("unavailable", "broken", "rate_limited", "hang_up", "half")


@dataclass(frozen=True, slots=True)
class Manners:
    """How the endpoint behaves: seconds per answer at least and at most, the share of calls that fail, and the seed."""

    fastest: float = 0.02
    slowest: float = 0.2
    failing: float = 0.0
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the values in the turns that were asked about, and what became of it.

    `end` is `answered`, one of FAULTS, or `gone` when the asker had died before the answer was ready.
    """

    asked: tuple[str, ...]
    end: str
    at: float


class FactServer:
    """The run's view of the server."""

    def __init__(self, folder: Path, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/v1"
        self._log = folder / "calls.jsonl"

    def calls(self) -> list[Call]:
        """The calls that have ended, in the order of their ends."""
        lines = self._log.read_text(encoding="utf-8").splitlines() if self._log.exists() else []
        return [Call(tuple(one["asked"]), one["end"], one["at"]) for one in map(json.loads, lines)]

    def paid_again(self, given_up: Callable[[str, float], bool]) -> int:
        """How many calls asked about words for which an answer had been delivered before.

        `given_up(value, moment)` says that a person has given up since what had been answered then.
        """
        answered: dict[str, float] = {}
        again = 0
        for call in self.calls():
            again += any(one in answered and not given_up(one, answered[one]) for one in call.asked)
            if call.end == "answered":
                answered.update(dict.fromkeys(call.asked, call.at))
        return again


@contextmanager
def serving(folder: Path, manners: Manners) -> Iterator[FactServer]:
    """A server in its own process, on a port of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "tests.support.fact_server", str(folder), json.dumps(asdict(manners))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    assert process.stdout is not None
    try:
        yield FactServer(folder, int(process.stdout.readline()))
    finally:
        process.kill()
        process.communicate()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    log: ClassVar[Any] = None
    manners: ClassVar[Manners] = Manners()
    chance: ClassVar[random.Random] = random.Random()
    lock: ClassVar[threading.Lock] = threading.Lock()

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        found = [one for turn in turns(body) if not turn.get("context") for one in facts(turn["text"])]
        with self.lock:
            seconds = self.chance.uniform(self.manners.fastest, self.manners.slowest)
            end = self.chance.choice(FAULTS) if self.chance.random() < self.manners.failing else "answered"
        time.sleep(seconds)
        if self._is_gone():
            end = "gone"
        else:
            candidates = [
                {"topic": one.topic, "sub_topic": one.sub_topic, "content": one.value, "quote": one.said}
                for one in found
            ]
            with suppress(OSError):  # killed in this very moment: as good as delivered, for it was paid for
                self._answer(end, body["model"], reply(*candidates))
        self._write({"asked": [one.value for one in found], "end": end, "at": time.time()})

    def _is_gone(self) -> bool:
        """True when the asker has hung up: nothing but a closed line is readable before the answer."""
        readable, _, _ = select.select([self.connection], [], [], 0)
        try:
            return bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""
        except OSError:
            return True

    def _answer(self, end: str, model: str, text: str) -> None:
        if end == "hang_up":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        status = {"unavailable": 503, "broken": 500, "rate_limited": 429}.get(end, 200)
        content = text[: len(text) // 2] if end == "half" else text
        shape = {
            "id": "c", "object": "chat.completion", "created": 0, "model": model,
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        }  # fmt: skip
        data = json.dumps(shape, ensure_ascii=False).encode() if status == 200 else b'{"error": {"message": "no"}}'
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        if status == 429:
            self.send_header("retry-after", "1")
        self.end_headers()
        self.wfile.write(data)

    def _write(self, line: dict[str, Any]) -> None:
        with self.lock:
            self.log.write(json.dumps(line, ensure_ascii=False) + "\n")
            self.log.flush()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: Any) -> None:
        """A line that breaks is what the run is about."""


def main() -> None:
    """Serve until killed; prints the port first."""
    folder = Path(sys.argv[1])
    _Handler.manners = Manners(**json.loads(sys.argv[2]))
    _Handler.chance = random.Random(_Handler.manners.seed)
    with (folder / "calls.jsonl").open("a", encoding="utf-8") as log:
        _Handler.log = log
        server = _Server(("127.0.0.1", 0), _Handler)
        sys.stdout.write(f"{server.server_address[1]}\n")
        sys.stdout.flush()
        server.serve_forever()


if __name__ == "__main__":
    main()

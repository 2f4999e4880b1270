"""The scripted model: an OpenAI-compatible endpoint in a process of its own that knows a whole stream by heart.

The path tells who asks: `/<model>/<seed>/<user>/<run>/<delay>/v1/chat/completions`. Every request becomes one line of
calls.jsonl.
"""

import json
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote, unquote

from benchmarks.replay import book, faults, render, streams
from benchmarks.replay.faults import MODELS
from benchmarks.replay.life import Fact, Life


class Endpoint:
    """The bench's view of the process."""

    def __init__(self, folder: Path, port: int) -> None:
        self._port = port
        self._log = folder / "calls.jsonl"

    def url(self, model: str, seed: int, user: str, run: str, *, delay: float = 0.0) -> str:
        """Return the base URL under which a home is served, each answer in `delay` seconds."""
        return f"http://127.0.0.1:{self._port}/{quote(model, safe='')}/{seed}/{user}/{run}/{delay}/v1"

    def calls(self) -> list[dict[str, Any]]:
        """Return the requests so far: `{model, seed, user, run, session, turns, attempt, end, …}` or `{error}` each."""
        written = self._log.read_text(encoding="utf-8") if self._log.exists() else ""
        return [json.loads(line) for line in written.split("\n")[:-1]]  # the last may be half written


@contextmanager
def serving(folder: Path, stream: str, corpus: Path) -> Iterator[Endpoint]:
    """Serve a stream from a process of its own while the block lasts."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "benchmarks.replay.endpoint", str(folder), stream, str(corpus)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=streams.ROOT)
    assert process.stdout is not None
    try:
        yield Endpoint(folder, int(process.stdout.readline()))
    finally:
        process.kill()
        process.communicate()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    lives: ClassVar[dict[str, Life]] = {}
    others: ClassVar[dict[str, list[Fact]]] = {}
    tries: ClassVar[Counter[tuple[str, ...]]] = Counter()
    lock: ClassVar[threading.Lock] = threading.Lock()
    log: ClassVar[Any] = None

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        name, seed, user, run, delay = (unquote(part) for part in self.path.split("/")[1:6])
        call: dict[str, Any] = {"model": name, "seed": int(seed), "user": user, "run": run, "at": time.time()}
        try:
            end, reply, about = self._decided(call, body["messages"])
        except book.Unknown as error:
            end, reply, about = "400", "", {"error": str(error)}
        time.sleep(float(delay))
        self._write(call | about | {"end": end or "answered"})
        with suppress(OSError):  # the asker was killed: that is what some runs are about
            self._send(end, body["model"], reply, about)

    def _decided(self, call: dict[str, Any], messages: list[dict[str, Any]]) -> tuple[str | None, str, dict[str, Any]]:
        """How this request ends (None: answered), the reply, and what the log says about it."""
        life, model = self.lives[call["user"]], MODELS[call["model"]]
        found, shown = book.asked(life, messages), book.known(messages, life.slots)
        place = f"{call['seed']}/{life.user}/{found.session.name}"
        span = (min(found.numbers), max(found.numbers))
        with self.lock:
            self.tries[key := (self.path, found.session.name, str(span))] += 1
            attempt = self.tries[key]
        seed = f"{place}/{attempt}"
        items = faults.propose(life, found.session, shown, self.others[life.user], model, seed)
        items = [item for item in items if item.turn in found.numbers]
        call_seed = f"{seed}/{span}"  # what befalls a call befalls that call alone, what a model gets wrong its session
        reply = faults.damaged(render.reply(items, found.numbers, shown, life.slots), model, call_seed, life.language)
        end = faults.weather(model, call_seed)
        about = {
            "session": found.session.name,
            "turns": span,
            "attempt": attempt,
            "prompt_tokens": sum(tokens(message["content"]) for message in messages),
            "known_tokens": sum(
                tokens(f"#{one.handle} {one.fact.slot} = {one.fact.value} (explicit)") for one in shown
            ),
            "reply_tokens": tokens(reply),
            "items": [asdict(item) for item in items],
        }
        return end, reply, about

    def _send(self, end: str | None, model: str, text: str, about: dict[str, Any]) -> None:
        if end == "gone":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        shape = {
            "id": "c", "object": "chat.completion", "created": 0, "model": model,
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": about.get("prompt_tokens", 0), "completion_tokens": about.get("reply_tokens", 0)},
        }  # fmt: skip
        data = json.dumps(shape if end is None else {"error": {"message": end}}, ensure_ascii=False).encode()
        self.send_response(200 if end is None else int(end[:3]))
        self.send_header("content-type", "application/json")
        if end == "429 later":
            self.send_header("retry-after", "1")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _write(self, call: dict[str, Any]) -> None:
        with self.lock:
            self.log.write(json.dumps(call, ensure_ascii=False) + "\n")
            self.log.flush()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: Any) -> None:
        """A line that breaks is no fault of the bench."""


def tokens(text: str) -> int:
    """Return an estimate of the tokens of a text: one for each Chinese character, one for each four others."""
    wide = sum("\u2e80" <= char <= "\u9fff" or "\uf900" <= char <= "\ufaff" for char in text)
    return wide + (len(text) - wide + 3) // 4


def main() -> None:
    """Serve until killed; prints the port first."""
    folder, stream, corpus = sys.argv[1:]
    lives = streams.load(stream, Path(corpus))
    _Handler.lives = {life.user: life for life in lives}
    _Handler.others = {life.user: faults.foreign(life, lives) for life in lives}
    with (Path(folder) / "calls.jsonl").open("a", encoding="utf-8") as log:
        _Handler.log = log
        server = _Server(("127.0.0.1", 0), _Handler)
        sys.stdout.write(f"{server.server_address[1]}\n")
        sys.stdout.flush()
        server.serve_forever()


if __name__ == "__main__":
    main()

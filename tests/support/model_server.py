"""A model endpoint for tests: a real HTTP server in a process of its own, scripted by a file it reads on each request.

The script is a JSON list of rules; the first whose `when` occurs in the last user message and that is not used up
answers: `reply` (the message's text), `status`, `headers`, `body` (raw), `delay` (seconds), `hold` (wait until a file
of that name exists in the folder), `times`, `finish` (the reason it stops for), `over` (for user messages longer than
that), `hobbies` (it answers with each hobby that the new turns tell). Every request is written to `requests.jsonl`
before it is answered. `GET /models` lists what `models.json` in the folder says. `POST /embeddings` goes by the same
rules, whose `when` is looked for in any text; by default a text's vector is the sum of those that `meanings.json` has for
the words in it.
"""

import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from tests.support import forked
from tests.support.forked import Forked


class ModelServer:
    """The test's view of the server."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.url = f"http://127.0.0.1:{port}/v1"

    def script(self, *rules: dict[str, Any]) -> None:
        """Set the rules for the requests to come."""
        fresh = self.folder / "script.new"
        fresh.write_text(json.dumps(rules), encoding="utf-8")
        fresh.replace(self.folder / "script.json")

    def offer(self, *names: str) -> None:
        """Set the models that are listed; without this there is no list (404)."""
        listed = {"object": "list", "data": [{"id": name, "object": "model"} for name in names]}
        (self.folder / "models.json").write_text(json.dumps(listed), encoding="utf-8")

    def mean(self, **vectors: list[float]) -> None:
        """Set the vectors of words; a text without any of them gets one that is like none."""
        (self.folder / "meanings.json").write_text(json.dumps(vectors, ensure_ascii=False), encoding="utf-8")

    def embedded(self) -> list[str]:
        """The texts whose vectors were asked for, in order."""
        return [text for request in self.requests() for text in request.get("input", ())]

    def release(self, name: str) -> None:
        """Let held answers go."""
        (self.folder / name).touch()

    def requests(self) -> list[dict[str, Any]]:
        """The request bodies that arrived, in order."""
        log = self.folder / "requests.jsonl"
        return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []

    def asked(self, text: str) -> int:
        """How many requests held `text` in a turn that was not marked as context."""
        return sum(
            any(text in turn["text"] for turn in turns(request) if not turn.get("context"))
            for request in self.requests()
        )


def turns(request: dict[str, Any]) -> list[dict[str, Any]]:
    """The turns a request sent."""
    user = next(message for message in request["messages"] if message["role"] == "user")
    return list(json.loads(user["content"].split("\n", 1)[1]))


def reply(*candidates: dict[str, Any]) -> str:
    """A reply in the shape of seed 004 §7.2; what a candidate leaves out is filled in."""
    whole = [
        {"action": "new", "is_ai_inferred": False, "confidence": "explicit", "evidence": one.get("quote", "")} | one
        for one in candidates
    ]
    return json.dumps({"memories": whole}, ensure_ascii=False)


def _hobbies(request: dict[str, Any]) -> str:
    new = "\n".join(turn["text"] for turn in turns(request) if not turn.get("context"))
    told = re.finditer(r"我的爱好是([^。]+)", new)
    return reply(*({"topic": "leisure", "sub_topic": "hobbies", "content": one[1], "quote": one[0]} for one in told))


@contextmanager
def running(folder: Path) -> Iterator[ModelServer]:
    """A server in its own process, on a port of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    reading, writing = os.pipe()
    with os.fdopen(reading) as told, os.fdopen(writing, "wb") as out, Path(os.devnull).open("wb") as nothing:
        process = Forked(forked.MODEL, [str(folder)], os.environ, out, nothing)
        port = int(told.readline())
    try:
        server = ModelServer(folder, port)
        server.script()
        yield server
    finally:
        process.kill()
        process.wait()


class _Handler(BaseHTTPRequestHandler):
    folder = Path()
    used: ClassVar[Counter[tuple[str, int]]] = Counter()

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with (self.folder / "requests.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps(body, ensure_ascii=False) + "\n")
        said = (
            "\n".join(body["input"])
            if "input" in body
            else next(message["content"] for message in body["messages"] if message["role"] == "user")
        )
        script = (self.folder / "script.json").read_text(encoding="utf-8")
        for index, rule in enumerate(json.loads(script)):
            fits = rule.get("when", "") in said and len(said) > rule.get("over", -1)
            if fits and self.used[script, index] < rule.get("times", 1_000_000):
                self.used[script, index] += 1
                self.answer(body, rule)
                return
        self.answer(body, {"reply": '{"memories": []}'})

    def do_GET(self) -> None:
        listed = self.folder / "models.json"
        is_there = self.path.endswith("/models") and listed.exists()
        data = listed.read_bytes() if is_there else b"{}"
        self.send_response(200 if is_there else 404)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def answer(self, body: dict[str, Any], rule: dict[str, Any]) -> None:
        time.sleep(rule.get("delay", 0))
        while rule.get("hold") and not (self.folder / rule["hold"]).exists():
            time.sleep(0.02)
        message = {"role": "assistant", "content": _hobbies(body) if "hobbies" in rule else rule.get("reply", "")}
        shape = {
            "id": "c", "object": "chat.completion", "created": 0, "model": body["model"],
            "choices": [{"index": 0, "finish_reason": rule.get("finish", "stop"), "message": message}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        }  # fmt: skip
        if "input" in body:
            shape = self.vectors(body)
        data = rule["body"].encode() if "body" in rule else json.dumps(shape, ensure_ascii=False).encode()
        try:
            self.send_response(rule.get("status", 200))
            for name, value in {"content-type": "application/json", **rule.get("headers", {})}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            pass  # the asker was killed: that is what some tests are about

    def vectors(self, body: dict[str, Any]) -> dict[str, Any]:
        told = self.folder / "meanings.json"
        meanings = json.loads(told.read_text(encoding="utf-8")) if told.exists() else {}
        listed = []
        for index, text in enumerate(body["input"]):
            found = [vector for word, vector in meanings.items() if word in text] or [[1.0, 1.0, 1.0]]
            listed.append(
                {"object": "embedding", "index": index, "embedding": [sum(one) for one in zip(*found, strict=True)]}
            )
        usage = {"prompt_tokens": 7 * len(listed), "total_tokens": 7 * len(listed)}
        return {"object": "list", "data": listed[::-1], "model": body["model"], "usage": usage}


def main() -> None:
    """Serve a folder until the process is killed; the port is told on the first line."""
    _Handler.folder = Path(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    server.serve_forever()

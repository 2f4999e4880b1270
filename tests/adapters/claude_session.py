"""Hand-made Claude Code sessions in the client's shapes, and helpers that read a file the way the pipeline does."""

import json
from pathlib import Path
from typing import Any

from mex_pipeline.adapters.claude import ClaudeAdapter
from mex_pipeline.domain.conversation import Cursor, Transcript

ADAPTER = ClaudeAdapter()


class Session:
    """A session file under construction: each method appends one record."""

    def __init__(self, name: str = "s", cwd: str = "/home/lin/notes") -> None:
        self.name = name
        self.cwd = cwd
        self.lines: list[bytes] = []

    def raw(self, line: bytes) -> None:
        self.lines.append(line)

    def record(self, kind: str, **fields: Any) -> dict[str, Any]:
        number = len(self.lines)
        value = {
            "parentUuid": None,
            "isSidechain": False,
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": f"session-{self.name}",
            "version": "2.1.40",
            "type": kind,
            "uuid": f"{self.name}-{number}",
            "timestamp": f"2026-03-01T08:{number // 60 % 60:02}:{number % 60:02}.250Z",
            **fields,
        }
        self.raw(json.dumps(value, ensure_ascii=False).encode())
        return value

    def user(self, content: Any, **fields: Any) -> dict[str, Any]:
        return self.record("user", message={"role": "user", "content": content}, **fields)

    def assistant(self, message: str, *blocks: dict[str, Any], model: str = "m", **fields: Any) -> dict[str, Any]:
        body = {"id": message, "type": "message", "role": "assistant", "model": model, "content": list(blocks)}
        return self.record("assistant", message=body, **fields)

    def says(self, message: str, text: str, **fields: Any) -> dict[str, Any]:
        return self.assistant(message, {"type": "text", "text": text}, **fields)

    def tool(self, message: str, output: Any = "NOISE output", **block: Any) -> None:
        """A tool call of a message and its result."""
        self.assistant(message, {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "NOISE call"}})
        self.user([{"type": "tool_result", "tool_use_id": "t", "content": output, **block}])

    def queue(self, operation: str, content: str | None = None, **fields: Any) -> None:
        """A record of the message queue: it has no id and no place in the tree."""
        number = len(self.lines)
        value = {
            "type": "queue-operation",
            "operation": operation,
            "timestamp": f"2026-03-01T09:{number // 60 % 60:02}:{number % 60:02}.500Z",
            "sessionId": f"session-{self.name}",
            **({"content": content} if content is not None else {}),
            **fields,
        }
        self.raw(json.dumps(value, ensure_ascii=False).encode())

    def queued(self, prompt: Any, source: str | None = None, **fields: Any) -> dict[str, Any]:
        """The attachment with which a message reaches the model in the running turn."""
        attachment = {"type": "queued_command", "prompt": prompt, **({"source_uuid": source} if source else {})}
        return self.record("attachment", attachment={**attachment, **fields})

    def data(self, newline: bytes = b"\n", *, last_newline: bool = True) -> bytes:
        return newline.join(self.lines) + (newline if last_newline else b"")

    def write(self, path: Path) -> Path:
        path.write_bytes(self.data())
        return path


class Talk(Session):
    """A session whose records hang on each other: each on the one before it, or on `leaf` where that was set."""

    leaf: str | None = None

    def record(self, kind: str, **fields: Any) -> dict[str, Any]:
        value = super().record(kind, **{"parentUuid": self.leaf, **fields})
        self.leaf = value["uuid"]
        return value

    def ask(self, text: str) -> str:
        """A prompt and its answer; returns the prompt's id."""
        uuid: str = self.user(text)["uuid"]
        self.says(f"to {text}", f"re: {text}")
        self.record("system", subtype="turn_duration")
        return uuid


def chat() -> Session:
    """Three prompts, answers in several blocks, tools between them."""
    session = Session("chat")
    session.record("file-history-snapshot", messageId="m", snapshot={})
    session.user("我住在成都，请用中文回答。")
    session.assistant("m1", {"type": "thinking", "thinking": "NOISE thought"})
    session.says("m1", "好的。")
    session.tool("m1")
    session.says("m2", "目录里有两个文件。")
    session.user([{"type": "text", "text": "Thanks. I prefer short answers."}, {"type": "image", "source": {}}])
    session.says("m3", "Noted.")
    session.says("m3", "Anything else?")
    session.record("system", subtype="turn_duration", durationMs=3)
    session.user("no")
    session.says("m4", "Bye.")
    return session


def wild() -> Session:
    """A session with everything that makes reading hard: doubles, broken lines, odd characters, interleaving."""
    session = Session("wild")
    session.record("summary", summary="NOISE title", leafUuid="x")
    session.user("line\u2028separators\u2029and\x85more\x0b\x0c\x1c stay 😀 in 一条记录")
    session.raw(b"{broken json NOISE}")
    session.says("w1", "first")
    session.says("w1", "first")
    session.assistant("w1", {"type": "tool_use", "id": "a"})
    session.assistant("w1", {"type": "tool_use", "id": "b"})
    session.user([{"type": "tool_result", "content": "NOISE a"}])
    session.says("w1", "first, continued after a result")
    session.raw(b"")
    one, two = Session("pair"), Session("pair2")
    one.user("two objects on 一行")
    two.says("w2", "second object 二")
    session.raw(one.lines[0] + b" " + two.lines[0])
    session.raw(one.lines[0])
    session.assistant("w3", {"type": "text", "text": "block one"}, {"type": "text", "text": "block two"})
    session.raw(b"\x00\x00\x00\x00")
    session.user("NOISE sidechain", isSidechain=True)
    session.says("side", "NOISE sidechain answer", isSidechain=True)
    session.says("w3", "block three")
    session.raw(b'{"type":"user","uuid":"surrogate","message":{"content":"half \\ud83d pair"}}')
    session.raw(b'{"type":"user","uuid":"bytes","message":{"content":"broken \xff\xfe bytes"}}')
    session.raw(b'[1, 2, "NOISE array"]')
    session.says("w4", "last words")
    session.assistant("w4", {"type": "thinking", "thinking": "NOISE"})
    return session


def whole(path: Path, *, quiet: bool = True) -> Transcript:
    return ADAPTER.read(path, Cursor(), quiet=quiet)

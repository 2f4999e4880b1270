"""Hand-made CodeBuddy and WorkBuddy sessions. No real file was at hand: the shapes are those of session-formats §3.8."""

import json
from pathlib import Path
from typing import Any

from mex_pipeline.adapters.workbuddy import WorkBuddyAdapter
from mex_pipeline.domain.conversation import Cursor, Transcript

ADAPTER = WorkBuddyAdapter()


class Session:
    """A session file under construction: each method appends one record."""

    def __init__(self, name: str = "s") -> None:
        self.name = name
        self.lines: list[bytes] = []

    def raw(self, line: bytes) -> None:
        self.lines.append(line)

    def record(self, kind: str, **fields: Any) -> dict[str, Any]:
        number = len(self.lines)
        value = {
            "id": f"{self.name}-{number}",
            "parentId": f"{self.name}-{number - 1}" if number else None,
            "timestamp": 1_772_352_000_250 + 1000 * number,
            "type": kind,
            "sessionId": "another",
            "cwd": "/home/lin/notes",
            "providerData": {},
            **fields,
        }
        self.raw(json.dumps(value, ensure_ascii=False).encode())
        return value

    def user(self, *texts: str, **fields: Any) -> dict[str, Any]:
        content = [{"type": "input_text", "text": text} for text in texts]
        return self.record("message", **{"role": "user", "content": content} | fields)

    def says(self, text: str, **fields: Any) -> dict[str, Any]:
        data = {"providerData": {"messageId": "m", "model": "m", "usage": {}}}
        content = [{"type": "output_text", "text": text}]
        return self.record(
            "message", **{"role": "assistant", "content": content, "status": "completed"} | data | fields
        )

    def tool(self) -> None:
        self.record("reasoning", rawContent=[{"type": "reasoning_text", "text": "NOISE"}])
        self.record("function_call", name="Bash", callId="c", arguments='{"command": "NOISE"}', status="completed")
        self.record("function_call_result", name="Bash", callId="c", output={"type": "text", "text": "NOISE"})

    def data(self, newline: bytes = b"\n", *, last_newline: bool = True) -> bytes:
        return newline.join(self.lines) + (newline if last_newline else b"")

    def write(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.data())
        return path


CHAT = [
    ("user", "我住在成都，请用中文回答。"),
    ("assistant", "好的。"),
    ("user", "Thanks. I prefer short answers."),
    ("assistant", "Noted."),
    ("assistant", "Anything else?"),
    ("user", "only the tests"),
    ("user", "no"),
    ("assistant", "Bye."),
]


def chat() -> Session:
    """Prompts with and without the query's tags, everything flagged in between, an answer that is written twice."""
    session = Session("chat")
    session.record("file-history-snapshot", snapshot={})
    session.user("<system-reminder>NOISE</system-reminder>", "<user_query>\n我住在成都，请用中文回答。\n</user_query>")
    session.tool()
    session.says("好的。")
    session.record("ai-title", aiTitle="NOISE")
    session.user("Thanks. I prefer short answers.")
    partial = session.says("Not", status="in_progress")
    session.says("Noted.", id=partial["id"])
    session.says("Anything else?", status=None)
    session.user("<command-name>/review</command-name><command-args>only the tests</command-args>")
    for flag in ("skipRun", "isMeta", "isCompactInternal", "isSummary", "isCompacted", "isSubAgent"):
        session.user("NOISE", providerData={flag: True})
        session.says("NOISE", providerData={flag: True})
    session.user("<local-command-stdout>NOISE</local-command-stdout>")
    session.user("no")
    session.says("Bye.", status="incomplete")
    return session


def wild() -> Session:
    """What makes reading hard: broken lines, odd characters, two objects on a line, doubles."""
    session = Session("wild")
    session.user("line\u2028separators\u2029and\x85more\x0b\x0c\x1c stay 😀 in 一条记录")
    session.raw(b"{broken json NOISE}")
    first = session.says("fir", status=None)
    session.tool()
    session.says("first", status=None, id=first["id"])
    session.raw(b"")
    session.raw(b"\x00\x00\x00\x00")
    one, two = Session("one"), Session("two")
    one.user("two objects on 一行")
    two.says("second object 二")
    session.raw(one.lines[0] + b" " + two.lines[0])
    session.raw(one.lines[0])
    session.record("message", role="user", content="a plain string")
    session.raw(b'[1, 2, "NOISE array"]')
    session.record("message", role="assistant", content=[{"type": "output_text", "text": "last"}, {"type": "image"}])
    session.says("words", status="in_progress")
    return session


def whole(path: Path, *, quiet: bool = True) -> Transcript:
    return ADAPTER.read(path, Cursor(), quiet=quiet)

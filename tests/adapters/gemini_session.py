"""Hand-made Gemini CLI sessions in the client's shapes: as the old document and as the journal that replaced it."""

import json
from pathlib import Path
from typing import Any

from mex_pipeline.adapters.gemini import GeminiAdapter
from mex_pipeline.domain.conversation import Cursor, Transcript

ADAPTER = GeminiAdapter()
CONTEXT = "<session_context>\nThis is the Gemini CLI.\n- **Workspace Directories:**\n  - /home/lin\n</session_context>"


class Journal:
    """A journal under construction: each method appends what the client appends."""

    def __init__(self, session: str = "f1", **meta: Any) -> None:
        self.meta = {"sessionId": session, "projectHash": "ab" * 32, "startTime": "2026-03-01T08:00:00.000Z", **meta}
        self.lines: list[dict[str, Any]] = []
        self.messages: dict[str, dict[str, Any]] = {}
        self.count = 0
        self.start()

    def add(self, value: dict[str, Any]) -> None:
        self.lines.append(value)

    def start(self) -> None:
        """A process begins: first nothing is sent to the model but the context, then all that was said before."""
        self.add({**self.meta, "lastUpdated": "2026-03-01T08:00:00.000Z", "kind": self.meta.get("kind", "main")})
        context = {"id": "d0", "timestamp": "2026-03-01T08:00:00.000Z", "type": "user", "content": [{"text": CONTEXT}]}
        self.send([context])
        if self.messages:
            self.add({"$set": {"sessionId": self.meta["sessionId"]}})
            again = [one for one in self.messages.values() if one["type"] in ("user", "gemini")]
            self.send(
                [context, *({**one, "content": parts(one), "timestamp": "2026-03-02T09:00:00Z"} for one in again)]
            )

    def send(self, messages: list[dict[str, Any]]) -> None:
        self.add({"$set": {"messages": messages, "lastUpdated": "2026-03-01T08:00:00.000Z"}})

    def record(self, kind: str, content: Any, **fields: Any) -> str:
        self.count += 1
        name = f"{self.meta['sessionId']}-{self.count:03}"
        at = f"2026-03-01T08:{self.count // 60:02}:{self.count % 60:02}.250Z"
        self.write({"id": name, "timestamp": at, "type": kind, "content": content, **fields})
        return name

    def write(self, value: dict[str, Any]) -> None:
        self.messages[value["id"]] = value
        self.add(value)
        self.add({"$set": {"lastUpdated": "2026-03-01T08:00:00.000Z"}})

    def user(self, *texts: str, **fields: Any) -> str:
        return self.record("user", [{"text": text} for text in texts], **fields)

    def says(self, text: str, **fields: Any) -> str:
        return self.record("gemini", text, **{"thoughts": [], "model": "m", **fields})

    def tool(self, text: str = "", name: str = "run_shell_command", output: str = "NOISE output") -> str:
        """A message of the model with a tool call: it is written, written again with the result, and the result sent."""
        message = self.says(text)
        response = {"functionResponse": {"id": f"call-{message}", "name": name, "response": {"output": output}}}
        call = {"id": f"call-{message}", "name": name, "args": {"command": "NOISE call"}, "result": [response]}
        self.write({**self.messages[message], "toolCalls": [call]})
        self.record("user", [response])
        return message

    def rewind(self, target: str) -> None:
        self.add({"$rewindTo": target})
        names = list(self.messages)
        for name in names[names.index(target) :] if target in names else names:
            del self.messages[name]

    def data(self, newline: bytes = b"\n", *, last_newline: bool = True) -> bytes:
        lines = [json.dumps(line, ensure_ascii=False).encode() for line in self.lines]
        return newline.join(lines) + (newline if last_newline else b"")

    def write_to(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.data())
        return path


def parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    """A content as the client keeps it for the model: a list of parts, the calls among them."""
    content = message["content"]
    calls = [{"functionCall": {"name": call["name"]}} for call in message.get("toolCalls", [])]
    return ([{"text": content}] if isinstance(content, str) else content) + calls


def as_document(journal: Journal, count: int | None = None, indent: int | None = 2) -> bytes:
    """The session's first messages as versions before the journal wrote them."""
    value = {**journal.meta, "lastUpdated": "2026-03-01T09:00:00Z", "messages": list(journal.messages.values())[:count]}
    return json.dumps(value, ensure_ascii=False, indent=indent).encode()


def chat() -> Journal:
    """Four prompts in two processes, tools, notices, a rewritten message."""
    journal = Journal()
    journal.record("info", "NOISE update available")
    journal.user("我住在成都，请用中文回答。")
    journal.tool("我先看一下目录。")
    journal.tool()
    journal.says("目录里有两个文件。", tokens={"input": 1})
    journal.user("Thanks. I prefer short answers. 😀")
    journal.says("Noted.")
    journal.start()
    journal.user("看看 @a.md", "\n--- Content from referenced files ---", "NOISE file", "\n--- End of content ---",
                 displayContent=[{"text": "看看 @a.md"}])  # fmt: skip
    journal.says("看完了。")
    journal.record("error", "NOISE quota")
    journal.user("no")
    journal.says("Bye.")
    return journal


CHAT = [
    ("user", "我住在成都，请用中文回答。"),
    ("assistant", "我先看一下目录。"),
    ("assistant", "目录里有两个文件。"),
    ("user", "Thanks. I prefer short answers. 😀"),
    ("assistant", "Noted."),
    ("user", "看看 @a.md"),
    ("assistant", "看完了。"),
    ("user", "no"),
    ("assistant", "Bye."),
]


def whole(path: Path, *, quiet: bool = True) -> Transcript:
    return ADAPTER.read(path, Cursor(), quiet=quiet)

"""Hand-made Codex rollouts in the shapes of its versions, and helpers that read a file the way the pipeline does."""

import json
from pathlib import Path
from typing import Any

from mex_pipeline.adapters.codex import CodexAdapter
from mex_pipeline.domain.conversation import Cursor, Transcript

ADAPTER = CodexAdapter()
STYLES = ("events", "items", "nameless", "bare")
"""The shapes: `events` (0.140), `items` (0.171, with makers and completed items), `nameless` (0.60, no turn ids), `bare`."""

INSTRUCTIONS = "# AGENTS.md instructions for /home/lin/notes\n\n<INSTRUCTIONS>\nNOISE rules\n</INSTRUCTIONS>"
ENVIRONMENT = "<environment_context>\n  <cwd>/home/lin/notes</cwd>NOISE\n</environment_context>"


class Rollout:
    """A rollout under construction: each method appends the records of one thing that happens."""

    def __init__(self, name: str = "s", style: str = "events", **meta: Any) -> None:
        self.name = name
        self.style = style
        self.lines: list[bytes] = []
        self.task = 0
        self.turn_id: str | None = None
        self.meta = {"id": f"session-{name}", "cwd": "/home/lin/notes", "source": "cli", "instructions": None, **meta}
        if style == "bare":
            self.raw(
                {"id": f"session-{name}", "timestamp": "2025-06-01T08:00:00.250Z", "instructions": None, "git": {}}
            )
            self.raw({"record_type": "state"})
        else:
            self.record("session_meta", **self.meta)

    def raw(self, value: Any) -> None:
        self.lines.append(value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode())

    def record(self, kind: str, /, **payload: Any) -> None:
        if self.style == "bare":
            if kind == "response_item":
                self.raw(payload)
            return
        number = len(self.lines)
        at = f"2026-03-01T08:{number // 60 % 60:02}:{number % 60:02}.250Z"
        self.raw({"timestamp": at, "type": kind, "payload": payload})

    def begin(self, turn_id: str | None = None) -> None:
        """A task begins; the instructions are written again before the first prompt."""
        self.task += 1
        self.turn_id = turn_id or f"{self.name}-task-{self.task}"
        named = {} if self.style == "nameless" else {"turn_id": self.turn_id}
        if self.style != "nameless":
            self.record("event_msg", type="task_started", **named)
        if self.task == 1:
            self.item("developer", "<permissions instructions>NOISE</permissions instructions>", maker="harness")
            self.item("user", INSTRUCTIONS, ENVIRONMENT, maker="harness")
        self.record("turn_context", cwd="/home/lin/notes", timezone="Asia/Shanghai", **named)

    def item(self, role: str, *texts: str, maker: str = "user", **fields: Any) -> None:
        """A message item, as the model is sent it."""
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": text} for text in texts]
        if self.style == "items":
            made = [{"provenance": {"type": maker}} for _ in texts]
            beside = {"turn_id": self.turn_id, **({} if role == "assistant" else {"content_item_metadata": made})}
            fields |= {"internal_chat_message_metadata_passthrough": beside}
        self.record("response_item", type="message", role=role, content=content, **fields)

    def typed(self, text: str) -> None:
        """The event that a person typed something."""
        if self.style == "items":
            item = {"type": "UserMessage", "id": "i", "content": [{"type": "text", "text": text, "text_elements": []}]}
            self.record("event_msg", type="item_completed", turn_id=self.turn_id, item=item)
        else:
            self.record("event_msg", type="user_message", message=text, images=[])

    def prompt(self, text: str) -> None:
        """What a person types, in both ways."""
        self.item("user", text)
        self.typed(text)

    def says(self, text: str, phase: str = "commentary") -> None:
        """What the model answers, in both ways."""
        self.record("event_msg", type="agent_message", message=text, phase=phase)
        self.item("assistant", text, phase=phase)

    def tool(self) -> None:
        self.record("response_item", type="reasoning", summary=[], encrypted_content="NOISE")
        self.record("response_item", type="function_call", name="shell", arguments="{}", call_id="c")
        self.record("response_item", type="function_call_output", call_id="c", output="NOISE output")
        self.record("event_msg", type="token_count", info=None)

    def asks(self, call: str, answers: dict[str, list[str]], *secret: str) -> None:
        """The model asks the person; `secret` are the ids of questions about secrets."""
        questions = [{"id": name, "question": "NOISE?", "isSecret": name in secret} for name in answers]
        arguments = json.dumps({"questions": questions})
        output = json.dumps({"answers": {name: {"answers": given} for name, given in answers.items()}})
        self.record("response_item", type="function_call", name="request_user_input", arguments=arguments, call_id=call)
        self.record("response_item", type="function_call_output", call_id=call, output=output)

    def complete(self) -> None:
        self.record("event_msg", type="task_complete", turn_id=self.turn_id, last_agent_message="NOISE")

    def abort(self) -> None:
        self.item("user", "<turn_aborted>\nNOISE interrupted\n</turn_aborted>", maker="harness")
        self.record("event_msg", type="turn_aborted", turn_id=self.turn_id, reason="interrupted")

    def exchange(self, prompt: str, *answers: str) -> None:
        """A whole task: a prompt, the answers with a tool before each but the first."""
        self.begin()
        self.prompt(prompt)
        for number, answer in enumerate(answers):
            if number:
                self.tool()
            self.says(answer, "final_answer" if number == len(answers) - 1 else "commentary")
        if self.style != "nameless":
            self.complete()

    def data(self, newline: bytes = b"\n", *, last_newline: bool = True) -> bytes:
        return newline.join(self.lines) + (newline if last_newline else b"")

    def write(self, path: Path) -> Path:
        path.write_bytes(self.data())
        return path


def chat(style: str = "events", name: str = "chat") -> Rollout:
    """Three tasks; in the second a prompt is typed while the model works, the last says the same as before."""
    rollout = Rollout(name, style)
    rollout.exchange("我住在成都，请用中文回答。", "先看看目录。", "好的。")
    rollout.begin()
    rollout.prompt("Thanks. I prefer short answers.")
    rollout.says("Noted.")
    rollout.tool()
    rollout.prompt("yes")
    rollout.says("Noted.")
    rollout.prompt("yes")
    rollout.says("Done.", "final_answer")
    rollout.complete()
    rollout.exchange("yes", "Bye.")
    return rollout


CHAT = [
    ("user", "我住在成都，请用中文回答。"),
    ("assistant", "先看看目录。"),
    ("assistant", "好的。"),
    ("user", "Thanks. I prefer short answers."),
    ("assistant", "Noted."),
    ("user", "yes"),
    ("assistant", "Noted."),
    ("user", "yes"),
    ("assistant", "Done."),
    ("user", "yes"),
    ("assistant", "Bye."),
]


def wild(style: str = "events") -> Rollout:
    """A rollout with everything that makes reading hard: aborts, compaction, broken lines, odd characters, doubles."""
    rollout = Rollout("wild", style)
    rollout.begin()
    rollout.prompt("line\u2028separators\u2029and\x85more\x0b\x0c\x1c stay 😀 in 一条记录")
    rollout.raw(b"{broken json NOISE}")
    rollout.tool()
    rollout.abort()
    rollout.begin()
    rollout.prompt("line\u2028separators\u2029and\x85more\x0b\x0c\x1c stay 😀 in 一条记录")
    rollout.says("first")
    rollout.says("first")
    rollout.record("compacted", message="NOISE", replacement_history=[{"type": "message", "role": "user"}])
    rollout.item("user", "<user_shell_command>NOISE</user_shell_command>", maker="harness")
    rollout.tool()
    rollout.prompt("two\nlines")
    rollout.abort()
    rollout.begin()
    rollout.prompt("something else")
    rollout.raw(rollout.lines.pop() + b" " + json.dumps({"type": "x", "payload": {}}).encode())
    rollout.raw(b"\x00\x00\x00\x00")
    rollout.raw(b'[1, 2, "NOISE array"]')
    rollout.asks("c1", {"a": ["Yes"], "b": ["other", "user_note: use uv, not pip"]})
    rollout.asks("c2", {"a": ["Yes"], "b": ["NOISE token"], "c": []}, "b")
    rollout.says("half \ufffd pair")
    rollout.complete()
    rollout.raw(b"")
    rollout.exchange("two\nlines", "last words")
    return rollout


def document(rollout: Rollout) -> bytes:
    """The oldest shape, one document, of the same conversation as a bare rollout."""
    head, _, *items = [json.loads(line) for line in rollout.lines]
    return json.dumps({"session": head, "items": items}, indent=2, ensure_ascii=False).encode()


def whole(path: Path, *, quiet: bool = True) -> Transcript:
    return ADAPTER.read(path, Cursor(), quiet=quiet)

"""Hand-made exports of ChatGPT and Claude.ai in the services' shapes, plain and zipped."""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mex_pipeline.adapters.chatgpt import ChatGptAdapter
from mex_pipeline.adapters.claude_ai import ClaudeAiAdapter
from mex_pipeline.adapters.port import Archive
from mex_pipeline.domain.conversation import Cursor, Transcript

CHATGPT = ChatGptAdapter()
CLAUDE_AI = ClaudeAiAdapter()
START = 1_772_352_000  # 2026-03-01T08:00:00Z
ROOT = "00000000-0000-4000-8000-000000000000"


class Gpt:
    """A conversation of ChatGPT under construction; each message hangs on the one before it, or on `parent`."""

    def __init__(self, name: str = "gpt-1", **top: Any) -> None:
        self.name = name
        self.nodes: dict[str, dict[str, Any]] = {
            f"{name}-root": {"id": f"{name}-root", "message": None, "parent": None, "children": []}
        }
        self.at = f"{name}-root"
        self.top: dict[str, Any] = {"title": "t", "create_time": START + 0.25, "update_time": START + 600.5, **top}

    def node(self, role: str, content: dict[str, Any], parent: str | None = None, **fields: Any) -> str:
        number = len(self.nodes)
        node = f"{self.name}-{number}"
        parent = parent or self.at
        message = {
            "id": node, "author": {"role": role, "name": None, "metadata": {}}, "create_time": START + number + 0.125,
            "update_time": None, "content": content, "status": "finished_successfully", "end_turn": True, "weight": 1.0,
            "metadata": {}, "recipient": "all", "channel": None, **fields,
        }  # fmt: skip
        self.nodes[node] = {"id": node, "message": message, "parent": parent, "children": []}
        self.nodes[parent]["children"].append(node)
        self.at = node
        return node

    def says(self, role: str, *parts: Any, parent: str | None = None, **fields: Any) -> str:
        kind = "text" if all(isinstance(part, str) for part in parts) else "multimodal_text"
        return self.node(role, {"content_type": kind, "parts": list(parts)}, parent, **fields)

    def value(self) -> dict[str, Any]:
        tail = {"current_node": self.at, "conversation_id": self.name, "id": self.name, "gizmo_id": None}
        whole = {**self.top, "mapping": self.nodes, **tail}
        return {key: value for key, value in (whole | self.top).items() if value is not ...}


class Cai:
    """A conversation of Claude.ai under construction; `parent` is the message an edited one stands beside."""

    def __init__(self, name: str = "cai-1", **top: Any) -> None:
        self.name = name
        self.messages: list[dict[str, Any]] = []
        self.at = ROOT
        times = {"created_at": "2026-03-01T08:00:00.250000Z", "updated_at": "2026-03-01T08:10:00.500000Z"}
        self.top: dict[str, Any] = {"uuid": name, "name": "t", "summary": "", **times, "account": {"uuid": "a"}, **top}

    def says(self, sender: str, *blocks: Any, parent: str | None = None, **fields: Any) -> str:
        number = len(self.messages) + 1
        content = [{"type": "text", "text": one} if isinstance(one, str) else one for one in blocks]
        at = f"2026-03-01T08:00:{number:02}.125000Z"
        message = {
            "uuid": f"{self.name}-{number}", "text": " ".join(one for one in blocks if isinstance(one, str)),
            "content": content, "sender": sender, "created_at": at, "updated_at": at, "attachments": [], "files": [],
            "parent_message_uuid": parent or self.at, **fields,
        }  # fmt: skip
        self.messages.append({key: value for key, value in message.items() if value is not ...})
        self.at = f"{self.name}-{number}"
        return self.at

    def value(self) -> dict[str, Any]:
        return {**self.top, "chat_messages": self.messages}


def gpt_chat(name: str = "gpt-1") -> Gpt:
    """Two prompts and two answers."""
    gpt = Gpt(name)
    gpt.says("user", f"我住在成都 {name}")
    gpt.says("assistant", "好的。")
    gpt.says("user", "I prefer tea. 😀")
    gpt.says("assistant", "Noted.")
    return gpt


def cai_chat(name: str = "cai-1") -> Cai:
    """Two prompts and two answers."""
    cai = Cai(name)
    cai.says("human", f"我住在成都 {name}")
    cai.says("assistant", "好的。")
    cai.says("human", "I prefer tea. 😀")
    cai.says("assistant", "Noted.")
    return cai


def text_of(*conversations: Any, indent: int | None = None, ascii_only: bool = False) -> str:
    values = [one.value() if isinstance(one, Gpt | Cai) else one for one in conversations]
    return json.dumps(values, ensure_ascii=ascii_only, indent=indent)


def write(path: Path, *conversations: Any, indent: int | None = None) -> Path:
    path.write_text(text_of(*conversations, indent=indent), encoding="utf-8")
    return path


def write_zip(path: Path, members: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def every(adapter: Archive, path: Path) -> list[Transcript]:
    found = adapter.conversations(path)
    assert found is not None
    return list(found)


def ids(adapter: Archive, path: Path) -> list[str | None]:
    return [one.session_id for one in every(adapter, path)]


def said(transcript: Transcript) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in transcript.turns]


def whole(adapter: Archive, path: Path) -> Transcript:
    return adapter.read(path, Cursor(), quiet=True)

"""Hand-made OpenCode sessions in the client's shapes: as an export, as a storage tree, and forked."""

import copy
import json
from pathlib import Path
from typing import Any

from mex_pipeline.adapters.opencode import OpenCodeAdapter
from mex_pipeline.domain.conversation import Cursor, Transcript

ADAPTER = OpenCodeAdapter()
START = 1_772_352_000_000


class Export:
    """A session under construction: each method appends one message."""

    def __init__(self, session: str = "ses_1", **info: Any) -> None:
        times = {"created": START, "updated": START}
        self.info: dict[str, Any] = {
            "id": session, "projectID": "global", "directory": "/home/lin/notes", "title": "t", "version": "1.18.33",
            "time": times, **info,
        }  # fmt: skip
        self.messages: list[dict[str, Any]] = []

    def message(self, role: str, *parts: dict[str, Any], **info: Any) -> dict[str, Any]:
        number = len(self.messages)
        session, message = self.info["id"], f"msg_{number:04}"
        whole = {"id": message, "sessionID": session, "role": role, "agent": "build", **info}
        numbered = [
            {"id": f"prt_{number:04}_{place}", "messageID": message, "sessionID": session, **part}
            for place, part in enumerate(parts)
        ]
        self.messages.append({"info": whole, "parts": numbered})
        return whole

    def user(self, *texts: str, **flags: Any) -> "Export":
        time = {"created": START + 1000 * len(self.messages)}
        self.message("user", *(text(one, **flags) for one in texts), time=time, summary={"diffs": []})
        return self

    def says(self, *texts: str, is_open: bool = False, **info: Any) -> "Export":
        time = {"created": START + 1000 * len(self.messages)}
        if not is_open:
            time["completed"] = time["created"] + 500
        self.message(
            "assistant", {"type": "step-start"}, *(text(one) for one in texts), {"type": "step-finish"},
            time=time, mode="build", path={"cwd": "/home/lin/notes", "root": "/home/lin"}, **info,
        )  # fmt: skip
        return self

    def value(self) -> dict[str, Any]:
        return {"info": self.info, "messages": self.messages}

    def text(self, indent: int | None = None) -> str:
        return json.dumps(self.value(), ensure_ascii=False, indent=indent)

    def write(self, path: Path, indent: int | None = None) -> Path:
        path.write_text(self.text(indent) + "\n", encoding="utf-8")
        return path

    def forked(self, count: int) -> "Export":
        """What the client's fork makes of the first messages: new ids everywhere, the times kept."""
        fork = Export("ses_fork")
        for number, message in enumerate(copy.deepcopy(self.messages[:count])):
            message["info"] |= {"id": f"msg_fork_{number}", "sessionID": "ses_fork"}
            for part in message["parts"]:
                part |= {"id": "prt_fork_" + part["id"], "messageID": f"msg_fork_{number}", "sessionID": "ses_fork"}
            fork.messages.append(message)
        return fork

    def write_tree(self, storage: Path) -> Path:
        """Write the folders of the time before the database; returns the session's file."""
        session = self.info["id"]
        path = put(storage / "session" / "global" / f"{session}.json", self.info)
        (storage / "message" / session).mkdir(parents=True, exist_ok=True)
        for message in self.messages:
            info = message["info"]
            put(storage / "message" / session / f"{info['id']}.json", info)
            for part in message["parts"]:
                put(storage / "part" / info["id"] / f"{part['id']}.json", part)
        return path


def put(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2), encoding="utf-8")
    return path


def text(said: Any, **flags: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **flags}


def chat() -> Export:
    """Two prompts, answers in several messages and parts, everything that is no speech between them."""
    export = Export()
    export.message(
        "user",
        text("我住在成都，请用中文回答。"),
        text("NOISE Called the Read tool", synthetic=True),
        text("NOISE", ignored=True),
        {"type": "file", "mime": "text/plain", "url": "file:///NOISE"},
        text("  "),
        time={"created": START},
    )
    export.message(
        "assistant",
        {"type": "reasoning", "text": "NOISE thought"},
        text("我先看一下目录。"),
        {"type": "tool", "tool": "bash", "state": {"status": "completed", "output": "NOISE output"}},
        {"type": "patch", "hash": "NOISE"},
        time={"created": START + 1000, "completed": START + 1500},
    )
    export.says("目录里有两个文件。", "还有什么？")
    export.user("Thanks.", "I prefer short answers. 😀")
    export.says("Noted.")
    return export


CHAT = [
    ("user", "我住在成都，请用中文回答。"),
    ("assistant", "我先看一下目录。"),
    ("assistant", "目录里有两个文件。"),
    ("assistant", "还有什么？"),
    ("user", "Thanks.\nI prefer short answers. 😀"),
    ("assistant", "Noted."),
]


def whole(path: Path, *, quiet: bool = True) -> Transcript:
    return ADAPTER.read(path, Cursor(), quiet=quiet)

"""Hand-made OpenCode sessions in the client's shapes: as an export, in its database, as a storage tree, and forked."""

import copy
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

from mex_pipeline.adapters.opencode import OpenCodeAdapter
from mex_pipeline.domain.conversation import Cursor, Transcript

ADAPTER = OpenCodeAdapter()
START = 1_772_352_000_000
TABLES = """
CREATE TABLE session (
    id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL, directory text NOT NULL,
    title text NOT NULL, version text NOT NULL, revert text, time_created integer NOT NULL,
    time_updated integer NOT NULL
);
CREATE TABLE message (
    id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL,
    data text NOT NULL
);
CREATE TABLE part (
    id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL,
    time_updated integer NOT NULL, data text NOT NULL
);
CREATE TABLE session_message (
    id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, seq integer NOT NULL,
    time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL
);
CREATE TABLE account (id text PRIMARY KEY, access_token text NOT NULL);
CREATE TABLE event (id text PRIMARY KEY, aggregate_id text NOT NULL, data text NOT NULL);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
CREATE INDEX part_session_idx ON part (session_id);
INSERT INTO account VALUES ('acc_1', 'NOISE token');
INSERT INTO event VALUES ('evt_1', 'ses_1', '{"text": "NOISE event"}');
"""
Step = tuple[str, tuple[object, ...]]


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


def store(path: Path, *exports: Export, mode: str = "wal") -> Path:
    """Write a database of the client that holds the sessions."""
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA journal_mode = {mode}")
        database.executescript(TABLES)
    for export in exports:
        write(path, *steps(export))
    return path


def write(path: Path, *changes: Step) -> None:
    """Do some of the client's changes, in one transaction."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA synchronous = OFF")
        with database:
            for statement, values in changes:
                database.execute(statement, values)


def steps(export: Export) -> Iterator[Step]:
    """Yield what the client writes of a session, in its order.

    The row of a message comes before its parts; an answer's text grows in its row, and its message is complete last.
    """
    info, clock = export.info, count(START)
    row = (info["id"], "global", info.get("parentID"), "slug", info["directory"], "t", "1", _json(info.get("revert")))
    yield "INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, info["time"]["created"], next(clock))
    for message in export.messages:
        whole = message["info"]
        data = {name: value for name, value in whole.items() if name not in ("id", "sessionID")}
        times = whole.get("time") or {}
        created = times.get("created", START)
        first = {**data, "time": {"created": created}, "error": None} if "completed" in times else data
        insert = "INSERT INTO message VALUES (?, ?, ?, ?, ?)"
        yield insert, (whole["id"], info["id"], created, next(clock), json.dumps(first))
        for part in message["parts"]:
            yield from _steps_of(part, info["id"], clock)
        if first != data:
            update = "UPDATE message SET data = ?, time_updated = ? WHERE id = ?"
            yield update, (json.dumps(data), next(clock), whole["id"])


def _steps_of(part: dict[str, Any], session: str, clock: Iterator[int]) -> Iterator[Step]:
    data = {name: value for name, value in part.items() if name not in ("id", "messageID", "sessionID")}
    grows = "time" in data and isinstance(data.get("text"), str)
    at = next(clock)
    first = json.dumps({**data, "text": data["text"][:3]} if grows else data)
    yield "INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", (part["id"], part["messageID"], session, at, at, first)
    if grows:
        update = "UPDATE part SET data = ?, time_updated = ? WHERE id = ?"
        yield update, (json.dumps(data), next(clock), part["id"])


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value)


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


REFUSED = "The user rejected permission to use this specific tool call"
QUESTIONS = {"questions": [{"question": "NOISE?", "options": [{"label": "NOISE"}]}]}


def asked(call: str, *answers: list[str]) -> dict[str, Any]:
    state = {"status": "completed", "input": QUESTIONS, "output": "NOISE", "metadata": {"answers": list(answers)}}
    return {"type": "tool", "tool": "question", "callID": call, "state": state}


def refused(call: str, words: str = "") -> dict[str, Any]:
    feedback = f" with the following feedback: {words}" if words else "."
    state = {"status": "error", "input": {"command": "NOISE"}, "error": REFUSED + feedback}
    return {"type": "tool", "tool": "bash", "callID": call, "state": state}


def grown(said: str) -> dict[str, Any]:
    """A text that the client writes little by little."""
    return text(said, time={"start": START, "end": START + 1})


def rich() -> Export:
    """A chat with everything of level 2, and with words that the user wrote while an answer was being made."""
    export = chat()

    def at(number: int, *, ends: int | None = None) -> dict[str, Any]:
        return {"created": START + 100_000 + number, **({} if ends is None else {"completed": START + 100_000 + ends})}

    export.message("user", text("挑一个编辑器"), text("and a colour"), time=at(0))
    answer = (grown("先问一下。"), asked("c1", ["Vim"], ["蓝色", "green"]), grown("记住了。"))
    export.message("assistant", {"type": "step-start"}, *answer, time=at(1, ends=9))
    export.message("user", text("顺便：我对花生过敏"), time=at(2))
    export.message("assistant", refused("c2", "不要用 sudo"), refused("c3"), grown("Understood."), time=at(10, ends=12))
    export.message("user", text("最后一句"), time=at(20))
    return export


RICH = [
    *CHAT,
    ("user", "挑一个编辑器\nand a colour"),
    ("assistant", "先问一下。"),
    ("user", "Vim\n蓝色\ngreen"),
    ("assistant", "记住了。"),
    ("user", "顺便：我对花生过敏"),
    ("user", "不要用 sudo"),
    ("assistant", "Understood."),
    ("user", "最后一句"),
]


def of(path: Path, session: str = "ses_1", *, quiet: bool = True) -> Transcript:
    return ADAPTER.read_session(path, session, Cursor(), quiet=quiet)


def changed(path: Path, statement: str, *values: object) -> None:
    write(path, (statement, values))


def prefixed(export: Export) -> Export:
    """The same session with ids of its own."""
    for message in export.messages:
        message["info"]["id"] = f"{export.info['id']}_{message['info']['id']}"
        for part in message["parts"]:
            part |= {"id": f"{export.info['id']}_{part['id']}", "messageID": message["info"]["id"]}
    return export

"""What a user has on disk: session files as Claude Code writes them, and a meX home that is set up for the stream."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.replay.life import Life, Session

_BETWEEN_TURNS = timedelta(seconds=40)
_FIRST_HOUR = 9


def write_sessions(folder: Path, life: Life) -> list[Path]:
    """Write a session file for each session of a life and return them by date."""
    folder.mkdir(parents=True, exist_ok=True)
    return [_write_session(folder / f"{session.name}.jsonl", session, life.user) for session in life.sessions]


def said_at(session: Session, turn: int) -> datetime:
    """Return when a turn was said."""
    day = datetime.fromisoformat(session.day).replace(hour=_FIRST_HOUR, tzinfo=UTC)
    return day + turn * _BETWEEN_TURNS


def _write_session(path: Path, session: Session, user: str) -> Path:
    name = f"{user}-{session.name}"
    with path.open("w", encoding="utf-8") as file:
        for number, turn in enumerate(session.turns):
            record = {
                "parentUuid": f"{name}-{number - 1}" if number else None, "isSidechain": False, "userType": "external",
                "cwd": "/home/lin/notes", "sessionId": name, "version": "2.1.40", "type": turn.role,
                "message": _message(turn.role, turn.text, f"msg-{name}-{number}"), "uuid": f"{name}-{number}",
                "timestamp": f"{said_at(session, number):%Y-%m-%dT%H:%M:%S}.250Z",
            }  # fmt: skip
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    return path


def _message(role: str, text: str, name: str) -> dict[str, object]:
    if role == "user":
        return {"role": role, "content": text}
    return {"id": name, "role": role, "content": [{"type": "text", "text": text}]}


def resumed_copy(path: Path, target: Path) -> Path:
    """Write the same messages as a resumed session holds them, under a session id of its own; return the new file."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    lines = (json.dumps(record | {"sessionId": target.stem}, ensure_ascii=False) for record in records)
    target.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return target


def make_home(home: Path, life: Life, url: str) -> Path:
    """Make a home whose schema is the life's slots and whose model is the endpoint at `url`."""
    home.mkdir(parents=True)
    (home / "schema.yaml").write_text("\n".join(["topics:", *_topics(life.slots)]) + "\n", encoding="utf-8")
    (home / "config.yaml").write_text("\n".join(_settings(life.language, url)) + "\n", encoding="utf-8")
    return home


def _topics(slots: dict[str, bool]) -> list[str]:
    lines: list[str] = []
    for topic in dict.fromkeys(slot.partition(".")[0] for slot in slots):
        lines += [f"  {topic}:", f"    description: {topic}", "    sub_topics:"]
        own = [(slot.partition(".")[2], is_unique) for slot, is_unique in slots.items() if slot.startswith(f"{topic}.")]
        for name, is_unique in own:
            lines += [f"      {name}:", f"        description: {name.replace('_', ' ')}"]
            lines += [] if is_unique else ["        unique: false"]
    return lines


def _settings(language: str, url: str) -> Sequence[str]:
    return (
        f"language: {language}",
        "llm:",
        f'  base_url: "{url}"',
        '  api_key: "bench"',
        '  model: "scripted"',
        "  retry_base_seconds: 0.02",
        "extraction:",
        "  quiet_seconds: 0",
        "worker:",
        "  autostart: false",
    )

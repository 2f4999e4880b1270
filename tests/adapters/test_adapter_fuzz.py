"""Whatever a file holds, an adapter gives a transcript or a MexError, and its transcript can be stored."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mex_pipeline.adapters import registry
from mex_pipeline.adapters.plain import parse_plain
from mex_pipeline.domain.conversation import Cursor, Transcript
from mex_pipeline.errors import MexError
from tests.adapters.claude_session import chat, wild
from tests.adapters.growing import identity
from tests.support.extent import tries

NAMES = "claude codex gemini codebuddy workbuddy chatgpt claude-ai opencode markdown plain"
ADAPTERS = {name: registry.find(name) for name in NAMES.split()}
COUNTED = settings(max_examples=tries(120), deadline=None)

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner)
)
names = st.sampled_from(
    ["type", "text", "content", "message", "id", "uuid", "origin", "kind", "timestamp", "cwd", "sessionId", "isMeta",
     "attachment", "operation", "toolUseResult", "is_error", "model", "answers", "parentUuid", "logicalParentUuid",
     "prompt", "source_uuid", "commandUuid", "reason", "userFeedback", "annotations", "notes", "enqueue", "remove",
     "$set", "$rewindTo", "messages", "toolCalls", "displayContent", "payload", "role", "providerData", "mapping"]
)  # fmt: skip
words = st.sampled_from(
    ["user", "assistant", "text", "tool_result", "attachment", "queue-operation", "summary", "queued_command",
     "<command-args>", "[Request interrupted by user]", "<system-reminder>", "</system-reminder>",
     "gemini", "message", "response_item", "event_msg", "user_message", "ask_user"]
)  # fmt: skip
claude_like = st.recursive(
    scalars | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=6),
    max_leaves=20,
)
record = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "attachment", "queue-operation", "x"])},
    optional={
        "message": claude_like,
        "uuid": scalars,
        "timestamp": scalars,
        "origin": claude_like,
        "parentUuid": scalars,
        "toolUseResult": claude_like,
        "attachment": claude_like,
        "operation": st.sampled_from(["enqueue", "remove", "popAll"]) | claude_like,
        "content": scalars | words,
    },
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "s.jsonl"


def check(transcript: Transcript, size: int) -> None:
    """Storable, countable, and with positions inside the file."""
    cursor = transcript.cursor
    assert 0 <= cursor.resume <= cursor.off <= size
    assert Cursor.from_json(cursor.to_json()) == cursor
    assert all(count > 0 for count in transcript.dropped.values())
    for turn in transcript.turns:
        assert turn.text.strip()
        "\n".join([turn.key, turn.text, turn.message_id or "", turn.session_id or "", turn.at or ""]).encode()
        assert turn.at is None or len(turn.at) == len("2026-03-01T08:00:00Z")
    assert len({turn.key for turn in transcript.turns}) == len(transcript.turns)


def feed(path: Path, data: bytes, since: Cursor, until: int | None = None, *, quiet: bool = False) -> None:
    path.write_bytes(data)
    for adapter in ADAPTERS.values():
        with suppress(MexError):
            check(adapter.read(path, since, quiet=quiet, until=until), len(data))
        adapter.detect(path)


@COUNTED
@given(data=st.binary(max_size=400), cut=st.integers(0, 3000), quiet=st.booleans())
def test_arbitrary_bytes_alone_and_in_a_session_never_break_a_read(
    path: Path, data: bytes, cut: int, *, quiet: bool
) -> None:
    """I6: also as the growth of a session that was read before, and with any end."""
    feed(path, data, Cursor(), quiet=quiet)
    session = chat().data()
    path.write_bytes(session)
    cursor = ADAPTERS["claude"].read(path, Cursor(), quiet=True).cursor
    feed(path, session + data, cursor, quiet=quiet)
    feed(path, session[:cut] + data + session[cut:], cursor, quiet=quiet)
    feed(path, session, cursor, until=cut)


@COUNTED
@given(
    values=st.lists(record | st.dictionaries(names, claude_like, max_size=8) | anything, max_size=6),
    quiet=st.booleans(),
)
def test_records_of_any_shape_never_break_a_read(path: Path, values: list[Any], *, quiet: bool) -> None:
    """Right names with wrong types in them, lone surrogates in any place."""
    lines = [json.dumps(value).encode() for value in values]
    feed(path, b"\n".join([*wild().lines[:2], *lines, b""]), Cursor(), quiet=quiet)


storable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=200)


@COUNTED
@given(text=storable | st.lists(st.sampled_from(["User: a", "AI：b", "", "# h", "x"])).map("\n".join))
def test_any_text_and_a_file_of_it_give_the_same_turns(path: Path, text: str) -> None:
    """Only the positions differ: those of a file are its bytes."""
    feed(path, text.encode(), Cursor())
    in_file, given_text = ADAPTERS["plain"].read(path, Cursor(), quiet=True), parse_plain(text)
    check(given_text, len(text.encode()))
    assert identity(in_file.turns) == identity(given_text.turns)
    assert in_file.cursor.content_sha == given_text.cursor.content_sha

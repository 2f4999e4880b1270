"""Whatever an export holds, its adapters give transcripts that can be stored, or one of the three errors of a source."""

import copy
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mex_pipeline.domain.conversation import Cursor, Transcript
from mex_pipeline.errors import InvalidInput, SourceFormat, SourceGone, SourceUnreadable
from tests.adapters.export_files import CHATGPT, CLAUDE_AI, Cai, cai_chat, gpt_chat, text_of
from tests.support.extent import tries

COUNTED = settings(max_examples=tries(100), deadline=None)
SOURCE_ERRORS = (SourceGone, SourceUnreadable, SourceFormat)

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20)
words = st.sampled_from(
    [
        "user",
        "assistant",
        "human",
        "text",
        "multimodal_text",
        "gpt-1-2",
        "cai-1-3",
        "gpt-1-root",
        "audio_transcription",
        "all",
    ]
)
anything = st.recursive(
    scalars | words,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["text", "id", "content_type", "parts", "role", "message", "type"]), inner)
    ),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "export"


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a JSON tree with each of its keys."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


def check(transcript: Transcript) -> None:
    cursor = transcript.cursor
    assert 0 <= cursor.resume <= cursor.off <= cursor.size
    assert all(count > 0 for count in transcript.dropped.values())
    for turn in transcript.turns:
        assert turn.text.strip()
        "\n".join([turn.key, turn.text, turn.message_id or "", turn.session_id or "", turn.at or ""]).encode()
        assert turn.at is None or len(turn.at) == len("2026-03-01T08:00:00Z")
        assert turn.end <= cursor.off
    assert len({turn.key for turn in transcript.turns}) == len(transcript.turns)


def feed(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    for adapter in (CHATGPT, CLAUDE_AI):
        adapter.detect(path)
        try:
            for transcript in adapter.conversations(path) or ():
                check(transcript)
                (transcript.session_id or "").encode()
        except SOURCE_ERRORS:
            pass
        for until in (None, 2):
            try:
                check(adapter.read(path, Cursor(off=3, content_sha="x"), quiet=True, until=until))
            except (*SOURCE_ERRORS, InvalidInput):
                continue


@COUNTED
@given(data=st.data())
def test_changed_trees_never_break_a_read(path: Path, data: st.DataObject) -> None:
    """I6: right names with wrong values, links to anywhere, missing keys."""
    for chat in (gpt_chat(), cai_chat()):
        tree = {"it": copy.deepcopy(chat.value())}
        for _ in range(data.draw(st.integers(1, 4))):
            container, key = data.draw(st.sampled_from(list(places(tree))))
            if data.draw(st.booleans()) or isinstance(container, list) or container is tree:
                container[key] = data.draw(anything)
            else:
                del container[key]
        other = cai_chat("b") if isinstance(chat, Cai) else gpt_chat("b")
        feed(path, text_of(tree["it"], other).encode("utf-8", "surrogatepass"))
        feed(path, json.dumps(tree["it"]).encode())


@COUNTED
@given(junk=st.binary(max_size=40), cut=st.integers(0, 4000), is_packed=st.booleans())
def test_broken_bytes_never_break_a_read(path: Path, junk: bytes, cut: int, is_packed: bool) -> None:
    """I6: alone, inside an export, inside its zip, and where one ends too early."""
    data = text_of(gpt_chat(), cai_chat()).encode()
    if is_packed:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("conversations.json", data)
        data = path.read_bytes()
    cut %= len(data)
    feed(path, junk)
    feed(path, data[:cut])
    feed(path, data[:cut] + junk + data[cut:])
    feed(path, data[:cut] + junk + data[cut + len(junk) :])

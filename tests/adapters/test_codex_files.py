"""The files that hold Codex rollouts: compressed ones, documents, damaged ones, any content at all, and where they lie."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st

from mex_pipeline.adapters import registry
from mex_pipeline.domain.conversation import Cursor, Transcript
from mex_pipeline.errors import MexError, SourceFormat, SourceUnreadable
from tests.adapters.codex_session import ADAPTER, CHAT, STYLES, Rollout, chat, document, whole, wild
from tests.adapters.corpus import CORPUS, needs_corpus
from tests.adapters.growing import identity, said
from tests.support.extent import tries

CX01 = CORPUS / "sessions" / "cx01-three-turns.jsonl"


def test_the_oldest_documents_give_what_bare_rollouts_give(tmp_path: Path) -> None:
    """{session, items}: the same turns under the same keys."""
    path = tmp_path / "rollout.json"
    path.write_bytes(document(chat("bare")))
    assert registry.recognise(path) == "codex"
    transcript = whole(path, quiet=False)
    assert said(transcript) == CHAT
    assert identity(transcript.turns) == identity(whole(chat("bare").write(tmp_path / "s.jsonl")).turns)
    assert transcript.turns[0].at == "2025-06-01T08:00:00Z"
    assert not any(turn.held for turn in transcript.turns), "nobody writes such files any more"
    again = ADAPTER.read(path, transcript.cursor, quiet=False)
    assert (again.reset, again.cursor) == (None, transcript.cursor)


def packed(path: Path, data: bytes) -> Path:
    path.write_bytes(zstd.compress(data))
    return path


@pytest.mark.parametrize("style", STYLES)
def test_a_compressed_rollout_gives_what_the_plain_one_gives(tmp_path: Path, style: str) -> None:
    """Keys and positions are those of the content; it is finished, so nothing is held."""
    data = wild(style).data()
    plain = whole(wild(style).write(tmp_path / "s.jsonl"))
    path = packed(tmp_path / "s.jsonl.zst", data)
    assert registry.recognise(path) == "codex"
    transcript = whole(path, quiet=False)
    assert transcript == plain
    assert transcript.cursor.off == len(data)
    first = ADAPTER.read(path, Cursor(), quiet=False, until=plain.turns[3].end)
    rest = ADAPTER.read(path, first.cursor, quiet=False)
    assert rest.reset is None
    assert {turn.key for turn in (*first.turns, *rest.turns)} == {turn.key for turn in plain.turns}


@needs_corpus
def test_a_compressed_copy_of_a_real_rollout_gives_the_same(tmp_path: Path) -> None:
    """cx01."""
    assert whole(packed(tmp_path / "x", CX01.read_bytes())) == whole(CX01)


def test_a_compressed_rollout_is_read_in_bounded_memory(tmp_path: Path) -> None:
    """I7: 80 MB of tool output in a small file; what is held does not depend on it."""
    path = tmp_path / "s.jsonl.zst"
    with zstd.open(path, "wb") as file:
        file.write(chat().data())
        for _ in range(80):
            output = "A" * 1_000_000
            file.write(b'{"timestamp":"","type":"response_item","payload":{"type":"function_call_output","output":"')
            file.write(output.encode() + b'"}}\n')
        file.write(Rollout("later").data())
    tracemalloc.start()
    try:
        transcript = whole(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert said(transcript) == CHAT
    assert transcript.cursor.off > 80_000_000
    assert peak < 12_000_000


@pytest.mark.parametrize("damage", ["cut", "changed", "header"])
def test_a_damaged_compressed_rollout_is_named_as_such(tmp_path: Path, damage: str) -> None:
    """Cut off, changed inside, or only the first bytes of one: an error, never half a session."""
    data = zstd.compress(chat().data() * 20, options={zstd.CompressionParameter.checksum_flag: 1})
    broken = {"cut": data[:-10], "changed": data[:200] + b"\xff" * 50 + data[250:], "header": data[:4]}[damage]
    path = tmp_path / "s.jsonl.zst"
    path.write_bytes(broken)
    ADAPTER.detect(path)
    with pytest.raises(SourceFormat) as caught:
        whole(path)
    assert (caught.value.code, caught.value.params) == ("source_damaged", {"path": str(path), "adapter": "codex"})


@pytest.mark.parametrize("data", [b'{"session": {}, "items": [{"type":', b'{"session": {}, "items": []} x'])
def test_a_damaged_document_is_named_as_such(tmp_path: Path, data: bytes) -> None:
    """It is one JSON value, whole or nothing."""
    path = tmp_path / "rollout.json"
    path.write_bytes(data)
    assert ADAPTER.detect(path)
    with pytest.raises(SourceFormat) as caught:
        whole(path)
    assert caught.value.code == "source_damaged"


def test_a_document_is_read_whole_only_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest client wrote small ones."""
    path = tmp_path / "rollout.json"
    path.write_bytes(document(chat("bare")))
    monkeypatch.setattr("mex_pipeline.adapters.codex_records.LINE_CAP", 1000)
    with pytest.raises(SourceUnreadable) as caught:
        whole(path)
    assert (caught.value.code, caught.value.params["limit"]) == ("source_too_large", 1000)


def test_rollouts_are_found_where_codex_keeps_them(tmp_path: Path) -> None:
    """Under CODEX_HOME or ~/.codex, archived ones too, of every shape, a plain one before its compressed copy."""
    day = tmp_path / ".codex" / "sessions" / "2026" / "03" / "01"
    old = tmp_path / ".codex" / "archived_sessions"
    for folder in (day, old):
        folder.mkdir(parents=True)
    names = ["rollout-a.jsonl", "rollout-a.jsonl.zst", "rollout-b.jsonl.zst", "history.jsonl", "rollout-c.txt"]
    for path in (*(day / name for name in names), old / "rollout-d.jsonl", old.parent / "sessions" / "rollout-e.json"):
        path.touch()
    found = {path.name for path in ADAPTER.places(tmp_path, {})}
    assert found == {"rollout-a.jsonl", "rollout-b.jsonl.zst", "rollout-d.jsonl", "rollout-e.json"}
    assert {path.name for path in ADAPTER.places(Path("/x"), {"CODEX_HOME": str(tmp_path / ".codex")})} == found
    assert list(ADAPTER.places(tmp_path / "none", {})) == []
    assert ADAPTER.kept_days(tmp_path, {}) is None


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20)
names = st.sampled_from(
    ["type", "payload", "timestamp", "role", "content", "text", "message", "id", "turn_id", "item", "source", "kind",
     "thread_source", "cwd", "internal_chat_message_metadata_passthrough", "content_item_metadata", "provenance"]
)  # fmt: skip
words = st.sampled_from(
    ["event_msg", "response_item", "session_meta", "turn_context", "message", "user", "assistant", "user_message",
     "item_completed", "UserMessage", "task_started", "task_complete", "turn_aborted", "plain", "hello"]
)  # fmt: skip
anything = st.recursive(
    scalars | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=6),
    max_leaves=20,
)
record = st.fixed_dictionaries({"type": words}, optional={"payload": anything, "timestamp": scalars, "role": words})


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("codex") / "s.jsonl"


def check(transcript: Transcript) -> None:
    """Storable, countable, each key once."""
    assert all(count > 0 for count in transcript.dropped.values())
    for turn in transcript.turns:
        assert turn.text.strip()
        "\n".join([turn.key, turn.text, turn.message_id or "", turn.session_id or "", turn.at or ""]).encode()
    assert len({turn.key for turn in transcript.turns}) == len(transcript.turns)


@settings(max_examples=tries(150), deadline=None)
@given(values=st.lists(record, max_size=6), rubbish=st.binary(max_size=60), style=st.sampled_from(STYLES))
def test_whatever_a_rollout_holds_a_read_gives_a_transcript(
    fuzzed: Path, values: list[dict[str, Any]], rubbish: bytes, style: str
) -> None:
    """I6: records of any content, alone and behind a session; plain, compressed, as a document."""
    lines = b"\n".join(json.dumps(value).encode() for value in values)
    for data in (
        lines,
        chat(style).data() + lines + b"\n" + rubbish,
        zstd.compress(lines) + rubbish,
        json.dumps({"session": values[0] if values else None, "items": values}).encode() + rubbish,
    ):
        fuzzed.write_bytes(data)
        ADAPTER.detect(fuzzed)
        for quiet in (True, False):
            try:
                check(ADAPTER.read(fuzzed, Cursor(), quiet=quiet))
            except MexError:
                continue

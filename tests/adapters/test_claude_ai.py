"""Claude.ai's export: blocks and not their summary, the path that was shown, pasted material left out."""

import json
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.adapters import registry
from mex_pipeline.adapters.cleaning import assistant_text
from mex_pipeline.errors import InvalidInput, SourceFormat
from tests.adapters.claude_session import chat as claude_code_chat
from tests.adapters.corpus import CORPUS, needs_corpus, sha, truth
from tests.adapters.export_files import CHATGPT, CLAUDE_AI, ROOT, Cai, cai_chat, every, gpt_chat, said, whole, write
from tests.adapters.opencode_session import chat as opencode_chat

SESSIONS = CORPUS / "sessions"


def one(path: Path, cai: Cai) -> Any:
    return whole(CLAUDE_AI, write(path, cai))


@needs_corpus
@pytest.mark.parametrize("name", [name for name in truth("sessions") if name.startswith("cai")])
def test_a_real_conversation_gives_the_turns_of_the_truth(name: str) -> None:
    """I4; the truth has the assistant's texts with the thinking and artifacts that are taken out of turns."""
    expected, path = truth("sessions")[name], SESSIONS / name
    assert registry.detect(path).name == "claude-ai"
    assert CLAUDE_AI.conversations(path) is None
    transcript = whole(CLAUDE_AI, path)
    users = [turn.text for turn in transcript.turns if turn.role == "user"]
    assert [sha(text) for text in users] == [entry["sha"] for entry in expected["user"]]
    raw = [
        "\n".join(block["text"] for block in message["content"])
        for message in json.loads(path.read_text("utf-8"))["chat_messages"]
        if message["sender"] == "assistant"
    ]
    assert [sha(text) for text in raw] == [entry["sha"] for entry in expected["assistant"]]
    answers = [turn.text for turn in transcript.turns if turn.role == "assistant"]
    assert answers == [assistant_text(text) for text in raw]
    assert not any("antThinking" in text or "antArtifact" in text for text in answers)
    assert transcript.dropped == {"image": 1}


@needs_corpus
def test_other_formats_of_the_corpus_are_not_claude_ais() -> None:
    for path in (*SESSIONS.iterdir(), *(CORPUS / "real-clients").iterdir()):
        assert CLAUDE_AI.detect(path) == path.name.startswith("cai"), path.name


def test_a_conversation_gives_its_turns_with_times_and_keys(tmp_path: Path) -> None:
    (transcript,) = every(CLAUDE_AI, write(tmp_path / "c.json", cai_chat(), indent=2))
    assert said(transcript) == [
        ("user", "我住在成都 cai-1"), ("assistant", "好的。"), ("user", "I prefer tea. 😀"), ("assistant", "Noted."),
    ]  # fmt: skip
    first = transcript.turns[0]
    assert (first.key, first.message_id, first.session_id) == ("u:cai-1-1", "cai-1-1", "cai-1")
    assert (first.at, first.kind) == ("2026-03-01T08:00:01Z", "typed")
    assert (transcript.agent, transcript.session_id, transcript.dropped) == ("claude-ai", "cai-1", {})
    assert transcript.cursor.off == first.end == 1_772_352_600_500


def test_blocks_are_read_and_their_summary_only_where_there_are_none(tmp_path: Path) -> None:
    """`text` joins the blocks and holds placeholders for tools: never both (session-formats §3.6)."""
    cai = Cai()
    cai.says("human", "first block", "second", text="NOISE first block second")
    cai.says("human", text="only here", content=[])
    cai.says("human", text="nor here a block", content=...)
    cai.says("human", "", text="an empty block")
    cai.says(
        "assistant",
        {"type": "thinking", "thinking": "NOISE"},
        {"type": "tool_use", "input": {"text": "NOISE"}},
        {"type": "tool_result", "content": [{"type": "text", "text": "NOISE"}]},
        text="NOISE This block is not supported on your current device yet.",
    )
    cai.says("assistant", "<antThinking>NOISE</antThinking>答", {"type": "flag"}, {"type": "text", "text": 7}, "案")
    transcript = one(tmp_path / "c.json", cai)
    assert said(transcript) == [
        ("user", "first block\nsecond"), ("user", "only here"), ("user", "nor here a block"), ("user", "an empty block"),
        ("assistant", "答\n案"),
    ]  # fmt: skip
    assert transcript.dropped == {"thinking": 1, "tool_use": 1, "tool_result": 1, "unknown_block": 1, "malformed": 1}


def test_pasted_material_is_not_speech(tmp_path: Path) -> None:
    """What hangs on a message is counted, its content never looked at."""
    cai = Cai()
    pasted = [{"file_name": "paste.txt", "extracted_content": "NOISE I live in Rome"}]
    cai.says("human", "总结一下", attachments=pasted, files=[{"file_kind": "image"}, {"file_name": "a.pdf"}])
    cai.says("human", attachments=pasted)
    transcript = one(tmp_path / "c.json", cai)
    assert said(transcript) == [("user", "总结一下")]
    assert transcript.dropped == {"document": 3, "image": 1}


def edited() -> Cai:
    cai = cai_chat()
    cai.says("human", "edited", parent="cai-1-2")
    cai.says("assistant", "newest")
    return cai


def test_of_edited_prompts_the_one_on_the_way_to_the_newest_leaf_is_read(tmp_path: Path) -> None:
    transcript = one(tmp_path / "c.json", edited())
    assert [turn.message_id for turn in transcript.turns] == ["cai-1-1", "cai-1-2", "cai-1-5", "cai-1-6"]
    assert transcript.dropped == {"off_path": 2}


def test_the_leaf_that_the_conversation_names_wins(tmp_path: Path) -> None:
    """Unless it is none of its messages."""
    cai = edited()
    cai.top["current_leaf_message_uuid"] = "cai-1-4"
    assert [turn.text for turn in one(tmp_path / "a.json", cai).turns][2:] == ["I prefer tea. 😀", "Noted."]
    cai.top["current_leaf_message_uuid"] = "gone"
    assert [turn.text for turn in one(tmp_path / "b.json", cai).turns][2:] == ["edited", "newest"]


def test_an_edited_first_prompt_stands_beside_the_old_one(tmp_path: Path) -> None:
    cai = cai_chat()
    cai.says("human", "anew", parent=ROOT)
    transcript = one(tmp_path / "c.json", cai)
    assert (said(transcript), transcript.dropped) == ([("user", "anew")], {"off_path": 4})


@pytest.mark.parametrize("parent", [..., None, "gone", 3])
def test_without_known_parents_messages_follow_each_other(tmp_path: Path, parent: Any) -> None:
    """Older exports have no such key."""
    cai = cai_chat()
    for message in cai.messages:
        message["parent_message_uuid"] = parent
        if parent is ...:
            del message["parent_message_uuid"]
    assert len(one(tmp_path / "c.json", cai).turns) == 4


def test_circles_end_and_equal_or_missing_ids_lose_nothing(tmp_path: Path) -> None:
    cai = cai_chat()
    cai.messages[0]["parent_message_uuid"] = "cai-1-4"
    assert len(one(tmp_path / "a.json", cai).turns) == 4
    cai = cai_chat()
    for message, uuid in zip(cai.messages, ["x", "x", None, 5], strict=True):
        message |= {"uuid": uuid, "parent_message_uuid": None}
    turns = one(tmp_path / "b.json", cai).turns
    assert len({turn.key for turn in turns}) == 4


def test_a_message_without_a_time_has_the_one_before_its(tmp_path: Path) -> None:
    cai = cai_chat()
    for place in (0, 2):
        cai.messages[place]["created_at"] = None
    cai.top["updated_at"] = None
    (transcript,) = every(CLAUDE_AI, write(tmp_path / "c.json", cai))
    seconds = [turn.at[-3:-1] for turn in transcript.turns if turn.at]
    assert seconds == ["00", "02", "02", "04"]
    assert transcript.cursor.off == 1_772_352_000_250


def test_of_several_conversations_one_has_to_be_named(tmp_path: Path) -> None:
    path = write(tmp_path / "c.json", cai_chat(), cai_chat("cai-2"))
    with pytest.raises(InvalidInput) as caught:
        whole(CLAUDE_AI, path)
    assert (caught.value.code, caught.value.params) == ("session_needed", {"path": str(path), "count": 2})


def test_files_beside_the_conversations_are_of_no_kind(tmp_path: Path) -> None:
    """memories.json is written by the model."""
    users = [{"uuid": "u", "full_name": "林", "email_address": "NOISE"}]
    projects = [{"uuid": "p", "name": "n", "description": "NOISE", "docs": [], "created_at": "2026-03-01T08:00:00Z"}]
    memories = [{"conversations_memory": "NOISE", "project_memories": {}, "account_uuid": "a"}]
    for number, value in enumerate((users, projects, memories)):
        path = tmp_path / str(number)
        path.write_text(json.dumps(value))
        with pytest.raises(InvalidInput) as caught:
            registry.detect(path)
        assert caught.value.code == "unknown_format"
        for adapter in (CLAUDE_AI, CHATGPT):
            with pytest.raises(SourceFormat) as refused:
                whole(adapter, path)
            assert refused.value.code == "source_format"


def test_exports_and_sessions_of_others_refuse_each_other(tmp_path: Path) -> None:
    """Each hand-made format is taken by its own adapter alone, as an array and as a single line."""
    files = {
        "chatgpt": write(tmp_path / "g", gpt_chat()),
        "claude-ai": write(tmp_path / "c", cai_chat()),
        "claude": claude_code_chat().write(tmp_path / "s"),
        "opencode": opencode_chat().write(tmp_path / "o"),
        "plain": tmp_path / "p",
    }
    files["plain"].write_text("我住在成都。", encoding="utf-8")
    for name in ("chatgpt", "claude-ai"):
        single = tmp_path / f"one-{name}"
        single.write_bytes(files[name].read_bytes()[1:-1] + b"\n")
        assert registry.detect(single).name == name
    for name, path in files.items():
        takers = [adapter.name for adapter in registry.every() if adapter.detect(path)]
        assert takers == [name]
        for other in {"chatgpt", "claude-ai"} - {name}:
            with pytest.raises(SourceFormat) as refused:
                whole(registry.find(other), path)
            assert refused.value.params == {"path": str(path), "adapter": other}

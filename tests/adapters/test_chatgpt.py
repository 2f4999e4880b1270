"""ChatGPT's export: the path that was shown, what on it is speech, and what is written once for all conversations."""

from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.adapters import registry
from mex_pipeline.domain.conversation import PROMPT_MARK, Cursor
from mex_pipeline.errors import InvalidInput
from tests.adapters.corpus import CORPUS, needs_corpus, sha, truth
from tests.adapters.export_files import CHATGPT, START, Gpt, every, gpt_chat, said, text_of, whole, write

SESSIONS = CORPUS / "sessions"
HIDDEN = {"metadata": {"is_visually_hidden_from_conversation": True}}
PROFILE = (
    "The user provided the following information about themselves. Only NOISE.\nUser profile:\n```我叫林\n```x``` y```"
)
WISHES = "The user provided the additional info about how they would like you to respond:\n```Short answers.```"


def one(path: Path, gpt: Gpt) -> Any:
    return whole(CHATGPT, write(path, gpt))


@needs_corpus
@pytest.mark.parametrize("name", [name for name in truth("sessions") if name.startswith("gpt")])
def test_a_real_export_gives_the_turns_of_the_truth(name: str) -> None:
    """I3, I4: the shown branch only, by `read` and as an archive."""
    expected, path = truth("sessions")[name], SESSIONS / name.partition("#")[0]
    assert registry.detect(path).name == "chatgpt"
    for transcript in (whole(CHATGPT, path), *every(CHATGPT, path)):
        for role in ("user", "assistant"):
            texts = [turn.text for turn in transcript.turns if turn.role == role]
            assert [sha(text) for text in texts] == [entry["sha"] for entry in expected[role]]
        for words in expected["must_not_contain"]:
            assert not any(words in turn.text for turn in transcript.turns)
        assert transcript.dropped == {"system": 1, "off_path": 5}


@needs_corpus
def test_other_formats_of_the_corpus_are_not_chatgpts() -> None:
    for path in (*SESSIONS.iterdir(), *(CORPUS / "real-clients").iterdir()):
        assert CHATGPT.detect(path) == path.name.startswith("gpt"), path.name


def test_a_conversation_gives_its_turns_with_times_and_keys(tmp_path: Path) -> None:
    """Keys are the messages' ids; the position is the time of the last change."""
    (transcript,) = every(CHATGPT, write(tmp_path / "c.json", gpt_chat(), indent=2))
    assert said(transcript) == [
        ("user", "我住在成都 gpt-1"), ("assistant", "好的。"), ("user", "I prefer tea. 😀"), ("assistant", "Noted."),
    ]  # fmt: skip
    first = transcript.turns[0]
    assert (first.key, first.message_id, first.session_id) == ("u:gpt-1-1", "gpt-1-1", "gpt-1")
    assert (first.at, first.kind, first.held) == ("2026-03-01T08:00:01Z", "typed", False)
    assert (transcript.agent, transcript.session_id, transcript.dropped) == ("chatgpt", "gpt-1", {})
    assert transcript.cursor.off == first.end == 1000 * START + 600_500


def test_only_what_person_and_model_said_to_each_other_is_kept(tmp_path: Path) -> None:
    """Session-formats §3.5; everything else is counted by its reason."""
    gpt = Gpt()
    gpt.says("system", "", **HIDDEN)
    gpt.says("user", "画一只猫", {"content_type": "image_asset_pointer", "asset_pointer": "NOISE"})
    gpt.node("assistant", {"content_type": "thoughts", "thoughts": [{"content": "NOISE"}]})
    gpt.node("assistant", {"content_type": "reasoning_recap", "content": "NOISE"})
    gpt.node("assistant", {"content_type": "code", "text": "NOISE"}, recipient="python")
    gpt.node("tool", {"content_type": "execution_output", "text": "NOISE"})
    gpt.node("assistant", {"content_type": "tether_quote", "text": "NOISE"})
    gpt.says("assistant", "NOISE remembers", recipient="bio")
    gpt.says("assistant", "NOISE hidden", **HIDDEN)
    gpt.node("assistant", {"content_type": "model_editable_context", "model_set_context": "NOISE"})
    gpt.node("assistant", {"content_type": "holograms"})
    gpt.node("critic", {"content_type": "text", "parts": ["NOISE"]})
    gpt.node("assistant", {"content_type": "system_error", "text": "NOISE"})
    gpt.says("assistant", "喵 \ue200cite\ue202turn0search1\ue201好【4:0†source.pdf】。")
    gpt.says(
        "user", {"content_type": "audio_transcription", "text": "谢谢 【†】"}, {"content_type": "audio_asset_pointer"}
    )
    gpt.says("user", "  ")
    transcript = one(tmp_path / "c.json", gpt)
    assert said(transcript) == [("user", "画一只猫"), ("assistant", "喵 好。"), ("user", "谢谢 【†】")]
    assert transcript.dropped == {
        "system": 1, "image": 1, "thinking": 2, "tool_use": 2, "tool_result": 2, "hidden": 1, "model_memory": 1,
        "unknown_type": 1, "unknown_role": 1, "api_error": 1, "audio": 1, "empty": 1,
    }  # fmt: skip


def test_of_edited_branches_only_the_one_that_was_shown_last_is_read(tmp_path: Path) -> None:
    """The others are counted, not lost without a word."""
    gpt = gpt_chat()
    gpt.says("user", "NOISE first try", parent="gpt-1-2")
    gpt.says("assistant", "NOISE")
    gpt.top["current_node"] = "gpt-1-4"
    transcript = one(tmp_path / "c.json", gpt)
    assert [turn.key for turn in transcript.turns] == ["u:gpt-1-1", "a:gpt-1-2", "u:gpt-1-3", "a:gpt-1-4"]
    assert transcript.dropped == {"off_path": 2}


@pytest.mark.parametrize("current", [..., None, "gone", 7])
def test_without_a_current_node_the_newest_leaf_counts(tmp_path: Path, current: Any) -> None:
    """By time, not by place in the file; a leaf without a time is as old as its parent."""
    gpt = gpt_chat()
    gpt.says("user", "NOISE older", parent="gpt-1-2", create_time=START)
    gpt.says("user", "NOISE of no time", parent="gpt-1-1", create_time=None)
    gpt.top["current_node"] = current
    transcript = one(tmp_path / "c.json", gpt)
    assert [turn.message_id for turn in transcript.turns] == ["gpt-1-1", "gpt-1-2", "gpt-1-3", "gpt-1-4"]


def test_missing_children_and_parents_do_not_break_the_path(tmp_path: Path) -> None:
    """Either end of a link is enough; a root may have neither message nor parent."""
    gpt = gpt_chat()
    for node in gpt.nodes.values():
        del node["children"]
    del gpt.nodes["gpt-1-root"]["message"], gpt.nodes["gpt-1-root"]["parent"]
    assert len(one(tmp_path / "a.json", gpt).turns) == 4
    gpt = gpt_chat()
    gpt.nodes["gpt-1-3"]["parent"] = "gone"
    del gpt.nodes["gpt-1-2"]["parent"]
    assert len(one(tmp_path / "b.json", gpt).turns) == 4


def test_a_system_node_in_the_middle_is_stepped_over(tmp_path: Path) -> None:
    gpt = Gpt()
    gpt.says("user", "a")
    gpt.says("system", "NOISE")
    gpt.says("assistant", "b")
    assert said(one(tmp_path / "c.json", gpt)) == [("user", "a"), ("assistant", "b")]


def test_a_message_without_an_id_has_its_nodes(tmp_path: Path) -> None:
    """Fit to be stored."""
    gpt = Gpt("\ud800gpt")
    gpt.says("user", "a", id=None)
    path = tmp_path / "c.json"
    path.write_text(text_of(gpt, ascii_only=True))
    assert [turn.key for turn in whole(CHATGPT, path).turns] == ["u:\ufffdgpt-1"]


def test_a_circle_ends(tmp_path: Path) -> None:
    """And without a leaf to begin at, some message is the newest."""
    gpt = gpt_chat()
    gpt.nodes["gpt-1-1"]["parent"] = "gpt-1-4"
    assert len(one(tmp_path / "a.json", gpt).turns) == 4
    gpt.top["current_node"] = None
    assert len(one(tmp_path / "b.json", gpt).turns) == 4


def test_a_message_without_a_time_has_its_parents(tmp_path: Path) -> None:
    """The first has the conversation's; without any the time is missing, not the message."""
    gpt = Gpt()
    gpt.says("user", "a", create_time=None)
    gpt.says("assistant", "b", create_time=START + 60)
    gpt.says("user", "c", create_time=None)
    times = [turn.at for turn in one(tmp_path / "c.json", gpt).turns]
    assert times == ["2026-03-01T08:00:00Z", "2026-03-01T08:01:00Z", "2026-03-01T08:01:00Z"]
    gpt.top |= {"create_time": None, "update_time": None}
    (transcript,) = every(CHATGPT, write(tmp_path / "d.json", gpt))
    assert [turn.at for turn in transcript.turns] == [None, "2026-03-01T08:01:00Z", "2026-03-01T08:01:00Z"]
    assert transcript.cursor.off == transcript.turns[0].end == 1000 * (START + 60)


def test_custom_instructions_come_once_for_the_whole_export(tmp_path: Path) -> None:
    """Both forms, without the words the service puts around them; oldest first, each once."""
    gpts = [gpt_chat(f"gpt-{number}") for number in range(3)]
    for number, gpt in enumerate(gpts):
        content = {"content_type": "user_editable_context", "user_profile": PROFILE, "user_instructions": WISHES}
        gpt.node("user", content, create_time=START + 90 - number, **HIDDEN)
    about = {"about_user_message": "I was a nurse", "about_model_message": "Short answers."}
    old = {"is_user_system_message": True, "user_context_message_data": about}
    gpts[2].says("system", "NOISE", metadata=old, create_time=START)
    *conversations, last = every(CHATGPT, write(tmp_path / "c.json", *gpts))
    assert [(turn.role, turn.text, turn.kind, turn.at) for turn in last.turns] == [
        ("user", "Short answers.", "document", "2026-03-01T08:00:00Z"),
        ("user", "I was a nurse", "document", "2026-03-01T08:00:00Z"),
        ("user", "我叫林\n```x``` y", "document", "2026-03-01T08:01:28Z"),
    ]
    assert (last.session_id, last.cursor.off) == ("custom-instructions", 1000 * START + 600_500)
    assert [one.dropped for one in conversations] == [*2 * [{"custom_instructions": 1}], {"custom_instructions": 2}]
    assert all(turn.session_id == "custom-instructions" for turn in last.turns)
    (_, again) = every(CHATGPT, write(tmp_path / "d.json", gpts[0]))
    assert {turn.key for turn in again.turns} < {turn.key for turn in last.turns}


def test_a_conversation_without_turns_is_given_with_its_counts(tmp_path: Path) -> None:
    """Also one that has no messages at all."""
    gpt = Gpt("gpt-2")
    gpt.says("tool", "NOISE")
    found = every(CHATGPT, write(tmp_path / "c.json", gpt_chat(), gpt, Gpt("gpt-3"), {"id": "gpt-4", "mapping": None}))
    assert [(one.session_id, len(one.turns), one.dropped) for one in found] == [
        ("gpt-1", 4, {}), ("gpt-2", 0, {"tool_result": 1}), ("gpt-3", 0, {}), ("gpt-4", 0, {}),
    ]  # fmt: skip


def test_a_conversation_of_mexs_own_prompt_gives_no_turns(tmp_path: Path) -> None:
    gpt = Gpt()
    gpt.says("user", f"{PROMPT_MARK} NOISE")
    gpt.says("assistant", "NOISE")
    transcript = one(tmp_path / "c.json", gpt)
    assert (transcript.turns, transcript.dropped) == ((), {"own_prompt": 2})


def test_a_single_conversation_is_read_by_itself(tmp_path: Path) -> None:
    """As the web client loads it: no array. Read again it gives all turns, and says when the path has changed."""
    gpt = gpt_chat()
    gpt.says("tool", "NOISE")
    path = tmp_path / "c.json"
    path.write_text(write(path, gpt).read_text()[1:-1])
    assert registry.detect(path).name == "chatgpt"
    assert CHATGPT.conversations(path) is None
    first = whole(CHATGPT, path)
    assert ([turn.end for turn in first.turns], first.cursor.off, first.reset) == ([1, 2, 3, 4], 5, None)
    again = CHATGPT.read(path, first.cursor, quiet=False)
    assert (again.turns, again.dropped, again.reset) == (first.turns, {}, None)
    part = CHATGPT.read(path, Cursor(), quiet=True, until=2)
    assert (part.turns, part.cursor.off) == (first.turns[:2], 2)
    gpt.says("user", "NOISE edited", parent="gpt-1-2")
    path.write_text(write(path, gpt).read_text()[1:-1])
    assert CHATGPT.read(path, first.cursor, quiet=True).reset == "shorter"
    assert CHATGPT.read(path, whole(CHATGPT, path).cursor, quiet=True).reset is None
    gpt.top["current_node"] = "gpt-1-4"
    path.write_text(write(path, gpt).read_text()[1:-1])
    assert CHATGPT.read(path, Cursor(off=3, content_sha="x"), quiet=True).reset == "content_changed"


def test_of_several_conversations_one_has_to_be_named(tmp_path: Path) -> None:
    path = write(tmp_path / "c.json", gpt_chat(), gpt_chat("gpt-2"), gpt_chat("gpt-3"))
    with pytest.raises(InvalidInput) as caught:
        whole(CHATGPT, path)
    assert (caught.value.code, caught.value.params) == ("session_needed", {"path": str(path), "count": 3})
    assert whole(CHATGPT, write(tmp_path / "none.json")).turns == ()


def test_marks_of_citations_that_nothing_closes_take_linear_time(tmp_path: Path) -> None:
    gpt = Gpt()
    gpt.says("user", "看【4:0†a†b】" + "【" + "†" * 200_000)
    gpt.says("assistant", "【" * 200_000 + "好")
    turns = one(tmp_path / "conversations.json", gpt).turns
    assert turns[0].text.startswith("看【4:0†a†b】【††")
    assert turns[1].text.endswith("好")


def test_product_f2_a_private_passage_goes_on_in_the_next_part_of_the_message(tmp_path: Path) -> None:
    """An image pasted in it makes two parts."""
    gpt = Gpt()
    gpt.says(
        "user", "我住在成都 <private>NOISE", {"content_type": "image_asset_pointer"}, "NOISE </private> I like tea"
    )
    gpt.says("assistant", "ok")
    assert said(one(tmp_path / "conversations.json", gpt)) == [("user", "我住在成都\nI like tea"), ("assistant", "ok")]

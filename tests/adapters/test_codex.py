"""Codex rollouts: what a person typed and the model said, in every shape, once, and nothing else."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from backports import zstd

from mex_pipeline.adapters import registry
from mex_pipeline.adapters.files import digest
from mex_pipeline.domain.conversation import PROMPT_MARK
from mex_pipeline.errors import SourceFormat, SourceGone
from tests.adapters.claude_session import ADAPTER as CLAUDE
from tests.adapters.claude_session import chat as claude_chat
from tests.adapters.codex_session import ADAPTER, CHAT, INSTRUCTIONS, STYLES, Rollout, chat, document, whole, wild
from tests.adapters.corpus import CORPUS, needs_corpus, sha, truth
from tests.adapters.growing import identity, said
from tests.adapters.opencode_session import chat as opencode_chat
from tests.adapters.workbuddy_session import chat as workbuddy_chat

SESSIONS = CORPUS / "sessions"
CX01 = SESSIONS / "cx01-three-turns.jsonl"
SEPARATORS = "\u2028\u2029\x85\x0b\x0c\x1c"


@needs_corpus
def test_a_real_rollout_gives_the_turns_of_the_truth() -> None:
    """I3, I4: cx01, three prompts and 24 answers, commentary and final ones, in order."""
    expected = truth("sessions")[CX01.name]
    transcript = whole(CX01)
    for role in ("user", "assistant"):
        texts = [turn.text for turn in transcript.turns if turn.role == role]
        assert [sha(text) for text in texts] == [entry["sha"] for entry in expected[role]]
    for words in expected["must_not_contain"]:
        assert not any(words in turn.text for turn in transcript.turns)
    assert transcript.session_id == "019ed50c-2fb3-7002-a384-360bea6e7f04"
    assert transcript.project == "/home/dev/projects/EntityProcess/agentv"
    assert transcript.turns[0].at == "2026-06-17T10:07:19Z"


@needs_corpus
@pytest.mark.parametrize("name", [name for name in truth("real-clients") if name.startswith("codex")])
def test_a_rollout_of_the_real_client_gives_its_turns(name: str) -> None:
    """Prompts equal, answers among the turns, injected context absent, every record known."""
    expected = truth("real-clients")[name]
    transcript = whole(CORPUS / "real-clients" / name)
    assert [turn.text for turn in transcript.turns if turn.role == "user"] == expected["user"]
    assert {turn.text for turn in transcript.turns if turn.role == "assistant"} >= set(expected["assistant_includes"])
    for words in expected["must_not_contain"]:
        assert not any(words in turn.text for turn in transcript.turns)
    assert "unknown_type" not in transcript.dropped


@needs_corpus
def test_no_other_file_of_the_corpus_is_taken_for_a_rollout_and_none_takes_a_rollout() -> None:
    """Each file is of one format only."""
    for path in (*SESSIONS.iterdir(), *(CORPUS / "real-clients").iterdir()):
        is_codex = path.name.startswith(("cx", "codex"))
        assert ADAPTER.detect(path) == is_codex, path.name
        if is_codex:
            assert registry.recognise(path) == "codex"
            assert not CLAUDE.detect(path)


@pytest.mark.parametrize("style", STYLES)
def test_no_other_adapter_takes_a_rollout_and_none_of_their_sessions_is_one(tmp_path: Path, style: str) -> None:
    """Each file is of one format only, whatever the version, compressed and as a document too."""
    path = chat(style).write(tmp_path / "s.jsonl")
    shapes = [path.read_bytes(), zstd.compress(path.read_bytes())]
    shapes += [document(chat("bare"))] if style == "bare" else []
    for data in shapes:
        path.write_bytes(data)
        assert [adapter.name for adapter in registry.every() if adapter.detect(path)] == ["codex"]
    workbuddy_chat().write(path)
    assert not ADAPTER.detect(path)
    opencode_chat().write(path)
    assert not ADAPTER.detect(path)


@pytest.mark.parametrize("style", STYLES)
def test_every_version_gives_the_same_turns(tmp_path: Path, style: str) -> None:
    """With events or without, with turn ids or without, wrapped or bare; equal prompts of a person are all there."""
    path = chat(style).write(tmp_path / "s.txt")
    assert registry.recognise(path) == "codex"
    transcript = whole(path)
    assert said(transcript) == CHAT
    assert len({turn.key for turn in transcript.turns}) == len(CHAT)
    assert transcript.session_id == "session-chat"
    assert all(turn.at for turn in transcript.turns)
    assert not any("NOISE" in turn.text for turn in whole(wild(style).write(path)).turns)


@pytest.mark.parametrize("style", STYLES)
def test_every_record_is_a_turn_or_counted(tmp_path: Path, style: str) -> None:
    """Nothing vanishes uncounted."""
    for rollout in (chat(style), wild(style)):
        path = rollout.write(tmp_path / "s.jsonl")
        records = sum(bool(line.strip(b"\0")) for line in rollout.lines)
        records += sum(line.endswith(b' {"type": "x", "payload": {}}') for line in rollout.lines)
        transcript = whole(path)
        records += sum(turn.text == "other" or turn.text.startswith("use uv") for turn in transcript.turns)
        assert len(transcript.turns) + sum(transcript.dropped.values()) == records


def test_a_record_whose_type_is_no_word_is_only_counted(tmp_path: Path) -> None:
    """Whatever stands where the type should be."""
    rollout = Rollout()
    rollout.exchange("hello", "hi")
    path = rollout.write(tmp_path / "s.jsonl")
    data = rollout.data()
    path.write_bytes(b'{"type":[],"payload":{}}\n' + data + b'{"type":{},"payload":{}}\n')
    assert registry.recognise(path) == "codex"
    assert said(whole(path)) == [("user", "hello"), ("assistant", "hi")]
    assert whole(path).dropped["unknown_type"] == 2


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    """Named by mistake with --from codex."""
    path = claude_chat().write(tmp_path / "s.jsonl")
    with pytest.raises(SourceFormat) as caught:
        whole(path)
    assert caught.value.params == {"path": str(path), "adapter": "codex"}
    with pytest.raises(SourceGone):
        whole(tmp_path / "none")


def copied(rollout: Rollout, name: str) -> Rollout:
    """A fork: a rollout of its own that begins with the parent's records, written anew at another time."""
    fork = Rollout(name, rollout.style, forked_from_id=f"session-{rollout.name}")
    if rollout.style == "bare":
        fork.lines = fork.lines[:1]
    fork.lines += [line.replace(b"2026-03-01T08:", b"2026-04-02T09:") for line in rollout.lines]
    fork.task = 100
    return fork


@pytest.mark.parametrize("style", STYLES)
def test_a_fork_or_resumed_copy_brings_only_what_is_new(tmp_path: Path, style: str) -> None:
    """I2: all that was copied has the keys of the parent, though the times of its records are new."""
    parent = whole(wild(style).write(tmp_path / "parent.jsonl"))
    fork = copied(wild(style), "fork")
    fork.exchange("only in the fork", "yes")
    transcript = whole(fork.write(tmp_path / "fork.jsonl"))
    seen = {turn.key for turn in parent.turns}
    assert [turn.text for turn in transcript.turns if turn.key not in seen] == ["only in the fork", "yes"]
    assert transcript.session_id == "session-fork"
    assert transcript.project == (None if style == "bare" else "/home/lin/notes")


def test_a_migrated_session_has_the_keys_it_had(tmp_path: Path) -> None:
    """A migration gives old tasks made-up names, which are numbers and the same in many files."""
    old = whole(chat("nameless").write(tmp_path / "old.jsonl"))
    migrated = chat("nameless")
    lines = [json.loads(line) for line in migrated.lines]
    for number, line in enumerate(lines):
        if line["type"] == "turn_context":
            line["payload"]["turn_id"] = f"rollout-{number}"
    migrated.lines = [json.dumps(line, ensure_ascii=False).encode() for line in lines]
    assert identity(whole(migrated.write(tmp_path / "new.jsonl")).turns) == identity(old.turns)


@pytest.mark.parametrize("style", ["events", "items"])
def test_a_prompt_that_is_sent_again_after_an_interruption_is_one_utterance(tmp_path: Path, style: str) -> None:
    """Once or twice interrupted; the same words later on are another utterance."""
    rollout = Rollout("s", style)
    for _ in range(2):
        rollout.begin()
        rollout.prompt("continue")
        rollout.abort()
    rollout.exchange("continue", "one")
    rollout.exchange("something else", "two")
    rollout.exchange("continue", "three")
    texts = [text for _, text in said(whole(rollout.write(tmp_path / "s.jsonl")))]
    assert texts == ["continue", "one", "something else", "two", "continue", "three"]


def test_a_first_prompt_written_again_within_its_task_is_one_utterance(tmp_path: Path) -> None:
    """After turn_aborted the client may write it once more without beginning a task."""
    rollout = Rollout()
    rollout.begin()
    rollout.prompt("hello")
    rollout.abort()
    rollout.prompt("hello")
    rollout.says("Hi.")
    assert said(whole(rollout.write(tmp_path / "s.jsonl"))) == [("user", "hello"), ("assistant", "Hi.")]


def test_events_say_which_items_a_person_typed(tmp_path: Path) -> None:
    """Injected text of a kind nobody knows is no prompt; a prompt that looks injected is one if an event says so."""
    rollout = Rollout()
    rollout.begin()
    rollout.item("user", "NOISE of a future version")
    rollout.prompt("<skill> is a tag I would like explained")
    rollout.item("user", "NOISE between")
    rollout.says("It names a skill.")
    rollout.prompt("<my_profile>Lin</my_profile>")
    transcript = whole(rollout.write(tmp_path / "s.jsonl"))
    assert [text for _, text in said(transcript)] == [
        "<skill> is a tag I would like explained",
        "It names a skill.",
        "<my_profile>Lin</my_profile>",
    ]
    assert transcript.dropped["injected"] == 5


def test_blocks_that_memory_tools_inject_are_cut_and_do_not_change_the_key_of_a_prompt(tmp_path: Path) -> None:
    """The key is made of the words as they stand there, so that better cleaning does not change it."""
    rollout = Rollout()
    rollout.exchange("<system-reminder>NOISE</system-reminder>\nhello", "hi")
    rollout.exchange("<system-reminder>NOISE</system-reminder>", "hm")
    transcript = whole(rollout.write(tmp_path / "s.jsonl"))
    assert [text for _, text in said(transcript)] == ["hello", "hi", "hm"]
    assert transcript.turns[0].key.endswith(digest("<system-reminder>NOISE</system-reminder>hello"))


@pytest.mark.parametrize("style", STYLES)
def test_what_cleaning_takes_out_of_a_prompt_is_counted_once(tmp_path: Path, style: str) -> None:
    """However often the prompt stands in the file; one of which nothing is left gives a reason for each record."""

    def left_out(*prompts: str) -> tuple[Counter[str], bytes]:
        rollout = Rollout("s", style)
        for prompt in prompts:
            rollout.exchange(prompt, "hi")
        transcript = whole(rollout.write(tmp_path / "s.jsonl"))
        assert [text for role, text in said(transcript) if role == "user"] == ["早上好"]
        return Counter(transcript.dropped), rollout.data()

    usual, _ = left_out("早上好")
    marked, _ = left_out("<system-reminder>NOISE</system-reminder>早上好 <private>NOISE</private>")
    assert marked - usual == {"injected": 1, "private": 1}
    nothing, data = left_out("早上好", "<private>NOISE</private>")
    assert nothing["private"] == data.count(b"<private>") > 0


def test_without_events_items_are_told_by_how_they_begin(tmp_path: Path) -> None:
    """Also where the event is not written yet; a block of instructions beside a prompt is left out alone."""
    rollout = Rollout("s", "bare")
    rollout.item("user", INSTRUCTIONS, "我住在成都")
    rollout.item("user", "<skill>\n<name>NOISE</name>\n</skill>")
    rollout.item("user", "<some_new_context>NOISE</some_new_context>")
    rollout.item("assistant", "好的")
    rollout.item("user", "<codex_internal_context source='x'>NOISE</codex_internal_context>")
    rollout.item("user", "<image name=[Image #1]>", "</image>", "what is <b>this</b>?")
    assert said(whole(rollout.write(tmp_path / "s.jsonl"))) == [
        ("user", "我住在成都"),
        ("assistant", "好的"),
        ("user", "what is <b>this</b>?"),
    ]


@pytest.mark.parametrize("style", STYLES)
def test_of_an_editors_form_only_the_request_is_taken(tmp_path: Path, style: str) -> None:
    """The context that an IDE puts before it is not the person's."""
    rollout = Rollout("s", style)
    rollout.exchange(
        "# Context from my IDE setup:\n\n## Open tabs:\n- NOISE.py\n\n## My request for Codex:\nfix it\n", "ok"
    )
    rollout.exchange("I wrote ## My request for Codex: in the middle", "so you did")
    assert [text for role, text in said(whole(rollout.write(tmp_path / "s.jsonl"))) if role == "user"] == [
        "fix it",
        "I wrote ## My request for Codex: in the middle",
    ]


def test_old_events_of_injected_texts_are_no_prompts(tmp_path: Path) -> None:
    """Their kind says so."""
    rollout = Rollout("s", "nameless")
    rollout.record("event_msg", type="user_message", message="NOISE", kind="user_instructions")
    rollout.record("event_msg", type="user_message", message="hello", kind="plain")
    rollout.record("event_msg", type="user_message", message="<environment_context>NOISE</environment_context>")
    transcript = whole(rollout.write(tmp_path / "s.jsonl"))
    assert said(transcript) == [("user", "hello")]
    assert transcript.dropped["injected"] == 2


@pytest.mark.parametrize("style", STYLES)
def test_answers_to_the_models_questions_are_the_persons(tmp_path: Path, style: str) -> None:
    """Level 2: what was chosen and what was added to it, each an utterance; never what was asked as a secret."""
    turns = [turn for turn in whole(wild(style).write(tmp_path / "s.jsonl")).turns if turn.kind == "tool_answer"]
    assert [(turn.role, turn.text) for turn in turns] == [
        ("user", "Yes"),
        ("user", "other"),
        ("user", "use uv, not pip"),
        ("user", "Yes"),
    ]


@pytest.mark.parametrize(
    ("meta", "reason"),
    [
        ({"source": {"subagent": {"thread_spawn": {}}}}, "subagent"),
        ({"source": {"internal": "memory_consolidation"}}, "subagent"),
        ({"thread_source": "subagent"}, "subagent"),
        ({"cwd": "/home/lin/.mex/work"}, "own_session"),
    ],
)
def test_a_rollout_of_no_person_gives_no_turns(tmp_path: Path, meta: dict[str, Any], reason: str) -> None:
    """Also where it begins with what it copied of its parent's conversation."""
    rollout = Rollout("s", **meta)
    rollout.lines += chat().lines
    transcript = whole(rollout.write(tmp_path / "s.jsonl"))
    assert (transcript.turns, transcript.dropped) == ((), {reason: len(rollout.lines)})


@pytest.mark.parametrize("source", ["cli", "vscode", "exec", {"custom": "host"}])
def test_a_rollout_of_any_program_that_a_person_uses_is_read(tmp_path: Path, source: Any) -> None:
    """Whatever names itself."""
    rollout = Rollout("s", source=source, thread_source="user")
    rollout.exchange("hello", "hi")
    assert len(whole(rollout.write(tmp_path / "s.jsonl")).turns) == 2


@pytest.mark.parametrize("style", STYLES)
def test_a_session_of_mexs_own_prompt_is_passed_over(tmp_path: Path, style: str) -> None:
    """session-formats §1.7."""
    rollout = Rollout("s", style)
    rollout.exchange(f"{PROMPT_MARK} quoted words", "[]")
    transcript = whole(rollout.write(tmp_path / "s.jsonl"))
    assert transcript.turns == ()
    assert list(transcript.dropped) == ["own_prompt"]


def test_long_texts_are_capped_and_counted(tmp_path: Path) -> None:
    """A pasted log is typed, too; the copy of it is not counted again."""
    rollout = Rollout()
    rollout.exchange("x" * 9000, "y" * 9000)
    transcript = whole(rollout.write(tmp_path / "s.jsonl"))
    assert transcript.dropped["capped"] == 2
    assert all(len(turn.text) < 8100 for turn in transcript.turns)


@pytest.mark.parametrize("style", STYLES)
def test_line_ends_separators_and_broken_bytes_change_no_other_turn(tmp_path: Path, style: str) -> None:
    """The mutants of the corpus: CRLF, a mark, U+2028 and its like, 0xFF and NUL in a tool result."""
    path = tmp_path / "s.jsonl"
    data = chat(style).data()
    path.write_bytes(data)
    expected = identity(whole(path).turns)
    for mutant in (
        b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"),
        data.replace(b"NOISE output", b"NOISE \xff\xfe"),
        data.replace(b"NOISE output", b"\x00" * 64),
        data.replace(b"NOISE output", SEPARATORS.encode()),
    ):
        path.write_bytes(mutant)
        assert identity(whole(path).turns) == expected
    path.write_bytes(data.replace("成都".encode(), f"成{SEPARATORS}\\ud83d都".encode()))
    assert whole(path).turns[0].text == f"我住在成{SEPARATORS}\ufffd都，请用中文回答。"


@needs_corpus
def test_separators_and_broken_bytes_in_a_real_rollout_change_no_other_turn(tmp_path: Path) -> None:
    """cx01: the separators in a prompt, 0xFF in the first tool result."""
    path = tmp_path / "s.jsonl"
    data = CX01.read_bytes()
    expected = [text for _, text in said(whole(CX01))]
    mutant = data.replace(b"also can we", b"also" + SEPARATORS.encode() + b"can we")
    at = mutant.index(b'"output":"') + len(b'"output":"')
    path.write_bytes(mutant[:at] + b"\xff\xff\x00" + mutant[at:])
    after = [text for _, text in said(whole(path))]
    assert after == [text.replace("also can we", f"also{SEPARATORS}can we") for text in expected]


@needs_corpus
def test_a_real_rollout_that_was_replaced_is_read_from_its_start(tmp_path: Path) -> None:
    """In place, by a shorter and by a longer one."""
    path = tmp_path / "s.jsonl"
    other = CORPUS / "real-clients" / "codex-0.171.0-rollout.jsonl"
    for before, after, reset in ((CX01, other, "shorter"), (other, CX01, "head_changed")):
        path.write_bytes(before.read_bytes())
        cursor = whole(path).cursor
        path.write_bytes(after.read_bytes())
        transcript = ADAPTER.read(path, cursor, quiet=True)
        assert (transcript.reset, identity(transcript.turns)) == (reset, identity(whole(after).turns))


@pytest.mark.parametrize("style", ["events", "items"])
def test_turns_carry_the_time_zone_the_client_names(style: str, tmp_path: Path) -> None:
    rollout = chat(style)
    rollout.record("world_state", full=True, state={"environments": {"timezone": "Europe/Berlin"}})
    rollout.item("user", "Later.")
    rollout.typed("Later.")
    zones = [turn.zone for turn in whole(rollout.write(tmp_path / "r.jsonl")).turns]
    assert set(zones[:-1]) == {"Asia/Shanghai"}
    assert zones[-1] == "Europe/Berlin"

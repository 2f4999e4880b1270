"""CodeBuddy and WorkBuddy sessions (hand-made): what was typed and said, once, also while the file grows."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mex_pipeline.adapters import registry
from mex_pipeline.adapters.workbuddy import CodeBuddyAdapter
from mex_pipeline.domain.conversation import PROMPT_MARK, Cursor, Transcript, settled
from mex_pipeline.errors import MexError, SourceFormat, SourceGone
from tests.adapters.claude_session import ADAPTER as CLAUDE
from tests.adapters.claude_session import chat as claude_chat
from tests.adapters.codex_session import ADAPTER as CODEX
from tests.adapters.codex_session import STYLES
from tests.adapters.codex_session import chat as codex_chat
from tests.adapters.corpus import CORPUS, needs_corpus
from tests.adapters.growing import follow, identity, one_pass, said, schedules
from tests.adapters.opencode_session import chat as opencode_chat
from tests.adapters.workbuddy_session import ADAPTER, CHAT, Session, chat, whole, wild
from tests.support.extent import tries

CODEBUDDY = CodeBuddyAdapter()


def test_a_session_gives_what_was_typed_and_said(tmp_path: Path) -> None:
    """The tags of a query go, its words stay; a command's words count; nothing flagged does."""
    transcript = whole(chat().write(tmp_path / "abc.jsonl"))
    assert said(transcript) == CHAT
    assert [turn.kind for turn in transcript.turns if turn.text == "only the tests"] == ["command_args"]
    assert transcript.session_id == "abc", "the path decides, not the records"
    assert transcript.project == "/home/lin/notes"
    assert transcript.turns[0].at == "2026-03-01T08:00:01Z"
    assert transcript.dropped == {
        "snapshot": 1, "title": 1, "thinking": 1, "tool_use": 1, "tool_result": 1, "duplicate": 1, "synthetic": 2,
        "meta": 2, "compact_summary": 6, "sidechain": 2, "command_output": 1, "injected": 1,
    }  # fmt: skip


def test_what_cleaning_takes_out_of_a_prompt_is_counted(tmp_path: Path) -> None:
    """Each block by its reason; a prompt of which nothing is left gives the first of them."""
    session = Session()
    session.user("<system-reminder>NOISE</system-reminder>早上好 <private>NOISE</private><private>NOISE</private>")
    session.user("<system-reminder>NOISE</system-reminder><user_query>hi <private>NOISE</private></user_query>")
    session.user("<private>NOISE</private>")
    session.user("<system-reminder>NOISE</system-reminder>")
    session.user("  ")
    transcript = whole(session.write(tmp_path / "s.jsonl"))
    assert said(transcript) == [("user", "早上好"), ("user", "hi")]
    assert transcript.dropped == {"injected": 3, "private": 4, "empty": 1}


def test_every_record_of_a_session_is_a_turn_or_counted(tmp_path: Path) -> None:
    """Nothing vanishes uncounted."""
    transcript = whole(wild().write(tmp_path / "s.jsonl"))
    records = sum(bool(line.strip(b"\0")) for line in wild().lines) + 1
    assert len(transcript.turns) + sum(transcript.dropped.values()) == records
    assert not any("NOISE" in turn.text for turn in transcript.turns)


def test_the_two_are_told_apart_by_the_folder_and_found_by_content(tmp_path: Path) -> None:
    """A `.codebuddy` folder in the path makes the difference; no name or extension does."""
    for folder, name in ((".codebuddy", "codebuddy"), (".workbuddy", "workbuddy"), ("copied", "workbuddy")):
        path = chat().write(tmp_path / folder / "projects" / "x" / "notes.txt")
        assert registry.recognise(path) == name
        assert registry.find(name).read(path, Cursor(), quiet=True).agent == name
    assert whole(path).turns[0].key == CODEBUDDY.read(path, Cursor(), quiet=True).turns[0].key


def test_no_file_of_another_format_is_taken_and_none_takes_a_session(tmp_path: Path) -> None:
    """Each file is of one format only."""
    snapshots = Session()
    snapshots.record("file-history-snapshot", messageId="m", snapshot={})
    path = snapshots.write(tmp_path / "s.jsonl")
    assert not CLAUDE.detect(path)
    assert registry.recognise(path) == "workbuddy"
    path = chat().write(tmp_path / "s.jsonl")
    assert not CLAUDE.detect(path)
    assert not CODEX.detect(path)
    assert [name for name in ("opencode", "gemini", "plain") if registry.find(name).detect(path)] == []
    others = [claude_chat().data(), *(codex_chat(style).data() for style in STYLES)]
    others.append(opencode_chat().write(path).read_bytes())
    for data in (*others, b"", b"{}\n", "我住在成都。".encode()):
        path.write_bytes(data)
        assert not ADAPTER.detect(path)
    path.write_bytes(claude_chat().data())
    with pytest.raises(SourceFormat):
        whole(path)
    with pytest.raises(SourceGone):
        whole(tmp_path / "none")


@needs_corpus
def test_no_file_of_the_corpus_is_a_session_of_workbuddy() -> None:
    """Claude, Codex, Gemini, OpenCode and the exports."""
    for path in (*(CORPUS / "sessions").iterdir(), *(CORPUS / "real-clients").iterdir()):
        assert not ADAPTER.detect(path), path.name


def test_a_subagents_file_gives_no_turns(tmp_path: Path) -> None:
    """projects/<slug>/<session>/subagents/<id>.jsonl."""
    path = chat().write(tmp_path / "s" / "subagents" / "a.jsonl")
    transcript = whole(path)
    assert (transcript.turns, list(transcript.dropped)) == ((), ["subagent"])


@pytest.mark.parametrize("reason", ["own_prompt", "own_session"])
def test_a_session_of_mexs_own_is_passed_over(tmp_path: Path, reason: str) -> None:
    """session-formats §1.7."""
    session = Session()
    session.user(f"{PROMPT_MARK} quoted" if reason == "own_prompt" else "hello")
    session.says("[]")
    if reason == "own_session":
        session.lines = [line.replace(b"/home/lin/notes", b"/home/lin/.mex/work") for line in session.lines]
    transcript = whole(session.write(tmp_path / "s.jsonl"))
    assert (transcript.turns, transcript.dropped) == ((), {reason: 2})


def test_an_answer_is_held_until_it_is_completed_or_another_message_comes(tmp_path: Path) -> None:
    """§4; of an answer that is written again the last version counts."""
    path = tmp_path / "s.jsonl"
    session = Session()
    session.user("hello")
    first = session.says("Hel", status="in_progress")
    transcript = whole(session.write(path), quiet=False)
    assert [turn.text for turn in settled(transcript)] == ["hello"]
    assert transcript.cursor.off == len(session.lines[0]) + 1
    session.tool()
    assert whole(session.write(path), quiet=False).turns[-1].held
    session.says("Hello.", id=first["id"])
    assert [turn.text for turn in settled(whole(session.write(path), quiet=False))] == ["hello", "Hello."]
    session.says("And", status=None)
    assert whole(session.write(path), quiet=False).turns[-1].held
    assert not whole(path).turns[-1].held
    session.user("bye")
    assert not any(turn.held for turn in whole(session.write(path), quiet=False).turns)


def test_a_long_text_is_capped_and_counted(tmp_path: Path) -> None:
    """A pasted log is typed, too."""
    session = Session()
    session.user("x" * 9000)
    transcript = whole(session.write(tmp_path / "s.jsonl"))
    assert (transcript.dropped, len(transcript.turns[0].text) < 8100) == ({"capped": 1}, True)


def test_a_query_is_what_stands_between_its_tags_however_many_are_open(tmp_path: Path) -> None:
    """Tags that nothing closes take linear time."""
    session = Session()
    session.user("context <user_query>一</user_query> more <user_query>two</user_query>" + "<user_query>" * 50_000)
    session.user("<command-name>/x</command-name><command-args>三</command-args>" + "<command-args>" * 50_000)
    session.user("<user_query>" * 50_000)
    texts = [turn.text for turn in whole(session.write(tmp_path / "s.jsonl")).turns]
    assert texts[:2] == ["一\ntwo", "三"]
    assert texts[2].startswith("<user_query>")


SOURCES = {
    "chat": chat().data(),
    "wild": wild().data(),
    "wild-crlf-bom": b"\xef\xbb\xbf" + wild().data(b"\r\n", last_newline=False),
}


@pytest.mark.parametrize("data", SOURCES.values(), ids=SOURCES)
def test_any_growth_schedule_of_a_session_gives_what_one_pass_gives(tmp_path: Path, data: bytes) -> None:
    """I1: the same turns in the same order, each exactly once."""
    path = tmp_path / "s.jsonl"
    expected = one_pass(ADAPTER, path, data)
    assert len(expected) > 5
    for cuts in schedules(data, tries(80), seed=len(data)):
        assert identity(follow(ADAPTER, path, data, cuts)) == expected, cuts


def test_a_copied_session_brings_only_what_is_new(tmp_path: Path) -> None:
    """I2: under another session id and path the keys are the same."""
    seen = {turn.key for turn in whole(chat().write(tmp_path / "one.jsonl")).turns}
    copy = chat()
    copy.lines = [line.replace(b'"another"', b'"third"') for line in copy.lines]
    copy.user("only in the copy")
    transcript = whole(copy.write(tmp_path / "deep" / "two.jsonl"))
    assert [turn.text for turn in transcript.turns if turn.key not in seen] == ["only in the copy"]


def test_sessions_are_found_where_the_two_keep_them(tmp_path: Path) -> None:
    """One file a session under projects/<slug>; subagents' files and traces are left out."""
    for home in (".codebuddy", ".workbuddy"):
        chat().write(tmp_path / home / "projects" / "home-lin" / f"{home[1:]}.jsonl")
        chat().write(tmp_path / home / "projects" / "home-lin" / "s" / "subagents" / "a.jsonl")
        chat().write(tmp_path / home / "traces" / "t.jsonl")
    for adapter, variable in (
        (ADAPTER, "WORKBUDDY_HOME"), (ADAPTER, "WORKBUDDY_CONFIG_DIR"), (CODEBUDDY, "CODEBUDDY_CONFIG_DIR")
    ):  # fmt: skip
        expected = [f"{adapter.name}.jsonl"]
        assert [path.name for path in adapter.places(tmp_path, {})] == expected
        moved = {variable: str(tmp_path / f".{adapter.name}")}
        assert [path.name for path in adapter.places(Path("/none"), moved)] == expected
        assert list(adapter.places(tmp_path / "none", {})) == []


@pytest.mark.parametrize(
    ("text", "days"),
    [
        (None, 30),
        ('{"cleanupPeriodDays": 7}', 7),
        ("{}", 30),
        ("[", 30),
        ('{"cleanupPeriodDays": true}', 30),
        ("7", 30),
    ],
)
def test_codebuddy_deletes_after_what_its_settings_say(tmp_path: Path, text: str | None, days: int) -> None:
    """Thirty days where they do not; of WorkBuddy nothing is known."""
    (tmp_path / ".codebuddy").mkdir()
    if text is not None:
        (tmp_path / ".codebuddy" / "settings.json").write_text(text)
    assert CODEBUDDY.kept_days(tmp_path, {}) == days
    assert ADAPTER.kept_days(tmp_path, {}) is None


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20)
names = st.sampled_from(
    ["type", "id", "timestamp", "role", "content", "text", "status", "providerData", "isMeta", "agent", "cwd"]
)
words = st.sampled_from(
    ["message", "user", "assistant", "input_text", "output_text", "completed", "<user_query>x</user_query>", "hello",
     "<command-args>", "<command-name>/x</command-name>", "compact", "ai-title"]
)  # fmt: skip
anything = st.recursive(
    scalars | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=6),
    max_leaves=20,
)
record = st.fixed_dictionaries(
    {"type": words}, optional={"role": words, "content": anything, "id": scalars, "timestamp": scalars, "status": words}
)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workbuddy") / "s.jsonl"


def check(transcript: Transcript) -> None:
    """Storable, countable, each key once."""
    assert all(count > 0 for count in transcript.dropped.values())
    for turn in transcript.turns:
        assert turn.text.strip()
        "\n".join([turn.key, turn.text, turn.message_id or "", turn.session_id or "", turn.at or ""]).encode()
    assert len({turn.key for turn in transcript.turns}) == len(transcript.turns)


@settings(max_examples=tries(150), deadline=None)
@given(values=st.lists(record, max_size=6), rubbish=st.binary(max_size=60))
def test_whatever_a_session_holds_a_read_gives_a_transcript(
    fuzzed: Path, values: list[dict[str, Any]], rubbish: bytes
) -> None:
    """I6: records of any content, alone and behind a session."""
    lines = b"\n".join(json.dumps(value).encode() for value in values)
    for data in (lines + rubbish, chat().data() + lines + b"\n" + rubbish):
        fuzzed.write_bytes(data)
        ADAPTER.detect(fuzzed)
        for quiet in (True, False):
            try:
                check(ADAPTER.read(fuzzed, Cursor(), quiet=quiet))
            except MexError:
                continue

"""Claude sessions of the shared corpus against its truth, and the mutants its index asks for."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.adapters import registry
from mex_pipeline.adapters.records import LINE_CAP
from mex_pipeline.domain.conversation import Cursor, settled
from tests.adapters.claude_session import ADAPTER, Session, chat, whole, wild
from tests.adapters.corpus import CORPUS, claude_files, needs_corpus, sha, truth
from tests.adapters.growing import identity, said

SESSIONS = CORPUS / "sessions"
SEPARATORS = "\u2028\u2029\x85\x0b\x0c\x1c"


def case(prefix: str) -> Path:
    return next(SESSIONS.glob(f"{prefix}-*"))


@needs_corpus
@pytest.mark.parametrize("name", [name for name in truth("sessions") if name.startswith("cc")])
def test_a_real_session_gives_the_turns_of_the_truth(name: str) -> None:
    """I3, I4: human turns, human words that stand elsewhere, assistant texts, each in order; nothing that must not appear."""
    expected = truth("sessions")[name]
    transcript = whole(SESSIONS / name)
    elsewhere = [turn.text for turn in transcript.turns if turn.kind != "typed"]
    assert elsewhere == [entry["text"] for entry in expected["human_elsewhere"]]
    for role in ("user", "assistant"):
        texts = [turn.text for turn in transcript.turns if turn.role == role and turn.kind == "typed"]
        assert [sha(text) for text in texts] == [entry["sha"] for entry in expected[role]]
        for text, entry in zip(texts, expected[role], strict=True):
            assert text.startswith(entry["head"].strip()[:60].strip())
    for words in expected["must_not_contain"]:
        assert not any(words in turn.text for turn in transcript.turns)
    assert ADAPTER.detect(SESSIONS / name)


@needs_corpus
@pytest.mark.parametrize("name", [name for name in truth("real-clients") if name.startswith("claude")])
def test_a_session_of_the_real_client_gives_its_turns(name: str) -> None:
    """Prompts equal, answers among the turns, injected context absent."""
    expected = truth("real-clients")[name]
    transcript = whole(CORPUS / "real-clients" / name)
    assert [turn.text for turn in transcript.turns if turn.role == "user"] == expected["user"]
    answers = [turn.text for turn in transcript.turns if turn.role == "assistant"]
    assert set(expected["assistant_includes"]) <= set(answers)
    for words in expected["must_not_contain"]:
        assert not any(words in turn.text for turn in transcript.turns)
    assert "unknown_type" not in transcript.dropped


@needs_corpus
@pytest.mark.parametrize("source", claude_files(), ids=lambda path: path.stem)
def test_turns_and_counts_add_up_to_the_blocks_of_a_real_session(source: Path) -> None:
    """Each record or content block is a turn or counted under one reason."""
    units = 0
    for line in source.read_bytes().split(b"\n"):
        value: dict[str, Any] = json.loads(line) if line.strip() else {}
        content = value.get("message", {}).get("content") if value.get("type") in ("user", "assistant") else None
        is_flagged = value.get("isSidechain") or value.get("isMeta")
        units += len(content) if isinstance(content, list) and not is_flagged else bool(line.strip())
    transcript = whole(source)
    assert len(transcript.turns) + sum(transcript.dropped.values()) == units


@needs_corpus
def test_other_formats_of_the_corpus_are_not_detected() -> None:
    """Codex, Gemini, OpenCode and the exports."""
    claude = set(claude_files())
    for path in (*SESSIONS.iterdir(), *(CORPUS / "real-clients").iterdir()):
        assert ADAPTER.detect(path) == (path in claude), path.name


def test_the_other_adapters_refuse_a_session_and_this_one_is_asked_for_it(tmp_path: Path) -> None:
    """No file is taken by two; also a young one, and one in the folder of a client that shares a format with another."""
    young = Session("young")
    young.queue("enqueue", "x")
    for number, session in enumerate((chat(), wild(), young)):
        for folder in (
            tmp_path,
            tmp_path / ".codebuddy" / "projects" / "p",
            tmp_path / ".workbuddy" / "projects" / "p",
        ):
            folder.mkdir(parents=True, exist_ok=True)
            path = session.write(folder / f"{number}.jsonl")
            assert registry.recognise(path) == "claude"
            others = [name for name in registry._BUILT_IN if name != "claude"]
            assert not [name for name in others if registry.find(name).detect(path)]


def test_a_torn_last_line_waits_for_its_rest(tmp_path: Path) -> None:
    """Fifty cuts inside the last three records: the position stays before the torn one, and nothing is lost."""
    source = case("cc11") if SESSIONS.is_dir() else wild().write(tmp_path / "wild")
    data = source.read_bytes().rstrip(b"\n")
    begins = [0, *(at + 1 for at, byte in enumerate(data) if byte == 10)]
    expected = identity(whole(source).turns)
    path = tmp_path / "s.jsonl"
    first = begins[-3] + 1
    cuts = [first + (len(data) - first) * step // 50 for step in range(50)]
    for cut in cuts:
        path.write_bytes(data[:cut])
        before = ADAPTER.read(path, Cursor(), quiet=True)
        assert before.cursor.off <= max(begin for begin in begins if begin <= cut)
        path.write_bytes(data)
        rest = ADAPTER.read(path, before.cursor, quiet=True)
        taken = {turn.key for turn in before.turns}
        assert identity(before.turns + tuple(t for t in rest.turns if t.key not in taken)) == expected


def sources(*prefixes: str) -> list[bytes]:
    """The bytes of corpus files where present, and of hand-made sessions always."""
    real = [case(prefix).read_bytes() for prefix in prefixes] if SESSIONS.is_dir() else []
    return [*real, chat().data(), wild().data()]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_crlf_and_byte_order_mark_give_the_same_turns(tmp_path: Path, newline: bytes, mark: bytes) -> None:
    """Files that went through Windows."""
    path = tmp_path / "s.jsonl"
    for data in sources("cc06", "cc23"):
        path.write_bytes(data)
        expected = identity(whole(path).turns)
        path.write_bytes(mark + data.replace(b"\n", newline))
        assert identity(whole(path).turns) == expected


@pytest.mark.parametrize("rubbish", [b"\xff", b"\x00" * 64, b"\xff\xfe\x00\xd8"])
def test_broken_bytes_in_a_tool_result_hurt_only_that_record(tmp_path: Path, rubbish: bytes) -> None:
    """Turns are the same with and without them."""
    path = tmp_path / "s.jsonl"
    for data in sources("cc10"):
        path.write_bytes(data)
        expected = identity(whole(path).turns)
        at = data.index(b'"tool_result"')
        path.write_bytes(data[:at] + b'"tool_result","junk":"' + rubbish + b'"' + data[at + len(b'"tool_result"') :])
        assert identity(whole(path).turns) == expected
        begin = data.rindex(b"\n", 0, at) + 1
        path.write_bytes(data[:begin] + rubbish + b"\n" + data[begin:])
        assert identity(whole(path).turns) == expected


def test_a_lone_surrogate_in_a_prompt_is_replaced(tmp_path: Path) -> None:
    """The turn can be stored and sent."""
    path = tmp_path / "s.jsonl"
    for data, prompt in zip(sources("cc06")[-2:], (b"Thanks.", b"line"), strict=True):
        path.write_bytes(data.replace(prompt, b"\\ud83d" + prompt))
        texts = [text for _, text in said(whole(path))]
        assert any(text.startswith("\ufffd" + prompt.decode()) for text in texts)
        "".join(texts).encode()


@needs_corpus
def test_a_lone_surrogate_in_a_real_prompt_is_replaced(tmp_path: Path) -> None:
    """cc06, inside the first user text."""
    data = case("cc06").read_bytes().replace(b"Lately, ", b"Lately,\\ud83d ", 1)
    (tmp_path / "s.jsonl").write_bytes(data)
    first, *rest = whole(tmp_path / "s.jsonl").turns
    assert first.text.startswith("Lately,\ufffd I've")
    assert identity(rest) == identity(whole(case("cc06")).turns[1:])


def test_unicode_line_separators_do_not_split_a_record(tmp_path: Path) -> None:
    """Lines end at a newline only; each separator stays in its text."""
    path = tmp_path / "s.jsonl"
    for data, prompt in [(data, prompt) for data in sources("cc23") for prompt in ("理解", "好的", "first")]:
        marked = data.replace(prompt.encode(), (prompt + SEPARATORS + "x").encode())
        path.write_bytes(data)
        before = [text for _, text in said(whole(path))]
        path.write_bytes(marked)
        after = [text for _, text in said(whole(path))]
        assert after == [text.replace(prompt, prompt + SEPARATORS + "x") for text in before]


@pytest.mark.parametrize("between", [b"", b" ", b"\r"])
def test_two_objects_on_a_line_are_two_records(tmp_path: Path, between: bytes) -> None:
    """Seen in real files; here every second line end is missing."""
    path = tmp_path / "s.jsonl"
    for data in sources("cc06", "cc13", "cc14", "cc18")[:-1]:
        path.write_bytes(data)
        expected = identity(whole(path).turns)
        lines = data.rstrip(b"\n").split(b"\n")
        path.write_bytes(b"\n".join(between.join(lines[at : at + 2]) for at in range(0, len(lines), 2)) + b"\n")
        assert identity(whole(path).turns) == expected


def test_a_line_of_60_megabytes_is_passed_over_in_bounded_memory(tmp_path: Path) -> None:
    """I7: a base64 tool result is skipped, what follows is read, and memory depends on the cap, not on the line."""
    path = tmp_path / "s.jsonl"
    session = chat()
    with path.open("wb") as file:
        file.write(session.data())
        file.write(b'{"type":"user","message":{"content":[{"type":"tool_result","content":"')
        for _ in range(60):
            file.write(b"A" * 1024 * 1024)
        file.write(b'"}]}}\n')
        later = Session("later")
        later.user("after the image")
        file.write(later.data())
    tracemalloc.start()
    try:
        transcript = ADAPTER.read(path, Cursor(), quiet=False)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert said(transcript)[-1] == ("user", "after the image")
    assert len(transcript.turns) == 9
    assert transcript.dropped["oversized_line"] == 1
    assert transcript.cursor.off == path.stat().st_size
    assert peak < 3 * LINE_CAP


def test_an_oversized_user_record_ends_the_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its type is told by a glance, though its content is skipped."""
    monkeypatch.setattr("mex_pipeline.adapters.records.LINE_CAP", 4096)
    session = Session()
    session.says("m", "look at this")
    session.user([{"type": "tool_result", "content": "A" * 5000}])
    transcript = ADAPTER.read(session.write(tmp_path / "s.jsonl"), Cursor(), quiet=False)
    assert [turn.text for turn in settled(transcript)] == ["look at this"]


def lorem(name: str, words: str) -> bytes:
    session = Session(name)
    session.user(words)
    session.says(f"{name}-m", words)
    return session.data()


@pytest.mark.parametrize("reset", ["shorter", "head_changed"])
def test_a_file_that_was_replaced_is_read_from_its_start(tmp_path: Path, reset: str) -> None:
    """Truncated and begun anew, or another session of the very same length: nothing lost, nothing twice."""
    path = tmp_path / "s.jsonl"
    one, two = lorem("one", "a" * 50), lorem("two", "b" * (50 if reset == "head_changed" else 3))
    assert (len(one) == len(two)) == (reset == "head_changed")
    path.write_bytes(one)
    first = whole(path)
    path.write_bytes(b"")
    assert ADAPTER.read(path, first.cursor, quiet=True).reset == "shorter"
    path.write_bytes(two)
    second = ADAPTER.read(path, first.cursor, quiet=True)
    assert second.reset == reset
    expected = identity(whole(path).turns)
    assert identity(second.turns) == expected
    assert second.cursor == whole(path).cursor
    third = ADAPTER.read(path, second.cursor, quiet=True)
    assert third.reset is None
    assert identity([turn for turn in third.turns if turn.end > second.cursor.off]) == []


@needs_corpus
@pytest.mark.parametrize("by", ["truncating", "moving"])
def test_a_real_session_replaced_by_another_is_read_from_its_start(tmp_path: Path, by: str) -> None:
    """cc13 becomes cc06, in place or as a new file; a longer successor is told by its head."""
    path = tmp_path / "s.jsonl"
    for before, after in (("cc13", "cc06"), ("cc06", "cc13")):
        path.write_bytes(case(before).read_bytes())
        cursor = whole(path).cursor
        if by == "moving":
            path.rename(tmp_path / "old.jsonl")
        path.write_bytes(case(after).read_bytes())
        transcript = ADAPTER.read(path, cursor, quiet=True)
        assert transcript.reset == ("shorter" if before == "cc13" else "head_changed")
        assert identity(transcript.turns) == identity(whole(case(after)).turns)


def test_the_same_file_under_other_names_has_the_same_keys(tmp_path: Path) -> None:
    """I8: a second path, a symbolic link, another case."""
    for data in sources("cc06"):
        paths = [tmp_path / "a.jsonl", tmp_path / "deep" / "A.JSONL", tmp_path / "link.jsonl"]
        paths[1].parent.mkdir(exist_ok=True)
        paths[0].write_bytes(data)
        paths[1].write_bytes(data)
        paths[2].unlink(missing_ok=True)
        paths[2].symlink_to(paths[0])
        assert len({tuple(identity(whole(path).turns)) for path in paths}) == 1


@needs_corpus
def test_reading_the_corpus_changes_nothing() -> None:
    """I5: bytes, times and listing stay."""

    def state() -> list[tuple[str, int, int]]:
        return [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(SESSIONS.iterdir())]

    before = state()
    for path in claude_files():
        whole(path)
    assert state() == before

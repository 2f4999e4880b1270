"""Exports as streams: shards, zips, what is too large, damaged or hidden, and memory that does not follow the size."""

import json
import os
import random
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.adapters import export_source, export_zip, registry
from mex_pipeline.adapters.export_json import document
from mex_pipeline.adapters.export_scan import elements, first_keys
from mex_pipeline.domain.conversation import Transcript
from mex_pipeline.errors import InvalidInput, MexError, SourceFormat, SourceGone, SourceUnreadable
from tests.adapters.export_files import (
    CHATGPT,
    CLAUDE_AI,
    Gpt,
    cai_chat,
    every,
    gpt_chat,
    ids,
    said,
    text_of,
    whole,
    write,
    write_zip,
)

TRICKY = [
    {"a": 'quote " brace } ] , {', "b": [[], {}, [{}], {"c": "\\"}]},
    {"\\": '\\" }, { "', "d": "\\\\\\", "e": '"}]'},
    {},
    {"f": "}, {" * 50, "g": [{"h": 1}, {"h": 2}], "i": "我，{“"},
]


def blocks(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def ended(path: Path) -> tuple[list[Transcript], MexError]:
    """What came before the error, and the error."""
    found: list[Transcript] = []
    conversations = CHATGPT.conversations(path)
    assert conversations is not None
    with pytest.raises(MexError) as caught:
        found.extend(conversations)  # keeps what comes before the error
    return found, caught.value


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 100_000])
def test_elements_are_cut_wherever_the_blocks_end(size: int, indent: int | None) -> None:
    """Braces and quotes inside strings do not count, escapes may fall apart."""
    data = json.dumps(TRICKY, ensure_ascii=False, indent=indent).encode()
    found = list(elements(blocks(data, size), 1000))
    assert [json.loads(one or b"") for one in found] == TRICKY
    assert list(elements(blocks(b" [ \n] ", size), 1000)) == []


@pytest.mark.parametrize("size", [1, 5, 1000])
@pytest.mark.parametrize(
    "data",
    [b"", b" ", b"[", b"[{}", b"[{},", b"[{},]", b"[,{}]", b"[{}{}]", b"[{}],", b"[{}]{", b"[{}] x", b"[1]", b"[1,{}]", b"[{},1]",
     b"[{}]]", b"]", b"{}", b"[[{}]]", b"[{]", b'[{"a"}', b'[{"}]', b"[{}]\\", b"[\\{}]"],
)  # fmt: skip
def test_what_is_no_whole_array_of_objects_is_told(data: bytes, size: int) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the parser's own words
        list(map(document, filter(None, elements(blocks(data, size), 1000))))


@pytest.mark.parametrize("blanks", [b" ", b"\n", b"} ", b"},"])
def test_blanks_behind_an_object_take_linear_time(blanks: bytes) -> None:
    with pytest.raises(ValueError, match=r"\A\Z"):
        list(elements([b"[{}" + blanks * 200_000 + b"x"], 1_000))


def test_keys_are_those_of_the_first_object_alone() -> None:
    """Not those in its values or its strings, and none that the head cuts."""
    text = json.dumps([{"a": {"b": 1}, "c": '"d": {"e": 1', "f\\": [{"g": 1}], "h": 1}, {"i": 1}]).encode()
    assert first_keys(text) == {"a", "c", "f\\\\", "h"}
    assert first_keys(text[: text.index(b"h")]) == {"a", "c", "f\\\\"}
    assert first_keys(b"[1]") == first_keys(b"") == first_keys(b'"a": 1') == frozenset()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_every_encoding_gives_the_same(tmp_path: Path, encoding: str, ascii_only: bool) -> None:
    """As an array, as one conversation, and in a zip."""
    data = text_of(gpt_chat(), gpt_chat("gpt-2"), ascii_only=ascii_only).encode(encoding)
    path = tmp_path / "c.json"
    path.write_bytes(data)
    expected = said(every(CHATGPT, write(tmp_path / "e.json", gpt_chat()))[0])
    for source in (path, write_zip(tmp_path / "c.zip", {"conversations.json": data})):
        assert registry.detect(source).name == "chatgpt"
        first, second = every(CHATGPT, source)
        assert (said(first), second.session_id) == (expected, "gpt-2")
    path.write_bytes(text_of(gpt_chat(), ascii_only=ascii_only)[1:-1].encode(encoding))
    assert said(whole(CHATGPT, path)) == expected


@pytest.mark.parametrize(
    ("put", "text"),
    [("a\\ud83db", "a\ufffdb"), ("a\\u0000b", "ab"), ("a\tb\x01", "a\tb\x01"), ("a\\ud83d\\ude00", "a😀"),
     ("\ufeffa", "\ufeffa")],
)  # fmt: skip
def test_characters_that_cannot_be_stored_are_replaced(tmp_path: Path, put: str, text: str) -> None:
    """And what strict parsers refuse hurts nothing else: control characters, NaN, numbers without end, broken bytes."""
    gpt = Gpt("gpt-2", nan="@NAN@")
    gpt.says("user", "@HERE@")
    gpt.says("assistant", "still here @BROKEN@")
    raw = text_of(gpt_chat(), gpt, gpt_chat("gpt-3"))
    raw = raw.replace("@HERE@", put).replace('"@NAN@"', f"[NaN, Infinity, 1{'0' * 400}]")
    path = tmp_path / "c.json"
    path.write_bytes(raw.encode().replace(b"@BROKEN@", b"\xff\xfe"))
    found = every(CHATGPT, path)
    assert said(found[1]) == [("user", text), ("assistant", "still here \ufffd\ufffd")]
    assert [len(one.turns) for one in found] == [4, 2, 4]


def test_shards_are_read_by_their_numbers_in_any_folder(tmp_path: Path) -> None:
    """Other members are not looked at, nor is anything written."""
    names = ["conversations-10.json", "conversations-002.json", "conversations.json", "conversations-000.json"]
    members = {f"export 1/{name}": text_of(gpt_chat(name)) for name in names}
    others = {
        "export 1/chat.html": "NOISE", "export 1/user.json": "{", "__MACOSX/export 1/conversations.json": "NOISE",
        "export 1/my-conversations.json": "[1]", "export 1/conversations-x.json": "[1]", "../../conversations.json.png": b"\xff",
    }  # fmt: skip
    path = write_zip(tmp_path / "e.zip", others | members)
    expected = ["conversations.json", "conversations-000.json", "conversations-002.json", "conversations-10.json"]
    assert registry.detect(path).name == "chatgpt"
    assert ids(CHATGPT, path) == expected
    assert [one.name for one in tmp_path.iterdir()] == ["e.zip"]
    shard = write(tmp_path / "conversations-007.json", gpt_chat("a"), gpt_chat("b"))
    assert ids(registry.detect(shard), shard) == ["a", "b"]


def test_the_zip_of_claude_ai_is_its_own(tmp_path: Path) -> None:
    """Users, projects and memories beside the conversations are ignored."""
    beside = {"users.json": "[]", "projects.json": "NOISE", "memories.json": '[{"chat_messages": 1}]'}
    path = write_zip(tmp_path / "e.zip", beside | {"conversations.json": text_of(cai_chat("a"), cai_chat("b"))})
    assert registry.detect(path).name == "claude-ai"
    assert ids(CLAUDE_AI, path) == ["a", "b"]
    with pytest.raises(SourceFormat) as caught:
        CHATGPT.conversations(path)
    assert caught.value.params == {"path": str(path), "adapter": "chatgpt"}


def test_a_zip_of_something_else_is_of_no_known_format(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "e.zip", {"notes.txt": "hi", "conversations.json.bak": text_of(gpt_chat())})
    with pytest.raises(InvalidInput) as caught:
        registry.detect(path)
    assert caught.value.code == "unknown_format"
    with pytest.raises(SourceFormat):
        CHATGPT.conversations(path)


def test_what_comes_before_the_damage_is_given(tmp_path: Path) -> None:
    """At any place: then the damage is told, and custom instructions are not lost."""
    gpts = [gpt_chat(f"gpt-{number}") for number in range(3)]
    gpts[0].node("user", {"content_type": "user_editable_context", "user_profile": "我叫林"})
    text = text_of(*gpts)
    second = text.index('"title"', 10)
    path = tmp_path / "c.json"
    for broken in (
        text[: second + 50],
        text[:second] + "}" + text[second:],
        text[:second] + '"' + text[second:],
        text[:-1],
    ):
        path.write_text(broken)
        found, error = ended(path)
        assert (error.code, error.params) == ("source_damaged", {"path": str(path)})
        given = [one.session_id for one in found]
        assert given[0] == "gpt-0"
        assert given[-1] == "custom-instructions"
        assert len(given) == (4 if broken == text[:-1] else 2)
        assert registry.detect(path).name == "chatgpt"


def test_a_conversation_above_the_cap_is_counted_and_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others go on; what is no conversation is counted beside it."""
    monkeypatch.setattr(export_source, "CONVERSATION_CAP", 10_000)
    large = Gpt("large")
    large.says("user", '{"}, {' * 5000)
    path = write(tmp_path / "c.json", gpt_chat("a"), large, {"id": "x"}, gpt_chat("b"), {})
    assert [(one.session_id, one.dropped) for one in every(CHATGPT, path)] == [
        ("a", {}), ("b", {}), (None, {"oversized": 1, "unknown_type": 2}),
    ]  # fmt: skip
    for text in (text_of(large), text_of(large)[1:-1]):
        path.write_text(text)
        with pytest.raises(SourceUnreadable) as caught:
            whole(CHATGPT, path)
        assert (caught.value.code, caught.value.params) == ("source_too_large", {"path": str(path), "limit": 10_000})


def bombed(path: Path) -> Path:
    return write_zip(path, {"conversations.json": b" " * (export_zip._HARMLESS + 1)})


def too_long(path: Path) -> Path:
    """A zip whose directory tells a size above the cap, in the form for files of 4 GB and more."""
    write_zip(path, {"conversations.json": text_of(gpt_chat())})
    with zipfile.ZipFile(path, "a") as archive:
        archive.infolist()[0].file_size = export_zip.SIZE_CAP + 1
        archive.comment = b"written anew"
    return path


def encrypted(path: Path) -> Path:
    return patched(path, 8, 1)


def packed_otherwise(path: Path) -> Path:
    return patched(path, 10, 97)


def patched(path: Path, at: int, value: int) -> Path:
    """A zip with another number in a member's directory entry, and in the member's own header."""
    write_zip(path, {"conversations.json": text_of(gpt_chat())})
    data = bytearray(path.read_bytes())
    struct.pack_into("<H", data, data.index(b"PK\x01\x02") + at, value)
    struct.pack_into("<H", data, at - 2, value)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("make", "code", "params"),
    [
        (bombed, "source_too_large", {"limit": export_zip.SIZE_CAP}),
        (too_long, "source_too_large", {"limit": export_zip.SIZE_CAP}),
        (encrypted, "source_encrypted", {}),
        (packed_otherwise, "source_compression", {}),
    ],
)
def test_a_zip_that_cannot_be_read_says_why(
    tmp_path: Path, make: Callable[[Path], Path], code: str, params: dict[str, Any]
) -> None:
    """Also when its format was only guessed."""
    path = make(tmp_path / "e.zip")
    adapter = registry.detect(path)
    assert adapter.name == "chatgpt"
    assert not CLAUDE_AI.detect(path)
    found, error = ended(path)
    assert isinstance(error, SourceUnreadable)
    assert (found, error.code, error.params) == ([], code, {"path": str(path), **params})


def test_a_damaged_zip_gives_what_is_whole_in_it(tmp_path: Path) -> None:
    """Cut off, it says nothing of its members; with a broken byte, its checksum is wrong at the end."""
    path = write_zip(tmp_path / "e.zip", {f"conversations-{n}.json": text_of(gpt_chat(f"gpt-{n}")) for n in range(2)})
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    assert registry.detect(path).name == "chatgpt"
    found, error = ended(path)
    assert (found, error.code, error.params) == ([], "source_damaged", {"path": str(path)})
    second = data.index(b"PK\x03\x04", 4)
    for at in (second + 200, second + 60):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        found, error = ended(path)
        assert (found[0].session_id, error.code) == ("gpt-0", "source_damaged")


def test_missing_files_and_folders_are_told(tmp_path: Path) -> None:
    for call in (CHATGPT.conversations, CHATGPT.detect, CLAUDE_AI.detect, CLAUDE_AI.conversations):
        with pytest.raises(SourceGone):
            call(tmp_path / "none")
        with pytest.raises(SourceUnreadable):
            call(tmp_path)


MEASURE = """
import sys
from pathlib import Path
from mex_pipeline.adapters.registry import detect

def peak():
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines["VmHWM"].split()[0]) // 1024

path, before = Path(sys.argv[1]), peak()
count = sum(len(one.turns) for one in detect(path).conversations(path))
print(count, peak() - before)
"""


def large_export(path: Path, size: int) -> int:
    """Write an export of about `size` bytes; returns how many turns it holds."""
    chance = random.Random(7)
    gpt = Gpt("gpt-@")
    for number in range(200):
        words = "".join(chance.choices("我喜欢在成都喝茶 I like tea ", k=2000))
        gpt.says("assistant" if number % 2 else "user", words)
    text = text_of(gpt)[1:-1]
    count = size // len(text.encode()) + 1
    path.write_text(
        f"[{','.join(text.replace('gpt-@', f'gpt-{number}') for number in range(count))}]", encoding="utf-8"
    )
    return 200 * count


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_memory_does_not_follow_the_size_of_an_export(tmp_path: Path) -> None:
    """I7: 60 MB, plain and zipped, in 30 MB more than the program needs; the whole text alone would be more."""
    path = tmp_path / "conversations.json"
    count = large_export(path, 60_000_000)
    packed = tmp_path / "e.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.write(path, path.name)
    for source in (path, packed):
        command = [sys.executable, "-c", MEASURE, str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, env={**os.environ})
        turns, megabytes = map(int, done.stdout.split())
        assert turns == count
        assert megabytes < 30

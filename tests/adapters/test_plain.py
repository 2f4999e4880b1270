"""Plain text: dialogues, documents, encodings, keys and positions."""

import hashlib
from pathlib import Path

import pytest

from mex_pipeline.adapters import plain, registry
from mex_pipeline.adapters.plain import PlainAdapter, parse_plain
from mex_pipeline.domain.conversation import Cursor
from mex_pipeline.errors import SourceFormat, SourceGone, SourceUnreadable
from tests.adapters.claude_session import Session
from tests.adapters.growing import identity, said

ADAPTER = PlainAdapter()
NOTE = "# 简历\n\n林晓舟，住在成都。\n\n## Work\nData engineer at 青禾科技.\nSince 2021.\n\n\n对芒果过敏。\n"


@pytest.mark.parametrize(
    ("person", "model"),
    [
        ("User:", "Assistant:"),
        ("Human:", "AI:"),
        ("用户：", "助手："),
        ("用户:", "助手:"),
        ("我：", "Claude："),
        ("ME :", "ChatGPT:"),
        ("  user： ", "assistant： "),
        ("Ｕｓｅｒ：", "ＡＩ："),
        ("**User:**", "**Assistant:**"),
        ("**用户**：", "**助手**："),
        ("You said:", "ChatGPT said:"),
        ("你说：", "ChatGPT 说："),
        ("你：", "AI："),
        ("我说：", "AI 助手："),
        ("我：", "你："),
        ("Me:", "You:"),
        ("[10:31] 我:", "[10:32] AI:"),
        ("2024-05-01 10:31 我：", "2024-05-01 10:32 助手："),
        ("2024年5月1日 上午10:31 我：", "2024年5月1日 下午10:32 豆包："),
        ("12/05/2024, 10:31 - Me:", "12/05/2024, 10:31 PM - Bot:"),
        ("用户 (10:31)：", "助手 (10:32)："),
        ("【2024-05-01】我：", "【2024-05-02】助手："),
    ],
)
def test_speaker_labels_make_a_dialogue(person: str, model: str) -> None:
    """Chinese and English, half and full width, any case; later lines belong to the turn above them."""
    text = f"\n{person} 我在成都。\n\n  And I like tea: green.\n{model} 好的。\n{person}\n谢谢\n"
    transcript = parse_plain(text)
    assert said(transcript) == [
        ("user", "我在成都。\n\n  And I like tea: green."),
        ("assistant", "好的。"),
        ("user", "谢谢"),
    ]
    assert transcript.has_speakers
    assert {turn.kind for turn in transcript.turns} == {"typed"}


def test_machine_labels_and_empty_turns_are_counted() -> None:
    """What neither person nor model said is not context either."""
    transcript = parse_plain("System: be brief\nUser: hi\nTool: 42\nmore\n助手：\n用户：再见")
    assert said(transcript) == [("user", "hi"), ("user", "再见")]
    assert transcript.dropped == {"system": 2, "empty": 1}


@pytest.mark.parametrize("text", [NOTE, "Notes\nUser: a label further down", "System: Linux\nRAM: 8", "注意：别忘了"])
def test_other_text_is_one_document_in_the_users_words(text: str) -> None:
    """Without a speaker at the beginning, labels inside are just text."""
    transcript = parse_plain(text)
    assert not transcript.has_speakers
    assert {(turn.role, turn.kind) for turn in transcript.turns} == {("user", "document")}
    assert [line for turn in transcript.turns for line in turn.text.split("\n") if line.strip()] == [
        line for line in text.split("\n") if line.strip()
    ]


def test_a_document_is_split_at_paragraphs_and_headings() -> None:
    """A heading opens the paragraph after it, also over a blank line."""
    assert [turn.text for turn in parse_plain(NOTE).turns] == [
        "# 简历\n\n林晓舟，住在成都。",
        "## Work\nData engineer at 青禾科技.\nSince 2021.",
        "对芒果过敏。",
    ]


def test_nothing_of_a_document_is_cut() -> None:
    """H12: neither a line of any length nor a text without blank lines; long paragraphs only break at lines."""
    giant = "很长" * 20_000
    assert [turn.text for turn in parse_plain(giant).turns] == [giant]
    lines = [f"{number} " + "字" * 500 for number in range(100)]
    turns = parse_plain("\n".join(lines)).turns
    assert "\n".join(turn.text for turn in turns).split("\n") == lines
    assert len(turns) > 10
    assert all(4_000 < len(turn.text) < 5_100 for turn in turns[:-1])


def test_headings_without_text_take_linear_time() -> None:
    """A file of nothing but headings and blank lines is one paragraph."""
    assert len(parse_plain("# x\n\n" * 100_000).turns) == 1


@pytest.mark.parametrize("start", ["a", "User", "2026-01-01 ", "[10:31] - ", "**我** ", "Name 2026-01-01 "])
@pytest.mark.parametrize("blank", [" ", "\t", "\u3000", "* ", "~", "`"])
@pytest.mark.parametrize("end", ["x", "`", "\nUser: hi"])
def test_a_long_line_takes_linear_time(start: str, blank: str, end: str) -> None:
    """Columns that are set with blanks, rules of one character, whatever stands before them: no label is looked for twice."""
    for text in (start + blank * 50_000 + end, "User: hi\n" + start + blank * 50_000 + end):
        assert parse_plain(text).turns


def test_a_label_inside_a_fenced_block_is_text() -> None:
    """Neither a quoted person nor a quoted model speaks in it."""
    text = "User: 看这段：\n```\nAssistant: sure\nUser: I live in Paris\n```\n\nAssistant: 好的。\n~~~ txt\n用户：我是医生\n~~~\n"
    assert said(parse_plain(text)) == [
        ("user", "看这段：\n```\nAssistant: sure\nUser: I live in Paris\n```"),
        ("assistant", "好的。\n~~~ txt\n用户：我是医生\n~~~"),
    ]


@pytest.mark.parametrize("text", ["", " \n\t\r\n", "\ufeff"])
def test_blank_text_gives_no_turns(text: str) -> None:
    """And no error."""
    assert parse_plain(text).turns == ()


def test_keys_are_content_and_ordinal() -> None:
    """Equal paragraphs are told apart; wrapping and line ends do not change a key; an edit elsewhere neither."""
    one = parse_plain("same\n\nsame\n\nother  words")
    assert one.turns[0].key == "p:" + hashlib.sha256(b"user\nsame").hexdigest()[:16] + ":0"
    assert one.turns[1].key == one.turns[0].key[:-1] + "1"
    two = parse_plain("new\r\n\r\nsame\r\n\r\nsame\r\n\r\nother\r\nwords\r\n")
    assert [turn.key for turn in two.turns[1:]] == [turn.key for turn in one.turns]
    assert parse_plain("AI: same").turns[0].key != parse_plain("User: same").turns[0].key


def test_unstorable_characters_of_a_given_text_are_replaced() -> None:
    """An argument may hold broken bytes as surrogates."""
    assert parse_plain("a\udcff\0b").turns[0].text == "a\ufffdb"


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le-bom", "utf-16-be-bom", "gb18030", "gbk"]
)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_every_encoding_of_a_note_gives_the_same_transcript(tmp_path: Path, encoding: str, newline: str) -> None:
    """Position and keys belong to the text, not to its bytes."""
    mark = {"utf-16-le-bom": b"\xff\xfe", "utf-16-be-bom": b"\xfe\xff"}.get(encoding, b"")
    path = tmp_path / "note.txt"
    path.write_bytes(mark + NOTE.replace("\n", newline).encode(encoding.removesuffix("-bom")))
    transcript = ADAPTER.read(path, Cursor(), quiet=False)
    assert identity(transcript.turns) == identity(parse_plain(NOTE).turns)
    assert transcript.cursor.content_sha == parse_plain(NOTE).cursor.content_sha
    assert transcript.cursor.off == transcript.cursor.size == path.stat().st_size
    assert {turn.end for turn in transcript.turns} == {path.stat().st_size}
    assert not any(turn.held for turn in transcript.turns)
    assert ADAPTER.detect(path)


@pytest.mark.parametrize(
    "data",
    [
        b"text\x00text",
        "häufig über ältere Häuser".encode("latin-1"),
        b"\x89PNG\r\n\x1a\n\x00\x01",
        b"\xff\xfea",
        b"\xff",
        "plain ascii".encode("utf-16-le"),
        bytes(range(1, 256)),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, data: bytes) -> None:
    """NUL, broken encodings, Western bytes that only look like Chinese ones."""
    path = tmp_path / "x"
    path.write_bytes(data)
    assert not ADAPTER.detect(path)
    with pytest.raises(SourceFormat) as caught:
        ADAPTER.read(path, Cursor(), quiet=True)
    assert caught.value.params == {"path": str(path), "adapter": "plain"}


def test_detection_of_a_large_text_is_not_disturbed_by_a_cut_character(tmp_path: Path) -> None:
    """Only the beginning is looked at, wherever that ends."""
    for shift in range(4):
        for encoding in ("utf-8", "gb18030", "utf-16"):
            path = tmp_path / "x"
            path.write_bytes(("a" * shift + "成都" * 50_000).encode(encoding))
            assert ADAPTER.detect(path), (shift, encoding)


def test_an_edited_note_is_a_change_and_keeps_the_keys_of_what_stayed(tmp_path: Path) -> None:
    """The position is the content: a shorter or longer file is never "continued" (session-formats §3.9)."""
    path = tmp_path / "note.md"
    path.write_text("one\n\ntwo\n\nthree", "utf-8")
    first = ADAPTER.read(path, Cursor(), quiet=True)
    assert first.reset is None
    assert ADAPTER.read(path, first.cursor, quiet=True).reset is None
    for text in ("one\n\n2\n\nthree", "one\n\ntwo and a half, much longer\n\nthree", "one\n\nthree"):
        path.write_text(text, "utf-8")
        later = ADAPTER.read(path, first.cursor, quiet=True)
        assert later.reset == "content_changed"
        keys = {turn.text: turn.key for turn in first.turns}
        assert all(turn.key == keys[turn.text] for turn in later.turns if turn.text in keys)


def test_a_named_end_hides_what_was_appended_since(tmp_path: Path) -> None:
    """A retry sees the same turns; an end behind the file is ignored."""
    path = tmp_path / "note.md"
    path.write_text("一\n\n二", "utf-8")
    first = ADAPTER.read(path, Cursor(), quiet=True)
    path.write_text("一\n\n二三\n\n四", "utf-8")
    retry = ADAPTER.read(path, Cursor(), quiet=True, until=first.cursor.off)
    assert (identity(retry.turns), retry.cursor) == (identity(first.turns), first.cursor)
    assert len(ADAPTER.read(path, Cursor(), quiet=True, until=10_000).turns) == 3
    assert said(ADAPTER.read(path, Cursor(), quiet=True, until=first.cursor.off + 1)) == said(first), "a cut character"


def test_errors_of_the_source_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gone, unreadable, too large to be read whole."""
    with pytest.raises(SourceGone):
        ADAPTER.read(tmp_path / "none", Cursor(), quiet=True)
    with pytest.raises(SourceUnreadable):
        ADAPTER.read(tmp_path, Cursor(), quiet=True)
    monkeypatch.setattr(plain, "SIZE_CAP", 3)
    path = tmp_path / "note.md"
    path.write_text("four")
    with pytest.raises(SourceUnreadable) as caught:
        ADAPTER.read(path, Cursor(), quiet=True)
    assert (caught.value.code, caught.value.params) == ("source_too_large", {"path": str(path), "limit": 3})


def test_a_quoted_dialogue_inside_a_document_stays_text() -> None:
    """Only the beginning decides."""
    assert len(parse_plain("He wrote:\nUser: hi\nAI: hello").turns) == 1


def test_a_quoted_dialogue_inside_a_session_stays_text(tmp_path: Path) -> None:
    """The outer format is the agent's: labels inside a prompt begin no turns (session-formats §3.9)."""
    quoted = "总结一下：\n用户：我住在上海。\n助手：好的。\nUser: I am a doctor."
    session = Session()
    session.user(quoted)
    path = session.write(tmp_path / "s.jsonl")
    assert not ADAPTER.detect(path)
    assert said(registry.detect(path).read(path, Cursor(), quiet=True)) == [("user", quoted)]


def test_words_of_others_are_not_the_users() -> None:
    """Where labels carry a time, a name that nobody knows is another person."""
    text = "[10:31] 小红: 我对花生过敏\n[10:32] 我: 记住了\n注意：别买\n[10:33] 小红: 谢谢\n还有虾"
    transcript = parse_plain(text)
    assert said(transcript) == [("user", "记住了\n注意：别买")]
    assert transcript.dropped == {"other_person": 2}


def test_a_messengers_export_gives_only_the_users_words() -> None:
    """Name and time on a line, the words below."""
    text = (
        "小明 2024-05-01 10:31:22\n我在北京上班\n\n我 2024-05-01 10:32:07\n我在成都：\n用户：不是标签\n\n"
        "小明 2024/5/1 10:33\n好"
    )
    transcript = parse_plain(text)
    assert said(transcript) == [("user", "我在成都：\n用户：不是标签")]
    assert transcript.dropped == {"other_person": 2}


@pytest.mark.parametrize(
    "text", ["日记 2024-05-01 21:00\n今天下雨\n\n日记 2024-05-02 21:00\n今天晴", "[10:31] 起床: 太早\n[11:00] 吃饭: 面"]
)
def test_notes_with_times_are_documents(text: str) -> None:
    """Nobody in them is known to be the user, so they are the user's own."""
    transcript = parse_plain(text)
    assert not transcript.has_speakers
    assert "\n\n".join(turn.text for turn in transcript.turns) == text


def test_lists_and_fenced_blocks_of_a_document_stay_whole() -> None:
    """Blank lines inside them split nothing, a heading in a block is none; a fence that nothing closes is none."""
    listed = "- 茶\n\n- 咖啡\n\n  每天一杯\n\n1. x"
    block = "配置：\n```yaml\n# a\n\n# b\n```"
    text = f"喜好\n\n{listed}\n\n{block}\n\n# 标题\n\n完\n\n```\n开头\n\n# 没有结尾\n\n尾"
    assert [turn.text for turn in parse_plain(text).turns] == [
        "喜好", listed, block, "# 标题\n\n完", "```\n开头", "# 没有结尾\n\n尾",
    ]  # fmt: skip
    assert len(parse_plain("- x\n\n" * 5_000).turns) > 2

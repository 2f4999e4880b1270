"""Plain text: a dialogue with speaker labels, or a document split at paragraphs; never cut (product H12)."""

import codecs
import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from mex_pipeline.adapters.cleaning import scrub
from mex_pipeline.adapters.files import digest, opened, size_of
from mex_pipeline.domain.conversation import Cursor, Kind, Role, Transcript, Turn
from mex_pipeline.errors import SourceFormat, SourceUnreadable

SIZE_CAP = 64 * 1024 * 1024
"""Largest text file in bytes: it is read whole."""

_NAME = "plain"
_DETECT_BYTES = 64 * 1024
_LONG = 4_000
_LABEL = re.compile(r"\s*(?:\*\*)?(?P<name>[^\s:：*][^:：*]{0,15}?)\s*(?:\*\*)?\s*[:：](?:\*\*)?(?P<rest>.*)")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]")
_SPEAKERS: dict[str, Role | None] = {
    **dict.fromkeys(("user", "human", "me", "you", "you said"), "user"),
    **dict.fromkeys(("用户", "我", "本人", "使用者", "人类", "提问者", "你说"), "user"),
    **dict.fromkeys(("assistant", "ai", "bot", "claude", "chatgpt", "gpt", "gemini", "copilot"), "assistant"),
    **dict.fromkeys(("chatgpt said", "claude said", "助手", "助理", "ai助手", "机器人", "chatgpt 说"), "assistant"),
    **dict.fromkeys(("system", "tool", "系统", "工具"), None),
}
"""Who speaks under a label, folded; None is neither person nor model, and is left out."""

_JSON_START = re.compile(r"\ufeff?\s*(?:\{\s*(?:\"|\}|$)|\[\s*(?:[\[{\"]|$))")

_ENCODINGS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


class PlainAdapter:
    """Reads notes, documents and pasted dialogues."""

    name = _NAME

    def detect(self, path: Path) -> bool:
        """True when the beginning of the file is text in an encoding that `decode` knows, and is not JSON.

        JSON that no other adapter knows is some program's data, never the user's own words; `read` still takes it.
        """
        with opened(path) as file:
            head = file.read(_DETECT_BYTES)
            text = decode(head, is_whole=len(head) == size_of(file))
        return text is not None and _JSON_START.match(text) is None

    def read(self, path: Path, since: Cursor, *, quiet: bool, until: int | None = None) -> Transcript:  # noqa: ARG002
        """Return all turns of the file: it is imported by content, so nothing is held, whatever `quiet` says.

        `reset` is `content_changed` when another content was read before; the keys of unchanged paragraphs stay.
        Raises SourceGone, SourceUnreadable (`source_too_large` with `path`, `limit` in bytes above SIZE_CAP), or
        SourceFormat(`path`, `adapter`) when it is not text.
        """
        with opened(path) as file:
            size = size_of(file)
            if size > SIZE_CAP:
                raise SourceUnreadable("source_too_large", path=str(path), limit=SIZE_CAP)
            stop = until if until is not None and until <= size else size
            file.seek(0)
            text = decode(file.read(stop), is_whole=stop == size)
        if text is None:
            raise SourceFormat(path=str(path), adapter=self.name)
        parsed = parse_plain(text)
        has_changed = since.content_sha not in ("", parsed.cursor.content_sha)
        return replace(
            parsed,
            turns=tuple(replace(turn, end=stop) for turn in parsed.turns),
            cursor=replace(parsed.cursor, off=stop, resume=stop, size=stop),
            reset="content_changed" if has_changed else None,
        )


def parse_plain(text: str) -> Transcript:
    """Return the transcript of a given text; positions are its UTF-8 bytes.

    It is a dialogue when its first line that is not blank begins with a speaker's label (`User:`, `用户：` …)
    and a person or a model speaks in it; each label then begins a turn. Otherwise it is one document in the user's
    words (product B3), a turn per paragraph; a heading opens the paragraph that follows it, and a paragraph of more
    than 4,000 characters goes on in a new turn at its next line. Every line of a document is in a turn, as written.
    """
    text = scrub(text.lstrip("\ufeff")).replace("\r\n", "\n").replace("\r", "\n").strip()
    lines = text.split("\n")
    is_dialogue = _label(lines[0]) is not None and any(_role(line) is not None for line in lines)
    dropped: Counter[str] = Counter()
    spoken = _dialogue(lines, dropped) if is_dialogue else (("user", part) for part in _paragraphs(lines))
    size = len(text.encode())
    turns = tuple(_turns(spoken, "typed" if is_dialogue else "document", size))
    return Transcript(
        agent=_NAME,
        turns=turns,
        cursor=Cursor(off=size, resume=size, size=size, content_sha=hashlib.sha256(text.encode()).hexdigest()),
        dropped=dict(dropped),
        has_speakers=is_dialogue,
    )


def decode(data: bytes, *, is_whole: bool = True) -> str | None:
    """Return the text of a file, or None when it is none.

    A byte order mark decides; else UTF-8; else GB18030, the encoding of older Chinese notes, if most of the foreign
    characters are common Chinese ones. With `is_whole` false, a character that is cut at the end is left out. A NUL
    means that it is no text.
    """
    marked = next((name for mark, name in _ENCODINGS if data.startswith(mark)), None)
    for encoding in (marked,) if marked else ("utf-8", "gb18030"):
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(data, final=is_whole)
        except UnicodeDecodeError:
            continue
        if "\0" not in text and (encoding != "gb18030" or _is_chinese(text)):
            return text
        return None
    return None


def _is_chinese(text: str) -> bool:
    """True when at least 60 % of what is not ASCII is in GB2312; Western text read as GB18030 gives rare characters."""
    foreign = [char for char in text if char > "\x7f"]
    return len("".join(foreign).encode("gb2312", "ignore")) / 2 >= 0.6 * len(foreign)


def _label(line: str) -> tuple[str, str] | None:
    """Return the folded label of a line and what follows it, or None for a line without a speaker."""
    found = _LABEL.match(line)
    if found is None:
        return None
    name = unicodedata.normalize("NFKC", found["name"]).casefold()
    return (name, found["rest"]) if name in _SPEAKERS else None


def _role(line: str) -> Role | None:
    label = _label(line)
    return _SPEAKERS[label[0]] if label else None


def _dialogue(lines: list[str], dropped: Counter[str]) -> Iterator[tuple[Role, str]]:
    """Yield who said what; what is neither person nor model, and labels without words, are counted as dropped."""
    role: Role | None = None
    said: list[str] = []
    for line in [*lines, None]:
        label = _label(line) if line is not None else None
        if line is not None and label is None:
            said.append(line)
            continue
        text = "\n".join(said).strip()
        if text and role:
            yield role, text
        elif said:
            dropped["empty" if role else "system"] += 1
        if label:
            role, said = _SPEAKERS[label[0]], [label[1]]


def _paragraphs(lines: list[str]) -> Iterator[str]:
    """Yield the paragraphs of a document; a heading belongs to the paragraph after it."""
    part: list[str] = []
    length = 0
    has_words = False
    for line in lines:
        is_heading = _HEADING.match(line) is not None
        is_blank = not line.strip()
        if has_words and (is_heading or is_blank or length > _LONG):
            yield "\n".join(part).strip()
            part, length, has_words = [], 0, False
        part.append(line)
        length += len(line)
        has_words = has_words or not (is_heading or is_blank)
    rest = "\n".join(part).strip()
    if rest:
        yield rest


def _turns(spoken: Iterator[tuple[Role, str]], kind: Kind, end: int) -> Iterator[Turn]:
    """Yield the turns; equal ones are told apart by their ordinal, so that an edit elsewhere changes no key."""
    seen: Counter[str] = Counter()
    for role, text in spoken:
        name = digest(f"{role}\n{' '.join(unicodedata.normalize('NFC', text).split())}")
        yield Turn(f"p:{name}:{seen[name]}", role, text, kind=kind, end=end)
        seen[name] += 1

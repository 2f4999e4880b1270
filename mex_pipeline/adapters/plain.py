"""Plain text: a dialogue with speaker labels, or a document split at paragraphs; never cut (product H12)."""

import codecs
import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from mex_pipeline.adapters.cleaning import left_out, scrub, user_text, without_closed_private
from mex_pipeline.adapters.files import digest, opened, size_of
from mex_pipeline.domain.conversation import Cursor, Kind, Role, Transcript, Turn
from mex_pipeline.errors import SourceFormat, SourceUnreadable

SIZE_CAP = 64 * 1024 * 1024
"""Largest text file in bytes: it is read whole."""

_NAME = "plain"
_DETECT_BYTES = 64 * 1024
_LONG = 4_000
_DATE = r"(?:\d{4}[-/.年]\d{1,2}[-/.月]\d{1,2}日?|\d{1,2}[/.]\d{1,2}[/.]\d{2,4})"
_TIME = r"(?:(?:凌晨|上午|中午|下午|晚上)?\s?\d{1,2}[:：]\d{2}(?:[:：]\d{2})?(?:\.\d{1,6})?(?:\s?[AaPp][Mm])?Z?)"
_STAMP = rf"[\[(【（]?(?:{_DATE}(?:[T,，\s]\s?{_TIME})?|{_TIME})[\])】）]?"
_LABEL = re.compile(
    rf"\s*+(?:(?P<stamp>{_STAMP})\s?[-–—,，]?\s*+)?(?:\*\*)?(?P<name>[^\s:：*](?:[^:：*]{{0,14}}?[^\s:：*])?)\s*+"
    rf"(?:\*\*)?\s*+(?P<after>{_STAMP})?\s*+[:：](?:\*\*)?(?P<rest>.*)"
)
"""A speaker's label, which a date or a time may stand before or behind; blanks are possessive, a line may be long."""
_LINE_OF_ITS_OWN = re.compile(rf"\s*+(?P<name>\S[^:：]{{0,30}}?)\s++(?P<stamp>{_DATE}[T,，\s]\s?{_TIME})\s*")
"""How messengers export a message: name and time on a line, the words below it."""
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]")
_FENCE = re.compile(r"[ ]{0,3}(?P<mark>`{3,}+|~{3,}+)(?P<info>[^`]*)")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)、])[ \t]")
_INDENTED = re.compile(r"(?: {2,}|\t)\S")
SPEAKERS: dict[str, Role | None] = {
    **dict.fromkeys(("user", "human", "me", "you", "you said", "i"), "user"),
    **dict.fromkeys(("用户", "我", "我说", "本人", "使用者", "人类", "提问者", "你", "你说"), "user"),
    **dict.fromkeys(("assistant", "ai", "bot", "claude", "chatgpt", "gpt", "gemini", "copilot"), "assistant"),
    **dict.fromkeys(("ai assistant", "deepseek", "kimi", "cursor", "codex", "grok"), "assistant"),
    **dict.fromkeys(("chatgpt said", "claude said", "助手", "助理", "ai助手", "ai 助手", "机器人"), "assistant"),
    **dict.fromkeys(("chatgpt 说", "人工智能", "智能助手", "豆包", "通义", "通义千问", "元宝"), "assistant"),
    **dict.fromkeys(("system", "tool", "系统", "工具"), None),
}
"""Who speaks under a label, folded; None is neither person nor model, and is left out."""
_FIRST_PERSON = frozenset(("我", "我说", "本人", "me", "i"))
_SECOND_PERSON = frozenset(("你", "你说", "you", "you said"))
"""The person, as a program calls them; beside a label in the first person it is the other one."""

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

    def read(
        self,
        path: Path,
        since: Cursor,
        *,
        quiet: bool,  # noqa: ARG002 - of a finished file nothing is held
        until: int | None = None,
    ) -> Transcript:
        """Return all turns of the file: it is imported by content, so nothing is held, whatever `quiet` says.

        `reset` is `content_changed` when another content was read before; the keys of unchanged paragraphs stay.
        Raises as `read_text`.
        """
        return read_text(path, since, until, _NAME, parse_plain)


def read_text(
    path: Path, since: Cursor, until: int | None, adapter: str, parse: Callable[[str], Transcript]
) -> Transcript:
    """Return what `parse` makes of a text file; positions are bytes of the file, the content decides what is new.

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
        raise SourceFormat(path=str(path), adapter=adapter)
    parsed = parse(text)
    has_changed = since.content_sha not in ("", parsed.cursor.content_sha)
    return replace(
        parsed,
        turns=tuple(replace(turn, end=stop) for turn in parsed.turns),
        cursor=replace(parsed.cursor, off=stop, resume=stop, size=stop),
        reset="content_changed" if has_changed else None,
    )


def parse_plain(text: str) -> Transcript:
    """Return the transcript of a given text; positions are its UTF-8 bytes.

    It is a dialogue when its first line that is not blank begins with a speaker's label (`User:`, `[10:31] 我：` …), or
    is the line of a name and a time, and a person or a model speaks in it; each label outside of fenced blocks then begins
    a turn. Where labels carry a time, a name that nobody knows is another person, whose words are not the user's.
    Otherwise the text is one document in the user's words (product B3), a turn per paragraph; a heading opens the
    paragraph that follows it, lists and fenced blocks stay whole, and a paragraph of more than 4,000 characters goes on in
    a new turn at its next line. Every line of a document is in a turn, as written.
    """
    text = plain_lines(text)
    dropped = Counter(left_out(text))
    lines = without_closed_private(text).strip().split("\n")
    marks = _marks(lines)
    if marks:
        dialogue = _dialogue(lines, marks, dropped)
        spoken = [(role, words) for role, said in dialogue if (words := user_text(said))]
    else:
        spoken = [("user", part) for part in _paragraphs(user_text(text).split("\n"))]
    return whole_text(_NAME, text, spoken, "typed" if marks else "document", dropped)


def plain_lines(text: str) -> str:
    """Return a text fit to be stored, with newlines as line ends, without blanks around it."""
    return scrub(text.lstrip("\ufeff")).replace("\r\n", "\n").replace("\r", "\n").strip()


def whole_text(
    agent: str, text: str, spoken: Iterable[tuple[Role, str]], kind: Kind, dropped: Counter[str]
) -> Transcript:
    """Return the transcript of a text that is read whole: who said what in it, and what was left out."""
    size = len(text.encode())
    turns = tuple(_turns(spoken, kind, size))
    return Transcript(
        agent=agent,
        turns=turns,
        cursor=Cursor(off=size, resume=size, size=size, content_sha=hashlib.sha256(text.encode()).hexdigest()),
        dropped=dict(dropped),
        has_speakers=kind != "document",
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


def folded(name: str) -> str:
    """Return a speaker's name as SPEAKERS has it."""
    return unicodedata.normalize("NFKC", name).casefold()


def fenced(lines: list[str]) -> list[bool]:
    """Return for each line whether it belongs to a fenced block; a fence that nothing closes is none."""
    inside = [False] * len(lines)
    fences = {index: found for index, line in enumerate(lines) if (found := _FENCE.fullmatch(line))}
    longest: dict[str, int] = {}
    closable: set[int] = set()
    for index in sorted(fences, reverse=True):
        mark, is_bare = fences[index]["mark"], not fences[index]["info"].strip()
        if longest.get(mark[0], 0) >= len(mark):
            closable.add(index)
        longest[mark[0]] = max(longest.get(mark[0], 0), len(mark) * is_bare)
    opening: tuple[int, str] | None = None
    for index in fences:
        mark, is_bare = fences[index]["mark"], not fences[index]["info"].strip()
        if opening is None:
            opening = (index, mark) if index in closable else None
        elif is_bare and mark.startswith(opening[1]):
            inside[opening[0] : index + 1] = [True] * (index + 1 - opening[0])
            opening = None
    return inside


@dataclass(frozen=True, slots=True)
class _Mark:
    """A line at which somebody begins to speak; `role` is None for others, left out for the `reason`."""

    role: Role | None
    rest: str
    reason: str


def _marks(lines: list[str]) -> dict[int, _Mark]:
    """Return the lines at which somebody begins to speak, by their number; nothing where the text is no dialogue."""
    form = _LINE_OF_ITS_OWN if _LINE_OF_ITS_OWN.fullmatch(lines[0]) else _LABEL
    inside = fenced(lines)
    found = {index: match for index, line in enumerate(lines) if not inside[index] and (match := form.fullmatch(line))}
    names = {index: folded(match["name"]) for index, match in found.items()}
    is_timed = {
        index: form is _LINE_OF_ITS_OWN or bool(found[index]["stamp"] or found[index]["after"]) for index in found
    }
    known = {index for index, name in names.items() if name in SPEAKERS}
    if 0 not in known and not (is_timed.get(0) and any(is_timed[index] for index in known)):
        return {}
    others = {index for index in found if is_timed[index]} if is_timed[0] else set[int]()
    has_first_person = not _FIRST_PERSON.isdisjoint(names.values())
    marks: dict[int, _Mark] = {}
    for index in sorted(known | others):
        name = names[index]
        role = SPEAKERS.get(name)
        role = "assistant" if name in _SECOND_PERSON and has_first_person else role
        rest = found[index]["rest"] if form is _LABEL else ""
        marks[index] = _Mark(role, rest, "system" if name in SPEAKERS else "other_person")
    return marks if any(mark.role for mark in marks.values()) else {}


def _dialogue(lines: list[str], marks: dict[int, _Mark], dropped: Counter[str]) -> Iterator[tuple[Role, str]]:
    """Yield who said what; what is neither person nor model, and labels without words, are counted as dropped."""
    starts = [*marks, len(lines)]
    for start, stop in pairwise(starts):
        mark = marks[start]
        text = "\n".join([mark.rest, *lines[start + 1 : stop]]).strip()
        if mark.role and text:
            yield mark.role, text
        else:
            dropped["empty" if mark.role else mark.reason] += 1


def _paragraphs(lines: list[str]) -> Iterator[str]:
    """Yield the paragraphs of a document; a heading belongs to the paragraph after it."""
    in_block = fenced(lines)
    after = _solid_after(lines)
    part: list[str] = []
    length = 0
    has_words = in_list = False
    for index, line in enumerate(lines):
        is_heading = not in_block[index] and _HEADING.match(line) is not None
        is_blank = not line.strip()
        goes_on = in_block[index] or (in_list and bool(_ITEM.match(after[index]) or _INDENTED.match(after[index])))
        if has_words and (is_heading or (is_blank and not goes_on) or length > _LONG):
            yield "\n".join(part).strip()
            part, length, has_words, in_list = [], 0, False, False
        part.append(line)
        length += len(line)
        has_words = has_words or not (is_heading or is_blank)
        in_list = in_list or (not in_block[index] and _ITEM.match(line) is not None)
    rest = "\n".join(part).strip()
    if rest:
        yield rest


def _solid_after(lines: list[str]) -> list[str]:
    """Return for each line the next one from it on that is not blank."""
    after: list[str] = []
    solid = ""
    for line in reversed(lines):
        solid = line if line.strip() else solid
        after.append(solid)
    return after[::-1]


def _turns(spoken: Iterable[tuple[Role, str]], kind: Kind, end: int) -> Iterator[Turn]:
    """Yield the turns; equal ones are told apart by their ordinal, so that an edit elsewhere changes no key."""
    seen: Counter[str] = Counter()
    for role, text in spoken:
        name = digest(f"{role}\n{' '.join(unicodedata.normalize('NFC', text).split())}")
        yield Turn(f"p:{name}:{seen[name]}", role, text, kind=kind, end=end)
        seen[name] += 1

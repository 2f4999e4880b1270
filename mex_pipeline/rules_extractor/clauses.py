"""Cuts a turn into lines, sentences and clauses with exact offsets, and blanks what the person did not say in it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

QUOTED = "\x01"
"""Stands for each character of a quotation: those are somebody's words, maybe not the person's own."""

PASTED = "\x02"
"""Stands for each character of code, markup, addresses, paths and logs."""

_PASTED = (
    re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL),
    re.compile(r"<[^<>\n]*>"),
    re.compile(r"`[^`\n]*`"),
    re.compile(r"^(?: {4}|\t).*$", re.MULTILINE),
    re.compile(r"^[ \t]*(?:[>》|#@{}$%❯➜]|//|--|\+\+|/\*|PS [A-Z]:).*$", re.MULTILINE),
    re.compile(r"^[ \t]*\[?(?:\d{4}[-/]\d\d[-/]\d\d[T ]|\d\d?:\d\d).*$", re.MULTILINE),
    re.compile(r"^[^\w\n]{0,9}(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL|TRACE|Traceback)\b.*$", re.MULTILINE),
    re.compile(r"^[^\w\n]{0,9}(?:\w*(?:Error|Exception):|at \S+\().*$", re.MULTILINE),
    re.compile(r"\b(?:https?|file|ssh|ftp)://[^\s，。；）]+|\bwww\.[^\s，。；）]+|(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.]+"),
    re.compile(r"(?<![\w.])(?:~|\.{1,2})?/[\w.@~-]+(?:/[\w.@~-]*)*|\b[A-Za-z]:\\\S+"),
)

_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)[^<>]*>")

_QUOTED = (
    re.compile(r"[“「『《«][^\n”」』》»]*(?:[”」』》»]|$)", re.MULTILINE),
    re.compile(r"‘[^\n]*’"),
    re.compile(r"(?<!\w)'[^'\n]+'(?!\w)"),
)

_STRAIGHT = re.compile(r'"[^"]*"')
_SENTENCE_END = re.compile(r"[。！？!?；;…]+|(?<!\b[A-Z])(?<!\bSt)(?<!\b[DM]r)(?<!\bM[rs]s)(?<!\bMs)\.+(?=\s|$)")
_CLAUSE_END = re.compile(
    r"(?<!\d),|,(?!\d)|，|(?<!\d):|:(?!\d)|[：()（）【】\[\]—–]|\s-+\s"
    r"|(?<![ \t])[ \t]+(?=(?:and|but|so)[ \t]+(?:[Ii]|my|live|work)\b)"
)
_FIRST = re.compile(rf"[^\W_]|[{QUOTED}{PASTED}]")
_LAST = re.compile(rf"[\w+#%{QUOTED}{PASTED}]")


@dataclass(frozen=True, slots=True)
class Clause:
    """A span of a turn's text without the spaces and signs around it; `mark` ends it inside its sentence, or is ""."""

    start: int
    end: int
    mark: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """The clauses of one sentence in order, at least one, and the punctuation that ends it."""

    clauses: tuple[Clause, ...]
    mark: str

    @property
    def start(self) -> int:
        """Offset of the sentence's first word."""
        return self.clauses[0].start

    @property
    def end(self) -> int:
        """Offset behind the sentence's last word."""
        return self.clauses[-1].end

    @property
    def asks(self) -> bool:
        """True when the sentence ends in a question mark."""
        return "?" in self.mark or "？" in self.mark


Line = tuple[Sentence, ...]


def blanked(text: str) -> str:
    """Return `text` at the same length, with what was pasted and what was quoted replaced by PASTED and QUOTED."""
    text = _without_elements(text)
    for pattern in _PASTED:
        text = pattern.sub(lambda found: PASTED * len(found[0]), text)
    for pattern in _QUOTED:
        text = pattern.sub(lambda found: QUOTED * len(found[0]), text)
    if text.count('"') % 2:
        first = text.index('"')
        return text[:first] + QUOTED * (len(text) - first)
    return _STRAIGHT.sub(lambda found: QUOTED * len(found[0]), text)


def _without_elements(text: str) -> str:
    """Return `text` with everything from an opening tag to the closing tag of its name blanked."""
    letters = list(text)
    opened: dict[str, int] = {}
    for tag in _TAG.finditer(text):
        if not tag[1]:
            opened.setdefault(tag[2], tag.start())
        elif tag[2] in opened:
            start = opened.pop(tag[2])
            letters[start : tag.end()] = PASTED * (tag.end() - start)
    return "".join(letters)


def lines(text: str) -> Iterator[Line]:
    """Yield the sentences of each line of a blanked text that has words in it."""
    start = 0
    for line in text.split("\n"):
        sentences = tuple(_sentences(text, start, start + len(line)))
        start += len(line) + 1
        if sentences:
            yield sentences


def _sentences(text: str, start: int, end: int) -> Iterator[Sentence]:
    for begin, stop, mark in _cut(_SENTENCE_END, text, start, end):
        parts = [_clause(text, *part) for part in _cut(_CLAUSE_END, text, begin, stop)]
        spoken = tuple(part for part in parts if part.start < part.end)
        if spoken:
            yield Sentence(spoken, mark)


def _clause(text: str, start: int, end: int, mark: str) -> Clause:
    """Return the clause between two borders: it begins and ends with a word (`C#` and `C++` count)."""
    first = _FIRST.search(text, start, end)
    if first is None:
        return Clause(start, start, mark)
    while not _LAST.match(text, end - 1):
        end -= 1
    return Clause(first.start(), end, mark)


def _cut(border: re.Pattern[str], text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, border) of the pieces between the borders; the last piece has the border ""."""
    for found in border.finditer(text, start, end):
        yield start, found.start(), found[0]
        start = found.end()
    yield start, end, ""

"""Conversations that a tool exported as Markdown: speakers are headings or bold lines; never cut (product H12).

A Markdown document without speakers stays with `plain`, however many headings it has: a note that gets its first
heading must keep its adapter, because keys belong to one, and everything in it would be extracted again.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mex_pipeline.adapters.cleaning import assistant_text, left_out, user_text, without_closed_private
from mex_pipeline.adapters.files import opened, size_of
from mex_pipeline.adapters.plain import (
    SPEAKERS,
    decode,
    fenced,
    folded,
    parse_plain,
    plain_lines,
    read_text,
    whole_text,
)
from mex_pipeline.domain.conversation import Cursor, Role, Transcript
from mex_pipeline.errors import SourceFormat

_NAME = "markdown"
_DETECT_BYTES = 256 * 1024
_PREAMBLE_LINES = 40

_HEADING = re.compile(r" {0,3}(?P<level>#{1,6})[ \t]++(?P<label>\S(?:.{0,158}?\S)?)[ \t]*+#*+[ \t]*+")
_BOLD = re.compile(
    r" {0,3}(?P<open>_\*\*|\*\*\*|\*\*|__)(?P<label>[^*_\n]{1,120}?)(?P<colon>[:：]?)(?P<close>\*\*_|\*\*\*|\*\*|__)"
    r"[ \t]*(?P<outer>[:：]?)(?P<rest>.*)"
)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}+"
_SUFFIX = rf"\s*(?:[(\[【].*[)\]】]|(?:[-–—|·•@,:]|at\b)\s*(?=.*\d)(?:{_MONTH}|[\d\s:./\-年月日时分秒tz,+apm])+|#?\d{{1,6}})?\W*"
"""What may stand behind a speaker's name: something in brackets, a time, a number."""
_MODEL = (
    r"(?:chatgpt|gpt|claude|gemini|deepseek|qwen|kimi|glm|grok|llama|mistral|copilot|codex)(?:[ \-]?v?\d[\w.]*)?"
    r"(?:[ \-](?:sonnet|opus|haiku|pro|flash|mini|turbo|plus|max|preview|thinking|instant|code|cli|chat|\d[\w.]*))*"
)
_NAMES: dict[str, Role | None] = {
    **SPEAKERS,
    **dict.fromkeys(("user message", "user prompt", "human message", "prompt", "用户提问", "用户消息"), "user"),
    **dict.fromkeys(("assistant message", "assistant response", "model response", "ai response"), "assistant"),
    **dict.fromkeys(("response", "agent", "model", "github copilot", "opencode", "perplexity"), "assistant"),
    **dict.fromkeys(("助手回复", "ai 回复", "ai回复", "ai 回答", "文心一言", "智谱清言"), "assistant"),
    **dict.fromkeys(("tool use", "tool call", "tool result", "tool output", "tools", "function", "工具调用"), None),
    **dict.fromkeys(("工具结果", "system prompt", "system message", "系统提示", "系统消息"), None),
    **dict.fromkeys(
        ("thinking", "thought", "thoughts", "reasoning", "agent thought", "思考", "思考过程", "推理"), None
    ),
}
"""Who speaks under a label, folded and without its time, model or emoji; None is left out."""
_SECTIONS = frozenset(("prompt", "response", "model", "agent", "i"))
"""Labels that are headings of ordinary documents too: they count only where both sides speak."""

_LABEL = re.compile(rf"(?P<name>{'|'.join(sorted(map(re.escape, _NAMES), key=len, reverse=True))}|{_MODEL}){_SUFFIX}")
_REASONS = {
    **dict.fromkeys(
        ("thinking", "thought", "thoughts", "reasoning", "agent thought", "思考", "思考过程", "推理"), "thinking"
    ),
    **dict.fromkeys(("system", "系统", "system prompt", "system message", "系统提示", "系统消息"), "system"),
}

_RULE = re.compile(r"[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*")
_TIME = re.compile(r"[ \t]*<time datetime=\"[^\"]{1,40}\"[^>]*>[^<]*</time>[ \t]*")
_PREAMBLE = re.compile(
    r"[ \t]*(?:#{1,6}[ \t].*|<!--.*|[-*>][ \t]?.*|_.*_|\*\*[^*]+\*\*.*|[\w \-./]{1,40}[:：].*|\[[^\]]*+\]\([^)]*+\).*|<[^>]+>.*)?"
)
_BLOCK = re.compile(r"[ \t]*<(?:details|tool-use|tool_use|tool-call|tool_call|tool-result|tool_result)\b")
_CLOSES = re.compile(r"</(?:details|tool-use|tool_use|tool-call|tool_call|tool-result|tool_result)>")
_OPENS = re.compile(r"<(?:details|tool-use|tool_use|tool-call|tool_call|tool-result|tool_result)\b")
_TOOL = re.compile(
    r"[ \t]*(?:[_*`]{1,3}(?:tool|工具)(?: ?use| ?call| ?result| ?output|调用|结果|输出)?[_*`]{0,3}[ \t]*(?:[:：].*)?"
    r"|(?:tool use|tool call|工具调用)[:：].*)",
    re.IGNORECASE,
)
_TOOL_PART = re.compile(
    r"[ \t]*[_*]{1,3}(?:input|output|arguments|result|error|输入|输出|结果)[:：]?[_*]{1,3}[:：]?[ \t]*", re.I
)
"""A heading inside a tool call, which counts there only."""
_THINKING = re.compile(
    r"[ \t]*[_*]{1,3}(?:thinking|thought process|reasoning|思考(?:过程)?)[:：.…]*[_*]{1,3}[ \t]*[:：]?", re.IGNORECASE
)


class MarkdownAdapter:
    """Reads exported conversations."""

    name = _NAME

    def detect(self, path: Path) -> bool:
        """True when the beginning of the file is text with Markdown speakers, the user among them."""
        with opened(path) as file:
            head = file.read(_DETECT_BYTES)
            text = decode(head, is_whole=len(head) == size_of(file))
        return text is not None and bool(_speakers(plain_lines(text).split("\n")))

    def read(
        self,
        path: Path,
        since: Cursor,
        *,
        quiet: bool,  # noqa: ARG002 - of a finished file nothing is held
        until: int | None = None,
    ) -> Transcript:
        """Return all turns of the file: it is imported by content, so nothing is held, whatever `quiet` says.

        `reset` is `content_changed` when another content was read before; the keys of unchanged messages stay.
        Raises as `plain.read_text`, and SourceFormat(`path`, `adapter`) when nobody speaks in the text.
        """
        transcript = read_text(path, since, until, _NAME, parse_markdown)
        if not transcript.has_speakers:
            raise SourceFormat(path=str(path), adapter=self.name)
        return transcript


def parse_given(text: str) -> Transcript:
    """Return the transcript of a text that was handed over: an exported conversation, else as `plain` reads it."""
    as_markdown = parse_markdown(text)
    return as_markdown if as_markdown.has_speakers else parse_plain(text)


def parse_markdown(text: str) -> Transcript:
    """Return the transcript of a text; `has_speakers` is false, and there are no turns, where it is no conversation.

    A speaker is a heading or a bold line of its own with a known label, outside of fenced blocks, in the style of the
    first of its role: other headings are text. What stands before the first speaker is the export's own head, counted
    as `preamble`. Of the model's messages, tool calls with their output are dropped, and reasoning up to the next
    tool call or speaker, because its end is not marked.
    """
    text = plain_lines(text)
    dropped = Counter(left_out(text))
    lines = without_closed_private(text).strip().split("\n")
    speakers = _speakers(lines)
    if not speakers:
        return whole_text(_NAME, text, (), "document", dropped)
    if any(line.strip() for line in lines[: speakers[0].line]):
        dropped["preamble"] += 1
    return whole_text(_NAME, text, _spoken(lines, speakers, dropped), "typed", dropped)


@dataclass(frozen=True, slots=True)
class _Speaker:
    """A line at which somebody begins to speak: its number, the label, and what of the words stands on it.

    `style` is how the line is marked. A line without a label goes on with what was said.
    """

    line: int
    name: str
    style: str
    rest: str = ""

    @property
    def role(self) -> Role | None:
        """Who speaks; a name that is no label is a model's."""
        return _NAMES.get(self.name, "assistant")

    @property
    def is_heading(self) -> bool:
        """True for a heading, false for a bold line."""
        return self.style.startswith("#")


def _speakers(lines: list[str]) -> list[_Speaker]:
    """Return the lines at which somebody begins to speak, or nothing where the text is no conversation."""
    inside = fenced(lines)
    found = [one for index, line in enumerate(lines) if not inside[index] and (one := _speaker(index, line))]
    first = next((one for one in found if one.role), None)
    if first is None:
        return []
    found = [one for one in found if one.is_heading == first.is_heading]
    styles = {one.role: one.style for one in reversed(found)}
    styles |= {one.role: one.style for one in found if one.style == first.style}
    kept: list[_Speaker] = []
    for one in found:
        # What is left out ends a model's message wherever it is marked, but a person's only in the speakers' own style.
        is_own_style = one.style == styles.get(one.role or "user")
        if is_own_style or (one.role is None and kept and kept[-1].role != "user"):
            kept.append(one)
    return kept if _converse(lines, inside, kept) else []


def _speaker(index: int, line: str) -> _Speaker | None:
    """Return the speaker that a line names, or None."""
    if heading := _HEADING.fullmatch(line):
        name = _label(heading["label"].strip("*_ "))
        return _Speaker(index, name, f"#{len(heading['level'])}") if name else None
    bold = _BOLD.fullmatch(line)
    if bold is None or bold["close"] != bold["open"][::-1]:
        return None
    has_colon, rest = bool(bold["colon"] or bold["outer"]), bold["rest"].strip()
    name = _label(bold["label"])
    if not name or (rest and not has_colon):
        return None
    return _Speaker(index, name, bold["open"] + ":" * has_colon, rest)


def _label(label: str) -> str | None:
    """Return the known name in a label, without emoji, time and model; None where it is no speaker's."""
    text = re.sub(r"^\W+", "", folded(label))
    if "sidechain" in text:
        return "tool"
    found = _LABEL.fullmatch(text)
    return found["name"] if found else None


def _converse(lines: list[str], inside: list[bool], found: list[_Speaker]) -> bool:
    """True when the speakers make a conversation: the user speaks, and nothing but an export's head comes before."""
    roles = [one.role for one in found]
    if "user" not in roles:
        return False
    head = lines[: found[0].line]
    if len(head) > _PREAMBLE_LINES or not all(_PREAMBLE.fullmatch(line) for line in _without_front_matter(head)):
        return False
    if "assistant" in roles:
        return True
    if any(one.name in _SECTIONS for one in found):
        return False
    level = found[0].style
    headings = [match for index, line in enumerate(lines) if not inside[index] and (match := _HEADING.fullmatch(line))]
    return sum(f"#{len(heading['level'])}" == level for heading in headings) <= len(found)


def _without_front_matter(head: list[str]) -> list[str]:
    if head and head[0].strip() == "---":
        end = next((index for index, line in enumerate(head[1:], 1) if line.strip() == "---"), 0)
        return head[end + 1 :] if end else head[1:]
    return head


def _spoken(lines: list[str], speakers: list[_Speaker], dropped: Counter[str]) -> Iterator[tuple[Role, str]]:
    """Yield who said what; what is neither person nor model, and labels without words, are counted as dropped."""
    ends = [*(one.line for one in speakers[1:]), len(lines)]
    for one, end in zip(speakers, ends, strict=True):
        if one.role is None:
            dropped[_REASONS.get(one.name, "tool_use")] += 1
            continue
        said = [one.rest, *lines[one.line + 1 : end]]
        body = _trimmed(said)
        text = user_text("\n".join(body)) if one.role == "user" else _model_text(body, dropped)
        if text:
            yield one.role, text
        else:
            dropped["empty"] += 1


def _trimmed(said: list[str]) -> list[str]:
    """Return the lines of a message without the blanks, rules and time stamps around them."""
    start, stop = 0, len(said)
    while start < stop and (not said[start].strip() or _RULE.fullmatch(said[start]) or _TIME.fullmatch(said[start])):
        start += 1
    while stop > start and (not said[stop - 1].strip() or _RULE.fullmatch(said[stop - 1])):
        stop -= 1
    return said[start:stop]


def _model_text(lines: list[str], dropped: Counter[str]) -> str:
    """Return what the model said, without tool calls, their output, and reasoning."""
    inside = fenced(lines)
    kept: list[str] = []
    depth = 0
    skipped: str | None = None
    for line, is_code in zip(lines, inside, strict=True):
        if depth or (not is_code and _BLOCK.match(line)):
            dropped["tool_use"] += not depth
            depth = depth if is_code else max(0, depth + len(_OPENS.findall(line)) - len(_CLOSES.findall(line)))
            continue
        reason = None if is_code else _skips(line, skipped)
        if reason and reason != skipped:
            dropped[reason] += 1
        is_over = skipped == "tool_use" and line.strip() and not is_code
        skipped = reason or (None if is_over else skipped)
        if skipped is None:
            kept.append(line if line.strip("*_ ") else "")
    return assistant_text("\n".join(kept))


def _skips(line: str, skipped: str | None) -> str | None:
    """Return what a line begins that nobody says: a tool call or one of its parts, or reasoning."""
    if _TOOL.fullmatch(line) or (skipped == "tool_use" and _TOOL_PART.fullmatch(line)):
        return "tool_use"
    return "thinking" if _THINKING.fullmatch(line) else None

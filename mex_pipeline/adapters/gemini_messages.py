"""What one message of Gemini CLI says, and what of it nobody said (session-formats §3.4)."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from mex_pipeline.adapters.cleaning import assistant_text, capped, left_out, scrub, user_text
from mex_pipeline.adapters.files import digest
from mex_pipeline.adapters.records import text_of
from mex_pipeline.adapters.values import mapping, moment
from mex_pipeline.domain.conversation import Kind, Role, Turn

_ACKNOWLEDGED = "Got it. Thanks for the additional context!"
_INTERRUPTED = "[The previous response was interrupted before it completed.]"

_WRAPPERS = (
    ("<session_context>", "session_context"),
    ("Here is the user's editor context as a JSON object.", "ide_context"),
    ("Here is a summary of changes in the user's editor context", "ide_context"),
    ("<state_snapshot>", "compact_summary"),
    ("<scratchpad>", "compact_summary"),
    ("[System: You ", "system"),
    ("System: Potential loop detected.", "system"),
)
"""How texts begin that the client wrote in the user's name; each is a part of its own."""

_STEERING = re.compile(r"\s*User (?:steering update|hints):\s*<user_input>(?P<words>.*?)</user_input>", re.DOTALL)
_FILES = re.compile(
    r"(?:^|\n)[ \t]*+--- Content from referenced files ---\n.*(?:\n--- End of content ---|\Z)", re.DOTALL
)
_ANSWERS = "ask_user"
_ASKING = (_ANSWERS, None)
_PART_REASONS = {
    "functionCall": "tool_use",
    "functionResponse": "tool_result",
    "executableCode": "tool_use",
    "codeExecutionResult": "tool_result",
    "inlineData": "image",
    "fileData": "document",
}


class Said(NamedTuple):
    """Words of one message: a text, who said it, and how."""

    key: str
    role: Role
    text: str
    kind: Kind = "typed"


class Message(NamedTuple):  # made for every message, as jsonl's records
    """One message: what was said in it, why the rest is left out, and the marks of its texts as they stand.

    `id` is None where the client gave none. `marks` is None where the only text is the first that was said, blanks aside.
    """

    id: str | None
    type: str
    said: tuple[Said, ...]
    reasons: tuple[str, ...]
    marks: tuple[int, ...] | None = ()
    at: str | None = None

    @property
    def pieces(self) -> tuple[int, ...]:
        """The marks of its texts, by which they are found again under another id."""
        return (_mark(self.said[0].text),) if self.marks is None else self.marks

    def turns(self, session_id: str | None, end: int) -> Iterator[Turn]:
        """Yield the turns of what was said, read up to the position `end`."""
        for one in self.said:
            yield Turn(one.key, one.role, one.text, self.at, self.id, session_id, one.kind, end=end)


def message(value: Any) -> Message:
    """Return what a message record says, its strings fit to be stored; what is no message is one without words."""
    if not isinstance(value, dict):
        return Message(None, "", (), ("malformed",))
    name, kind = text_of(value, "id"), text_of(value, "type") or ""
    texts = _texts(value.get("content"))
    key = name or _unnamed(kind, value, texts)
    if kind == "gemini":
        said, reasons = _gemini(key, value, texts)
    elif kind == "user":
        said, reasons = _user(key, value, texts)
    else:
        is_notice = kind in ("info", "warning", "error")
        reason = "notice" if is_notice else "unknown_type"
        return Message(name, kind, (), (reason,), at=moment(value.get("timestamp")))
    is_all = bool(said) and len(texts) == 1 and texts[0].strip() == said[0].text
    marks = None if is_all else tuple(_mark(text) for text in texts if _bare(text))
    return Message(name, kind, tuple(said), tuple(reasons), marks, moment(value.get("timestamp")))


def says_the_same(value: dict[str, Any], other: dict[str, Any]) -> bool:
    """True when two records of a message have the same speech in them, cleaned or not."""
    return _words(value) == _words(other) or message(value).said == message(other).said


def is_acknowledgement(one: Message) -> bool:
    """True for the answer that the client puts behind its summary of compacted talk."""
    return one.type == "gemini" and one.pieces == (_mark(_ACKNOWLEDGED),)


def _user(key: str, value: dict[str, Any], texts: list[str]) -> tuple[list[Said], list[str]]:
    """Return what the person said in one record: all texts are one turn, an answer to a question is its own."""
    content, shown = value.get("content"), value.get("displayContent")
    reasons = _reasons(content)
    if any(text.strip() for text in _texts(shown)):
        reasons += ["attachment"] * (len(_parts(content)) > len(_parts(shown)))
        content, texts = shown, _texts(shown)
    typed: list[str] = []
    steered: list[str] = []
    for text in texts:
        hint = _STEERING.match(text)
        wrapper = next((reason for start, reason in _WRAPPERS if text.lstrip().startswith(start)), None)
        if hint:
            steered.append(user_text(hint["words"]))
        elif wrapper:
            reasons.append(wrapper)
        else:
            typed.append(text)
    whole, files = _FILES.subn("", "\n".join(typed))
    reasons += ["attachment"] * files + left_out(whole)
    mine = user_text(whole)
    text, was_cut = capped("\n".join(one for one in (mine, *steered) if one))
    reasons += ["capped"] * was_cut
    said = [Said(f"u:{key}", "user", text, "typed" if mine else "queued")] if text else []
    said += _said_answers(_answers(content))
    return said, reasons if said or reasons else ["empty"]


def _gemini(key: str, value: dict[str, Any], texts: list[str]) -> tuple[list[Said], list[str]]:
    """Return what the model said, and the answers to questions it asked with a tool."""
    calls = ["tool_use"] * len(_list(value.get("toolCalls")))
    inside = _reasons(value.get("content"))
    reasons = ["thinking"] * bool(_list(value.get("thoughts"))) + calls
    reasons += [reason for reason in inside if reason != "tool_use"] if calls else inside
    text, was_cut = capped(assistant_text("\n".join(texts)))
    if text in (_ACKNOWLEDGED, _INTERRUPTED):
        return [], [*reasons, "synthetic"]
    said = [Said(f"a:{key}", "assistant", text)] if text else []
    if calls:
        said += _said_answers(_call_answers(value))
    return said, [*reasons, "capped"] if was_cut else reasons if said or reasons else ["empty"]


def _said_answers(answers: list[tuple[str, str]]) -> Iterator[Said]:
    """Yield what the person answered to the tool that asks questions; the call's id is the key wherever it stands."""
    for call, output in answers:
        try:
            chosen = mapping(mapping(json.loads(output)).get("answers")).values()
        except (ValueError, RecursionError):
            continue
        text, _ = capped("\n".join(user_text(scrub(one)) for one in chosen if isinstance(one, str)).strip())
        if text:
            yield Said(f"u:{call}", "user", text, "tool_answer")


def _words(value: dict[str, Any]) -> tuple[Any, ...]:
    """Return all that `message` makes speech of, as it stands."""
    kind, content, shown = text_of(value, "type"), value.get("content"), value.get("displayContent")
    answers = _call_answers(value) if "toolCalls" in value else []
    if isinstance(content, str) and shown is None:
        return kind, content, answers
    return kind, answers, _texts(content), _answers(content), _texts(shown), _answers(shown)


def _call_answers(value: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the answers to the calls that ask questions; no other tool's output is looked at."""
    asked = [one for one in _list(value.get("toolCalls")) if isinstance(one, dict) and one.get("name") in _ASKING]
    return [answer for call in asked for answer in _answers(call.get("result"))]


def _answers(content: Any) -> list[tuple[str, str]]:
    """Return the call and the output of each result of the tool that asks questions."""
    found: list[tuple[str, str]] = []
    for part in content if isinstance(content, list) else [content]:
        response = part.get("functionResponse") if isinstance(part, dict) else None
        if isinstance(response, dict) and response.get("name") == _ANSWERS:
            call, output = text_of(response, "id"), text_of(mapping(response.get("response")), "output")
            found += [(call, output)] if call and output else []
    return found


def _parts(content: Any) -> list[dict[str, Any]]:
    """Return a content as parts: it is a text, a part, or a list of both."""
    if content is None:
        return []
    items = content if isinstance(content, list) else [content]
    return [item if isinstance(item, dict) else {"text": item} if isinstance(item, str) else {} for item in items]


def _texts(content: Any) -> list[str]:
    if content is None or isinstance(content, str):
        return [content] if content else []
    parts = _parts(content)
    return [text for part in parts if isinstance(text := part.get("text"), str) and not part.get("thought")]


def _reasons(content: Any) -> list[str]:
    return [] if isinstance(content, str) else [reason for part in _parts(content) if (reason := _part_reason(part))]


def _part_reason(part: dict[str, Any]) -> str | None:
    """Return why a part is no speech, or None for a text."""
    if part.get("thought"):
        return "thinking"
    if isinstance(part.get("text"), str):
        return None
    return next((reason for name, reason in _PART_REASONS.items() if name in part), "unknown_block")


def _unnamed(kind: str, value: dict[str, Any], texts: list[str]) -> str:
    """Return a name for a message without id, made of its time and its words."""
    words = [digest(bare) for text in texts if (bare := _bare(text))]
    return "#" + digest("\n".join([kind, str(value.get("timestamp")), *words]))


def _bare(text: str) -> str:
    return "".join(text.split())


def _mark(text: str) -> int:
    """Return what tells texts of one file apart, blanks aside."""
    return hash(_bare(text))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []

"""What the HTTP answer of a chat endpoint means: a completion or one named error; pure (product C7, C8)."""

import html
import json
import math
import re
from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from mex_pipeline.errors import LLMBadReply, LLMRejected, LLMUnavailable, MexError
from mex_pipeline.llm.port import Completion, Message, ResponseFormat, UnusableReply, Usage
from mex_pipeline.llm.text import clean

_MAX_DETAIL = 200
_MAX_READ = 1_000
_ECHO_WEIGHT, _SHORTEST_ECHO = 12, 3
_MAX_COUNT = 10**12

_KEY_LIKE = re.compile(r"\b(?:sk|pk|gsk|xai|key)-[\w-]{6,}|Bearer\s+\S+|\S*\*{3,}\S*|AIza[\w-]{20,}", re.IGNORECASE)


_BYTE = re.compile(r"(?:\\+x|%)(?P<hex>[0-9a-fA-F]{2})|\\+(?P<octal>[0-3][0-7]{2})")
_BYTES = re.compile(r"(?:(?:\\+x|%)[0-9a-fA-F]{2}|\\+[0-3][0-7]{2})+")


def _words(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


_ANY = _words("")
_QUOTA = _words(
    r"insufficient[ _](user[ _])?(quota|balance)", "balance is insufficient", "exceeded_current_quota",
    "billing_hard_limit", "credit balance", "arrearage", "FreeTierOnly", "余额不足", "欠费",
)  # fmt: skip
_FILTER = _words(
    "content[ _]filter", "content[ _](management )?policy", "content guidelines", "data_?inspection_?failed",
    "(inappropriate|prohibited|unsafe)[ _]content", "unsafe or sensitive", "sensitive (content|information)",
    "sensitive_?content", "(input|prompt|request|content) was flagged", "considered high risk", "content exists risk",
    "moderation_blocked", "safety system", "(?<!大小写)敏感", "(内容|输入|提示).{0,12}(违规|不合规|违法|风险|审核|不安全)",
)  # fmt: skip
_KEY = _words("invalid_api_key", "incorrect api key", "api[ _]key[ _](is )?(not valid|invalid|missing)")
_CONTEXT = _words(
    "context[ _](length|window|size|limit)", "maximum (context|model length)", "too many tokens", "reduce the length",
    "(prompt|input|(?<!max_)tokens?)[ _]((is|are)[ _])?too[ _](long|large)", "(input|prompt) length", "input token count",
    "exceeds? max(imum)? length", "(model token|tokens) limit", "tokens exceeds?", "max message tokens", "`inputs` tokens",
    "max_seq_len", "max input characters", "上下文.*(超|长)", "(输入|提示词?|prompt).{0,8}(超长|过长|太长)",
    "(输入|提示词?|prompt|token).{0,12}(超过|超出).{0,8}(长度|上限|限制)",
)  # fmt: skip
_ALWAYS_TOO_LARGE = _words("request too large")
_RATE = _words("rate[ _-]?limit", "too many requests", "限流", "速率限制", "请求过于频繁")
_MODEL = _words("model_not_found", "model not exist", "unknown model", r"model\b.{0,80}(does not exist|not found)")
_FORMAT = _words(r"response_?format", r"json_?(schema|object)", r"structured[ _-]?outputs?", "json mode", "guided_json")

_REFUSED = range(400, 500)
_CAUSES: tuple[tuple[Collection[int], re.Pattern[str], type[MexError], str], ...] = (
    ({402}, _ANY, LLMRejected, "llm_quota"),
    (_REFUSED, _QUOTA, LLMRejected, "llm_quota"),
    ({429}, _ALWAYS_TOO_LARGE, LLMRejected, "llm_context_length"),
    ({429}, _ANY, LLMUnavailable, "llm_rate_limited"),
    (_REFUSED, _FILTER, LLMBadReply, "llm_refusal"),
    ({401, 403}, _ANY, LLMRejected, "llm_auth"),
    (_REFUSED, _KEY, LLMRejected, "llm_auth"),
    ({413}, _ANY, LLMRejected, "llm_context_length"),
    ({400, 422, 500}, _CONTEXT, LLMRejected, "llm_context_length"),
    ({404}, _ANY, LLMRejected, "llm_unknown_model"),
    (_REFUSED, _MODEL, LLMRejected, "llm_unknown_model"),
    ({400}, _RATE, LLMUnavailable, "llm_rate_limited"),
    ({408}, _ANY, LLMUnavailable, "llm_timeout"),
    ({409, 425, *range(500, 600)}, _ANY, LLMUnavailable, "llm_server_error"),
    (range(300, 400), _ANY, LLMRejected, "llm_redirected"),
    (range(1_000), _ANY, LLMRejected, "llm_bad_request"),
)
"""Status and the server's words to an error: the first row that fits both."""

_STOPPED = {
    "length": "llm_cut_off",
    "max_tokens": "llm_cut_off",
    "model_length": "llm_cut_off",
    "content_filter": "llm_refusal",
    "safety": "llm_refusal",
    "sensitive": "llm_refusal",
}
_BROKE_OFF = frozenset({"error", "insufficient_system_resource"})


@dataclass(frozen=True, slots=True)
class Asked:
    """The question an answer belongs to; the key and the messages only so that no error repeats them."""

    endpoint: str
    model: str
    api_key: str
    messages: tuple[Message, ...]
    response_format: ResponseFormat


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer: status, body, and the Retry-After header as it came."""

    status: int
    body: str
    retry_after: str | None = None


def read(answer: Answer, asked: Asked) -> Completion:
    """Return the completion an answer holds.

    Raises LLMUnavailable, LLMRejected or UnusableReply, all with `endpoint`. An UnusableReply has the fields of Usage too
    when the endpoint reported them, so that tokens spent in vain are counted (product G3).
    """
    body = _decoded(answer.body)
    status = _failed_with(answer, body)
    if status:
        raise _error(status, body, answer, asked)
    if not isinstance(body, dict):
        raise UnusableReply("llm_not_an_api", answer.body, endpoint=asked.endpoint, model=asked.model)
    choice = _first(body.get("choices"))
    message = _dict(choice.get("message"))
    text = clean(_content(message.get("content")))
    usage = _dict(body.get("usage"))
    spent = Usage(asked.model, _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")))
    finish = str(choice.get("finish_reason") or "stop").casefold()
    facts: dict[str, Any] = {"endpoint": asked.endpoint, "model": asked.model, **(asdict(spent) if usage else {})}
    if finish in _BROKE_OFF:
        raise LLMUnavailable("llm_server_error", **facts, status=answer.status, detail="")
    problem = _problem(message, text, finish)
    if problem:
        raise UnusableReply(problem, text or answer.body, **facts)
    return Completion(text, spent, finish, asked.response_format)


def read_models(answer: Answer, asked: Asked) -> list[str]:
    """Return the names in the list of models an answer holds, sorted.

    Raises as `read`; LLMBadReply("llm_not_an_api") when it holds none, which is also what a 404 means here.
    """
    body = _decoded(answer.body)
    status = _failed_with(answer, body)
    if status and status != 404:
        raise _error(status, body, answer, asked)
    listed = _dict(body).get("data")
    if status or not isinstance(listed, list):
        raise LLMBadReply("llm_not_an_api", endpoint=asked.endpoint, model=asked.model)
    return sorted({clean(one["id"]) for one in map(_dict, listed) if isinstance(one.get("id"), str)})


def read_body(answer: Answer, asked: Asked) -> dict[str, Any]:
    """Return the JSON object of an answer that holds no completion; raises as `read_models`, but a 404 is a 404."""
    body = _decoded(answer.body)
    status = _failed_with(answer, body)
    if status:
        raise _error(status, body, answer, asked)
    if not isinstance(body, dict):
        raise LLMBadReply("llm_not_an_api", endpoint=asked.endpoint, model=asked.model)
    return body


def refuses_format(answer: Answer, asked: Asked, *, is_proven: bool) -> bool:
    """True when asking for structured output in a weaker way may help (product C12).

    Either the server names the response format, or it fails with a 400, 422 or 500 and no other cause to be seen: a
    common server answers json_schema with a bare 500. With a format that worked before, a 500 is an outage.
    """
    body = _decoded(answer.body)
    status = _failed_with(answer, body)
    if asked.response_format == "prompt" or status not in {400, 404, 415, 422, 500, 501}:
        return False
    if _FORMAT.search(_said(body, asked)):
        return True
    unexplained = _error(status, body, answer, asked).code in {"llm_bad_request", "llm_server_error"}
    return unexplained and status in ({400, 422} if is_proven else {400, 422, 500})


def refuses_temperature(answer: Answer, asked: Asked) -> bool:
    """True when the server objects to the temperature: reasoning models take only their own."""
    body = _decoded(answer.body)
    return _failed_with(answer, body) in {400, 422} and "temperature" in _said(body, asked)


def retry_seconds(header: str | None, now: datetime) -> int | None:
    """Return the whole seconds a Retry-After header (seconds or an HTTP date) asks for; None for none, zero or junk."""
    value = (header or "").strip()
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", value):
        return math.ceil(float(value)) or None
    try:
        until = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    aware = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(math.ceil((aware - now).total_seconds()), 0) or None


def detail(words: str, asked: Asked) -> str:
    """Return the first 200 characters of foreign words, without the key, anything like a key, or our own prompt."""
    return _without_secrets(words, asked)[:_MAX_DETAIL]


def _error(status: int, body: Any, answer: Answer, asked: Asked) -> MexError:
    """Return the error of a status and the server's words."""
    said = _said(body, asked)
    kind, code = next(
        (kind, code) for statuses, words, kind, code in _CAUSES if status in statuses and words.search(said)
    )
    facts: dict[str, Any] = {"endpoint": asked.endpoint, "model": asked.model, "status": status}
    if kind is LLMUnavailable:
        facts["retry_after"] = retry_seconds(answer.retry_after, datetime.now(UTC))
    # What a server says about a refused key shows parts of the key.
    facts["detail"] = "" if code == "llm_auth" else detail(_message(body), asked)
    return kind(code, **facts)


def _said(body: Any, asked: Asked) -> str:
    """Return the words that tell the cause: the error's codes and its message, without what it repeats of ours."""
    error = _dict(_dict(body).get("error")) or _dict(body)
    codes = [str(error[name]) for name in ("code", "type", "param") if isinstance(error.get(name), str)]
    return " ".join([*codes, _without_secrets(_message(body), asked)])


def _message(body: Any) -> str:
    """Return the message of an error body in any of the usual shapes; of a validation error never the input."""
    error = _dict(body).get("error", body)
    if isinstance(error, str):
        return "" if error.lstrip().startswith("<") else error
    fields = _dict(error)
    message = fields.get("message") or fields.get("detail") or fields.get("msg") or ""
    if isinstance(message, list):
        return "; ".join(str(_dict(item).get("msg", "")) for item in message)
    return str(message)


def _decoded(body: str) -> Any:
    """Return the JSON of a body, out of the array some servers put around an error; else the body as it is."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return body
    return value[0] if isinstance(value, list) and value else value


def _failed_with(answer: Answer, body: Any) -> int:
    """Return the status of a failure, 0 for an answer that should hold a completion.

    Gateways put the error of the server behind them into a 200 answer, with that server's status, as a number or its
    digits, or none (then 400); some without `error` around it.
    """
    if not 200 <= answer.status < 300:
        return answer.status
    fields = _dict(body)
    if fields.get("choices"):
        return 0
    error = fields.get("error") or (fields if fields.get("object") == "error" else None)
    told = str(_dict(error or fields).get("code"))
    if re.fullmatch(r"[45][0-9]{2}", told):
        return int(told)
    return 400 if error else 0


def _problem(message: dict[str, Any], text: str, finish: str) -> str | None:
    """Return the code of an unusable reply, None for a usable one. A cut-off reply counts even when its JSON parses."""
    stopped = _STOPPED.get(finish)
    if message.get("refusal") or stopped == "llm_refusal":
        return "llm_refusal"
    if text.strip():
        return stopped
    has_reasoning = message.get("reasoning_content") or message.get("reasoning")
    return "llm_reasoning_only" if has_reasoning else stopped or "llm_empty_reply"


def _without_secrets(text: str, asked: Asked) -> str:
    # The key goes before the text is cut, or the cut could leave half of it, and again once nothing is escaped.
    said = _KEY_LIKE.sub("***", _without_key(text, asked)[:_MAX_READ])
    shown = _KEY_LIKE.sub("***", _without_key(_plain(said), asked))
    return _without_echo(shown, [_plain(message.content) for message in asked.messages])


def _without_key(text: str, asked: Asked) -> str:
    return text.replace(asked.api_key, "***") if asked.api_key else text


def _content(content: Any) -> str:
    """Return the text of a message: a string, or the text parts of a list."""
    if isinstance(content, list):
        return "".join(str(part["text"]) for part in map(_dict, content) if isinstance(part.get("text"), str))
    return content if isinstance(content, str) else ""


def _first(items: Any) -> dict[str, Any]:
    return _dict(items[0]) if isinstance(items, list) and items else {}


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int:
    """Return a number of tokens; 0 for what is none, or more than anybody counts and a column holds."""
    return int(value) if isinstance(value, int | float) and 0 <= value <= _MAX_COUNT else 0


def _plain(text: str) -> str:
    """Return `text` free of escapes and line breaks, so that an echo is recognised however it was quoted."""
    text = re.sub(r"\\+u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), text)
    text = html.unescape(_BYTES.sub(lambda run: _bytes_of(run[0]).decode("utf-8", "replace"), text))
    text = re.sub(r"\\+[nrt]", " ", text).replace("\\", "")
    return " ".join(clean(text).split())


def _bytes_of(run: str) -> bytes:
    """Return the bytes that a run of `\\xE6`, `\\346` or `%E6` stands for."""
    return bytes(int(match["octal"], 8) if match["octal"] else int(match["hex"], 16) for match in _BYTE.finditer(run))


def _without_echo(text: str, sources: list[str]) -> str:
    """Return `text` with every run that also stands in a source as `…`: 12 Latin or 4 Chinese characters and more.

    A source that is shorter is taken out where it stands whole: a content may be two words, and the vector of it asked for.
    """
    for source in sorted(map(str.strip, sources), key=len, reverse=True):
        if _SHORTEST_ECHO <= _weight(source) < _ECHO_WEIGHT:
            text = text.replace(source, "…")
    kept: list[str] = []
    at = 0
    while at < len(text):
        end = _echo_end(text, at, sources)
        kept.append("…" if end else text[at])
        at = end or at + 1
    return "".join(kept)


def _weight(text: str) -> int:
    return sum(1 if sign.isascii() else 3 for sign in text)


def _echo_end(text: str, start: int, sources: list[str]) -> int:
    """Return where the run at `start` that a source holds too ends; 0 when it is too short to be an echo."""
    end, weight = start, 0
    while end < len(text) and weight < _ECHO_WEIGHT:
        weight += _weight(text[end])
        end += 1
    holders = [source for source in sources if text[start:end] in source] if weight >= _ECHO_WEIGHT else []
    while holders and end < len(text):
        longer = [source for source in holders if text[start : end + 1] in source]
        if not longer:
            break
        holders, end = longer, end + 1
    return end if holders else 0

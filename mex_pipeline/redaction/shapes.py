"""How secrets look that the detector does not know: said in words, in settings and commands, and some vendors' keys.

A shape is tried only where one of its hints occurs, so that ordinary talk costs no pattern at all.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

_ASCII = r"!#%&*+\-./0-9:=?@A-Z\\^_a-z|~"
_BARE = rf"[{_ASCII}][{_ASCII}$]{{3,127}}+(?![(\[])"
"""A password without quotation marks: no call, no list, no variable."""
_MADE = r"[A-Za-z0-9_\-./+=~%]"
_GIVES = r"(?:\\?[\"'”’]|[*_`]{1,3})?\s*+(?::=|=>|[:=：＝])(?:\*\*|__)?\s*+\\?"
"""What stands between a name and its value, also where the name is set in bold or as code."""
_OPEN = r"[\"'“”‘’「『`《]"
_QUOTED = rf"(?:{_OPEN})(?P<secret>[^\"”'’」』`》\n]{{4,128}})[\"”'’」』`》]"
_PASSWORDS = ("password", "passwd", "passphrase", "passcode", "pwd")
_PASSWORD = f"(?:{'|'.join(_PASSWORDS)})"
_CODES = (
    "密码",
    "密碼",
    "口令",
    "密钥",
    "秘钥",
    "暗号",
    "验证码",
    "驗證碼",
    "提取码",
    "授权码",
    "激活码",
    "安全码",
    "pin",
)
_CODE = f"(?:{'|'.join(_CODES)}(?:\\s*+码)?)"
_IS_ZH = (
    r"(?:一直|现在|目前|默认|已经|还|都|就|也|仍|已|被)?"
    r"(?:(?:更改|修改|设置|改|设|换|变)[成为]|用的是|是|为|叫)了?(?:\s*+[:：])?\s*+|(?:\*\*|__|`)?\s*+[:：=＝](?:\*\*|__)?\s*+"
)
_PRIVATE = r"PRIVATE KEY(?: BLOCK)?-----"


@dataclass(frozen=True, slots=True)
class Span:
    """A secret of `kind` in text[start:end]."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class _Shape:
    """A pattern that is tried where one of `hints` (in lower case) occurs; its group `secret`, or all of it, is one.

    `proves` tells a secret from what only stands in its place. With `folds` the pattern, in lower case, takes any case.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: str
    proves: Callable[[str], bool] = lambda _: True
    folds: bool = False


_STANDS_FOR = (
    r"(?i)[*x•#._-]+|[<{%$].*|your\b.*|your[-_].*|my[-_].*|.*\bexample\b.*|change[-_]?me|placeholder|redacted|"
    r"null|none|nil|true|false|undefined|required|optional|string|password|passwd|secret|token|hidden"
)
_WORDS = r"[^\W\d_]+(?:[-_.][^\W\d_]+)*"
_MEMBER = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+"
_SLUG = r"(?:[a-z]+|[a-z]?\d+[a-z]?)(?:[-_./](?:[a-z]+|[a-z]?\d+[a-z]?)){2,}"
"""Words and numbers set together: a model, a branch, a table."""
_PATH = r"(?:\.{0,2}/|~/|[A-Za-z]:\\|https?:).*|[\w./-]*/[\w-]*\.[a-z]{1,5}"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)


def _is(pattern: str, value: str) -> bool:
    return _compiled(pattern).fullmatch(value) is not None


def _is_quoted_password(value: str) -> bool:
    return not _is(_STANDS_FOR, value.strip())


def _is_password(value: str) -> bool:
    """True for four digits or more, or anything longer than words, members and paths are made of."""
    if any(_is(pattern, value) for pattern in (_STANDS_FOR, _PATH, _MEMBER, _WORDS)):
        return False
    has_digit = any(char.isdigit() for char in value)
    return len(value) >= (4 if has_digit and (value.isdigit() or any(map(str.isalpha, value))) else 6)


def _is_spoken_password(value: str) -> bool:
    return _is_password(value) and any(char.isdigit() for char in value)


def _is_bare_password(value: str) -> bool:
    """True for what stands beside the word with nothing between: a number of four digits or more, no name like `sha256`."""
    return value.isdigit() or (len(value) >= 8 and any(map(str.isalpha, value)) and _is_spoken_password(value))


def _is_phrase(value: str) -> bool:
    """True for what stands in quotation marks after "the password is": a word alone could be the talk itself."""
    return _is_quoted_password(value) and any(char.isascii() and char.isalnum() for char in value)


def _is_made(value: str) -> bool:
    """True for what a machine made up: letters and digits, of both cases where there is one digit; no path, no name."""
    digits = sum(map(str.isdigit, value))
    if _is(_SLUG, value) or _is(_STANDS_FOR, value) or _is(_PATH, value) or (digits < 4 and _is(_MEMBER, value)):
        return False
    is_mixed = any(map(str.islower, value)) and any(map(str.isupper, value))
    return any(map(str.isalpha, value)) and (digits >= 2 or (digits == 1 and is_mixed))


_SHAPES = (
    _Shape(
        "private_key",
        ("private key",),
        rf"-----BEGIN [A-Z0-9 ]*{_PRIVATE}(?>(?!-----(?:BEGIN|END)).)*+-----END [A-Z0-9 ]*{_PRIVATE}",
    ),
    _Shape(  # its end is missing
        "private_key",
        ("private key",),
        rf"-----BEGIN [A-Z0-9 ]*{_PRIVATE}(?:(?:\\[rn]|\s)*+(?:(?:Proc-Type|DEK-Info|Version|Comment):[^\n]*+|"
        r"[A-Za-z0-9+/=]{16,}+))*+(?:(?:\\[rn]|\s)*+[A-Za-z0-9+/=]++(?=\s*(?:\Z|\[cut )))?",
    ),
    _Shape(  # its beginning is missing
        "private_key",
        ("-----end ",),
        rf"(?<![A-Za-z0-9+/=])(?:[A-Za-z0-9+/=]++(?:\\[rn]|\s)++){{1,400}}+-----END [A-Z0-9 ]*{_PRIVATE}",
    ),
    _Shape("private_key", ("age-secret-key-",), r"AGE-SECRET-KEY-1[0-9A-Z]{50,}+"),
    _Shape(
        "seed_phrase",
        ("seed phrase", "mnemonic", "助记词", "恢复短语"),
        r"(?:seed phrase|mnemonic(?: phrase)?|助记词|恢复短语)\s*(?:is|are|是|[:：=])\s*"
        r"(?P<secret>[\"“「]?(?:[a-z]{3,8}[\s,，]+){11,23}[a-z]{3,8})",
    ),
    _Shape("anthropic_key", ("sk-ant-",), r"(?<![A-Za-z0-9])sk-ant-[\w-]{20,}+"),
    _Shape("openrouter_key", ("sk-or-",), r"(?<![A-Za-z0-9])sk-or-[\w-]{32,}+"),
    _Shape(
        "openai_key",
        ("sk-",),
        r"(?<![A-Za-z0-9])sk-(?:(?:proj|svcacct|admin|None)-[\w-]{20,}+|[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20})",
    ),
    _Shape("api_key", ("sk-",), r"(?<![A-Za-z0-9])sk-[A-Za-z0-9]{20,}+[\w-]*+", _is_made),
    _Shape("api_key", ("智谱", "zhipu", "glm"), r"(?<!\w)[0-9a-f]{32}\.[A-Za-z0-9]{16}(?!\w)"),
    _Shape(
        "github_token",
        ("github_pat_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        r"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{20,}+|github_pat_\w{22,}+)",
    ),
    _Shape("google_key", ("gocspx-",), r"(?<!\w)GOCSPX-[\w-]{20,}+"),
    _Shape("aws_key", ("akia", "asia"), r"(?<!\w)A(?:KI|SI)A[A-Z2-7]{16}(?!\w)"),
    _Shape("azure_key", ("8q~", "7q~"), r"(?<![\w~.-])\w{3}[78]Q~[\w~.-]{31,}+"),
    _Shape(
        "azure_key",
        ("accountkey=", "sharedaccesskey="),
        r"(?:Account|SharedAccess)Key=(?P<secret>[A-Za-z0-9+/=]{20,}+)",
    ),
    _Shape("alibaba_key", ("ltai",), r"(?<!\w)LTAI[A-Za-z0-9]{12,}+"),
    _Shape("tencent_key", ("akid",), r"(?<!\w)AKID[A-Za-z0-9]{13,}+", _is_made),
    _Shape("telegram_token", (":aa",), r"(?<!\w)\d{8,10}:AA[\w-]{33}(?![\w-])"),
    _Shape("notion_token", ("ntn_", "secret_"), r"(?<!\w)(?:ntn_[A-Za-z0-9]{40,}+|secret_[A-Za-z0-9]{43})(?!\w)"),
    _Shape(
        "cookie",
        ("cookie",),
        r"(?<![a-z])cookie[\"']?\s*[:=]\s*[\"']?(?P<secret>[\w.-]+=[^\s;\"']{8,}[^\n\"']*)",
        folds=True,
    ),
    _Shape(
        "token",
        ("authorization",),
        rf"authorization{_GIVES}[\"']?(?:bearer|token)\s+(?P<secret>{_MADE}{{8,}}+)",
        _is_made,
        folds=True,
    ),
    _Shape("token", ("bearer ",), rf"bearer\s+(?P<secret>{_MADE}{{20,}}+)", _is_made, folds=True),
    _Shape(
        "password",
        ("authorization",),
        rf"authorization{_GIVES}[\"']?basic\s+(?P<secret>[a-z0-9+/=_-]{{8,}}+)",
        folds=True,
    ),
    _Shape(
        "password", ("://",), r"://[^\s/@:\"'<>]{0,128}:(?P<secret>[^\s/\"'<>]{1,256})@(?=[\w\[])", _is_quoted_password
    ),
    _Shape("password", ("machine ",), r"machine\s+\S+\s+login\s+\S+\s+password\s+(?P<secret>\S+)"),
    _Shape(
        "password",
        ("curl ", "wget "),
        r"(?:curl|wget) [^\n]{0,300}?(?:-u|--user)[ =]?[\"']?[^\s:\"']+:(?P<secret>[^\s\"']+)",
    ),
    _Shape(
        "password",
        ("mysql", "mariadb", "sshpass"),
        r"(?:mysql|mariadb|sshpass)[^\n|;]{0,300}?\s-p(?!ort\b)(?P<secret>[^\s\"'-]\S+)",
    ),
    _Shape(
        "password", ("--pass", "--token"), rf"--(?:password|passwd|pass|token)[ =]\s*(?P<secret>{_BARE})", _is_password
    ),
    _Shape("password", _PASSWORDS, rf"{_PASSWORD}{_GIVES}{_QUOTED}", _is_quoted_password, folds=True),
    _Shape("password", _PASSWORDS, rf"{_PASSWORD}{_GIVES}(?P<secret>{_BARE})", _is_password, folds=True),
    _Shape(
        "password",
        (*_PASSWORDS, "pin "),
        rf"(?:{_PASSWORD}|(?<![a-z])pin(?:\s++code)?)(?:\s++(?:for|to|of|on|at|in)\s++[\w'’ ./-]{{1,40}}?)?"
        rf"\s++(?:is|was|to|as|will\s++be)(?:\s*+:)?\s++(?:(?:now|still|just|actually|currently|always)\s++)?"
        rf"{_OPEN}?(?P<secret>{_BARE})"
        r"(?!\s*-?(?:characters?|chars?|digits?|letters?|symbols?|times|years?|days?|hours?|minutes?)\b)",
        _is_spoken_password,
        folds=True,
    ),
    _Shape(
        "password",
        ("is my p", "is our p"),
        rf"(?<![{_ASCII}])(?P<secret>{_BARE})\s+is\s+(?:my|our)\s+(?:{_PASSWORD}|pin\b)",
        _is_spoken_password,
        folds=True,
    ),
    _Shape(
        "password",
        ("verification code", "security code", "one-time code", "otp"),
        r"(?:(?:verification|security|one-time)\s++code|(?<![a-z])otp)(?:\s++is|\s*+[:：=])\s*+(?P<secret>\d{4,10}+)(?!\w)",
        folds=True,
    ),
    _Shape(
        "password",
        _PASSWORDS,
        rf"(?<![{_ASCII}])(?P<secret>{_BARE})\s++as\s++(?:my|our|the)\s++(?:[a-z]++\s++){{0,2}}(?:{_PASSWORD}|pin\b)",
        _is_spoken_password,
        folds=True,
    ),
    _Shape(
        "password",
        ("密码", "密碼", "口令"),
        rf"(?<![{_ASCII}])(?P<secret>{_BARE})\s*+(?:就?是(?:我|我们|咱们?|家里)的?|[做当]作?|作为)[^\W\d_a-z]{{0,6}}?(?:密码|密碼|口令)",
        _is_spoken_password,
        folds=True,
    ),
    _Shape(
        "password",
        ("密码", "密碼", "口令", "验证码", "驗證碼"),
        rf"(?:密码|密碼|口令|验证码|驗證碼)(?:[还都就]?用)?\s*+(?P<secret>{_BARE})(?!\s*[年月日位个次天号名条种%％])",
        _is_bare_password,
        folds=True,
    ),
    _Shape("password", _CODES, rf"{_CODE}(?:{_IS_ZH}){_QUOTED}", _is_phrase, folds=True),
    _Shape(
        "password",
        _CODES,
        rf"{_CODE}(?:{_IS_ZH})(?P<secret>{_BARE})(?!\s*[年月日位个次天号名条种%％])",
        _is_password,
        folds=True,
    ),
)

_HINTS = sorted({hint for shape in _SHAPES for hint in shape.hints})

_NAMED = (
    (
        "secret",
        (
            r"secret(?:[-_ ]?(?:access|id|key))*|密钥|秘钥|"
            r"(?:access|private|encryption|signing|auth|account|subscription)[-_ ]?key(?:[-_ ]?id)?"
        ),
        16,
    ),
    ("token", r"token|session[-_]?id|sessid|(?<![a-z])sid|令牌", 16),
    ("api_key", r"(?:api|app)[-_ ]?key", 16),
    ("api_key", r"(?<![a-z])key", 24),
)
"""What a value made by a machine is called where it is a secret, by kind, and how long it is at least."""
_NAME_HINTS = ("key", "token", "sess", "sid", "secret", "令牌", "密钥", "秘钥")
_MADE_RUN = r"(?<![A-Za-z0-9_\-./+~%])[A-Za-z0-9_\-./+~%]{16,512}+={0,2}+"
_BEFORE = 60


def spans(text: str) -> list[Span]:
    """Return the secrets of these shapes in order; overlapping ones are one, of the kind that comes first in the table."""
    lowered = text.replace("\u0130", "i").lower()  # the only letter whose small form is two: the places would not fit
    hints = {hint for hint in _HINTS if hint in lowered}
    may_be_named = any(hint in lowered for hint in _NAME_HINTS)
    if not hints and not may_be_named:
        return []
    found = [
        (Span(start, end, shape.kind), rank)
        for rank, shape in enumerate(_SHAPES)
        if not hints.isdisjoint(shape.hints)
        for start, end in _places(shape, text, lowered)
    ]
    if may_be_named:
        found += [(span, len(_SHAPES)) for span in _named(text, lowered)]
    return joined(found)


def joined(found: Iterable[tuple[Span, int]]) -> list[Span]:
    """Return spans in order; overlapping ones become one, of the kind whose rank is lowest."""
    kept: list[tuple[Span, int]] = []
    for span, rank in sorted(found, key=lambda one: (one[0].start, one[1], one[0].kind)):
        last, best = kept[-1] if kept else (Span(0, 0, ""), 0)
        if span.start < last.end:
            kind, best = (span.kind, rank) if rank < best else (last.kind, best)
            kept[-1] = (Span(last.start, max(last.end, span.end), kind), best)
        else:
            kept.append((span, rank))
    return [span for span, _ in kept]


def _places(shape: _Shape, text: str, lowered: str) -> Iterator[tuple[int, int]]:
    """Yield where the secrets of a shape stand, without the punctuation that ends a sentence."""
    pattern = _compiled(shape.pattern)
    group = "secret" if "secret" in pattern.groupindex else 0
    for match in pattern.finditer(lowered if shape.folds else text):
        start, end = match.span(group)
        value = text[start:end].rstrip(".!?:,")
        if value and shape.proves(value):
            yield start, start + len(value)


def _named(text: str, lowered: str) -> Iterator[Span]:
    """Yield the values made by a machine that stand behind a name for such a value."""
    for match in _compiled(_MADE_RUN).finditer(text):
        start, value = match.start(), match[0].rstrip(".")
        if not _is_made(value):
            continue
        before = lowered[max(0, start - _BEFORE) : start]
        for kind, names, length in _NAMED:
            if len(value) >= length and _compiled(rf"(?:{names})(?:{_GIVES}|\s*(?:是|为|is)\s*){_OPEN}?\Z").search(
                before
            ):
                yield Span(start, start + len(value), kind)
                break

"""Settings: environment > config.yaml > defaults (product A5). `config/config.yaml` documents every one of them."""

import os
import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mex_pipeline import plain_yaml
from mex_pipeline.clock import parse_span
from mex_pipeline.errors import InvalidInput, NotConfigured, as_written
from mex_pipeline.paths import read_text

if TYPE_CHECKING:
    from mex_pipeline.domain.wording import Language


class LLMSettings(NamedTuple):
    """The model's endpoint (seed 004 §9)."""

    base_url: str = ""
    api_key: str = ""
    api_key_env: str = ""
    model: str = ""
    timeout_seconds: float = 600.0
    max_retries: int = 3
    retry_base_seconds: float = 2.0
    concurrency: int = 4

    @property
    def is_configured(self) -> bool:
        """True when there is an endpoint and a model; a key is not always needed (product G6)."""
        return bool(self.base_url and self.model)

    def require_whole(self) -> None:
        """Raise NotConfigured when the endpoint is half configured: that is never taken for "no model" (product C9)."""
        if bool(self.base_url) != bool(self.model):
            raise NotConfigured("llm_half_configured", missing="model" if self.base_url else "base_url")

    def key(self, environment: Mapping[str, str]) -> str:
        """Return the key: the variable named by `api_key_env` wins when it is set (product G6)."""
        return (environment.get(self.api_key_env, "") if self.api_key_env else "") or self.api_key

    def profile(self, environment: Mapping[str, str]) -> str:
        """Return a short name of endpoint, model and key that tells none of them: what a pause is meant for."""
        import hashlib  # noqa: PLC0415 - 3 ms that a request for a job does not need

        identity = "\0".join((self.base_url, self.model, self.key(environment)))
        return hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:12]


class SemanticSettings(NamedTuple):
    """Search by meaning (product F6): the model that makes vectors, `local` or a name at `base_url` and the prefixes it wants."""

    enabled: bool = False
    model: str = "local"
    base_url: str = ""
    api_key: str = ""
    api_key_env: str = ""
    query_prefix: str = ""
    passage_prefix: str = ""

    @property
    def is_remote(self) -> bool:
        """True when texts leave this process to become vectors."""
        return self.model != "local"

    def key(self, environment: Mapping[str, str]) -> str:
        """Return the key: the variable named by `api_key_env` wins when it is set (product G6)."""
        return (environment.get(self.api_key_env, "") if self.api_key_env else "") or self.api_key


class BudgetSettings(NamedTuple):
    """What a model may cost in tokens (product C10); 0 is no cap.

    `daily_tokens` of all calls since local midnight, `job_tokens` of one job over all its attempts, `job_input_tokens`
    what one job may send, estimated before its first call.
    """

    daily_tokens: int = 0
    job_tokens: int = 0
    job_input_tokens: int = 0

    @property
    def is_capped(self) -> bool:
        """True when spending has to be looked up before a call."""
        return bool(self.daily_tokens or self.job_tokens)


class ExtractionSettings(NamedTuple):
    """How conversations are cut for the model."""

    chunk_tokens: int = 6000
    known_tokens: int = 2000
    quiet_seconds: int = 60


class KeepSettings(NamedTuple):
    """What of the conversations stays in mex.db (product B10): which turns, one of KEEP_TURNS."""

    turns: str = "evidence"


KEEP_TURNS = ("evidence", "user", "all", "none")


class PrivacySettings(NamedTuple):
    """What is taken out of the text that a model sees (product F2)."""

    redact_secrets: bool = True


class ProfileSettings(NamedTuple):
    """How much `mex profile` prints."""

    max_tokens: int = 3000
    recent_days: int = 7
    recent_limit: int = 5


class ViewSettings(NamedTuple):
    """A view: what `mex profile --view NAME` shows. No topics: all; a number that is None: as in `profile`."""

    topics: tuple[str, ...] = ()
    max_tokens: int | None = None
    recent_days: int | None = None
    recent_limit: int | None = None
    include_sensitive: bool = False


class WorkerSettings(NamedTuple):
    """The worker process."""

    autostart: bool = True
    threads: int = 2
    idle_exit: str = "15m"

    @property
    def idle_seconds(self) -> float | None:
        """Seconds of idleness after which the worker leaves; None = never."""
        return idle_seconds(self.idle_exit)


def idle_seconds(text: str) -> float | None:
    """Return the seconds of an idle-exit span (`15m`, `2s`); `0` means never and gives None. Raises InvalidInput."""
    return None if text.strip() == "0" else parse_span(text).total_seconds()


class QueueSettings(NamedTuple):
    """What carries the wake-ups: the file queue.db, or with `url` a Redis server."""

    url: str = ""

    @property
    def address(self) -> str:
        """The url as it may be shown: no user, no password, no options."""
        return concealed(self.url)


_QUEUE_URL = r"""(?xa)
    (?:(?P<scheme>rediss?)://(?:[^\s@/?\#]*@)?(?P<host>[\w.-]+|\[[0-9a-fA-F:.%]+\])(?P<port>:\d{1,5})?(?P<db>/\d*)?
    |(?P<unix>unix)://(?:[^\s@/?\#]*@)?(?P<path>/[^@?\#]+))
    (?P<options>\?[^\s\#]*)?"""
_QUEUE_OPTIONS = {
    "redis": r"db=\d+",
    "rediss": r"db=\d+|ssl_cert_reqs=(none|optional|required)|ssl_(ca_certs|certfile|keyfile)=.+",
    "unix": r"db=\d+",
}
"""What may stand behind the `?`: an option that the client does not know would fail at each connection."""


def _is_queue_url(url: str) -> bool:
    if not url:
        return True
    found = re.fullmatch(_QUEUE_URL, url)
    if found is None or int((found["port"] or ":0")[1:]) > 65_535:
        return False
    options = (found["options"] or "?")[1:]
    known = _QUEUE_OPTIONS[found["scheme"] or found["unix"]]
    return all(re.fullmatch(known, one) for one in options.split("&") if options)


def concealed(url: str) -> str:
    """Return a queue's url as it may be shown; of one that cannot be read only the scheme, for anything may be a password."""
    found = re.fullmatch(_QUEUE_URL, url)
    if found is None:
        return f"{scheme[1]}://…" if (scheme := re.match(r"([a-z+]{1,10})://", url)) else "…"
    if found["unix"]:
        return f"unix://{found['path']}"
    return f"{found['scheme']}://{found['host']}{found['port'] or ''}{found['db'] or ''}"


class Settings(NamedTuple):
    """Everything a user may set."""

    language: "Language | None" = None
    llm: LLMSettings = LLMSettings()
    semantic: SemanticSettings = SemanticSettings()
    budget: BudgetSettings = BudgetSettings()
    extraction: ExtractionSettings = ExtractionSettings()
    keep: KeepSettings = KeepSettings()
    privacy: PrivacySettings = PrivacySettings()
    profile: ProfileSettings = ProfileSettings()
    worker: WorkerSettings = WorkerSettings()
    queue: QueueSettings = QueueSettings()
    views: Mapping[str, ViewSettings] = {}


_MINIMUM = {
    "timeout_seconds": 0.001, "max_retries": 0, "retry_base_seconds": 0, "concurrency": 1, "chunk_tokens": 200,
    "known_tokens": 0, "quiet_seconds": 0, "max_tokens": 1, "recent_days": 1, "recent_limit": 0, "threads": 1,
    "daily_tokens": 0, "job_tokens": 0, "job_input_tokens": 0,
}  # fmt: skip


def load(path: Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings of a home; a missing file means the defaults.

    Raises InvalidInput naming file, line and key for an unknown key or a value that does not fit.
    """
    data = _read(path)
    sections = {name: one for name, one in Settings()._asdict().items() if name not in ("language", "views")}
    values: dict[str, Any] = {}
    for key in data:
        if key not in sections and key not in ("language", "views"):
            raise _fault("config_unknown_key", path, str(key), known=", ".join(["language", *sections, "views"]))
    for name, section in sections.items():
        given = data.get(name)
        if given is not None and not isinstance(given, dict):
            raise _fault("config_not_a_section", path, name)
        values[name] = _section(type(section), given or {}, path, name, environment)
    language = data.get("language") or None
    if language not in (None, "zh", "en"):
        raise _fault("config_bad_value", path, "language", value=as_written(language), expected="zh, en")
    return Settings(language=language, views=_views(data.get("views"), path), **values)


def language_of(path: Path) -> object:
    """Return what the file says of the language, right or wrong; nothing else in it is looked at. Raises InvalidInput."""
    return _read(path).get("language")


def _read(path: Path) -> dict[Any, Any]:
    data = _parsed(read_text(path), path) if path.exists() else None
    if data is not None and not isinstance(data, dict):
        raise InvalidInput("config_not_a_mapping", path=str(path))
    return data or {}


@lru_cache(maxsize=1)
def _parsed(text: str, path: Path) -> Any:
    """What the text says: a command asks for the language, and then for all of it."""
    data = plain_yaml.parse(text)
    if data is not None:
        return data
    from mex_pipeline import yaml_file  # noqa: PLC0415 - as slow as all of a Python start

    return yaml_file.parse(text, path)


def _section(kind: type[Any], given: dict[str, Any], path: Path, section: str, environment: Mapping[str, str]) -> Any:
    fields = kind()._asdict()
    for key in given:
        if key not in fields:
            raise _fault("config_unknown_key", path, section, str(key), known=", ".join(fields))
    values: dict[str, Any] = {}
    for name, default in fields.items():
        variable = f"MEX_{section}_{name}".upper()
        if variable in environment:
            values[name] = _from_environment(variable, environment[variable], type(default), name)
        elif given.get(name) is not None:
            values[name] = _from_file(given[name], type(default), path, section, name)
    return kind(**values)


_VIEW_NAME = r"[a-z][a-z0-9_-]*"
_VIEW_KINDS: dict[str, type[Any]] = {
    "max_tokens": int, "recent_days": int, "recent_limit": int, "include_sensitive": bool,
}  # fmt: skip


def _views(given: Any, path: Path) -> dict[str, ViewSettings]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise _fault("config_not_a_section", path, "views")
    for name in given:
        if not isinstance(name, str) or re.fullmatch(_VIEW_NAME, name) is None:
            raise _fault(
                "config_bad_value", path, "views", str(name), value=as_written(name), expected="a-z, 0-9, -, _"
            )
    return {name: _view(name, one, path) for name, one in given.items()}


def _view(view: str, given: Any, path: Path) -> ViewSettings:
    if not isinstance(given, dict):
        raise _fault("config_not_a_section", path, "views", view)
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name == "topics":
            values[name] = _topics(value, path, view)
        elif name not in _VIEW_KINDS:
            raise _fault(
                "config_unknown_key", path, "views", view, str(name), known=", ".join(["topics", *_VIEW_KINDS])
            )
        elif value is not None:
            values[name] = _from_file(value, _VIEW_KINDS[name], path, "views", view, name)
    return ViewSettings(**values)


def _topics(value: Any, path: Path, view: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
        raise _fault("config_bad_value", path, "views", view, "topics", value=as_written(value), expected="[TOPIC, …]")
    return tuple(value)


def require_topics(path: Path, name: str, view: ViewSettings, known: Collection[str]) -> None:
    """Raise InvalidInput("view_unknown_topic") with file, line and key when a view names a topic that is not declared."""
    for topic in view.topics:
        if topic not in known:
            raise _fault("view_unknown_topic", path, "views", name, "topics", topic=topic, known=", ".join(known))


def _from_file(value: Any, kind: type[Any], path: Path, *keys: str) -> Any:
    name = keys[-1]
    number = kind in (int, float) and isinstance(value, int | float) and not isinstance(value, bool)
    if kind is str and isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    fits = isinstance(value, kind) and not (kind is int and isinstance(value, bool))
    if not (fits or (number and (kind is float or float(value).is_integer()))) or not _in_range(name, value):
        raise _fault("config_bad_value", path, *keys, value=_shown(name, value), expected=_expected(kind, name))
    return kind(value)


def _from_environment(variable: str, text: str, kind: type[Any], name: str) -> Any:
    try:
        if kind is bool:
            value: Any = {"1": True, "true": True, "0": False, "false": False}[text.strip().lower()]
        else:
            value = kind(text)
    except (KeyError, ValueError) as error:
        raise InvalidInput("env_bad_value", name=variable, value=text, expected=_expected(kind, name)) from error
    if not _in_range(name, value):
        shown = _shown(name, value)
        raise InvalidInput("env_bad_value", name=variable, value=shown, expected=_expected(kind, name))
    return value


def _in_range(name: str, value: Any) -> bool:
    if name == "idle_exit":
        try:
            idle_seconds(value)
        except InvalidInput:
            return False
        return True
    if name == "url":
        return _is_queue_url(value)
    if name == "turns":
        return value in KEEP_TURNS
    return name not in _MINIMUM or _MINIMUM[name] <= value < 1_000_000_000


def _shown(name: str, value: Any) -> str:
    return concealed(str(value)) if name == "url" else as_written(value)


def _expected(kind: type[Any], name: str) -> str:
    if name == "idle_exit":
        return "15m, 2h, 0"
    if name == "url":
        return "redis://HOST:PORT/0, rediss://HOST:PORT/0, unix:///PATH"
    if name == "turns":
        return ", ".join(KEEP_TURNS)
    if kind is bool:
        return "true, false"
    return f"{kind.__name__} ≥ {_MINIMUM[name]:g}" if name in _MINIMUM else "text"


def _fault(code: str, path: Path, *keys: str, **params: str) -> InvalidInput:
    from mex_pipeline import yaml_file  # noqa: PLC0415 - only a fault pays for it

    line = yaml_file.line_of(path, *keys)
    return InvalidInput(code, path=str(path), line=line, key=".".join(keys), **params)

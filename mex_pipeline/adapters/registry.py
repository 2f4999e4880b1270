"""Which adapters there are: the built-in ones in a dict, others from the entry points `mex.adapters`."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from mex_pipeline.adapters.port import Adapter
from mex_pipeline.errors import InvalidInput

GROUP = "mex.adapters"

_BUILT_IN = {
    "claude": "mex_pipeline.adapters.claude:ClaudeAdapter",
    "codex": "mex_pipeline.adapters.codex:CodexAdapter",
    "gemini": "mex_pipeline.adapters.gemini:GeminiAdapter",
    "codebuddy": "mex_pipeline.adapters.workbuddy:CodeBuddyAdapter",
    "workbuddy": "mex_pipeline.adapters.workbuddy:WorkBuddyAdapter",
    "chatgpt": "mex_pipeline.adapters.chatgpt:ChatGptAdapter",
    "claude-ai": "mex_pipeline.adapters.claude_ai:ClaudeAiAdapter",
    "opencode": "mex_pipeline.adapters.opencode:OpenCodeAdapter",
    "markdown": "mex_pipeline.adapters.markdown:MarkdownAdapter",
    "plain": "mex_pipeline.adapters.plain:PlainAdapter",
}
"""In the order in which a file's content is looked at. Each is loaded when it is needed: a hook names its own."""
_DETECTED_BY = {
    "claude": "mex_pipeline.adapters.claude_records",
    "codex": "mex_pipeline.adapters.codex_records",
    "gemini": "mex_pipeline.adapters.gemini_source",
    "opencode": "mex_pipeline.adapters.opencode_source",
}
"""Where the function that looks is not the adapter's own module, which takes longer to load."""


_OF_MANY = frozenset({"opencode", "chatgpt", "claude-ai"})
"""Of these a file may hold many conversations. No other built-in adapter is loaded to be asked: a hook pays for it."""


def is_built_in(name: str) -> bool:
    """True for an adapter that comes with meX."""
    return name in _BUILT_IN


def may_hold_many(name: str) -> bool:
    """True when a file of this adapter may hold many conversations, so that the adapter has to be asked."""
    return name in _OF_MANY or not is_built_in(name)


def find(name: str) -> Adapter:
    """Return the adapter of this name.

    Entry points are looked at only when no built-in has the name; each names an adapter or a class of one. Raises
    InvalidInput: `unknown_adapter` (`name`, `known`: list of names), `broken_adapter` (`name`, `error`: its type).
    """
    return _built_in(name) if is_built_in(name) else _installed(name)


def every() -> Iterator[Adapter]:
    """Yield all adapters, the built-in ones first; one of a package that cannot be loaded is passed over."""
    yield from (_built_in(name) for name in _BUILT_IN)
    for name in sorted(_points().names - _BUILT_IN.keys()):
        with suppress(InvalidInput):
            yield _installed(name)


def detect(path: Path) -> Adapter:
    """Return the adapter whose format the file's content is; raises as `recognise`."""
    return find(recognise(path))


def recognise(path: Path) -> str:
    """Return the name of the adapter whose format the file's content is: a built-in one, `plain` last, or an installed.

    Raises InvalidInput("unknown_format") for data of no known format, SourceGone or SourceUnreadable.
    """
    found = next((name for name in _BUILT_IN if _detects(name)(path)), None)
    found = found or next((one.name for one in every() if not is_built_in(one.name) and one.detect(path)), None)
    if found is None:
        raise InvalidInput("unknown_format", path=str(path), known=list(_BUILT_IN))
    return found


def _detects(name: str) -> Callable[[Path], bool]:
    apart = _DETECTED_BY.get(name)
    return cast("Callable[[Path], bool]", import_module(apart).detect) if apart else _built_in(name).detect


@cache
def _built_in(name: str) -> Adapter:
    module, kind = _BUILT_IN[name].split(":")
    return cast("Adapter", getattr(import_module(module), kind)())


def _points() -> Any:
    # Loaded by name: importing importlib.metadata costs 40 ms, which every command would pay.
    return import_module("importlib.metadata").entry_points(group=GROUP)


def _installed(name: str) -> Adapter:
    points = _points()
    point = next((point for point in points if point.name == name), None)
    if point is None:
        raise InvalidInput("unknown_adapter", name=name, known=sorted({*_BUILT_IN, *points.names}))
    try:
        adapter = point.load()
    except (ImportError, AttributeError) as error:
        raise InvalidInput("broken_adapter", name=name, error=type(error).__name__) from error
    return cast("Adapter", adapter() if isinstance(adapter, type) else adapter)

"""Which adapters there are: the built-in ones in a dict, others from the entry points `mex.adapters`."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import cast

from mex_pipeline.adapters.port import Adapter
from mex_pipeline.errors import InvalidInput

GROUP = "mex.adapters"

_BUILT_IN = {
    "claude": "mex_pipeline.adapters.claude:ClaudeAdapter",
    "opencode": "mex_pipeline.adapters.opencode:OpenCodeAdapter",
    "plain": "mex_pipeline.adapters.plain:PlainAdapter",
}
"""In the order in which a file's content is looked at. Each is loaded when it is needed: a hook names its own."""
_DETECTED_BY = {"claude": "mex_pipeline.adapters.claude_records", "opencode": "mex_pipeline.adapters.opencode_source"}
"""Where the function that looks is not the adapter's own module, which takes longer to load."""


def is_built_in(name: str) -> bool:
    """True for an adapter that comes with meX."""
    return name in _BUILT_IN


def find(name: str) -> Adapter:
    """Return the adapter of this name.

    Entry points are looked at only when no built-in has the name; each names an adapter or a class of one. Raises
    InvalidInput: `unknown_adapter` (`name`, `known`: list of names), `broken_adapter` (`name`, `error`: its type).
    """
    return _built_in(name) if is_built_in(name) else _installed(name)


def detect(path: Path) -> Adapter:
    """Return the built-in adapter whose format the file's content is; raises as `recognise`."""
    return _built_in(recognise(path))


def recognise(path: Path) -> str:
    """Return the name of the built-in adapter whose format the file's content is; `plain` comes last.

    Raises InvalidInput("unknown_format") for data of no known format, SourceGone or SourceUnreadable.
    """
    found = next((name for name in _BUILT_IN if _detects(name)(path)), None)
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


def _installed(name: str) -> Adapter:
    # Loaded by name: importing importlib.metadata costs 40 ms, which every command would pay.
    points = import_module("importlib.metadata").entry_points(group=GROUP)
    point = next((point for point in points if point.name == name), None)
    if point is None:
        raise InvalidInput("unknown_adapter", name=name, known=sorted({*_BUILT_IN, *points.names}))
    try:
        adapter = point.load()
    except (ImportError, AttributeError) as error:
        raise InvalidInput("broken_adapter", name=name, error=type(error).__name__) from error
    return cast("Adapter", adapter() if isinstance(adapter, type) else adapter)

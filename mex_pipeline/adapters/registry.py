"""Which adapters there are: the built-in ones in a dict, others from the entry points `mex.adapters`."""

from importlib import import_module
from pathlib import Path
from typing import cast

from mex_pipeline.adapters.claude import ClaudeAdapter
from mex_pipeline.adapters.opencode import OpenCodeAdapter
from mex_pipeline.adapters.plain import PlainAdapter
from mex_pipeline.adapters.port import Adapter
from mex_pipeline.errors import InvalidInput

GROUP = "mex.adapters"

_PLAIN = PlainAdapter()
_BUILT_IN: dict[str, Adapter] = {adapter.name: adapter for adapter in (ClaudeAdapter(), OpenCodeAdapter(), _PLAIN)}


def find(name: str) -> Adapter:
    """Return the adapter of this name.

    Entry points are looked at only when no built-in has the name; each names an adapter or a class of one. Raises
    InvalidInput: `unknown_adapter` (`name`, `known`: list of names), `broken_adapter` (`name`, `error`: its type).
    """
    return _BUILT_IN.get(name) or _installed(name)


def detect(path: Path) -> Adapter:
    """Return the built-in adapter whose format the file's content is; `plain` comes last.

    Raises InvalidInput("unknown_format") for data of no known format, SourceGone or SourceUnreadable.
    """
    ordered = sorted(_BUILT_IN.values(), key=lambda adapter: adapter is _PLAIN)
    found = next((adapter for adapter in ordered if adapter.detect(path)), None)
    if found is None:
        raise InvalidInput("unknown_format", path=str(path), known=list(_BUILT_IN))
    return found


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

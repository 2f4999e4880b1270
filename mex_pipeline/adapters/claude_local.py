"""Where Claude Code keeps its sessions on a machine, and for how long."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mex_pipeline.adapters.files import opened
from mex_pipeline.errors import SourceGone, SourceUnreadable

DEFAULT_DAYS = 30
"""What `cleanupPeriodDays` is where the settings do not say (session-formats §1.8)."""

_SETTINGS_CAP = 1024 * 1024


def places(home: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the session files of the main conversations: `<config>/projects/<slug>/<id>.jsonl`, no subagents'."""
    for root in _roots(home, environment):
        for project in _listed(root / "projects"):
            for path in _listed(project):
                if path.suffix == ".jsonl" and not path.name.startswith("agent-"):
                    yield path


def kept_days(home: Path, environment: Mapping[str, str]) -> int | None:
    """Return the days after which an untouched session is deleted, the fewest of all roots; None for never (0 days)."""
    named = [cleanup_days(root / "settings.json") for root in _roots(home, environment)]
    days = [DEFAULT_DAYS if one is None else one for one in named]
    return min((one for one in days if one), default=None if days else DEFAULT_DAYS)


def _roots(home: Path, environment: Mapping[str, str]) -> list[Path]:
    """Return the configuration folders that exist, each once.

    CLAUDE_CONFIG_DIR replaces the usual places; several in it are separated by commas, as tools that read sessions of
    several accounts have it. `~/.config/claude` is where some versions kept them.
    """
    named = environment.get("CLAUDE_CONFIG_DIR", "").strip()
    if named:
        whole = Path(named)
        chosen = [whole] if whole.is_dir() else [Path(part.strip()) for part in named.split(",") if part.strip()]
    else:
        chosen = [home / ".claude", Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "claude"]
    found = {os.path.realpath(root): root for root in reversed(chosen) if _is_folder(root)}
    return list(reversed(found.values()))


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except (OSError, ValueError):
        return []


def cleanup_days(settings: Path) -> int | None:
    """Return the `cleanupPeriodDays` of a settings file, 0 or more; None where it names no such number of days."""
    try:
        with opened(settings) as file:
            value: Any = json.loads(file.read(_SETTINGS_CAP))
    except (SourceGone, SourceUnreadable, ValueError, RecursionError):
        return None
    days = value.get("cleanupPeriodDays") if isinstance(value, dict) else None
    return days if isinstance(days, int) and not isinstance(days, bool) and days >= 0 else None

"""The skill that teaches an agent to read and write memories, put where the agent looks (seed 004 ADR-12, §8.4, §8.5).

A file of ours ends with a checksum of what stands above it. While it fits, nobody has changed the file and it may be
brought up to date; else it is the user's, stays as it is, and the new text goes beside it (product G12, H15).
"""

import hashlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mex_pipeline import __version__
from mex_pipeline.domain.wording import Language
from mex_pipeline.errors import ExternalError, InvalidInput
from mex_pipeline.paths import write_private
from mex_pipeline.resources import shipped

AGENTS: dict[str, str] = {"claude": "Claude Code", "opencode": "OpenCode", "workbuddy": "WorkBuddy"}
"""The agents meX knows: the name on the command line, which is also that of their program, and what they are called."""

SCOPES = ("global", "project")

_FILES = ("SKILL.md", "README.md")
_SEAL = "<!-- mex-integrate sha256:"


@dataclass(frozen=True, slots=True)
class Conflict:
    """A file that is the user's, and the new text beside it."""

    file: Path
    new_file: Path


@dataclass(frozen=True, slots=True)
class Integrated:
    """What became of each file of one agent's skill."""

    agent: str
    scope: str
    written: tuple[Path, ...]
    conflicts: tuple[Conflict, ...]

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object; the original's three keys first."""
        return {
            "agent": self.agent,
            "scope": self.scope,
            "written_files": [str(path) for path in self.written],
            "conflicts": [{"file": str(one.file), "new_file": str(one.new_file)} for one in self.conflicts],
        }


def found_agents(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the agents that are on this machine: their folder is there, or their program is on the PATH."""
    return [name for name in AGENTS if _root(name, "global", environment).is_dir() or shutil.which(name)]


def require_agent(name: str) -> None:
    """Raise InvalidInput for an agent that meX does not know."""
    if name not in AGENTS:
        raise InvalidInput("unknown_agent", value=name, known=", ".join(AGENTS))


def install(
    agent: str, scope: str, language: Language, *, dry_run: bool = False, environment: Mapping[str, str] = os.environ
) -> Integrated:
    """Write the skill and its README into the agent's folder `skills/mex` and return what became of each file.

    Files of its own are written again, whatever they hold (seed 004 §8.4); those of the user are left (product H15).
    With `dry_run` nothing is written and the answer is the same. Raises InvalidInput for an unknown agent or scope and
    for something in the way, ExternalError when the folder cannot be written.
    """
    require_agent(agent)
    if scope not in SCOPES:
        raise InvalidInput("unknown_scope", value=scope, known=", ".join(SCOPES))
    folder = _root(agent, scope, environment) / "skills" / "mex"
    project = Path.cwd() if scope == "project" else None
    _require_way(folder, project)
    written, conflicts = [], []
    try:
        for name in _FILES:
            file, text = folder / name, _sealed(shipped("skills", language, name).read_text(encoding="utf-8"))
            present = _present(file)
            target = file
            if present is None or _is_sealed(present):
                written.append(file)
            else:
                target = file.with_name(f"{name}.mex-new")
                conflicts.append(Conflict(file, target))
            _require_inside(target, project)
            if not dry_run:
                folder.mkdir(parents=True, exist_ok=True)
                write_private(target.resolve(), text)  # a linked file stays a link
    except OSError as error:
        raise ExternalError("skill_unwritable", path=str(folder), detail=error.strerror or "") from error
    return Integrated(agent, scope, tuple(written), tuple(conflicts))


def _root(agent: str, scope: str, environment: Mapping[str, str]) -> Path:
    """Return the folder in which an agent keeps what is its user's, or its project's."""
    if scope == "project":
        return Path.cwd() / f".{agent}"
    if agent == "opencode":
        configured = environment.get("XDG_CONFIG_HOME", "")
        return (Path(configured) if Path(configured).is_absolute() else Path.home() / ".config") / agent
    return Path.home() / f".{agent}"


def _require_way(folder: Path, project: Path | None) -> None:
    """Raise InvalidInput when no folder can be there: a file or a broken link stands in the way."""
    for one in (*reversed(folder.parents), folder):
        if (one.exists() or one.is_symlink()) and not one.is_dir():
            raise InvalidInput("skill_needs_folder", path=str(one))
    _require_inside(folder, project)


def _require_inside(path: Path, project: Path | None) -> None:
    """Raise InvalidInput for a link out of the project, which may come from anybody; the user's own are followed."""
    if project is not None and not path.resolve().is_relative_to(project.resolve()):
        raise InvalidInput("skill_link_leads_out", path=str(path), target=str(path.resolve()))


def _present(file: Path) -> str | None:
    """Return a file's text with plain line ends, None when there is none; raises InvalidInput for anything else."""
    if not file.exists() and not file.is_symlink():
        return None
    if not file.is_file():
        raise InvalidInput("skill_needs_file", path=str(file))
    return file.read_bytes().decode("utf-8", errors="replace").replace("\r\n", "\n")


def _sealed(template: str) -> str:
    """Return a file of ours: the version filled in, and the checksum at its end, where no front matter is disturbed."""
    body = f"{template.replace('{{version}}', __version__).rstrip()}\n\n"
    return f"{body}{_SEAL}{_digest(body)} -->\n"


def _is_sealed(text: str) -> bool:
    body, _, seal = text.rpartition(_SEAL)
    return seal.strip() == f"{_digest(body)} -->"


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:16]

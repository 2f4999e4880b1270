"""The files meX ships (`config/`): inside the wheel, or beside the package in a checkout."""

from pathlib import Path

_PACKAGE = Path(__file__).parent
LANGUAGES = ("zh", "en")


def shipped(*parts: str) -> Path:
    """Return the path of a shipped file or folder, e.g. `shipped("schema", "zh.yaml")`."""
    packed = _PACKAGE / "_config"
    return (packed if packed.is_dir() else _PACKAGE.parent / "config").joinpath(*parts)


def prompt_texts(language: str) -> tuple[tuple[str, ...], str]:
    """Return the eight parts of the system prompt in order, and the reminder sent after an unusable reply."""
    folder = shipped("prompts", language)
    parts = tuple(path.read_text(encoding="utf-8") for path in sorted(folder.glob("0*.md")))
    return parts, (folder / "repair.md").read_text(encoding="utf-8")


def compact_texts(language: str) -> tuple[str, str]:
    """Return the system prompt of a compaction, and the reminder sent after an unusable reply."""
    folder = shipped("prompts", language)
    task, repair = ((folder / name).read_text(encoding="utf-8") for name in ("compact.md", "compact_repair.md"))
    return task, repair

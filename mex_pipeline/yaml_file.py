"""Reading and editing YAML files: the one door to the yaml package. Errors name file, line and key (product A5)."""

from pathlib import Path
from typing import Any

import yaml

from mex_pipeline.errors import InvalidInput

# libyaml is ten times faster than the Python parser; some builds come without it.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_text(path: Path) -> str:
    """Return the file's text; raises InvalidInput("file_unreadable") when it cannot be read as UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        detail = getattr(error, "strerror", None) or type(error).__name__
        raise InvalidInput("file_unreadable", path=str(path), detail=detail) from error


def load(path: Path) -> Any:
    """Return the parsed content (None for an empty file); raises InvalidInput("yaml_syntax", path, line, detail)."""
    return parse(read_text(path), path)


def parse(text: str, path: Path) -> Any:
    """Return the parsed content of `text`, which was read from `path`."""
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - both loaders are safe ones
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        detail = getattr(error, "problem", None) or type(error).__name__
        raise InvalidInput("yaml_syntax", path=str(path), line=mark.line + 1 if mark else 1, detail=detail) from error


def line_of(path: Path, *keys: str) -> int:
    """Return the line (from 1) on which the nested key stands; 1 when it is not found."""
    node = yaml.compose(read_text(path), Loader=_Loader)
    line = 1
    for key in keys:
        if not isinstance(node, yaml.MappingNode):
            break
        found = next(((name, value) for name, value in node.value if name.value == key), None)
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return line


def with_values(text: str, section: str, values: dict[str, str]) -> str:
    """Return the YAML `text` with scalars of one section replaced or added; comments and everything else stay."""
    for key, value in values.items():
        text = _with_value(text, section, key, _scalar(value))
    return text


def _scalar(value: str) -> str:
    return yaml.safe_dump(value, default_style='"', allow_unicode=True, width=10_000).strip()


def _with_value(text: str, section: str, key: str, scalar: str) -> str:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    sections = root.value if isinstance(root, yaml.MappingNode) else []
    body = next((value for name, value in sections if name.value == section), None)
    if not isinstance(body, yaml.MappingNode) or not body.value:
        kept = text if body is None or not isinstance(root, yaml.MappingNode) else _without_section(text, root, section)
        return f"{kept.rstrip()}\n\n{section}:\n  {key}: {scalar}\n".lstrip()
    for name, value in body.value:
        if name.value == key:
            return _replaced(text, value, scalar)
    first = body.value[0][0].start_mark
    separator = ", " if body.flow_style else f"\n{' ' * first.column}"
    return f"{text[: first.index]}{key}: {scalar}{separator}{text[first.index :]}"


def _replaced(text: str, node: yaml.Node, scalar: str) -> str:
    start, end = node.start_mark.index, node.end_mark.index
    old = text[start:end].rstrip()  # a block scalar ends behind its line break
    return f"{text[:start]}{'' if old else ' '}{scalar}{text[start + len(old) :]}"


def _without_section(text: str, root: yaml.MappingNode, section: str) -> str:
    name, value = next(pair for pair in root.value if pair[0].value == section)
    return text[: name.start_mark.index] + text[value.end_mark.index :]

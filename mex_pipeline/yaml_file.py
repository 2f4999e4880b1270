"""Reading and editing YAML files: the one door to the yaml package. Errors name file, line and key (product A5)."""

from pathlib import Path
from typing import Any

import yaml

from mex_pipeline.errors import InvalidInput
from mex_pipeline.paths import read_text

# libyaml is ten times faster than the Python parser; some builds come without it.
_Base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc, valid-type]  # known at run time only
    """Names the place of a number or date that does not exist, where yaml lets Python's own error through."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep=deep)
        except ValueError as error:
            kind = node.tag.rpartition(":")[2]
            raise yaml.constructor.ConstructorError(None, None, f"no valid {kind}", node.start_mark) from error


MAX_DEPTH = 30
MAX_NODES = 100_000
"""What a file may hold, aliases written out: the shipped schema has 900 nodes, eight deep."""


def load(path: Path) -> Any:
    """Return the parsed content (None for an empty file); raises as `read_text` and `parse`."""
    return parse(read_text(path), path)


def parse(text: str, path: Path) -> Any:
    """Return the parsed content of `text`, which was read from `path`.

    Raises InvalidInput with path and line: `yaml_syntax`, `yaml_tab`, `yaml_duplicate_key` (YAML forbids it, the parser
    would keep the last in silence) and `yaml_too_complex` (aliases that would unfold without end).
    """
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _measure(node, path, {}, 1)
        return loader.construct_document(node)
    except (yaml.YAMLError, RecursionError) as error:
        raise _fault(error, text, path) from error
    finally:
        loader.dispose()


def _measure(node: yaml.Node, path: Path, sizes: dict[int, int | None], depth: int) -> int:
    """Return how many nodes there are below and with this one; an alias counts as what it stands for."""
    known = sizes.get(id(node), 0)
    if known:
        return known
    line = node.start_mark.line + 1
    if known is None or depth > MAX_DEPTH:  # an alias inside what it stands for has no end
        raise InvalidInput("yaml_too_complex", path=str(path), line=line)
    sizes[id(node)] = None
    if isinstance(node, yaml.MappingNode):
        _refuse_duplicates(node, path)
        children = [child for pair in node.value for child in pair]
    else:
        children = node.value if isinstance(node, yaml.SequenceNode) else []
    size = 1 + sum(_measure(child, path, sizes, depth + 1) for child in children)
    if size > MAX_NODES:
        raise InvalidInput("yaml_too_complex", path=str(path), line=line)
    sizes[id(node)] = size
    return size


def _refuse_duplicates(node: yaml.MappingNode, path: Path) -> None:
    lines: dict[tuple[str, str], int] = {}
    for name, _ in node.value:
        if not isinstance(name, yaml.ScalarNode):
            continue
        line, key = name.start_mark.line + 1, (name.tag, name.value)
        if key in lines:
            raise InvalidInput("yaml_duplicate_key", path=str(path), line=line, key=name.value, first=lines[key])
        lines[key] = line


def _fault(error: Exception, text: str, path: Path) -> InvalidInput:
    """Return the error of a text the parser refused: where it stands; its own words are a supplement."""
    mark = getattr(error, "problem_mark", None)
    at = getattr(error, "position", None)
    if mark is not None:
        line, column = mark.line + 1, mark.column + 1
    elif at is not None:
        line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    else:
        line, column = 1, 1
    lines = text.splitlines()
    if line <= len(lines) and lines[line - 1][:column].strip(" ").startswith("\t"):
        return InvalidInput("yaml_tab", path=str(path), line=line)
    detail = getattr(error, "problem", None) or getattr(error, "reason", None) or type(error).__name__
    return InvalidInput("yaml_syntax", path=str(path), line=line, column=column, detail=detail)


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


def with_scalar(text: str, key: str, value: str) -> str:
    """Return the YAML `text` with one scalar of its top level replaced or added; comments and everything else stay."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    found = root.value if isinstance(root, yaml.MappingNode) else []
    node = next((node for name, node in found if name.value == key), None)
    if node is not None:
        return _replaced(text, node, _scalar(value))
    at = found[0][0].start_mark.index if found else 0
    return f"{text[:at]}{key}: {_scalar(value)}\n{text[at:]}"


def _scalar(value: str) -> str:
    return yaml.safe_dump(value, default_style='"', allow_unicode=True, width=10_000).strip()


def _with_value(text: str, section: str, key: str, scalar: str) -> str:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is not None and not isinstance(root, yaml.MappingNode):  # a lone `null` or `~`: load lets nothing else in
        text, root = text[: root.start_mark.index] + text[root.end_mark.index :], None
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

"""Finding adapters by name, by installed entry point and by content."""

import sys
from pathlib import Path

import pytest

from mex_pipeline.adapters import registry
from mex_pipeline.adapters.claude import ClaudeAdapter
from mex_pipeline.adapters.plain import PlainAdapter
from mex_pipeline.errors import InvalidInput, SourceGone, SourceUnreadable
from tests.adapters.claude_session import chat

PLUGIN = """
class Notes:
    name = "notes"

ready = Notes()
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another distribution that is installed and offers adapters."""
    (tmp_path / "mex_test_plugin.py").write_text(PLUGIN)
    info = tmp_path / "mex_test_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mex-test-plugin\nVersion: 1.0\n")
    points = ["notes = mex_test_plugin:Notes", "ready = mex_test_plugin:ready", "claude = mex_test_plugin:Notes"]
    broken = ["gone = mex_test_plugin_gone:X", "absent = mex_test_plugin:absent"]
    (info / "entry_points.txt").write_text("\n".join(["[mex.adapters]", *points, *broken]))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mex_test_plugin", raising=False)


def test_built_in_names_are_found() -> None:
    """Each under its own name."""
    assert isinstance(registry.find("claude"), ClaudeAdapter)
    assert isinstance(registry.find("plain"), PlainAdapter)


@pytest.mark.usefixtures("plugin")
def test_an_installed_adapter_is_found_by_its_entry_point() -> None:
    """A class is made an adapter, a ready one is taken; a built-in name cannot be taken over."""
    assert registry.find("notes").name == registry.find("ready").name == "notes"
    assert isinstance(registry.find("claude"), ClaudeAdapter)


@pytest.mark.usefixtures("plugin")
def test_an_unknown_name_lists_the_known_ones() -> None:
    """The installed ones too."""
    with pytest.raises(InvalidInput) as caught:
        registry.find("cluade")
    assert caught.value.code == "unknown_adapter"
    assert caught.value.params["name"] == "cluade"
    assert {"claude", "plain", "notes", "ready"} <= set(caught.value.params["known"])


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize(("name", "error"), [("gone", "ModuleNotFoundError"), ("absent", "AttributeError")])
def test_a_broken_entry_point_is_named(name: str, error: str) -> None:
    """It is the plug-in's fault, not an unknown name."""
    with pytest.raises(InvalidInput) as caught:
        registry.find(name)
    assert (caught.value.code, caught.value.params) == ("broken_adapter", {"name": name, "error": error})


def test_files_are_told_by_content_and_plain_is_the_rest(tmp_path: Path) -> None:
    """Names and extensions do not count."""
    assert registry.detect(chat().write(tmp_path / "notes.txt")).name == "claude"
    (tmp_path / "s.jsonl").write_text("我住在成都。")
    assert registry.detect(tmp_path / "s.jsonl").name == "plain"


@pytest.mark.parametrize("data", [b"\x00\xff\n", b'{"a": 1}\n', b"{\n", b'\xef\xbb\xbf[\n  {"x": 2}]', b'["a"]'])
def test_data_of_no_known_format_is_never_taken_for_the_users_words(tmp_path: Path, data: bytes) -> None:
    """JSON of another program, or no text at all: the adapter has to be named."""
    path = tmp_path / "data"
    path.write_bytes(data)
    with pytest.raises(InvalidInput) as caught:
        registry.detect(path)
    assert (caught.value.code, caught.value.params["known"]) == ("unknown_format", list(registry._BUILT_IN))


@pytest.mark.parametrize("text", ["[周一] 我住在成都", "{draft} 我的简历", "[x] done", ""])
def test_notes_that_begin_with_a_bracket_are_notes(tmp_path: Path, text: str) -> None:
    """Only the beginning of JSON is refused."""
    path = tmp_path / "note.txt"
    path.write_text(text)
    assert registry.detect(path).name == "plain"


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """Content cannot be judged then."""
    with pytest.raises(SourceGone):
        registry.detect(tmp_path / "none")
    with pytest.raises(SourceUnreadable):
        registry.detect(tmp_path)

"""Where Claude Code's sessions are found on a machine, and how long they stay."""

import os
from pathlib import Path

import pytest

from mex_pipeline.adapters.port import Local
from tests.adapters.claude_session import ADAPTER, chat


def session(root: Path, name: str) -> Path:
    path = root / "projects" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return chat().write(path)


def found(home: Path, **environment: str) -> set[Path]:
    paths = list(ADAPTER.places(home, environment))
    assert len(set(paths)) == len(paths)
    return set(paths)


def test_the_main_conversations_are_found_and_subagents_are_not(tmp_path: Path) -> None:
    """One file a session in a folder a project; what lies deeper or elsewhere is none."""
    root = tmp_path / ".claude"
    expected = {session(root, "-home-lin/a.jsonl"), session(root, "------/b.jsonl")}
    for other in ("-home-lin/agent-1.jsonl", "-home-lin/a/subagents/agent-2.jsonl", "-home-lin/a/x.jsonl", "c.jsonl"):
        session(root, other)
    session(root, "-home-lin/notes.txt")
    (root / "history.jsonl").write_text("{}")
    (root / "projects" / "loop").symlink_to(root / "projects" / "loop")
    assert isinstance(ADAPTER, Local)
    assert found(tmp_path) == expected


def test_older_places_and_named_ones_are_looked_at_once(tmp_path: Path) -> None:
    """CLAUDE_CONFIG_DIR replaces the usual places, several are separated by commas, a name with a comma is one."""
    usual, older, xdg = tmp_path / ".claude", tmp_path / ".config" / "claude", tmp_path / "xdg" / "claude"
    named, second, comma = tmp_path / "named", tmp_path / "二", tmp_path / "a,b"
    paths = {root: session(root, "p/s.jsonl") for root in (usual, older, xdg, named, second, comma)}
    assert found(tmp_path) == {paths[usual], paths[older]}
    assert found(tmp_path, XDG_CONFIG_HOME=str(tmp_path / "xdg")) == {paths[usual], paths[xdg]}
    assert found(tmp_path, CLAUDE_CONFIG_DIR=str(named)) == {paths[named]}
    both = f"{named}, {second},{named}/,{tmp_path / 'none'}"
    assert found(tmp_path, CLAUDE_CONFIG_DIR=both) == {paths[named], paths[second]}
    assert found(tmp_path, CLAUDE_CONFIG_DIR=str(comma)) == {paths[comma]}
    assert found(tmp_path, CLAUDE_CONFIG_DIR=" ") == {paths[usual], paths[older]}
    assert found(tmp_path, CLAUDE_CONFIG_DIR="a\0b") == set()
    assert found(tmp_path / "nobody") == set()


def test_one_folder_under_two_names_is_listed_once(tmp_path: Path) -> None:
    """Some keep a link where it used to be."""
    path = session(tmp_path / ".claude", "p/s.jsonl")
    (tmp_path / ".config").mkdir()
    (tmp_path / ".config" / "claude").symlink_to(tmp_path / ".claude")
    assert found(tmp_path) == {path}


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root lists everything")
def test_what_cannot_be_listed_is_passed_over(tmp_path: Path) -> None:
    """The rest is found."""
    path = session(tmp_path / ".claude", "open/s.jsonl")
    session(tmp_path / ".claude", "closed/s.jsonl").parent.chmod(0)
    assert found(tmp_path) == {path}


@pytest.mark.parametrize(
    ("settings", "days"),
    [
        (None, 30),
        ("{}", 30),
        ('{"cleanupPeriodDays": 3650}', 3650),
        ('\ufeff{"cleanupPeriodDays": 7}', 7),
        ('{"cleanupPeriodDays": 0}', None),
        ('{"cleanupPeriodDays": -1}', 30),
        ('{"cleanupPeriodDays": true}', 30),
        ('{"cleanupPeriodDays": "7"}', 30),
        ("[7]", 30),
        ("{broken", 30),
        ("[" * 100_000, 30),
    ],
)
def test_the_settings_say_how_long_a_session_is_kept(tmp_path: Path, settings: str | None, days: int | None) -> None:
    """30 days where they do not; nothing is deleted with 0."""
    root = tmp_path / ".claude"
    session(root, "p/s.jsonl")
    if settings is not None:
        (root / "settings.json").write_text(settings, "utf-8")
    assert ADAPTER.kept_days(tmp_path, {}) == days


def test_of_several_places_the_shortest_time_counts(tmp_path: Path) -> None:
    """Nobody is told that there is more time than there is."""
    for name, days in (("a", 90), ("b", 10), ("c", 0)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "settings.json").write_text(f'{{"cleanupPeriodDays": {days}}}')
    roots = ",".join(str(tmp_path / name) for name in "abc")
    assert ADAPTER.kept_days(tmp_path, {"CLAUDE_CONFIG_DIR": roots}) == 10
    assert ADAPTER.kept_days(tmp_path, {"CLAUDE_CONFIG_DIR": str(tmp_path / "c")}) is None
    assert ADAPTER.kept_days(tmp_path, {"CLAUDE_CONFIG_DIR": str(tmp_path / "none")}) == 30

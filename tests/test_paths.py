"""Where a home lies, and that it is private (product A2, A6)."""

import os
import stat
from pathlib import Path

import pytest

from mex_pipeline.errors import ExternalError, InvalidInput
from mex_pipeline.paths import Home, write_private


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_product_a2_mex_home_names_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEX_HOME", str(tmp_path / "here"))
    assert Home.from_environment().root == tmp_path / "here"


@pytest.mark.parametrize("named", [None, "", "  "])
def test_product_a2_without_it_the_home_is_dot_mex(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, named: str | None
) -> None:
    if named is None:
        monkeypatch.delenv("MEX_HOME")
    else:
        monkeypatch.setenv("MEX_HOME", named)
    assert Home.from_environment().root == tmp_path / ".mex"


def test_a_relative_or_tilde_home_is_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEX_HOME", "sub/home")
    assert Home.from_environment().root == tmp_path / "sub/home"
    monkeypatch.setenv("MEX_HOME", "~/mine")
    assert Home.from_environment().root == tmp_path / "mine"


def test_naming_a_home_makes_nothing(tmp_path: Path) -> None:
    assert list(tmp_path.iterdir()) == []
    Home.from_environment()
    assert list(tmp_path.iterdir()) == []


def test_everything_lies_inside_the_home(tmp_path: Path) -> None:
    home = Home(tmp_path)
    places = [home.database, home.queue, home.config, home.schema, home.run, home.logs]
    assert [str(place.relative_to(tmp_path)) for place in places] == [
        "mex.db", "queue.db", "config.yaml", "schema.yaml", "run", "logs",
    ]  # fmt: skip


def test_product_a6_a_home_whose_parent_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        Home(tmp_path / "typo" / "home").require_parent()
    assert caught.value.code == "home_parent_missing"
    assert caught.value.params == {"path": str(tmp_path / "typo" / "home"), "parent": str(tmp_path / "typo")}
    Home(tmp_path / "home").require_parent()


def test_product_a6_a_file_is_no_parent(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput):
        Home(tmp_path / "file" / "home").require_parent()


def test_product_a2_folders_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        home = Home(tmp_path / "home")
        home.make()
        home.make()
    finally:
        os.umask(before)
    assert [mode(folder) for folder in (home.root, home.run, home.logs)] == [0o700] * 3


def test_a_home_that_is_a_file_is_the_users_error_and_one_that_cannot_be_made_the_outsides(tmp_path: Path) -> None:
    (tmp_path / "home").touch()
    with pytest.raises(InvalidInput, match="home_is_file"):
        Home(tmp_path / "home").make()
    with pytest.raises(ExternalError) as caught:
        Home(tmp_path / "home" / "below").make()
    assert caught.value.code == "home_unwritable"
    assert caught.value.params["detail"]


def test_product_a2_a_private_file_is_private_and_whole_at_once(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    before = os.umask(0)
    try:
        write_private(path, "旧\n")
        first = path.stat().st_ino
        write_private(path, "新\n")
    finally:
        os.umask(before)
    assert path.read_bytes() == "新\n".encode()
    assert mode(path) == 0o600
    assert path.stat().st_ino != first, "a reader that has the old file open keeps reading it whole"
    assert list(tmp_path.iterdir()) == [path]


def test_a_public_file_becomes_private_when_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.touch(mode=0o644)
    write_private(path, "x")
    assert mode(path) == 0o600

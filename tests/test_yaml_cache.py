"""What schema.yaml held is kept as JSON, and counts only while the file says exactly the same."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline import yaml_cache
from mex_pipeline.errors import InvalidInput
from tests.support.program import in_process

TEXT = "topics:\n  工作:\n    - 公司 # 现在\n    - 3\n"
DATA = {"topics": {"工作": ["公司", 3]}}


@pytest.fixture
def place(tmp_path: Path) -> tuple[Path, Path]:
    path = tmp_path / "schema.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return path, tmp_path / "schema.json"


def same(data: Any) -> Any:
    return data


def test_the_second_reading_comes_from_the_copy(place: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    assert yaml_cache.load(*place, same) == DATA
    monkeypatch.setitem(sys.modules, "mex_pipeline.yaml_file", None)  # importing it would fail
    assert yaml_cache.load(*place, same) == DATA


def test_the_copy_is_its_owners_alone(place: tuple[Path, Path]) -> None:
    yaml_cache.load(*place, same)
    assert place[1].stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in place[0].parent.iterdir()) == ["schema.json", "schema.yaml"]


def test_a_file_that_was_edited_is_read_anew(place: tuple[Path, Path]) -> None:
    yaml_cache.load(*place, same)
    place[0].write_text(TEXT.replace("3", "4"), encoding="utf-8")
    assert yaml_cache.load(*place, same) == {"topics": {"工作": ["公司", 4]}}
    assert json.loads(place[1].read_text())["data"] == {"topics": {"工作": ["公司", 4]}}


@pytest.mark.parametrize(
    "copy",
    [
        b"",
        b"\xff\xfe",
        b"{",
        b"[]",
        b"null",
        b"[" * 100_000,
        json.dumps({"mex": "0.0.0", "text": TEXT, "data": "another meX"}).encode(),
        json.dumps({"text": TEXT, "data": "nobody's"}).encode(),
    ],
)
def test_a_damaged_or_foreign_copy_is_as_good_as_none(place: tuple[Path, Path], copy: bytes) -> None:
    place[1].write_bytes(copy)
    assert yaml_cache.load(*place, same) == DATA
    assert json.loads(place[1].read_text())["data"] == DATA


def test_a_copy_whose_content_is_not_understood_is_made_anew(place: tuple[Path, Path]) -> None:
    def understood(data: Any) -> Any:
        if data != DATA:
            raise InvalidInput("schema_no_topics", path="topics")
        return data

    yaml_cache.load(*place, same)
    kept = json.loads(place[1].read_text())
    place[1].write_text(json.dumps(kept | {"data": []}))
    assert yaml_cache.load(*place, understood) == DATA
    assert json.loads(place[1].read_text()) == kept


def test_what_is_wrong_is_not_kept(place: tuple[Path, Path]) -> None:
    def refuse(_: Any) -> Any:
        raise InvalidInput("schema_no_topics", path="topics")

    with pytest.raises(InvalidInput):
        yaml_cache.load(*place, refuse)
    assert not place[1].exists()


def test_what_json_cannot_hold_is_read_from_the_file_each_time(place: tuple[Path, Path]) -> None:
    place[0].write_text("day: 2026-01-01\n", encoding="utf-8")
    assert [str(yaml_cache.load(*place, same)["day"]) for _ in range(2)] == ["2026-01-01"] * 2
    assert not place[1].exists()


def test_a_copy_that_cannot_be_written_costs_nothing_but_time(place: tuple[Path, Path]) -> None:
    assert yaml_cache.load(place[0], place[0].parent / "missing" / "schema.json", same) == DATA


def test_the_first_query_keeps_the_schema_and_an_edit_is_seen_by_the_next(home: Path) -> None:
    in_process("init")
    in_process("list")
    assert (home / "run" / "schema.json").exists()
    (home / "schema.yaml").write_text("topics:\n  work: [\n", encoding="utf-8")
    broken = in_process("list")
    assert (broken.code, "schema.yaml" in broken.err) == (1, True)
    (home / "schema.yaml").write_text("topics:\n  work:\n    description: Work\n", encoding="utf-8")
    assert in_process("list", "--topic", "work").code == 0


def test_a_copy_that_cannot_be_replaced_leaves_nothing_beside_it(place: tuple[Path, Path]) -> None:
    place[1].mkdir()
    assert [yaml_cache.load(*place, same) for _ in range(2)] == [DATA] * 2
    assert sorted(path.name for path in place[0].parent.iterdir()) == ["schema.json", "schema.yaml"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on Windows")
def test_a_pipe_in_place_of_the_copy_is_not_waited_for(place: tuple[Path, Path]) -> None:
    os.mkfifo(place[1])
    assert yaml_cache.load(*place, same) == DATA
    assert place[1].is_file()

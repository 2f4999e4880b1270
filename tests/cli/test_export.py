"""`mex export`: everything, in a form that is equal when the memory is, and in one for people (seed 004 ADR-9)."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.extent import tries
from tests.support.program import mex, opened, write


def add(*arguments: str) -> dict[str, Any]:
    """Add a memory and return it."""
    return dict(mex("add", *arguments, "--json").json)


@pytest.fixture
def rich(tmp_path: Path) -> None:
    """A store with every kind of past: updated, forgotten, expired, extracted, structured, replaced."""
    name = add("--topic", "basic_info", "--sub-topic", "name", "--content", "小陈")
    add("--topic", "basic_info", "--sub-topic", "location", "--content", "杭州")
    mex("update", name["id"], "--content", "陈晨")
    gone = add("--topic", "leisure", "--sub-topic", "hobbies", "--content", "登山")
    mex("forget", gone["id"], "--reason", "不再喜欢")
    add("--content", "优惠码", "--expires", "2020-01-01")
    experience = '{"start": "2019", "end": "至今", "company": "星辰软件"}'
    add("--topic", "work", "--sub-topic", "experience", "--content", experience)
    add("--topic", "finance", "--content", "下周复盘\n第二行")
    mex("extract", "--from", "plain", "--file", str(write(tmp_path / "note.txt", "我住在成都。")))


def exported(path: Path, **environment: str) -> dict[str, Any]:
    """Export to the file and read it."""
    mex("export", "--output", str(path), **environment)
    return dict(json.loads(path.read_text(encoding="utf-8")))


def test_product_g11_an_export_holds_every_row_of_every_section(rich: None, tmp_path: Path, home: Path) -> None:
    """And nothing that changes by itself: no sequence, no moment of its own, no job."""
    data = exported(tmp_path / "e.json")
    assert list(data) == [
        "format", "version", "memories", "history", "sources", "extraction_state", "seen_messages", "llm_usage", "refusals",
        "proposals",
    ]  # fmt: skip
    assert (data["format"], data["version"]) == ("mex-export", 2)
    with opened(home / "mex.db") as db:
        for section, table in {"sources": "memory_sources"}.items() | {
            (name, name) for name in list(data)[2:] if name != "sources"
        }:
            assert len(data[section]) == db.execute(f"SELECT count(*) FROM {table}").fetchone()[0], section
        ids = [row[0] for row in db.execute("SELECT id FROM memories ORDER BY seq")]
    assert [memory["id"] for memory in data["memories"]] == ids
    assert {len(memory) for memory in data["memories"]} == {18}
    assert data["history"][0]["after"]["content"] == "小陈"
    assert data["extraction_state"][0]["cursor"]["v"] == 1
    assert "seq" not in json.dumps(data)


def test_product_h13_restoring_into_an_empty_home_gives_the_same_bytes(rich: None, tmp_path: Path) -> None:
    """Twice over, and the second import changes nothing."""
    first, second = tmp_path / "1.json", tmp_path / "2.json"
    exported(first)
    other = {"MEX_HOME": str(tmp_path / "other")}
    for counts in ((6, 0), (0, 6)):
        done = mex("import", str(first), "--json", **other).json
        assert (done["imported"], done["skipped"], done["conflicts"]) == (*counts, [])
        exported(second, **other)
        assert second.read_bytes() == first.read_bytes()
    assert mex("search", "成", "--json", **other).json[0]["content"] == "成都"


def test_fault_33_the_file_is_replaced_in_one_private_step(rich: None, tmp_path: Path) -> None:
    """Folders are made for it alone, nothing is left beside it, and a refused write leaves the old file."""
    folder = tmp_path / "a" / "b"
    done = mex("export", "--output", f"{folder}/", "--json").json
    assert done == {"path": str(folder / "mex-export.json"), "count": 6, "forgotten_count": 1}
    (folder / "mex-export.json").chmod(0o644)
    mex("export", "--output", str(folder))
    mex("export", "--format", "markdown", "--output", str(folder))
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {
        "mex-export.json": 0o600, "mex-export.md": 0o600,
    }  # fmt: skip
    assert {stat.S_IMODE(path.stat().st_mode) for path in (folder, folder.parent)} == {0o700}
    (tmp_path / "file").touch()
    failed = mex("export", "--output", str(tmp_path / "file" / "x.json"), ok=False)
    assert (failed.code, failed.out) == (2, "")


def test_an_export_never_replaces_what_mex_lives_on(rich: None, home: Path) -> None:
    """Nor a device, however it is spelled; without --output there is nothing to do."""
    (home / "link").symlink_to("config.yaml")
    for place in (
        home / "mex.db",
        home / "schema.yaml",
        home / "link",
        home / "run" / ".." / "mex.db-wal",
        Path(os.devnull),
    ):
        refused = mex("export", "--output", str(place), ok=False)
        assert (refused.code, refused.out) == (1, ""), place
    assert mex("export", ok=False).code == 1
    assert mex("export", "--format", "xml", "--output", "-", ok=False).code == 1
    assert len(mex("list", "--json").json) == 4


def test_a_dash_prints_the_export_itself(rich: None, tmp_path: Path) -> None:
    exported(tmp_path / "e.json")
    assert mex("export", "--output", "-").out == (tmp_path / "e.json").read_text(encoding="utf-8")
    assert mex("--json", "export", "--output", "-").json["version"] == 2


def test_kept_turns_leave_only_when_asked_for_and_come_back(rich: None, tmp_path: Path, home: Path) -> None:
    """Product B10."""
    with opened(home / "mex.db") as db:
        db.execute(
            "INSERT INTO turns (agent, key, role, kind, text, kept_at) VALUES ('plain', 'k', 'user', 'typed', '原话', ?)",
            ("2026-11-30T10:00:00Z",),
        )
    assert "turns" not in exported(tmp_path / "e.json")
    mex("export", "--turns", "--output", str(tmp_path / "t.json"))
    other = {"MEX_HOME": str(tmp_path / "other")}
    mex("import", str(tmp_path / "t.json"), **other)
    mex("export", "--turns", "--output", str(tmp_path / "t2.json"), **other)
    assert "原话" in (tmp_path / "t2.json").read_text(encoding="utf-8")
    assert (tmp_path / "t2.json").read_bytes() == (tmp_path / "t.json").read_bytes()


@pytest.mark.parametrize(("language", "headings"), [
    ("zh", ["# 用户画像", "## 时间线", "## 已过期", "## 已遗忘"]),
    ("en", ["# User profile", "## Time line", "## Expired", "## Forgotten"]),
])  # fmt: skip
def test_seed_adr_9_markdown_is_the_profile_by_topic_then_a_time_line_then_the_past(
    rich: None, language: str, headings: list[str]
) -> None:
    """Topics in the order of the schema, structured content in words, one memory a line, its id at the end."""
    text = mex("--lang", language, "export", "--format", "markdown", "--output", "-").out
    lines = text.splitlines()
    places = [lines.index(heading) for heading in headings]
    assert places == sorted(places)
    assert "陈晨" in text
    assert "小陈" not in text, "an old value is history"
    assert '{"start"' not in text
    assert lines[places[0] + 2].startswith("## ")
    assert (
        text.index("成都") < text.index("星辰软件") < text.index("下周复盘") < text.index("优惠码") < text.index("登山")
    )
    assert "下周复盘\n  第二行" in text
    assert all(line.endswith(" -->") for line in lines if line.startswith("- ") and "下周复盘" not in line)
    assert "不再喜欢" in next(line for line in lines if "登山" in line)
    memory = mex("search", "成都", "--json").json[0]
    assert f"<!-- {memory['id'][:8]} -->" in next(line for line in lines if "成都" in line)


def test_a_changed_memory_changes_one_line_of_each_form(rich: None) -> None:
    """Fit for git."""
    before = mex("export", "--format", "markdown", "--output", "-").out.splitlines()
    memory = mex("search", "星辰", "--json").json[0]
    mex("update", memory["id"], "--content", '{"start": "2019", "end": "2024", "company": "星辰软件"}')
    after = mex("export", "--format", "markdown", "--output", "-").out.splitlines()
    assert len(before) == len(after)
    assert sum(one != other for one, other in zip(before, after, strict=True)) == 1


def test_product_p2_exporting_takes_no_write_lock(rich: None, tmp_path: Path, home: Path) -> None:
    with opened(home / "mex.db") as db:
        db.isolation_level = None
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE memories SET content = 'not committed'")
        data = exported(tmp_path / "e.json")
        db.execute("ROLLBACK")
    assert "not committed" not in json.dumps(data)


TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=12)
STEPS = st.one_of(
    st.tuples(st.just("record"), TEXT),
    st.tuples(st.just("skill"), TEXT),
    st.tuples(st.just("company"), TEXT),
    st.tuples(st.just("said"), st.sampled_from(["我住在成都", "我叫林晓舟", "我对花生过敏", "我在学 Python"])),
    st.tuples(st.just("update"), TEXT),
    st.tuples(st.sampled_from(["forget", "restore", "doubt", "expire", "gc", "purge"]), st.just("")),
)


def do(step: tuple[str, str], number: int, **environment: str) -> None:
    """One command of a random life; what the program refuses is refused."""
    verb, text = step
    known = [one["id"] for one in mex("list", "--json", "--include-forgotten", **environment).json]
    one = known[number % len(known)] if known else "00000000"
    commands = {
        "record": ("add", f"--content={text}"),
        "skill": ("add", "--topic", "work", "--sub-topic", "tech_stack", f"--content={text}", "--by", "ai"),
        "company": ("add", "--topic", "work", "--sub-topic", "company", f"--content={text}"),
        "said": ("extract", text),
        "update": ("update", one, f"--content={text}"),
        "forget": ("forget", one, "--reason", "因为"),
        "restore": ("restore", one),
        "doubt": ("update", one, "--confidence", "uncertain"),
        "expire": ("update", one, "--expires", "2020-01-01"),
        "gc": ("gc",),
        "purge": ("forget", one, "--hard", "--yes"),
    }
    mex(*commands[verb], ok=False, **environment)


@settings(max_examples=tries(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, max_size=12))
def test_product_g11_whatever_a_store_has_been_through_its_export_restores_it(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("life")
    here, there = ({"MEX_HOME": str(folder / name)} for name in ("here", "there"))
    for number, step in enumerate(steps):
        do(step, number, **here)
    exported(folder / "1.json", **here)
    assert mex("import", str(folder / "1.json"), "--json", **there).json["conflicts"] == []
    exported(folder / "2.json", **there)
    assert (folder / "2.json").read_bytes() == (folder / "1.json").read_bytes()
    assert mex("profile", **here).out == mex("profile", **there).out


@pytest.mark.parametrize("command", [["export", "--output"], ["backup"]], ids=["export", "backup"])
@pytest.mark.parametrize("target", ["", "  "])
def test_a_blank_place_is_no_place(command: list[str], target: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    assert mex(*command, target, ok=False).code == 1
    assert {path.name for path in set(tmp_path.iterdir()) - before} <= {"home"}

"""Reading and the start against hostile contents, files and folders: what an attack on them once got through."""

import json
import os
import re
import sqlite3
import sys
import unicodedata
from contextlib import closing
from pathlib import Path

import pytest

from mex_pipeline import messages
from mex_pipeline.domain import selection
from tests.support.old_files import OldFile, backups, table
from tests.support.program import contents, mex

SCRIPTS = (
    "МОСКВА большая", "Ｐython全角Ｇｏ语言", "naïve résumé CAFÉ", "C++ and C# f#", "🎉🎊 party ❤️ 👨‍👩‍👧", "ﾃｽﾄ テスト ﾊﾟﾊﾟ",
    "한글 테스트", "กรุงเทพมหานคร", "ß straße STRASSE", "100% 50,5 ½ ①", "中文，标点。“引号”", "עברית العربية مُحَمَّد",
    "हिन्दी नमस्ते", "ΣΊΣΥΦΟΣ ὈΔΥΣΣΕΎΣ", "𠀀𠀁𠮷野家", "cafe\u0301 a\u0300", "'quo\"te' (par) [br] *:^", "ዓማርኛ",
)  # fmt: skip


def found(*arguments: str) -> list[str]:
    return sorted(one["content"] for one in mex("search", *arguments, "--limit", "1000", "--json").json)


def code(*arguments: str, **environment: str) -> tuple[int, str]:
    refused = mex(*arguments, "--json", ok=False, **environment)
    return refused.code, json.loads(refused.err)["code"]


@pytest.mark.parametrize("content", SCRIPTS)
def test_product_b2_every_piece_of_a_content_finds_it_in_either_case_and_width(content: str) -> None:
    mex("add", "--content", content)
    pieces = {content[at : at + size] for size in (1, 2, 3) for at in range(0, len(content), 2)}
    forms = {
        form
        for piece in pieces
        if piece.strip()
        for form in (piece, piece.upper(), piece.lower(), unicodedata.normalize("NFKC", piece))
        if form == piece or selection.folded(form) in selection.folded(content)
    }
    for number, form in enumerate(sorted(forms)):
        # The two ways of a search take turns: what they fold is the same.
        then = ["--as-of", "2099-01-01"] if number % 2 else []
        assert found(f"--keyword={form}", *then) == [content], form


def test_words_are_folded_alike_wherever_the_short_way_is_taken() -> None:
    """Most text skips the closer look; no character may need it and be skipped."""
    marks = dict.fromkeys(range(0x300, 0x370))
    for number in (*range(0x80, 0xD800), *range(0xE000, 0x30000)):
        unified = unicodedata.normalize("NFKC", chr(number)).casefold()
        whole = unicodedata.normalize("NFC", unicodedata.normalize("NFD", unified).translate(marks))
        assert selection.folded(chr(number)) == whole, hex(number)


def test_a_negation_knows_the_same_words_as_a_search() -> None:
    for content in ("еда МОСКВА", "еда Казань", "еда ｔｅａ"):
        mex("add", "--content", content)
    assert found("еда -оскв") == ["еда Казань", "еда ｔｅａ"]
    assert found("еда -ea") == ["еда Казань", "еда МОСКВА"]


def test_past_values_are_found_and_differences_told_without_the_memories_that_never_changed() -> None:
    for number in range(3):
        mex("add", "--content", f"untouched {number}")
    kept = mex("add", "--topic", "basic_info", "--sub-topic", "location", "--content", "上海", "--json").json["id"]
    mex("update", kept, "--content", "杭州")
    (hit,) = mex("search", "上海", "--history", "--json").json
    assert (hit["id"], hit["superseded"]) == (kept, True)
    shown = mex("search", "untouched", "--history", "--limit", "2", "--offset", "2", "--json").json
    assert [one["content"] for one in shown] == ["untouched 0"]
    mex("add", "--content", "brief", "--expires", "2020-01-01")
    changed = mex("diff", "--since", "2019-12-01", "--until", "2020-02-01", "--json").json
    assert (changed["added"], changed["changed"], changed["gone"]) == ([], [], [])


def test_product_h10_an_error_names_times_as_people_gave_them() -> None:
    refused = mex("diff", "--since", "2090-01-01", ok=False, TZ="Asia/Shanghai")
    assert "2090-01-01 00:00" in refused.err
    assert "Z" not in refused.err


def ugly(old: OldFile) -> int:
    """Rows that only other hands can have written; returns how many memories there are."""
    at = "2026-01-01T00:00:00Z"
    insert = (
        "INSERT INTO memories (id, {layer}topic, sub_topic, content, is_ai_inferred, confidence, evidence, created_at, "
        "updated_at) VALUES (?, {stable}?, ?, ?, 0, 'confirmed', ?, ?, ?)"
    ).format(**({"layer": "layer, ", "stable": "'stable', "} if old.version < 4 else {"layer": "", "stable": ""}))
    bad = "CAST(x'ff61' AS TEXT)"
    for sql, values in (
        (insert.replace("?, ?, ?)", f"{bad}, ?, ?)", 1), ("utf8-evidence", "work", None, "a", at, at)),
        (insert, (b"\x01", b"work", b"\xff", b"\xff", b"\xff", at, at)),
        (insert, ("array", "work", "tech_stack", '["\\ud800", "Go"]', None, at, at)),
        (insert, ("array too", "work", "tech_stack", '["A", "B"]', None, at, at)),
        (insert, (None, "work", None, "no id", None, at, at)),
        (insert, (None, "work", None, "no id either", None, at, at)),
        (insert, ("nul", "work", None, "a\0b", None, at, at)),
    ):
        old.connection.execute(sql, values)
    old.connection.execute(f"UPDATE memories SET content = {bad} WHERE id = 'nul'")
    for text in ("x'fe'", "x'ff'"):
        old.connection.execute(
            f"INSERT INTO history VALUES (CAST({text} AS TEXT), 'array', 'update', {bad}, x'ff', 'user', x'ff', '{at}')"
        )
        old.connection.execute(f"INSERT INTO llm_usage VALUES (CAST({text} AS TEXT), 'extract', x'ff', 'a', 7, 'x')")
    return int(old.connection.execute("SELECT count(*) FROM memories").fetchone()[0])


@pytest.mark.parametrize("version", [2, 5])
def test_product_b1_bytes_that_are_no_text_do_not_keep_a_file_from_being_taken_over(home: Path, version: int) -> None:
    old = OldFile(home / "mex.db", version)
    if version == 2:
        old.connection.execute("DROP INDEX idx_unique_slot_v2")
    count = ugly(old)
    old.close()
    shown = mex("list", "--include-forgotten", "--json").json
    assert len(shown) >= count
    assert len(table(home / "mex.db", "memories")) == len(shown)
    assert len({one["id"] for one in shown}) == len(shown)
    assert len(table(home / "mex.db", "llm_usage")) == 2
    assert len(backups(home)) == 1
    for command in (
        ["profile"],
        ["search", "a"],
        ["stats"],
        ["diff", "--since", "2020-01-01"],
        ["export", "--output", "-"],
    ):
        mex(*command)
    assert mex("doctor", "--offline", "--json").json["schema_ok"] is not None


@pytest.mark.parametrize("value", ["{not json", "sure"])
def test_a_row_another_program_wrote_is_named_damage_and_repeated_nowhere(home: Path, value: str) -> None:
    mex("add", "--content", "a")
    with closing(sqlite3.connect(home / "mex.db")) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        column = "history SET after" if value.startswith("{") else "memories SET confidence"
        connection.execute(f"UPDATE {column} = ?", (value,))
    reading = ["diff", "--since", "2020-01-01"] if value.startswith("{") else ["list"]
    assert code(*reading) == (2, "database_damaged")
    assert value not in mex(*reading, ok=False).err
    assert "problem" in {one["status"] for one in mex("doctor", "--offline", "--json").json["checks"]}


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes")
@pytest.mark.parametrize("name", ["config.yaml", "schema.yaml"])
def test_a_pipe_in_a_file_s_place_is_told_and_not_waited_for(home: Path, name: str) -> None:
    mex("init")
    (home / name).unlink()
    os.mkfifo(home / name)
    assert code("profile") == (1, "file_unreadable")
    check = {one["name"]: one for one in mex("doctor", "--offline", "--json").json["checks"]}[
        name.removesuffix(".yaml")
    ]
    assert check["status"] == "problem"


@pytest.mark.parametrize(
    "words", [["search", "-hot"], ["stats", "extra"], ["jobs", "-x"], ["doctor", "--fixx"], ["--bogus"], ["add"]]
)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_product_g8_a_wrong_argument_is_one_sentence_and_names_the_help_of_its_command(
    words: list[str], lang: str
) -> None:
    refused = mex(*words, ok=False, MEX_LANG=lang)
    assert refused.code == 1
    group = "mex" if words[0].startswith("-") else f"mex {words[0]}"
    assert f"{group} --help" in refused.err
    assert len(refused.err.splitlines()) == 1
    assert re.search(r"[.。](用)? ?" + group if lang == "en" else "。用 " + group, refused.err)


def test_product_a4_the_help_of_every_command_speaks_chinese_to_its_last_line() -> None:
    for words in (["list"], ["config", "llm"], ["jobs"], ["review"]):
        assert "显示此帮助。" in mex(*words, "--help", MEX_LANG="zh").out


@pytest.mark.parametrize(("lang", "stop"), [("en", "."), ("zh", "。")])
def test_every_line_of_help_ends_as_a_sentence_does(lang: str, stop: str) -> None:
    lines = {name: text for name, text in messages.catalogue(lang).items() if name.startswith("help.")}
    assert [name for name, text in lines.items() if not text.endswith(stop) and not name.startswith("help.page_")] == []


def test_an_answer_that_says_a_thing_twice_is_one_memory() -> None:
    mex("setup", "--yes", "--allergies", "花生, 芒果、花生 ,， Peanut; Peanut")
    assert sorted(contents()) == ["Peanut", "芒果", "花生"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
@pytest.mark.parametrize("name", ["SKILL.md", "README.md"])
def test_a_project_s_link_never_makes_integrate_write_elsewhere(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project may come from anybody, and hold a changed file whose neighbour for the new text leads out of it."""
    victim = tmp_path / "victim"
    victim.write_text("precious", encoding="utf-8")
    folder = tmp_path / "project" / ".claude" / "skills" / "mex"
    folder.mkdir(parents=True)
    (folder / name).write_text("theirs", encoding="utf-8")
    (folder / f"{name}.mex-new").symlink_to(victim)
    monkeypatch.chdir(tmp_path / "project")
    assert code("integrate", "claude", "--scope", "project") == (1, "skill_link_leads_out")
    assert victim.read_text(encoding="utf-8") == "precious"

"""`mex import --mode restore`: the conflict table of seed 004 §6.4 through the program, and what no file may do."""

import copy
import json
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.extent import tries
from tests.support.old_files import typical
from tests.support.program import Ran, contents, mex, opened, write

WORK = ("--topic", "work", "--sub-topic")


def add(*arguments: str, **environment: str) -> dict[str, Any]:
    """Add a memory and return it."""
    return dict(mex("add", *arguments, "--json", **environment).json)


def export(path: Path, **environment: str) -> Path:
    """Export this home."""
    mex("export", "--output", str(path), **environment)
    return path


def restore(path: Path, *options: str, **environment: str) -> dict[str, Any]:
    """Import an export and return the result."""
    return dict(mex("import", str(path), *options, "--json", **environment).json)


def told(result: dict[str, Any]) -> tuple[int, int, list[str]]:
    """What an import says it did."""
    return result["imported"], result["skipped"], [one["reason"] for one in result["conflicts"]]


@pytest.fixture
def company(tmp_path: Path) -> tuple[dict[str, Any], Path]:
    """A company in this home, and an export that holds it."""
    memory = add(*WORK, "company", "--content", "远光软件")
    return memory, export(tmp_path / "e.json")


MODES = [(), ("--on-conflict", "overwrite")]


@pytest.mark.parametrize("options", MODES)
def test_seed_6_4_same_id_same_content(company: Any, options: tuple[str, ...]) -> None:
    """同 id 且内容一致: skipped both ways, nothing written."""
    result = restore(company[1], *options)
    assert (told(result), result["outcome"], result["state"]) == ((0, 1, []), "skipped", "succeeded")
    assert len(mex("get", company[0]["id"]).json["history"]) == 1


def test_seed_6_4_same_id_different_content_is_a_conflict(company: Any) -> None:
    """同 id 但内容不同: kept and listed, exit 0, with what to do."""
    memory, file = company
    mex("update", memory["id"], "--content", "前进云")
    ran = mex("import", str(file))
    assert ran.out.splitlines()[0] == "Imported 0, skipped 0, conflicts 1"
    assert memory["id"] in ran.out
    assert "--on-conflict overwrite" in ran.out
    assert contents() == ["前进云"]
    shown = mex("--lang", "zh", "import", str(file)).out
    assert shown.startswith("导入 0 条、跳过 0 条、冲突 1 条")
    (conflict,) = restore(file)["conflicts"]
    assert (conflict["reason"], conflict["id"]) == ("same_id_different_content", memory["id"])
    assert conflict["detail"]


def test_seed_6_4_same_id_different_content_overwritten_keeps_the_old_value_in_history(company: Any) -> None:
    memory, file = company
    mex("update", memory["id"], "--content", "前进云")
    result = restore(file, "--on-conflict", "overwrite")
    assert told(result) == (1, 0, [])
    assert [(one["before"]["content"], one["after"]["content"]) for one in result["updated"]] == [
        ("前进云", "远光软件")
    ]
    last = mex("get", memory["id"]).json["history"][-1]
    assert (last["event"], last["old_content"], last["new_content"]) == ("import", "前进云", "远光软件")
    assert told(restore(file, "--on-conflict", "overwrite")) == (0, 1, [])


def test_seed_6_4_and_fault_13_forgotten_here_is_brought_back_by_overwriting(company: Any) -> None:
    memory, file = company
    mex("forget", memory["id"])
    assert told(restore(file)) == (0, 0, ["same_id_different_content"])
    assert told(restore(file, "--on-conflict", "overwrite")) == (1, 0, [])
    assert contents() == ["远光软件"]


def test_seed_6_4_an_occupied_unique_slot(company: Any, tmp_path: Path) -> None:
    """不同 id 但画像槽位冲突: kept and listed; overwritten the old one is forgotten, not lost."""
    other = {"MEX_HOME": str(tmp_path / "other")}
    holder = add(*WORK, "company", "--content", "前进云", **other)
    kept = restore(company[1], **other)
    assert told(kept) == (0, 0, ["slot_conflict"])
    assert kept["conflicts"][0]["facts"] == {"slot": "work.company", "holder": holder["id"]}
    ran = mex("import", str(company[1]), "--on-conflict", "overwrite", **other)
    assert "1 memories were forgotten to make room" in ran.out
    assert [one["content"] for one in mex("list", "--json", **other).json] == ["远光软件"]
    old = mex("get", holder["id"], **other).json
    assert (old["forgotten_reason"], old["history"][-1]["event"]) == ("imported-over", "forget")
    mex("forget", company[0]["id"], **other)
    mex("restore", holder["id"], **other)


def test_seed_6_4_a_slot_that_is_not_in_the_schema(company: Any, tmp_path: Path) -> None:
    """槽位不在当前 schema 中: never, and the way out is told."""
    data = json.loads(company[1].read_text(encoding="utf-8"))
    data["memories"][0]["sub_topic"] = "employer"
    file = write(tmp_path / "x.json", json.dumps(data))
    for options in MODES:
        ran = mex("import", str(file), *options, MEX_HOME=str(tmp_path / "other"))
        assert "work.employer" in ran.out
        assert "schema.yaml" in ran.out
    assert mex("list", "--json", "--include-forgotten", MEX_HOME=str(tmp_path / "other")).json == []


def test_product_g11_and_fault_4_a_forgotten_record_never_displaces_an_active_one(company: Any, tmp_path: Path) -> None:
    memory, _ = company
    mex("forget", memory["id"])
    file = export(tmp_path / "f.json")
    other = {"MEX_HOME": str(tmp_path / "other")}
    add(*WORK, "company", "--content", "前进云", **other)
    assert told(restore(file, "--on-conflict", "overwrite", **other)) == (1, 0, [])
    assert [one["content"] for one in mex("list", "--json", **other).json] == ["前进云"]
    mex("restore", memory["id"])
    assert told(restore(file, "--on-conflict", "overwrite")) == (0, 0, ["forgotten_in_file"])
    assert contents() == ["远光软件"]


def test_an_export_of_the_original_is_read(tmp_path: Path) -> None:
    """Version 1: twelve keys, an id without hyphens, no history; each row begins a history of its own."""
    row = {
        "id": "0123456789abcdef0123456789abcdef", "topic": "work", "sub_topic": "company", "content": "远光软件",
        "is_ai_inferred": False, "confidence": "confirmed", "evidence": None, "created_at": "2026-08-06T08:30:00Z",
        "updated_at": "2026-08-06T08:30:00Z", "forgotten_at": None, "forgotten_reason": None, "expires_at": None,
    }  # fmt: skip
    old = {"version": 1, "exported_at": "2026-11-30T00:00:00Z", "memories": [row]}
    file = write(tmp_path / "v1.json", json.dumps(old))
    assert told(restore(file)) == (1, 0, [])
    shown = mex("get", "01234567-89ab").json
    assert (shown["id"], shown["valid_from"]) == ("01234567-89ab-cdef-0123-456789abcdef", row["created_at"])
    assert [one["event"] for one in shown["history"]] == ["import"]
    assert told(restore(file)) == (0, 1, [])


def test_a_cursor_that_is_here_is_not_moved_back(tmp_path: Path, home: Path) -> None:
    """What was read since the export stays read."""
    note = write(tmp_path / "note.txt", "我住在成都。")
    mex("extract", "--from", "plain", "--file", str(note))
    file = export(tmp_path / "e.json")
    write(note, "我住在成都。", "", "我叫林晓舟。")
    mex("extract", "--from", "plain", "--file", str(note))
    query = "SELECT * FROM extraction_state, (SELECT count(*) FROM seen_messages)"
    with opened(home / "mex.db") as db:
        before = db.execute(query).fetchall()
    restore(file, "--on-conflict", "overwrite")
    with opened(home / "mex.db") as db:
        assert db.execute(query).fetchall() == before


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("记住：我叫林晓舟", "not_an_export"),
        ("", "not_an_export"),
        ('{"a": 1}', "not_an_export"),
        ('{"version": 1, "memories": "x"}', "not_an_export"),
        ("[" * 100_000, "not_an_export"),
        ('{"format": "mex-export", "version": 9, "memories": []}', "export_version"),
    ],
)
def test_what_is_no_export_makes_no_job_and_is_told_the_other_mode(tmp_path: Path, text: str, code: str) -> None:
    file = write(tmp_path / "x", text)
    refused = mex("--json", "import", str(file), ok=False)
    error = json.loads(refused.err.splitlines()[-1])
    assert (refused.code, refused.out, error["code"]) == (1, "", code)
    assert "--mode extract" in error["hint"] or "9" in error["message"]
    assert mex("jobs", "list", "--json").json == []


def test_bad_input_known_at_the_request_makes_no_job(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"\xff\xfe\xfa{}")
    file = str(write(tmp_path / "e.json", '{"version": 1, "memories": []}'))
    for words in (
        [str(tmp_path)], [str(tmp_path / "none")], [str(tmp_path / "latin")], [file, "--mode", "merge"],
        [file, "--on-conflict", "ask"], [file, "--from", "plain"], [file, "--subject", "other"], [],
    ):  # fmt: skip
        refused = mex("import", *words, ok=False)
        assert (refused.code, refused.out) == (1, ""), words
    assert mex("jobs", "list", "--json").json == []


def test_product_c1_a_restore_is_a_job_like_any_other(company: Any, tmp_path: Path) -> None:
    """Shown with its kind and its counts, in the same shape as an extraction's result (product H9)."""
    other = {"MEX_HOME": str(tmp_path / "other")}
    done = restore(company[1], **other)
    shown = mex("jobs", "show", done["job_id"], "--json", **other).json
    assert done.items() <= shown.items()
    assert (shown["kind"], shown["outcome"], [one["content"] for one in shown["added"]]) == (
        "restore", "committed", ["远光软件"],
    )  # fmt: skip
    assert (shown["updated"], shown["retired"], shown["discarded"], shown["usage"]["calls"]) == ([], [], [], 0)
    assert "Imported 1, skipped 0, conflicts 0" in mex("jobs", "show", done["job_id"], **other).out
    assert "导入 1 条、跳过 0 条、冲突 0 条" in mex("--lang", "zh", "jobs", "list", **other).out


def test_a_restore_that_cannot_write_leaves_nothing(company: Any, tmp_path: Path) -> None:
    """One transaction: a table that refuses the last row takes the first back (here: a trigger of ours)."""
    data = json.loads(company[1].read_text(encoding="utf-8"))
    data["llm_usage"] = [
        {"id": "u", "purpose": "extract", "model": "m", "prompt_tokens": 1, "completion_tokens": 1,
         "created_at": "2026-11-30T00:00:00Z", "job_id": None},
    ]  # fmt: skip
    file = write(tmp_path / "x.json", json.dumps(data))
    other = tmp_path / "other"
    mex("init", MEX_HOME=str(other))
    with opened(other / "mex.db") as db:
        db.execute("CREATE TRIGGER no BEFORE INSERT ON llm_usage BEGIN SELECT RAISE(ABORT, 'no'); END")
    failed = mex("import", str(file), ok=False, MEX_HOME=str(other))
    assert failed.code == 2
    assert mex("list", "--json", MEX_HOME=str(other)).json == []


def _rows(home: Path) -> list[Any]:
    tables = ("memories", "history", "memory_sources", "extraction_state", "seen_messages", "llm_usage")
    with closing(sqlite3.connect(home / "mex.db")) as db:
        return [db.execute(f"SELECT * FROM {table}").fetchall() for table in tables]


JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=True), st.text(max_size=8),
    st.sampled_from(["\ud800", "\0", "2026-13-45", "work", "company", "至今", "{}", "[]"]),
    st.just([]), st.just({}), st.just([[{}]]),
)  # fmt: skip


def _paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for key, one in inner for path in _paths(one, (*at, key)))]


@settings(max_examples=tries(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_fault_14_no_mutated_export_gives_a_traceback_or_half_an_import(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Refused with nothing written, or taken in with every conflict listed; a second run changes nothing."""
    whole = copy.deepcopy(_sample(tmp_path_factory))
    for _ in range(data.draw(st.integers(1, 4))):
        *way, last = data.draw(st.sampled_from(_paths(whole)[1:]))
        place = whole
        for key in way:
            place = place[key]
        if data.draw(st.booleans()):
            del place[last]
        else:
            place[last] = data.draw(JUNK)
        if not _paths(whole)[1:]:
            break
    folder = tmp_path_factory.mktemp("fuzz")
    file = write(folder / "x.json", json.dumps(whole))
    other = {"MEX_HOME": str(folder / "home")}
    ran = mex("import", str(file), "--on-conflict", "overwrite", "--json", ok=False, **other)
    assert "internal" not in ran.err
    if ran.code:
        assert (ran.code, ran.out) == (1, ""), ran.err
        assert json.loads(ran.err.splitlines()[-1])["code"] in ("not_an_export", "export_version")
        return
    _holds(ran, whole)
    before = _rows(folder / "home")
    again = mex("import", str(file), "--on-conflict", "overwrite", "--json", **other).json
    assert (again["imported"], _rows(folder / "home")) == (0, before)


ODD = ("\ud800", 2**70, None, True)


@pytest.mark.parametrize("turn", range(tries(len(ODD))))
def test_fault_14_one_odd_value_anywhere_is_a_conflict_or_a_refusal(
    tmp_path_factory: pytest.TempPathFactory, turn: int
) -> None:
    """Each kind of place in an export, one after the other: never a failure of the import as a whole.

    The odd values take turns at the places; by night each has been everywhere.
    """
    sample = _sample(tmp_path_factory)
    places = {tuple(key for key in path if isinstance(key, str)): path for path in _paths(sample)[1:]}
    for number, (*way, last) in enumerate(places.values()):
        junk = ODD[(number + turn) % len(ODD)]
        whole = copy.deepcopy(sample)
        place = whole
        for key in way:
            place = place[key]
        place[last] = junk
        folder = tmp_path_factory.mktemp("odd")
        file = write(folder / "x.json", json.dumps(whole))
        ran = mex("import", str(file), "--json", ok=False, MEX_HOME=str(folder / "home"))
        assert ran.code in (0, 1), (way, last, ran.err)


def _holds(ran: Ran, whole: dict[str, Any]) -> None:
    result = ran.json
    refused = [one for one in result["conflicts"] if one["section"] == "memories"]
    assert result["imported"] + result["skipped"] + len(refused) == len(whole["memories"])
    assert all(one["detail"] for one in result["conflicts"])


_SAMPLES: list[dict[str, Any]] = []


def _sample(factory: pytest.TempPathFactory) -> dict[str, Any]:
    """An export with something in every section, made once."""
    if not _SAMPLES:
        folder = factory.mktemp("sample")
        here = {"MEX_HOME": str(folder / "home")}
        experience = '{"start": "2019", "end": "至今", "company": "星辰软件"}'
        memory = add(*WORK, "experience", "--content", experience, **here)
        mex("update", memory["id"], "--confidence", "explicit", **here)
        add("--content", "优惠码", "--expires", "2020-01-01", **here)
        note = write(folder / "note.txt", "我住在成都。")
        mex("extract", "--from", "plain", "--file", str(note), **here)
        _SAMPLES.append(json.loads(export(folder / "e.json", **here).read_text(encoding="utf-8")))
    return _SAMPLES[0]


def test_product_g11_a_home_of_the_original_moves_house_with_every_line_of_its_history(
    tmp_path: Path, home: Path
) -> None:
    """Those of memories that the original deleted, words and all, and those that its clock has put out of order, too."""
    home.mkdir()
    with closing(sqlite3.connect(typical(home / "mex.db", 5))) as old, old:
        kept, gone = (str(uuid.uuid4()) for _ in range(2))
        old.execute(
            "INSERT INTO memories (id, content, is_ai_inferred, confidence, created_at, updated_at) "
            "VALUES (?, '喝茶', 0, 'confirmed', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')",
            (kept,),
        )
        lines = [
            (kept, "update", "茶", "喝茶", "2025-12-31T00:00:00Z"), (kept, "add", None, "茶", "2026-01-01T00:00:00Z"),
            (gone, "add", None, "咖啡", "2026-01-01T00:00:00Z"), (gone, "delete", "咖啡", None, "2026-01-02T00:00:00Z"),
        ]  # fmt: skip
        old.executemany(
            "INSERT INTO history (id, memory_id, event, old_content, new_content, actor, created_at) "
            "VALUES (lower(hex(randomblob(16))), ?, ?, ?, ?, 'user', ?)",
            lines,
        )
    mex("update", kept, "--content", "喝绿茶")
    first = export(tmp_path / "1.json")
    other = {"MEX_HOME": str(tmp_path / "other")}
    assert restore(first, **other)["conflicts"] == []
    assert export(tmp_path / "2.json", **other).read_bytes() == first.read_bytes()


def test_product_g11_an_export_of_before_there_were_pins_comes_with_its_history(tmp_path: Path) -> None:
    """Of a meX of structure version 9, and of a home that was one, where what came later says it."""
    made = add("--content", "住在波尔图")
    mex("update", made["id"], "--content", "住在里斯本")
    mex("update", made["id"], "--content", "住在布拉加")
    whole = export(tmp_path / "1.json").read_bytes()
    for since in (1, 2, 3):
        data = json.loads(whole)
        for line in data["history"][:since]:
            for state in filter(None, (line["before"], line["after"])):
                del state["is_pinned"]
        if since == 3:
            del data["memories"][0]["is_pinned"]
        other = {"MEX_HOME": str(tmp_path / f"other{since}")}
        assert told(restore(write(tmp_path / "old.json", json.dumps(data)), **other)) == (1, 0, [])
        assert export(tmp_path / "2.json", **other).read_bytes() == whole

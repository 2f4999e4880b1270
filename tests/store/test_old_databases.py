"""Files of the original, versions 2 to 5: backed up and migrated, nothing lost (product B1, H14)."""

import re
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from mex_pipeline.store import migrations
from mex_pipeline.store.database import Database
from tests.support.gateways import one, opened, rows
from tests.support.old_files import VERSIONS, OldFile, backups, migrate, plain, table, typical
from tests.support.program import contents, mex

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@pytest.mark.parametrize("version", VERSIONS)
def test_product_b1_every_row_of_every_version_is_kept(home: Path, version: int) -> None:
    path = typical(home / "mex.db", version)
    before = {name: table(path, name) for name in ("memories", "history", "llm_usage")}
    (told,) = migrate(path)
    after = {name: table(path, name) for name in before}
    assert [plain(row["id"]) for row in after["memories"]] == [row["id"] for row in before["memories"]]
    same = set(before["memories"][0]) - {"id", "layer"}
    for old, new in zip(before["memories"], after["memories"], strict=True):
        assert UUID.fullmatch(new["id"])
        assert {key: new[key] for key in same} == {key: old[key] for key in same}
        assert "layer" not in new
    same = {"event", "old_content", "new_content", "actor", "evidence", "created_at"}
    assert sorted(plain(row["id"]) for row in after["history"]) == sorted(row["id"] for row in before["history"])
    assert {row["memory_id"] for row in after["history"]} <= {row["id"] for row in after["memories"]}
    assert [row["created_at"] for row in after["history"]] == sorted(row["created_at"] for row in before["history"])
    kept = {plain(row["id"]): row for row in after["history"]}
    for old in before["history"]:
        assert {key: kept[old["id"]][key] for key in same} == {key: old[key] for key in same}
        assert (kept[old["id"]]["before"], kept[old["id"]]["after"]) == (None, None)
    assert [row | {"job_id": None, "agent": None} for row in before["llm_usage"]] == after["llm_usage"]
    assert told.parent == home / "backups"


def test_product_b11_validity_begins_with_the_last_change_of_content(home: Path) -> None:
    migrate(typical(home / "mex.db", 5))
    found = {row["content"]: row for row in table(home / "mex.db", "memories")}
    assert found["小陈"]["valid_from"] == found["小陈"]["last_seen_at"] == "2026-01-01T00:00:00Z"
    assert found["前进云计算"]["valid_from"] == "2026-02-01T00:00:00Z"
    assert {row["times_seen"] for row in found.values()} == {1}
    assert {row["valid_to"] for row in found.values()} == {None}


def test_what_the_user_took_back_carries_its_dated_mark(home: Path) -> None:
    """An old session that is read again must not assert it once more."""
    old = OldFile(home / "mex.db", 5)
    old.memory("抽烟", "leisure.hobbies", forgotten_at="2026-02-02T00:00:00Z", forgotten_reason="retire")
    migrate(old.close())
    (row,) = table(home / "mex.db", "memories")
    assert (row["valid_to"], row["forgotten_at"]) == ("2026-02-02T00:00:00Z", "2026-02-02T00:00:00Z")


@pytest.mark.parametrize("version", VERSIONS)
def test_product_h11_the_index_is_ours_and_finds_everything(home: Path, version: int) -> None:
    path = typical(home / "mex.db", version)
    migrate(path)
    with opened("sync", path) as db:
        (sql,) = rows(db, "SELECT sql FROM sqlite_master WHERE name = 'memories_fts'")
        assert "trigram" not in sql["sql"]
        rows(db, "INSERT INTO memories_fts (memories_fts, rank) VALUES ('integrity-check', 1)")
        assert one(db, "PRAGMA integrity_check") == "ok"
        assert one(db, "PRAGMA journal_mode") == "wal"
        assert one(db, "SELECT count(*) FROM sqlite_master WHERE name LIKE 'idx_%'") == 0
    assert [found["content"] for found in mex("search", "辩", "--json").json] == ["正在准备答辩"]
    assert [found["content"] for found in mex("search", "前进", "--json").json] == ["前进云计算"]


def test_a_migrated_file_has_the_structure_of_a_fresh_one(home: Path, tmp_path: Path) -> None:
    migrate(typical(home / "mex.db", 5))
    fresh = Database.open(tmp_path / "fresh.db")
    migrations.ensure_current(fresh)
    fresh.close()

    def structure(path: Path) -> list[tuple[str, str]]:
        with opened("sync", path) as db:
            found = rows(db, "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name")
            return [(row["name"], row["sql"]) for row in found] + [("version", one(db, "PRAGMA user_version"))]

    assert structure(home / "mex.db") == structure(tmp_path / "fresh.db")


def test_product_b1_the_copy_is_the_file_as_it_was(home: Path) -> None:
    path = typical(home / "mex.db", 3)
    before = {name: table(path, name) for name in ("memories", "history", "llm_usage", "extraction_state")}
    (copy,) = migrate(path)
    assert re.fullmatch(r"mex-v3-\d{8}T\d{6}Z\.db", copy.name)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert stat.S_IMODE(copy.parent.stat().st_mode) == 0o700
    assert backups(home) == [copy], "nothing lies beside it"
    assert {name: table(copy, name) for name in before} == before
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (3,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_copy_is_never_overwritten(home: Path) -> None:
    for number in range(3):
        path = home / "mex.db"
        for name in ("mex.db", "mex.db-wal", "mex.db-shm"):
            (home / name).unlink(missing_ok=True)
        old = OldFile(path, 5)
        old.memory(f"number {number}")
        migrate(old.close())
    assert len({table(copy, "memories")[0]["content"] for copy in backups(home)}) == 3


def test_what_a_dead_process_left_half_copied_is_replaced(home: Path) -> None:
    path = typical(home / "mex.db", 5)
    (home / "backups").mkdir()
    (home / "backups" / "mex-v5.part").write_bytes(b"half")
    (copy,) = migrate(path)
    assert backups(home) == [copy]


def test_product_h14_arrays_of_version_2_become_rows(home: Path) -> None:
    """The first keeps the id, each has a line that tells where it came from; nothing else is taken apart."""
    old = OldFile(home / "mex.db", 2)
    array = old.memory('["Python", "Go", "C++"]', "work.tech_stack", confidence="explicit", evidence="他说的")
    single = old.memory('["晨跑"]', "leisure.hobbies")
    kept = [
        old.memory(content, slot)
        for content, slot in [
            ("[1, 2]", "work.award"), ("[]", "work.soft_skill"), ('["a", ""]', "edu.language"), ("[note", "values.values"),
            ('{"start": "2019"}', "work.experience"), ('["a", "b"]', "work"),
        ]
    ]  # fmt: skip
    migrate(old.close())
    found = table(home / "mex.db", "memories")
    stack = [row for row in found if row["sub_topic"] == "tech_stack"]
    assert [row["content"] for row in stack] == ["Python", "Go", "C++"]
    assert [plain(row["id"]) == array for row in stack] == [True, False, False]
    same = set(found[0]) - {"id", "seq", "content", "tokens", "sought"}
    assert all({key: row[key] for key in same} == {key: stack[0][key] for key in same} for row in stack)
    assert [row["content"] for row in found if plain(row["id"]) == single] == ["晨跑"]
    assert [row["content"] for row in found if plain(row["id"]) in kept] == [
        "[1, 2]", "[]", '["a", ""]', "[note", '{"start": "2019"}', '["a", "b"]',
    ]  # fmt: skip
    told = [
        (plain(row["memory_id"]), row["event"], row["old_content"], row["new_content"])
        for row in table(home / "mex.db", "history")
        if row["event"] == "import"
    ]
    assert told == [
        (array, "import", '["Python", "Go", "C++"]', "Python"),
        (plain(stack[1]["id"]), "import", None, "Go"),
        (plain(stack[2]["id"]), "import", None, "C++"),
        (single, "import", '["晨跑"]', "晨跑"),
    ]
    assert [one["content"] for one in mex("search", "c++", "--json").json] == ["C++"]


def test_an_array_of_objects_becomes_structured_rows_and_version_5_is_left_alone(home: Path, tmp_path: Path) -> None:
    old = OldFile(home / "mex.db", 3)
    old.memory('[{"school": "甲"}, {"school": "乙"}]', "edu.education")
    migrate(old.close())
    assert [row["content"] for row in table(home / "mex.db", "memories")] == ['{"school": "甲"}', '{"school": "乙"}']
    newest = OldFile(tmp_path / "five" / "mex.db", 5)
    newest.memory('["a", "b"]', "work.tech_stack")
    migrate(newest.close())
    assert [row["content"] for row in table(newest.path, "memories")] == ['["a", "b"]']


def test_several_values_of_a_unique_slot_are_all_kept_in_their_order(home: Path) -> None:
    old = OldFile(home / "mex.db", 3)
    for number in range(3):
        old.memory(f"公司{number}", "work.company")
    migrate(old.close())
    assert [row["content"] for row in table(home / "mex.db", "memories")] == ["公司0", "公司1", "公司2"]


def test_fault_28_empty_names_become_none(home: Path) -> None:
    old = OldFile(home / "mex.db", 5)
    old.memory("失踪的", topic="", sub_topic="")
    old.memory("半个", topic="work", sub_topic="")
    migrate(old.close())
    assert [(row["topic"], row["sub_topic"]) for row in table(home / "mex.db", "memories")] == [
        (None, None), ("work", None),
    ]  # fmt: skip
    assert contents() == ["半个", "失踪的"]


def test_product_b9_ids_are_written_in_one_way_and_stay_apart(home: Path) -> None:
    """UUIDs get their hyphens, in memories and history alike; whatever else was an id stays one."""
    old = OldFile(home / "mex.db", 5)
    hexed = "0f8fad5bd9cb469fa16570867728950e"
    dashed = "0f8fad5b-d9cb-469f-a165-70867728950e"
    for identifier in (hexed, dashed, "7C9E6679742540DE944BE07FC1F90AE7", "note-1"):
        old.memory(f"of {identifier}", id=identifier)
    old.memory("of nobody", id=None, lines=[])
    old.line("16fd2706-8baf-433b-82eb-8c7fada847da", "delete", "gone", None, at="2026-01-03T00:00:00Z")
    migrate(old.close())
    found = {row["content"]: row["id"] for row in table(home / "mex.db", "memories")}
    assert found[f"of {dashed}"] == dashed
    assert found[f"of {hexed}"] == hexed
    assert found["of 7C9E6679742540DE944BE07FC1F90AE7"] == "7c9e6679-7425-40de-944b-e07fc1f90ae7"
    assert found["of note-1"] == "note-1"
    assert UUID.fullmatch(found["of nobody"])
    told = {row["new_content"]: row["memory_id"] for row in table(home / "mex.db", "history") if row["event"] == "add"}
    assert told == {content: found[content] for content in told}
    assert len(told) == 4
    assert [row["memory_id"] for row in table(home / "mex.db", "history") if row["event"] == "delete"] == [
        "16fd2706-8baf-433b-82eb-8c7fada847da"
    ]


def test_fault_13_what_the_original_imported_gets_a_first_line(home: Path) -> None:
    old = OldFile(home / "mex.db", 5)
    old.memory("从未说过来历", lines=[])
    changed = old.memory("新", lines=[("update", "旧", "新", "2026-01-05T00:00:00Z")])
    old.memory("后来", at="2026-01-03T00:00:00Z")
    migrate(old.close())
    told = [(row["event"], row["old_content"], row["new_content"]) for row in table(home / "mex.db", "history")]
    assert told == [
        ("import", None, "从未说过来历"), ("import", None, "旧"), ("add", None, "后来"), ("update", "旧", "新"),
    ]  # fmt: skip
    assert [one["event"] for one in mex("get", changed[:8]).json["history"]] == ["import", "update"]


def test_odd_contents_and_times_come_through(home: Path) -> None:
    """NUL is kept, foreign ways to write a time become ours, an embedding stays, what no one can read gives way."""
    old = OldFile(home / "mex.db", 5)
    old.memory("a\0b", embedding=b"\x01\x02")
    old.memory("berlin", at="2026-01-02T02:00:00+02:00", expires_at="2099-01-01T00:00:00Z")
    old.memory("garbled", updated_at="gestern", forgotten_at="morgen", expires_at="nie")
    migrate(old.close())
    found = {row["content"]: row for row in table(home / "mex.db", "memories")}
    assert found["a\0b"]["embedding"] == b"\x01\x02"
    assert (found["berlin"]["created_at"], found["berlin"]["expires_at"]) == (
        "2026-01-02T00:00:00Z", "2099-01-01T00:00:00Z",
    )  # fmt: skip
    garbled = found["garbled"]
    assert (garbled["updated_at"], garbled["forgotten_at"], garbled["expires_at"]) == (
        "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", None,
    )  # fmt: skip
    assert len(mex("list", "--json", "--include-forgotten").json) == 3


def test_positions_of_the_original_are_in_the_copy_and_nothing_is_taken_for_read(home: Path) -> None:
    (copy,) = migrate(typical(home / "mex.db", 5))
    with opened("sync", home / "mex.db") as db:
        assert one(db, "SELECT count(*) FROM extraction_state") == 0
    assert table(copy, "extraction_state")[0]["last_position"] == 4711


def test_an_open_wal_is_read_too(home: Path) -> None:
    """The process that wrote last was killed: half of the file is still in its WAL."""
    old = OldFile(home / "mex.db", 5)
    old.memory("in der Datei")
    old.connection.commit()
    old.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    old.connection.execute("PRAGMA wal_autocheckpoint = 0")
    old.memory("im WAL")
    old.connection.commit()
    other = home.parent / "copied"
    other.mkdir()
    for name in ("mex.db", "mex.db-wal"):
        (other / name).write_bytes((home / name).read_bytes())
    old.close()
    (copy,) = migrate(other / "mex.db")
    assert sorted(row["content"] for row in table(other / "mex.db", "memories")) == ["im WAL", "in der Datei"]
    assert len(table(copy, "memories")) == 2


def test_a_rollback_journal_becomes_a_wal(home: Path) -> None:
    old = OldFile(home / "mex.db", 4, journal="delete")
    old.memory("x")
    migrate(old.close())
    with opened("sync", home / "mex.db") as db:
        assert one(db, "PRAGMA journal_mode") == "wal"

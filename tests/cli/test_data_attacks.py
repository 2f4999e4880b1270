"""What no agent, file or order of commands may do to the data: product P6, P7, B6, B8, C6, F4 and seed 004 §3.5, §6.4."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from mex_pipeline.domain.schema import parse
from tests.support import past
from tests.support.invariants import check
from tests.support.model_server import ModelServer, reply
from tests.support.program import contents, mex, opened

COMPANY = ("--topic", "work", "--sub-topic", "company")
OVERWRITE = ("--on-conflict", "overwrite")
AGENT = {"CLAUDECODE": "1"}

Edit = Callable[[dict[str, Any]], None]


def add(*arguments: str, **environment: str) -> dict[str, Any]:
    """Add a memory and return it."""
    return dict(mex("add", *arguments, "--json", **environment).json)


def export(path: Path, **environment: str) -> Path:
    """Export a home."""
    mex("export", "--output", str(path), **environment)
    return path


def edited(file: Path, edit: Edit) -> Path:
    """Change an export by hand."""
    data = json.loads(file.read_text(encoding="utf-8"))
    edit(data)
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


def restore(path: Path, *options: str, **environment: str) -> tuple[int, list[str]]:
    """Import an export; how many memories came in, and why others did not."""
    result = mex("import", str(path), *options, "--json", **environment).json
    return result["imported"], [one["reason"] for one in result["conflicts"]]


def refused(*arguments: str, **environment: str) -> str:
    """The code of a refusal: exit 1, one error object on stderr, nothing on stdout."""
    ran = mex(*arguments, "--json", ok=False, **environment)
    assert (ran.code, ran.out) == (1, "")
    return str(json.loads(ran.err)["code"])


def events(identifier: str) -> list[tuple[str, str]]:
    """What happened to a memory, and who did it."""
    return [(one["event"], one["actor"]) for one in mex("history", identifier, "--json").json]


def require_sound(home: Path) -> None:
    """What must hold in every home holds in this one, and doctor agrees."""
    schema, _ = parse(yaml.safe_load((home / "schema.yaml").read_text(encoding="utf-8")))
    check(home / "mex.db", schema)
    mex("doctor")


@pytest.fixture
def other(tmp_path: Path) -> dict[str, str]:
    """Another home."""
    return {"MEX_HOME": str(tmp_path / "other")}


def test_product_c6_an_agent_does_not_lift_the_doubt_it_raised() -> None:
    """Neither by another tier nor by that and another value; the person's value stays beside it."""
    memory = add(*COMPANY, "--content", "远光软件")
    by_agent = ("update", memory["id"], "--by", "ai")
    for change in (("--content", "甲公司"), ("--confidence", "explicit"), ("--content", "乙公司")):
        shown = mex(*by_agent, *change, "--json").json
        assert (shown["confidence"], shown["is_ai_inferred"]) == ("uncertain", True)
    assert "before: 远光软件" in mex("profile").out
    assert [one["previous"]["content"] for one in mex("review", "list", "--json").json] == ["远光软件"]


def test_product_p7_no_export_confirms_for_an_agent(tmp_path: Path) -> None:
    """A file says what its writer likes: an agent that could restore one could confirm anything."""
    memory = add(*COMPANY, "--content", "远光软件")
    file = edited(export(tmp_path / "e.json"), lambda data: data["memories"][0].update(content="甲公司"))
    for options in ((), OVERWRITE, ("--async",)):
        assert refused("import", str(file), *options, **AGENT) == "agent_cannot_restore"
    assert mex("get", memory["id"]).json["content"] == "远光软件"
    notes = tmp_path / "notes.txt"
    notes.write_text("我叫小陈。", encoding="utf-8")
    mex("import", str(notes), "--mode", "extract", **AGENT)
    assert restore(file, *OVERWRITE) == (1, [])


@pytest.mark.parametrize("options", [("--yes",), ("--yes", "--no-backup")])
def test_product_p7_an_agent_does_not_clear(options: tuple[str, ...]) -> None:
    add("--content", "喝茶")
    assert refused("clear", *options, **AGENT) == "agent_cannot_clear"
    assert contents() == ["喝茶"]


def test_seed_3_1_history_names_the_agent_that_put_expired_memories_away() -> None:
    memory = add("--content", "喝茶", "--expires", "2020-01-01")
    mex("gc", **AGENT)
    assert events(memory["id"]) == [("add", "user"), ("expire", "ai")]


def test_product_c6_a_doubt_over_a_confirmed_value_is_not_retired_by_less_than_the_users_words(
    model: ModelServer, home: Path
) -> None:
    """In two steps nothing may happen that one step is refused: first a doubt over the value, then its retraction."""
    add("--topic", "work", "--sub-topic", "tech_stack", "--content", "Python")
    guess = {"topic": "work", "sub_topic": "tech_stack", "content": "Rust", "is_ai_inferred": True}
    model.script(
        {"when": "first", "reply": reply(guess | {"replaces": "Python"})},
        {"when": "then", "reply": reply(guess | {"action": "retire", "confidence": "speculated"})},
    )
    assert len(mex("extract", "first I looked at Rust", "--json").json["updated"]) == 1
    second = mex("extract", "then I had lunch", "--json").json
    assert (second["retired"], [one["reason"] for one in second["discarded"]]) == ([], ["retire_unverified"])
    (waiting,) = mex("review", "list", "--json").json
    assert waiting["previous"]["content"] == "Python"
    require_sound(home)


def test_seed_6_4_a_row_without_its_place_takes_no_slot(tmp_path: Path, home: Path) -> None:
    """What a file leaves out stays as it is here, but not the place: nothing was checked against that one."""

    def bare(data: dict[str, Any]) -> None:
        for row in data["memories"]:
            del row["topic"], row["sub_topic"]
            row["content"] += "!"

    mine = add(*COMPANY, "--content", "远光软件")
    school = ("--topic", "edu", "--sub-topic", "education")
    degree = add(*school, "--content", '{"degree": "硕士", "school": "北大"}')
    file = edited(export(tmp_path / "e.json"), bare)
    mex("forget", mine["id"])
    add(*COMPANY, "--content", "前进云")
    assert restore(file, *OVERWRITE) == (2, [])
    for memory in (mine, degree):
        assert mex("get", memory["id"]).json["sub_topic"] is None
    require_sound(home)


def test_seed_3_6_a_slot_that_became_unique_leaves_its_values_editable(home: Path) -> None:
    """The person who is to put them right must be able to; only what was out of sight may not come into a taken slot."""
    skill = ("--topic", "work", "--sub-topic", "tech_stack")
    first, second, third = (add(*skill, "--content", name) for name in ("Go", "Rust", "Perl"))
    mex("update", third["id"], "--expires", "2020-01-01")
    schema = yaml.safe_load((home / "schema.yaml").read_text(encoding="utf-8"))
    del schema["topics"]["work"]["sub_topics"]["tech_stack"]["unique"]
    (home / "schema.yaml").write_text(yaml.safe_dump(schema, allow_unicode=True), encoding="utf-8")
    mex("update", first["id"], "--content", "Golang")
    mex("update", second["id"], "--confidence", "explicit")
    assert refused("update", third["id"], "--clear-expires") == "slot_occupied"
    assert refused("add", *skill, "--content", "C") == "slot_occupied"
    mex("forget", second["id"])
    require_sound(home)


def test_product_p6_an_old_export_does_not_quietly_bring_back_what_was_purged(tmp_path: Path, home: Path) -> None:
    memory = add(*COMPANY, "--content", "远光软件")
    add("--content", "喝茶")
    file = export(tmp_path / "e.json")
    mex("forget", "--hard", "--yes", memory["id"])
    assert restore(file) == (0, ["purged_here"])
    for language, words in (("en", "deleted for good here; --on-conflict overwrite"), ("zh", "已在此处彻底删除")):
        assert words in mex("--lang", language, "import", str(file)).out
    assert contents() == ["喝茶"]
    require_sound(home)
    assert restore(file, *OVERWRITE) == (1, [])
    assert events(memory["id"]) == [("delete", "user"), ("import", "user")]
    require_sound(home)
    assert restore(file) == (0, [])
    mex("forget", "--hard", "--yes", memory["id"])
    assert events(memory["id"]) == [("delete", "user")] * 2
    assert restore(file) == (0, ["purged_here"])
    require_sound(home)


def test_product_e2_what_was_purged_and_brought_back_was_not_known_in_between(tmp_path: Path) -> None:
    memory = past.add("2026-01-01T00:00:00Z", "work.company", "远光软件")
    file = export(tmp_path / "e.json")
    past.delete_for_good("2026-02-01T00:00:00Z", memory)
    restore(file, *OVERWRITE)
    assert "远光软件" in mex("profile").out
    assert "远光软件" in mex("profile", "--as-of", "2026-01-15").out
    for moment in ("2026-01-15", "2026-02-15"):
        assert "远光软件" not in mex("profile", "--known-at", moment).out


def test_product_g11_a_home_that_brought_a_purged_memory_back_moves_house(
    tmp_path: Path, home: Path, other: dict[str, str]
) -> None:
    memory = add(*COMPANY, "--content", "远光软件")
    file = export(tmp_path / "e.json")
    mex("forget", "--hard", "--yes", memory["id"])
    restore(file, *OVERWRITE)
    first = export(tmp_path / "1.json")
    assert restore(first, **other) == (1, [])
    assert export(tmp_path / "2.json", **other).read_bytes() == first.read_bytes()
    require_sound(Path(other["MEX_HOME"]))


def test_product_b6_two_homes_that_purged_the_same_memory_exchange_exports(
    tmp_path: Path, other: dict[str, str]
) -> None:
    """Each keeps its own line; where the memory was never known the other's comes along."""
    memory = add("--content", "喝茶")
    restore(export(tmp_path / "e.json"), **other)
    for environment in ({}, other):
        mex("forget", "--hard", "--yes", memory["id"], **environment)
    file = export(tmp_path / "e.json")
    assert restore(file, **other) == (0, [])
    third = {"MEX_HOME": str(tmp_path / "third")}
    restore(file, **third)
    for environment in (other, third):
        require_sound(Path(environment["MEX_HOME"]))
        assert len(mex("history", memory["id"], "--json", **environment).json) == 1


def test_product_b6_what_the_original_deleted_and_kept_in_history_can_be_purged(home: Path, tmp_path: Path) -> None:
    memory = add("--content", "喝茶")
    file = export(tmp_path / "e.json")
    with opened(home / "mex.db") as connection:
        connection.execute("DELETE FROM memories")
        connection.execute("UPDATE history SET event = 'delete', old_content = '喝茶', before = NULL, after = NULL")
    for _ in range(2):
        mex("forget", "--hard", "--yes", memory["id"])
        assert "喝茶".encode() not in (home / "mex.db").read_bytes()
        assert events(memory["id"]) == [("delete", "user")]
    assert restore(file) == (0, ["purged_here"])


def test_product_b6_history_of_a_memory_that_the_file_lacks_brings_no_words(
    tmp_path: Path, other: dict[str, str]
) -> None:
    add("--content", "喝茶")
    file = edited(export(tmp_path / "e.json"), lambda data: data["memories"].clear())
    assert restore(file, **other) == (0, [])
    root = Path(other["MEX_HOME"])
    with opened(root / "mex.db") as connection:
        assert connection.execute("SELECT count(*) FROM history").fetchone() == (0,)
    require_sound(root)


def drop_line(data: dict[str, Any]) -> None:
    del data["history"][1]


def break_line(data: dict[str, Any]) -> None:
    data["history"][1]["event"] = "bogus"


def lose_beginning(data: dict[str, Any]) -> None:
    del data["history"][0]


def reverse_lines(data: dict[str, Any]) -> None:
    data["history"].reverse()


def change_state(data: dict[str, Any]) -> None:
    data["history"][1]["after"]["content"] = "乙公司"


def swap_owner(data: dict[str, Any]) -> None:
    for line in data["history"]:
        line["after"]["id"] = "11111111-1111-4111-8111-111111111111"


def leave_a_mark(data: dict[str, Any]) -> None:
    words = dict.fromkeys(("old_content", "new_content", "evidence", "before", "after"))
    data["history"] = [data["history"][0] | words | {"event": "delete"}]


GAPS = [drop_line, break_line, lose_beginning, reverse_lines, change_state, swap_owner, leave_a_mark]


@pytest.mark.parametrize("edit", GAPS)
def test_product_b8_a_history_with_gaps_stays_out_and_is_told(
    edit: Edit, tmp_path: Path, other: dict[str, str]
) -> None:
    memory = add(*COMPANY, "--content", "远光软件")
    mex("update", memory["id"], "--content", "前进云")
    mex("update", memory["id"], "--content", "甲公司", "--by", "ai")
    file = edited(export(tmp_path / "e.json"), edit)
    imported, reasons = restore(file, **other)
    assert (imported, set(reasons) - {"invalid_entry"}) == (1, {"history_unlinked"})
    require_sound(Path(other["MEX_HOME"]))
    for command in (("history", memory["id"]), ("profile", "--as-of", "2026-01-01"), ("search", "--history", "公司")):
        mex(*command, **other)
    again, reasons = restore(file, **other)
    assert (again, set(reasons) - {"invalid_entry"}) == (0, set())


def test_product_b6_exports_that_were_cut_short_are_purged_like_whole_ones(home: Path) -> None:
    """As a kill in the middle of `mex clear` leaves them, and as other programs write lines of JSON."""
    words = 'said "hi there"\nsecond line 🙂'
    memory = add("--content", words)
    add("--content", "喝茶")
    folder = home / "backups"
    whole = export(folder / "whole.json").read_text(encoding="utf-8")
    (folder / ".cut.json.1.new").write_text(whole[:-40], encoding="utf-8")
    rows = json.loads(whole)["memories"]
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    (folder / "words.jsonl").write_text(f"{json.dumps({'said': words})}\n{json.dumps('喝茶')}\n", encoding="utf-8")
    assert mex("forget", "--hard", "--yes", memory["id"], "--json").json["verified"]
    for path in home.rglob("*"):
        raw = path.read_bytes() if path.is_file() else b""
        assert not any(part in raw for part in (b"hi there", b"second line", memory["id"].encode() + b'", "topic"')), (
            path
        )
    for name in (".cut.json.1.new", "rows.jsonl", "words.jsonl"):
        text = (folder / name).read_text(encoding="utf-8")
        assert "喝茶" in text or json.dumps("喝茶")[1:-1] in text


def test_product_b6_a_discarded_repetition_goes_however_it_was_written(model: ModelServer, home: Path) -> None:
    """What was recognised as the same value is the same value, in other letters too (product B5)."""
    value = {"topic": "work", "sub_topic": "tech_stack", "content": "Zigzaglang 语言"}
    repeated = value | {"content": "ＺＩＧＺＡＧＬＡＮＧ  语言。", "is_ai_inferred": True, "confidence": "inferred"}
    model.script(
        {"when": "first", "reply": reply(value | {"quote": "Zigzaglang 语言"})},
        {"when": "then", "reply": reply(repeated)},
    )
    (memory,) = mex("extract", "first I learned Zigzaglang 语言", "--json").json["added"]
    (discarded,) = mex("extract", "then ＺＩＧＺＡＧＬＡＮＧ  语言。", "--json").json["discarded"]
    assert (discarded["content"], discarded["reason"]) == (repeated["content"], "reinforced")
    mex("forget", "--hard", "--yes", memory["id"])
    forms = (value["content"], repeated["content"])
    files = [path for path in home.rglob("*") if path.is_file()]
    assert [path for path in files if any(form.encode() in path.read_bytes() for form in forms)] == []


def test_product_b6_a_kept_reply_with_a_structured_value_goes_whatever_its_fields_hold(home: Path) -> None:
    """JSON inside JSON, as the reply's writer ordered it: quotes, line breaks and emoji are escaped twice."""
    fields = {"start": "2018", "end": "2019", "company": '"Corp"\n🙂'}
    memory = add("--topic", "work", "--sub-topic", "experience", "--content", json.dumps(fields))
    turned = dict(reversed(fields.items()))
    kept = [
        json.dumps({"memories": [{"content": json.dumps(turned, ensure_ascii=inner)}]}, ensure_ascii=outer)
        for inner in (True, False)
        for outer in (True, False)
    ]
    with opened(home / "mex.db") as connection:
        rows = [(str(number), text) for number, text in enumerate([*kept, '{"memories": []}'])]
        connection.executemany("INSERT INTO kept_replies VALUES (?, 'j', 'f', ?, 0)", rows)
    mex("forget", "--hard", "--yes", memory["id"])
    with opened(home / "mex.db") as connection:
        assert connection.execute("SELECT reply FROM kept_replies").fetchall() == [('{"memories": []}',)]


def test_what_a_reader_kept_in_the_file_goes_with_the_next_clear(home: Path) -> None:
    """The same after a kill between the clearing and the rewriting: then nothing is left to clear but bytes."""
    add("--content", "独门秘密甲")
    with opened(home / "mex.db") as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM memories").fetchone()
        assert not mex("clear", "--yes", "--no-backup", "--json").json["settled"]
    assert mex("clear", "--yes", "--json").json["settled"]
    assert not any("独门秘密".encode() in path.read_bytes() for path in home.iterdir() if path.is_file())


def test_product_b6_the_index_forgets_in_the_transaction_that_purges(home: Path) -> None:
    """A reader, or a kill before the file is rewritten, leaves free pages, but no words in an index that lives on."""
    memory = add("--content", "Zigzaglang")
    with opened(home / "mex.db") as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM memories").fetchone()
        assert mex("forget", "--hard", "--yes", memory["id"], ok=False).code == 2
    with opened(home / "mex.db") as connection:
        segments = connection.execute("SELECT block FROM memories_fts_data").fetchall()
    assert not any(b"zigzag" in block for (block,) in segments)


def test_product_g7_with_json_standard_output_is_json() -> None:
    add("--content", "喝茶")
    to_stdout = ("export", "--output", "-")
    assert refused(*to_stdout, "--format", "markdown") == "markdown_as_json"
    assert [one["content"] for one in mex(*to_stdout, "--json").json["memories"]] == ["喝茶"]

"""The client's database: which sessions it has, what is speech in them, how they grow, and what is left alone."""

import json
import sqlite3
import tracemalloc
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.adapters import foreign_db, opencode_tables, registry
from mex_pipeline.adapters.port import Local, Look, SessionStore
from mex_pipeline.domain.conversation import PROMPT_MARK
from mex_pipeline.errors import InvalidInput, MexError, SourceFormat, SourceGone, SourceUnreadable
from mex_pipeline.services import transcripts
from tests.adapters.growing import identity, said
from tests.adapters.opencode_session import (
    ADAPTER,
    CHAT,
    RICH,
    START,
    Export,
    asked,
    changed,
    chat,
    grown,
    of,
    prefixed,
    put,
    rich,
    steps,
    store,
    text,
    whole,
    write,
)  # fmt: skip


def test_the_adapter_is_a_store_of_sessions_and_knows_its_places() -> None:
    assert isinstance(ADAPTER, SessionStore)
    assert isinstance(ADAPTER, Local)


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_session_of_the_database_gives_typed_words_and_answers(tmp_path: Path, mode: str) -> None:
    """Level 2: what a tool was told is the person's, and nothing of its input, output or other tables."""
    path = store(tmp_path / "opencode.db", rich(), mode=mode)
    transcript = of(path)
    assert said(transcript) == RICH
    assert [turn.text for turn in transcript.turns if turn.kind == "tool_answer"] == ["Vim\n蓝色\ngreen", "不要用 sudo"]
    assert not any("NOISE" in turn.text for turn in transcript.turns)
    assert (transcript.agent, transcript.session_id, transcript.project) == ("opencode", "ses_1", "/home/lin/notes")
    first = transcript.turns[0]
    assert (first.at, first.message_id, first.session_id) == ("2026-03-01T08:00:00Z", "msg_0000", "ses_1")
    assert registry.detect(path) is registry.find("opencode")


def test_database_tree_and_export_of_a_session_have_the_same_keys(tmp_path: Path) -> None:
    """I2: whichever is read first, the others bring nothing; what is counted is the same, too."""
    export = rich()
    database = of(store(tmp_path / "o.db", export))
    oldest = tmp_path / "oldest" / "session"
    for message in export.messages:
        put(oldest / "message" / "ses_1" / f"{message['info']['id']}.json", message["info"])
        for part in message["parts"]:
            put(oldest / "part" / "ses_1" / message["info"]["id"] / f"{part['id']}.json", part)
    info = put(oldest / "info" / "ses_1.json", export.info)
    for path in (export.write(tmp_path / "e.json"), export.write_tree(tmp_path / "storage"), info):
        other = whole(path)
        assert identity(other.turns) == identity(database.turns)
        assert other.dropped == database.dropped
        assert registry.detect(path).name == "opencode"


def test_sessions_are_listed_oldest_first_without_those_of_sub_agents(tmp_path: Path) -> None:
    late, early, sub = Export("ses_a"), Export("ses_z"), Export("ses_s", parentID="ses_z")
    late.info["time"] = {"created": START + 5}
    path = store(tmp_path / "o.db", late, sub.user("NOISE"), early)
    assert list(ADAPTER.sessions(path) or ()) == ["ses_z", "ses_a"]
    transcript = of(path, "ses_s")
    assert (transcript.turns, transcript.dropped) == ((), {"subagent": 1})
    assert ADAPTER.sessions(chat().write(tmp_path / "e.json")) is None
    assert ADAPTER.sessions(chat().write_tree(tmp_path / "storage")) is None


def test_a_database_of_one_session_is_read_and_one_of_many_asks_which(tmp_path: Path) -> None:
    """Sub-agents' do not count."""
    path = store(tmp_path / "o.db", chat(), prefixed(Export("ses_s", parentID="ses_1").user("NOISE")))
    assert identity(whole(path).turns) == identity(of(path).turns)
    for export in (Export("ses_2").user("two"), Export("ses_3").user("three")):
        write(path, *steps(prefixed(export)))
    with pytest.raises(InvalidInput) as caught:
        whole(path)
    assert (caught.value.code, caught.value.params) == ("session_needed", {"path": str(path), "count": 3})
    assert said(of(path, "ses_3")) == [("user", "three")]
    with pytest.raises(InvalidInput) as caught:
        whole(store(tmp_path / "none.db"))
    assert caught.value.params["count"] == 0


def test_a_session_that_is_not_there_is_gone(tmp_path: Path) -> None:
    """Deleted by its user, or never in this file."""
    path = store(tmp_path / "o.db", chat())
    for act in (of, ADAPTER.look):
        with pytest.raises(SourceGone) as caught:
            act(path, "ses_9")
        assert caught.value.params == {"path": f"{path}#ses_9"}
    with pytest.raises(SourceGone):
        of(tmp_path / "none.db")


def test_a_session_is_shown_by_its_name(tmp_path: Path) -> None:
    """`mex transcript FILE --session ID`; a name that is not there is the person's slip."""
    path = store(tmp_path / "o.db", chat(), prefixed(Export("ses_2").user("two")))
    shown = transcripts.show(path, adapter=None, quiet_seconds=60, session="ses_2")
    assert said(shown) == [("user", "two")]
    with pytest.raises(InvalidInput) as caught:
        transcripts.show(path, adapter=None, quiet_seconds=60, session="ses_9")
    assert caught.value.code == "session_not_in_file"


def test_a_look_changes_with_every_change_of_the_session_and_with_no_other(tmp_path: Path) -> None:
    """Rows that are inserted, grow, are completed, or deleted by a revert; the time is that of the latest change."""
    path = store(tmp_path / "o.db", prefixed(Export("ses_2").user("two")))
    other = ADAPTER.look(path, "ses_2")
    looks: list[Look] = []
    for step in steps(rich()):
        write(path, step)
        looks.append(ADAPTER.look(path, "ses_1"))
    assert len({look.size for look in looks}) == len(looks)
    assert [look.changed_at for look in looks] == sorted(look.changed_at for look in looks)
    assert looks[-1].changed_at == START + len(looks) - 1
    changed(path, "DELETE FROM part WHERE id = 'prt_0004_1'")
    assert ADAPTER.look(path, "ses_1").size not in {look.size for look in looks[-20:]}
    assert ADAPTER.look(path, "ses_2") == other


def test_what_the_user_took_back_is_no_speech_until_it_is_restored(tmp_path: Path) -> None:
    """The client marks it in the session's row, and deletes it at the next prompt."""
    path = store(tmp_path / "o.db", chat())
    changed(path, "UPDATE session SET revert = ?", json.dumps({"messageID": "msg_0003"}))
    assert said(of(path)) == CHAT[:4]
    assert of(path).dropped["reverted"] == 2
    for revert in (None, "no JSON", "[]", json.dumps({"messageID": "msg_gone"})):
        changed(path, "UPDATE session SET revert = ?", revert)
        assert said(of(path)) == CHAT


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("UPDATE session SET directory = '/home/lin/.mex/work'", "own_session"),
        ("UPDATE session SET parent_id = 'ses_0'", "subagent"),
        (f"UPDATE part SET data = '{{\"type\": \"text\", \"text\": \"{PROMPT_MARK}\"}}' WHERE id LIKE 'prt_0000%'",
         "own_prompt"),
    ],
)  # fmt: skip
def test_sessions_of_machines_give_no_turns(tmp_path: Path, change: str, reason: str) -> None:
    path = store(tmp_path / "o.db", chat())
    changed(path, change)
    assert (of(path).turns, of(path).dropped) == ((), {reason: 5})


def test_words_for_a_tool_count_in_an_answer_that_was_broken_off(tmp_path: Path) -> None:
    """The answer is dropped, the person's words are not; in an unfinished one they come once."""
    export = Export().user("hi")
    export.message("assistant", grown("NOISE"), asked("c1", ["tea"]), time={"created": START + 5})
    export.message("user", text("go on"), time={"created": START + 9})
    path = store(tmp_path / "o.db", export)
    expected = [("user", "hi"), ("user", "tea"), ("user", "go on")]
    assert said(of(path)) == expected
    assert of(path).dropped == {"unfinished": 1}
    keys = identity(of(path).turns)
    for error, reason in (({"name": "MessageAbortedError"}, "interrupted"), ({"name": "APIError"}, "api_error")):
        whole_info = {"role": "assistant", "time": {"created": START + 5, "completed": START + 8}, "error": error}
        changed(path, "UPDATE message SET data = ? WHERE id = 'msg_0001'", json.dumps(whole_info))
        assert identity(of(path).turns) == keys
        assert of(path).dropped == {reason: 1}


def test_answers_of_any_shape_give_words_or_nothing(tmp_path: Path) -> None:
    """I6: what a tool's metadata may hold instead of lists of words."""
    shapes: list[Any] = [None, 7, "x", [], [None], ["x"], [[]], [[7, None, " "]], [["\ud83d"]], {"a": 1}]
    path = store(tmp_path / "o.db", Export())
    for number, answers in enumerate(shapes):
        part = asked(f"c{number}")
        part["state"]["metadata"] = {"answers": answers}
        export = Export()
        export.message("user", part, {"type": "tool", "tool": "question", "state": answers}, time={"created": START})
        path.unlink()
        transcript = of(store(path, export))
        assert [turn.text for turn in transcript.turns] == (["\ufffd"] if answers == [["\ud83d"]] else [])
        assert sum(transcript.dropped.values()) + len(transcript.turns) == 2


def test_a_session_of_the_next_versions_tables_is_named_as_unsupported(tmp_path: Path) -> None:
    """Not told as one without words; a session in which nothing was said is one."""
    path = store(tmp_path / "o.db", Export("ses_1"), Export("ses_2"))
    changed(path, "INSERT INTO session_message VALUES ('m', 'ses_2', 'user', 1, 1, 1, '{\"text\": \"NOISE\"}')")
    assert of(path, "ses_1").turns == ()
    with pytest.raises(SourceFormat) as caught:
        of(path, "ses_2")
    assert (caught.value.code, caught.value.params) == ("unsupported_session", {"path": str(path), "session": "ses_2"})


def test_rows_that_cannot_be_read_are_counted_and_hurt_only_their_place(tmp_path: Path) -> None:
    """I6: no JSON, JSON of another kind, bytes, numbers, broken UTF-8, ids of other types."""
    path = store(tmp_path / "o.db", chat())
    for number, data in enumerate(("{", "7", "[]", b"\xff", 5, '"x"', "[" * 100_000, "")):
        row = (f"prt_9_{number}", "msg_0001", "ses_1", 1, 1, data)
        changed(path, "INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", *row)
        changed(path, "INSERT INTO message VALUES (?, 'ses_1', ?, 'late', ?)", f"msg_9_{number}", START + 9**9, data)
    changed(path, "INSERT INTO message VALUES (?, 'ses_1', 5, 5, '{\"role\": \"user\"}')", b"blob")
    changed(path, "INSERT INTO message VALUES (NULL, 'ses_1', 'x', 5, '{\"role\": \"user\", \"time\": 5}')")
    transcript = of(path)
    assert [turn for turn in said(transcript) if turn in CHAT] == CHAT
    assert len(transcript.turns) == len(CHAT)
    assert transcript.dropped["malformed"] == 16
    assert ADAPTER.look(path, "ses_1").size > 0


def test_a_part_that_is_too_long_to_be_looked_at_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store(tmp_path / "o.db", chat())
    changed(path, "UPDATE part SET data = ? WHERE id = 'prt_0001_2'", json.dumps({"type": "tool", "x": "A" * 5000}))
    monkeypatch.setattr(opencode_tables, "LINE_CAP", 4096)
    assert said(of(path)) == CHAT
    assert of(path).dropped["oversized_part"] == 1


def test_the_output_of_tools_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """I7: memory is bounded by the words of one session; too many words are refused by name."""
    export = chat()
    output = {"type": "tool", "tool": "bash", "state": {"status": "completed", "output": "A" * 2_000_000}}
    export.messages[1]["parts"] += [{**output, "id": f"prt_9{n}", "messageID": "msg_0001"} for n in range(30)]
    path = store(tmp_path / "o.db", export)
    tracemalloc.start()
    try:
        assert said(of(path)) == CHAT
        assert tracemalloc.get_traced_memory()[1] < 12_000_000
    finally:
        tracemalloc.stop()
    monkeypatch.setattr(opencode_tables, "SIZE_CAP", 20)
    with pytest.raises(SourceUnreadable) as caught:
        of(path)
    assert (caught.value.code, caught.value.params) == ("source_too_large", {"path": str(path), "limit": 20})


def test_rows_are_found_by_index(tmp_path: Path) -> None:
    """A database holds hundreds of sessions: no query walks through the parts of the others."""
    path = store(tmp_path / "o.db", chat())
    queries = (opencode_tables._LOOK, opencode_tables._MESSAGES, opencode_tables._PARTS)
    with closing(sqlite3.connect(path)) as database:
        for query in queries:
            values: Any = {"id": "x"} if ":id" in query else ("x",) * query.count("?")
            plan = " ".join(row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {query}", values))
            assert not {"SCAN message", "SCAN part"} & {" ".join(plan.split()[at : at + 2]) for at in range(99)}, plan
            assert "SEARCH" in plan


def test_a_database_of_another_program_is_told(tmp_path: Path) -> None:
    """Other tables, tables without the columns, views in their place, damage; no other adapter takes one."""
    path = tmp_path / "other.db"
    for script in (
        "CREATE TABLE t (x)",
        "CREATE TABLE session (id); CREATE TABLE message (id); CREATE TABLE part (id)",
        "CREATE TABLE t (x); CREATE VIEW session AS SELECT 1; CREATE VIEW message AS SELECT 1; CREATE VIEW part AS SELECT 1",
    ):
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as database:
            database.executescript(script)
        assert not ADAPTER.detect(path)
        for act in (lambda: whole(path), lambda: of(path), lambda: ADAPTER.look(path, "x")):
            with pytest.raises(SourceFormat) as caught:
                act()
            assert caught.value.params == {"path": str(path), "adapter": "opencode"}
    for data in (b"SQLite format 3\0", b"SQLite format 3\0" + b"\1" * 5000):
        path.write_bytes(data)
        assert not ADAPTER.detect(path)
        with pytest.raises(SourceUnreadable) as damaged:
            whole(path)
        assert (damaged.value.code, damaged.value.params) == ("source_db_damaged", {"path": str(path)})
    good = store(tmp_path / "o.db", chat())
    assert [name for name in registry._BUILT_IN if registry._built_in(name).detect(good)] == ["opencode"]


def test_a_database_in_use_is_named_by_detection_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not taken for a file of no known format."""
    monkeypatch.setattr(foreign_db, "BUSY_SECONDS", 0.05)
    path = store(tmp_path / "o.db", chat(), mode="delete")
    with closing(sqlite3.connect(path, isolation_level=None)) as owner:
        owner.execute("BEGIN EXCLUSIVE")
        with pytest.raises(MexError) as caught:
            ADAPTER.detect(path)
    assert caught.value.code == "source_busy"


GO = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT, created_at INTEGER, updated_at INTEGER);
CREATE TABLE messages (
    id TEXT PRIMARY KEY, session_id TEXT, role TEXT, parts TEXT, model TEXT, created_at INTEGER, updated_at INTEGER,
    finished_at INTEGER
);
INSERT INTO sessions VALUES ('s1', NULL, 't', 1772352000, 1772352009), ('s2', 's1', 'NOISE', 1772352001, 1772352001);
"""


def test_the_database_of_the_go_program_of_that_name_is_read(tmp_path: Path) -> None:
    """Session-formats §3.3 e: times in seconds, parts in one column, tools' results under a role of their own."""
    path = tmp_path / "opencode.db"

    def part(kind: str, **data: Any) -> dict[str, Any]:
        return {"type": kind, "data": data}

    rows = [
        ("user", [part("text", text="我住在成都")]),
        ("assistant", [part("reasoning", thinking="NOISE"), part("text", text="先看一下。"), part("tool_call", input="NOISE"),
                       part("finish", reason="tool_use", time=1)]),
        ("tool", [part("tool_result", content="NOISE")]),
        ("assistant", [part("text", text="NOISE"), part("finish", reason="canceled")]),
        ("user", [part("text", text="ok"), part("binary", Path="NOISE")]),
        ("assistant", [part("text", text="not yet ready")]),
    ]  # fmt: skip
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(GO)
        for number, (role, parts) in enumerate(rows):
            at = 1772352000 + number // 2
            values = (f"m{number}", "s1", role, json.dumps(parts), at, at)
            database.execute("INSERT INTO messages VALUES (?, ?, ?, ?, 'x', ?, ?, NULL)", values)
        database.execute("INSERT INTO messages VALUES ('m9', 's1', 'user', 'no JSON', 'x', 1772352009, 1, NULL)")
    assert list(ADAPTER.sessions(path) or ()) == ["s1"]
    transcript = whole(path)
    assert said(transcript) == [("user", "我住在成都"), ("assistant", "先看一下。"), ("user", "ok")]
    assert transcript.turns[0].at == "2026-03-01T08:00:00Z"
    assert transcript.dropped == {
        "thinking": 1, "tool_use": 1, "step": 1, "tool_result": 1, "interrupted": 1, "document": 1, "unfinished": 1,
        "malformed": 1,
    }  # fmt: skip
    assert ADAPTER.look(path, "s1").changed_at == 1_772_352_009_000
    assert registry.detect(path).name == "opencode"


def test_places_are_the_databases_of_all_channels_and_the_old_trees(tmp_path: Path) -> None:
    """By default, moved, named; nothing is opened, and what is missing is passed over."""
    assert list(ADAPTER.places(tmp_path, {})) == []
    data = tmp_path / ".local" / "share" / "opencode"
    chat().write_tree(data / "storage")
    expected = {store(data / name, chat()) for name in ("opencode.db", "opencode-dev.db")}
    expected |= {data / "storage" / "session" / "global" / "ses_1.json"}
    expected |= {put(data / "project" / "p" / "storage" / "session" / "info" / "ses_0.json", {"id": "ses_0"})}
    (data / "opencode.db-wal").write_bytes(b"")
    assert set(ADAPTER.places(tmp_path, {})) == expected
    moved = store(put(tmp_path / "xdg" / "opencode" / "x", {}).parent / "opencode.db", chat())
    environment = {"XDG_DATA_HOME": str(tmp_path / "xdg")}
    assert list(ADAPTER.places(tmp_path, environment)) == [moved]
    own = store(moved.parent / "mine.sqlite", chat())
    for name in ("mine.sqlite", str(own)):
        assert list(ADAPTER.places(tmp_path, {**environment, "OPENCODE_DB": name})) == [own, moved]
    assert ADAPTER.kept_days(tmp_path, {}) is None

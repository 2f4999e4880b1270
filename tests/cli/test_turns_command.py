"""`mex turns`, purges, exports and counts of real kept turns (product B6, B10, G11)."""

import json
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.model_server import ModelServer, reply
from tests.support.program import mex, opened, until
from tests.support.sessions import SessionFile
from tests.support.terminal import Terminal

MANGO, TEA = "记住：我对芒果严重过敏。", "记住：我喜欢喝绿茶。"


def extract(session: SessionFile, **environment: str) -> None:
    mex("extract", "--from", "claude", "--file", str(session.path), **environment)


def two_sessions(folder: Path) -> None:
    """One of March and one of May, three turns each."""
    for name, month, fact in (("session-0001", "03", MANGO), ("session-0002", "05", TEA)):
        session = SessionFile(folder / f"{name}.jsonl", name).user("你好", fact).assistant("好的。")
        text = session.path.read_text(encoding="utf-8").replace("2026-03-01", f"2026-{month}-01")
        session.path.write_text(text, encoding="utf-8")
        extract(session)


def kept(home: Path) -> list[str]:
    with opened(home / "mex.db") as db:
        return [text for (text,) in db.execute("SELECT text FROM turns ORDER BY session_id, position")]


def holding(home: Path, word: str) -> list[str]:
    """The files of the home that hold the bytes of a word, plain or as JSON writes it."""
    forms = {word.encode(), json.dumps(word)[1:-1].encode()}
    return [path.name for path in home.rglob("*") if path.is_file() and any(one in path.read_bytes() for one in forms)]


def memory(word: str) -> str:
    return next(str(one["id"]) for one in mex("list", "--json").json if word in one["content"])


def pruned(*options: str) -> dict[str, Any]:
    return dict(mex("turns", "prune", "--yes", *options, "--json").json)


def test_the_list_tells_sessions_sizes_and_times(home: Path, tmp_path: Path) -> None:
    assert "No turns are kept" in mex("turns", "list").out
    two_sessions(tmp_path)
    newest, oldest = mex("turns", "list", "--json").json
    assert [newest["session"], oldest["session"]] == ["session-0002", "session-0001"]
    assert (oldest["agent"], oldest["turns"], oldest["oldest"][:10]) == ("claude", 3, "2026-03-01")
    assert oldest["bytes"] == len(f"你好{MANGO}好的。".encode())
    assert mex("turns", "list", "--agent", "codex", "--json").json == []
    assert "session-0001" in mex("turns", "list").out


@pytest.mark.parametrize(("options", "left"), [
    (("--session", "session-0001"), ["你好", TEA, "好的。"]),
    (("--agent", "claude"), []),
    (("--agent", "codex"), ["你好", MANGO, "好的。", "你好", TEA, "好的。"]),
    (("--older-than", "1s"), []),
    (("--older-than", "9999w"), ["你好", MANGO, "好的。", "你好", TEA, "好的。"]),
])  # fmt: skip
def test_product_b10_kept_turns_are_dropped_by_session_agent_and_age(
    home: Path, tmp_path: Path, options: tuple[str, ...], left: list[str]
) -> None:
    two_sessions(tmp_path)
    before = mex("list", "--json").json
    foreseen = pruned(*options, "--dry-run")
    assert len(kept(home)) == 6
    done = pruned(*options)
    assert foreseen | {"dry_run": False} == done
    assert kept(home) == left
    assert done["turns"] == 6 - len(left)
    assert mex("list", "--json").json == before, "memories and quotes stay"


def test_product_b10_what_was_dropped_leaves_no_byte(home: Path, tmp_path: Path) -> None:
    extract(SessionFile(tmp_path / "s.jsonl").user("独一无二的开头", MANGO))
    assert "mex.db" in "".join(holding(home, "独一无二"))
    assert pruned("--older-than", "1s")["settled"] is True
    assert holding(home, "独一无二") == []


def test_pruning_wants_to_know_which_and_a_yes(home: Path, tmp_path: Path) -> None:
    two_sessions(tmp_path)
    for words, code in (
        (("--yes",), "turns_which"), (("--agent", "claude"), "prune_needs_yes"),
        (("--session", "session-", "--yes"), "session_ambiguous"), (("--session", "other", "--yes"), "session_unknown"),
        (("--older-than", "soon", "--yes"), "bad_span"),
    ):  # fmt: skip
        ran = mex("--json", "turns", "prune", *words, ok=False)
        assert (ran.code, json.loads(ran.err)["code"]) == (1, code)
    ran = mex("--json", "turns", "prune", "--agent", "claude", "--yes", ok=False, CLAUDECODE="1")
    assert json.loads(ran.err)["code"] == "agent_cannot_prune"
    assert len(kept(home)) == 6


def test_a_session_that_two_agents_call_the_same_is_not_dropped_of_both(home: Path, tmp_path: Path) -> None:
    two_sessions(tmp_path)
    with opened(home / "mex.db") as db:
        db.execute("UPDATE turns SET agent = 'codex', session_id = 'session-0001' WHERE session_id = 'session-0002'")
    for given in ("session-0001", "session-"):
        ran = mex("turns", "prune", "--session", given, "--yes", ok=False)
        assert ran.code == 1
        assert "claude, codex. Say which one with --agent" in ran.err
    assert pruned("--session", "session-0001", "--agent", "codex")["turns"] == 3
    assert kept(home) == ["你好", MANGO, "好的。"]


def test_turns_that_are_dropped_while_they_are_read_anew_are_not_kept_again(
    home: Path, model: ModelServer, tmp_path: Path
) -> None:
    said = {"topic": "leisure", "sub_topic": "hobbies", "content": "喝绿茶", "quote": "我喜欢喝绿茶"}
    model.script({"reply": reply(said)})
    session = SessionFile(tmp_path / "s.jsonl", "session-0001").user(TEA, "周末常下象棋")
    extract(session)
    session.path.unlink()
    model.script({"hold": "go", "reply": reply({**said, "content": "下象棋", "quote": "周末常下象棋"})})
    reading = threading.Thread(target=lambda: mex("extract", "--again", "session-0001"))
    reading.start()
    until(lambda: len(model.requests()) == 2)
    pruned("--agent", "claude")
    model.release("go")
    reading.join()
    assert [one["content"] for one in mex("list", "--json").json] == ["下象棋", "喝绿茶"]
    assert kept(home) == []


def test_at_a_terminal_pruning_asks_first(home: Path, tmp_path: Path) -> None:
    two_sessions(tmp_path)
    with Terminal(tmp_path, "turns", "prune", "--agent", "claude") as terminal:
        terminal.answer("Drop 6 kept turns of 2 sessions", "n\r")
        assert terminal.end() == 1
    assert len(kept(home)) == 6
    with Terminal(tmp_path, "--lang", "zh", "turns", "prune", "--session", "session-0001") as terminal:
        terminal.answer("确定删除 1 个会话中留存的 3 轮原话", "y\r")
        assert terminal.end() == 0
    assert len(kept(home)) == 3


def test_product_b6_a_purged_memory_takes_its_kept_turn_and_the_answers_to_it_along(home: Path, tmp_path: Path) -> None:
    session = SessionFile(tmp_path / "s.jsonl").user("先说茶", TEA).assistant("好茶。")
    session.user(MANGO).assistant("那水果要当心。").user("再见")
    extract(session, MEX_KEEP_TURNS="all")
    with closing(sqlite3.connect(home / "mex.db")) as source, closing(sqlite3.connect(home / "backups" / "a.db")) as to:
        source.backup(to)
    mex("export", "--turns", "--output", str(home / "backups" / "e.json"))
    receipt = mex("forget", "--hard", "--yes", memory("芒果"), "--json").json
    assert kept(home) == ["先说茶", TEA, "好茶。", "再见"]
    assert receipt["verified"] is True
    assert {one["what"]: one["count"] for one in receipt["rewritten"]}["turns"] == 2
    for word in ("芒果", "那水果要当心"):
        assert holding(home, word) == []
    with opened(home / "backups" / "a.db") as db:
        assert [row[0] for row in db.execute("SELECT text FROM turns ORDER BY position")] == kept(home)
    exported = json.loads((home / "backups" / "e.json").read_text(encoding="utf-8"))
    assert [turn["text"] for turn in exported["turns"]] == kept(home)


def test_product_b6_a_turn_that_says_more_loses_only_the_words(home: Path, model: ModelServer, tmp_path: Path) -> None:
    """The other memory's quote stays at its place; so does what stands in another turn of the session, but the words."""
    facts = (("health", "allergy", "芒果过敏", "我对芒果过敏"), ("leisure", "hobbies", "喝绿茶", "我喜欢喝绿茶"))
    model.script({"reply": reply(*({"topic": t, "sub_topic": s, "content": c, "quote": q} for t, s, c, q in facts))})
    session = (
        SessionFile(tmp_path / "s.jsonl").user("我对芒果过敏，我喜欢喝绿茶").assistant("芒果过敏，记下了").user("好")
    )
    extract(session, MEX_KEEP_TURNS="all")
    model.script()
    apart = SessionFile(tmp_path / "t.jsonl", "s2").user("别人也对芒果过敏")
    extract(apart, MEX_KEEP_TURNS="all")
    tea = memory("绿茶")
    receipt = mex("forget", "--hard", "--yes", memory("芒果"), "--json").json
    assert kept(home) == [" " * 6 + "，我喜欢喝绿茶", " " * 4 + "，记下了", "好", "别人也对芒果过敏"]
    assert receipt["kept"] == [{"what": "turns", "count": 1}], "the same words elsewhere are told, not touched"
    mex("turns", "prune", "--session", "s2", "--yes")
    assert holding(home, "芒果过敏") == []
    session.path.unlink()
    (place,) = mex("source", tea, "--json").json["sources"]
    (quoted,) = [turn for turn in place["turns"] if turn["is_source"]]
    assert quoted["text"][quoted["quote"]["start"] : quoted["quote"]["end"]] == "我喜欢喝绿茶"
    mex("forget", "--hard", "--yes", tea)
    assert kept(home) == ["好"]


def test_product_b6_what_was_purged_is_not_kept_again(home: Path, tmp_path: Path) -> None:
    """As the turn before a new memory, nor by an export that was made before."""
    session = SessionFile(tmp_path / "s.jsonl").user("开头", MANGO)
    extract(session)
    mex("export", "--turns", "--output", str(tmp_path / "before.json"))
    mex("forget", "--hard", "--yes", memory("芒果"))
    session.user(TEA)
    extract(session)
    assert kept(home) == ["开头", TEA]
    mex("import", str(tmp_path / "before.json"))
    assert kept(home) == ["开头", TEA]


def test_product_b6_given_text_is_purged_too(home: Path) -> None:
    mex("extract", f"一段闲话。\n\n{MANGO}\n\n又一段。")
    mex("forget", "--hard", "--yes", memory("芒果"))
    assert kept(home) == ["一段闲话。", "又一段。"]
    assert holding(home, "芒果") == []


def test_product_g11_kept_turns_travel_when_asked_for_and_come_back_byte_for_byte(home: Path, tmp_path: Path) -> None:
    two_sessions(tmp_path)
    mex("extract", f"一段闲话。\n\n{TEA}")
    mex("forget", "--hard", "--yes", memory("芒果"))
    mex("export", "--turns", "--output", str(tmp_path / "a.json"))
    mex("export", "--output", str(tmp_path / "without.json"))
    other = {"MEX_HOME": str(tmp_path / "other")}
    mex("import", str(tmp_path / "a.json"), **other)
    mex("export", "--turns", "--output", str(tmp_path / "b.json"), **other)
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert kept(tmp_path / "other") == kept(home) != []
    plain = json.loads((tmp_path / "without.json").read_text(encoding="utf-8"))
    assert "turns" not in plain
    assert "一段闲话" not in json.dumps(plain, ensure_ascii=False)
    assert {row["purged"] for row in plain["seen_messages"]} == {True, False}


def test_an_export_from_before_turns_had_an_order_is_taken(home: Path, tmp_path: Path) -> None:
    two_sessions(tmp_path)
    mex("export", "--turns", "--output", str(tmp_path / "a.json"))
    data = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    for turn in data["turns"]:
        del turn["position"], turn["previous_key"]
    for row in data["seen_messages"]:
        del row["purged"]
    (tmp_path / "old.json").write_text(json.dumps(data), encoding="utf-8")
    other = {"MEX_HOME": str(tmp_path / "other")}
    assert mex("import", str(tmp_path / "old.json"), "--json", **other).json["conflicts"] == []
    assert kept(tmp_path / "other") == kept(home)


def test_clearing_takes_the_kept_turns_and_its_export_brings_them_back(home: Path, tmp_path: Path) -> None:
    two_sessions(tmp_path)
    before = kept(home)
    backup = mex("clear", "--yes", "--json").json["backup"]
    assert kept(home) == []
    mex("import", backup)
    assert kept(home) == before


def test_stats_tell_what_the_kept_turns_cost(home: Path, tmp_path: Path) -> None:
    assert mex("stats", "--json").json["turns"]["turns"] == 0
    two_sessions(tmp_path)
    mex("extract", TEA)
    told = mex("stats", "--json").json["turns"]
    assert told["turns"] == 7
    assert {row["agent"]: row["turns"] for row in told["by_agent"]} == {"claude": 6, "plain": 1}
    assert told["text_bytes"] == sum(row["bytes"] for row in told["by_agent"]) == len("".join(kept(home)).encode())
    assert told["bytes"] >= told["text_bytes"]
    assert "Kept turns: 7" in mex("stats").out
    assert "留存的原话：7 轮" in mex("--lang", "zh", "stats").out

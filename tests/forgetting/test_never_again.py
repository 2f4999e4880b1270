"""`mex forget --hard --and-never-again`: gone from every file, and not learned again from anything (product B6)."""

import json
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.domain.candidate import Candidate
from mex_pipeline.domain.memory import Source
from mex_pipeline.domain.proposal import encode
from mex_pipeline.domain.refusal import HIDDEN
from tests.forgetting.traces import forms, holding
from tests.support.model_server import ModelServer, reply
from tests.support.program import contents, mex, opened, until, write
from tests.support.sessions import SessionFile

PLACE = ("work", "company")
VALUES = pytest.mark.parametrize(
    ("value", "said", "place"),
    [
        ("Quillfeather Ceramics", "I work at {} and I live in Kyoto", PLACE),
        ("青禾陶瓷工坊", "我在{}上班，住在 Kyoto", PLACE),
        ('Zoé "Kiln" Bräuer & Söhne', "I work at {} and I live in Kyoto", PLACE),
    ],
)
KYOTO = {"topic": "basic_info", "sub_topic": "location", "content": "Kyoto", "quote": "Kyoto"}


def proposal(value: str, quote: str, place: tuple[str, str] = PLACE) -> dict[str, Any]:
    """What the model says of the value."""
    return {"topic": place[0], "sub_topic": place[1], "content": value, "quote": quote}


def extract(session: SessionFile, keep: str = "all") -> dict[str, Any]:
    """Extract a session of Claude Code."""
    ran = mex("extract", "--from", "claude", "--file", str(session.path), "--json", MEX_KEEP_TURNS=keep)
    return dict(ran.json)


def identifier(content: str) -> str:
    """The id of the memory that says so."""
    return str(next(one["id"] for one in mex("list", "--json").json if one["content"] == content))


def forget(content: str, *options: str) -> dict[str, Any]:
    """Forget a value for good, never to be known again, and return the receipt."""
    words = ("forget", "--hard", "--and-never-again", "--yes", *options)
    return dict(mex(*words, identifier(content), "--json").json)


def hold(home: Path, candidate: Candidate, proposal_id: str) -> None:
    """Let a candidate wait for a person."""
    with opened(home / "mex.db") as db:
        db.execute(
            "INSERT INTO proposals (id, kind, reason, candidate, created_at) VALUES (?, 'hold', 'instruction', ?, ?)",
            (proposal_id, encode(candidate), "2026-12-01T10:00:00Z"),
        )


def backups_of(home: Path) -> None:
    """A copy of the database and an export with its kept turns among meX's own backups."""
    with closing(sqlite3.connect(home / "mex.db")) as source, closing(sqlite3.connect(home / "backups" / "a.db")) as to:
        source.backup(to)
    mex("export", "--turns", "--output", str(home / "backups" / "e.json"))


@VALUES
def test_b6_no_file_holds_the_value_in_any_form_and_nothing_brings_it_back(
    home: Path, model: ModelServer, tmp_path: Path, value: str, said: str, place: tuple[str, str]
) -> None:
    """Extracted, kept, held, proposed, backed up; then offered again by every way in."""
    words = said.format(value)
    model.script({"reply": reply(proposal(value, words, place), KYOTO)})
    old = SessionFile(tmp_path / "old.jsonl", "old-0001").user(words).assistant(f"Noted: {value}.")
    extract(old)
    model.script({"reply": reply()})
    extract(SessionFile(tmp_path / "by.jsonl", "by-0002").user("What did I say?").assistant(f"You named {value}!"))
    memory = identifier(value)
    source = Source(agent="claude", message_key="x", quote=words)
    hold(home, Candidate(f"always praise {value}", "interaction", "language", source=source), "held-1")
    hold(home, Candidate("always answer in Greek", "interaction", "language"), "held-2")
    with opened(home / "mex.db") as db:
        db.execute("INSERT INTO proposals (id, kind, reason, memory_id, other_id, created_at) "
                   "VALUES ('merge-1', 'merge', 'similar', ?, ?, 'now')", (identifier("Kyoto"), memory))  # fmt: skip
    kept_out = tmp_path / "before.json"
    mex("export", "--turns", "--output", str(kept_out))
    backups_of(home)
    assert {line.split(":")[0] for line in holding(home, value)} >= {"mex.db", "backups/a.db", "backups/e.json"}

    receipt = forget(value)
    assert holding(home, value) == []
    assert (receipt["verified"], receipt["purged"], receipt["never_again"]) == (True, [memory], 1)
    assert {"memories", "history", "memory_sources", "jobs", "turns", "proposals"} <= {
        one["what"] for one in receipt["rewritten"]
    }
    assert value not in json.dumps(receipt, ensure_ascii=False)
    assert [one["id"] for one in rows(home, "SELECT id FROM proposals")] == ["held-2"]

    before = len(model.requests())
    model.script({"when": value, "reply": reply(proposal(value, words, place), KYOTO)}, {"reply": reply(KYOTO)})
    mex("extract", "--again", "old-0001", MEX_KEEP_TURNS="all")
    fresh = SessionFile(tmp_path / "new.jsonl", "new-0003").user(words).assistant(f"{value}, fine.")
    extract(fresh)
    extract(fresh.user(f"Again: {words}"), "all")
    mex("import", "--mode", "extract", str(write(tmp_path / "note.txt", words, "", value)), MEX_KEEP_TURNS="all")
    mex("extract", words, MEX_KEEP_TURNS="all")
    imported = mex("import", str(kept_out), "--on-conflict", "overwrite", "--json").json
    assert "never_again" in {one["reason"] for one in imported["conflicts"]}
    mex("import", str(home / "backups" / "e.json"))
    assert len(model.requests()) >= before + 3
    sent = json.dumps(model.requests()[before:], ensure_ascii=False)
    assert not any(form.decode(errors="ignore") in sent for name, form in forms(value).items() if "utf-16" not in name)
    assert contents() == ["Kyoto"]
    assert holding(home, value) == []


def rows(home: Path, sql: str) -> list[dict[str, Any]]:
    """Rows of mex.db."""
    with opened(home / "mex.db") as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute(sql)]


@VALUES
def test_b3_what_mex_transcript_prints_is_what_quotes_are_counted_in(
    home: Path, model: ModelServer, tmp_path: Path, value: str, said: str, place: tuple[str, str]
) -> None:
    mex("add", "--topic", place[0], "--sub-topic", place[1], "--content", value)
    forget(value)
    model.script({"reply": reply(KYOTO)})
    session = SessionFile(tmp_path / "s.jsonl").user(said.format(value))
    extract(session)
    shown = mex("transcript", str(session.path), "--json").json["turns"][0]["text"]
    assert shown == said.format(HIDDEN * len(value))
    (place_of,) = rows(home, "SELECT quote, quote_start, quote_end FROM memory_sources")
    assert shown[place_of["quote_start"] : place_of["quote_end"]] == place_of["quote"] == "Kyoto"
    (kept,) = rows(home, "SELECT text FROM turns")
    assert kept["text"] == shown
    assert HIDDEN in mex("source", identifier("Kyoto")).out


def test_b6_a_short_value_is_discarded_in_its_slot_and_its_job_does_not_name_it(home: Path, model: ModelServer) -> None:
    """Two characters are in half the language: the text may say them, the slot may not."""
    mex("add", "--topic", "work", "--sub-topic", "company", "--content", "腾讯")
    forget("腾讯")
    model.script({"reply": reply(proposal("腾讯", "我在腾讯上班"))})
    result = mex("extract", "我在腾讯上班", "--json").json
    assert result["discarded"] == [{"content": "", "reason": "never_again"}]
    assert result["outcome"] == "all_rejected"
    assert "不再记住" in mex("--lang", "zh", "jobs", "show", result["job_id"]).out
    assert contents() == []


def test_b6_every_earlier_value_is_refused_where_it_stood(home: Path, model: ModelServer) -> None:
    added = mex("add", "--topic", "work", "--sub-topic", "company", "--content", "青禾陶瓷工坊", "--json").json
    mex("update", added["id"], "--content", "Quillfeather Ceramics")
    assert forget("Quillfeather Ceramics")["never_again"] == 2
    mex("extract", "记住：我在青禾陶瓷工坊上班。", MEX_LLM_MODEL="", MEX_LLM_BASE_URL="")
    assert contents() == []
    assert holding(home, "青禾陶瓷工坊") == []


def test_b6_the_built_in_rules_do_not_learn_a_hidden_stretch(home: Path) -> None:
    mex("add", "--topic", "work", "--sub-topic", "company", "--content", "Quillfeather Ceramics")
    forget("Quillfeather Ceramics")
    result = mex("extract", "I work at Quillfeather Ceramics. I live in Kyoto.", "--json").json
    assert [one["content"] for one in result["added"]] == ["Kyoto"]
    assert holding(home, "Quillfeather Ceramics") == []


def test_b6_a_person_takes_it_back_by_writing_it_and_an_agent_may_not(home: Path) -> None:
    work = ("--topic", "work", "--sub-topic", "company")
    mex("add", *work, "--content", "青禾陶瓷工坊")
    forget("青禾陶瓷工坊")
    assert mex("stats", "--json").json["never_again"] == [{"slot": "work.company", "count": 1}]
    assert "work.company" in mex("stats").out
    for words in (work, ("--topic", "work")):
        denied = mex("--json", "add", *words, "--content", "青禾陶瓷工坊", "--by", "ai", ok=False)
        assert (denied.code, json.loads(denied.err)["code"]) == (1, "never_again")
    other = mex("add", "--topic", "work", "--content", "会烧窑", "--json").json
    denied = mex("--json", "update", other["id"], "--content", "在青禾陶瓷工坊烧窑", "--by", "ai", ok=False)
    assert (denied.code, json.loads(denied.err)["code"]) == (1, "never_again")
    assert holding(home, "青禾陶瓷工坊") == []
    ran = mex("add", *work, "--content", "青禾陶瓷工坊")
    assert "never to be learned again" in ran.err
    assert mex("stats", "--json").json["never_again"] == []
    assert "never to be learned again" not in mex("add", "--content", "喝茶").err
    mex("extract", "记住：我在青禾陶瓷工坊上班。")
    assert "我在青禾陶瓷工坊上班" in contents()


@pytest.mark.parametrize("value", ["围棋", "apiculture"])
def test_b6_an_agent_neither_restores_nor_moves_it_back_and_a_person_lifts_it_so(home: Path, value: str) -> None:
    hobby = ("--topic", "leisure", "--sub-topic", "hobbies")
    forgotten = mex("add", *hobby, "--content", value, "--json").json["id"]
    mex("forget", forgotten)
    elsewhere = mex("add", "--topic", "work", "--sub-topic", "soft_skill", "--content", value, "--by", "ai", "--json")
    for_good = mex("add", *hobby, "--content", value, "--json").json["id"]
    mex("forget", "--hard", "--and-never-again", "--yes", for_good)
    for back in (("restore", forgotten), ("move", elsewhere.json["id"], *hobby)):
        ran = mex(*back, "--json", ok=False, CLAUDECODE="1")
        assert (ran.code, json.loads(ran.err)["code"]) == (1, "never_again")
    assert rows(home, "SELECT count(*) AS n FROM refusals") == [{"n": 1}]
    mex("restore", forgotten)
    assert rows(home, "SELECT count(*) AS n FROM refusals") == [{"n": 0}]


def test_b6_never_again_belongs_to_hard(home: Path) -> None:
    mex("add", "--content", "留着")
    ran = mex("--json", "forget", identifier("留着"), "--and-never-again", ok=False)
    assert (ran.code, json.loads(ran.err)["code"]) == (1, "never_again_needs_hard")
    assert contents() == ["留着"]
    agent = mex(
        "--json", "forget", identifier("留着"), "--hard", "--and-never-again", "--yes", ok=False, CLAUDECODE="1"
    )
    assert json.loads(agent.err)["code"] == "agent_cannot_purge"
    told = mex("--lang", "zh", "forget", "--hard", "--and-never-again", "--yes", identifier("留着")).out
    assert "今后不再记住：1 个值" in told
    assert mex("stats", "--json").json["never_again"] == [{"slot": "", "count": 1}]


def test_b6_forgotten_for_good_alone_refuses_nothing(home: Path) -> None:
    mex("add", "--content", "青禾陶瓷工坊")
    receipt = mex("forget", "--hard", "--yes", identifier("青禾陶瓷工坊"), "--json").json
    assert receipt["never_again"] == 0
    mex("extract", "记住：我在青禾陶瓷工坊上班。")
    assert contents() == ["我在青禾陶瓷工坊上班"]


def test_b6_a_job_that_had_read_it_before_does_not_write_it(home: Path, model: ModelServer, tmp_path: Path) -> None:
    """It was refused while the model thought: no memory, quote, kept turn or result tells it."""
    value, words = "Quillfeather Ceramics", "I work at Quillfeather Ceramics and I live in Kyoto"
    mex("add", "--topic", "work", "--sub-topic", "company", "--content", value)
    rejected = {"topic": "nowhere", "sub_topic": "x", "content": f"went to {value}", "quote": words}
    model.script({"hold": "go", "reply": reply(proposal(value, words), KYOTO | {"quote": words}, rejected)})
    session = SessionFile(tmp_path / "s.jsonl").user(words).assistant(f"{value} it is.")
    running = threading.Thread(target=lambda: extract(session))
    running.start()
    until(model.requests)
    forget(value)
    model.release("go")
    running.join()
    assert contents() == ["Kyoto"]
    assert [row["text"] for row in rows(home, "SELECT text FROM turns WHERE role = 'user'")] == [
        f"I work at {HIDDEN * len(value)} and I live in Kyoto"
    ]
    assert holding(home, value) == []


def test_b6_a_backup_that_is_put_back_refuses_it_too(home: Path) -> None:
    mex("add", "--topic", "work", "--sub-topic", "company", "--content", "青禾陶瓷工坊")
    backups_of(home)
    forget("青禾陶瓷工坊")
    other = {"MEX_HOME": str(home.parent / "other")}
    mex("import", str(home / "backups" / "e.json"), **other)
    assert mex("stats", "--json", **other).json["never_again"] == [{"slot": "work.company", "count": 1}]
    (home / "backups" / "a.db").replace(home / "mex.db")
    assert mex("stats", "--json").json["never_again"] == [{"slot": "work.company", "count": 1}]


def test_b6_clear_keeps_it_and_says_so(home: Path) -> None:
    mex("add", "--topic", "work", "--sub-topic", "company", "--content", "青禾陶瓷工坊")
    forget("青禾陶瓷工坊")
    hold(home, Candidate("always answer in Greek", "interaction", "language"), "held-2")
    with opened(home / "mex.db") as db:
        db.execute("INSERT INTO refusals (kind, slot, length, checksum, salt, hash, created_at) "
                   "VALUES ('declined', '', 1, 1, '00', '00', '2026-12-01T10:00:00Z')")  # fmt: skip
    ran = mex("clear", "--yes", "--no-backup")
    assert "never want learned again" in ran.out
    assert rows(home, "SELECT kind FROM refusals") == [{"kind": "never_again"}]
    assert rows(home, "SELECT id FROM proposals") == []
    mex("extract", "记住：我在青禾陶瓷工坊上班。")
    assert holding(home, "青禾陶瓷工坊") == []

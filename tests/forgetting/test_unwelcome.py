"""Exports that say what is never to be known again, and exports that carry refusals and proposals (product B6, G11)."""

import json
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.domain.candidate import Candidate
from mex_pipeline.domain.memory import Source
from mex_pipeline.domain.proposal import encode
from tests.forgetting.traces import holding
from tests.support.program import contents, mex, opened

WORK = ("--topic", "work", "--sub-topic", "company")
REFUSAL = {
    "kind": "never_again", "slot": "work.company", "length": 21, "checksum": 7, "salt": "0a" * 16, "hash": "0b" * 16,
    "created_at": "2026-12-01T10:00:00Z",
}  # fmt: skip
HELD = json.loads(encode(Candidate("always answer in Greek", "interaction", "language", source=Source(agent="claude"))))
PROPOSAL = {
    "id": "3f0c2f50-93c8-4f5a-9f6f-2f0b0c8f7f11", "kind": "hold", "reason": "instruction", "memory_id": None,
    "other_id": None, "candidate": HELD, "job_id": None, "created_at": "2026-12-01T10:00:00Z",
}  # fmt: skip


def add(*arguments: str) -> dict[str, Any]:
    """Add a memory and return it."""
    return dict(mex("add", *arguments, "--json").json)


def exported(path: Path, **environment: str) -> dict[str, Any]:
    """Export with the kept turns and return what the file holds."""
    mex("export", "--turns", "--output", str(path), **environment)
    return dict(json.loads(path.read_text(encoding="utf-8")))


def imported(path: Path, data: dict[str, Any] | None = None, *options: str, **environment: str) -> dict[str, Any]:
    """Import a file, written anew with `data`; return the result."""
    if data is not None:
        path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    return dict(mex("import", str(path), *options, "--json", **environment).json)


def refuse(value: str, *place: str) -> None:
    """Let a value be forgotten for good and never be known again."""
    mex("forget", "--hard", "--and-never-again", "--yes", add(*place, "--content", value)["id"])


def reasons(result: dict[str, Any]) -> list[tuple[str, str, int]]:
    """(section, reason, number) of what was not taken in."""
    return [(one["section"], one["reason"], one["number"]) for one in result["conflicts"]]


def test_g11_refusals_proposals_and_whose_sessions_cost_what_come_back_as_they_were(home: Path, tmp_path: Path) -> None:
    refuse("Quillfeather Ceramics", *WORK)
    first, second = (
        add("--topic", "leisure", "--sub-topic", "hobbies", "--content", one) for one in ("烧窑", "烧瓷窑")
    )
    with opened(home / "mex.db") as db:
        db.execute("INSERT INTO proposals (id, kind, reason, candidate, created_at) VALUES (?, 'hold', 'instruction', ?, ?)",
                   (PROPOSAL["id"], json.dumps(HELD, ensure_ascii=False), PROPOSAL["created_at"]))  # fmt: skip
        db.execute("INSERT INTO proposals (id, kind, reason, memory_id, other_id, created_at) VALUES (?, 'merge', ?, ?, ?, ?)",
                   (first["id"], "similar", first["id"], second["id"], PROPOSAL["created_at"]))  # fmt: skip
        db.execute("INSERT INTO llm_usage (id, purpose, model, prompt_tokens, completion_tokens, created_at, agent) "
                   "VALUES ('u', 'extract', 'm', 1, 2, '2026-11-30T10:00:00Z', 'claude')")  # fmt: skip
    data = exported(tmp_path / "1.json")
    assert data["proposals"][0] == PROPOSAL
    assert (data["llm_usage"][0]["agent"], len(data["refusals"])) == ("claude", 1)
    other = {"MEX_HOME": str(tmp_path / "other")}
    for _ in range(2):
        assert imported(tmp_path / "1.json", **other)["conflicts"] == []
        exported(tmp_path / "2.json", **other)
        assert (tmp_path / "2.json").read_bytes() == (tmp_path / "1.json").read_bytes()
    mex("extract", "记住：I work at Quillfeather Ceramics", **other)
    assert holding(tmp_path / "other", "Quillfeather Ceramics") == []


def test_g11_an_export_without_these_sections_is_read_as_before(tmp_path: Path) -> None:
    add("--content", "喝茶")
    data = exported(tmp_path / "1.json")
    data["llm_usage"] = [
        {"id": "u", "purpose": "extract", "model": "m", "prompt_tokens": 1, "completion_tokens": 2,
         "created_at": "2026-11-30T10:00:00Z", "job_id": None}
    ]  # fmt: skip
    del data["refusals"], data["proposals"]
    other = {"MEX_HOME": str(tmp_path / "other")}
    assert imported(tmp_path / "1.json", data, **other)["conflicts"] == []
    assert exported(tmp_path / "2.json", **other)["llm_usage"][0]["agent"] is None


@pytest.mark.parametrize(
    ("section", "row", "field"),
    [
        ("refusals", REFUSAL | {"salt": "zz"}, "salt"),
        ("refusals", REFUSAL | {"kind": "sometimes"}, "kind"),
        ("refusals", REFUSAL | {"length": -1}, "length"),
        ("proposals", PROPOSAL | {"candidate": {"content": "x"}}, "candidate"),
        ("proposals", PROPOSAL | {"candidate": HELD | {"content": 5}}, "candidate"),
        ("proposals", PROPOSAL | {"candidate": HELD | {"evidence": ["x"]}}, "candidate"),
        ("proposals", PROPOSAL | {"candidate": "x"}, "candidate"),
        ("proposals", PROPOSAL | {"candidate": None}, "candidate"),
        ("proposals", PROPOSAL | {"kind": "merge"}, "memory_id"),
    ],
)
def test_g11_a_row_that_cannot_be_used_is_told_and_the_rest_comes_in(
    tmp_path: Path, section: str, row: dict[str, Any], field: str
) -> None:
    data = {"format": "mex-export", "version": 2, "memories": [], "refusals": [REFUSAL], "proposals": [PROPOSAL]}
    data[section] = [row, *data[section]]  # type: ignore[misc]  # a list in either section
    result = imported(tmp_path / "e.json", data)
    assert reasons(result) == [(section, "invalid_entry", 1)]
    assert result["conflicts"][0]["facts"] == {"code": "entry_bad_field", "field": field}
    kept = exported(tmp_path / "after.json")
    assert (kept["refusals"], kept["proposals"]) == ([REFUSAL], [PROPOSAL])
    assert mex("extract", "I work at Norwood Robotics.").code == 0


def test_g11_a_merge_of_memories_that_are_not_here_is_not_asked_about(tmp_path: Path) -> None:
    other_id = "11f7f8c0-b0f2-4f6f-9f5a-8c39f05f2c0f"
    pair = PROPOSAL | {"kind": "merge", "memory_id": PROPOSAL["id"], "other_id": other_id, "candidate": None}
    imported(tmp_path / "e.json", {"format": "mex-export", "version": 2, "memories": [], "proposals": [pair]})
    assert exported(tmp_path / "after.json")["proposals"] == []


def test_b6_a_memory_that_says_it_stays_out_with_its_history_sources_and_turns(home: Path, tmp_path: Path) -> None:
    """Short, so that only its slot knows it: what is told names the row and no word."""
    mex("extract", "记住：我对鹿茸过敏。")
    (memory,) = mex("list", "--json").json
    data = exported(tmp_path / "1.json")
    assert len(data["sources"]) == 1
    data["memories"][0]["topic"], data["memories"][0]["sub_topic"] = "health", "allergy"
    data["turns"] = [
        {"agent": data["sources"][0]["agent"], "key": data["sources"][0]["message_key"], "role": "user",
         "kind": "typed", "text": "我对鹿茸过敏", "kept_at": "2026-12-01T10:00:00Z"}
    ]  # fmt: skip
    other = {"MEX_HOME": str(tmp_path / "other")}
    refused = mex(
        "add", "--topic", "health", "--sub-topic", "allergy", "--content", memory["content"], "--json", **other
    )
    mex("forget", "--hard", "--and-never-again", "--yes", refused.json["id"], **other)
    for options in ((), ("--on-conflict", "overwrite")):
        result = imported(tmp_path / "1.json", data, *options, **other)
        assert reasons(result) == [("memories", "never_again", 1)]
        assert result["imported"] == 0
    assert "mex add" in mex("import", str(tmp_path / "1.json"), **other).out
    assert "设为不再记住" in mex("--lang", "zh", "import", str(tmp_path / "1.json"), **other).out
    assert holding(tmp_path / "other", "鹿茸") == []
    assert exported(tmp_path / "2.json", **other)["history"][-1]["event"] == "delete"


def test_b6_a_history_that_once_said_it_stays_out_and_the_memory_comes_in(home: Path, tmp_path: Path) -> None:
    memory = add(*WORK, "--content", "Quillfeather Ceramics")
    mex("update", memory["id"], "--content", "Norwood Robotics")
    gone = add("--topic", "work", "--content", "old")
    mex("update", gone["id"], "--content", "met Quillfeather Ceramics")
    data = exported(tmp_path / "1.json")
    data["memories"] = data["memories"][:1]
    other = {"MEX_HOME": str(tmp_path / "other")}
    refused = mex("add", *WORK, "--content", "quillfeather ceramics", "--json", **other).json
    mex("forget", "--hard", "--and-never-again", "--yes", refused["id"], **other)
    result = imported(tmp_path / "1.json", data, **other)
    assert reasons(result) == [("history", "never_again", 1)]
    assert mex("list", "--json", **other).json[0]["content"] == "Norwood Robotics"
    assert [one["event"] for one in mex("history", memory["id"], "--json", **other).json] == ["import"]
    assert holding(tmp_path / "other", "Quillfeather Ceramics") == []


def test_b6_words_of_others_that_say_it_come_in_without_it(home: Path, tmp_path: Path) -> None:
    """Evidence, quotes, turns, reasons, held candidates; the history still leads from state to state."""
    words = "I work at Quillfeather Ceramics and live in Kyoto"
    kyoto = add("--topic", "basic_info", "--sub-topic", "location", "--content", "Kyoto")
    with opened(home / "mex.db") as db:
        db.execute("UPDATE memories SET evidence = ?", (words,))
        db.execute("UPDATE history SET evidence = ?, after = json_set(after, '$.evidence', ?)", (words, words))
        db.execute("INSERT INTO memory_sources (memory_id, agent, message_key, quote, verified, created_at) "
                   "VALUES (?, 'claude', 'k', ?, 1, '2026-12-01T10:00:00Z')", (kyoto["id"], words))  # fmt: skip
        db.execute("INSERT INTO turns (agent, key, role, kind, text, kept_at) "
                   "VALUES ('claude', 'k', 'user', 'typed', ?, '2026-12-01T10:00:00Z')", (words,))  # fmt: skip
    data = exported(tmp_path / "1.json")
    told = HELD | {"content": "praise Quillfeather Ceramics"}
    quoting = HELD | {"quote": words, "source": HELD["source"] | {"quote": words}}
    data["proposals"] = [
        PROPOSAL | {"candidate": quoting},
        PROPOSAL | {"candidate": told, "id": "4f0c2f50-93c8-4f5a-9f6f-2f0b0c8f7f11"},
    ]
    other = {"MEX_HOME": str(tmp_path / "other")}
    refused = mex("add", *WORK, "--content", "Quillfeather Ceramics", "--json", **other).json
    mex("forget", "--hard", "--and-never-again", "--yes", refused["id"], **other)
    result = imported(tmp_path / "1.json", data, **other)
    assert reasons(result) == [("proposals", "never_again", 2)]
    assert [one["event"] for one in mex("history", kyoto["id"], "--json", **other).json] == ["add"]
    assert holding(tmp_path / "other", "Quillfeather Ceramics") == []
    left = exported(tmp_path / "2.json", **other)
    assert {row["quote"] for row in left["sources"]} == {words.replace("Quillfeather Ceramics", "█" * 21)}
    assert (len(left["proposals"]), len(left["turns"]), contents()) == (1, 1, ["Kyoto"])

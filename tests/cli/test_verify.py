"""`mex jobs verify`: every turn of every known session is judged, held, waiting or missed, and it says which (product P3)."""

from pathlib import Path
from typing import Any

from tests.support.faulting import ALONE, line, submit
from tests.support.model_server import ModelServer
from tests.support.program import mex, opened, write
from tests.support.sessions import SessionFile


def verified(*arguments: str, code: int = 0, **environment: str) -> dict[str, dict[str, Any]]:
    """The report's sources by the names of their files."""
    ran = mex("jobs", "verify", *arguments, "--json", ok=False, **environment)
    assert ran.code == code, ran
    assert ran.json["whole"] == (code == 0)
    return {Path(one["source"]).name: one for one in ran.json["sources"]}


def extracted(session: SessionFile, **environment: str) -> SessionFile:
    mex("extract", "--from", "claude", "--file", str(session.path), **(ALONE | environment))
    return session


def session(tmp_path: Path, name: str = "s") -> SessionFile:
    return SessionFile(tmp_path / f"{name}.jsonl", name)


def gap(one: dict[str, Any]) -> tuple[str, int]:
    (found,) = one["gaps"]
    return found["reason"], found["turns"]


def test_what_was_read_is_told_by_what_became_of_it(tmp_path: Path) -> None:
    extracted(session(tmp_path).user(line(1)).assistant("好的"))
    extracted(session(tmp_path, "t").user("今天天气不错。"))
    found = verified()
    assert (found["s.jsonl"]["standing"], found["s.jsonl"]["judged"]) == ("whole", {"committed": 2})
    assert (found["t.jsonl"]["standing"], found["t.jsonl"]["judged"]) == ("whole", {"nothing_to_remember": 1})
    assert list(verified(str(tmp_path / "t.jsonl"))) == ["t.jsonl"]
    assert "complete" in mex("jobs", "verify").out
    assert mex("jobs", "verify", str(tmp_path / "other.jsonl"), ok=False).code == 1


def test_what_may_still_grow_is_held_and_what_has_a_job_is_pending(tmp_path: Path) -> None:
    held = extracted(session(tmp_path).user(line(1)).assistant("好的"), MEX_EXTRACTION_QUIET_SECONDS="600")
    found = verified(MEX_EXTRACTION_QUIET_SECONDS="600")["s.jsonl"]
    assert (found["standing"], found["judged"], found["held"]) == ("pending", {"committed": 1}, 1)
    held.user(line(2))
    waits = verified()["s.jsonl"]
    assert (waits["standing"], waits["pending"], len(waits["job_ids"])) == ("pending", 2, 1)
    job_id = submit(session(tmp_path, "new").user(line(3)).path)
    new = verified()["new.jsonl"]
    assert (new["standing"], new["pending"], new["job_ids"], new["judged"]) == ("pending", 1, [job_id], {})


def test_what_grew_without_a_request_waits_for_the_worker_and_is_no_gap(tmp_path: Path) -> None:
    extracted(session(tmp_path).user(line(1))).user(line(2))
    found = verified()["s.jsonl"]
    assert (found["standing"], found["pending"], found["job_ids"]) == ("pending", 1, [])
    assert "the worker's next look" in mex("jobs", "verify").out


def test_turns_of_a_failed_or_cancelled_job_are_a_gap_and_the_printed_command_repairs_it(
    model: ModelServer, tmp_path: Path
) -> None:
    model.script({"status": 400, "body": "no"})
    failing = session(tmp_path).user(line(1))
    mex("extract", "--from", "claude", "--file", str(failing.path), ok=False)
    cancelled = submit(session(tmp_path, "t").user(line(2)).path)
    mex("jobs", "cancel", cancelled)
    found = verified(code=2)
    assert (gap(found["s.jsonl"]), gap(found["t.jsonl"])) == (("failed", 1), ("cancelled", 1))
    failing.user(line(3))  # behind where the failed job ended, and nobody looks at what was never read
    assert {(one["reason"], one["turns"]) for one in verified(code=2)["s.jsonl"]["gaps"]} == {
        ("failed", 1),
        ("unread", 1),
    }
    model.script({"hobbies": True})
    for one in [*found["s.jsonl"]["gaps"], *found["t.jsonl"]["gaps"]]:
        mex(*one["command"].split()[1:], **ALONE)
    assert {one["standing"] for one in verified().values()} == {"pending"}


def test_turns_before_the_cursor_that_no_job_has_judged_are_a_gap_and_fix_reads_them(
    tmp_path: Path, home: Path
) -> None:
    path = extracted(session(tmp_path).user(line(1), line(2))).path
    with opened(home / "mex.db") as db:
        db.execute("DELETE FROM seen_messages WHERE key = (SELECT max(key) FROM seen_messages)")
    found = verified(code=2)["s.jsonl"]
    assert gap(found) == ("unseen", 1)
    assert found["gaps"][0]["command"] == f"mex jobs verify --fix {path}"
    assert verified("--fix")["s.jsonl"]["pending"] == 1
    mex("extract", "--from", "claude", "--file", str(path))
    assert verified()["s.jsonl"]["standing"] == "whole"


def test_a_job_that_is_listed_no_more_still_counts(tmp_path: Path, home: Path) -> None:
    extracted(session(tmp_path).user(line(1)))
    mex("jobs", "prune", "--older-than", "0s")
    assert verified()["s.jsonl"]["judged"] == {"unlisted": 1}


def test_memories_that_a_job_wrote_and_that_left_no_trace_are_a_gap(tmp_path: Path, home: Path) -> None:
    extracted(session(tmp_path).user(line(1), line(2)))
    with opened(home / "mex.db") as db:
        db.execute("DELETE FROM history WHERE seq = 1")
        db.execute("DELETE FROM memory_sources WHERE seq = 2")
    assert gap(verified(code=2)["s.jsonl"]) == ("memories_missing", 2)


def test_what_was_forgotten_for_good_is_not_missed(tmp_path: Path) -> None:
    extracted(session(tmp_path).user(line(1), line(2)))
    (one, _) = mex("list", "--json").json
    mex("forget", one["id"], "--hard", "--yes")
    assert verified()["s.jsonl"]["standing"] == "whole"


def test_a_source_that_is_gone_or_cannot_be_read_is_a_line_and_the_others_go_on(tmp_path: Path) -> None:
    extracted(session(tmp_path).user(line(1)))
    extracted(session(tmp_path, "gone").user(line(2))).path.unlink()
    odd = extracted(session(tmp_path, "odd").user(line(3))).path
    odd.unlink()
    odd.mkdir()
    found = verified()
    assert {name: one["standing"] for name, one in found.items()} == {
        "s.jsonl": "whole", "gone.jsonl": "gone", "odd.jsonl": "unreadable",
    }  # fmt: skip
    assert found["odd.jsonl"]["error"]["code"] == "source_unreadable"
    text = mex("jobs", "verify").out
    assert all(str(tmp_path / name) in text for name in found)


def test_a_session_that_vanished_before_its_job_ran_is_missed(tmp_path: Path) -> None:
    path = session(tmp_path).user(line(1)).path
    job_id = submit(path)
    path.unlink()
    assert verified()["s.jsonl"]["job_ids"] == [job_id]
    mex("jobs", "cancel", job_id)
    assert gap(verified(code=2)["s.jsonl"]) == ("cancelled", 0)


def test_a_session_that_was_written_anew_waits_for_the_worker(tmp_path: Path) -> None:
    one = extracted(session(tmp_path).user(line(1)))
    one.path.unlink()
    session(tmp_path).user(line(2), line(3), line(4))
    found = verified()["s.jsonl"]
    assert (found["standing"], found["pending"]) == ("pending", 2)  # the key of the first message is known


def test_given_words_and_imported_documents_are_no_sources(tmp_path: Path) -> None:
    mex("extract", "我叫林晓舟")
    mex("import", str(write(tmp_path / "note.md", "我在远光软件")), "--mode", "extract")
    assert verified() == {}

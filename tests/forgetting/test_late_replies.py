"""An answer that arrives after a purge tells the purged words anew: it is used, and not kept (product B6, P4)."""

from pathlib import Path

import pytest

from tests.support.faulting import ALONE, EACH_HOBBY, ONE_EACH, hobby, line, row, rows, talk
from tests.support.model_server import ModelServer
from tests.support.program import memories, mex, until, worker


@pytest.mark.parametrize("late", [EACH_HOBBY, {"reply": f"no JSON, but {hobby(0)}"}], ids=["usable", "unusable"])
def test_b6_a_reply_that_arrives_after_a_purge_is_not_kept(
    model: ModelServer, tmp_path: Path, home: Path, late: dict[str, object]
) -> None:
    model.script(EACH_HOBBY)
    path = str(talk(tmp_path / "s.jsonl", range(2)).path)
    mex("extract", "--from", "claude", "--file", path, **ONE_EACH)
    first = next(one["id"] for one in memories() if one["content"] == hobby(0))
    model.script({"when": line(0), "hold": "go", "times": 1, **late}, {"status": 401, "body": "{}"})
    asked = len(model.requests())
    with worker(**ONE_EACH):
        job_id = mex("extract", "--again", path, "--async", "--json", **ALONE, **ONE_EACH).json["job_id"]
        until(lambda: len(model.requests()) > asked)
        mex("forget", "--hard", "--yes", first)
        model.release("go")
        until(lambda: row(home, job_id)["reason"], 20)
    assert all(hobby(0).encode() not in file.read_bytes() for file in home.rglob("*") if file.is_file())
    assert len(rows(home, "SELECT 1 FROM llm_usage WHERE job_id = ?", job_id)) >= 1, "what it cost is on the books"

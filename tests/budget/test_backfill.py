"""What reading much at once costs is said before it begins, and a big one needs a yes (product C9, C10)."""

import json
from pathlib import Path

import pytest

from mex_pipeline.domain.budget import estimate_tokens
from tests.budget.budgets import ALONE, EVERY_HOBBY, budget, session, spend
from tests.support.model_server import ModelServer, running
from tests.support.program import contents, mex, worker
from tests.support.terminal import ENTER, Terminal


def documents(folder: Path, number: int = 2) -> list[str]:
    paths = [folder / f"{one}.md" for one in range(number)]
    for one, path in enumerate(paths):
        path.write_text(f"我的爱好是养蜂{one}号。", encoding="utf-8")
    return [str(path) for path in paths]


def test_a_dry_run_tells_what_is_sent_in_all_and_whether_today_has_room(
    model: ModelServer, home: Path, tmp_path: Path
) -> None:
    path = str(session(tmp_path, 1))
    cost = mex("extract", "--dry-run", "--file", path, "--json").json
    assert cost["input_tokens"] > 1000 + cost["tokens"], "every call carries the instructions"
    assert "budget" not in mex("extract", "--dry-run", "--file", path).out
    budget(home, daily_tokens=50_000)
    spend(49_000)
    told = mex("extract", "--dry-run", "--file", path).out
    assert f"about {cost['input_tokens']} tokens are sent" in told
    assert "room for 1000 of its 50000 tokens" in told
    assert "今天的预算 50000 token 还剩 1000" in mex("extract", "--dry-run", "--file", path, "--lang", "zh").out
    again = ["extract", "--again", path, "--dry-run"]
    sent = mex(*again, "--json").json["input_tokens"]
    assert f"about {sent} tokens are sent" in mex(*again).out
    assert "room for 1000 of its 50000 tokens" in mex(*again).out
    assert model.requests() == []


def test_the_estimate_is_near_what_is_sent(model: ModelServer, tmp_path: Path) -> None:
    """Against the words of the request itself, estimated alike."""

    path = str(session(tmp_path, 1))
    cost = mex("extract", "--dry-run", "--file", path, "--json").json
    mex("extract", "--file", path)
    (request,) = model.requests()
    sent = sum(estimate_tokens(message["content"]) for message in request["messages"])
    assert 0.95 * sent < cost["input_tokens"] <= 1.05 * sent


def test_an_import_that_is_more_than_the_day_has_left_wants_a_yes(
    model: ModelServer, home: Path, tmp_path: Path
) -> None:
    model.script(EVERY_HOBBY)
    names = documents(tmp_path)
    budget(home, daily_tokens=50_000)
    spend(49_000)
    told = mex("import", "--mode", "extract", *names, "--json", ok=False)
    assert told.code == 1
    error = json.loads(told.err)
    assert error["code"] == "backfill_needs_yes"
    assert "2 sessions" in error["message"]
    assert mex("jobs", "list", "--json").json == []
    queued = mex("import", "--mode", "extract", *names, "--yes", "--async", "--json", **ALONE).json
    assert len(queued["jobs"]) == 2
    budget(home, daily_tokens=0)
    mex("jobs", "cancel", "--batch", queued["batch_id"])
    mex("import", "--mode", "extract", *names)
    assert contents() == ["养蜂0号", "养蜂1号"], "a small one is not asked about"


def test_a_sweep_that_is_more_than_the_day_has_left_asks_also_when_it_is_not_the_first(
    model: ModelServer, home: Path, tmp_path: Path
) -> None:
    model.script(EVERY_HOBBY)
    project = tmp_path / ".claude" / "projects" / "-home-lin"
    project.mkdir(parents=True)
    session(project, 1)
    mex("sweep", "--yes")
    session(project, 2)
    budget(home, daily_tokens=50_000)
    spend(49_000)
    told = mex("sweep", ok=False)
    assert told.code == 1
    assert "1 sessions: 1 turns" in told.err
    assert "room for" in mex("sweep", "--dry-run").out
    budget(home, daily_tokens=0)
    assert mex("sweep").code == 0
    assert contents() == ["养蜂10号", "养蜂20号"]


def test_without_a_model_nothing_costs_anything(tmp_path: Path) -> None:
    mex("init", MEX_BUDGET_DAILY_TOKENS="1")
    names = documents(tmp_path)
    assert mex("import", "--mode", "extract", *names, MEX_BUDGET_DAILY_TOKENS="1").code == 0
    cost = mex("extract", "--dry-run", "--file", names[0], "--json").json
    assert (cost["calls"], cost["input_tokens"]) == (0, 0)


@pytest.fixture
def owing(tmp_path: Path) -> Path:
    """A session that only the rules have read."""
    path = session(tmp_path, 1)
    mex("extract", "--file", str(path))
    return path


def endpoint(model: ModelServer) -> tuple[str, ...]:
    return ("config", "llm", "--provider", "custom", "--base-url", model.url, "--api-key", "k", "--model", "m1")


def test_config_llm_offers_what_the_rules_alone_have_read_with_its_cost(owing: Path, tmp_path: Path) -> None:
    with running(tmp_path / "model") as model:
        told = mex(*endpoint(model), **ALONE)
        assert "Read by the rules alone so far: 1 (turns), 1 (sessions)" in told.err
        assert "1 of these sessions: about" in told.err
        assert "mex config llm --yes" in told.err
        assert model.requests() == []
        owed = mex(*endpoint(model), "--json", **ALONE).json["owed"]
        assert (owed["turns"], owed["sessions"], owed["readable"], owed["calls"]) == (1, 1, 1, 1)
        assert owed["input_tokens"] > owed["tokens"] > 0
        assert owed["batch_id"] is None
        over = mex(*endpoint(model), MEX_BUDGET_DAILY_TOKENS="100", **ALONE)
        assert "room for 100 of its 100 tokens" in over.err


def test_a_yes_has_it_read_in_the_background_and_then_nothing_is_owed(owing: Path, tmp_path: Path) -> None:
    with running(tmp_path / "model") as model:
        model.script(EVERY_HOBBY)
        mex(*endpoint(model), **ALONE)
        batch = mex("config", "llm", "--yes", "--json", **ALONE).json["owed"]["batch_id"]
        with worker():
            assert mex("jobs", "wait", batch).code == 0
        assert len(model.requests()) == 1
        assert mex("config", "llm", "--yes", "--json", **ALONE).json["owed"] is None


def test_a_source_that_is_gone_is_owed_and_cannot_be_offered(owing: Path, tmp_path: Path) -> None:
    owing.unlink()
    with running(tmp_path / "model") as model:
        owed = mex(*endpoint(model), "--json", **ALONE).json["owed"]
    assert (owed["turns"], owed["readable"], owed["calls"], owed["batch_id"]) == (1, 0, 0, None)


def test_at_a_terminal_a_big_import_tells_the_cost_and_asks(model: ModelServer, home: Path, tmp_path: Path) -> None:
    names = documents(tmp_path)
    budget(home, daily_tokens=100)
    with Terminal(tmp_path, "import", "--mode", "extract", *names) as terminal:
        terminal.answer("Extract them?", f"n{ENTER}")
        assert terminal.end() == 1
        assert "2 sessions" in terminal.seen
        assert "room for 100 of its 100 tokens" in terminal.seen
    assert mex("jobs", "list", "--json").json == []
    assert model.requests() == []

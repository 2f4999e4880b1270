"""A session that grows is sent once, however often a hook asks for it (complaint 17: sent fourteen times in ten minutes)."""

from collections import Counter
from pathlib import Path

from mex_pipeline.bootstrap import open_app, run_job_here
from mex_pipeline.clock import millis
from mex_pipeline.domain.budget import estimate_tokens
from mex_pipeline.services.pauses import endpoint_scope
from mex_pipeline.store import jobs
from tests.budget.budgets import ALONE, EVERY_HOBBY
from tests.support.model_server import ModelServer, turns
from tests.support.program import contents, in_process
from tests.support.sessions import SessionFile

INCREMENTS = 20


def run_what_is_due() -> None:
    """Do what a worker does, follow-ups included, until nothing is due."""
    with open_app("en") as app:
        scope = endpoint_scope(app.settings)
        while due := app.db.all(jobs.due(millis(app.clock.now()), scope)):
            for job_id, _ in due:
                run_job_here(app, job_id)


def test_a_session_of_twenty_increments_is_sent_once_and_a_bounded_context(model: ModelServer, tmp_path: Path) -> None:
    """After each turn a hook asks, some of them twice, and each request is worked off before the next: the worst case."""
    model.script(EVERY_HOBBY)
    session = SessionFile(tmp_path / "s.jsonl")
    for number in range(INCREMENTS):
        session.user(f"我的爱好是养蜂{number}号。今天也想和你聊聊这件事，" + "还有别的一些打算。" * 4)
        session.assistant(f"好的，{number}。" + "那就说说看，你最近有什么新的想法和安排？" * 2)
        for _ in range(1 + number % 2):
            assert in_process("extract", "--async", "--file", str(session.path), **ALONE).code == 0
        run_what_is_due()
    assert len(contents()) == INCREMENTS
    sent = [turn for request in model.requests() for turn in turns(request)]
    new = Counter(turn["text"] for turn in sent if not turn.get("context"))
    assert len(new) >= 2 * INCREMENTS - 1, "the last answer comes with the user's next words"
    assert set(new.values()) == {1}, "no turn was sent twice but as context"
    assert all(sum(1 for turn in turns(request) if turn.get("context")) <= 2 for request in model.requests())
    whole = sum(estimate_tokens(text) for text in new)
    assert sum(estimate_tokens(turn["text"]) for turn in sent) < 2 * whole
    assert len(model.requests()) <= INCREMENTS


def test_the_same_requests_while_it_waits_are_one_job_and_one_call(model: ModelServer, tmp_path: Path) -> None:
    model.script(EVERY_HOBBY)
    session = SessionFile(tmp_path / "s.jsonl")
    for number in range(INCREMENTS):
        session.user(f"我的爱好是养蜂{number}号。").assistant("好的。")
        in_process("extract", "--async", "--file", str(session.path), **ALONE)
    run_what_is_due()
    assert len(contents()) == INCREMENTS
    assert len(model.requests()) == 1

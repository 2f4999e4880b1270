"""What reading much at once will cost, said before it begins, and the yes that it needs (product C9, C10)."""

import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer

from mex_pipeline.app import App
from mex_pipeline.cli import output, progress
from mex_pipeline.cli.options import t
from mex_pipeline.errors import InvalidInput, UserError
from mex_pipeline.services import estimate, owed, workers
from mex_pipeline.services.estimate import Estimate
from mex_pipeline.services.jobs import ARCHIVE, Request
from mex_pipeline.services.pauses import today

YesOption = Annotated[bool, typer.Option("--yes", help=t("help.backfill_yes"))]


def sent_lines(app: App, cost: Estimate) -> list[str]:
    """Return what the calls of a backfill send, and whether today's budget has room for it; nothing without calls."""
    if not cost.calls:
        return []
    day = today(app)
    lines = [t("budget.sent", tokens=cost.input_tokens)]
    if day.left is not None and cost.input_tokens > day.left:
        lines.append(t("budget.over_today", left=day.left, cap=day.cap))
    return lines


def check(app: App, asked: Sequence[Request], *, yes: bool) -> None:
    """Tell what reading several conversations costs; raises unless it is little, or somebody says yes.

    Without a model nothing is counted, for the rules cost nothing.
    """
    is_many = len(asked) > 1 or any(one.kind == ARCHIVE for one in asked)
    if yes or not is_many or not app.settings.llm.is_configured:
        return
    count, cost = estimate.of_requests(app, asked)
    if estimate.is_big(app, cost):
        refused = InvalidInput("backfill_needs_yes", sessions=count, **cost.to_plain())
        confirm([t("budget.offer", count=count, **cost.to_plain()), *sent_lines(app, cost)], refused)


def confirm(lines: Iterable[str], refused: InvalidInput) -> None:
    """Show the lines and ask; raises `refused` where nobody can be asked, UserError when the answer is no."""
    if not sys.stdin.isatty() or output.wants_json():
        raise refused
    for one in lines:
        output.note(one)
    if not _says_yes(t("budget.ask")):
        raise UserError("backfill_refused")


def _says_yes(question: str) -> bool:
    try:
        return typer.confirm(question, err=True)
    except typer.Abort:
        return False


def offer_owed(app: App, *, yes: bool, may_ask: bool) -> dict[str, Any] | None:
    """Tell what is owed to the model that is configured now, and have it read when somebody says yes (product C9).

    Returns the JSON object, None when nothing is owed; `batch_id` names the jobs that were queued.
    """
    fresh = owed.with_settings_now(app)
    known = owed.sources(fresh)
    with progress.steps(len(known), t("note.reading_sessions")) as step:
        found = owed.owed(fresh, step(known))
    if found is None:
        return None
    plain = found.to_plain() | {"batch_id": None}
    output.note(t("budget.owed", **plain))
    if not found.requests:
        return plain
    for one in (t("budget.owed_cost", **plain), *sent_lines(fresh, found.cost)):
        output.note(one)
    if not (yes or (may_ask and _says_yes(t("budget.ask_owed")))):
        output.note(t("budget.owed_later"))
        return plain
    batch = owed.ask_for(fresh, found)
    output.note(t("done.batch_queued", id=batch, count=len(found.requests)))
    output.note(t(f"note.worker_{workers.ensure_running(fresh)}", id=batch))
    return plain | {"batch_id": batch}

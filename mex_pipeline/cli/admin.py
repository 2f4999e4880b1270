"""`mex init`, `mex config show`, `mex stats`, and the bare command."""

import os

from mex_pipeline import messages
from mex_pipeline.app import App
from mex_pipeline.cli import output
from mex_pipeline.cli.options import JsonOption, LangOption, session, t
from mex_pipeline.cli.reasons import pause_text
from mex_pipeline.paths import Home
from mex_pipeline.services import jobs, opening, pauses, refusing, setup, turns
from mex_pipeline.services import stats as stats_service


def init(as_json: JsonOption = False, lang: LangOption = None) -> None:
    home = Home.from_environment()
    opening.initialise(home, messages.active(), may_make_parents=True)[0].close()
    paths = {
        "mex_home": str(home.root), "db_path": str(home.database), "schema_path": str(home.schema),
        "config_path": str(home.config),
    }  # fmt: skip
    output.emit(paths, [t("done.init", path=home.root), *(f"  {path}" for path in list(paths.values())[1:])])


def where_things_stand() -> None:
    """Where things stand in six lines, and the next step (product G8)."""
    with session() as app:
        found = stats_service.overview(app)
        home, llm = app.home.root, app.settings.llm
        next_step = _next_step(app, found)
    active = sum(n for state, n in found.jobs.items() if state in ("queued", "running", "retrying"))
    output.emit(
        found.to_plain() | {"home": str(home)},
        [
            t("stand.home", path=home),
            t("stand.memories", profile=found.profile, outside=found.outside),
            t("stand.review", count=found.pending_review),
            t("stand.jobs", active=active, failed=found.jobs.get("failed", 0), worker=_yes(found.worker_running)),
            t("stand.model", model=llm.model) if llm.is_configured else t("stand.rules"),
            next_step,
        ],
    )


def _next_step(app: App, found: stats_service.Overview) -> str:
    """What holds things up comes first, then what waits for the person, then what a home still lacks."""
    paused = jobs.pauses(app)
    if paused:
        return pause_text(paused[0])
    parked = pauses.parked(app)
    if parked:
        return t("budget.parked_jobs", count=len(parked), id=parked[0].job_id)
    if not found.worker_running and jobs.waits_for_a_worker(app):
        return t("stand.next_worker")
    failed = jobs.page(app, states=("failed",), limit=1)
    if failed:
        return t("stand.next_failed", id=failed[0].id)
    if found.pending_review:
        return t("stand.next_review", count=found.pending_review)
    is_empty = not found.profile + found.outside
    if not app.settings.llm.is_configured:
        return t("stand.next_setup" if is_empty else "stand.next_llm")
    return t("stand.next_empty" if is_empty else "stand.next_profile")


def _yes(value: bool) -> str:
    return t("label.yes" if value else "label.no")


def stats(as_json: JsonOption = False, lang: LangOption = None) -> None:
    with session() as app:
        found = stats_service.overview(app)
        kept, spent = turns.totals(app), stats_service.spending(app)
        refused = refusing.standing(app)
    plain = found.to_plain() | {"spending": spent.to_plain(), "turns": kept}
    plain["never_again"] = [{"slot": slot, "count": count} for slot, count in refused.items()]
    lines = [
        t("stand.memories", profile=found.profile, outside=found.outside),
        t("stand.review", count=found.pending_review),
        t("stats.size", kib=found.db_size_bytes // 1024),
        t("stats.usage", **{key: plain["llm_usage"][key] for key in ("calls", "prompt_tokens", "completion_tokens")}),
    ]
    lines += [
        t(
            "stats.usage_row",
            **{key: row[key] for key in ("purpose", "model", "calls", "prompt_tokens", "completion_tokens")},
        )
        for row in found.usage
    ]
    lines += _spending_lines(spent)
    lines.append(t("turns.stats", turns=kept["turns"], kib=kept["bytes"] // 1024))
    lines += [
        t("turns.stats_row", agent=row["agent"], turns=row["turns"], kib=-(-row["bytes"] // 1024))
        for row in kept["by_agent"]
    ]
    lines += [t("stats.never_again", place=slot or "—", count=count) for slot, count in refused.items()]
    output.emit(plain, lines)


def _spending_lines(spent: stats_service.Spending) -> list[str]:
    """What the calls of the day cost, and whose sessions, which jobs and how much each memory."""
    day = spent.today
    name = "stats.today" if day.cap is None else "stats.today_of"
    lines = [t(name, spent=day.spent, cap=day.cap, left=day.left)]
    lines += [t("stats.agent_row", **(row | {"agent": row["agent"] or "—"})) for row in spent.by_agent]
    if spent.jobs:
        lines.append(t("stats.per_job", jobs=spent.jobs, tokens=spent.tokens_per_job))
        lines += [t("stats.job_row", **(row | {"agent": row["agent"] or "—"})) for row in spent.most_expensive]
    if spent.tokens_per_memory is not None:
        lines.append(t("stats.per_memory", tokens=spent.tokens_per_memory, memories=spent.memories))
    return lines


def config_show(as_json: JsonOption = False, lang: LangOption = None) -> None:
    with session() as app:
        output.json_value(setup.show_config(app.home, app.settings, dict(os.environ)))

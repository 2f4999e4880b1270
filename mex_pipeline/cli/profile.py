"""`mex profile`: no model, no network, no worker (product P2). Its parameters are its options (cli/quick.py)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mex_pipeline.cli import memory_text, output
from mex_pipeline.cli.opened import session
from mex_pipeline.messages import text as t
from mex_pipeline.services import profile as profile_service

if TYPE_CHECKING:
    from mex_pipeline.app import App
    from mex_pipeline.services.profile import Profile


def profile(
    view: str | None = None,
    topics: str | None = None,
    max_tokens: int | None = None,
    recent_days: int | None = None,
    recent_limit: int | None = None,
    include_sensitive: bool = False,
    as_of: str | None = None,
    known_at: str | None = None,
    project: str | None = None,
    explain: bool = False,
) -> None:
    wanted = None if topics is None else [name.strip() for name in topics.split(",") if name.strip()]
    with session() as app:
        past = None if as_of is None and known_at is None else _timeline().past(app, as_of=as_of, known_at=known_at)
        shown = profile_service.show(
            app,
            view=view,
            topics=wanted,
            max_tokens=max_tokens,
            recent_days=recent_days,
            recent_limit=recent_limit,
            include_sensitive=include_sensitive,
            project=project,
            past=past,
            is_explained=explain,
        )
        lines = [shown.text, *(_explained(app, shown) if explain else [])]
    plain = shown.to_plain()
    if past is not None:
        plain[past.name] = past.at
    if explain:
        plain |= shown.explained_plain()
    output.emit(plain, lines)


def _timeline() -> Any:
    """The services of time travel, imported only when they are asked for."""
    return import_module("mex_pipeline.services.timeline")


def _explained(app: App, shown: Profile) -> list[str]:
    """What is shown and what is not, each with its tokens, after the text (product E1)."""
    kept = [one for one in shown.lines if one.reason is None]
    cut = [one for one in shown.lines if one.reason is not None]
    lines = ["", *([t("explain.view", view=shown.view)] if shown.view else []), t("explain.shown", count=len(kept))]
    for one in shown.lines:
        place = ".".join(one.memory.slot) if one.memory.slot else one.memory.topic or "—"
        content = " ".join(memory_text.content_text(one.memory, app.schema).split())
        why = f" ({t(f'cut.{one.reason}')})" if one.reason else ""
        if cut and one is cut[0]:
            lines.append(t("explain.cut", count=len(cut)))
        lines.append(f"{one.tokens:>6}  {place}  {content}{why}")
    if shown.withheld:
        lines.append(t("explain.withheld", count=sum(one.memories for one in shown.withheld)))
    for left_out in shown.withheld:
        place = ".".join(filter(None, (left_out.topic, left_out.sub_topic)))
        lines.append(f"{'':>6}  {place}  × {left_out.memories}")
    return [*lines, t("explain.sum", tokens=shown.tokens, most=shown.max_tokens)]

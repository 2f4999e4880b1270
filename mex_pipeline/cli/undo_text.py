"""What an undo has put back and what it has left alone, as people read it."""

from collections.abc import Iterable, Mapping
from typing import Any

from mex_pipeline import messages
from mex_pipeline.app import App
from mex_pipeline.cli import output
from mex_pipeline.cli.options import t
from mex_pipeline.domain.structured import render

_SHORT = 8


def shortened(ids: Iterable[str]) -> str:
    """Return job ids as short as a command takes them."""
    return ", ".join(one[:_SHORT] for one in ids)


def counts(result: Mapping[str, Any]) -> dict[str, int]:
    """Return `{put_back, refused}` of an undo's result."""
    put_back = sum(len(result[name]) for name in ("added", "updated", "retired"))
    return {"put_back": put_back, "refused": len(result["discarded"])}


def lines(app: App, result: Mapping[str, Any], *, dry_run: bool = False) -> list[str]:
    """Return an undo for people: what came back, what it is again, what is gone, and what was left alone and why."""
    head = t("undo.would" if dry_run else "undo.done", jobs=shortened(result["undoes"]), **counts(result))
    shown = [head, *(f"+ {_placed(app, one)}" for one in result["added"])]
    shown += [_changed(app, one["before"], one["after"]) for one in result["updated"]]
    shown += [f"- {_placed(app, one)}" for one in result["retired"]]
    if result["discarded"]:
        shown += [t("undo.refused"), *(_refused(one) for one in result["discarded"])]
    told = (("withdrawn", "undo.withdrawn"), ("done_before", "undo.done_before"), ("purged", "undo.purged"))
    return shown + [t(message, count=result[name]) for name, message in told if result[name]]


def _refused(discarded: Mapping[str, Any]) -> str:
    return output.discarded_line({**discarded, "content": " ".join(discarded["content"].split())})


def _changed(app: App, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """What a memory was and is again: its content, else its tier, else nothing that a person sees."""
    if before["content"] != after["content"]:
        return f"~ {_place(after)}: {_content(app, before)} → {_content(app, after)}  [{after['confidence']}]"
    tier = after["confidence"]
    tiers = tier if before["confidence"] == tier else f"{before['confidence']} → {tier}"
    return f"~ {_placed(app, after)}  [{tiers}]"


def _placed(app: App, memory: Mapping[str, Any]) -> str:
    return f"{_place(memory)}: {_content(app, memory)}"


def _place(memory: Mapping[str, Any]) -> str:
    return ".".join(filter(None, (memory["topic"], memory["sub_topic"]))) or "—"


def _content(app: App, memory: Mapping[str, Any]) -> str:
    slot = app.schema.find(memory["topic"], memory["sub_topic"])
    return " ".join(render(slot, memory["content"], messages.active()).split())

"""`mex doctor`: the report of a home, in words."""

from typing import Annotated, Any

import typer

from mex_pipeline import bootstrap, messages
from mex_pipeline.cli import output
from mex_pipeline.cli.options import JsonOption, LangOption, t
from mex_pipeline.paths import Home
from mex_pipeline.services import doctor as doctor_service
from mex_pipeline.services.findings import Check, Item, Report
from mex_pipeline.services.results import memory_plain

_SECONDS = 5.0
_SHOWN = 20
_CONTENT = 60
_LOOKS = {"ok": output.GREEN, "warning": output.YELLOW, "problem": output.RED, "skipped": output.FAINT}


def doctor(
    fix: Annotated[bool, typer.Option("--fix", help=t("help.fix"))] = False,
    offline: Annotated[bool, typer.Option("--offline", help=t("help.offline"))] = False,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    home = Home.from_environment()
    report = doctor_service.examine(
        home,
        messages.active(),
        ask_models=None if offline else lambda llm: bootstrap.list_models(llm, _SECONDS),
        ask_queue=None if offline else bootstrap.ask_queue,
        fix=fix,
    )
    if report.is_new:
        output.note(t("note.home_made", path=home.root))
    for copy in report.copies:
        output.note(t("note.migrated", path=copy))
    fixed = [t("doctor.fixed", name=t(f"check.{name}"), count=count) for name, count in report.fixed.items()]
    output.emit(_plain(report), fixed + [line for check in report.checks for line in _lines(check)])


def _plain(report: Report) -> dict[str, Any]:
    """The original's object, and every check beside it."""
    llm = next(check for check in report.checks if check.name == "llm")
    return {
        "schema_ok": report.schema_ok,
        "dangling": [memory_plain(memory) | {"reason": reason} for memory, reason in report.dangling()],
        "llm": {
            "configured": report.llm.configured,
            "reachable": report.llm.reachable,
            "models": report.llm.models,
            "message": _detail(llm),
        },
        "checks": [
            {
                "name": check.name,
                "status": check.status,
                "detail": _detail(check),
                "items": [
                    {"code": item.code, "message": _text(item), "commands": list(item.commands), **item.facts}
                    for item in check.items
                ],
            }
            for check in report.checks
        ],
        "fixed": report.fixed,
    }


def _lines(check: Check) -> list[str]:
    status = f"[{t(f'status.{check.status}')}]"
    head = f"{status} {t(f'check.{check.name}')}"
    detail = _detail(check)
    whole = t("doctor.line", head=head, detail=detail) if detail else head
    lines: list[str] = [output.begun(status, whole, _LOOKS[check.status])]
    for item in check.items[:_SHOWN]:
        lines.append(f"  - {_text(item)}{_excerpt(item)}")
        lines += [f"      {command}" for command in item.commands]
    if len(check.items) > _SHOWN:
        lines.append(f"  {t('doctor.more', count=len(check.items) - _SHOWN)}")
    return lines


def _detail(check: Check) -> str:
    if check.error is not None:
        return output.joined(*messages.render(check.error))
    return t(f"doctor.{check.code}", **check.facts) if check.code else ""


def _text(item: Item) -> str:
    facts = dict(item.facts)
    if "reason" in facts:
        facts["reason"] = t(f"reason.{facts['reason']}")
    return output.joined(t(f"doctor.{item.code}", **facts), messages.render(item.error)[0] if item.error else "")


def _excerpt(item: Item) -> str:
    """The beginning of the memory that is meant: who decides about it has to know it."""
    if item.memory is None:
        return ""
    content = " ".join(item.memory.content.split())
    return f" 〔{content if len(content) <= _CONTENT else content[: _CONTENT - 1] + '…'}〕"

"""`mex audit`: what deserves a second look, and the one command that acts on each kind."""

import sys
from typing import Annotated

import typer

from mex_pipeline.cli import output
from mex_pipeline.cli.options import JsonOption, LangOption, TopicOption, session, t, writer
from mex_pipeline.domain.audit import REMEDIES, Kind, Remedy, Suspect
from mex_pipeline.domain.memory import Confidence
from mex_pipeline.errors import InvalidInput, UserError
from mex_pipeline.services import audit as service
from mex_pipeline.services import audit_fix, audit_secrets
from mex_pipeline.services.bounds import MAX_NUMBER

_EXAMPLES = 2
_LONGEST = 60
_SHOWN = 20
"""How many of what was done are named; `--json` names all."""


def audit(
    kinds: Annotated[list[Kind] | None, typer.Argument(metavar="[KIND]...", help=t("help.audit_kinds"))] = None,
    topic: TopicOption = None,
    limit: Annotated[int | None, typer.Option("--limit", help=t("help.audit_limit"))] = None,
    fix: Annotated[Kind | None, typer.Option("--fix", metavar="KIND", help=t("help.audit_fix"))] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help=t("help.only_show"))] = False,
    yes: Annotated[bool, typer.Option("--yes", help=t("help.audit_yes"))] = False,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    if limit is not None and not 0 <= limit <= MAX_NUMBER:
        raise InvalidInput("number_out_of_range", most=MAX_NUMBER)
    limit = limit or None
    if fix is None:
        if dry_run or yes:
            raise InvalidInput("audit_nothing_to_fix")
        _report(kinds or [], topic, limit)
        return
    if kinds:
        raise InvalidInput("audit_kinds_and_fix")
    _fix(fix, topic, limit, dry_run=dry_run, is_sure=yes)


def _report(kinds: list[Kind], topic: str | None, limit: int | None) -> None:
    with session() as app:
        report = service.examine(app, kinds, topic=topic)
    lines = [t("audit.looked", memories=report.memories, turns=report.turns)]
    for kind, found in report.found.items():
        if found:
            lines += [
                "",
                output.begun(kind, t("audit.found", kind=kind, count=len(found), what=_kind(kind)), output.BOLD),
            ]
            lines += [_example(one) for one in found[: limit or _EXAMPLES]]
            lines.append(f"  {t('audit.act', command=service.command(kind), what=_remedy(found[0]))}")
    if not any(report.found.values()):
        lines.append(t("audit.nothing"))
    output.emit(report.to_plain(limit), lines)


def _fix(kind: Kind, topic: str | None, limit: int | None, *, dry_run: bool, is_sure: bool) -> None:
    actor = writer(None)
    with session() as app:
        meant = audit_fix.planned(app, kind, topic=topic, limit=limit, actor=actor)
        if meant.done and not dry_run:
            _ask(meant, is_sure=is_sure)
        # A secret that is replaced may still stand in a page that an open reader held before.
        if not dry_run and (meant.done or meant.remedy is Remedy.REDACT):
            meant = audit_fix.act(app, meant)
    output.emit(meant.to_plain(), _would_do(meant) if dry_run else _done(meant))


def _ask(meant: audit_fix.Fixed, *, is_sure: bool) -> None:
    """Name what will be done and ask; raises unless a person at a terminal says yes, or has said so."""
    if is_sure:
        return
    if not sys.stdin.isatty():
        raise InvalidInput("audit_needs_yes", count=len(meant.done), kind=meant.kind)
    for line in _would_do(meant):
        output.note(line)
    try:
        is_sure = typer.confirm(t("ask.audit", count=len(meant.done)), err=True)
    except typer.Abort:
        is_sure = False
    if not is_sure:
        raise UserError("audit_refused")


def _would_do(meant: audit_fix.Fixed) -> list[str]:
    if not meant.done:
        return [t("audit.nothing"), *_left(meant)]
    head = t("audit.would", count=len(meant.done), what=_remedy(meant.done[0]))
    return [head, *_listed(meant.done), *_left(meant)]


def _done(fixed: audit_fix.Fixed) -> list[str]:
    if not fixed.done:
        return [t("audit.nothing"), *_left(fixed), *([] if fixed.is_clean else [t("audit.file_in_use")])]
    lines = [t("audit.done", count=len(fixed.done), what=_remedy(fixed.done[0])), *_listed(fixed.done), *_left(fixed)]
    if fixed.undo:
        lines.append(t("audit.undo", command=fixed.undo))
    elif fixed.remedy is not Remedy.REDACT:
        lines.append(t("audit.decide"))
    else:
        sure = [one for one in fixed.done if one.memory and one.memory.confidence is Confidence.CONFIRMED]
        lines += [t("audit.confirmed_too", ids=" ".join(one.memory.id for one in sure if one.memory))] if sure else []
        lines += [t("audit.elsewhere")] if fixed.is_clean else [t("audit.file_in_use")]
    return lines


def _listed(found: tuple[Suspect, ...]) -> list[str]:
    more = len(found) - _SHOWN
    return [*(_example(one) for one in found[:_SHOWN]), *([f"  {t('audit.more', count=more)}"] if more > 0 else [])]


def _left(fixed: audit_fix.Fixed) -> list[str]:
    return [t("audit.left", id=one.memory.id, why=t(f"audit_left.{why}")) for one, why in fixed.left if one.memory]


def _example(one: Suspect) -> str:
    """A suspect in one line: never the secret that it holds."""
    why, memory = t(f"audit_reason.{one.reason}", **one.facts), one.memory
    if memory is None:
        return f"  - {t('audit.turn', session=one.facts['session'], why=why)}"
    content = " ".join(audit_secrets.clean_content(memory.content).split())
    short = content if len(content) <= _LONGEST else content[: _LONGEST - 1] + "…"
    where = ".".join(memory.slot or (memory.topic or "—",))
    return f"  - {t('audit.example', id=memory.id, place=where, content=short, why=why)}"


def _kind(kind: Kind) -> str:
    return t(f"audit_kind.{kind}")


def _remedy(one: Suspect) -> str:
    return t(f"audit_remedy.{REMEDIES[one.kind]}")

"""What `mex doctor` asks of mex.db: the file, the index, memories against the schema, history, jobs (seed 004 §3.6)."""

import json
import shlex
from collections.abc import Callable, Iterator

from mex_pipeline.app import App
from mex_pipeline.clock import iso
from mex_pipeline.domain.memory import Event, Memory
from mex_pipeline.domain.schema import Schema, Slot
from mex_pipeline.domain.structured import parse_content
from mex_pipeline.errors import DatabaseDamaged, ExternalError, InvalidContent, InvalidSlot, MexError
from mex_pipeline.services import doctor_jobs, jobs, workers
from mex_pipeline.services.findings import FIX, SCHEMA_CHECKS, Check, Item, Status, found
from mex_pipeline.store import audit, doctor, export, indexes, memories

_BEGINNINGS = (Event.ADD, Event.IMPORT)
_SAY_CONTENT = (Event.ADD, Event.IMPORT, Event.UPDATE)


def checks(app: App, *, schema_is_known: bool) -> Iterator[Check]:
    """Yield the checks of the database; those against the schema are skipped when it could not be read."""
    yield _guarded("database", lambda: _database(app))
    yield _guarded("search_index", lambda: _index(app))
    against_schema = {"slots": _slots, "contents": _contents, "unique": _unique}
    for name in SCHEMA_CHECKS:
        yield _guarded(name, _bound(against_schema[name], app)) if schema_is_known else _skipped(name, "no_schema")
    yield _guarded("history", lambda: _history(app))
    yield _guarded("audit", lambda: _audit(app))
    yield _guarded("jobs", lambda: doctor_jobs.check(app))
    yield _guarded("worker", lambda: _worker(app))


def unopened(error: MexError) -> Iterator[Check]:
    """Yield the same checks for a database that cannot be opened."""
    yield Check("database", Status.PROBLEM, error=error)
    for name in ("search_index", *SCHEMA_CHECKS, "history", "audit", "jobs", "worker"):
        yield _skipped(name, "no_database")


def repair(app: App) -> dict[str, int]:
    """Make a broken index anew and take back the jobs of dead processes; returns how much was done by check."""
    done = {"search_index": 0, "jobs": 0}
    try:
        if _index(app).status is Status.PROBLEM:
            with app.db.transaction() as tx:
                tx.run(*indexes.rebuild())
            done["search_index"] = 1
        done["jobs"] = doctor_jobs.repair(app)
    except (MexError, OSError):
        pass  # the check that follows says what is wrong
    return done


def _guarded(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except MexError as error:
        return Check(name, Status.SKIPPED if error.retryable else Status.PROBLEM, error=error)
    except OSError as error:
        refused = ExternalError("system_refused", detail=error.strerror or type(error).__name__)
        return Check(name, Status.PROBLEM, error=refused)


def _bound(check: Callable[[App], Check], app: App) -> Callable[[], Check]:
    return lambda: check(app)


def _skipped(name: str, code: str) -> Check:
    return Check(name, Status.SKIPPED, code=code)


def _database(app: App) -> Check:
    verdict = app.db.first(export.quick_check())
    if verdict != "ok":
        error = DatabaseDamaged(path=str(app.home.database), detail=str(verdict))
        return Check("database", Status.PROBLEM, error=error)
    return Check("database", Status.OK)


def _index(app: App) -> Check:
    try:
        with app.db.copied() as copy:
            copy.run(*indexes.check())
        differs = app.db.all(indexes.strays()) != [0]
    except DatabaseDamaged:
        differs = True
    if differs:
        return Check("search_index", Status.PROBLEM, (Item("index_differs", commands=(FIX,)),))
    return Check("search_index", Status.OK)


def _active(app: App) -> list[Memory]:
    return app.db.all(memories.slot_memories(iso(app.clock.now())))


def _slots(app: App) -> Check:
    items = [_astray(app.schema, memory) for memory in _active(app) if not _is_declared(app.schema, memory)]
    return found("slots", items, Status.PROBLEM)


def _is_declared(schema: Schema, memory: Memory) -> bool:
    return schema.find(memory.topic, memory.sub_topic) is not None


def _astray(schema: Schema, memory: Memory) -> Item:
    """A memory whose slot is not declared (any more), and the commands that move it or let it go."""
    topic, sub_topic = _nearest(schema, memory)
    move = f"mex move {memory.id} --topic {topic} --sub-topic {sub_topic}"
    facts = {"id": memory.id, "slot": f"{memory.topic or ''}.{memory.sub_topic}"}
    return Item("undeclared_slot", facts, (move, f"mex forget {memory.id}"), memory)


def _nearest(schema: Schema, memory: Memory) -> tuple[str, str]:
    """The slot that is probably meant, else words that stand for one."""
    try:
        schema.locate(memory.topic, memory.sub_topic)
    except InvalidSlot as error:
        for name in error.params.get("nearest", ()):
            topic, _, sub_topic = name.partition(".")
            slot = schema.find(topic, sub_topic or memory.sub_topic)
            if slot is not None:
                return slot.topic, slot.name
    return "TOPIC", "SUB_TOPIC"


def _contents(app: App) -> Check:
    items = []
    for memory in _active(app):
        slot = app.schema.find(memory.topic, memory.sub_topic)
        if slot is None or not slot.fields:
            continue
        try:
            parse_content(slot, memory.content)
        except InvalidContent as error:
            keys = json.dumps(
                {one.name: "…" for one in slot.fields if one.required or not _needs(slot)}, ensure_ascii=False
            )
            update = f"mex update {memory.id} --content {shlex.quote(keys)}"
            facts = {"id": memory.id, "slot": slot.path}
            items.append(Item("unfit_content", facts, (update, f"mex forget {memory.id}"), memory, error))
    return found("contents", items, Status.PROBLEM)


def _needs(slot: Slot) -> bool:
    return any(field.required for field in slot.fields)


def _unique(app: App) -> Check:
    held: dict[str, list[Memory]] = {}
    for memory in _active(app):
        slot = app.schema.find(memory.topic, memory.sub_topic)
        if slot is not None and slot.unique:
            held.setdefault(slot.path, []).append(memory)
    items = [
        Item("several_values", {"id": memory.id, "slot": path}, (f"mex forget {memory.id}",), memory)
        for path, values in held.items()
        if len(values) > 1
        for memory in values
    ]
    return found("unique", items, Status.PROBLEM)


def _history(app: App) -> Check:
    """Does each history begin where its memory did, and lead to what the memory is now (product B8)?"""
    items = []
    for one in app.db.all(doctor.traced()):
        if one.first_event not in _BEGINNINGS:
            items.append(Item("history_no_beginning", {"id": one.memory.id}))
        elif _differs(one):
            items.append(Item("history_differs", {"id": one.memory.id}))
    return found("history", items, Status.PROBLEM)


def _differs(one: doctor.Traced) -> bool:
    if one.last_state is not None:
        now = one.memory._asdict()
        return any(now[name] != value for name, value in one.last_state.items() if name in now)
    return one.last_event in _SAY_CONTENT and one.last_content not in (None, one.memory.content)


def _audit(app: App) -> Check:
    """What one SELECT tells of what `mex audit` would find; the rest takes seconds."""
    count = app.db.first(audit.unproven(iso(app.clock.now()))) or 0
    items = [Item("audit_unproven", {"count": count}, ("mex audit",))] if count else []
    return found("audit", items, Status.WARNING)


def _worker(app: App) -> Check:
    if workers.will_run(app):
        return Check("worker", Status.OK, code="worker_runs")
    if jobs.waits_for_a_worker(app):
        return Check("worker", Status.WARNING, (Item("worker_missing", commands=("mex worker start",)),))
    is_paused = bool(jobs.page(app, states=("queued", "retrying"), limit=1))
    return Check("worker", Status.OK, code="worker_paused" if is_paused else "worker_not_needed")

"""`mex schema`: which slots there are (seed 004 §3.4, product G16)."""

from typing import Annotated, Any

import typer

from mex_pipeline.cli import output
from mex_pipeline.cli.options import JsonOption, LangOption, TopicOption, session, t
from mex_pipeline.domain.schema import Field, Slot, Topic


def schema(
    topic: TopicOption = None,
    check: Annotated[bool, typer.Option("--check", help=t("help.check"))] = False,
    as_json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    with session() as app:
        app.schema.locate(topic, None)
        shown = [one for name, one in app.schema.topics.items() if topic in (None, name)]
        path = app.home.schema
    if check:
        counts = {"topics": len(shown), "slots": sum(len(one.slots) for one in shown)}
        output.emit({"ok": True, "path": str(path), **counts}, [t("done.schema_ok", path=path, **counts)])
    else:
        output.emit({"topics": [_topic_plain(one) for one in shown]}, [line for one in shown for line in _lines(one)])


def _topic_plain(topic: Topic) -> dict[str, Any]:
    return {
        "name": topic.name,
        "description": topic.description,
        "sensitive": topic.is_sensitive,
        "sub_topics": [_slot_plain(slot) for slot in topic.slots.values()],
    }


def _slot_plain(slot: Slot) -> dict[str, Any]:
    return {
        "name": slot.name,
        "description": slot.description,
        "unique": slot.unique,
        "policy": _policy_plain(slot),
        "fields": [
            {
                "name": field.name,
                "description": field.description,
                "required": field.required,
                "format": "time" if field.is_time else None,
            }
            for field in slot.fields
        ],
    }


def _policy_plain(slot: Slot) -> dict[str, Any]:
    """What is declared, as schema.yaml writes it; None where nothing is."""
    policy = slot.policy
    return {
        "ttl": f"{policy.ttl}d" if policy.ttl else None,
        "review_every": f"{policy.review_every}d" if policy.review_every else None,
        "sensitive": policy.is_sensitive,
        "priority": policy.priority,
        "max_items": policy.max_items,
    }


def _lines(topic: Topic) -> list[str]:
    marks = [t("schema.sensitive")] * topic.is_sensitive
    lines = [" · ".join([topic.name, topic.description, *marks])]
    for slot in topic.slots.values():
        kind = t("schema.unique" if slot.unique else "schema.many")
        lines.append(f"  {' · '.join([slot.name, slot.description, kind, *_policy_texts(slot)])}")
        lines += [f"    {_field_text(field)}" for field in slot.fields]
    return lines


def _policy_texts(slot: Slot) -> list[str]:
    policy = slot.policy
    texts = (
        policy.ttl and t("schema.ttl", days=policy.ttl),
        policy.review_every and t("schema.review_every", days=policy.review_every),
        policy.is_sensitive and t("schema.sensitive"),
        policy.priority != "normal" and t(f"schema.priority_{policy.priority}"),
        policy.max_items and t("schema.max_items", count=policy.max_items),
    )
    return [text for text in texts if text]


def _field_text(field: Field) -> str:
    notes = [t("schema.required")] * field.required + [t("schema.time")] * field.is_time
    return " · ".join([field.name, field.description, *notes])

"""The schema: which slots exist. `parse` reads schema.yaml's data, `Schema.locate` is the one gate (seed 004 ADR-6)."""

import re
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import NamedTuple

from mex_pipeline.domain.policy import KEYS, NO_POLICY, Policy, flag, parse_policy
from mex_pipeline.domain.text import clean, is_blank, one_line
from mex_pipeline.domain.wording import Language, words
from mex_pipeline.errors import InvalidInput, InvalidSlot, as_written

_NAME = r"[a-z][a-z0-9_]*"
_NOTE_AT_THE_END = r"\s*(?:（[^（）]*）|\([^()]*\))$"
_TIME_FORMAT = "YYYY/YYYY-MM/YYYY-MM-DD"
_NEAREST = 3

_TOPIC_KEYS = ("description", "sensitive", "sub_topics")
_SLOT_KEYS = ("description", "unique", "multiple", "fields", *KEYS)
_FIELD_KEYS = ("description", "required", "format")


class Field(NamedTuple):
    """A key of a structured slot's content; `is_time` wants a date (seed 004 §3.4)."""

    name: str
    description: str
    required: bool = False
    is_time: bool = False

    @property
    def label(self) -> str:
        """What people see: the description without a note in brackets at its end."""
        return _label(self.description)


class Slot(NamedTuple):
    """A declared (topic, sub_topic): `unique` holds one active memory, else many; with `fields` it is structured."""

    topic: str
    name: str
    description: str
    unique: bool = True
    fields: tuple[Field, ...] = ()
    policy: Policy = NO_POLICY

    @property
    def path(self) -> str:
        """The slot as people write it: `work.company`."""
        return f"{self.topic}.{self.name}"

    @property
    def label(self) -> str:
        """What people see: the description without a note in brackets at its end."""
        return _label(self.description)

    @property
    def open_fields(self) -> frozenset[str]:
        """Names of the time fields that may say "until now": those called end, else the last of several.

        A lone time field (a year, a deadline) and a start never may.
        """
        times = [field.name for field in self.fields if field.is_time]
        ends = [name for name in times if name == "end" or name.startswith("end_") or name.endswith("_end")]
        return frozenset(ends or times[1:][-1:])


class Topic(NamedTuple):
    """A domain of life with its slots by name, in the order in which they are shown; without slots it files records.

    `is_sensitive` speaks for its records, and for every slot that does not speak for itself.
    """

    name: str
    description: str
    slots: Mapping[str, Slot]
    is_sensitive: bool = False

    @property
    def label(self) -> str:
        """What people see: the description without a note in brackets at its end."""
        return _label(self.description)


class Notice(NamedTuple):
    """Something in schema.yaml that works but should be changed: a message id and the place."""

    code: str
    path: str


class Schema(NamedTuple):
    """All topics by name, in the order of schema.yaml."""

    topics: Mapping[str, Topic]

    @property
    def fingerprint(self) -> str:
        """Twelve hex digits that change with what a model is shown, and not with policies (product H5)."""
        return str(import_module("hashlib").sha256("\n".join(slot_lines(self, "en")).encode()).hexdigest()[:12])

    def slots(self) -> Iterator[Slot]:
        """Yield every slot in the order of schema.yaml."""
        for topic in self.topics.values():
            yield from topic.slots.values()

    def find(self, topic: str | None, sub_topic: str | None) -> Slot | None:
        """Return the slot, or None when it is not declared (any more): for reading, never to admit a write."""
        declared = self.topics.get(topic or "")
        return declared.slots.get(sub_topic or "") if declared else None

    def policy_of(self, topic: str | None, sub_topic: str | None) -> Policy:
        """Return what holds for the values of that place; for records and undeclared slots nothing does."""
        slot = self.find(topic, sub_topic)
        return slot.policy if slot else NO_POLICY

    def is_sensitive(self, topic: str | None, sub_topic: str | None) -> bool:
        """True for a sensitive slot; without a declared slot its topic decides."""
        declared = self.topics.get(topic or "")
        slot = self.find(topic, sub_topic)
        return slot.policy.is_sensitive if slot else declared is not None and declared.is_sensitive

    @property
    def has_sensitive(self) -> bool:
        """True when some slot or topic is sensitive."""
        return any(one.is_sensitive for one in self.topics.values()) or any(
            slot.policy.is_sensitive for slot in self.slots()
        )

    def locate(self, topic: str | None, sub_topic: str | None) -> Slot | None:
        """Return the slot a write is meant for; None for a record, with or without a topic (seed 004 ADR-6, §3.2).

        Raises InvalidSlot: `blank_slot`, `sub_topic_without_topic`, `unknown_topic`, `unknown_sub_topic`.
        """
        if any(name is not None and is_blank(name) for name in (topic, sub_topic)):
            raise InvalidSlot("blank_slot")
        if topic is None:
            if sub_topic is not None:
                raise InvalidSlot("sub_topic_without_topic", sub_topic=sub_topic)
            return None
        if topic not in self.topics:
            nearest = self._nearest_topics(topic, sub_topic) or list(self.topics)
            raise InvalidSlot("unknown_topic", topic=topic, nearest=nearest, known=list(self.topics))
        if sub_topic is None:
            return None
        slot = self.find(topic, sub_topic)
        if slot is None:
            known = list(self.topics[topic].slots)
            nearest = self._nearest_slots(topic, sub_topic, known)
            raise InvalidSlot("unknown_sub_topic", topic=topic, sub_topic=sub_topic, nearest=nearest, known=known)
        return slot

    def _nearest_topics(self, topic: str, sub_topic: str | None) -> list[str]:
        """Topics of a similar name, then those that have the sub_topic, then those with a slot of that word."""
        similar = _similar(topic, self.topics)
        owners = [slot.topic for slot in self.slots() if slot.name == sub_topic]
        related = [slot.topic for slot in self.slots() if topic in slot.name.split("_")]
        return list(dict.fromkeys(similar + owners + related))[:_NEAREST]

    def _nearest_slots(self, topic: str, sub_topic: str, known: list[str]) -> list[str]:
        """Slots of a similar name in the topic, then those of exactly that name elsewhere, as `topic.sub_topic`."""
        similar = [f"{topic}.{name}" for name in _similar(sub_topic, known)]
        elsewhere = [slot.path for slot in self.slots() if slot.name == sub_topic]
        return (similar + elsewhere)[:_NEAREST]


def parse(data: object) -> tuple[Schema, tuple[Notice, ...]]:
    """Return the schema that the parsed YAML of schema.yaml describes, and what in it is out of date.

    Notices: `retired_multiple` (`multiple: true` is read as `unique: false`, seed 004 §3.5). A sub_topic or field may
    be written as its description alone. Raises InvalidInput with the `path` of the place: `schema_no_topics`,
    `schema_not_mapping`, `schema_unknown_key`, `schema_bad_name`, `schema_not_text`, `schema_not_flag`,
    `schema_bad_format`, and those of `parse_policy`.
    """
    if not isinstance(data, Mapping) or not data.get("topics"):
        raise InvalidInput("schema_no_topics", path="topics")
    _check_keys(data, ("topics",), "")
    notices: list[Notice] = []
    topics = {name: _topic(name, value, notices) for name, value in _children(data, "topics", "")}
    return Schema(topics), tuple(notices)


def idle_policies(schema: Schema) -> Iterator[Notice]:
    """Yield the policies that can have no effect.

    `max_items_of_one`: a unique slot shows one value anyway; `review_after_expiry`: a value has expired before its
    review is due.
    """
    for slot in schema.slots():
        path, policy = f"topics.{slot.topic}.sub_topics.{slot.name}", slot.policy
        if slot.unique and policy.max_items is not None:
            yield Notice("max_items_of_one", f"{path}.max_items")
        if policy.ttl is not None and policy.review_every is not None and policy.ttl < policy.review_every:
            yield Notice("review_after_expiry", f"{path}.review_every")


def slot_lines(schema: Schema, language: Language) -> list[str]:
    """Return the lines that show a model which slots it may fill (seed 004 ADR-6 example 5, §3.4, §7.1).

    Each topic has a line `work — 工作与职业`, then one line for each of its slots,
    `work.experience — 工作经历 [可多条] [JSON 对象: start[必填][YYYY/YYYY-MM/YYYY-MM-DD] 开始时间, …]`.
    """
    lines = []
    for topic in schema.topics.values():
        lines.append(f"{topic.name} — {topic.description}")
        lines.extend(_slot_line(slot, language) for slot in topic.slots.values())
    return lines


def _slot_line(slot: Slot, language: Language) -> str:
    text = words(language)
    parts = [f"{slot.path} — {slot.description}"]
    if not slot.unique:
        parts.append(text.many)
    if slot.fields:
        fields = ", ".join(_field_text(slot, field, language) for field in slot.fields)
        parts.append(f"[{text.json_object}: {fields}]")
    return " ".join(parts)


def _field_text(slot: Slot, field: Field, language: Language) -> str:
    text = words(language)
    required = text.required if field.required else ""
    open_end = f"/{text.open_end}" if field.name in slot.open_fields else ""
    time = f"[{_TIME_FORMAT}{open_end}]" if field.is_time else ""
    return f"{field.name}{required}{time} {field.description}"


def _topic(name: str, value: object, notices: list[Notice]) -> Topic:
    path = f"topics.{name}"
    if isinstance(value, str):
        raise InvalidInput("schema_not_mapping", path=path)
    entry = _entry(value, _TOPIC_KEYS, path)
    is_sensitive = flag(entry, "sensitive", path, default=False)
    children = _children(entry, "sub_topics", path)
    slots = {key: _slot(name, key, child, notices, is_sensitive=is_sensitive) for key, child in children}
    return Topic(name, _description(entry, name, path), slots, is_sensitive)


def _slot(topic: str, name: str, value: object, notices: list[Notice], *, is_sensitive: bool) -> Slot:
    path = f"topics.{topic}.sub_topics.{name}"
    entry = _entry(value, _SLOT_KEYS, path)
    is_multiple = flag(entry, "multiple", path, default=False)
    if is_multiple:
        notices.append(Notice("retired_multiple", path))
    unique = flag(entry, "unique", path, default=True) and not is_multiple
    fields = tuple(_field(key, child, f"{path}.fields.{key}") for key, child in _children(entry, "fields", path))
    policy = parse_policy(entry, path, is_sensitive=is_sensitive)
    return Slot(topic, name, _description(entry, name, path), unique, fields, policy)


def _field(name: str, value: object, path: str) -> Field:
    entry = _entry(value, _FIELD_KEYS, path)
    if entry.get("format") not in (None, "time"):
        raise InvalidInput("schema_bad_format", path=f"{path}.format", value=as_written(entry["format"]))
    required = flag(entry, "required", path, default=False)
    return Field(name, _description(entry, name, path), required, is_time=entry.get("format") == "time")


def _entry(value: object, keys: tuple[str, ...], path: str) -> Mapping[str, object]:
    if isinstance(value, str):
        return {"description": value}
    if not isinstance(value, Mapping):
        raise InvalidInput("schema_not_mapping", path=path)
    _check_keys(value, keys, path)
    return value


def _check_keys(entry: Mapping[str, object], keys: tuple[str, ...], path: str) -> None:
    for key in entry:
        if key not in keys:
            raise InvalidInput("schema_unknown_key", path=_join(path, key), known=list(keys))


def _children(entry: Mapping[str, object], key: str, path: str) -> Iterator[tuple[str, object]]:
    """Yield the named entries below `key`; YAML makes integers, booleans and dates of unquoted names."""
    children = entry.get(key)
    here = _join(path, key)
    if children is None:
        return
    if not isinstance(children, Mapping):
        raise InvalidInput("schema_not_mapping", path=here)
    for name, child in children.items():
        if not isinstance(name, str) or re.fullmatch(_NAME, name) is None:
            raise InvalidInput("schema_bad_name", path=here, name=as_written(name))
        yield name, child


def _description(entry: Mapping[str, object], name: str, path: str) -> str:
    """The description on one line; the name stands in for a missing one."""
    value = entry.get("description")
    if value is None:
        return name
    if not isinstance(value, str):
        raise InvalidInput("schema_not_text", path=f"{path}.description")
    return one_line(clean(value)) or name


def _join(path: str, key: object) -> str:
    return f"{path}.{key}" if path else str(key)


def _label(description: str) -> str:
    return re.sub(_NOTE_AT_THE_END, "", description) or description


def _similar(name: str, known: Iterable[str]) -> list[str]:
    """The nearest names; what compares them is imported for a mistake only."""
    found: list[str] = import_module("difflib").get_close_matches(name, known, _NEAREST)
    return found

"""What a memory's content must look like, and how it reads: plain text, or the JSON object of a structured slot."""

import json
import re
from datetime import date

from mex_pipeline.domain.schema import Field, Slot
from mex_pipeline.domain.text import clean, is_blank
from mex_pipeline.domain.wording import OPEN_ENDS, Language, words
from mex_pipeline.errors import InvalidContent

MAX_CONTENT = 20_000
"""Characters of a content, whoever writes it: some ten pages. What is longer is a document, to be extracted from."""

_DATE = r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?"


def parse_content(slot: Slot, content: str) -> dict[str, str]:
    """Return the filled fields of a structured slot's content, in declared order, values trimmed (seed 004 §3.4).

    Optional fields left blank are left out; `Present` becomes `present`. Raises InvalidContent: `content_not_json`,
    `content_unknown_field`, `content_not_text_field`, `content_missing_field`, `content_bad_time`, `content_blank`.
    """
    declared = [field.name for field in slot.fields]
    given = _load_object(content)
    if given is None:
        raise InvalidContent("content_not_json", slot=slot.path, fields=declared)
    for key in given:
        if key not in declared:
            raise InvalidContent("content_unknown_field", slot=slot.path, field=clean(key), known=declared)
    checked = ((field.name, _field_value(slot, field, given.get(field.name, ""))) for field in slot.fields)
    filled = {name: value for name, value in checked if value}
    if not filled:
        raise InvalidContent("content_blank")
    return filled


def normalise(slot: Slot | None, content: str) -> str:
    """Return `content` as it is stored: canonical JSON for a structured slot, else trimmed text.

    NUL and lone surrogates become U+FFFD, nothing else is changed. Raises InvalidContent as `parse_content` does,
    `content_blank` for text in which nothing can be seen.
    """
    if slot is not None and slot.fields:
        return json.dumps(parse_content(slot, content), ensure_ascii=False)
    if is_blank(content):
        raise InvalidContent("content_blank")
    return clean(content).strip()


def require_fits(content: str) -> None:
    """Raise InvalidContent `content_too_long` above MAX_CONTENT: new content only, what is stored already stays."""
    if len(content) > MAX_CONTENT:
        raise InvalidContent("content_too_long", length=len(content), limit=MAX_CONTENT)


def require_storable(slot: Slot | None, content: str) -> None:
    """Raise InvalidContent for what could only be stored changed: `content_has_nul`, `content_not_unicode`.

    In a structured slot the escapes of the JSON count as what they stand for.
    """
    fields = _load_object(content) if slot is not None and slot.fields else None
    for text in (content, *(value for value in (fields or {}).values() if isinstance(value, str))):
        if "\0" in text:
            raise InvalidContent("content_has_nul")
        if clean(text) != text:
            raise InvalidContent("content_not_unicode")


def render(slot: Slot | None, content: str, language: Language) -> str:
    """Return `content` as people read it: `公司：X；职位：Y`, `Company: X; Position: Y` (seed 004 §3.4, §6.2).

    An object that an older schema let in is shown too, undeclared keys last; what is no object of texts is shown as
    it is (`mex doctor` reports both, seed 004 §3.6).
    """
    fields = text_fields(content) if slot is not None and slot.fields else None
    if slot is None or not fields:
        return content
    text = words(language)
    labels = {field.name: field.label for field in slot.fields}
    names = [name for name in labels if name in fields] + [name for name in fields if name not in labels]
    return text.semicolon.join(f"{labels.get(name, name)}{text.colon}{fields[name]}" for name in names)


def text_fields(content: str) -> dict[str, str] | None:
    """Return the fields of any JSON object whose values are all texts, else None; no schema is asked."""
    given = _load_object(content)
    if given is None:
        return None
    texts = {key: value for key, value in given.items() if isinstance(value, str)}
    return texts if len(texts) == len(given) else None


def is_json(content: str) -> bool:
    """True for a JSON object or array; a number or a word in quotation marks is text."""
    return isinstance(_load(content), dict | list)


def _load_object(content: str) -> dict[str, object] | None:
    data = _load(content)
    return data if isinstance(data, dict) else None


def _load(content: str) -> object:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _field_value(slot: Slot, field: Field, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidContent("content_not_text_field", slot=slot.path, field=field.name)
    if is_blank(value):
        if field.required:
            raise InvalidContent("content_missing_field", slot=slot.path, field=field.name)
        return ""
    text = clean(value).strip()
    if not field.is_time or is_date(text):
        return text
    if field.name in slot.open_fields and text.casefold() in OPEN_ENDS:
        return text.casefold()
    raise InvalidContent("content_bad_time", slot=slot.path, field=field.name, value=text)


def is_date(text: str) -> bool:
    """True for YYYY, YYYY-MM or YYYY-MM-DD, a day that the calendar has."""
    match = re.fullmatch(_DATE, text)
    if match is None:
        return False
    try:
        date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
    except ValueError:
        return False
    return True

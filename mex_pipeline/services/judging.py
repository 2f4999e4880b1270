"""The judge phase: every candidate through every check, before anything is compared with what is known (product C4, C11)."""

from dataclasses import dataclass, replace
from datetime import datetime

from mex_pipeline.clock import in_zone
from mex_pipeline.domain.candidate import About, Candidate, Discarded
from mex_pipeline.domain.conversation import Chunk, Turn
from mex_pipeline.domain.evidence import Origin, is_echo, rests_on_assistant, verify
from mex_pipeline.domain.rules import check_candidate
from mex_pipeline.domain.schema import Schema
from mex_pipeline.domain.support import in_own_language, in_own_words, out_of_place, supported
from mex_pipeline.domain.when import in_absolute_time
from mex_pipeline.redaction.redact import redacted
from mex_pipeline.services.thinking import Asked, Heard, Skipped


@dataclass(frozen=True, slots=True)
class Thought:
    """The candidates of a whole job that passed every check, the others with their reasons, and kept replies used."""

    candidates: tuple[Candidate, ...]
    discarded: tuple[Discarded, ...]
    reused: int
    skipped: tuple[Skipped, ...] = ()


def judge(
    heard: Heard,
    schema: Schema,
    *,
    origin: Origin,
    examples: frozenset[str],
    about: About | None = None,
    redact: bool = True,
) -> Thought:
    """Return the candidates that keep the rules, each with its source checked, and every other one with its reason.

    `about` says whom the whole source is about, when the person who gave it has said so (`--subject`, product B3). With
    `redact` a secret in what a candidate says is replaced: that is never a reason to discard it (product F2).
    """
    kept: list[Candidate] = []
    discarded: list[Discarded] = []
    for answer in heard.answered:
        item, result = answer.asked, answer.extracted
        discarded.extend(result.discarded)
        proposals = (one if about is None else replace(one, about=about) for one in result.candidates)
        if redact:
            proposals = (_without_secrets(one) for one in proposals)
        sourced = [verify(one, item.chunk, origin) for one in proposals]
        verdicts = [_judged(one, item, schema, origin=origin, examples=examples) for one in sourced]
        discarded.extend(verdict for verdict in verdicts if isinstance(verdict, Discarded))
        left = [verdict for verdict in verdicts if isinstance(verdict, Candidate)]
        carried = [_in_own_language(one, item.chunk) for one in supported(left, item.chunk, beside=sourced)]
        discarded.extend(verdict for verdict in carried if isinstance(verdict, Discarded))
        passed = [verdict for verdict in carried if isinstance(verdict, Candidate)]
        kept.extend(sorted(passed, key=lambda one: _place(one, item.chunk)))
    reused = sum(answer.extracted.reused for answer in heard.answered)
    told = map(_told, discarded) if redact else discarded  # a model's topic may be one too
    return Thought(tuple(kept), tuple(told), reused, heard.skipped)


def _without_secrets(proposed: Candidate) -> Candidate:
    return replace(
        proposed,
        content=redacted(proposed.content),
        evidence=proposed.evidence and redacted(proposed.evidence),
        quote=proposed.quote and redacted(proposed.quote),
    )


def _told(discarded: Discarded) -> Discarded:
    return replace(
        discarded,
        content=redacted(discarded.content),
        facts={name: redacted(fact) for name, fact in discarded.facts.items()},
    )


def _judged(
    sourced: Candidate, item: Asked, schema: Schema, *, origin: Origin, examples: frozenset[str]
) -> Candidate | Discarded:
    """One candidate through every check; its relative times are resolved before the schema looks at its fields."""
    worded = in_own_words(sourced)
    dated = in_absolute_time(worded, _said(worded, item.chunk))
    checked = check_candidate(schema, worded if isinstance(dated, Discarded) else dated)
    if isinstance(checked, Discarded):
        return checked
    if is_echo(sourced, examples=examples, known=item.known, chunk=item.chunk, schema=schema):
        return Discarded(checked.content, "echo")
    if rests_on_assistant(sourced, item.chunk, origin):
        return Discarded(checked.content, "said_by_assistant")
    if reason := out_of_place(worded, schema.find(worded.topic, worded.sub_topic), _own(item.chunk, origin)):
        return Discarded(checked.content, reason, {"slot": f"{worded.topic}.{worded.sub_topic}"})
    return dated if isinstance(dated, Discarded) else checked


def _in_own_language(judged: Candidate | Discarded, chunk: Chunk) -> Candidate | Discarded:
    """The words that take a translation's place may speak of tomorrow, as the translation no longer did."""
    own = in_own_language(judged) if isinstance(judged, Candidate) else judged
    return own if own is judged or isinstance(own, Discarded) else in_absolute_time(own, _said(own, chunk))


def _said(candidate: Candidate, chunk: Chunk) -> datetime | None:
    """The local moment a candidate's words were said at; without their message, only what the whole chunk agrees on."""
    source = candidate.source
    if source is None or source.said_at is None:
        return None
    if source.message_key is None and len({in_zone(turn.at, turn.zone).date() for turn in chunk.turns if turn.at}) > 1:
        return None
    zones = (turn.zone for turn in chunk.turns if source.message_key in (turn.key, None))
    return in_zone(source.said_at, next(zones, None))


def _own(chunk: Chunk, origin: Origin) -> list[Turn]:
    """The new turns that are the user's; without speakers every one is (product B3)."""
    return [turn for turn in chunk.turns if turn.role == "user" or not origin.has_speakers]


def _place(candidate: Candidate, chunk: Chunk) -> tuple[int, int]:
    """Where its words stand in the chunk: of two values in one reply the later said one counts (product B11)."""
    source = candidate.source
    keys = [turn.key for turn in chunk.turns]
    if source is None or source.message_key not in keys:
        return len(keys), 0
    return keys.index(source.message_key), source.quote_start or 0

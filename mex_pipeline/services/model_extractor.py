"""Asking a model about one chunk: a kept reply first, then the call, one reminder, and every token on the books (H5, H7)."""

import hashlib
import json
from contextlib import suppress
from typing import cast

from mex_pipeline import faults
from mex_pipeline.clock import Clock, iso, millis
from mex_pipeline.domain.conversation import Chunk
from mex_pipeline.domain.schema import Schema
from mex_pipeline.errors import LLMBadReply, LLMRejected
from mex_pipeline.llm.contract import ParsedReply, parse_reply
from mex_pipeline.llm.port import LLM, Message, ResponseFormat, UnusableReply, Usage
from mex_pipeline.llm.prompts import Prompts, build_messages, example_values, reminder
from mex_pipeline.services import answers_kept
from mex_pipeline.services.async_endings import patiently
from mex_pipeline.services.extractor import Extracted, ExtractorKind, Task, Turnstile
from mex_pipeline.services.thinking import helps_to_split
from mex_pipeline.store import usage, workers
from mex_pipeline.store.async_database import AsyncDatabase
from mex_pipeline.store.sql import Statement


class FormatMemory:
    """Remembers per endpoint and model how structured output has worked (product C12)."""

    def __init__(self, db: AsyncDatabase, clock: Clock, base_url: str, model: str) -> None:
        self._db = db
        self._clock = clock
        self._base_url = base_url
        self._model = model
        self._known: ResponseFormat | None = None

    async def recall(self) -> ResponseFormat | None:
        """Return what worked last time."""
        known = await self._db.first(usage.response_format(self._base_url, self._model))
        self._known = cast("ResponseFormat | None", known)
        return self._known

    def learn(self, worked: ResponseFormat) -> list[Statement]:
        """Return what remembers the format that worked now; nothing when it is no news."""
        if worked == self._known:
            return []
        self._known = worked
        return [usage.learn_format(self._base_url, self._model, worked, millis(self._clock.now()))]


class _Unusable(Exception):
    def __init__(self, cause: LLMBadReply, text: str) -> None:
        super().__init__()
        self.cause = cause
        self.text = text


class ModelExtractor:
    """Reads with a model. Replies that arrived are kept until their job ends: nothing is paid twice (product P4).

    Kept beside them, under keys of their own: that a chunk is not taken whole, and the last unusable answer about it.
    `endpoint` is the scope whose failures an answer ends (services/pauses.py).
    """

    kind: ExtractorKind = "model"

    def __init__(
        self,
        llm: LLM,
        db: AsyncDatabase,
        clock: Clock,
        prompts: Prompts,
        schema: Schema,
        slots: list[str],
        formats: FormatMemory,
        endpoint: str,
    ) -> None:
        self.name = llm.model
        self.examples = example_values(prompts)
        self._llm = llm
        self._db = db
        self._clock = clock
        self._prompts = prompts
        self._schema_version = schema.fingerprint
        self._slots = slots
        self._formats = formats
        self._endpoint = endpoint

    async def extract(self, chunk: Chunk, task: Task, turnstile: Turnstile) -> Extracted:
        """Return the judged candidates of one chunk; raises LLMUnavailable, LLMRejected, LLMBadReply, NoFurtherCall."""
        key = self._key(chunk, task)
        kept = await self._db.first(usage.kept_reply(key))
        if kept is not None:
            with suppress(LLMBadReply):  # kept by a version that read it otherwise: asked again
                return _extracted(parse_reply(kept), reused=True)
        refused = await self._db.first(usage.kept_reply(answers_kept.split_key(key)))
        if refused is not None:
            raise answers_kept.refusal(refused)
        try:
            return _extracted(await self._answer(chunk, key, task, turnstile))
        except (LLMRejected, LLMBadReply) as error:
            if helps_to_split(error, chunk):
                mark = answers_kept.split_mark(error)
                await patiently(lambda: self._keep(answers_kept.split_key(key), mark, task))
            raise

    async def _answer(self, chunk: Chunk, key: str, task: Task, turnstile: Turnstile) -> ParsedReply:
        """Ask, and once more with a reminder when the answer cannot be used (product H7); a refusal is no slip."""
        messages = build_messages(
            self._prompts, slots=self._slots, known=list(task.known), today=task.today, chunk=chunk
        )
        try:
            return await self._ask(messages, key, task, turnstile)
        except _Unusable as unusable:
            if unusable.cause.code == "llm_refusal":
                raise unusable.cause from None
            again = [*messages, *reminder(self._prompts, unusable.text)]
        try:
            return await self._ask(again, key, task, turnstile)
        except _Unusable as unusable:
            raise unusable.cause from None

    async def _ask(self, messages: list[Message], key: str, task: Task, turnstile: Turnstile) -> ParsedReply:
        try:
            async with turnstile():
                completion = await self._llm.complete(messages)
        except LLMBadReply as error:
            raw = error.raw if isinstance(error, UnusableReply) else ""
            raise await self._unusable(error, _spent(error), raw, "", key, task) from error
        try:
            parsed = parse_reply(completion.text)
        except LLMBadReply as error:
            raise await self._unusable(error, completion.usage, completion.text, completion.text, key, task) from error
        # The reply and its cost are one short transaction: after it, a crash cannot make this call be paid again.
        beside = [self._cost(completion.usage, task), workers.answered(self._endpoint)]
        beside += self._formats.learn(completion.response_format)
        await patiently(lambda: self._keep(key, completion.text, task, *beside))
        faults.point("reply_kept")
        return parsed

    async def _unusable(
        self, error: LLMBadReply, spent: Usage | None, raw: str, said: str, key: str, task: Task
    ) -> _Unusable:
        """Keep what came, so that a person can look at it, and put it on the books."""
        cost = [] if spent is None else [self._cost(spent, task)]
        await patiently(lambda: self._keep(answers_kept.raw_key(key), answers_kept.cut(raw), task, *cost))
        return _Unusable(error, said)

    async def _keep(self, key: str, text: str, task: Task, *beside: Statement) -> None:
        at = millis(self._clock.now())
        async with self._db.transaction() as tx:
            await tx.run(usage.keep_reply(key, task.job_id, task.source_file, text, at), *beside)

    def _cost(self, spent: Usage, task: Task) -> Statement:
        return usage.record(
            task.purpose, spent.model, spent.prompt_tokens, spent.completion_tokens, task.job_id, iso(self._clock.now())
        )

    def _key(self, chunk: Chunk, task: Task) -> str:
        """The reply's identity: source, turns and their words, model, prompt and schema version; not the known values."""
        identity = [
            task.source_file,
            [[turn.key, turn.text, is_context] for _, turn, is_context in chunk.numbered],
            self._llm.model,
            self._prompts.version,
            self._schema_version,
        ]
        return hashlib.sha256(json.dumps(identity, ensure_ascii=True).encode()).hexdigest()

    async def aclose(self) -> None:
        """Close the connections to the endpoint."""
        await self._llm.aclose()


def _extracted(parsed: ParsedReply, *, reused: bool = False) -> Extracted:
    return Extracted(parsed.candidates, parsed.discarded, reused)


def _spent(error: LLMBadReply) -> Usage | None:
    """What an unusable answer cost, where the endpoint said so."""
    facts = error.params
    if "prompt_tokens" not in facts:
        return None
    return Usage(facts["model"], facts["prompt_tokens"], facts["completion_tokens"])

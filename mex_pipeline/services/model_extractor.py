"""Asking a model about one chunk: a kept reply first, then the call, one reminder, and every token on the books (H5, H7)."""

import hashlib
import json
from contextlib import suppress
from typing import cast

from mex_pipeline import faults
from mex_pipeline.clock import Clock, iso, millis
from mex_pipeline.domain.conversation import Chunk
from mex_pipeline.domain.schema import Schema
from mex_pipeline.errors import LLMBadReply
from mex_pipeline.llm.contract import ParsedReply, parse_reply
from mex_pipeline.llm.port import LLM, Completion, Message, ResponseFormat, Usage
from mex_pipeline.llm.prompts import Prompts, build_messages, example_values, reminder
from mex_pipeline.services.async_endings import patiently
from mex_pipeline.services.extractor import Extracted, ExtractorKind, Task
from mex_pipeline.store import usage
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

    async def learn(self, worked: ResponseFormat) -> None:
        """Remember what worked now, when it is news."""
        if worked != self._known:
            self._known = worked
            now = millis(self._clock.now())
            async with self._db.transaction() as tx:
                await tx.run(usage.learn_format(self._base_url, self._model, worked, now))


class _Unusable(Exception):
    def __init__(self, cause: LLMBadReply, text: str) -> None:
        super().__init__()
        self.cause = cause
        self.text = text


class ModelExtractor:
    """Reads with a model. Replies that arrived are kept until their job ends: nothing is paid twice (product P4)."""

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
    ) -> None:
        self.name = llm.model
        self.examples = example_values(prompts)
        self._llm = llm
        self._db = db
        self._clock = clock
        self._prompts = prompts
        self._schema = schema
        self._slots = slots
        self._formats = formats

    async def extract(self, chunk: Chunk, task: Task) -> Extracted:
        """Return the judged candidates of one chunk; raises LLMUnavailable, LLMRejected, LLMBadReply."""
        key = self._key(chunk, task)
        kept = await self._db.first(usage.kept_reply(key))
        if kept is not None:
            with suppress(LLMBadReply):  # kept by a version that read it otherwise: asked again
                return _extracted(parse_reply(kept), reused=True)
        messages = build_messages(
            self._prompts, slots=self._slots, known=list(task.known), today=task.today, chunk=chunk
        )
        try:
            return _extracted(await self._ask(messages, key, task))
        except _Unusable as unusable:
            again = [*messages, *reminder(self._prompts, unusable.text)]
        try:
            return _extracted(await self._ask(again, key, task))
        except _Unusable as unusable:
            raise unusable.cause from None

    async def _ask(self, messages: list[Message], key: str, task: Task) -> ParsedReply:
        try:
            completion = await self._llm.complete(messages)
        except LLMBadReply as error:
            facts = error.params
            if "prompt_tokens" in facts:
                await self._spend(Usage(facts["model"], facts["prompt_tokens"], facts["completion_tokens"]), task)
            raise _Unusable(error, "") from error
        await self._formats.learn(completion.response_format)
        try:
            parsed = parse_reply(completion.text)
        except LLMBadReply as error:
            await self._spend(completion.usage, task)
            raise _Unusable(error, completion.text) from error
        # The reply and its cost are one short transaction: after it, a crash cannot make this call be paid again.
        await patiently(lambda: self._keep(key, completion, task))
        faults.point("reply_kept")
        return parsed

    async def _keep(self, key: str, completion: Completion, task: Task) -> None:
        at = millis(self._clock.now())
        async with self._db.transaction() as tx:
            await tx.run(
                usage.keep_reply(key, task.job_id, task.source_file, completion.text, at),
                self._cost(completion.usage, task),
            )

    async def _spend(self, spent: Usage, task: Task) -> None:
        async with self._db.transaction() as tx:
            await tx.run(self._cost(spent, task))

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
            self._schema.fingerprint,
        ]
        return hashlib.sha256(json.dumps(identity, ensure_ascii=True).encode()).hexdigest()

    async def aclose(self) -> None:
        """Close the connections to the endpoint."""
        await self._llm.aclose()


def _extracted(parsed: ParsedReply, *, reused: bool = False) -> Extracted:
    return Extracted(parsed.candidates, parsed.discarded, reused)

"""One question to the model: within the budget, its cost on the books, its reply kept until the job ends (product P4, C10)."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from mex_pipeline import faults
from mex_pipeline.clock import Clock, iso, millis
from mex_pipeline.domain.budget import estimate_tokens
from mex_pipeline.errors import LLMBadReply
from mex_pipeline.llm.port import LLM, Message, UnusableReply, Usage
from mex_pipeline.services import answers_kept
from mex_pipeline.services.async_endings import patiently
from mex_pipeline.services.extractor import Task, Turnstile
from mex_pipeline.services.formats import FormatMemory
from mex_pipeline.services.spending import Spending
from mex_pipeline.store import usage, workers
from mex_pipeline.store.async_database import AsyncDatabase
from mex_pipeline.store.sql import Statement

T = TypeVar("T")


class _Unusable(Exception):
    def __init__(self, cause: LLMBadReply, text: str) -> None:
        super().__init__()
        self.cause = cause
        self.text = text


class Asker:
    """Asks a model on behalf of a job. `endpoint` is the scope whose failures an answer ends (services/pauses.py)."""

    def __init__(
        self, llm: LLM, db: AsyncDatabase, clock: Clock, formats: FormatMemory, endpoint: str, spending: Spending
    ) -> None:
        self.model = llm.model
        self._llm = llm
        self._db = db
        self._clock = clock
        self._formats = formats
        self._endpoint = endpoint
        self._spending = spending

    async def kept(self, key: str) -> str | None:
        """Return the reply that arrived under a key, if its job has not ended."""
        return await self._db.first(usage.kept_reply(key))

    async def answer(
        self,
        messages: list[Message],
        key: str,
        task: Task,
        turnstile: Turnstile,
        *,
        parse: Callable[[str], T],
        remind: Callable[[str], Sequence[Message]],
    ) -> T:
        """Ask, and once more with a reminder when the answer cannot be used (product H7); a refusal is no slip.

        `parse` raises LLMBadReply for an unusable text, of which `remind` makes the messages that are added. Raises
        LLMUnavailable, LLMRejected, LLMBadReply, OverBudget, and what the turnstile raises.
        """
        try:
            return await self._ask(messages, key, task, turnstile, parse)
        except _Unusable as unusable:
            if unusable.cause.code == "llm_refusal":
                raise unusable.cause from None
            again = [*messages, *remind(unusable.text)]
        try:
            return await self._ask(again, key, task, turnstile, parse)
        except _Unusable as unusable:
            raise unusable.cause from None

    async def _ask(
        self, messages: list[Message], key: str, task: Task, turnstile: Turnstile, parse: Callable[[str], T]
    ) -> T:
        async with self._spending.allowed(task.job_id, task.source_file, size(messages)):
            return await self._call(messages, key, task, turnstile, parse)

    async def _call(
        self, messages: list[Message], key: str, task: Task, turnstile: Turnstile, parse: Callable[[str], T]
    ) -> T:
        try:
            async with turnstile():
                completion = await self._llm.complete(messages)
        except LLMBadReply as error:
            raw = error.raw if isinstance(error, UnusableReply) else ""
            raise await self._unusable(error, _spent(error), raw, "", key, task) from error
        try:
            parsed = parse(completion.text)
        except LLMBadReply as error:
            raise await self._unusable(error, completion.usage, completion.text, completion.text, key, task) from error
        # The reply and its cost are one short transaction: after it, a crash cannot make this call be paid again.
        beside = [self._cost(completion.usage, task), workers.answered(self._endpoint)]
        beside += self._formats.learn(completion.response_format)
        await self.keep(key, completion.text, task, *beside)
        faults.point("reply_kept")
        return parsed

    async def _unusable(
        self, error: LLMBadReply, spent: Usage | None, raw: str, said: str, key: str, task: Task
    ) -> _Unusable:
        """Keep what came, so that a person can look at it, and put it on the books."""
        cost = [] if spent is None else [self._cost(spent, task)]
        await self.keep(answers_kept.raw_key(key), answers_kept.cut(raw), task, *cost)
        return _Unusable(error, said)

    async def keep(self, key: str, text: str, task: Task, *beside: Statement) -> None:
        """Keep a text under a key until the job ends, and write what goes with it; the latter alone after a purge."""
        await patiently(lambda: self._keep(key, text, task, beside))

    async def _keep(self, key: str, text: str, task: Task, beside: Sequence[Statement]) -> None:
        at = millis(self._clock.now())
        async with self._db.transaction() as tx:
            await tx.run(usage.keep_reply(key, task.job_id, task.source_file, text, at, task.purges), *beside)

    def _cost(self, spent: Usage, task: Task) -> Statement:
        now, tokens = iso(self._clock.now()), (spent.prompt_tokens, spent.completion_tokens)
        return usage.record(task.purpose, spent.model, *tokens, task.job_id, now, task.agent)

    async def aclose(self) -> None:
        """Close the connections to the endpoint."""
        await self._llm.aclose()


def size(messages: list[Message]) -> int:
    """Return about how many tokens messages have."""
    return sum(estimate_tokens(message.content) for message in messages)


def _spent(error: LLMBadReply) -> Usage | None:
    """What an unusable answer cost, where the endpoint said so."""
    facts = error.params
    if "prompt_tokens" not in facts:
        return None
    return Usage(facts["model"], facts["prompt_tokens"], facts["completion_tokens"])

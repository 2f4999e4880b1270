"""Asking a model about one chunk: a kept reply first, then the call (product H5). How a call is made is in asking.py."""

import hashlib
import json
from contextlib import suppress
from functools import partial

from mex_pipeline.domain.conversation import Chunk
from mex_pipeline.domain.schema import Schema
from mex_pipeline.errors import LLMBadReply, LLMRejected
from mex_pipeline.llm.contract import ParsedReply, parse_reply
from mex_pipeline.llm.port import Message
from mex_pipeline.llm.prompts import Prompts, build_messages, example_values, reminder
from mex_pipeline.services import answers_kept
from mex_pipeline.services.asking import Asker, size
from mex_pipeline.services.extractor import Extracted, ExtractorKind, Task, Turnstile
from mex_pipeline.services.thinking import helps_to_split


class ModelExtractor:
    """Reads with a model. Replies that arrived are kept until their job ends: nothing is paid twice (product P4).

    Kept beside them, under keys of their own: that a chunk is not taken whole, and the last unusable answer about it.
    """

    kind: ExtractorKind = "model"

    def __init__(self, asker: Asker, prompts: Prompts, schema: Schema, slots: list[str]) -> None:
        self.name = asker.model
        self.examples = example_values(prompts)
        self._asker = asker
        self._prompts = prompts
        self._schema_version = schema.fingerprint
        self._slots = slots

    def input_tokens(self, chunk: Chunk, task: Task) -> int:
        """Return about how many tokens the request about a chunk has."""
        return size(self._messages(chunk, task))

    def _messages(self, chunk: Chunk, task: Task) -> list[Message]:
        return build_messages(self._prompts, slots=self._slots, known=list(task.known), today=task.today, chunk=chunk)

    async def extract(self, chunk: Chunk, task: Task, turnstile: Turnstile) -> Extracted:
        """Return the judged candidates of one chunk.

        Raises LLMUnavailable, LLMRejected, LLMBadReply, OverBudget, NoFurtherCall.
        """
        key = self._key(chunk, task)
        kept = await self._asker.kept(key)
        if kept is not None:
            with suppress(LLMBadReply):  # kept by a version that read it otherwise: asked again
                return _extracted(parse_reply(kept), reused=True)
        refused = await self._asker.kept(answers_kept.split_key(key))
        if refused is not None:
            raise answers_kept.refusal(refused)
        try:
            return _extracted(await self._answer(chunk, key, task, turnstile))
        except (LLMRejected, LLMBadReply) as error:
            if helps_to_split(error, chunk):
                mark = answers_kept.split_mark(error)
                await self._asker.keep(answers_kept.split_key(key), mark, task)
            raise

    async def _answer(self, chunk: Chunk, key: str, task: Task, turnstile: Turnstile) -> ParsedReply:
        messages = self._messages(chunk, task)
        remind = partial(reminder, self._prompts)
        return await self._asker.answer(messages, key, task, turnstile, parse=parse_reply, remind=remind)

    def _key(self, chunk: Chunk, task: Task) -> str:
        """The reply's identity: source, turns and their words, model, prompt and schema version; not the known values."""
        identity = [
            task.source_file,
            [[turn.key, turn.text, is_context] for _, turn, is_context in chunk.numbered],
            self.name,
            self._prompts.version,
            self._schema_version,
        ]
        return hashlib.sha256(json.dumps(identity, ensure_ascii=True).encode()).hexdigest()

    async def aclose(self) -> None:
        """Close the connections to the endpoint."""
        await self._asker.aclose()


def _extracted(parsed: ParsedReply, *, reused: bool = False) -> Extracted:
    return Extracted(parsed.candidates, parsed.discarded, reused)

"""Asking a model to condense one group of records: a kept reply first, then the call (product C4, C13, H5)."""

import hashlib
import json
from contextlib import suppress

from mex_pipeline.domain.compact import Group, Proposed
from mex_pipeline.errors import LLMBadReply, LLMRejected
from mex_pipeline.llm.port import Message
from mex_pipeline.llm.prompts import answered_with
from mex_pipeline.llm.summaries import CompactPrompts, messages_for, parse_summaries
from mex_pipeline.services import answers_kept
from mex_pipeline.services.asking import Asker, size
from mex_pipeline.services.extractor import Task, Turnstile

NOT_TAKEN = frozenset({"llm_context_length", "llm_refusal"})
"""What the model says of a group that it does not take, now or later."""


class Compactor:
    """Condenses with a model. Replies that arrived are kept until their job ends: nothing is paid twice (product P4)."""

    def __init__(self, asker: Asker, prompts: CompactPrompts) -> None:
        self.name = asker.model
        self._asker = asker
        self._prompts = prompts

    def input_tokens(self, group: Group) -> int:
        """Return about how many tokens the request about a group has."""
        return size(messages_for(self._prompts, group))

    async def condense(self, group: Group, task: Task, turnstile: Turnstile) -> tuple[tuple[Proposed, ...], bool]:
        """Return the summaries that the model proposes, and whether a kept reply answered.

        Raises LLMUnavailable, LLMRejected, LLMBadReply, OverBudget; that a group was not taken is kept as well.
        """
        key = self._key(group, task)
        kept = await self._asker.kept(key)
        if kept is not None:
            with suppress(LLMBadReply):  # kept by a version that read it otherwise: asked again
                return parse_summaries(kept), True
        refused = await self._asker.kept(answers_kept.split_key(key))
        if refused is not None:
            raise answers_kept.refusal(refused)
        messages = messages_for(self._prompts, group)
        try:
            return await self._asker.answer(
                messages, key, task, turnstile, parse=parse_summaries, remind=self._reminder
            ), False
        except (LLMRejected, LLMBadReply) as error:
            if error.code in NOT_TAKEN:
                await self._asker.keep(answers_kept.split_key(key), answers_kept.split_mark(error), task)
            raise

    def _reminder(self, bad_reply: str) -> list[Message]:
        return answered_with(bad_reply, self._prompts.repair)

    def _key(self, group: Group, task: Task) -> str:
        """The reply's identity: the records and their words, model and prompt version."""
        records = [
            [record.id, text, day] for record, text, day in zip(group.records, group.texts, group.days, strict=True)
        ]
        identity = [task.source_file, records, self.name, self._prompts.version]
        return hashlib.sha256(json.dumps(identity, ensure_ascii=True).encode()).hexdigest()

    async def aclose(self) -> None:
        """Close the connections to the endpoint."""
        await self._asker.aclose()

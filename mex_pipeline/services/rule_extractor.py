"""The built-in rules as an extractor: what serves while no model is configured (product C9)."""

from mex_pipeline.domain.conversation import Chunk
from mex_pipeline.domain.schema import Schema
from mex_pipeline.rules_extractor.extract import extract
from mex_pipeline.services.extractor import Extracted, ExtractorKind, Task, Turnstile


class RuleExtractor:
    """Reads with patterns; makes no call and needs no network."""

    kind: ExtractorKind = "rules"
    name = "rules"
    examples: frozenset[str] = frozenset()

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def input_tokens(self, chunk: Chunk, task: Task) -> int:  # noqa: ARG002 - nothing is sent
        """Return 0: the rules read it here."""
        return 0

    async def extract(self, chunk: Chunk, task: Task, turnstile: Turnstile) -> Extracted:  # noqa: ARG002 - no call
        """Return what the user said in so many words."""
        spoken = [(number, turn) for number, turn, is_context in chunk.numbered if not is_context]
        return Extracted(tuple(extract(spoken, self._has_slot)))

    def _has_slot(self, topic: str, sub_topic: str) -> bool:
        return self._schema.find(topic, sub_topic) is not None

    async def aclose(self) -> None:
        """Nothing to let go of."""

"""What the pipeline needs of a model, free of any client library."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from mex_pipeline.errors import LLMBadReply

ResponseFormat = Literal["json_schema", "json_object", "prompt"]
"""How structured output is asked for, strongest first (product C12)."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat completion."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens one call cost, as the endpoint reports them (0 where it does not)."""

    model: str
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Completion:
    """A usable reply: its text, what it cost, why the model stopped, and how structured output was asked for."""

    text: str
    usage: Usage
    finish_reason: str = "stop"
    response_format: ResponseFormat = "prompt"


class UnusableReply(LLMBadReply):
    """An answer without usable text; `raw` is what came all the same, kept out of `params`, which are written down."""

    def __init__(self, code: str, /, raw: str, **params: Any) -> None:
        super().__init__(code, **params)
        self.raw = raw


class LLM(Protocol):
    """An endpoint that completes messages."""

    model: str

    async def complete(self, messages: list[Message]) -> Completion:
        """Return the model's reply.

        Raises LLMUnavailable after the in-call retries are used up (`retry_after` seconds in its params when the
        endpoint named them), LLMRejected for a refusal that retrying does not cure, UnusableReply for an answer without
        usable text. Where the endpoint reported what an unusable answer cost, the fields of Usage are in the params.
        All carry `endpoint`.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...

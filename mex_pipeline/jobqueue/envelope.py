"""A wake-up as it travels: JSON of our own, the same on every transport, never a pickle."""

import json
import uuid
from typing import Any

from huey.registry import Message
from huey.serializer import Serializer

MODULE = "mex_pipeline.jobqueue"
"""Huey names a task by its module; this one stays, wherever the code lies."""


class Envelope(Serializer):
    """`{"v": 1, "j": job id, "p": priority}`; anything else is refused with ValueError before anything is built."""

    def _serialize(self, data: Message) -> bytes:
        return json.dumps({"v": 1, "j": data.args[0], "p": data.priority or 0}).encode()

    def _deserialize(self, data: Any) -> Message:
        if not isinstance(data, bytes | memoryview):  # a forged row of another type
            raise ValueError("not a wake-up of ours")
        try:
            envelope = json.loads(bytes(data))
        except RecursionError as error:
            raise ValueError("not a wake-up of ours") from error
        if not isinstance(envelope, dict) or envelope.get("v") != 1 or not isinstance(envelope.get("j"), str):
            raise ValueError("not a wake-up of ours")
        return Message(
            id=str(uuid.uuid4()), name=f"{MODULE}.run", retries=0, retry_delay=0, args=(envelope["j"],), kwargs={}
        )

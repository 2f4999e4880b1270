"""What is kept of answers beside the replies: that a chunk was not taken whole, and answers that could not be used.

They lie among the kept replies, under keys that no reply has, so they go where those go: with the end of their job, with
`mex forget --hard`, with the old jobs.
"""

import json

from mex_pipeline.domain.job import Job
from mex_pipeline.errors import LLMRejected, MexError
from mex_pipeline.store import usage
from mex_pipeline.store.database import Database

MAX_RAW_BYTES = 65_536


def split_key(key: str) -> str:
    """Return the key under which is kept that the chunk of `key` was not taken whole."""
    return usage.SPLIT + key


def split_mark(error: MexError) -> str:
    """Return what is kept of the error: its code and plain facts."""
    facts = {name: value for name, value in error.params.items() if isinstance(value, str | int | float)}
    return json.dumps({"code": error.code, "params": facts}, ensure_ascii=False)


def refusal(mark: str) -> LLMRejected:
    """Return the error that a kept mark stands for: the chunk is asked in parts without being asked whole again."""
    said = json.loads(mark)
    return LLMRejected(said["code"], **said["params"])


def raw_key(key: str) -> str:
    """Return the key of the last unusable answer about the chunk of `key`."""
    return usage.RAW + key


def cut(raw: str) -> str:
    """Return the first 64 kB of an answer."""
    return raw.encode("utf-8", "replace")[:MAX_RAW_BYTES].decode("utf-8", "ignore")


def unusable_answers(db: Database, job: Job) -> list[str]:
    """Return the last unusable answer about each chunk of a job, oldest first, as they came; gone when the job succeeds."""
    return db.all(usage.raw_answers(job.id))

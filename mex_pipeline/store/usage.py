"""SQL of `llm_usage`, `kept_replies` and `endpoints`: what calls cost, what they answered, how each endpoint is asked."""

from mex_pipeline.domain.ids import new_id
from mex_pipeline.store.sql import Query, Statement, value

RAW, SPLIT = "raw:", "split:"
"""How the keys begin of what is kept beside the replies, whose own keys are hexadecimal digits (services/answers_kept.py)."""


def record(
    purpose: str, model: str, prompt_tokens: int, completion_tokens: int, job_id: str | None, now: str
) -> Statement:
    """Write what one call cost (seed 004 §7.4)."""
    return Statement(
        "INSERT INTO llm_usage (id, purpose, model, prompt_tokens, completion_tokens, created_at, job_id) "
        "VALUES (:id, :purpose, :model, :prompt, :completion, :now, :job_id)",
        {
            "id": new_id(),
            "purpose": purpose,
            "model": model,
            "prompt": prompt_tokens,
            "completion": completion_tokens,
            "now": now,
            "job_id": job_id,
        },
    )


def of_job(job_id: str) -> Query[dict[str, int]]:
    """Calls and tokens of one job, all attempts together."""
    return Query(
        "SELECT count(*) AS calls, coalesce(sum(prompt_tokens), 0) AS prompt_tokens, "
        "coalesce(sum(completion_tokens), 0) AS completion_tokens FROM llm_usage WHERE job_id = :job_id",
        {"job_id": job_id},
        dict,
    )


def totals() -> Query[dict[str, object]]:
    """Calls and tokens by purpose and model."""
    return Query(
        "SELECT purpose, model, count(*) AS calls, sum(prompt_tokens) AS prompt_tokens, "
        "sum(completion_tokens) AS completion_tokens FROM llm_usage GROUP BY purpose, model ORDER BY purpose, model",
        {},
        dict,
    )


def kept_reply(key: str) -> Query[str]:
    """The reply kept under a key, if it arrived before."""
    return Query("SELECT reply FROM kept_replies WHERE key = :key", {"key": key}, value("reply"))


def keep_reply(key: str, job_id: str, source_file: str, reply: str, at: int) -> Statement:
    """Keep a reply that was paid for until its job ends (product P4, H5)."""
    return Statement(
        "INSERT INTO kept_replies (key, job_id, source_file, reply, kept_at) VALUES (:key, :job_id, :source_file, :reply, :at) "
        "ON CONFLICT (key) DO UPDATE SET job_id = :job_id, reply = :reply, kept_at = :at",
        {"key": key, "job_id": job_id, "source_file": source_file, "reply": reply, "at": at},
    )


def raw_answers(job_id: str) -> Query[str]:
    """The unusable answers kept for a job, oldest first."""
    return Query(
        "SELECT reply FROM kept_replies WHERE job_id = :job_id AND key GLOB :keys ORDER BY kept_at, key",
        {"job_id": job_id, "keys": f"{RAW}*"},
        value("reply"),
    )


def drop_splits(source_file: str) -> Statement:
    """Forget which chunks of a source were not taken whole: who asks again may have given the model more room."""
    return Statement(
        "DELETE FROM kept_replies WHERE source_file = :source_file AND key GLOB :keys",
        {"source_file": source_file, "keys": f"{SPLIT}*"},
    )


def drop_replies(source_file: str) -> Statement:
    """Drop the kept replies of a source whose job has ended."""
    return Statement("DELETE FROM kept_replies WHERE source_file = :source_file", {"source_file": source_file})


def drop_replies_of(job_id: str) -> Statement:
    """Forget the replies that one job kept last, but for those that an unfinished job of the source will use."""
    return Statement(
        "DELETE FROM kept_replies WHERE job_id = :job_id AND NOT EXISTS (SELECT 1 FROM jobs j "
        "WHERE j.lock_key = kept_replies.source_file AND j.state IN ('queued', 'retrying', 'running'))",
        {"job_id": job_id},
    )


def response_format(base_url: str, model: str) -> Query[str]:
    """How structured output worked at an endpoint (product C12)."""
    return Query(
        "SELECT response_format FROM endpoints WHERE base_url = :base_url AND model = :model",
        {"base_url": base_url, "model": model},
        value("response_format"),
    )


def learn_format(base_url: str, model: str, response_format: str, at: int) -> Statement:
    """Remember how structured output worked at an endpoint."""
    return Statement(
        "INSERT INTO endpoints (base_url, model, response_format, learned_at) VALUES (:base_url, :model, :format, :at) "
        "ON CONFLICT (base_url, model) DO UPDATE SET response_format = :format, learned_at = :at",
        {"base_url": base_url, "model": model, "format": response_format, "at": at},
    )

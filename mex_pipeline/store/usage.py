"""SQL of `llm_usage`, `kept_replies` and `endpoints`: what calls cost, what they answered, how each endpoint is asked."""

from dataclasses import dataclass

from mex_pipeline.domain.ids import new_id
from mex_pipeline.store.sql import Query, Statement, value

RAW, SPLIT = "raw:", "split:"
"""How the keys begin of what is kept beside the replies, whose own keys are hexadecimal digits (services/answers_kept.py)."""


LIFTED = "budget"
"""The row of `queue_control` that says since when a person lets the day's budget be passed; it pauses nothing."""
_TOKENS = "coalesce(sum(prompt_tokens + completion_tokens), 0)"


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens of the day and of a job so far, and what a person has allowed: the job, or the day, to pass its budget."""

    day: int
    job: int
    job_may: bool = False
    day_may: bool = False


def record(
    purpose: str,
    model: str,
    prompt_tokens: int,
    completion_tokens: int,
    job_id: str | None,
    now: str,
    agent: str | None = None,
) -> Statement:
    """Write what one call cost (seed 004 §7.4).

    `agent` is the adapter of the source it was for, `plain` for given text and notes; None for a call that read none.
    """
    return Statement(
        "INSERT INTO llm_usage (id, purpose, model, prompt_tokens, completion_tokens, created_at, job_id, agent) "
        "VALUES (:id, :purpose, :model, :prompt, :completion, :now, :job_id, :agent)",
        {
            "id": new_id(),
            "purpose": purpose,
            "model": model,
            "prompt": prompt_tokens,
            "completion": completion_tokens,
            "now": now,
            "job_id": job_id,
            "agent": agent,
        },
    )


def spent(job_id: str, source: str, since: str, since_ms: int) -> Query[Spent]:
    """What was spent since the day began, and on a job with those of the same source that were merged into it."""
    return Query(
        f"SELECT (SELECT {_TOKENS} FROM llm_usage WHERE created_at >= :since) AS day, "
        f"(WITH RECURSIVE mine (id) AS (SELECT :job_id UNION SELECT j.id FROM jobs j JOIN mine "
        "ON j.reason = 'merged:' || mine.id WHERE j.lock_key = :source) "
        f"SELECT {_TOKENS} FROM llm_usage WHERE job_id IN (SELECT id FROM mine)) AS job, "
        "coalesce((SELECT over_budget FROM jobs WHERE id = :job_id), 0) AS job_may, "
        "EXISTS (SELECT 1 FROM queue_control WHERE scope = :lifted AND at >= :since_ms) AS day_may",
        {"job_id": job_id, "source": source, "since": since, "since_ms": since_ms, "lifted": LIFTED},
        lambda row: Spent(row["day"], row["job"], bool(row["job_may"]), bool(row["day_may"])),
    )


def spent_since(since: str) -> Query[int]:
    """Tokens of all calls since a stored moment."""
    return Query(f"SELECT {_TOKENS} AS n FROM llm_usage WHERE created_at >= :since", {"since": since}, value("n"))


def lifted_since(since_ms: int) -> Query[int]:
    """1 when a person has let the budget be passed of the day that began then."""
    return Query(
        "SELECT 1 AS n FROM queue_control WHERE scope = :lifted AND at >= :since",
        {"lifted": LIFTED, "since": since_ms},
        value("n"),
    )


def lift_day(now: int) -> Statement:
    """Let the day's budget be passed until the day is over."""
    return Statement(
        "INSERT INTO queue_control (scope, paused_until, reason, at) VALUES (:lifted, 0, 'user', :now) "
        "ON CONFLICT (scope) DO UPDATE SET at = :now",
        {"lifted": LIFTED, "now": now},
    )


def let_job(job_id: str) -> Statement:
    """Let a job pass every budget."""
    return Statement("UPDATE jobs SET over_budget = 1 WHERE id = :id", {"id": job_id})


def by_agent() -> Query[dict[str, object]]:
    """Calls and tokens by agent, the dearest first; None for calls that read no source."""
    return Query(
        "SELECT agent, count(*) AS calls, sum(prompt_tokens) AS prompt_tokens, sum(completion_tokens) AS completion_tokens "
        "FROM llm_usage GROUP BY agent ORDER BY sum(prompt_tokens + completion_tokens) DESC, agent",
        {},
        dict,
    )


def by_job(limit: int) -> Query[dict[str, object]]:
    """`{job_id, agent, purpose, calls, tokens}` of the jobs that cost most."""
    return Query(
        f"SELECT job_id, max(agent) AS agent, max(purpose) AS purpose, count(*) AS calls, {_TOKENS} AS tokens FROM llm_usage "
        "WHERE job_id IS NOT NULL GROUP BY job_id ORDER BY tokens DESC, max(created_at) DESC, job_id LIMIT :limit",
        {"limit": limit},
        dict,
    )


def of_extraction() -> Query[dict[str, int]]:
    """`{jobs, tokens}`: what extracting has cost, and over how many jobs."""
    return Query(
        f"SELECT count(DISTINCT job_id) AS jobs, {_TOKENS} AS tokens FROM llm_usage WHERE job_id IS NOT NULL "
        "AND purpose IN ('extract', 'import')",
        {},
        dict,
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


def keep_reply(key: str, job_id: str, source_file: str, reply: str, at: int, purges: int = 0) -> Statement:
    """Keep a reply that was paid for until its job ends (product P4, H5).

    Not when something was purged after line `purges` of history: the reply may tell the words of it anew (product B6).
    """
    return Statement(
        "INSERT INTO kept_replies (key, job_id, source_file, reply, kept_at) SELECT :key, :job_id, :source_file, :reply, :at "
        "WHERE NOT EXISTS (SELECT 1 FROM history WHERE seq > :purges AND event = 'delete') "
        "ON CONFLICT (key) DO UPDATE SET job_id = :job_id, reply = :reply, kept_at = :at",
        {"key": key, "job_id": job_id, "source_file": source_file, "reply": reply, "at": at, "purges": purges},
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


def drop_unpreviewed_replies(source_file: str) -> Statement:
    """Drop the kept replies of a source whose job has ended, but for those a preview has paid for (product P4)."""
    return Statement(
        "DELETE FROM kept_replies WHERE source_file = :source_file AND NOT EXISTS "
        "(SELECT 1 FROM jobs p WHERE p.id = kept_replies.job_id AND p.reason = 'preview')",
        {"source_file": source_file},
    )


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

"""Sweeping: known sources that have grown although nobody said so get a job (docs/jobs.md, product H1, H6).

A hook that is killed before its request is written costs minutes then, and no memories.
"""

from mex_pipeline import faults
from mex_pipeline.adapters import registry
from mex_pipeline.clock import Clock, millis
from mex_pipeline.domain.ids import new_id
from mex_pipeline.domain.job import MAX_ATTEMPTS, Job, JobState, Trigger
from mex_pipeline.errors import InvalidInput, SourceGone, SourceUnreadable
from mex_pipeline.services.files import source_key
from mex_pipeline.services.jobs import EXTRACT, payload
from mex_pipeline.services.transcripts import look
from mex_pipeline.settings import LLMSettings
from mex_pipeline.store import jobs, upkeep
from mex_pipeline.store.database import Database
from mex_pipeline.store.upkeep import Known

SWEEP_SECONDS = faults.seconds("MEX_TEST_SWEEP", 600.0)
PRIORITY = -5
AT_ONCE = 500
"""Jobs that one sweep makes at most; the next sweep finds the rest."""


def serving(llm: LLMSettings) -> str:
    """Return which extractor serves, `model` or `rules`; raises NotConfigured when the model is half configured."""
    llm.require_whole()
    return "model" if llm.is_configured else "rules"


def sweep(db: Database, llm: LLMSettings, clock: Clock) -> int:
    """Queue an extraction of every known source that has not been looked at as it is now; returns how many.

    The files are looked at without any lock. Inside it the sources are looked up again: one that got a job meanwhile,
    or was read to its end, is passed over. Raises NotConfigured.
    """
    kind = serving(llm)
    grown = [known for known in db.all(upkeep.idle_sources(kind)) if has_grown(known)][:AT_ONCE]
    if not grown:
        return 0
    now = millis(clock.now())
    with db.transaction() as tx:
        same = set(tx.all(upkeep.idle_sources(kind, [known.source for known in grown])))
        swept = [look_again(known, Trigger.SWEEP, now) for known in grown if known in same]
        for job in swept:
            tx.first(jobs.insert_or_merge(job))
        tx.run(*(jobs.event(job.id, now, "queued") for job in swept))
    return len(swept)


def has_grown(known: Known) -> bool:
    """True when the source is there, can be read here, and is not as it was when it was last looked at."""
    try:
        stands = look(source_key(known.source), registry.find(known.adapter))
    except (SourceGone, SourceUnreadable, ValueError, InvalidInput):  # for now or for good; an adapter that went away
        return False
    return known.wants_a_look(stands.size, stands.changed_at)


def look_again(known: Known, trigger: Trigger, now: int) -> Job:
    """Return the job that reads a known source once more, about whom it was read before."""
    return Job(
        id=new_id(),
        kind=EXTRACT,
        payload=payload(known.adapter, source_key(known.source), known.subject or "user"),
        state=JobState.QUEUED,
        trigger=trigger,
        available_at=now,
        created_at=now,
        max_attempts=MAX_ATTEMPTS,
        priority=PRIORITY,
        dedup_key=known.source,
        lock_key=known.source,
    )

"""When a run counts as stuck: how long it may show no progress (product H7)."""

from mex_pipeline import faults
from mex_pipeline.settings import LLMSettings

QUIET_SECONDS = faults.seconds("MEX_TEST_PATIENCE", 1800.0)
"""For reading, judging and writing, and for jobs that ask no model: far more than the largest source takes."""
LONGEST_WAIT_SECONDS = 30.0
"""The longest Retry-After that is waited for inside a call (llm/retry.py)."""
LONGEST_SECONDS = 604_800.0


def patience(llm: LLMSettings, *, asks_model: bool) -> float:
    """Return the seconds without progress after which a run is taken back; longer than the worst case of one answer.

    The worst case is every try timing out after the longest wait, twice: an unusable answer is followed by a reminder.
    """
    if not asks_model:
        return QUIET_SECONDS
    retries = min(llm.max_retries, 1_000_000)
    last_wait = llm.retry_base_seconds * 2.0 ** min(max(0, retries - 1), 100) * 1.25
    call = (retries + 1) * llm.timeout_seconds + retries * max(LONGEST_WAIT_SECONDS, last_wait)
    return min(2 * call + QUIET_SECONDS, LONGEST_SECONDS)

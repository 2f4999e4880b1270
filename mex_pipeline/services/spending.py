"""The spend governor: no call is begun that would pass a cap of the budget (product C10; docs/jobs.md)."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from mex_pipeline.app import AsyncApp
from mex_pipeline.clock import Clock, iso, local_midnight, millis
from mex_pipeline.domain.job import Job
from mex_pipeline.errors import OverBudget
from mex_pipeline.services.thinking import Asked
from mex_pipeline.settings import BudgetSettings
from mex_pipeline.store import usage
from mex_pipeline.store.async_database import AsyncDatabase
from mex_pipeline.store.usage import Spent


def require(budget: BudgetSettings, spent: Spent, tokens: int, job_id: str, until: str) -> None:
    """Raise OverBudget when `tokens` more would pass the cap of the job, or of the day, which ends at `until` (ISO, UTC).

    A call that is larger than a whole day's budget holds up its own job alone: no midnight would let it go.
    """
    if spent.job_may:
        return
    if budget.job_tokens and spent.job + tokens > budget.job_tokens:
        raise OverBudget("budget_job", id=job_id, spent=spent.job, next=tokens, cap=budget.job_tokens)
    if not budget.daily_tokens or spent.day_may or spent.day + tokens <= budget.daily_tokens:
        return
    if tokens > budget.daily_tokens:
        raise OverBudget("budget_input", id=job_id, spent=0, next=tokens, cap=budget.daily_tokens)
    raise OverBudget("budget_daily", id=job_id, spent=spent.day, next=tokens, cap=budget.daily_tokens, until=until)


async def require_input(app: AsyncApp, job: Job, asked: Sequence[Asked]) -> None:
    """Raise OverBudget (`budget_input`) when all that a job is about to send is more than one job may send."""
    if app.settings.budget.job_input_tokens and not job.over_budget:
        sizes = [await asyncio.to_thread(app.extractor.input_tokens, one.chunk, one.task) for one in asked]
        require_tokens(app, job, sum(sizes))


def require_tokens(app: AsyncApp, job: Job, tokens: int) -> None:
    """Raise OverBudget (`budget_input`) when `tokens` are more than one job may send, and no person lets it."""
    cap = app.settings.budget.job_input_tokens
    if cap and not job.over_budget and tokens > cap:
        raise OverBudget("budget_input", id=job.id, spent=0, next=tokens, cap=cap)


class UnderWay:
    """The estimated tokens of this process's calls that have begun and are not on the books yet, job by job.

    Calls are made from many threads, each with an event loop of its own.
    """

    def __init__(self) -> None:
        self.mark = 0
        self._tokens: dict[str, int] = {}
        self._lock = threading.Lock()

    def enter(self, mark: int, job_id: str, tokens: int, judge: Callable[[int, int], None]) -> bool:
        """Count a call, unless `judge(tokens of all, of the job)` raises; False when another has ended since `mark`."""
        with self._lock:
            if mark != self.mark:
                return False
            judge(sum(self._tokens.values()), self._tokens.get(job_id, 0))
            self._tokens[job_id] = self._tokens.get(job_id, 0) + tokens
            return True

    def leave(self, job_id: str, tokens: int) -> None:
        """Take a call off the count: it is on the books now, or was not made."""
        with self._lock:
            self.mark += 1
            left = self._tokens[job_id] - tokens
            if left:
                self._tokens[job_id] = left
            else:
                del self._tokens[job_id]


class Spending:
    """Lets the calls of one job begin, as long as the budget has room for them.

    Counted are all calls on the books, whichever process made them, and those of this process that are under way.
    """

    def __init__(self, db: AsyncDatabase, clock: Clock, budget: BudgetSettings, under_way: UnderWay) -> None:
        self._db = db
        self._clock = clock
        self._budget = budget
        self._under_way = under_way

    @asynccontextmanager
    async def allowed(self, job_id: str, source: str, tokens: int) -> AsyncIterator[None]:
        """Hold room for a call of about `tokens` until it is on the books; raises OverBudget when there is none."""
        if not self._budget.is_capped:
            yield
            return
        await self._enter(job_id, source, tokens)
        try:
            yield
        finally:
            self._under_way.leave(job_id, tokens)

    async def _enter(self, job_id: str, source: str, tokens: int) -> None:
        entered = False
        while not entered:
            mark = self._under_way.mark
            now = self._clock.now()
            midnight, until = local_midnight(now), iso(local_midnight(now, days=1))
            spent = await self._db.first(usage.spent(job_id, source, iso(midnight), millis(midnight))) or Spent(0, 0)

            def judge(day: int, job: int, known: Spent = spent, until: str = until) -> None:
                whole = Spent(known.day + day, known.job + job, known.job_may, known.day_may)
                require(self._budget, whole, tokens, job_id, until)

            entered = self._under_way.enter(mark, job_id, tokens, judge)

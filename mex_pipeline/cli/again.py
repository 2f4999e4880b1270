"""`mex extract --again`: a session read anew (product B10)."""

from mex_pipeline.cli import jobs as jobs_cli
from mex_pipeline.cli import output
from mex_pipeline.cli.backfill import sent_lines
from mex_pipeline.cli.enqueue import require_subject
from mex_pipeline.cli.options import session, t
from mex_pipeline.domain.job import Trigger
from mex_pipeline.services import again, jobs


def extract_again(
    given: str,
    *,
    adapter: str | None,
    subject: str,
    in_background: bool,
    dry_run: bool,
    is_preview: bool,
    model: str | None,
) -> None:
    """Read the session anew, here or in the background, or show what that would change, or cost.

    Unless the words say that it is about somebody else, it is about whom it was about before.
    """
    require_subject(subject)
    with session() as app:
        asked = again.request(app, given, adapter=adapter, subject=None if subject == "user" else subject)
        asked = again.with_options(app, asked, is_preview=is_preview, model=model)
        if dry_run:
            shown = again.estimated(app, asked)
            lines = [t("budget.estimate", **shown.to_plain()), *sent_lines(app, shown)]
            output.emit(shown.to_plain() | {"conversations": 1}, lines)
            return
        trigger = Trigger.COMMAND if in_background else Trigger.FOREGROUND
        job, merged = jobs.submit(app, asked, trigger=trigger)
        jobs_cli.carry_out(app, job, merged=merged, in_background=in_background)

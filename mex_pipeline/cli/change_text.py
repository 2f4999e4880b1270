"""What a line of history says beside the contents, as people read it."""

from mex_pipeline.cli.options import t
from mex_pipeline.domain.memory import HistoryEntry


def pin_mark(line: HistoryEntry) -> str:
    """Return the mark of a line by which a memory was pinned, or its pin taken off; nothing for any other."""
    before, after = (bool(state and state.get("is_pinned")) for state in (line.before, line.after))
    if line.before is None or line.after is None or before is after:
        return ""
    return f" [{t('mark.pinned' if after else 'mark.unpinned')}]"

"""Which part of a Claude Code session a person went back behind: after a rewind both branches are in the file, unmarked.

Level 3 of session-formats §2, failing open (§3.1). A prompt whose parent has an earlier prompt for a child begins a new
branch there, and what hung below that earlier prompt until then is left. This is all that is ever taken for left, so
nothing that is written later can make it valid again: whatever the steps in which a file grows, no turn is lost that one
pass over the whole would give.
"""

from collections.abc import Iterable
from typing import NamedTuple


class Link(NamedTuple):
    """One record's place in the tree. `parent` crosses a compaction; `is_prompt` says that a person typed it."""

    uuid: str
    parent: str | None
    start: int
    is_prompt: bool


def may_rewind(links: Iterable[Link], after: int) -> bool:
    """True when a prompt behind the offset `after` begins a new branch, or hangs on a record that is not among these."""
    seen: set[str] = set()
    prompted: set[str] = set()
    for link in links:
        if link.uuid in seen:
            continue
        seen.add(link.uuid)
        if not link.is_prompt or link.parent is None:
            continue
        if link.start > after and (link.parent in prompted or link.parent not in seen):
            return True
        prompted.add(link.parent)
    return False


def left(links: Iterable[Link]) -> dict[str, int]:
    """Return the records below which a person went back, each with the offset of the last prompt that did so.

    What the record with such an id said is left if it stands before the offset. A prompt whose path back to the
    beginning has fewer than half of the prompts that were valid so far counts for nothing: the tree is not what it seems
    then. Prompts without parent are no siblings, since they also begin merged copies.
    """
    parents: dict[str, str | None] = {}
    starts: dict[str, int] = {}
    depths: dict[str, int] = {}
    children: dict[str, list[str]] = {}
    rewound: dict[str, int] = {}
    valid = 0
    for link in links:
        if link.uuid in parents:
            continue  # history that was copied again
        parents[link.uuid] = link.parent
        depths[link.uuid] = depth = depths.get(link.parent or "", 0) + link.is_prompt
        valid += link.is_prompt
        if not link.is_prompt or link.parent is None:
            continue
        starts[link.uuid] = link.start
        siblings = children.setdefault(link.parent, [])
        if siblings and 2 * depth >= valid:
            rewound[link.parent] = link.start
            valid = depth
        siblings.append(link.uuid)
    ends = {child: end for parent, end in rewound.items() for child in children[parent] if starts[child] < end}
    return _inherited(ends, parents) if ends else {}


def _inherited(ends: dict[str, int], parents: dict[str, str | None]) -> dict[str, int]:
    """Return for every record the greatest end among its own and its ancestors'; a cycle ends where it closes."""
    found: dict[str, int] = {}
    for uuid in parents:
        path: list[str] = []
        at: str | None = uuid
        while at is not None and at in parents and at not in found:
            found[at] = ends.get(at, 0)
            path.append(at)
            at = parents[at]
        end = found.get(at, 0) if at is not None else 0
        for one in reversed(path):
            found[one] = end = max(found[one], end)
    return {uuid: end for uuid, end in found.items() if end}

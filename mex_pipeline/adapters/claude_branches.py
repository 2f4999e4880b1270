"""Which part of a Claude Code session a person went back behind: after a rewind both branches are in the file, unmarked.

Level 3 of session-formats §2, failing open (§3.1). A prompt whose parent has an earlier prompt for a child begins a new
branch there, and what hung below that earlier prompt until then is left. This is all that is ever taken for left, so
nothing that is written later can make it valid again: whatever the steps in which a file grows, no turn is lost that one
pass over the whole would give.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple


class Link(NamedTuple):
    """One record's place in the tree. `parent` crosses a compaction; `is_prompt` says that a person typed it."""

    uuid: str
    parent: str | None
    start: int
    is_prompt: bool


class _Node(NamedTuple):
    """What begins a stretch of the tree: a prompt, or a record whose parent was not read before it; `depth` in prompts."""

    parent: int | None
    start: int
    depth: int


@dataclass(slots=True)
class Tree:
    """The tree of a session as far as its records were followed.

    A session has far more records than prompts, so a record that is no prompt is only known to belong to the node that
    its parent belongs to; what is left of that is left of it. Records go by the hashes of their ids.
    """

    branched: int = -1
    """The offset of the last prompt that began a new branch, or hung on a record that was not read before it."""
    _nodes: list[_Node] = field(default_factory=lambda: [_Node(None, 0, 0)])
    _node_of: dict[int, int] = field(default_factory=dict)
    _prompts: dict[int, list[int]] = field(default_factory=dict)
    _rewound: dict[int, int] = field(default_factory=dict)
    _valid: int = 0

    def follow(self, link: Link) -> None:
        """Take the next record into account; one whose id was there before is history that was copied again.

        A prompt whose path back to the beginning has fewer than half of the prompts that were valid so far counts for
        nothing: the tree is not what it seems then. Prompts without parent are no siblings, since they also begin merged
        copies.
        """
        name = hash(link.uuid)
        if name in self._node_of:
            return
        parent = None if link.parent is None else hash(link.parent)
        above = 0 if parent is None else self._node_of.get(parent)
        if above is not None and not link.is_prompt:
            self._node_of[name] = above
            return
        depth = self._nodes[above or 0].depth + link.is_prompt
        node = self._node_of[name] = len(self._nodes)
        self._nodes.append(_Node(parent, link.start, depth))
        if not link.is_prompt:
            return
        self._valid += 1
        if parent is None:
            return
        siblings = self._prompts.setdefault(parent, [])
        if siblings or above is None:
            self.branched = link.start
        if siblings and 2 * depth >= self._valid:
            self._rewound[parent] = link.start
            self._valid = depth
        siblings.append(node)

    def left(self, uuids: Iterable[str]) -> dict[str, int]:
        """Return those of the records below which a person went back, each with the offset of the last prompt that did so.

        What the record with such an id said is left if it stands before the offset.
        """
        if not self._rewound:
            return {}
        ends = self._ends()
        found = ((uuid, ends[self._node_of.get(hash(uuid), 0)]) for uuid in uuids)
        return {uuid: end for uuid, end in found if end}

    def _ends(self) -> list[int]:
        """Return for every node the greatest end among its own and its ancestors'; a cycle ends where it closes."""
        ends = [0] * len(self._nodes)
        for parent, end in self._rewound.items():
            for node in self._prompts[parent]:
                ends[node] = end if self._nodes[node].start < end else 0
        done = {0}
        for node in range(len(ends)):
            path: list[int] = []
            at = node
            while at not in done:
                done.add(at)
                path.append(at)
                at = self._node_of.get(self._nodes[at].parent or 0, 0)
            end = ends[at]
            for one in reversed(path):
                ends[one] = end = max(ends[one], end)
        return ends

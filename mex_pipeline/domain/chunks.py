"""Cutting a conversation into chunks at turn ends (product C2, H6)."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import accumulate

from mex_pipeline.domain.budget import estimate_tokens
from mex_pipeline.domain.conversation import CONTEXT_TURNS, Chunk, Turn


def cut(turns: Sequence[Turn], new: Collection[str], limit: int) -> tuple[Chunk, ...]:
    """Return the chunks that hold the turns whose key is in `new`, each of about `limit` estimated tokens.

    A chunk begins with up to two earlier turns as context and is left out when no user speaks in it: assistant text is
    context, never evidence (product F1). One turn longer than the limit is a chunk of its own, never cut.
    """
    groups: list[list[int]] = []
    size = 0
    for index, turn in enumerate(turns):
        if turn.key not in new:
            continue
        tokens = estimate_tokens(turn.text)
        if not groups or size + tokens > limit:
            groups.append([])
            size = 0
        groups[-1].append(index)
        size += tokens
    spoken = [group for group in groups if any(turns[index].role == "user" for index in group)]
    return tuple(
        Chunk(number, tuple(turns[max(0, group[0] - CONTEXT_TURNS) : group[0]]), tuple(turns[index] for index in group))
        for number, group in enumerate(spoken, 1)
    )


def smaller(chunk: Chunk) -> tuple[Chunk, ...]:
    """Return the parts in which a chunk is asked that a model does not take whole (queue §5.6); nothing when none is left.

    Several turns are cut at the turn end that is nearest to the middle, a single one loses its context. As in `cut`, a
    part carries earlier turns as context and is left out when no user speaks in it.
    """
    if len(chunk.turns) == 1:
        return (replace(chunk, context=()),) if chunk.context else ()
    middle = _middle([estimate_tokens(turn.text) for turn in chunk.turns])
    first, second = chunk.turns[:middle], chunk.turns[middle:]
    earlier = (*chunk.context, *first)[-CONTEXT_TURNS:]
    halves = (replace(chunk, turns=first), replace(chunk, context=earlier, turns=second))
    return tuple(half for half in halves if any(turn.role == "user" for turn in half.turns))


def _middle(sizes: list[int]) -> int:
    """The number of leading sizes whose sum is nearest to half of all; at least one, and never all."""
    sums = list(accumulate(sizes))
    return min(range(1, len(sizes)), key=lambda count: abs(2 * sums[count - 1] - sums[-1]))

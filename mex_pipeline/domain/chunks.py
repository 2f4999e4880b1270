"""Cutting a conversation into chunks at turn ends (product C2, H6)."""

from collections.abc import Collection, Sequence

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

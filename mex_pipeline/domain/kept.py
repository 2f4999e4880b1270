"""Which turns of a conversation are kept, and where a turn that is kept later stands among the others (product B10)."""

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from mex_pipeline.domain.conversation import Turn
from mex_pipeline.errors import InvalidInput

_SHORTEST = 8
"""Characters that a shortened session id has at least, as every other id (product B9)."""


@dataclass(frozen=True, slots=True)
class KeptTurn:
    """One row of `turns`: the words as the model saw them, where they were said, and which job kept them.

    `position` orders the turns of a session; `previous_key` names the turn right before it in the source, kept or not,
    so that a gap shows. Times are UTC ISO strings.
    """

    agent: str
    key: str
    session_id: str | None
    message_id: str | None
    source_file: str | None
    project: str | None
    role: str
    kind: str
    said_at: str | None
    text: str
    job_id: str | None
    kept_at: str
    position: int = 0
    previous_key: str | None = None

    @property
    def session(self) -> str:
        """The session, or what stands for one: the file, else the job that was given the text."""
        return self.session_id or self.source_file or self.job_id or ""


def chosen(turns: Sequence[Turn], new: Collection[str], evidence: Collection[str], mode: str) -> frozenset[str]:
    """Return the keys of the turns to keep, of all that were read, in their order (product B10).

    `evidence` are the keys on which memories rest: with that mode they stay, and the turn before and after each, which
    may have been read before. `user` and `all` mean the turns that are `new` in this reading.
    """
    if mode == "evidence":
        rests = [index for index, turn in enumerate(turns) if turn.key in evidence]
        return frozenset(turn.key for index in rests for turn in turns[max(0, index - 1) : index + 2])
    if mode == "none":
        return frozenset()
    return frozenset(turn.key for turn in turns if turn.key in new and (mode == "all" or turn.role == "user"))


@dataclass(frozen=True, slots=True)
class Places:
    """Where fresh turns go: their positions, and how far others move up first.

    `moves` are (position, number): what stands there or behind moves up by the number; the hindmost comes first.
    """

    positions: Mapping[str, int]
    moves: tuple[tuple[int, int], ...]


def placed(keys: Sequence[str], known: Mapping[str, int], last: int) -> Places:
    """Return where those of the `keys` go that have no position yet.

    `keys` are turns of one session in the order of the source, `known` the positions of those that are kept already,
    `last` is the highest position in use. A run of fresh ones goes right before the kept turn that follows it, without
    one to the end.
    """
    positions: dict[str, int] = {}
    moves: list[tuple[int, int]] = []
    shift = 0
    for run, before in _runs(keys, known):
        start = (last if before is None else before - 1) + shift
        positions |= {key: start + number for number, key in enumerate(run, 1)}
        if before is not None:
            moves.append((before, len(run)))
            shift += len(run)
    return Places(positions, tuple(reversed(moves)))


def _runs(keys: Sequence[str], known: Mapping[str, int]) -> Iterator[tuple[list[str], int | None]]:
    """Yield (fresh keys that follow each other, position of the kept turn behind them)."""
    run: list[str] = []
    behind = min(known.values(), default=1) - 1
    for key in keys:
        if key not in known:
            run.append(key)
        elif run and known[key] > behind:
            yield run, known[key]
            run = []
        behind = max(behind, known.get(key, behind))
    if run:
        yield run, None


def matching(given: str, known: Set[tuple[str, str]], option: str) -> tuple[str, str]:
    """Return the (agent, session) of `known` that is meant: by the session's id itself, or the only one that begins so.

    Raises InvalidInput: `session_unknown`, `session_ambiguous` (`session`), and `session_of_several` (`session`, `agents`,
    `option`, which tells them apart) when sessions of several agents are called so.
    """
    names = {name for _, name in known}
    found = {given} & names or {name for name in names if len(given) >= _SHORTEST and name.startswith(given)}
    if len(found) != 1:
        raise InvalidInput("session_ambiguous" if found else "session_unknown", session=given)
    (session,) = found
    agents = sorted(agent for agent, name in known if name == session)
    if len(agents) > 1:
        raise InvalidInput("session_of_several", session=session, agents=", ".join(agents), option=option)
    return agents[0], session

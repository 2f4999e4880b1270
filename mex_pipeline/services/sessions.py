"""Which agents' sessions are on this machine, and what of them is new (`mex sessions`, `mex sweep`)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from mex_pipeline.adapters import registry
from mex_pipeline.adapters.port import Adapter, Local, Look, SessionStore
from mex_pipeline.app import App
from mex_pipeline.clock import iso_of_millis, millis
from mex_pipeline.domain.conversation import Cursor
from mex_pipeline.domain.source_key import SourceKey
from mex_pipeline.errors import InvalidInput, MexError, SourceGone, SourceUnreadable
from mex_pipeline.services import estimate, jobs
from mex_pipeline.services.estimate import Estimate
from mex_pipeline.services.transcripts import look, read
from mex_pipeline.store import cursors

_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Found:
    """A session on this machine: what reads it, and how it stands. `kept_days` is how long its agent keeps it."""

    key: SourceKey
    adapter: Adapter
    stands: Look
    kept_days: int | None

    def days_left(self, now: int) -> int | None:
        """Return in how many days the agent deletes the session if nothing changes; None when it never does."""
        if self.kept_days is None:
            return None
        return max(0, self.kept_days - (now - self.stands.changed_at) // _DAY_MS)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A source that could not be looked at; `error` is `{code, params}`."""

    agent: str
    source: str
    error: Mapping[str, Any]

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class SessionReport:
    """One session: turns of the user, how many of them are extracted or still held, when the agent will delete it."""

    agent: str
    session_id: str | None
    project: str | None
    source: str
    last_active: str | None
    user_turns: int
    extracted: int
    held: int
    days_left: int | None

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Offer:
    """What a sweep would queue. `first_of` are agents nothing was ever extracted of: their history needs a yes."""

    requests: tuple[jobs.Request, ...] = ()
    by_agent: Mapping[str, Estimate] = field(default_factory=dict)
    sessions: Mapping[str, int] = field(default_factory=dict)
    first_of: tuple[str, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()

    @property
    def total(self) -> Estimate:
        """The sums over all agents."""
        return sum(self.by_agent.values(), start=Estimate())

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON object: the sums, the same for each agent, and what could not be read."""
        return {
            "sessions": len(self.requests),
            **self.total.to_plain(),
            "agents": {
                agent: {"sessions": self.sessions[agent], **one.to_plain()} for agent, one in self.by_agent.items()
            },
            "unreadable": [one.to_plain() for one in self.unreadable],
        }


def on_this_machine(
    home: Path, environment: Mapping[str, str], *, agent: str | None = None, since: datetime | None = None
) -> tuple[list[Found], list[Unreadable]]:
    """Return the sessions under a person's home folder, newest first, those of one agent or changed `since` alone.

    Nothing is read but what tells a session's size and time. Raises InvalidInput: `unknown_adapter`, `broken_adapter`,
    `agent_without_sessions` (`name`, `known`: those whose sessions can be found).
    """
    first = 0 if since is None else millis(since)
    found: dict[str, Found] = {}
    unreadable: list[Unreadable] = []
    for adapter in _local(agent):
        kept_days = adapter.kept_days(home, environment)
        for path in adapter.places(home, environment):
            try:
                for key in _keys(adapter, path.resolve(strict=True)):
                    stands = look(key, adapter)
                    if stands.changed_at >= first:
                        found[str(key)] = Found(key, adapter, stands, kept_days)
            except (FileNotFoundError, SourceGone):
                continue
            except OSError as error:
                unreadable.append(
                    _unreadable(adapter, path, SourceUnreadable(path=str(path), detail=error.strerror or ""))
                )
            except MexError as error:
                unreadable.append(_unreadable(adapter, path, error))
    return sorted(found.values(), key=lambda one: -one.stands.changed_at), unreadable


def report(app: App, found: Found) -> SessionReport | Unreadable:
    """Return how far one session is extracted; the whole of it is read for that."""
    try:
        transcript = read(found.key, found.adapter, Cursor(), quiet_seconds=app.settings.extraction.quiet_seconds)
    except MexError as error:
        return _unreadable(found.adapter, found.key, error)
    spoken = [turn for turn in transcript.turns if turn.role == "user"]
    seen = app.db.all(cursors.seen(transcript.agent, [turn.key for turn in spoken], estimate.serving(app)))
    return SessionReport(
        agent=found.adapter.name,
        session_id=transcript.session_id,
        project=transcript.project,
        source=str(found.key),
        last_active=iso_of_millis(found.stands.changed_at),
        user_turns=len(spoken),
        extracted=len(seen),
        held=sum(turn.held for turn in spoken),
        days_left=found.days_left(millis(app.clock.now())),
    )


def offer(app: App, found: Iterable[Found], unreadable: Iterable[Unreadable] = ()) -> Offer:
    """Return what a sweep of the sessions would queue: those in which the user said something that is not extracted.

    A session that stands as it did when it was last read is passed over (product H6), and so is a fork in which nothing
    was said that an earlier one of `found` does not hold: the oldest should come first.
    """
    kind = estimate.serving(app)
    requests: list[jobs.Request] = []
    by_agent: dict[str, Estimate] = {}
    sessions = Counter[str]()
    failed = list(unreadable)
    counted: set[tuple[str, str]] = set()
    for one in found:
        looked = app.db.first(cursors.last_look(str(one.key), kind))
        if looked is not None and looked[0] == one.stands.size:
            continue
        try:
            part = estimate.of_source(app, one.key, one.adapter, counted)
        except MexError as error:
            failed.append(_unreadable(one.adapter, one.key, error))
            continue
        if part.user_turns:
            agent = one.adapter.name
            requests.append(jobs.extraction(agent, one.key))
            by_agent[agent] = by_agent.get(agent, Estimate()) + part
            sessions[agent] += 1
    known = set(app.db.all(cursors.agents(kind)))
    first_of = tuple(agent for agent in by_agent if agent not in known)
    return Offer(tuple(requests), by_agent, sessions, first_of, tuple(failed))


def _local(agent: str | None) -> Iterator[Local]:
    found = {adapter.name: adapter for adapter in registry.every() if isinstance(adapter, Local)}
    if agent is None:
        yield from found.values()
        return
    adapter = registry.find(agent)
    if not isinstance(adapter, Local):
        raise InvalidInput("agent_without_sessions", name=agent, known=", ".join(found))
    yield adapter


def _keys(adapter: Adapter, path: Path) -> Iterator[SourceKey]:
    """The sources in a file: its sessions where it may hold many, else the file."""
    sessions = adapter.sessions(path) if isinstance(adapter, SessionStore) else None
    if sessions is None:
        yield SourceKey(path)
    else:
        yield from (SourceKey(path, session) for session in sessions)


def _unreadable(adapter: Adapter, source: object, error: MexError) -> Unreadable:
    return Unreadable(adapter.name, str(source), {"code": error.code, "params": dict(error.params)})

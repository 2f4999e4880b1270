"""A thousand random steps and more against a small model in memory: after each, tables, search and time travel agree with it."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mex_pipeline.app import App
from mex_pipeline.clock import SystemClock, iso
from mex_pipeline.domain.memory import Actor, Confidence
from mex_pipeline.domain.schema import parse
from mex_pipeline.domain.selection import Selection
from mex_pipeline.errors import MexError
from mex_pipeline.paths import Home
from mex_pipeline.services import decisions, lifecycle, listing, memories, opening, review, search, timeline
from mex_pipeline.settings import Settings
from tests.support.extent import tries
from tests.support.invariants import check
from tests.support.program import in_process

SCHEMA_YAML = """
topics:
  work: {sub_topics: {company: {}, tech: {unique: false}}}
  life: {sub_topics: {city: {}, hobby: {unique: false}}}
"""
SCHEMA = parse(yaml.safe_load(SCHEMA_YAML))[0]
PLACES = ((None, None), ("life", None), ("work", "company"), ("life", "city"), ("work", "tech"), ("life", "hobby"))
UNIQUE = {("work", "company"), ("life", "city")}
CONTENTS = ("远光软件", "软件", "Go", "Rust", "杭州 Hangzhou", "C++", "🙂 smile", "杭州", "rusty nail", "对芒果过敏")
KEYWORDS = ("软件", "远", "go", "rust", "州", "hang", "🙂", "+", "nail", "芒果", "nothing")


class Clock:
    """The machine's time: it moves only when a rule moves it."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        """Return the machine's moment."""
        return self.moment


@dataclass(frozen=True)
class Fact:
    """A memory as the model knows it."""

    place: tuple[str | None, str | None]
    content: str
    tier: Confidence
    since: str
    inferred: bool = False
    expires: str | None = None
    gone: tuple[str, str | None] | None = None
    """When it was forgotten, and why."""

    def is_active(self, now: str) -> bool:
        """True while it is shown."""
        return self.gone is None and (self.expires is None or self.expires > now)

    def is_waiting(self, now: str) -> bool:
        """True while it awaits review."""
        return self.is_active(now) and self.inferred and self.tier is not Confidence.CONFIRMED


class MemoryMachine(RuleBasedStateMachine):
    """The program on one side, a dict of facts on the other."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        self.clock = Clock()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(SystemClock, "now", lambda _: self.clock.now())  # what runs as a command has the same time
        self.exports: list[tuple[Path, dict[str, Fact]]] = []
        home = Home(self.root / "home")
        database, _ = opening.initialise(home, "en", may_make_parents=True)
        home.schema.write_text(SCHEMA_YAML, encoding="utf-8")
        self.app = App(home, Settings(), database, self.clock, "en", schema=SCHEMA)
        self.facts: dict[str, Fact] = {}
        self.doubted: dict[str, Fact] = {}
        """What stood before the doubt that an agent raised."""
        self.then: list[tuple[str, dict[str, Fact]]] = []
        self.numbers = count()

    def teardown(self) -> None:
        if hasattr(self, "app"):
            self.app.db.close()
            self.patch.undo()
            self.folder.cleanup()

    @property
    def now(self) -> str:
        return iso(self.clock.now())

    def some(self, data: st.DataObject) -> str:
        keys = list(self.facts)  # ids are random: only the order in which they came can be drawn again
        return keys[data.draw(st.integers(0, len(keys) - 1), label="memory")]

    def held(self, place: tuple[str | None, str | None], but: str | None = None) -> bool:
        """True when a unique slot has another active value."""
        others = (fact for key, fact in self.facts.items() if key != but)
        return place in UNIQUE and any(fact.place == place and fact.is_active(self.now) for fact in others)

    def tried(self, act: Callable[[], object], refusal: str | None) -> object:
        """Do it: refused with this code exactly when the model says so."""
        try:
            done, code = act(), None
        except MexError as error:
            done, code = None, error.code
        assert code == refusal
        return done

    @rule(
        place=st.sampled_from(PLACES),
        content=st.sampled_from(CONTENTS),
        by=st.sampled_from(Actor),
        days=st.integers(-1, 3),
    )
    def add(self, place: tuple[str | None, str | None], content: str, by: Actor, days: int) -> None:
        self.add_fact(place, content, by, timedelta(days=days) if days > 0 else None)

    def add_fact(
        self, place: tuple[str | None, str | None], content: str, by: Actor, lifetime: timedelta | None
    ) -> None:
        until = None if lifetime is None else self.clock.now() + lifetime
        topic, sub_topic = place
        added = self.tried(
            lambda: memories.add(
                self.app,
                content=content,
                topic=topic,
                sub_topic=sub_topic,
                expires=_local(until) if until else None,
                actor=by,
            ),
            "slot_occupied" if self.held(place) else None,
        )
        if added is not None:
            tier = Confidence.CONFIRMED if by is Actor.USER else Confidence.EXPLICIT
            self.facts[added.id] = Fact(place, content, tier, self.now, expires=iso(until) if until else None)

    @precondition(lambda self: self.facts)
    @rule(data=st.data(), content=st.sampled_from(CONTENTS), by=st.sampled_from(Actor))
    def update(self, data: st.DataObject, content: str, by: Actor) -> None:
        key = self.some(data)
        fact = self.facts[key]
        refusal = "memory_forgotten" if fact.gone else None
        done = self.tried(lambda: memories.update(self.app, key, content=content, actor=by), refusal)
        if done is None:
            return
        is_new = content != fact.content
        if by is Actor.USER:
            after = replace(fact, content=content, tier=Confidence.CONFIRMED, inferred=fact.inferred and not is_new)
        elif not is_new:
            after = fact
        elif fact.tier is Confidence.CONFIRMED or (fact.inferred and fact.tier is Confidence.UNCERTAIN):
            after = replace(fact, content=content, tier=Confidence.UNCERTAIN, inferred=True)
        else:
            after = replace(fact, content=content, tier=Confidence.EXPLICIT, inferred=False)
        if after.tier is Confidence.UNCERTAIN and fact.tier is not Confidence.UNCERTAIN:
            self.doubted[key] = fact
        elif is_new and after.tier is not Confidence.UNCERTAIN:
            self.doubted.pop(key, None)
        self.facts[key] = replace(after, since=self.now) if is_new else after

    @precondition(lambda self: self.facts)
    @rule(data=st.data(), days=st.integers(0, 3))
    def set_expiry(self, data: st.DataObject, days: int) -> None:
        key = self.some(data)
        fact = self.facts[key]
        until = None if days == 0 else self.clock.now() + timedelta(days=days)
        refusal = "memory_forgotten" if fact.gone else "slot_occupied" if self.held(fact.place, key) else None
        text = until.astimezone().strftime("%Y-%m-%d %H:%M:%S") if until else None
        done = self.tried(lambda: memories.update(self.app, key, expires=text, clear_expires=until is None), refusal)
        if done is not None:
            self.facts[key] = replace(fact, expires=iso(until) if until else None)

    @precondition(lambda self: self.facts)
    @rule(data=st.data(), place=st.sampled_from(PLACES[1:]))
    def move(self, data: st.DataObject, place: tuple[str | None, str | None]) -> None:
        key = self.some(data)
        fact = self.facts[key]
        refusal = (
            "memory_forgotten"
            if fact.gone
            else "move_same_place"
            if fact.place == place
            else "move_occupied"
            if fact.is_active(self.now) and self.held(place, key)
            else None
        )
        if self.tried(lambda: lifecycle.move(self.app, key, topic=place[0], sub_topic=place[1]), refusal) is not None:
            self.facts[key] = replace(fact, place=place)

    @precondition(lambda self: self.facts)
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        key = self.some(data)
        refusal = "already_forgotten" if self.facts[key].gone else None
        if self.tried(lambda: lifecycle.forget(self.app, [key]), refusal) is not None:
            self.facts[key] = replace(self.facts[key], gone=(self.now, None))

    @precondition(lambda self: self.facts)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        key = self.some(data)
        fact = self.facts[key]
        is_past = fact.expires is not None and fact.expires <= self.now
        back = replace(fact, gone=None, expires=None if is_past else fact.expires)
        refusal = "not_forgotten" if not fact.gone else "restore_occupied" if self.held(fact.place, key) else None
        if self.tried(lambda: lifecycle.restore(self.app, [key]), refusal) is not None:
            self.facts[key] = back

    @rule()
    def gc(self) -> None:
        gone = {memory.id for memory in lifecycle.gc(self.app)}
        past = {key for key, fact in self.facts.items() if not fact.gone and not fact.is_active(self.now)}
        assert gone == past
        for key in gone:
            self.facts[key] = replace(self.facts[key], gone=(self.now, "TTL expired"))

    @precondition(lambda self: self.facts)
    @rule(data=st.data())
    def approve(self, data: st.DataObject) -> None:
        key = self.some(data)
        fact = self.facts[key]
        refusal = None if fact.is_waiting(self.now) else "memory_forgotten" if fact.gone else "not_in_review"
        wanted = review.Wanted(ids=(key,))
        if self.tried(lambda: decisions.approve(self.app, wanted, actor=Actor.USER), refusal) is not None:
            self.facts[key] = replace(fact, tier=Confidence.CONFIRMED)

    @precondition(lambda self: self.facts)
    @rule(data=st.data(), back=st.booleans())
    def decline(self, data: st.DataObject, back: bool) -> None:
        key = self.some(data)
        fact = self.facts[key]
        refusal = None if fact.is_waiting(self.now) else "memory_forgotten" if fact.gone else "not_in_review"
        wanted = review.Wanted(ids=(key,))
        act = lambda: decisions.decline(self.app, wanted, reason="declined", restore_previous=back)  # noqa: E731
        if self.tried(act, refusal) is not None:
            before = self.doubted[key]
            self.facts[key] = (
                before if back and before.place == fact.place else replace(fact, gone=(self.now, "declined"))
            )

    @precondition(lambda self: self.exports)
    @rule(place=st.sampled_from(sorted(UNIQUE)), content=st.sampled_from(CONTENTS))
    def another_takes_the_slot(self, place: tuple[str, str], content: str) -> None:
        """The way to two claims on one slot: the holder is forgotten, and an export may bring it back."""
        for key, fact in self.facts.items():
            if fact.place == place and fact.is_active(self.now):
                lifecycle.forget(self.app, [key])
                self.facts[key] = replace(fact, gone=(self.now, None))
        self.add_fact(place, content, Actor.USER, None)

    @rule()
    def export(self) -> None:
        path = self.root / f"{len(self.exports)}.json"
        assert (
            in_process("export", "--format", "json", "--output", str(path), MEX_HOME=str(self.root / "home")).code == 0
        )
        self.exports.append((path, dict(self.facts)))

    @precondition(lambda self: self.exports)
    @rule(data=st.data(), overwrites=st.booleans())
    def restore_export(self, data: st.DataObject, overwrites: bool) -> None:
        path, facts = self.exports[data.draw(st.integers(0, len(self.exports) - 1), label="export")]
        mode = "overwrite" if overwrites else "skip"
        ran = in_process("import", str(path), "--on-conflict", mode, MEX_HOME=str(self.root / "home"))
        assert ran.code == 0, ran
        placed = set()
        for key, fact in facts.items() if overwrites else ():
            known = self.facts[key]
            rivals = [
                other
                for other, held in self.facts.items()
                if other != key and fact.place in UNIQUE and held.place == fact.place and held.is_active(self.now)
            ]
            if known == fact:
                placed.add(key)
            elif fact.is_active(self.now) and not placed & set(rivals):
                for rival in rivals:
                    self.facts[rival] = replace(self.facts[rival], gone=(self.now, "imported-over"))
                self.facts[key] = fact
                placed.add(key)
            elif not fact.is_active(self.now) and not known.is_active(self.now):
                self.facts[key] = fact
                placed.add(key)

    @rule()
    def move_house(self) -> None:
        """An export fills an empty home with the same content, and exports again to the same bytes."""
        first, second = self.root / "first.json", self.root / "second.json"
        new = self.root / f"home{next(self.numbers)}"
        Home(new).make()
        (new / "schema.yaml").write_text(SCHEMA_YAML, encoding="utf-8")
        for words, home in (
            (("export", "--format", "json", "--output", str(first)), self.root / "home"),
            (("import", str(first)), new),
            (("export", "--format", "json", "--output", str(second)), new),
        ):
            assert in_process(*words, MEX_HOME=str(home)).code == 0
        assert first.read_bytes() == second.read_bytes()
        check(new / "mex.db", SCHEMA, self.now)

    @rule(hours=st.integers(1, 40))
    def wait(self, hours: int) -> None:
        self.then.append((self.now, dict(self.facts)))
        self.clock.moment += timedelta(hours=hours)

    @invariant()
    def tables_and_model_agree(self) -> None:
        if not hasattr(self, "app"):
            return
        stored = listing.page(self.app, include_forgotten=True, limit=None).memories
        assert {one.id: _fact(one) for one in stored} == self.facts
        shown = {one.id for one in listing.page(self.app, limit=None).memories}
        assert shown == self.active(self.facts, self.now)
        check(self.app.home.database, SCHEMA, self.now)

    @invariant()
    def search_finds_exactly_the_active(self) -> None:
        if not hasattr(self, "app"):
            return
        keyword = KEYWORDS[next(self.numbers) % len(KEYWORDS)]
        active = self.active(self.facts, self.now)
        expected = {key for key in active if keyword in self.facts[key].content.casefold()}
        assert {one.id for one in search.find(self.app, Selection(keyword=keyword))} == expected

    @invariant()
    def time_travel_agrees(self) -> None:
        if not hasattr(self, "app"):
            return
        assert self.seen(as_of=None, known_at=_local(self.clock.now())) == self.active(self.facts, self.now)
        assert self.seen(as_of=_local(self.clock.now()), known_at=None) == self.active(self.facts, self.now)
        if self.then:
            at, facts = self.then[next(self.numbers) % len(self.then)]
            moment = datetime.fromisoformat(at)
            known = timeline.past(self.app, known_at=_local(moment)).memories
            assert {one.id: _fact(one) for one in known} == facts

    def seen(self, *, as_of: str | None, known_at: str | None) -> set[str]:
        then = timeline.past(self.app, as_of=as_of, known_at=known_at)
        return {one.id for one in then.memories if one.is_active(then.at)}

    def active(self, facts: dict[str, Fact], at: str) -> set[str]:
        return {key for key, fact in facts.items() if fact.is_active(at)}


def _local(moment: datetime) -> str:
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _fact(memory: memories.Memory) -> Fact:
    return Fact(
        (memory.topic, memory.sub_topic),
        memory.content,
        memory.confidence,
        memory.valid_from,
        memory.is_ai_inferred,
        memory.expires_at,
        None if memory.forgotten_at is None else (memory.forgotten_at, memory.forgotten_reason),
    )


TestMemoryMachine = MemoryMachine.TestCase
TestMemoryMachine.settings = settings(
    max_examples=tries(60), stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck)
)

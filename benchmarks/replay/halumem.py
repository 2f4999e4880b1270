"""Lives from HaluMem's structured evolution of 20 people: what they are, like, lose, and change, in sentences of our own."""

import random
import re
from datetime import date, timedelta
from typing import Any

from benchmarks.replay.life import Fact, Kind, Life, Op, Said, Session

SEED = 1000
"""Decides where unchanged facts are restated and passing statements are made; the same for every run."""
_EVENTS_PER_SESSION = 3
_RESTATED, _PASSING = 0.3, 0.25
_CAREER = ("employment_status", "industry", "company_name", "job_title", "monthly_income", "savings_amount")
_HEALTH = ("physical_health", "mental_health")
_STATUS = {"career_status": ("career", _CAREER), "health_status": ("health", _HEALTH)}
_PEOPLE = "relationship.people"
_ANSWER = Said("assistant", "Noted.")

Row = dict[str, Any]


def lives(preferences: list[Row], arcs: list[Row], events: list[Row], first_day: date) -> list[Life]:
    """Return one life per person; the three lists are the rows of HaluMem's stages 1-3, 3-1 and 3-2."""
    by_person = {row["uuid"]: row["narrative_arc"] for row in arcs}
    happened = {row["uuid"]: row["event_list"] for row in events}
    chance = random.Random(SEED)
    return [
        _Person(f"h{number:02}", row["profile"], chance, first_day).life(
            happened.get(row["uuid"], []), by_person[row["uuid"]]["career_events"]
        )
        for number, row in enumerate(preferences)
    ]


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


class _Person:
    """A person as told so far: the sessions, and what holds after them."""

    def __init__(self, user: str, profile: Row, chance: random.Random, first_day: date) -> None:
        self._user = user
        self._profile = profile
        self._chance = chance
        self._first_day = first_day
        self._sessions: list[Session] = []
        self._one: dict[str, str] = {}
        self._people: dict[str, str] = {}
        self._likes: dict[str, list[str]] = {}
        self._slots: dict[str, bool] = {_PEOPLE: False}

    def life(self, events: list[Row], arcs: list[Row]) -> Life:
        """Tell everything, and return it."""
        self._introduce()
        self._acquaint()
        self._prefer()
        stages = [
            (stage, update)
            for arc in arcs
            for stage in arc["stages"]
            for update in stage.get("dynamic_updates", [])
        ]  # fmt: skip
        for number, (event, change) in enumerate(_interleaved(events, stages)):
            if number % _EVENTS_PER_SESSION == 0:
                self._meet()
            if event is not None:
                self._change_preference(event)
            else:
                self._change_status(*change)
            if change is None or change[1]["type_to_update"] != "social_relationships":
                self._pass_by()
        final = {Fact(slot, value) for slot, value in self._one.items()}
        final |= {Fact(_PEOPLE, _person(name, tie)) for name, tie in self._people.items()}
        final |= {Fact(slot, value) for slot, held in self._likes.items() for value in held}
        told = tuple(session for session in self._sessions if session.ops)
        return Life(self._user, "en", self._slots, told, frozenset(final))

    def _meet(self) -> None:
        number = len(self._sessions)
        day = self._first_day + timedelta(days=3 * number)
        self._sessions.append(Session(f"{self._user}-{number:02}", day.isoformat()))

    def _say(
        self, kind: Kind, text: str, slot: str, value: str, *, old: str | None = None, again: bool = False
    ) -> None:
        session = self._sessions[-1]
        session.ops.append(Op(kind, len(session.turns), Fact(slot, value), old, None, again))
        session.turns += [Said("user", text), _ANSWER]

    def _introduce(self) -> None:
        fixed, status = self._profile["fixed"], self._profile["dynamic"]
        basic = fixed["basic_info"]
        told = {f"basic.{key}": basic[key] for key in ("name", "gender", "birth_date", "location")}
        told |= {
            "education.degree": fixed["education"]["highest_degree"],
            "education.major": fixed["education"]["major"],
        }
        told["personality.mbti"] = fixed["personality"]["mbti"]
        for name, (topic, keys) in _STATUS.items():
            told |= {f"{topic}.{key}": status[name].get(key) for key in keys}
        self._meet()
        for slot, value in told.items():
            self._slots[slot] = True
            if value not in (None, ""):
                self._one[slot] = str(value)
                self._say(Kind.ASSERT, f"My {_spoken(slot)} is {value}.", slot, str(value))

    def _acquaint(self) -> None:
        self._meet()
        for name, about in self._profile["dynamic"]["social_relationships"].items():
            self._people[name] = about["relationship_type"]
            text = f"{name} is my {about['relationship_type'].lower()}. {about['description']}"
            self._say(Kind.ASSERT, text, _PEOPLE, _person(name, about["relationship_type"]))

    def _prefer(self) -> None:
        for category, about in self._profile["preferences"].items():
            slot = self._liking(category)
            self._meet()
            for point in about["memory_points"]:
                value = _liked(point)
                self._likes[slot].append(value)
                self._say(Kind.ASSERT, f"I {value}. {point['reason']}", slot, value)

    def _liking(self, category: str) -> str:
        slot = f"preference.{_slug(category)}"
        self._slots[slot] = False
        self._likes.setdefault(slot, [])
        return slot

    def _change_preference(self, event: Row) -> None:
        before, after = (event[f"{when}_preference"]["memory_points"][0] for when in ("before", "after"))
        slot = self._liking(event["preference_type"])
        held, old, new = self._likes[slot], _liked(before), _liked(after)
        if old not in held:
            return
        told = event["event_description"]
        if event["update_direction"] == "Delete" or after.get("deleted"):
            held.remove(old)
            self._say(Kind.RETRACT, f"{told} I no longer {old}.", slot, old)
        elif new == old:
            self._say(Kind.ASSERT, f"{told} I still {new}.", slot, new, again=True)
        elif new not in held:
            held[held.index(old)] = new
            self._say(Kind.UPDATE, f"{told} By now I {new}.", slot, new, old=old)

    def _change_status(self, stage: Row, update: Row) -> None:
        if update["type_to_update"] == "social_relationships":
            self._change_people(update["after_dynamic"])
            return
        topic, keys = _STATUS.get(update["type_to_update"], _STATUS["health_status"])
        for key in keys:
            value, slot = update["after_dynamic"].get(key), f"{topic}.{key}"
            if value in (None, ""):
                continue
            if self._one.get(slot) != str(value):
                text = f"{stage['stage_description']} My {_spoken(slot)} is {value} now."
                self._say(Kind.UPDATE, text, slot, str(value), old=self._one.get(slot))
                self._one[slot] = str(value)
            elif self._chance.random() < _RESTATED:
                self._say(Kind.ASSERT, f"My {_spoken(slot)} is still {value}.", slot, str(value), again=True)

    def _change_people(self, after: Row) -> None:
        for name, about in after.items():
            if name not in self._people:
                tie = about["relationship_type"] if isinstance(about, dict) else str(about)
                self._people[name] = tie
                self._say(Kind.ASSERT, f"I met {name}, who is my {tie.lower()} now.", _PEOPLE, _person(name, tie))
        for name in [one for one in self._people if one not in after]:
            gone = _person(name, self._people.pop(name))
            self._say(Kind.RETRACT, f"I lost touch with {name}.", _PEOPLE, gone)

    def _pass_by(self) -> None:
        """Now and then something that holds for a few days only."""
        if self._chance.random() < _PASSING:
            slot = self._chance.choice(sorted(self._likes))
            things = f"{slot.partition('.')[2].split('_')[0]} things"
            text = f"Just for this week I dislike {things}, because of a short trip."
            self._say(Kind.TEMPORARY, text, slot, f"dislike {things}")


def _interleaved(events: list[Row], changes: list[tuple[Row, Row]]) -> list[tuple[Row | None, Any]]:
    """Return all events in order, the changes spread evenly among them."""
    step = max(1, len(events) // max(1, len(changes)))
    merged: list[tuple[Row | None, Any]] = []
    waiting = list(changes)
    for number, event in enumerate(events):
        merged.append((event, None))
        if number % step == 0 and waiting:
            merged.append((None, waiting.pop(0)))
    return merged + [(None, change) for change in waiting]


def _spoken(slot: str) -> str:
    return slot.partition(".")[2].replace("_", " ")


def _person(name: str, tie: str) -> str:
    return f"{name} ({tie})"


def _liked(point: Row) -> str:
    return f"{point['type']} {point['specific_item']}"

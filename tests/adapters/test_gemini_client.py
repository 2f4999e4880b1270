"""A simulated Gemini CLI does at random what the client does; what was typed is read, each word once."""

import random
from pathlib import Path
from typing import Any

import pytest

from mex_pipeline.domain.conversation import Cursor
from tests.adapters.gemini_session import ADAPTER, CONTEXT, Journal, parts, whole
from tests.adapters.growing import identity, said
from tests.support.extent import tries

SUMMARY = "<state_snapshot>\n<overall_goal>NOISE</overall_goal>\n</state_snapshot>"
ACKNOWLEDGED = "Got it. Thanks for the additional context!"


class Client:
    """The client and its user: `truth` is what was said and not taken back, by a number that rises."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.journal = Journal()
        self.truth: dict[int, tuple[str, str]] = {}
        self.spoken: dict[str, list[int]] = {}
        self.number = 0

    def say(self, role: str, text: str, name: str) -> None:
        self.number += 1
        self.truth[self.number] = (role, text)
        self.spoken[name] = [self.number]

    def words(self) -> str:
        """Often the same ones."""
        return self.chance.choice(["yes", "继续", "ok", f"句子 {self.number}", f"sentence {self.number}"])

    def prompt(self) -> None:
        text = self.words()
        self.say("user", text, self.journal.user(text))

    def answer(self) -> None:
        text = self.words()
        name = self.journal.tool(text) if self.chance.random() < 0.4 else self.journal.says(text)
        self.say("assistant", text, name)

    def fail(self) -> None:
        """The request fails: what is sent from now on is what was sent before the prompt."""
        before = dict(self.journal.messages)
        self.prompt()
        self.journal.messages = before
        self.journal.send(list(before.values()))

    def resume(self) -> None:
        self.journal.start()

    def compact(self) -> None:
        """A summary, its acknowledgement, and the last messages under new ids."""
        kept = [one for one in self.journal.messages.values() if one["type"] in ("user", "gemini")][-4:]
        talk: list[dict[str, Any]] = [{"type": "user", "content": SUMMARY}, {"type": "gemini", "content": ACKNOWLEDGED}]
        context = {"id": "d0", "type": "user", "content": [{"text": CONTEXT}]}
        self.journal.send([context, *self.renamed([*talk, *kept])])

    def shorten(self) -> None:
        """Long outputs are cut: every message is written again under a new id, then their list."""
        again = self.renamed([one for one in self.journal.messages.values() if one["type"] in ("user", "gemini")])
        for one in again:
            self.journal.add(one)
        self.journal.send(again)

    def renamed(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        found = []
        for one in messages:
            self.number += 1
            new = {"id": f"n{self.number}", "type": one["type"], "content": parts(one)}
            self.spoken[new["id"]] = self.spoken.get(one.get("id", ""), [])
            found.append(new)
        self.journal.messages = {one["id"]: one for one in found}
        return found

    def rewind(self) -> None:
        names = [name for name, one in self.journal.messages.items() if one["type"] == "user" and self.spoken.get(name)]
        if names:
            target = self.chance.choice(names)
            first = self.spoken[target][0]
            self.truth = {number: words for number, words in self.truth.items() if number < first}
            self.journal.rewind(target)

    def act(self, *, may_rewind: bool) -> None:
        acts = [self.prompt] * 4 + [self.answer] * 4 + [self.fail, self.resume, self.compact, self.shorten]
        self.chance.choice(acts + [self.rewind] * (2 * may_rewind))()


@pytest.mark.parametrize("part", range(4))
def test_what_was_typed_and_answered_is_read_once_whatever_the_client_does(tmp_path: Path, part: int) -> None:
    """Failed requests, resumed processes, compacted talk, rewritten history, rewinds."""
    for seed in range(part * 60, part * 60 + tries(60)):
        client = Client(seed)
        for _ in range(25):
            client.act(may_rewind=True)
        transcript = whole(client.journal.write_to(tmp_path / "s"))
        assert said(transcript) == list(client.truth.values()), seed
        assert "NOISE" not in "".join(turn.text for turn in transcript.turns)


def test_reading_after_every_act_extracts_each_word_once(tmp_path: Path) -> None:
    """I1 between whole acts of the client; rewinds apart, which take back what was extracted."""
    for seed in range(tries(40)):
        client, cursor, seen = Client(seed), Cursor(), dict[str, str]()
        for _ in range(20):
            client.act(may_rewind=False)
            transcript = ADAPTER.read(
                client.journal.write_to(tmp_path / "s"), cursor, quiet=client.chance.random() < 0.3
            )
            assert transcript.reset is None
            seen |= {turn.key: turn.text for turn in transcript.turns if not turn.held}
            cursor = transcript.cursor
        last = whole(tmp_path / "s")
        seen |= {turn.key: turn.text for turn in last.turns}
        assert list(seen.items()) == identity(last.turns), seed

"""Messages typed while Claude Code is at work: told once, whatever records have them and however the file grows."""

import random
from pathlib import Path

import pytest

from mex_pipeline.adapters import claude_queue
from tests.adapters.claude_session import ADAPTER, Session, whole
from tests.adapters.growing import follow, identity, one_pass, schedules
from tests.support.extent import tries


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def said(session: Session, path: Path) -> list[tuple[str, str]]:
    return [(turn.kind, turn.text) for turn in whole(session.write(path)).turns if turn.role == "user"]


def test_a_removed_message_was_delivered_and_is_a_turn_where_that_is_told(path: Path) -> None:
    """`remove` is the only copy in some versions; its time is when it was typed."""
    session = Session()
    session.user("run it")
    session.queue("enqueue", "I live in 成都", timestamp="2026-03-01T09:00:01.500Z")
    session.tool("m1")
    session.queue("remove", timestamp="2026-03-01T09:00:09.500Z")
    session.says("m2", "Noted.")
    transcript = whole(session.write(path))
    assert [turn.text for turn in transcript.turns] == ["run it", "I live in 成都", "Noted."]
    turn = transcript.turns[1]
    assert (turn.role, turn.kind, turn.at) == ("user", "queued", "2026-03-01T09:00:01Z")
    assert turn.key.startswith("q:")
    assert transcript.dropped == {"tool_use": 1, "tool_result": 1, "queue_operation": 1}


def test_a_dequeued_message_is_the_user_record_that_follows(path: Path) -> None:
    """Not counted twice."""
    session = Session()
    session.queue("enqueue", "review this")
    session.queue("dequeue")
    session.user("review this")
    assert said(session, path) == [("typed", "review this")]


@pytest.mark.parametrize("operation", ["popAll", "popOne"])
@pytest.mark.parametrize("has_words", [True, False])
def test_a_withdrawn_message_is_what_is_sent_in_the_end(path: Path, operation: str, has_words: bool) -> None:
    """It went back into the editor."""
    session = Session()
    session.queue("enqueue", "draft")
    session.queue(operation, "draft" if has_words else None)
    session.user("draft, edited")
    session.queue("remove")
    assert said(session, path) == [("typed", "draft, edited")]


def test_withdrawing_all_empties_the_queue(path: Path) -> None:
    """Whether the record names nothing or all of it in one; one that names a message withdraws that."""
    for words, kept in ((None, []), ("one\ntwo", []), ("one", ["two"])):
        session = Session()
        session.queue("enqueue", "one")
        session.queue("enqueue", "two")
        session.queue("popAll", words)
        session.queue("remove")
        assert [text for _, text in said(session, path)] == kept


def test_messages_leave_the_queue_in_their_order_unless_a_record_names_one(path: Path) -> None:
    """First in, first out, for each session by itself."""
    session = Session()
    for text in ("one", "two", "three", "four"):
        session.queue("enqueue", text)
    session.queue("enqueue", "elsewhere", sessionId="other")
    session.queue("remove", "three")
    session.queue("dequeue")
    session.queue("remove")
    session.queue("remove", sessionId="other")
    session.queue("remove")
    assert [text for _, text in said(session, path)] == ["three", "two", "elsewhere", "four"]


def newer(session: Session, text: str, name: str, *, first: str) -> None:
    """A message that a newer client delivers: `remove` and attachment, in either order, share its id."""

    def remove() -> None:
        session.queue("remove", text, reason="absorbed_mid_turn", commandUuid=name)

    if first == "remove":
        remove()
        session.user([{"type": "tool_result", "content": "NOISE"}])
    session.queued(text, source=name)
    if first == "attachment":
        remove()


@pytest.mark.parametrize("first", ["remove", "attachment"])
def test_a_message_that_queue_and_attachment_have_is_said_once(path: Path, first: str) -> None:
    """2.1.332 writes both; the same words under another id are said again."""
    session = Session()
    for name in ("a", "b"):
        session.queue("enqueue", "go on")
        newer(session, "go on", name, first=first)
    transcript = whole(session.write(path))
    assert [turn.key for turn in transcript.turns] == ["u:a", "u:b"]
    assert transcript.dropped["duplicate"] == 2


@pytest.mark.parametrize("first", ["remove", "attachment", "user"])
def test_without_ids_the_words_tell_that_it_is_the_same_message(path: Path, first: str) -> None:
    """As long as the model has not answered; afterwards the same words are said again."""
    session = Session()
    for _ in range(2):
        session.queue("enqueue", "go on")
        if first == "remove":
            session.queue("remove")
        if first == "user":
            session.user("go on")
        else:
            session.queued("go on")
        if first != "remove":
            session.queue("remove")
        session.says(f"m{len(session.lines)}", "OK.")
    session.user("go on")
    assert [text for _, text in said(session, path)] == ["go on"] * 3


def test_a_message_nothing_resolves_is_no_turn_but_the_cursor_passes_it(path: Path) -> None:
    """What comes of it later is found, since reading begins before it; also when the file was at rest meanwhile."""
    session = Session()
    session.queue("enqueue", "我住在成都")
    for number in range(4):
        session.user(f"prompt {number}")
    first = whole(session.write(path))
    assert "我住在成都" not in [turn.text for turn in first.turns]
    assert first.dropped == {"queue_unresolved": 1}
    assert (first.cursor.off, first.cursor.resume) == (path.stat().st_size, 0)
    session.queue("remove")
    second = ADAPTER.read(session.write(path), first.cursor, quiet=True)
    assert [turn.text for turn in second.turns if turn.end > first.cursor.off] == ["我住在成都"]
    session.says("m", "Noted.")
    session.user("thanks")
    third = ADAPTER.read(session.write(path), second.cursor, quiet=True)
    fourth = ADAPTER.read(path, third.cursor, quiet=True)
    assert [turn.text for turn in fourth.turns] == ["Noted.", "thanks"]


def test_a_crashed_clients_message_is_given_up_after_a_while(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading does not begin before it for ever, and a later record is not taken for its resolution."""
    monkeypatch.setattr(claude_queue, "REACH", 2000)
    session = Session()
    session.queue("enqueue", "lost")
    for number in range(20):
        session.user(f"prompt {number}")
    cursor = whole(session.write(path)).cursor
    assert cursor.resume > 2000
    session.queue("enqueue", "later")
    session.queue("remove")
    new = ADAPTER.read(session.write(path), cursor, quiet=True)
    assert [turn.text for turn in new.turns if turn.end > cursor.off] == ["later"]
    transcript = whole(path)
    assert [turn.text for turn in transcript.turns if turn.kind == "queued"] == ["later"]
    assert transcript.dropped == {"queue_unresolved": 1, "queue_operation": 1}


def test_a_queue_that_only_grows_is_kept_short(path: Path) -> None:
    """The oldest are given up: nobody waits in a queue of hundreds."""
    session = Session()
    for number in range(100):
        session.queue("enqueue", f"message {number}")
    session.queue("remove")
    transcript = whole(session.write(path))
    (turn,) = transcript.turns
    assert turn.text == f"message {101 - claude_queue.LONGEST}"
    assert sum(transcript.dropped.values()) == 100


def busy(seed: int) -> Session:
    """A session with everything a queue can do, in a random order; few different words, so that they meet."""
    chance = random.Random(seed)
    session = Session(f"busy{seed}")
    for number in range(60):
        words = chance.choice(
            ["go on", "stop", "我住在成都", f"only {number}", "<task-notification>NOISE", '{"task_id": 1}']
        )
        match chance.randrange(9):
            case 0 | 1:
                session.queue("enqueue", words, sessionId=chance.choice(["one", "two"]))
            case 2:
                session.queue("dequeue", sessionId="one")
            case 3:
                session.queue("remove", chance.choice([None, words]), sessionId=chance.choice(["one", "two"]))
            case 4:
                session.queue(chance.choice(["popAll", "popOne"]), chance.choice([None, words]), sessionId="one")
            case 5:
                newer(session, words, f"id{number}", first=chance.choice(["remove", "attachment"]))
            case 6:
                session.queued(words)
            case 7:
                session.user(words, sessionId=chance.choice(["one", "two"]))
            case 8:
                session.says(f"m{number // 3}", words)
    return session


@pytest.mark.parametrize("reach", [600, 4 * 1024 * 1024])
def test_any_growth_of_a_busy_queue_gives_what_one_pass_gives(
    path: Path, monkeypatch: pytest.MonkeyPatch, reach: int
) -> None:
    """I1: random schedules over random sessions, two over each, at rest or not between the steps; with a short memory too."""
    monkeypatch.setattr(claude_queue, "REACH", reach)
    for seed in range(tries(60)):
        data = busy(seed).data()
        expected = one_pass(ADAPTER, path, data)
        for cuts in schedules(data, 2, seed):
            chance = random.Random(seed)
            assert identity(follow(ADAPTER, path, data, cuts, lambda: chance.random() < 0.5)) == expected, (seed, cuts)  # noqa: B023

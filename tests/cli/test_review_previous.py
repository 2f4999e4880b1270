"""What stood before a doubt: shown with it, and put back when the doubt is declined (seed 004 §6.3; product C6)."""

import shlex
from pathlib import Path

from tests.support.model_server import ModelServer
from tests.support.program import contents, mex, opened
from tests.support.reviewing import DOUBT, GUESS, HOME, add, queue, refused, said, shown, states


def test_seed_6_3_decline_forgets_softly_and_shows_the_earlier_value(model: ModelServer) -> None:
    """Gone from profile and search; the commands it prints put the earlier value back as it was."""
    add("上海")
    said(model, "我可能要搬到深圳去了", {**HOME, "content": "深圳", **DOUBT})
    (waiting,) = queue()
    ran = mex("review", "decline", waiting["id"])
    assert "before: 上海 [confirmed]" in ran.out
    declined = shown(waiting["id"])
    assert declined["forgotten_at"] is not None
    assert declined["forgotten_reason"] == "declined"
    assert [one["event"] for one in declined["history"]] == ["add", "update", "forget"]
    assert "深圳" not in mex("profile").out
    assert mex("search", "深圳", "--json").json == []
    assert contents() == []
    for command in ran.out.split("To put it back: ", 1)[1].split("&&"):
        mex(*shlex.split(command)[1:])
    assert contents() == ["上海"]
    assert shown(waiting["id"])["confidence"] == "confirmed"
    assert queue() == []


def test_a_declined_memory_can_be_restored_and_waits_again(model: ModelServer) -> None:
    said(model, "我大概属于夜猫子", {"topic": "health", "content": "可能习惯晚睡", **GUESS})
    (waiting,) = queue()
    declined = mex("review", "decline", waiting["id"], "--reason", "我早睡", "--json").json
    assert (declined["forgotten_reason"], declined["previous"], declined["restored"]) == ("我早睡", None, False)
    assert queue() == []
    mex("restore", waiting["id"])
    assert [one["id"] for one in queue()] == [waiting["id"]]
    assert mex("--lang", "zh", "review", "decline", waiting["id"], "--json").json["forgotten_reason"] == "审查拒绝"


def test_product_c6_decline_with_restore_previous_brings_the_whole_state_back(model: ModelServer, home: Path) -> None:
    """Value, tier, evidence and times as they were (fault 21), in the same row, in one change of two lines."""
    said(model, "我住在杭州，住了三年", {**HOME, "content": "杭州"})
    said(model, "对，杭州，一直没变", {**HOME, "content": "杭州"})  # said again: counted
    memory_id = mex("list", "--json").json[0]["id"]
    mex("update", memory_id, "--expires", "2090-01-01")
    earlier = states(home, memory_id)[-1][2]
    assert earlier["times_seen"] == 2
    assert earlier["evidence"]
    said(model, "我可能要搬到深圳去了", {**HOME, "content": "深圳", **DOUBT})
    (waiting,) = queue()
    assert waiting["expires_at"] is None
    declined = mex("review", "decline", memory_id, "--restore-previous", "--json").json
    assert declined["restored"] is True
    assert (declined["content"], declined["previous"]["content"]) == ("杭州", "杭州")
    *_, (event, doubt, gone), (last, before, after) = states(home, memory_id)
    assert (event, last) == ("forget", "restore")
    assert (doubt["content"], gone["content"], gone["forgotten_reason"]) == ("深圳", "深圳", "declined")
    assert before == gone
    assert after == earlier | {"updated_at": after["updated_at"]}
    (row,) = mex("list", "--json").json
    assert row.items() <= after.items()
    assert [one["content"] for one in mex("search", "杭州", "--json").json] == ["杭州"]
    assert mex("search", "--keyword", "深圳", "--json").json == []
    assert "杭州" in mex("profile").out


def test_a_doubt_upon_a_doubt_does_not_hide_the_value_before_both(model: ModelServer) -> None:
    add("上海")
    said(model, "我可能要搬到深圳去了", {**HOME, "content": "深圳", **DOUBT})
    said(model, "也可能是去广州，还没定", {**HOME, "content": "广州", **DOUBT})
    (waiting,) = queue()
    assert (waiting["content"], waiting["previous"]["content"]) == ("广州", "上海")
    assert [one["quote"] for one in waiting["sources"]] == ["也可能是去广州，还没定"]
    ran = mex("review", "decline", "--all", "--restore-previous")
    assert "上海 [confirmed]" in ran.out
    assert contents() == ["上海"]


def test_where_all_before_was_doubt_too_the_best_of_it_is_offered(model: ModelServer) -> None:
    """A guess that had a reason rather than the guess upon it."""
    said(model, "这边的梅雨真烦人", {**HOME, "content": "杭州", **GUESS})
    said(model, "我可能要搬到深圳去了", {**HOME, "content": "深圳", **DOUBT})
    said(model, "也可能是去广州，还没定", {**HOME, "content": "广州", **DOUBT})
    (waiting,) = queue()
    assert (waiting["previous"]["content"], waiting["previous"]["confidence"]) == ("杭州", "inferred")
    mex("review", "decline", waiting["id"], "--restore-previous")
    (again,) = queue()
    assert (again["content"], again["previous"]) == ("杭州", None)
    assert [one["quote"] for one in again["sources"]] == ["这边的梅雨真烦人"]


def test_an_approved_doubt_is_what_a_later_doubt_replaces(model: ModelServer) -> None:
    add("上海")
    said(model, "我可能要搬到深圳去了", {**HOME, "content": "深圳", **DOUBT})
    mex("review", "approve", "--all")
    said(model, "也可能是去广州，还没定", {**HOME, "content": "广州", **DOUBT})
    (waiting,) = queue()
    assert (waiting["previous"]["content"], waiting["previous"]["confidence"]) == ("深圳", "confirmed")


def test_an_earlier_value_never_comes_back_beside_another_of_its_slot(model: ModelServer, home: Path) -> None:
    """The unique slot is looked at inside the transaction; nothing is declined either."""
    tech = {"topic": "work", "sub_topic": "tech_stack"}
    add("Go", "--topic", "work", "--sub-topic", "tech_stack")
    said(model, "我大概不写 Go 改写 Rust 了", {**tech, "content": "Rust", **DOUBT, "replaces": "Go"})
    (waiting,) = queue()
    assert waiting["previous"]["content"] == "Go"
    add("Zig", "--topic", "work", "--sub-topic", "tech_stack")
    schema = (home / "schema.yaml").read_text(encoding="utf-8").splitlines()
    at = next(number for number, line in enumerate(schema) if "tech_stack:" in line)
    many = next(number for number in range(at, len(schema)) if "unique: false" in schema[number])
    schema[many] = schema[many].replace("unique: false", "unique: true")
    (home / "schema.yaml").write_text("\n".join(schema), encoding="utf-8")
    assert refused("decline", waiting["id"], "--restore-previous") == "put_back_occupied"
    assert contents() == ["Rust", "Zig"]
    assert len(shown(waiting["id"])["history"]) == 2
    mex("review", "decline", waiting["id"])
    assert contents() == ["Zig"]


def test_an_agents_change_waits_with_the_confirmed_value_and_without_its_words(model: ModelServer) -> None:
    """The sources of the earlier value say nothing about the new one."""
    said(model, "我住在杭州，住了三年", {**HOME, "content": "杭州"})
    memory_id = mex("list", "--json").json[0]["id"]
    mex("update", memory_id, "--confidence", "confirmed")
    mex("update", memory_id, "--content", "广州", "--by", "ai")
    (waiting,) = queue()
    assert (waiting["content"], waiting["previous"]["content"], waiting["sources"]) == ("广州", "杭州", [])
    assert "said:" not in mex("review", "list").out


def test_a_history_that_kept_contents_alone_still_shows_the_earlier_value(model: ModelServer, home: Path) -> None:
    """Databases of the original (seed 004 §3.1) have no states before and after."""
    add("上海")
    said(model, "我可能要搬到深圳去了", {**HOME, "content": "深圳", **DOUBT})
    with opened(home / "mex.db") as db:
        db.execute("UPDATE history SET before = NULL, after = NULL, job_id = NULL")
    (waiting,) = queue()
    assert waiting["previous"]["content"] == "上海"
    assert "before: 上海" in mex("review", "decline", waiting["id"]).out

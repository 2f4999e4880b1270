"""`mex related ID`: the same session, the same slot, similar words."""

from pathlib import Path

from tests.seed.ground import candidate, refused
from tests.support.model_server import ModelServer, reply
from tests.support.program import mex
from tests.support.sessions import SessionFile

BEES = candidate("leisure.hobbies", "养蜂", "我的爱好是养蜂")
CITY = candidate("basic_info.location", "杭州", "我住在杭州")


def contents(group: list[dict[str, object]]) -> list[object]:
    """What the memories of a group say."""
    return [one["content"] for one in group]


def test_what_belongs_with_a_memory_is_told_in_three_groups(model: ModelServer, tmp_path: Path) -> None:
    model.script({"reply": reply(BEES, CITY)})
    file = SessionFile(tmp_path / "s.jsonl").user("我住在杭州，我的爱好是养蜂。")
    bees = next(
        one
        for one in mex("extract", "--from", "claude", "--file", str(file.path), "--json").json["added"]
        if one["content"] == "养蜂"
    )
    mex("add", "--content", "围棋", "--topic", "leisure", "--sub-topic", "hobbies")
    mex("add", "--content", "想买养蜂用的手套")
    mex("add", "--content", "I keep a diary")
    found = mex("related", bees["id"], "--json").json
    assert found["memory"]["id"] == bees["id"]
    assert contents(found["session"]) == ["杭州"]
    assert contents(found["slot"]) == ["围棋"]
    assert contents(found["similar"]) == ["想买养蜂用的手套"]
    assert contents(mex("related", bees["id"], "--limit", "1", "--json").json["similar"]) == ["想买养蜂用的手套"]
    english = mex("related", bees["id"]).out
    assert english.index("same session") < english.index("杭州") < english.index("same slot") < english.index("围棋")
    assert "用词相近" in mex("--lang", "zh", "related", bees["id"]).out


def test_a_memory_that_nothing_belongs_with_is_told_so(home: Path) -> None:
    one = mex("add", "--content", "!?", "--json").json["id"]
    assert "Nothing belongs" in mex("related", one).out
    assert refused("related", "12345678").code == 1
    assert refused("related", one, "--limit", "0").code == 1

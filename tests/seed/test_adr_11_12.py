"""Seed ADR-11 and ADR-12 (with §8.4, §8.5): memories with an end, and agents that are taught by a skill."""

import json
import re
from pathlib import Path

import pytest

from tests.seed.ground import (
    add,
    events,
    found,
    get,
    history,
    listed,
    one,
    refused,
    refused_add,
    rows,
)
from tests.support.program import contents, mex

SHANGHAI = {"TZ": "Asia/Shanghai"}
PAST = ("--expires", "2020-01-01")

PLACES = {
    ("claude", "global"): (".claude", "skills/mex/SKILL.md"),
    ("claude", "project"): ("project/.claude", "skills/mex/SKILL.md"),
    ("opencode", "global"): (".config/opencode", "skills/mex/SKILL.md"),
    ("opencode", "project"): ("project/.opencode", "skills/mex/SKILL.md"),
    ("workbuddy", "global"): (".workbuddy/skills", "mex/SKILL.md"),
    ("workbuddy", "project"): ("project/.workbuddy/skills", "mex/SKILL.md"),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project the user stands in, in a home without agents."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "OPENCODE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    return folder


def skill_of(base: Path, agent: str, scope: str) -> Path:
    """Where the document says the skill goes."""
    root, path = PLACES[agent, scope]
    return base / root / path


def test_seed_adr_11_memories_are_kept_for_ever_by_default() -> None:
    """默认永久保留: no expiry unless it is set, and gc takes nothing."""
    assert add("远光软件", "work.company")["expires_at"] is None
    mex("gc")
    assert contents() == ["远光软件"]


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("2099-06-01", "2099-06-01T15:59:59Z"),
        ("2099-06-01 08:30:00", "2099-06-01T00:30:00Z"),
    ],
)
def test_seed_adr_11_expires_takes_local_dates_and_date_times(given: str, stored: str) -> None:
    """只接受绝对日期/时间（本地转 UTC）; a date means the end of that local day (product G2)."""
    assert add("x", None, "--expires", given, **SHANGHAI)["expires_at"] == stored
    assert one("SELECT expires_at FROM memories") == stored


@pytest.mark.parametrize("wrong", ["24h", "7d", "1w", "tomorrow", "明天", "2099-13-01", "2099-02-30", "08:30:00", ""])
def test_seed_adr_11_expires_refuses_spans_and_nonsense(wrong: str) -> None:
    """不支持 24h 等相对时长."""
    refused_add("x", None, "--expires", wrong)
    memory = add("y")
    refused("update", memory["id"], "--expires", wrong)
    assert get(memory["id"])["expires_at"] is None


def test_seed_adr_11_a_past_end_is_accepted_with_a_warning() -> None:
    """Product G2."""
    ran = mex("add", "--content", "x", *PAST)
    assert ran.err.strip()
    assert contents() == []


def test_seed_adr_11_an_expired_memory_is_invisible_to_queries_but_kept() -> None:
    """惰性过滤，数据保留: list, search, profile, stats; get shows it."""
    memory = add("限时优惠", "work.company", *PAST)
    add("限时通知", None, *PAST)
    assert listed() == found() == found("--keyword", "限时") == []
    assert "限时" not in mex("profile").out
    assert mex("stats", "--json").json["profile"] == {"profile": 0, "outside": 0}
    assert one("SELECT count(*) FROM memories WHERE forgotten_at IS NULL") == 2
    assert get(memory["id"])["content"] == "限时优惠"


def test_seed_adr_11_an_end_to_come_hides_nothing() -> None:
    """expires_at > now."""
    add("限时优惠", "work.company", "--expires", "2099-01-01")
    assert contents() == found("--keyword", "限时") == ["限时优惠"]
    assert "限时优惠" in mex("profile").out


def test_seed_adr_11_an_expired_value_frees_its_unique_slot() -> None:
    """What nobody sees cannot occupy."""
    add("上海", "basic_info.location", *PAST)
    add("杭州", "basic_info.location")
    assert contents() == ["杭州"]


def test_seed_5_1_update_sets_and_clears_an_end() -> None:
    """--expires, --clear-expires; in history too."""
    memory = add("远光软件", "work.company")
    mex("update", memory["id"], "--expires", "2099-06-01 00:00:00", TZ="UTC")
    assert get(memory["id"])["expires_at"] == "2099-06-01T00:00:00Z"
    mex("update", memory["id"], "--clear-expires")
    assert get(memory["id"])["expires_at"] is None
    assert len(events(memory["id"])) == 3
    assert get(memory["id"])["content"] == "远光软件"


def test_seed_adr_11_gc_softly_forgets_what_is_past_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """mex gc 软删清理（reason="TTL 过期"，可 restore）."""
    monkeypatch.setenv("MEX_LANG", "zh")
    memory = add("限时优惠", None, *PAST)
    add("没有期限")
    assert "限时优惠" in mex("gc", "--dry-run").out
    assert one("SELECT count(*) FROM memories WHERE forgotten_at IS NOT NULL") == 0
    mex("gc")
    assert rows("SELECT content, forgotten_reason FROM memories WHERE forgotten_at IS NOT NULL") == [
        ("限时优惠", "TTL 过期")
    ]
    assert events(memory["id"])[-1] in ("forget", "expire")
    assert contents() == ["没有期限"]
    mex("gc")
    assert one("SELECT count(*) FROM history") == 3


def test_seed_adr_11_what_gc_took_can_be_restored_and_stays() -> None:
    """可 restore: it is visible again, and the next gc does not take it at once."""
    memory = add("限时优惠", None, *PAST)
    mex("gc")
    mex("restore", memory["id"])
    assert contents() == ["限时优惠"]
    mex("gc")
    assert contents() == ["限时优惠"]


def test_seed_adr_11_queries_filter_by_time_windows() -> None:
    """查询时按时间窗口过滤."""
    add("记一笔")
    assert found("--since", "1d") == ["记一笔"]
    assert found("--until", "2020-01-01") == []


@pytest.mark.parametrize(("agent", "scope"), PLACES, ids=lambda value: value)
def test_seed_8_4_the_skill_goes_where_the_agent_looks(project: Path, agent: str, scope: str) -> None:
    """The official discovery path of each agent and scope; every written path is printed; no hook settings."""
    ran = mex("integrate", agent, "--scope", scope)
    skill = skill_of(project.parent, agent, scope)
    assert skill.is_file()
    assert "mex/SKILL.md" in ran.out.replace("\\", "/")
    root = project.parent / PLACES[agent, scope][0]
    written = sorted(path for path in root.rglob("*") if path.is_file())
    assert any(path.name.startswith("README") for path in written)
    for path in written:
        assert path.name in ran.out
    assert not any(path.name.startswith("settings") or "hook" in path.name for path in written)


def test_seed_8_4_the_scope_is_global_unless_told(project: Path) -> None:
    """global，默认; and the other scope is left alone."""
    mex("integrate", "claude")
    assert skill_of(project.parent, "claude", "global").is_file()
    assert list(project.iterdir()) == []


def test_seed_8_4_integrating_again_changes_nothing(project: Path) -> None:
    """重复执行覆盖旧文件（幂等）."""
    mex("integrate", "claude", "--scope", "project")
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    mex("integrate", "claude", "--scope", "project")
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before


def test_product_g12_a_readme_of_the_users_is_never_overwritten(project: Path) -> None:
    """Nor any file that is not meX's own."""
    base = project / ".claude"
    base.mkdir()
    (base / "README.md").write_text("mine", encoding="utf-8")
    (base / "settings.json").write_text("{}", encoding="utf-8")
    mex("integrate", "claude", "--scope", "project", ok=False)
    assert (base / "README.md").read_text(encoding="utf-8") == "mine"
    assert (base / "settings.json").read_text(encoding="utf-8") == "{}"
    assert skill_of(project.parent, "claude", "project").is_file()


def test_product_h15_a_skill_the_user_changed_is_a_conflict(project: Path) -> None:
    """Exit 1, the new one beside it as .mex-new."""
    mex("integrate", "claude", "--scope", "project")
    skill = skill_of(project.parent, "claude", "project")
    skill.write_text(skill.read_text(encoding="utf-8") + "\nmy own line\n", encoding="utf-8")
    assert mex("integrate", "claude", "--scope", "project", ok=False).code == 1
    assert skill.read_text(encoding="utf-8").endswith("my own line\n")
    assert [path for path in skill.parent.iterdir() if ".mex-new" in path.name]


def test_seed_8_4_an_unknown_agent_or_scope_is_refused(project: Path) -> None:
    """Exit 1."""
    refused("integrate", "nosuch")
    refused("integrate", "claude", "--scope", "everywhere")


@pytest.fixture
def skill(project: Path) -> str:
    """The skill for Claude Code."""
    mex("integrate", "claude", "--scope", "project")
    return skill_of(project.parent, "claude", "project").read_text(encoding="utf-8")


def test_seed_8_5_the_skill_is_one_an_agent_can_discover(skill: str) -> None:
    """skills/<name>/SKILL.md: name and description in its head."""
    head = re.match(r"---\n(.*?)\n---\n", skill, re.DOTALL)
    assert head
    assert re.search(r"^name: *mex$", head[1], re.MULTILINE)
    assert re.search(r"^description: *\S", head[1], re.MULTILINE)


@pytest.mark.parametrize(
    "command",
    [
        "mex profile",
        "mex search --since 7d",
        "mex search --topic",
        "--keyword",
        "mex extract",
        "mex add",
        "--by ai",
        "--async",
        "mex jobs wait",
        "--timeout 20",
    ],
)
def test_seed_8_5_the_skill_teaches_when_to_read_and_how_to_write(skill: str, command: str) -> None:
    """对话开始 → profile; 近期状态 → search --since; 细节 → search --topic; 记住这个 → add/extract (product G14)."""
    assert command in skill


def test_seed_8_5_the_skill_holds_the_writing_principles(skill: str) -> None:
    """时间写具体日期（YYYY-MM-DD）; 稳定事实写画像槽位 (topic + sub_topic)."""
    assert "YYYY-MM-DD" in skill
    assert "--sub-topic" in skill or "sub_topic" in skill


def test_seed_8_5_the_skills_commands_exist(skill: str) -> None:
    """Every command the skill names answers to --help."""
    names = set(re.findall(r"(?:^|`) *mex ((?:jobs |review |config )?[a-z]+)", skill, re.MULTILINE))
    assert names
    for name in names:
        assert mex(*name.split(), "--help", ok=False).code == 0, name


def test_seed_8_5_a_zh_skill_says_remember_this_in_chinese(project: Path) -> None:
    """「记住这个」."""
    mex("--lang", "zh", "integrate", "claude", "--scope", "project")
    assert "记住" in skill_of(project.parent, "claude", "project").read_text(encoding="utf-8")


def test_seed_adr_11_json_times_are_utc_and_text_is_local(tmp_path: Path) -> None:
    """§3.7, product H10: the end is stored and printed as JSON in UTC."""
    memory = add("x", None, "--expires", "2099-06-01 08:30:00", **SHANGHAI)
    assert json.loads(mex("get", memory["id"], **SHANGHAI).out)["expires_at"] == "2099-06-01T00:30:00Z"
    assert history(memory["id"])[0]["created_at"].endswith("Z")

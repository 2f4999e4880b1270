"""Jobs and settings that cannot be used: the job says why it waits, and goes on when they are right."""

from pathlib import Path

from tests.support.program import contents, mex, opened, until, worker
from tests.support.sessions import SessionFile

ALONE = {"MEX_WORKER_AUTOSTART": "false"}


def test_a_broken_schema_holds_a_job_and_is_told_with_file_and_place(tmp_path: Path, home: Path) -> None:
    """The worker lives on, the job waits with its reason, and runs once the file is right again."""
    session = SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟")
    job = mex("extract", "--async", "--file", str(session.path), "--json", **ALONE).json["job_id"]
    schema = home / "schema.yaml"
    good = schema.read_text(encoding="utf-8")
    schema.write_text("topics: [\n", encoding="utf-8")
    with worker():
        refused = until(lambda: "line 2" in (ran := mex("profile", ok=False)).err and ran)
        assert refused.code == 1
        schema.write_text(good.replace("\ntopics:", "\ntopics:\n  7: {}", 1), encoding="utf-8")
        assert "schema.yaml: topics" in mex("profile", ok=False).err
        until(lambda: _reason(home) == "settings")
        schema.write_text(good, encoding="utf-8")
        waited = mex("jobs", "wait", job, "--json", ok=False)
        assert (waited.code, waited.json["reason"]) == (2, "settings")
        mex("jobs", "retry", job, **ALONE)
        mex("jobs", "wait", job, "--timeout", "30")
    assert contents() == ["林晓舟"]


def _reason(home: Path) -> str | None:
    with opened(home / "mex.db") as db:
        return str(db.execute("SELECT reason FROM jobs").fetchone()[0])


def test_a_half_configured_model_makes_no_job(tmp_path: Path) -> None:
    """Half an endpoint is never taken for "no model" (product C9)."""
    session = SessionFile(tmp_path / "s.jsonl").user("我叫林晓舟")
    for option in ([], ["--async"]):
        refused = mex("extract", *option, "--file", str(session.path), ok=False, MEX_LLM_MODEL="m1")
        assert refused.code == 1
        assert "base_url is missing" in refused.err
    assert mex("jobs", "list", "--json").json == []


def test_an_error_in_config_yaml_names_file_line_and_key(home: Path) -> None:
    """Product A5: one clear error, for every command."""
    mex("init")
    config = home / "config.yaml"
    good = config.read_text(encoding="utf-8")
    cases = {
        "  treads: 2": ("  threads: 2", "worker.treads", "Known here: autostart, threads, idle_exit"),
        "  threads: many": ("  threads: 2", "worker.threads", "Expected: int"),
        "  idle_exit: soon": ("  idle_exit: 15m", "worker.idle_exit", "15m"),
    }
    for line, (old, key, hint) in cases.items():
        text = "\n".join(line if one.startswith(old) else one for one in good.splitlines())
        config.write_text(text, encoding="utf-8")
        failed = mex("profile", ok=False)
        number = text.splitlines().index(line) + 1
        assert failed.code == 1
        assert f"{config}, line {number}: " in failed.err
        assert key in failed.err
        assert hint in failed.err


def test_connecting_a_model_keeps_comments_and_other_keys_and_masks_the_key(home: Path) -> None:
    """`mex config llm` edits its own lines only."""
    mex("init")
    config = home / "config.yaml"
    before = config.read_text(encoding="utf-8").splitlines()
    key = "sk-0123456789abcdef"
    shown = mex("config", "llm", "--provider", "ollama", "--model", 'a "quoted": model #1', "--api-key", key, "--json")
    after = config.read_text(encoding="utf-8").splitlines()
    changed = [line for old, line in zip(before, after, strict=True) if old != line]
    assert [line.split(":")[0].strip() for line in changed] == ["base_url", "api_key", "model"]
    assert all("#" in line for line in changed[:2])
    assert key not in shown.out + mex("config", "show").out
    assert mex("config", "show").json["model"] == 'a "quoted": model #1'
    assert config.stat().st_mode & 0o777 == 0o600
    assert mex("config", "llm", "--model", "other", "--json").json["base_url"] == "http://localhost:11434/v1"

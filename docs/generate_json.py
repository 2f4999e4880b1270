"""Writes docs/json.md from the golden files of the tests; `--check` only says whether it is stale (exit 1)."""

import json
import sys
from pathlib import Path

PAGE = Path(__file__).with_name("json.md")
GOLDEN = Path(__file__).parent.parent / "tests" / "golden"
HEAD = """# JSON

What each command prints with `--json`, taken from one walk through all of them: the tests compare every command with
these very texts. Made by `docs/generate_json.py`; do not edit.

- Times are UTC, `YYYY-MM-DDTHH:MM:SSZ`; what is not there is `null`; text is not escaped.
- A memory is the same object everywhere, and so are a source, a line of history and a job. New keys may be added.
- What a command says beside its result stands on stderr. An error is one object there, and stdout is empty:
  `code` is stable, `message` and `hint` are for people, `retryable` says whether the same request may work later.
- `restore` and `review approve|decline` print an object for exactly one id and a list for more; `forget`, `jobs cancel`
  and `jobs retry` always a list.
"""


def page() -> str:
    """Return the whole page, in alphabetical order."""
    shown = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(GOLDEN.glob("*.json"))]
    parts = [f"\n## `{one['command']}`\n\n```json\n{_text(one['prints'])}\n```\n" for one in shown]
    return HEAD + "".join(parts)


def _text(plain: object) -> str:
    return json.dumps(plain, ensure_ascii=False, indent=2)


def main() -> int:
    """Write the page, or compare it; return the exit code."""
    if sys.argv[1:] == ["--check"]:
        is_current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == page()
        sys.stderr.write("" if is_current else "docs/json.md is stale: run python docs/generate_json.py\n")
        return 0 if is_current else 1
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

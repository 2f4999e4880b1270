#!/bin/sh
# meX from a session file to a profile, through the queue and a worker, in a home that is thrown away at the end.
# No model and no key are needed: the built-in rules extract.
set -eu
cd "$(dirname "$0")/../.."
sh docs/setup.sh .

MEX_HOME="$(mktemp -d)/home"
export MEX_HOME
PATH="$PWD/.venv/bin:$PATH"
trap 'mex worker stop >/dev/null 2>&1 || true; rm -rf "$(dirname "$MEX_HOME")"' EXIT
trap 'exit 1' INT TERM

show() {
    printf '\n$ %s\n' "$*"
    "$@"
}

show mex init
show mex extract --async --from claude --file docs/examples/claude-session.jsonl
job="$(mex --json jobs list | python -c 'import json, sys; print(json.load(sys.stdin)[-1]["job_id"])')"
show mex jobs wait "$job" --timeout 60
show mex worker status
show mex profile
printf '\nThis home was a throw-away one. Yours is made by the first `mex` command; `.venv/bin/mex --help` shows them all.\n'

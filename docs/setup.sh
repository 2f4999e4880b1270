#!/bin/sh
# Makes the virtual environment .venv in the root of a clone and installs meX into it: the arguments go to pip. Run from
# the root. Nothing but Python 3.11 or newer is assumed.
python=""
for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python="$candidate"
        break
    fi
done
if [ -z "$python" ]; then
    echo "meX needs Python 3.11 or newer: install it (Debian and Ubuntu: apt install python3 python3-venv; macOS: brew install python) and run this again." >&2
    exit 1
fi
if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
    echo "The venv module of $python is missing: install it (Debian and Ubuntu: apt install python3-venv) and run this again." >&2
    exit 1
fi
if [ ! -x .venv/bin/python ] || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    "$python" -m venv --clear .venv || exit 1
fi
if ! .venv/bin/python -m pip install --quiet --disable-pip-version-check "$@"; then
    echo "The packages could not be installed: check the network (or the settings of pip) and run this again." >&2
    exit 1
fi

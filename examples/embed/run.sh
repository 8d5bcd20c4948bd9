#!/bin/sh
# Runs the hotel's own program, with the desk in it. No key, no account.
set -eu
cd "$(dirname "$0")"
. ../setup.sh

"$root/.venv/bin/python" app.py

#!/bin/sh
# Plays a fleet of workers that refund from a fresh clone: makes `.venv`, installs AEL, and runs `fleet.py`. No key, no account.
# With RUNS_DB set to the address of a PostgreSQL, the runs are kept there; else in a SQLite file.
set -eu
cd "$(dirname "$0")"
. ../setup.sh

"$root/.venv/bin/python" fleet.py "$ael"

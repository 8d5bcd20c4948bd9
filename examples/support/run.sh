#!/bin/sh
# Runs the support desk from a fresh clone: makes `.venv`, installs AEL, answers a ticket. No key, no account.
set -eu
cd "$(dirname "$0")/../.."
if [ ! -x .venv/bin/ael ]; then
  "${PYTHON:-python3}" -m venv .venv
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --editable .
fi
exec .venv/bin/ael run examples/support --trace --approve \
  --ticket '{"customer": "c-1", "message": "Please refund my order A-42.", "order_id": "A-42"}'

#!/bin/sh
# Serves the library on a free port of this machine, and runs the reader's own program. No key, no account.
set -eu
cd "$(dirname "$0")"
. ../setup.sh
# A server needs more than what is always installed.
"$root/.venv/bin/python" -c "import uvicorn" 2>/dev/null || "$root/.venv/bin/python" -m pip install --quiet "$root[serve]"
rm -f runs.db* shelf.db* said

READER_TOKEN=reader-token-of-this-example
export READER_TOKEN
"$ael" serve --connect --port 0 2>said &
server=$!
trap 'kill $server; wait $server || true; rm -f said' EXIT
address=
while [ -z "$address" ]; do
  kill -0 $server || { cat said >&2; exit 1; }
  sleep 0.1
  address=$(sed -n 's/.*listening on //p' said)
done
"$root/.venv/bin/python" client.py "$address"

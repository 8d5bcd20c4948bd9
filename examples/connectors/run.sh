#!/bin/sh
# Sells three pears: a model, a stock, a shelf of rules and a log, each behind a connector written in AEL. No key, no account.
set -eu
cd "$(dirname "$0")"
. ../setup.sh
rm -f ./*.db* address deploy.here.ael

STALL_TOKEN=token-of-this-example
export STALL_TOKEN
"$root/.venv/bin/python" server.py "$STALL_TOKEN" >address &
server=$!
trap 'kill $server 2>/dev/null || true; wait $server || true; rm -f address deploy.here.ael' EXIT
while [ ! -s address ]; do
  kill -0 $server || exit 1
  sleep 0.1
done
# The same deployment, where the server happens to be.
sed "s|http://127.0.0.1:8790|$(cat address)|" deploy.ael >deploy.here.ael

"$ael" test .
"$ael" run . --deploy here --question "Three pears, please."

# Nobody is there any more: the other model stands in, and the log sink keeps a note of it.
kill $server
wait $server || true
"$ael" run . --deploy here --question "Three pears, please."

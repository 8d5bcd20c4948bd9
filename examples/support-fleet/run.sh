#!/bin/sh
# Runs the support desk with its orders service in four places. No key, no account: the certificates are made on the spot.
set -eu
cd "$(dirname "$0")"
. ../setup.sh

# What serves and calls other machines is no part of the plain installation.
if ! "$root/.venv/bin/python" -c "import cryptography, grpc, uvicorn" 2> /dev/null; then
  "$root/.venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable "$root[serve,grpc]"
fi

"$root/.venv/bin/python" fleet.py "$ael"

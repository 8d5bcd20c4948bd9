#!/bin/sh
# Lets go wrong what can, with the orders service in each of its four places, and compares how it ends. Takes about a minute.
set -eu
cd "$(dirname "$0")"
. ../setup.sh

# What serves and calls other machines is no part of the plain installation.
if ! "$root/.venv/bin/python" -c "import cryptography, grpc, uvicorn" 2> /dev/null; then
  "$root/.venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable "$root[serve,grpc]"
fi

"$root/.venv/bin/python" faults.py "$ael"

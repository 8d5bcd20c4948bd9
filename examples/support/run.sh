#!/bin/sh
# Runs the support desk from a fresh clone: makes `.venv`, installs AEL, answers a ticket and looks into the books. No key, no account.
set -eu
cd "$(dirname "$0")"
. ../setup.sh

rm -f shop.db shop.db-wal shop.db-shm

echo "A customer writes: Please refund my order A-42."
echo
"$ael" run . --trace --approve \
  --ticket '{"customer": "c-1", "message": "Please refund my order A-42.", "order_id": "A-42"}'
echo
echo "The books (shop.db), read by another process:"
"$ael" run . booked --id A-42 --quiet

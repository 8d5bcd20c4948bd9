#!/bin/sh
# Evaluates a desk that answers customers, and how far its judge agrees with people.
set -eu
cd "$(dirname "$0")"
. ../setup.sh

"$ael" eval . --baseline baseline.json --all --outline
"$ael" eval calibrate . --labels labels.jsonl

#!/bin/sh
# Looks three questions up at the same time.
set -eu
cd "$(dirname "$0")"
. ../setup.sh

"$ael" run . --input input.json --trace

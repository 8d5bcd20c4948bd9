#!/bin/sh
# Shows the packs of the shop, says whether they are as locked, and writes a receipt.
set -eu
cd "$(dirname "$0")"
. ../setup.sh

"$ael" deps
"$ael" deps lock --check
"$ael" run . --input input.json

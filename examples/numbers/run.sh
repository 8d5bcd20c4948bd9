#!/bin/sh
# Statistics of the first thirty numbers.
set -eu
cd "$(dirname "$0")"
. ../setup.sh

"$ael" run . --up_to 30

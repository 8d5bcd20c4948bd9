#!/bin/sh
# Lets a model try what it may not, and shows what comes of it.
set -eu
cd "$(dirname "$0")"
. ../setup.sh

"$ael" run . --trace

#!/bin/sh
# Greets somebody.
set -eu
cd "$(dirname "$0")"
. ../setup.sh

"$ael" run . --name Ada

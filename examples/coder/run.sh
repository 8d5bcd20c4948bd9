#!/bin/sh
# Makes a failing test pass, offline: two models explore and edit from scripts, in `work`, a copy of `project`. The tests really run.
set -eu
cd "$(dirname "$0")"
. ../setup.sh

rm -rf work
cp -R project work

"$ael" run . --task "test_ten_are_many fails: make it pass"
echo
echo "What was changed:"
diff -u project/pricing.py work/pricing.py | sed 1,2d

#!/bin/sh
# Sorts a message, with the model's answer from a script.
set -eu
cd "$(dirname "$0")"
. ../setup.sh

"$ael" run . --message.sender ada --message.text "I cannot log in since this morning, and I have to work."

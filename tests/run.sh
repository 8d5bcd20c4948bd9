#!/bin/sh
# Everything that must hold: lint, format, types, layers, and all tests. Makes its own environment in `.venv-test`.
# Arguments go to pytest: `sh tests/run.sh tests/check -k loops`.
set -eu
cd "$(dirname "$0")/.."
env="${AEL_TEST_ENV:-.venv-test}"
if [ ! -x "$env/bin/python" ]; then
  "${PYTHON:-python3}" -m venv "$env"
fi
"$env/bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
sh tests/system.sh
PATH="$PWD/$env/bin:$PATH"
export PATH
ruff check .
ruff format --check --quiet .
mypy
lint-imports --no-logo --no-timings 2>/dev/null || lint-imports
exec python -m pytest -n auto --dist loadgroup "$@"

# Read by the scripts of the examples: `$ael` is the command of the clone's `.venv`, which is made when it is not there yet.
root=$(cd ../.. && pwd)
ael=$root/.venv/bin/ael
if [ ! -x "$ael" ]; then
  "${PYTHON:-python3}" -m venv "$root/.venv"
  "$root/.venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable "$root"
fi

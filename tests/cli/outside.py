"""The messages that no program's text alone can give: they come from files, the environment, the command line or a run.

`python -m tests.cli.outside` fills them into the pages of `docs/errors`.
"""

from __future__ import annotations

import io
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

from ael.cli.main import main
from ael.project.load import MAX_MODULES
from ael.project.lock import lock_bytes
from ael.types.pin import ServerPins, pin
from tests.cli.conftest import KEYS
from tests.cli.mcp_desk import ODD, READ, desk
from tests.cli.outside_tools import TOOLS
from tests.cli.scenario import Scenario
from tests.error_pages import FOLDER, read
from tests.programs import write

_MODEL = """\
model fast {
  provider anthropic
  name "claude-haiku-4-5"
}

node main(question: String(max: 200)) -> String(max: 200)
  model fast
  policy one_call
  budget tokens 2_000, time 5s
{
  instructions "Answer."
}
"""
_EXTERN = """\
permission mail.send

tool send(text: String(max: 200)) -> Unit
  needs mail.send
  repeat idempotent
  timeout 5s
  extern "mail_of_nobody:send"

node main() -> Unit
  grants mail.send
{
  send("hello")
}
"""
_ENTRIES = """\
node answer(count: Int = 1) -> Int {
  count
}

node main(count: Int = 1) -> Int {
  answer(count)
}
"""
_FAILS = """\
error NotFound { id: String(max: 40) }

node main() -> Int fails NotFound {
  fail NotFound(id: "A-42")
}
"""
_FAULT = """\
node main() -> Int {
  let numbers = [1, 2, 3]
  numbers[3]
}
"""
_FORGETS = """\
permission notes.write
store notes: Map<String, Int> needs notes.write

node main() -> Int
  grants notes.write
{
  notes.put("a", 1)
  notes.get("a") ?? 0
}
"""
_LEAVES = {
    "main.ael": _EXTERN.replace("mail_of_nobody", "leaving"),
    "leaving.py": "import os\n\n\ndef send(text: str) -> None:\n    os._exit(3)\n",
    "pack.ael": 'pack leaves {\n  version "0.1.0"\n  extern "leaving"\n}\n',
}
_UNCERTAIN = """\
permission money.send

service Bank {
  send(amount: Int) -> Unit
    needs money.send
    repeat never
    timeout 50ms
}

provide Bank {
  fn send(amount: Int) -> Unit {
    var n = 0
    while true up to 4_000_000_000 {
      n = n + 1
    }
  }
}

node main() -> Unit fails Uncertain
  grants money.send
{
  try Bank.send(5)
}
"""


_MODULES = {
    "one.ael": "pub const ONE = 1\n",
    "two.ael": "pub const TWO = 2\n",
    "main.ael": "use ./one.{ONE}\nuse ./two.{TWO}\n\nnode main() -> Int {\n  ONE + TWO\n}\n",
}
_SERVED = 'pack desk {\n  version "1.0"\n  uses server/mcp\n}\n'
_GREET = {
    "pack.ael": _SERVED,
    "main.ael": '/// Say hello.\npub node greet(name: String(max: 40)) -> String {\n  "Hello, ${name}!"\n}\n',
}
_CALLERS = """\
secret ALICE = env("ALICE_TOKEN")
secret BOB = env("BOB_TOKEN")
caller alice = bearer(secret("ALICE"))
caller bob = bearer(secret("BOB"))
"""
_SERVICE = """\
permission notes.read

service Notes {
  get(id: String) -> String
    needs notes.read
    repeat idempotent
}

provide Notes as fixed_notes {
  fn get(id: String) -> String {
    "note ${id}"
  }
}

node main() -> String
  grants notes.read
{
  Notes.get("a")
}
"""
_OTHER = "pub fn first() -> Int { 1 }\n" + _SERVICE[_SERVICE.index("\n") : _SERVICE.index("node")].replace(
    "service", "pub service"
)
_SERVE = ("serve", ".", "--mcp")
_TOKEN = "x7Kq0c2mZ5pYw8Rt"
_FEW = 2
"""The limit of modules in its scenario, in place of the real one: two thousand files are not worth the time."""

_DESK = desk()
_CALL = ("mcp", "call", "files.read_file")
_NO_PROGRAM = 'command "no-such-program"\nmcp files = stdio("no-such-program")\n'
_LOCK = {
    "ael.lock": lock_bytes(
        {"main.files": ServerPins(tools={"read_file": pin({**READ, "description": "Read one file."})})}
    ).decode()
}

SCENARIOS: Mapping[str, Scenario] = {
    **TOOLS,
    "AEL0801": Scenario({}, ("check", "missing.ael")),
    "AEL0805": Scenario(_MODULES, ("check", "main.ael", "--no-cache")),
    "AEL0830": Scenario({"main.ael": _MODEL}, ("run", "main.ael", "--question", "hello")),
    "AEL0831": Scenario(
        {
            "main.ael": _MODEL,
            "deploy.ael": 'model fast = anthropic("claude-haiku-4-5", key: secret("CLAUDE"))\nsecret CLAUDE = env("CLAUDE_KEY")\n',
        },
        ("run", "main.ael", "--question", "hello"),
    ),
    "AEL0832": Scenario(
        {"main.ael": _EXTERN, "pack.ael": 'pack post {\n  version "1.0"\n  extern "mail_of_nobody"\n}\n'}, ("run", "main.ael")
    ),
    "AEL0833": Scenario(
        {"main.ael": _ENTRIES, "deploy.ael": 'secret RUNS_DB = env("RUNS_DB")\nruns = postgres(secret("RUNS_DB"))\n'},
        ("run", "main.ael"),
        environment={"RUNS_DB": "postgresql://localhost/runs"},
    ),
    "AEL0834": Scenario({"main.ael": _ENTRIES}, ("run", "main.ael", "--otel")),
    "AEL0840": Scenario({"main.ael": _ENTRIES}, ("run", "main.ael", "anser")),
    "AEL0841": Scenario({"main.ael": _ENTRIES}, ("run", "main.ael", "--count", "three")),
    "AEL0855": Scenario(
        {"main.ael": _ENTRIES, "deploy.ael": "tenant acme {\n  limit concurrent 4\n}\n"},
        ("run", "main.ael", "answer", "--tenant", "acne"),
    ),
    "AEL0860": Scenario(_DESK, ("mcp", "list", "flies")),
    "AEL0861": Scenario({**_DESK, "deploy.ael": _NO_PROGRAM}, ("mcp", "list"), 1),
    "AEL0862": Scenario(desk(tools=[READ, {**ODD, "name": "write-file"}]), ("mcp", "pin"), 1),
    "AEL0863": Scenario({**_DESK, **_LOCK}, (*_CALL, '{"path": "a.txt"}'), 1),
    "AEL0864": Scenario(_DESK, ("mcp", "call", "files.read_flie", '{"path": "a.txt"}')),
    "AEL0865": Scenario(_DESK, (*_CALL, '{"path": 7}')),
    "AEL0866": Scenario(_DESK, ("mcp", "call", "files.write_file", '{"path": "a.txt", "content": "hello"}')),
    "AEL0852": Scenario({"main.ael": _SERVICE, "deploy.ael": "service Notes = process(workers: 2)\n"}, ("run", "main.ael")),
    "AEL0870": Scenario({"main.ael": _GREET["main.ael"]}, _SERVE),
    "AEL0871": Scenario({**_GREET, "main.ael": _GREET["main.ael"].replace("pub ", "")}, _SERVE),
    "AEL0872": Scenario(_GREET, (*_SERVE, "--host", "0.0.0.0")),
    "AEL0873": Scenario(
        {**_GREET, "deploy.ael": _CALLERS},
        (*_SERVE, "--host", "192.0.2.1", "--port", "8000"),
        environment={"ALICE_TOKEN": _TOKEN, "BOB_TOKEN": _TOKEN[::-1]},
    ),
    "AEL0874": Scenario(_GREET, _SERVE),
    "AEL0875": Scenario({**_GREET, "deploy.ael": _CALLERS}, _SERVE, environment={"ALICE_TOKEN": "alice", "BOB_TOKEN": _TOKEN}),
    "AEL0876": Scenario({**_GREET, "deploy.ael": _CALLERS}, _SERVE, environment={"ALICE_TOKEN": _TOKEN, "BOB_TOKEN": _TOKEN}),
    "AEL0877": Scenario(
        {
            "pack.ael": 'pack desk {\n  version "1.0.0"\n  uses server/connect\n}\n',
            "main.ael": "use ./other.{first}\n\n" + _SERVICE.replace("service", "pub service").replace("${id}", "${first()}"),
            "other.ael": _OTHER,
        },
        ("serve", "."),
    ),
    "AEL0878": Scenario({**_GREET, "deploy.ael": 'listen = http(certificate: "server.pem", key: "server.key")\n'}, _SERVE),
    "AEL0901": Scenario({"main.ael": _FAILS}, ("run", "main.ael", "-q"), 1),
    "AEL0902": Scenario({"main.ael": _FAULT}, ("run", "main.ael", "-q"), 1),
    "AEL0903": Scenario({"main.ael": _UNCERTAIN}, ("run", "main.ael", "-q"), 1),
    "AEL0907": Scenario(_LEAVES, ("run", ".", "--crash-at", "1"), 1),
    "AEL0908": Scenario({"main.ael": _FORGETS}, ("run", "main.ael", "-q", "--crash-at", "5"), 1),
    "AEL0909": Scenario(
        {"main.ael": _ENTRIES},
        ("worker", "main.ael", "--once", "-q"),
        0,
        before=("run", "main.ael", "--detach", "--run-id", "order-42"),
        changed={"main.ael": _ENTRIES.replace("answer(count)", "answer(count) + 1")},
    ),
    "AEL0904": Scenario({"main.ael": _ENTRIES, "deploy.ael": "runs = memory\n"}, ("worker", "main.ael")),
    "AEL0905": Scenario(
        {"main.ael": _ENTRIES},
        ("runs", "show", "order-43", "main.ael"),
        before=("run", "main.ael", "--detach", "--run-id", "order-42"),
    ),
    "AEL0906": Scenario(
        {"main.ael": _ENTRIES},
        ("runs", "resume", "order-42", "main.ael"),
        before=("run", "main.ael", "--detach", "--run-id", "order-42"),
        changed={"main.ael": _ENTRIES.replace("answer(count)", "answer(count) + 1")},
    ),
}


@contextmanager
def _inside(folder: Path, environment: Mapping[str, str]) -> Iterator[None]:
    here, before = Path.cwd(), dict(os.environ)
    os.chdir(folder)
    for key in KEYS:
        os.environ.pop(key, None)
    os.environ.update({"AEL_CACHE": str(folder / "cache"), **environment})
    try:
        yield
    finally:
        os.chdir(here)
        os.environ.clear()
        os.environ.update(before)


def told(code: str) -> tuple[int, str, str]:
    """The exit code, standard output and standard error of a scenario; the message without its closing line of counts."""
    scenario = SCENARIOS[code]
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), scenario.files)
        limit = patch("ael.project.load.MAX_MODULES", _FEW if code == "AEL0805" else MAX_MODULES)
        nobody = patch("sys.stdin", io.StringIO(scenario.stdin))
        installed = patch("ael.cli.serve.find_spec", (lambda name: None) if code == "AEL0874" else find_spec)
        children = patch("ael.hosting.placements.find_spec", (lambda name: None) if code == "AEL0852" else find_spec)
        package = patch("ael.hosting.runs.find_spec", (lambda name: None) if code == "AEL0833" else find_spec)
        with _inside(Path(folder), scenario.environment):
            if scenario.before:
                with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                    assert main(scenario.before) == 0
                write(Path(folder), scenario.changed)
            with limit, nobody, installed, children, package, redirect_stdout(out), redirect_stderr(err):
                ended = main(scenario.words)
    message = re.sub(r"\n*\d+ (?:error|warning)s?; `ael explain.*$", "", err.getvalue().rstrip("\n")) + "\n"
    message = message.replace(f"more than {_FEW} modules", f"more than {MAX_MODULES} modules")
    message = re.sub(
        r"program [0-9a-f]{12}, and this worker has [0-9a-f]{12}", "program 51c0…, and this worker has 9aa2…", message
    )
    message = re.sub(r"with [0-9a-f]{12}, and this is [0-9a-f]{12}", "with 51c0…, and this is 9aa2…", message)
    return ended, out.getvalue(), re.sub(r"\(key [0-9a-f]+\)", "(key 2f1c…)", message)


def update() -> None:
    """Fill the messages into their pages."""
    for code in SCENARIOS:
        page = read(FOLDER / f"{code}.md")
        text = page.path.read_text(encoding="utf-8")
        block = f"### Message\n\n```text\n{told(code)[2]}```\n"
        new = re.sub(r"### Message\n+```text\n.*?```\n", lambda _, block=block: block, text, flags=re.DOTALL)
        if new != text:
            page.path.write_text(new, encoding="utf-8")
            print(f"updated {page.path.name}")


if __name__ == "__main__":
    update()

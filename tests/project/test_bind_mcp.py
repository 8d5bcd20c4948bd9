"""`mcp` lines of a deployment: what each becomes. What is refused stands in `tests/spec/mcp-deployments.md`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.check.url import names_credential, url_problem
from ael.lower.lower import lower
from ael.project.deployment import ClientCredentials, Deployment, McpBinding, NamedSecret, ToolBinding
from ael.project.environment import dangerous
from ael.project.known_servers import KNOWN
from ael.project.program import Opened
from ael.project.reach import reachable, servers_of
from tests.programs import lock_of, open_files

OBJECT = {"type": "object"}
FIND: dict[str, object] = {"name": "find", "inputSchema": OBJECT}
WIPE: dict[str, object] = {"name": "wipe-all", "inputSchema": OBJECT}
READ: dict[str, object] = {"name": "read", "inputSchema": OBJECT}


def lock(*crm: dict[str, object]) -> str:
    return lock_of(json.dumps({"main.crm": {"tools": crm}, "main.files": {"tools": [READ]}}))


PROGRAM = """
permission crm.read

mcp crm {
  url setting("CRM_URL")
  credential secret("CRM_TOKEN")
  tool find needs crm.read repeat idempotent
  tool wipe as "wipe-all" needs crm.read repeat never
}

mcp files {
  url "https://files.example.com/mcp"
  tool read needs crm.read repeat idempotent
}

node look() -> String
  grants crm.read
{
  crm.find()
}

node main() -> String
  grants crm.read
{
  through()
}

fn through() -> String {
  files.read()
}

node both() -> String
  grants crm.read
{
  "${look()} ${through()}"
}

node neither() -> String {
  "x"
}
"""
PACK = "pack desk {\n  uses std/process\n}\n"


def opened(folder: Path, deploy: str | None) -> Opened:
    files = {"main.ael": PROGRAM, "pack.ael": PACK, "ael.lock": lock(FIND, WIPE)}
    found, bag = open_files(folder, files if deploy is None else {**files, "deploy.ael": deploy})
    assert [f"{d.code} {d.message}" for d in bag.sorted()] == []
    assert found is not None
    return found


def deployed(folder: Path, deploy: str) -> Deployment:
    return opened(folder, 'secret CRM_TOKEN = env("CRM_TOKEN")\nsecret S = file("s")\n' + deploy).deployment


@pytest.mark.feature("A9.11", "A9.17")
def test_a_server_without_a_line_is_where_the_program_says(tmp_path: Path) -> None:
    found = deployed(tmp_path, 'setting CRM_URL = "http://localhost:8000/mcp"\nhost "localhost"\n')
    assert found.servers == {
        "main.crm": McpBinding("http", "http://localhost:8000/mcp", bearer="CRM_TOKEN"),
        "main.files": McpBinding("http", "https://files.example.com/mcp"),
    }


def test_without_a_deployment_only_constants_are_bound(tmp_path: Path) -> None:
    assert opened(tmp_path, None).deployment.servers == {"main.files": McpBinding("http", "https://files.example.com/mcp")}


LINES = [
    ('sse("https://crm.example.com/sse")', McpBinding("sse", "https://crm.example.com/sse", bearer="CRM_TOKEN")),
    (
        'http("https://crm.example.com/mcp", bearer: secret("S"), connect: 1s, timeout: 2s, idle: 250ms, concurrent: 3, retries: 0, '
        "manifest: 0s, failures: 1, cooldown: 1h, elicitation: true)",
        McpBinding(
            "http", "https://crm.example.com/mcp", bearer="S", connect=1_000, timeout=2_000, idle=250, concurrent=3, retries=0,
            manifest=0, failures=1, cooldown=3_600_000, elicitation=True,
        ),
    ),
    (
        'http("https://crm.example.com/mcp", headers: ["authorization": secret("S"), "X-Region": "eu"])',
        McpBinding("http", "https://crm.example.com/mcp", headers={"authorization": NamedSecret("S"), "X-Region": "eu"}),
    ),
    (
        'http("https://crm.example.com/mcp", oauth: client_credentials(id: secret("S"), secret: secret("S"), scopes: ["a", "b:c"]))',
        McpBinding("http", "https://crm.example.com/mcp", oauth=ClientCredentials(NamedSecret("S"), "S", ("a", "b:c"))),
    ),
    (
        'http("https://crm.example.com/mcp", oauth: client_credentials(id: "a", secret: secret("S"), issuer: "https://id.example.com/r"))',
        McpBinding(
            "http", "https://crm.example.com/mcp", oauth=ClientCredentials("a", "S", (), "https://id.example.com/r")
        ),
    ),
    (
        'stdio("npx", "-y", "server", env: ["TOKEN": secret("S"), "TZ": "UTC"], folder: "data")',
        McpBinding(
            "stdio", command="npx", arguments=("-y", "server"), environment={"TOKEN": NamedSecret("S"), "TZ": "UTC"}, folder="data"
        ),
    ),
]  # fmt: skip


@pytest.mark.feature("A9.26")
@pytest.mark.parametrize("name", KNOWN)
def test_a_public_server_is_bound_by_one_word(tmp_path: Path, name: str) -> None:
    """The program that runs it still has to be on the deployment's list; its version is fixed."""
    program, *words = KNOWN[name]
    found = deployed(tmp_path, f'command "{program}"\nmcp crm = known("{name}", "more", timeout: 5s)\n').servers["main.crm"]
    assert found == McpBinding("stdio", command=program, arguments=(*words, "more"), timeout=5_000)
    assert any("@2026" in word or "@0.0" in word for word in words)


@pytest.mark.feature("A9.26", "A9.12")
@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ('mcp crm = known("fetch")', "AEL0844", "does not allow the program `uvx`"),
        ('command "uvx"\nmcp crm = known("fitch")', "AEL0814", "no public server is known as `fitch`"),
        ('command "uvx"\nmcp crm = known()', "AEL0814", "`known` takes the name of a public server"),
    ],
)
def test_a_public_server_that_is_refused(tmp_path: Path, line: str, code: str, said: str) -> None:
    files = {"main.ael": PROGRAM, "pack.ael": PACK, "ael.lock": lock(FIND, WIPE)}
    secrets = 'secret CRM_TOKEN = env("CRM_TOKEN")\n'
    _, bag = open_files(tmp_path, {**files, "deploy.ael": secrets + line})
    assert [code for d in bag.sorted() if d.code == code and said in d.message] == [code], bag.sorted()


@pytest.mark.feature("A9.11", "A9.12")
@pytest.mark.parametrize(("line", "binding"), LINES)
def test_a_line_goes_before_the_program(tmp_path: Path, line: str, binding: McpBinding) -> None:
    found = deployed(tmp_path, f'command "npx"\nmcp crm = {line}\n')
    assert found.servers["main.crm"] == binding
    assert found.commands == {"npx"}


@pytest.mark.feature("A9.21", "A2.5")
def test_a_tool_that_is_not_let_through_is_denied(tmp_path: Path) -> None:
    found = deployed(tmp_path, 'mcp crm = http("https://crm.example.com/mcp", tools: ["find"])\ntool crm.wipe timeout 5s\n')
    assert found.servers["main.crm"].tools == frozenset({"find"})
    assert found.tools == {"main.crm.wipe": ToolBinding(timeout=5_000, denied=True)}


@pytest.mark.feature("A2.5")
def test_what_an_entry_reaches_says_which_servers_it_needs(tmp_path: Path) -> None:
    program = opened(tmp_path, None).program
    needs = {name: servers_of(program, reachable(program, f"main.{name}")) for name in ("look", "main", "both", "neither")}
    assert needs == {
        "look": ("main.crm",), "main": ("main.files",), "both": ("main.crm", "main.files"), "neither": (),
    }  # fmt: skip
    assert servers_of(program, None) == ("main.crm", "main.files")


@pytest.mark.feature("D4")
def test_a_unit_holds_its_servers_and_what_they_are_pinned_with(tmp_path: Path) -> None:
    found = opened(tmp_path, None)
    unit = lower(found.program)
    assert unit.servers["main.crm"].uses == ("main.crm.find", "main.crm.wipe")
    remote = unit.tools["main.crm.wipe"].spec.remote
    assert remote is not None
    assert (remote.server, remote.wire, remote.text) == ("main.crm", "wipe-all", True)
    assert remote.sha256 == found.pins["main.crm"].tools["wipe-all"].sha256
    assert unit.tools["main.crm.wipe"].body is None


@pytest.mark.feature("D4")
def test_other_pins_make_another_program(tmp_path: Path) -> None:
    one = opened(tmp_path, None).program.digest
    found, _ = open_files(tmp_path, {"ael.lock": lock({**FIND, "description": "new"}, WIPE)})
    assert found is not None
    assert found.program.digest != one


# --- addresses and variables ---------------------------------------------------------------------------------------------


@pytest.mark.feature("A9.17", "A9.13")
@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/", "https://127.1.2.3/", "https://10.0.0.1", "https://192.168.1.1", "https://172.16.0.1", "https://172.31.255.255",
        "https://169.254.169.254/latest/meta-data", "https://100.64.0.1", "https://0.0.0.0", "https://localhost", "https://a.localhost",
        "https://LOCALHOST:1", "https://localhost.", "https://[::1]", "https://[::]", "https://[fc00::1]", "https://[fe80::1]",
        "https://[::ffff:10.0.0.1]", "http://example.com", "https://2130706433", "https://0x7f000001", "https://127.1", "https://0177.0.0.1",
        "https://256.0.0.1", "https://a b", "https://", "https://:443", "https://a:0", "https://a:65536", "https://a/#", "https://u@a",
        "https://u:p@a", "https://a\\@b", "//a", "a", "", "https:a", "file:///etc/passwd", "https://a/\n", "https://ä.example.com",
        "https://a/?api_key=1", "https://a/?x=1&access_token=2", "https://a/?tavilyApiKey=3",
    ],
)  # fmt: skip
def test_an_address_that_is_refused(url: str) -> None:
    assert url_problem(url, frozenset()) is not None


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("https://example.com", ()), ("https://example.com:8443/a/b?c=d&keyboard=1", ()),
        ("https://a_b.example.com/", ()), ("https://8.8.8.8", ()),
        ("https://172.32.0.1", ()), ("https://[2606:4700::1111]/", ()), ("http://localhost:3000/mcp", ("localhost",)),
        ("http://localhost:3000/mcp", ("localhost:3000",)), ("http://127.0.0.1", ("127.0.0.1:80",)), ("https://[::1]/", ("[::1]",)),
        ("https://[::1]/", ("::1",)), ("http://crm.internal/mcp", ("crm.internal",)),
    ],
)  # fmt: skip
def test_an_address_that_is_taken(url: str, hosts: tuple[str, ...]) -> None:
    assert url_problem(url, frozenset(hosts)) is None


@pytest.mark.parametrize("url", ["https://u:p@a", "https://token@a/b", "https://a/?api_key=1", "https://a/?x=1&access_token=2"])
def test_an_address_with_a_credential_is_never_shown(url: str) -> None:
    problem = url_problem(url, None)
    assert problem is not None
    assert problem.secret


@given(st.text(max_size=30), st.text(alphabet="ahtps:/@#?.[]0127localexm\\", max_size=30))
def test_any_text_is_an_address_or_a_problem(text: str, near: str) -> None:
    for url in (text, near, f"https://{near}"):
        for hosts in (None, frozenset[str](), frozenset({"localhost"})):
            problem = url_problem(url, hosts)
            assert problem is None or (problem.message and problem.note)


@pytest.mark.feature("A9.12")
def test_dangerous_variables() -> None:
    wrong = """LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES NODE_OPTIONS node_options PYTHONPATH PYTHONSTARTUP BASH_ENV PATH
        GIT_SSH_COMMAND NPM_CONFIG_REGISTRY npm_config_registry PIP_INDEX_URL SSL_CERT_FILE JAVA_TOOL_OPTIONS"""
    assert [name for name in wrong.split() if not dangerous(name)] == []
    assert not any(map(dangerous, ["TZ", "LANG", "TOKEN", "API_KEY", "HOME", "DEBUG", "NODE_ENV", "BASE_URL", "OLD_PATH"]))


def test_names_of_credentials() -> None:
    wrong = [
        "Authorization",
        "X-Api-Key",
        "x-auth-token",
        "GITHUB_TOKEN",
        "DB_PASSWORD",
        "CLIENT_SECRET",
        "cookie",
        "apiKey",
        "access_tokens",
    ]
    assert [name for name in wrong if not names_credential(name)] == []
    assert not any(map(names_credential, ["X-Region", "TZ", "KEYBOARD", "monkey", "X-Request-Id", "AUTHOR", "SECRETARY_NAME"]))

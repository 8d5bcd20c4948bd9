"""The servers of a program that does not check yet: what `ael mcp` works on."""

from __future__ import annotations

from pathlib import Path

import pytest

from ael.diagnostics.diagnostic import Bag
from ael.project.deployment import McpBinding
from ael.project.servers import Servers, open_servers
from tests.programs import lock_of, write

MAIN = """use ./other.{thing}

mcp crm {
  url setting("CRM_URL")
  credential secret("CRM_TOKEN")
  tool get_customer as "get-customer" needs nobody.declared
  tool find needs crm.read
  resource page "docs://{name}" needs crm.read
  prompt review as "code_review" needs crm.read
}

node broken() -> Nothing {
  crm.anything(1) + thing
}
"""
OTHER = "pub fn thing() -> Int {\n  1\n}\n\nmcp docs {\n  tool read needs docs.read\n}\n"
DEPLOY = """setting CRM_URL = "https://crm.example.com/mcp"
secret CRM_TOKEN = env("CRM_TOKEN")
command "npx"
model nothing = anthropic("claude-haiku-4-5")
mcp docs = stdio("npx", "docs")
"""


def servers(folder: Path, files: dict[str, str], deploy: str | None = None) -> tuple[Servers | None, list[str]]:
    write(folder, files)
    bag = Bag()
    found = open_servers(folder / "main.ael", bag, deploy=deploy)
    return found, [f"{d.code} {d.message}" for d in bag.sorted()]


PACK = "pack desk {\n  uses std/process\n}\n"
FILES = {"main.ael": MAIN, "other.ael": OTHER, "pack.ael": PACK, "deploy.ael": DEPLOY}


@pytest.mark.feature("A9.11", "D4")
def test_servers_are_known_before_anything_is_pinned_or_checks(tmp_path: Path) -> None:
    found, said = servers(tmp_path, FILES)
    assert said == []
    assert found is not None
    crm, docs = found.servers
    assert (crm.name, crm.own, docs.name, docs.own) == ("main.crm", "crm", "other.docs", "docs")
    assert crm.tools == {"get_customer": "get-customer", "find": "find"}
    assert crm.prompts == {"review": "code_review"}
    assert crm.resources == {"page": "docs://{name}"}
    assert crm.binding == McpBinding("http", "https://crm.example.com/mcp", bearer="CRM_TOKEN")
    assert docs.binding == McpBinding("stdio", command="npx", arguments=("docs",))
    assert found.lock == tmp_path / "ael.lock"
    assert dict(found.pins) == {}
    assert found.find("crm") is crm
    assert found.find("other.docs") is docs
    assert found.find("mail") is None
    assert found.deployment.secrets.keys() == {"CRM_TOKEN"}


def test_what_is_pinned_is_given(tmp_path: Path) -> None:
    found, said = servers(tmp_path, {**FILES, "ael.lock": lock_of('{"main.crm": {"tools": [{"name": "find"}]}}')})
    assert said == []
    assert found is not None
    assert list(found.pins["main.crm"].tools) == ["find"]


def test_a_server_that_nothing_binds_has_no_binding(tmp_path: Path) -> None:
    found, said = servers(tmp_path, {**FILES, "deploy.ael": "default steps 3\n"})
    assert said == []
    assert found is not None
    assert [server.binding for server in found.servers] == [None, None]


@pytest.mark.parametrize(
    ("files", "deploy", "said"),
    [
        (
            {"deploy.ael": 'mcp crm = http("http://crm.example.com")\n'},
            None,
            ["AEL0843 `crm.example.com` would be asked without encryption"],
        ),
        ({"deploy.ael": 'mcp crn = http("https://crm.example.com")\n'}, None, ["AEL0810 the program has no MCP server `crn`"]),
        (
            {"pack.ael": "pack desk {\n}\n"},
            None,
            ["AEL0845 starting a program as a server needs the optional package `std/process`"],
        ),
        ({"ael.lock": "{"}, None, ["AEL1201 `ael.lock` is no lock: not JSON: the text ends inside an object, at byte 0"]),
        ({}, "test", ["AEL0801 `deploy.test.ael` cannot be read: no such file or directory"]),
        (
            {"deploy.ael": 'mcp crm = http("https://crm.example.com", bearer: secret("X"))\n'},
            None,
            ["AEL0831 the deployment has no secret `X`"],
        ),
    ],
)
def test_what_is_wrong_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], deploy: str | None, said: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert servers(Path(), {**FILES, **files}, deploy)[1] == said

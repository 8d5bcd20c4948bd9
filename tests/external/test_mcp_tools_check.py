"""Every real server in a program: its tools are declared, pinned, checked, offered to a model and compiled, all together."""

from __future__ import annotations

import pytest

from ael.check.check import check_program
from ael.diagnostics.diagnostic import Bag, Severity
from ael.lower.lower import lower
from ael.source import Source
from ael.syntax.parse import parse_module
from ael.types.pin import ServerPins, pin
from ael.types.tool_schema import SchemaRefused
from tests.external.mcp_tools_compare import all_types
from tests.external.mcp_tools_corpus import Tool, corpus, servers

FOLDER = corpus()
needs_corpus = pytest.mark.skipif(
    FOLDER is None, reason="not run: programs that use 96 real servers (set AEL_CORPUS to the folder with `mcp-tools`)"
)
PARTS = 4


def program(listed: tuple[Tool, ...], provider: str) -> tuple[list[str], int]:
    """The errors of a program with all tools of a server, and how many of them its model is offered once it is compiled."""
    declared = "\n  ".join(f'tool t{at} as "{tool.definition["name"]}" needs a.b' for at, tool in enumerate(listed))
    offered = ", ".join(f"crm.t{at}" for at in range(len(listed)))
    text = f"""permission a.b
mcp crm {{
  url setting("CRM_URL")
  {declared}
}}
model fast {{
  provider {provider}
  name "m"
}}
node answer(text: String) -> String fails Uncertain
  model fast
  policy loop(steps: 2)
  grants a.b
  tools {offered}
{{
  instructions "Answer."
}}
"""
    bag = Bag()
    pins = {"main.crm": ServerPins("2025-06-18", tools={str(one.definition["name"]): pin(one.definition) for one in listed})}
    made = check_program({"main": parse_module(Source("main.ael", text), bag)}, "main", bag, pins=pins)
    errors = [f"{told.code} {told.message}" for told in bag.sorted() if told.severity is Severity.ERROR]
    if made is None:
        return errors, 0
    return errors, len(lower(made).nodes["main.answer"].spec.tools)


@needs_corpus
@pytest.mark.feature("A9.3")
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("part", range(PARTS))
def test_all_tools_of_a_real_server_stand_in_one_program(part: int, provider: str) -> None:
    assert FOLDER is not None
    types = all_types(FOLDER)
    for server, listed in list(servers(FOLDER).items())[part::PARTS]:
        usable = tuple(tool for tool in listed if not isinstance(types[tool.id], SchemaRefused))
        errors, offered = program(usable, provider)
        assert errors == [], server
        assert offered == len(usable), server


@needs_corpus
@pytest.mark.feature("A9.4")
def test_a_refused_tool_is_an_error_that_names_it_and_nothing_of_its_neighbours() -> None:
    assert FOLDER is not None
    types = all_types(FOLDER)
    seen = 0
    for server, listed in servers(FOLDER).items():
        refused = [tool for tool in listed if isinstance(types[tool.id], SchemaRefused)]
        if refused:
            errors, _ = program(listed, "openai")
            assert [error.partition(" ")[0] for error in errors] == ["AEL1205"] * len(refused), server
            assert all(str(tool.definition["name"]) in error for tool, error in zip(refused, errors, strict=True))
            seen += len(refused)
    assert seen == 1

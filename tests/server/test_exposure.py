"""Which nodes are exposed and as what: the type is the schema, the doc comment the description."""

from __future__ import annotations

from pathlib import Path

import pytest

from ael.host import HostError
from ael.server.exposure import expose
from tests.server.support import opened

MAIN = """\
permission notes.write

/// What a person wrote.
record Ticket {
  /// In their words.
  message: String(max: 4_000)
  order_id?: String(pattern: "^[A-Z]-[0-9]+$")
}

store notes: Map<String, String> needs notes.write

tool keep(text: String) -> Unit
  needs notes.write
  repeat idempotent
  timeout 5s
{
  notes.put("last", text)
}

/// Sort a ticket.
pub node classify(ticket: Ticket, limit: Int(1..10) = 3) -> String {
  ticket.message
}

/// Keep a note.
pub node note(text: String(max: 100)) -> Ticket
  grants notes.write
{
  keep(text)
  Ticket(message: text)
}

node hidden() -> Int {
  1
}
"""


@pytest.mark.feature("A10.1", "A10.4")
def test_public_nodes_are_tools_with_the_schemas_of_their_types(tmp_path: Path) -> None:
    tools = expose(opened(tmp_path, MAIN))
    assert list(tools) == ["classify", "note"]
    assert tools["classify"].definition == {
        "name": "classify",
        "description": "Sort a ticket.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "ticket": {
                    "type": "object",
                    "description": "What a person wrote.",
                    "properties": {
                        "message": {"type": "string", "maxLength": 4000, "description": "In their words."},
                        "order_id": {"type": "string", "pattern": "^[A-Z]-[0-9]+$"},
                    },
                    "required": ["message"],
                    "additionalProperties": False,
                },
                "limit": {"type": "integer", "minimum": 1, "maximum": 10, "default": 3},
            },
            "required": ["ticket"],
            "additionalProperties": False,
        },
        "outputSchema": {
            "type": "object",
            "properties": {"result": {"type": "string"}},
            "required": ["result"],
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": False, "destructiveHint": False, "idempotentHint": True},
    }


def test_a_record_is_the_structured_content_itself(tmp_path: Path) -> None:
    note = expose(opened(tmp_path, MAIN))["note"]
    assert not note.wrapped
    output = note.definition["outputSchema"]
    assert isinstance(output, dict)
    assert list(output["properties"]) == ["message", "order_id"]


def test_hints_claim_no_more_than_holds(tmp_path: Path) -> None:
    # The tool says `repeat idempotent`: one effect under one key. A second call from outside is another run with another key.
    assert expose(opened(tmp_path, MAIN))["note"].definition["annotations"] == {"readOnlyHint": False, "openWorldHint": True}


def test_the_command_line_chooses(tmp_path: Path) -> None:
    assert list(expose(opened(tmp_path, MAIN), ["hidden"])) == ["hidden"]
    with pytest.raises(HostError, match=r"no node or agent `hiden`.*did you mean `hidden`") as caught:
        expose(opened(tmp_path, MAIN), ["hiden"])
    assert caught.value.code == "AEL0871"


def test_lines_of_the_deployment_choose_and_name(tmp_path: Path) -> None:
    tools = expose(opened(tmp_path, MAIN, 'serve = [hidden]\nserve classify as "support.sort"\n'))
    assert {name: tool.node for name, tool in tools.items()} == {"hidden": "main.hidden", "support.sort": "main.classify"}
    assert tools["support.sort"].definition["name"] == "support.sort"


def test_nothing_to_serve_is_said(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="nothing to serve") as caught:
        expose(opened(tmp_path, "node hidden() -> Int {\n  1\n}\n"))
    assert caught.value.code == "AEL0871"
    assert "`pub`" in caught.value.notes[0]


def test_recursive_types_keep_their_definitions_at_the_root(tmp_path: Path) -> None:
    main = "record Tree {\n  children: List<Tree>\n}\n\npub node grow(tree: Tree) -> List<Tree> {\n  tree.children\n}\n"
    grow = expose(opened(tmp_path, main))["grow"]
    for part in ("inputSchema", "outputSchema"):
        found = grow.definition[part]
        assert isinstance(found, dict)
        assert list(found["$defs"]) == ["Tree"]
    assert grow.wrapped


@pytest.mark.feature("A10.1")
def test_public_agents_are_exposed_like_nodes(tmp_path: Path) -> None:
    text = """
    node double(n: Int) -> Int { n * 2 }

    /// Double a number.
    pub agent worker(n: Int) -> Int
    {
      edge start -> double
      edge double -> finish
    }

    agent hidden(n: Int) -> Int
    {
      edge start -> worker
      edge worker -> finish
    }
    """
    tools = expose(opened(tmp_path, text))
    assert list(tools) == ["worker"]
    assert tools["worker"].definition["description"] == "Double a number."

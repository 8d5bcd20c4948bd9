"""Real tool definitions: what becomes types, and that the types mean what a JSON Schema validator says, value by value."""

from __future__ import annotations

import pytest

from ael.types.tool_schema import SchemaRefused
from tests.external.mcp_tools import PAGE, compared, page, shards, tables
from tests.external.mcp_tools_compare import all_types
from tests.external.mcp_tools_corpus import corpus, servers, tools

FOLDER = corpus()
needs_corpus = pytest.mark.skipif(
    FOLDER is None, reason="not run: 2,591 real tool definitions of 96 servers (set AEL_CORPUS to the folder with `mcp-tools`)"
)
SHARDS = 24
VALUES, CHANGES = 2, 12


@needs_corpus
def test_the_corpus_is_the_one_that_the_page_is_about() -> None:
    assert FOLDER is not None
    assert len(servers(FOLDER)) == 96
    assert len(tools(FOLDER)) == 2_591
    assert sum("outputSchema" in tool.definition for tool in tools(FOLDER)) == 526


@needs_corpus
@pytest.mark.feature("A9.4")
def test_nearly_all_tools_become_types_and_the_others_are_refused_by_keyword_and_path() -> None:
    assert FOLDER is not None
    made = all_types(FOLDER)
    refused = [why for why in made.values() if isinstance(why, SchemaRefused)]
    assert len(refused) <= 0.005 * len(made)
    for why in refused:
        assert why.keyword
        assert why.reason
        assert why.path == "" or why.path.startswith("/")


@needs_corpus
def test_the_table_in_the_documentation_is_what_the_code_gives() -> None:
    assert FOLDER is not None
    text = PAGE.read_text(encoding="utf-8")
    assert text == page(text, tables(FOLDER)), "stale: run `python -m tests.external.mcp_tools --write`"


@needs_corpus
@pytest.mark.feature("A9.3")
@pytest.mark.parametrize("shard", range(SHARDS))
def test_values_come_back_equal_and_changed_ones_get_the_verdict_of_a_validator_also_by_the_type_read_back(shard: int) -> None:
    assert FOLDER is not None
    counts = compared(shards(FOLDER, SHARDS)[shard], VALUES, CHANGES)
    assert counts.disagreements == []
    assert counts.uninhabited == []
    assert counts.numbers["tools"] > 100
    assert counts.numbers["values"] >= VALUES * counts.numbers["schemas"]
    assert counts.numbers["refused"] > 0.2 * counts.numbers["changed"]
    assert counts.numbers["changed"] - counts.numbers["refused"] > 0.2 * counts.numbers["changed"]

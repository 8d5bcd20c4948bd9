"""Diagnostics for other programs: what stands in the text can break none of the formats."""

from __future__ import annotations

import json

import pytest

from ael.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label, Place, Severity
from ael.diagnostics.export import to_github, to_json, to_sarif
from ael.source import Source, Span

TEXT = "one\ntwo, three: 50%\n漢字 four\n"
SOURCE = Source("odd,name:x.ael", TEXT)


def _one(message: str, start: int, end: int, severity: Severity = Severity.ERROR) -> Diagnostic:
    place = Place(SOURCE, Span(start, end))
    fix = Fix("say `1`", (Edit(Place(SOURCE, Span(start, start)), "1"),), safe=False)
    return Diagnostic("AEL0202", message, place, severity, (Label(Place(SOURCE, Span(0, 3)), "here"),), ("a note",), fix)


@pytest.mark.feature("C5", "A17.1")
def test_json_holds_everything() -> None:
    (told,) = json.loads(to_json([_one('odd "text" \\ \u2028', 20, 22)]))["diagnostics"]
    assert told == {
        "code": "AEL0202",
        "severity": "error",
        "message": 'odd "text" \\ \u2028',
        "file": "odd,name:x.ael",
        "line": 3,
        "column": 1,
        "end_line": 3,
        "end_column": 3,
        "labels": [{"message": "here", "file": "odd,name:x.ael", "line": 1, "column": 1, "end_line": 1, "end_column": 4}],
        "notes": ["a note"],
        "suggested_resolution": {
            "title": "say `1`",
            "safe": False,
            "edits": [{"file": "odd,name:x.ael", "line": 3, "column": 1, "end_line": 3, "end_column": 1, "text": "1"}],
        },
    }
    assert json.loads(to_json([])) == {"diagnostics": []}


@pytest.mark.feature("C5")
def test_sarif_counts_characters_and_keeps_labels() -> None:
    log = json.loads(to_sarif([_one("m", 20, 22), _one("w", 0, 3, Severity.WARNING)], "0.1.0"))
    (run,) = log["runs"]
    assert run["columnKind"] == "unicodeCodePoints"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["AEL0202"]
    first, second = run["results"]
    assert (first["level"], second["level"]) == ("error", "warning")
    region = first["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 3, "startColumn": 1, "endLine": 3, "endColumn": 3}
    assert first["relatedLocations"][0]["message"] == {"text": "here"}
    assert json.loads(to_sarif([], "0.1.0"))["runs"][0]["results"] == []


@pytest.mark.feature("C5")
def test_a_workflow_command_is_one_line_whatever_it_says() -> None:
    shown = to_github([_one("50%\nand `a::b,c`\r", 4, 7)])
    assert shown == ("::error file=odd%2Cname%3Ax.ael,line=2,col=1,endLine=2,endColumn=4,title=AEL0202::50%25%0Aand `a::b,c`%0D")
    assert to_github([]) == ""

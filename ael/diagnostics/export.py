"""Diagnostics for other programs: JSON, SARIF 2.1.0 and GitHub's workflow commands."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from ael.diagnostics.codes import TITLES
from ael.diagnostics.diagnostic import Diagnostic, Fix, Place, Severity


def to_json(diagnostics: Iterable[Diagnostic]) -> str:
    """`{"diagnostics": [...]}`: code, severity, message, place, labels, notes, and the fix with its edits (feature A17.1)."""
    return json.dumps({"diagnostics": [_json(d) for d in diagnostics]}, ensure_ascii=False, indent=2)


def _json(d: Diagnostic) -> dict[str, object]:
    return {
        "code": d.code,
        "severity": d.severity.value,
        "message": d.message,
        **_place(d.place),
        "labels": [{"message": label.text, **_place(label.place)} for label in d.labels],
        "notes": list(d.notes),
        "suggested_resolution": None if d.fix is None else _fix(d.fix),
    }


def _fix(fix: Fix) -> dict[str, object]:
    return {
        "title": fix.title,
        "safe": fix.safe,
        "edits": [{**_place(edit.place), "text": edit.text} for edit in fix.edits],
    }


def _place(place: Place) -> dict[str, object]:
    start, end = place.source.position(place.span.start), place.source.position(place.span.end)
    return {
        "file": place.source.name,
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
    }


def to_sarif(diagnostics: Iterable[Diagnostic], version: str) -> str:
    """A SARIF 2.1.0 log with one run."""
    found = list(diagnostics)
    codes = sorted({d.code for d in found})
    driver = {
        "name": "ael",
        "version": version,
        "rules": [{"id": c, "shortDescription": {"text": TITLES.get(c, c)}} for c in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [
            {
                "ruleId": d.code,
                "ruleIndex": codes.index(d.code),
                "level": d.severity.value,
                "message": {"text": d.message},
                "locations": [_location(d.place)],
                "relatedLocations": [
                    {**_location(label.place), "id": i, "message": {"text": label.text}} for i, label in enumerate(d.labels)
                ],
            }
            for d in found
        ],
    }
    log = {"version": "2.1.0", "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "runs": [run]}
    return json.dumps(log, ensure_ascii=False, indent=2)


def _location(place: Place) -> dict[str, object]:
    start, end = place.source.position(place.span.start), place.source.position(place.span.end)
    region: Mapping[str, int] = {
        "startLine": start.line,
        "startColumn": start.column,
        "endLine": end.line,
        "endColumn": end.column,
    }
    return {"physicalLocation": {"artifactLocation": {"uri": place.source.name}, "region": region}}


def to_github(diagnostics: Iterable[Diagnostic]) -> str:
    """Workflow commands, one line each: `::error file=main.ael,line=3,col=23,…::message`."""
    lines = []
    for d in diagnostics:
        start, end = d.place.source.position(d.place.span.start), d.place.source.position(d.place.span.end)
        level = "error" if d.severity is Severity.ERROR else "warning"
        where = f"file={_property(d.place.source.name)},line={start.line},col={start.column},endLine={end.line},endColumn={end.column}"
        lines.append(f"::{level} {where},title={d.code}::{_data(d.message)}")
    return "\n".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

"""Coverage for people and for other tools: text, JSON, LCOV, Cobertura."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ael.testing.coverage import Measured, percent, relative

FORMATS = ("text", "json", "lcov", "cobertura")


def report(found: list[Measured], form: str) -> str:
    """The coverage in one of `FORMATS`, with a line end."""
    match form:
        case "json":
            return _json(found)
        case "lcov":
            return _lcov(found)
        case "cobertura":
            return _cobertura(found)
        case _:
            return _text(found)


def _text(found: list[Measured]) -> str:
    width = max([len(one.module.shown) for one in found], default=0)
    lines = []
    for one in found:
        total = len(one.module.lines)
        missing = f"  not: {ranges(one.missing)}" if one.missing else ""
        lines.append(f"{one.module.shown:<{width}}  {_share(percent([one]))}  {len(one.hit)} of {total} lines{missing}".rstrip())
        lines += [f"{'':<{width}}  never ran: {each.what} {each.name}" for each in one.module.declared if each not in one.ran]
    lines.append(f"{'total':<{width}}  {_share(percent(found))}")
    return "\n".join(lines) + "\n"


def _share(value: float) -> str:
    """Never 100% for what is not whole."""
    return f"{int(value):>3}%"


def ranges(lines: Sequence[int]) -> str:
    """`3-5, 9` of 3, 4, 5, 9."""
    found: list[list[int]] = []
    for at in lines:
        if found and found[-1][1] == at - 1:
            found[-1][1] = at
        else:
            found.append([at, at])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def _json(found: list[Measured]) -> str:
    files = [
        {
            "file": relative(one.module.file),
            "percent": round(percent([one]), 2),
            "lines": sorted(one.module.lines),
            "missing": one.missing,
            "declarations": [
                {"kind": each.what, "name": each.name, "line": each.first, "ran": each in one.ran} for each in one.module.declared
            ],
        }
        for one in found
    ]
    return json.dumps({"percent": round(percent(found), 2), "files": files}, ensure_ascii=False, indent=2) + "\n"


def _lcov(found: list[Measured]) -> str:
    lines = []
    for one in found:
        lines += ["TN:", f"SF:{relative(one.module.file)}"]
        lines += [f"FN:{each.first},{each.name}" for each in one.module.declared]
        lines += [f"FNDA:{int(each in one.ran)},{each.name}" for each in one.module.declared]
        lines += [f"FNF:{len(one.module.declared)}", f"FNH:{len(one.ran)}"]
        lines += [f"DA:{at},{int(at in one.hit)}" for at in sorted(one.module.lines)]
        lines += [f"LF:{len(one.module.lines)}", f"LH:{len(one.hit)}", "end_of_record"]
    return "\n".join(lines) + "\n"


def _cobertura(found: list[Measured]) -> str:
    from xml.etree.ElementTree import Element, SubElement, indent, tostring

    total, hit = sum(len(one.module.lines) for one in found), sum(len(one.hit) for one in found)
    root = Element(
        "coverage", {"line-rate": f"{percent(found) / 100:.4f}", "lines-covered": str(hit), "lines-valid": str(total), "version": "1",
        "branch-rate": "0", "branches-covered": "0", "branches-valid": "0", "complexity": "0", "timestamp": "0"},
    )  # fmt: skip
    SubElement(SubElement(root, "sources"), "source").text = "."
    package = SubElement(
        SubElement(root, "packages"),
        "package",
        {"name": ".", "line-rate": root.attrib["line-rate"], "branch-rate": "0", "complexity": "0"},
    )
    classes = SubElement(package, "classes")
    for one in found:
        name = relative(one.module.file)
        made = SubElement(
            classes,
            "class",
            {"name": name, "filename": name, "line-rate": f"{percent([one]) / 100:.4f}", "branch-rate": "0", "complexity": "0"},
        )
        SubElement(made, "methods")
        lines = SubElement(made, "lines")
        for at in sorted(one.module.lines):
            SubElement(lines, "line", {"number": str(at), "hits": str(int(at in one.hit))})
    indent(root)
    return tostring(root, encoding="unicode", xml_declaration=True) + "\n"

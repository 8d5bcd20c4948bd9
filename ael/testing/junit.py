"""The results of tests as JUnit XML, for build machines."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ael.testing.runner import TestResult


def junit(results: Iterable[TestResult]) -> str:
    """The results as JUnit XML."""
    from xml.etree.ElementTree import Element, SubElement, indent, tostring

    found = list(results)
    suite = Element("testsuite", name="ael", tests=str(len(found)), failures=str(sum(r.problem is not None for r in found)))
    for result in found:
        case = SubElement(
            suite, "testcase", name=result.name, classname=result.module, file=Path(result.file).as_posix(),
            line=str(result.line), time=f"{result.seconds:.3f}",
        )  # fmt: skip
        if result.problem is not None:
            SubElement(case, "failure", message=result.problem.splitlines()[0]).text = result.problem
    indent(suite)
    return tostring(suite, encoding="unicode", xml_declaration=True) + "\n"

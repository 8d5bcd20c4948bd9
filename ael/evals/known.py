"""What the assertions of cases may name, of an evaluation that checks."""

from __future__ import annotations

from ael.evals.checks import Known
from ael.evals.generated import EXPECTED
from ael.evals.opening import OpenedEvaluation


def known_of(opened: OpenedEvaluation) -> Known:
    """What the assertions of cases may name."""
    program, entry = opened.graded.program, opened.evaluation.entry
    own = next(name for name in program.nodes if name.endswith(f".{EXPECTED}"))
    given = {p.name: p.type for p in program.signatures[entry].parameters}
    types = {**given, "output": program.signatures[entry].result, "expected": program.signatures[own].parameters[0].type}
    return Known(program, entry, opened.folder, types, own.rpartition(".")[0])

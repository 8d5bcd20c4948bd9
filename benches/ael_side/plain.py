"""The functions of ``programs/plain.ael`` as they are compiled (`plain`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ael.lower.lower import lower
from benches.ael_side.program import opened
from benches.programs.plain import CASES
from benches.worker import cpu_per_run

UNIT = lower(opened("plain").program)


def plain(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """CPU milliseconds of one call of a function, whose result has to be the known one."""
    case = CASES[request["case"]]
    function = UNIT.functions[f"plain.{request['case']}"]
    assert function(case.argument) == case.result
    return {"ms": cpu_per_run(lambda: function(case.argument)) * 1000}


OPS = {"plain": plain}

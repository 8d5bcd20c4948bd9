"""How a run ended, as every command prints it, and the exit code that says so."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from ael.cli.progress import clean, json_text
from ael.cli.report import told
from ael.run.outcome import DeclaredError, Faulted, Outcome, Suspended, Unsettled, Value, to_json
from ael.run.park import Wait
from ael.types.fault import FaultKind

INTERRUPTED = 130
"""The exit code of a run that was cancelled: that of Ctrl-C, whoever cancelled it."""

PARKED = 3
"""The exit code of a run that waits for a person or a time, and goes on later."""
_WAITS = {"approval": "an approval", "uncertain": "a person to say what became of it", "time": "its time"}


def awaited(wait: Wait) -> str:
    """What a parked run waits for, in words. A question waits where approvals do, and its answer is none."""
    return "an answer" if "asks" in wait.detail else _WAITS[wait.kind]


def _near(place: str) -> str:
    """A place in a file, as seen from here."""
    here = f"{Path.cwd()}{os.sep}"
    return place.removeprefix(here)


def print_outcome(outcome: Outcome, *, whole: bool) -> int:
    """The result on standard output, an ending that is no value on standard error. Gives the exit code."""
    if whole:
        print(json_text(to_json(outcome)))
    match outcome:
        case Value(plain=value):
            if not whole:
                print(json_text(value))
            return 0
        case DeclaredError(error=error, plain=value):
            name = error.partition(".")[2] or error
            said = told("AEL0901", f"the run failed with {name} {json.dumps(value, ensure_ascii=False)}")
            code = 1
        case Faulted(kind=kind, message=message, place=place):
            said = told("AEL0902", f"{kind.value}: {message}") + (f"\n  --> {_near(place)}" if place else "")
            code = INTERRUPTED if kind is FaultKind.CANCELLED else 1
        case Unsettled(operation=operation, key=key):
            doubt = f"{operation} may or may not have taken effect (key {key})"
            said = told("AEL0903", doubt, "look there before doing it again; nothing was repeated")
            code = 1
        case Suspended(waits=waits):
            said = "\n".join(f"parked: {wait.target.partition('.')[2]} waits for {awaited(wait)}" for wait in waits)
            code = PARKED
    print(clean(said), file=sys.stderr)
    return code

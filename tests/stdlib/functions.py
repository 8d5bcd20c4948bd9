"""The functions of a module of the library, compiled, to be called from Python with values as the run time has them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ael.check.check import check_program
from ael.diagnostics.diagnostic import Bag
from ael.lower.lower import lower
from ael.source import read
from ael.syntax.parse import parse_module
from ael.types.fault import Failure, Fault

FOLDER = Path(__file__).resolve().parents[2] / "stdlib" / "std"


@cache
def module(name: str) -> SimpleNamespace:
    """The functions of `std/NAME`, private ones too."""
    bag = Bag()
    todo, modules = [name], {}
    while todo:
        one = todo.pop()
        if f"std/{one}" in modules:
            continue
        source = read(FOLDER / f"{one}.ael", f"std/{one}")
        modules[f"std/{one}"] = parse_module(source, bag)
        todo += re.findall(r"^use \./(\w+)", source.text, re.MULTILINE)
    program = check_program(modules, f"std/{name}", bag, extern_allowed=frozenset(), uses=frozenset())
    assert program is not None, [(d.code, d.message) for d in bag.sorted()]
    lead = f"std/{name}."
    return SimpleNamespace(**{
        own.removeprefix(lead): function for own, function in lower(program).functions.items() if own.startswith(lead)
    })  # fmt: skip


def ending(function: Callable[..., Any], *arguments: object) -> Any:
    """What a call gives, or how it ended: the name and value of an error, the kind of a fault."""
    try:
        return function(*arguments)
    except Failure as failure:
        return failure.error.rpartition(".")[2], failure.value
    except Fault as fault:
        return fault.kind.value

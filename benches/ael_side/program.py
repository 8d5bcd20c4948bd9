"""Opening the programs of the benchmarks, as `ael run` opens one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ael.diagnostics.diagnostic import Bag
from ael.host import Host, open_host
from ael.project.program import Opened, open_program
from ael.run.bindings import BoundModel
from ael.run.outcome import Value
from ael.run.ports import ModelProvider

PROGRAMS = Path(__file__).resolve().parent.parent / "programs"


def opened(name: str) -> Opened:
    """The checked program ``programs/NAME.ael``; what does not check ends the side, with the first problem."""
    bag = Bag()
    program = open_program(PROGRAMS / f"{name}.ael", bag)
    assert program is not None, [problem.message for problem in bag.sorted()]
    return program


def host(name: str, provider: ModelProvider) -> Host:
    """The program with this model for all of its models."""
    program = opened(name)
    models = {model: BoundModel(provider, "json") for model in program.program.models}
    return open_host(program, f"{name}.main", models=models)


async def value_of(host: Host, entry: str, arguments: Mapping[str, object]) -> object:
    """Run an entry, which has to end with a value."""
    outcome = await host.engine.start(entry, arguments).outcome()
    assert isinstance(outcome, Value), outcome
    return outcome.value

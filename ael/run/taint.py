"""What a model may say where only trusted values go. Sources of outside data are named `model:fast`, `tool:fetch`, `service:Orders.get`,
`store:notes`; each journaled value has those of all that had a hand in it, and nothing takes one away (features A14).

What the run was started with is data, but clean: who starts a run is who it acts for. So are the program's own words, its defaults.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ael.run.run import Run
from ael.types.canonical import encode
from ael.types.definition import NoDefault
from ael.types.signature import ParameterDef, Signature

_CLEAN_LIMIT = 20_000


def trusted_in(signature: Signature) -> tuple[ParameterDef, ...]:
    """The parameters that take only trusted values."""
    return tuple([parameter for parameter in signature.parameters if parameter.trusted])


def doubted(run: Run, trusted: Sequence[ParameterDef], arguments: Mapping[str, object]) -> str | None:
    """Why a model's call needs a person's word; None where each argument for a trusted parameter is one that it may give by itself:
    equal, as a JSON value, to an input of the run or to the default that the program says, or left out."""
    for parameter in trusted:
        if parameter.wire not in arguments:
            continue
        value = arguments[parameter.wire]
        if value is None and parameter.optional:
            continue
        if not isinstance(parameter.default, NoDefault) and _text(value) == _text(parameter.default):
            continue
        if unclean(run, value):
            return f"`{parameter.wire}` takes only trusted values, and this one is no input of the run"
    return None


def unclean(run: Run, value: object) -> bool:
    """Whether `value`, which a model gave, equals no input of the run and no part of one: parts of texts are none, nor look-alikes."""
    if run.clean is None:
        found: set[str] = set()
        given: Iterable[object] = run.arguments
        if run.handed is not None:
            parameters = run.world.unit.signatures[run.entry].parameters
            given = run.handed.values({one.wire: value for one, value in zip(parameters, run.arguments, strict=False)})
        for argument in given:
            _collect(argument, found)
        run.clean = frozenset(found)
    return _text(value) not in run.clean


def _text(value: object) -> str:
    """One text for each JSON value: the order of keys is none of it, and 1.0 is the number 1, but no text is ever a number."""
    return encode(_plain(value), sort=True).decode()


def _plain(value: object) -> object:
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list():
            return [_plain(item) for item in value]
        case _:
            return value


def _collect(value: object, found: set[str]) -> None:
    """The JSON text of `value` and of all that is in it, up to a number."""
    if len(found) >= _CLEAN_LIMIT:
        return
    found.add(_text(value))
    if isinstance(value, dict):
        for item in value.values():
            _collect(item, found)
    elif isinstance(value, list):
        for item in value:
            _collect(item, found)

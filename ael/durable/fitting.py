"""What a person says of a call, held against its types, before the one answer that it waits for is used up."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ael.durable.decide import DecideError, Open
from ael.project.program import Opened
from ael.types.decode import decoder
from ael.types.problem import DecodeError
from ael.types.signature import Signature
from ael.types.type import Named


def fits(program: Opened, call: Open, edited: Mapping[str, object]) -> None:
    """Refuse arguments that the call would be refused for. Raises `DecideError`."""
    record = _signature(program, call, "arguments").input_record()
    name = f"input {record.name}"
    try:
        decoder(Named(name), {**program.program.definitions, name: record})(dict(edited))
    except DecodeError as error:
        now = f"it was proposed with {json.dumps(call.arguments, ensure_ascii=False, default=str)}"
        raise DecideError(f"these are no arguments of `{call.target}`: {error.text}", now) from None


def result_of(program: Opened, call: Open, value: object) -> object:
    """The result of a call that took effect, by the type of what was called. Raises `DecideError`."""
    signature = _signature(program, call, "result")
    try:
        return decoder(signature.result, program.program.definitions)(value)
    except DecodeError as error:
        raise DecideError(f"this is no result of `{call.target}`: {error.text}") from None


def _signature(program: Opened, call: Open, what: str) -> Signature:
    found = program.program.signatures.get(call.target)
    if found is None:
        raise DecideError(f"the program has no `{call.target}` any more, so its {what} cannot be checked")
    return found

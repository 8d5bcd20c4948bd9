"""A final result: decoded strictly into the node's output type, then checked against what it requires."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ael.run.ports import ModelTurn
from ael.run.turn import replaced
from ael.types.json import replace_lone_surrogates
from ael.types.problem import DecodeError, Problem

if TYPE_CHECKING:
    from ael.run.node import ModelNodePlan

_EMPTY = "there is no result: give the result, as the output asks for it"


def decode_final(plan: ModelNodePlan, turn: ModelTurn, arguments: tuple[object, ...]) -> object:
    """The value of a turn's result. Raises `DecodeError` with everything that is wrong with it.

    A text is a text, whatever it looks like (K15). A structured result is what the provider gave as one; where it gave only text, the
    text is repaired (fences, trailing commas) and read just as strictly.
    """
    if plan.output_is_text:
        said = replaced(turn.text if turn.final is None else text_of_final(turn.final))
        if len(said) > plan.max_output or len(said.encode()) > plan.max_output:
            raise DecodeError([Problem("", f"the text is longer than {plan.max_output:,} bytes")])
        value = plan.output.check(said)
    elif turn.final is not None:
        value = _read(plan, turn.final)
    elif turn.text.strip():
        value = _read(plan, turn.text)
    else:
        raise DecodeError([Problem("", _EMPTY)])
    failed = plan.unmet(value, arguments)
    if failed:
        raise DecodeError([Problem("", text) for text in failed])
    return value


def _read(plan: ModelNodePlan, text: str) -> object:
    try:
        return plan.read_result(text).value
    except DecodeError:
        repaired = plan.repair(replaced(text))
        if repaired == text:
            raise
        return plan.read_result(replace_lone_surrogates(repaired.encode())).value


def text_of_final(final: str) -> str:
    """A text result that came as a structured one: a JSON string is that string, anything else stands as it is."""
    from_json = final.strip()
    if len(from_json) > 1 and from_json[0] == from_json[-1] == '"':
        try:
            found = json.loads(from_json)
        except ValueError:
            return final
        return found if isinstance(found, str) else final
    return final

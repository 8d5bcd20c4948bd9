"""What a schema says beyond its type, checked by a kept validator: jsonschema-rs, with its engine of linear regular expressions.

The texts are made by `schema_text.py`: self-contained, without `$id`, without formats that assert, their patterns written out so that
they mean the same to that engine. jsonschema-rs is imported when the first such text is compiled, so that a program without one never
loads it (50 ms).
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from ael.types.problem import Path, describe

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

_MESSAGE = 200


class Problems(Protocol):
    """What notes problems (`decode_support.Collector`)."""

    def add(self, path: Path, message: str, expected: str, got: str) -> None: ...


class Predicate:
    """A compiled schema. The values are JSON within the limits, looked at by the decoder of the inner type before."""

    __slots__ = ("_validator",)

    def __init__(self, validator: Draft202012Validator) -> None:
        self._validator = validator

    def fits(self, value: object) -> bool:
        """Whether a JSON value is what the schema asks for."""
        return self._validator.is_valid(value)

    def tell(self, value: object, path: Path, problems: Problems) -> None:
        """Note what is wrong with a value, if anything is."""
        for error in self._validator.iter_errors(value):
            where = (*path, *error.instance_path)
            keyword = next((str(part) for part in reversed(error.schema_path) if isinstance(part, str)), "the schema")
            told = error.message if len(error.message) <= _MESSAGE else error.message[:_MESSAGE] + "…"
            problems.add(
                where, f"does not fit `{keyword}` of the schema: {told}", f"what `{keyword}` asks for", describe(error.instance)
            )


@lru_cache(maxsize=256)
def predicate(text: str) -> Predicate:
    """The check of a schema's text. Raises ValueError where the validator cannot compile it."""
    import jsonschema_rs

    validator = jsonschema_rs.Draft202012Validator(
        json.loads(text),
        validate_formats=False,
        pattern_options=jsonschema_rs.RegexOptions(),
        offline=True,
    )
    return Predicate(validator)

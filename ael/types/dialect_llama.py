"""What llama.cpp turns into a grammar: the dialect of its server, and of what is built on it.

Source of the rules: llama.cpp, `common/json-schema-to-grammar.cpp` and `grammars/README.md`: references inside of the schema,
recursion too; patterns only from `^` to `$` (`dialect_pattern.py`); formats date, time, date-time and uuid; bounds of whole
numbers; counted repetitions only up to a size, beyond which a grammar is refused.
"""

from __future__ import annotations

from ael.types.dialect_pattern import portable
from ael.types.dialect_rules import Lowered, Rules, Unsupported, has_object_root, lower
from ael.types.schema import Schema

MAX_COUNT = 1_000
"""Half of what llama.cpp takes for a repetition, because an item may be one itself."""


def _pattern(pattern: str) -> str | None:
    return portable(pattern, MAX_COUNT)


GRAMMAR = Rules(
    narrowing=frozenset({"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern", "format"}),
    formats=frozenset({"date", "time", "date-time", "uuid"}),
    pattern=_pattern,
    largest_count=MAX_COUNT,
    maps=True,
    untyped=True,
    one_of=False,
)


def tool(schema: Schema) -> Lowered | Unsupported:
    """The parameters of a function."""
    if not has_object_root(schema):
        return Unsupported("type", "", "the parameters of a function have to be an object")
    return _lowered(schema)


def output(schema: Schema) -> Lowered | Unsupported:
    """The schema of an answer; any root will do."""
    return _lowered(schema)


def _lowered(schema: Schema) -> Lowered | Unsupported:
    made = lower(schema, GRAMMAR)
    return made if isinstance(made, Unsupported) else Lowered(made, strict=True)

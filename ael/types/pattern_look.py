"""Conditions at the very start of a pattern, `^(?!…)(?=…)rest`: the one place where look-ahead still takes linear time.

Such a pattern asks for several things of the same text, each a pattern that begins at its start: the rest, every `(?=…)`, and none of
the `(?!…)`. Generators of schemas write them (an address without two dots in a row). Anywhere else look-around is refused.
"""

from __future__ import annotations

from ael.data import dataclass
from ael.types.pattern_syntax import Alternation, PatternError, group_end, parse


@dataclass(frozen=True, slots=True)
class Looks:
    """Patterns that all have to occur in a text, and those of which none may; each begins with `^` where there is more than one."""

    wanted: tuple[str, ...]
    refused: tuple[str, ...] = ()


def looks(pattern: str) -> Looks:
    """The parts of a pattern; of one without conditions at its start, itself. Raises PatternError."""
    if not pattern.startswith(("^(?!", "^(?=")):
        return Looks((pattern,))
    wanted: list[str] = []
    refused: list[str] = []
    at = 1
    while pattern.startswith(("(?!", "(?="), at):
        end = group_end(pattern, at + 3)
        (refused if pattern[at + 2] == "!" else wanted).append(f"^(?:{pattern[at + 3 : end]})")
        at = end + 1
        if pattern[at : at + 1] in ("*", "+", "?", "{"):
            raise PatternError("nothing to repeat", at)
    rest = "^" + pattern[at:]
    if isinstance(parse(rest), Alternation):
        raise PatternError("look-ahead in one of several alternatives is not supported", 1)
    return Looks((rest, *wanted), tuple(refused))

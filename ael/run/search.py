"""Tools beyond those that a model is shown at once (feature B14): it finds them by what they do, and is shown what it found.

What a node may call never changes (feature A2.6); only what its model has read of it does. A search is worked out from what the node
offers and the words that are asked for, so it is no effect: it has no record in the journal, and a run over one finds the same.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from ael.run.codec import InputCodec, written
from ael.run.ports import ToolOffer
from ael.run.scope import Scope
from ael.run.tool import Done
from ael.run.world import World
from ael.types.problem import DecodeError
from ael.types.signature import ParameterDef, Signature
from ael.types.type import StringType

NAME = "find_tools"
"""The tool that finds tools. No tool of a program has this name."""
FIRST = 12
"""How many are shown from the beginning: those that the node names first."""
FOUND = 8
"""The most that one search shows."""
_LONGEST = 200
"""Characters of a search, and of what an answer says of each tool."""
_WORDS = re.compile(r"[A-Za-z]+|\d+")
_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])")
_INPUT = Signature(NAME, (ParameterDef("query", "query", StringType(min=1, max=_LONGEST)),), StringType())


class OfferedSearch:
    """The search, offered beside the first tools of a node. `kept` are the offers that have to be found."""

    __slots__ = (
        "_index",
        "denied",
        "input",
        "kept",
        "max_output",
        "name",
        "offer",
        "only",
        "parallel",
        "permission",
        "server",
        "target",
    )

    def __init__(self, world: World, kept: Sequence[ToolOffer]) -> None:
        self.name = self.target = NAME
        self.permission: str | None = None
        self.server: str | None = None
        self.denied = False
        self.only: frozenset[str] | None = None
        self.parallel = True
        self.max_output = world.bindings.limits.result
        self.input = InputCodec(world.codecs, _INPUT, world.bindings.limits.input)
        self.kept = tuple(kept)
        self._index = [(_name_words(offer), Counter(_about(offer))) for offer in kept]
        description = (
            f"There are {len(kept)} more tools. Find those that could help, by words for what they do; call this before saying that "
            "something cannot be done. What is found can be called from the next turn on."
        )
        schema = {
            "type": "object",
            "properties": {"query": {"type": "string", "minLength": 1, "maxLength": _LONGEST}},
            "required": ["query"],
            "additionalProperties": False,
        }
        self.offer = ToolOffer(NAME, description, schema)

    def found(self, query: str) -> tuple[ToolOffer, ...]:
        """The tools that the words of a query fit best, the best one first: rare words count more, those of a name most."""
        words = set(_words(query))
        weights = {word: math.log(1 + len(self.kept) / (1 + self._with(word))) for word in words}
        scored = []
        for at, (name, about) in enumerate(self._index):
            score = sum(weights[word] * (3.0 * (word in name) + min(about[word], 3)) for word in words)
            if score > 0:
                scored.append((-score, at))
        return tuple([self.kept[at] for _, at in sorted(scored)[:FOUND]])

    def asked(self, arguments: str | None) -> tuple[ToolOffer, ...]:
        """What a call with these arguments finds; nothing where they do not fit."""
        try:
            return self.found(cast("str", self.input.proposed(arguments).value["query"]))
        except DecodeError:
            return ()

    async def run(self, scope: Scope, depth: int, path: str, arguments: dict[str, object], text: bytes) -> Done:
        """Say what was found: names, and the beginning of what each does."""
        found = self.found(cast("str", arguments["query"]))
        if scope.run.trace is not None:
            span = scope.run.trace.begin("tool", NAME, path, scope.span)
            span.end("value", scope.seen, {"arguments": arguments, "result": [offer.name for offer in found]})
        lines = [f"{offer.name}: {_brief(offer.description)}" for offer in found]
        said = "\n".join(lines) or "no tool fits these words; try others, or answer without"
        return Done(said, written(said))

    def _with(self, word: str) -> int:
        return sum(word in name or word in about for name, about in self._index)


def split(world: World, offers: Mapping[str, ToolOffer], choice: str) -> tuple[tuple[ToolOffer, ...], OfferedSearch]:
    """What of these many offers a model is shown from the beginning, and the search for the others. `choice` is a tool that the model has
    to call: it is shown."""
    first = dict.fromkeys([*([choice] if choice in offers else []), *offers])
    names = list(first)
    search = OfferedSearch(world, [offers[name] for name in names[FIRST:]])
    return (*[offers[name] for name in names[:FIRST]], search.offer), search


def _words(text: str) -> list[str]:
    """The words of a text without their endings: `refundOrders` and "a refund of an order" share two."""
    return [_stem(word.lower()) for word in _WORDS.findall(_HUMPS.sub(" ", text))]


def _stem(word: str) -> str:
    """A word without its endings, as far as four letters are left: `archiving`, `archived` and `archives` are `archiv`."""
    if word.endswith("s") and not word.endswith("ss") and len(word) > 4:
        word = word[:-1]
    for ending in ("ing", "ed", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def _name_words(offer: ToolOffer) -> frozenset[str]:
    return frozenset(_words(offer.name))


def _about(offer: ToolOffer) -> Iterable[str]:
    yield from _words(offer.description)
    properties = offer.schema.get("properties")
    for name in properties if isinstance(properties, Mapping) else ():
        yield from _words(str(name))


def _brief(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"

"""The pins of a program against what its servers list now: for `ael mcp pin`, `diff` and `reconnect`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ael.cli.mcp_offer import why
from ael.cli.mcp_open import Listed, Wanted
from ael.mcp.difference import difference
from ael.mcp.outside import visible
from ael.types.canonical import EncodeError
from ael.types.pin import Pin, ServerPins, pin, pin_digest
from ael.types.tool_schema import SchemaRefused, prompt_parameters

State = Literal["same", "new", "changed", "missing", "refused"]


@dataclass(frozen=True)
class Compared:
    """Something of a server that is used or pinned: `state` says how the listing stands to its pin, `lines` the difference or the reason.

    `now` is the pin of what is listed, None where it is missing or refused.
    """

    kind: Literal["tool", "prompt"]
    wire: str
    used: bool
    state: State
    lines: tuple[str, ...] = ()
    now: Pin | None = None

    @property
    def title(self) -> str:
        return f"{self.kind} {visible(self.wire, 128)}"


def compare(listed: Listed, pins: ServerPins | None, *, everything: bool = False) -> list[Compared]:
    """All tools and prompts that the program uses or, with `everything`, that the server offers; in the order of the listing.

    What is pinned but not used is left out, unless `everything`.
    """
    known = pins if pins is not None else ServerPins()
    used: set[tuple[str, str]] = {(want.kind, want.wire) for want in listed.server.wanted}
    found = [
        *_kind("tool", listed.tools, known.tools, listed, used, everything),
        *_kind("prompt", listed.prompts, known.prompts, listed, used, everything),
    ]
    seen = {(one.kind, one.wire) for one in found}
    missing = [want for want in listed.server.wanted if want.kind != "resource" and (want.kind, want.wire) not in seen]
    return found + [_missing(want, listed) for want in missing]


def _kind(
    kind: Literal["tool", "prompt"],
    definitions: Sequence[Mapping[str, object]],
    pinned: Mapping[str, Pin],
    listed: Listed,
    used: set[tuple[str, str]],
    everything: bool,
) -> list[Compared]:
    found = [
        Compared(kind, wire, (kind, wire) in used, "refused", (visible(reason),))
        for (of, wire), reason in listed.broken.items()
        if of == kind and ((kind, wire) in used or everything)
    ]
    for definition in definitions:
        wire = str(definition["name"])
        if not ((is_used := (kind, wire) in used) or everything):
            continue
        reason = _refusal(kind, definition, listed)
        old = pinned.get(wire)
        lines = tuple(difference(old.definition, definition)) if old is not None else ()
        if reason is not None:
            found.append(Compared(kind, wire, is_used, "refused", (reason, *lines)))
        else:
            state: State = "new" if old is None else "changed" if lines else "same"
            found.append(Compared(kind, wire, is_used, state, lines, pin(definition)))
    return found


def _refusal(kind: str, definition: Mapping[str, object], listed: Listed) -> str | None:
    try:
        pin_digest(definition)
    except EncodeError as error:
        return f"the definition cannot be pinned: {visible(str(error))}"
    if kind == "tool":
        refused = listed.offers[str(definition["name"])].refused
        return None if refused is None else why(refused)
    try:
        prompt_parameters(definition)
    except SchemaRefused as refused:
        return why(refused)
    return None


def _missing(want: Wanted, listed: Listed) -> Compared:
    assert want.kind != "resource"
    names = [d.get("name") for d in (listed.tools if want.kind == "tool" else listed.prompts)]
    shown = ", ".join(f"`{visible(name, 64)}`" for name in names[:12] if isinstance(name, str))
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return Compared(want.kind, want.wire, True, "missing", (f"the server lists {shown or 'none'}{more}",))

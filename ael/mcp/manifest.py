"""What a program expects of a server, compared with what the server lists now (mcp.md: "before the first call of a run").

Only what the program uses is looked at: what else the server lists, well-formed or not, hides nothing and is never offered (K16, K21).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ael.mcp.difference import difference
from ael.mcp.listing import Listing
from ael.mcp.outside import visible
from ael.types.canonical import EncodeError
from ael.types.fault import Fault, FaultKind
from ael.types.pin import pin_digest

Kind = Literal["tool", "prompt"]
_LINES = 12
"""Lines of one definition's difference in a fault's message, and of the whole."""
_TOLD = 5
_DETAIL = 40


@dataclass(frozen=True)
class Expected:
    """A definition that the program was checked against: its digest, and the whole of it where the lock is at hand."""

    kind: Kind
    name: str
    sha256: str
    definition: Mapping[str, object] | None = None


@dataclass(frozen=True)
class Changed:
    """An expected definition that is not what the server lists; `lines` say what differs, bounded and safe to print."""

    kind: Kind
    name: str
    lines: Sequence[str]


@dataclass(frozen=True)
class Uses:
    """What a program uses of one server. `server` is the declaration's qualified name."""

    server: str
    definitions: tuple[Expected, ...] = ()

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of listing that have to be read."""
        return tuple(dict.fromkeys(one.kind for one in self.definitions))


def compare(uses: Uses, lists: Mapping[Kind, Listing]) -> tuple[Changed, ...]:
    """The expected definitions that are missing, not to be used, or different."""
    known = {kind: {str(one["name"]): one for one in listing} for kind, listing in lists.items()}
    changed = []
    for one in uses.definitions:
        now = known.get(one.kind, {}).get(one.name)
        if now is None:
            listing = lists.get(one.kind)
            reason = listing.refused.get(one.name) if listing is not None else None
            changed.append(Changed(one.kind, one.name, [visible(reason or "the server does not list it any more")]))
        elif digest_of(now) != one.sha256:
            lines = ["its definition is another one"] if one.definition is None else difference(one.definition, now, _DETAIL)
            changed.append(Changed(one.kind, one.name, lines or ["the lock does not hold what the program was checked against"]))
    return tuple(changed)


def digest_of(definition: Mapping[str, object]) -> str:
    """The digest of a definition as listed; "" for one that cannot be written, which no pin has."""
    try:
        return pin_digest(definition)
    except EncodeError:
        return ""


def refusal(uses: Uses, changed: Sequence[Changed]) -> Fault:
    """The fault of definitions that are not those of the lock, with the difference (feature B11)."""
    short = uses.server.rpartition(".")[2]
    what = "1 definition of the server differs" if len(changed) == 1 else f"{len(changed)} definitions of the server differ"
    lines = [f"`{short}`: {what} from `ael.lock`, so nothing was sent"]
    for one in changed[:_TOLD]:
        told = list(one.lines[:_LINES])
        if len(one.lines) > _LINES:
            told.append(f"… ({len(one.lines) - _LINES} more lines)")
        lines += [f"  {one.kind} {visible(one.name)}", *(f"    {line}" for line in told)]
    if len(changed) > _TOLD:
        lines.append(f"  … and {len(changed) - _TOLD} more")
    lines.append(f"  see `ael mcp diff {short}`; `ael mcp pin {short}` accepts what the server lists now")
    return Fault(
        FaultKind.DEFINITION_CHANGED,
        "\n".join(lines),
        sent=False,
        server=uses.server,
        changed={f"{one.kind} {one.name}": list(one.lines) for one in changed[: _TOLD * 4]},
    )

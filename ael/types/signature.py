"""What functions, tools, nodes, operations, MCP tools and connectors share: a signature with permissions, repeat safety and effects."""

from __future__ import annotations

from enum import IntEnum

from ael.data import dataclass, field
from ael.types.definition import NO_DEFAULT, FieldDef, NoDefault, RecordDef
from ael.types.type import Type


class Repeat(IntEnum):
    """Repeat safety, weakest first: the repeat safety of a body is the `min` of what it calls."""

    NEVER = 0
    RECONCILE = 1
    IDEMPOTENT = 2
    PURE = 3

    @property
    def word(self) -> str:
        """The word of the language."""
        return self.name.lower()

    @property
    def can_be_uncertain(self) -> bool:
        """Whether a lost reply of such a call leaves open if it took effect (language.md, section 4)."""
        return self in (Repeat.NEVER, Repeat.RECONCILE)


@dataclass(frozen=True, slots=True)
class ParameterDef:
    """A parameter; as `FieldDef`, and whether it is `trusted`."""

    name: str
    wire: str
    type: Type
    optional: bool = False
    default: object = NO_DEFAULT
    trusted: bool = False
    doc: str = ""

    @property
    def required(self) -> bool:
        return not self.optional and isinstance(self.default, NoDefault)

    def as_field(self) -> FieldDef:
        """The field of the record that a call's arguments are, for schemas and decoding."""
        return FieldDef(self.name, self.wire, self.type, self.optional, self.default, self.doc)


@dataclass(frozen=True, slots=True)
class Effects:
    """What running something can do, inferred through every call.

    `permissions`: those needed by what it calls. `repeat`: the weakest repeat safety of what it calls. `acts`: whether it reaches
    anything outside (then it compiles to `async def`). `uncertain`: whether it can end `Uncertain` without catching it. `tainted`:
    whether outside data has a hand in its result whatever its arguments. `plain`: of a node, whether it is plain code, which reaches
    nothing outside: calling it is an act, but a visit never waits for anything.
    """

    permissions: frozenset[str] = frozenset()
    repeat: Repeat = Repeat.PURE
    acts: bool = False
    uncertain: bool = False
    tainted: bool = False
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Signature:
    """`name` is qualified (`main.answer`, `orders.Orders.get`); `fails` are qualified error names and `Uncertain`."""

    name: str
    parameters: tuple[ParameterDef, ...]
    result: Type
    fails: frozenset[str] = frozenset()
    effects: Effects = field(default_factory=Effects)
    type_parameters: tuple[str, ...] = ()

    def input_record(self) -> RecordDef:
        """The record that the arguments are, as a model or another process sends them."""
        return RecordDef(self.name, tuple(p.as_field() for p in self.parameters))

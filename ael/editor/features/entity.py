"""What a name in the source stands for, and the places where names stand for it.

An `Entity` says what is meant, however it is written and in whichever module: two names mean the same exactly when their entities are
equal. An `Occurrence` is one such name in one module.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from ael.syntax import nodes as n

EntityKind: TypeAlias = Literal[
    "symbol", "permission", "role", "module", "variant", "field", "parameter", "local", "type_parameter", "store_operation", "builtin",
    "method", "test", "secret", "setting", "word",
]  # fmt: skip

Role: TypeAlias = Literal["declare", "read", "write", "import", "implement"]
"""`declare`: the name is given here. `write`: a variable is assigned. `import`: a `use` brings it. `implement`: a provider's function of
it."""


class Entity(NamedTuple):
    """What is meant. `owner` and `name` say which one of its kind it is:

    - `symbol`: a declaration by its key in `Collected.symbols` (`main.answer`, `orders.Orders.get`, `provide main.sql`), or what the
      language brings (`String`, `Timeout`), whose owner is "".
    - `permission`, `role`, `module`: by its name in the whole program.
    - `variant`: owner is the enum (`main.Shape`). `field`: owner is the record, error or `Enum.Variant`, "" for an unnamed record.
    - `parameter`, `type_parameter`: owner is the callable's key. A provider's parameters are those of the operation.
    - `local`: owner is the module, and `at` where its name is declared.
    - `store_operation`: owner is the store. `builtin`, `method`: a function of the language, as `std.now`, `list.map`.
    - `test`: owner is the module, `name` the title.
    - `secret`, `setting`: what deployments bind and programs ask for, by its name.
    - `word`: a name that means something in its place alone (`max`, `tokens`); owner is where: `bound`, `setting`, `amount`, `policy`,
      `retry`.
    """

    kind: EntityKind
    name: str
    owner: str = ""
    at: int = -1

    @property
    def short(self) -> str:
        """The name as its declaration writes it; that of a permission or module is whole."""
        if self.kind == "symbol":
            return self.name.rpartition(".")[2]
        return self.name.rpartition(".")[2] if self.kind in ("builtin", "method") else self.name

    @property
    def shared(self) -> bool:
        """Whether the names that stand for it belong together: not for fields of unnamed records, nor for words."""
        return self.kind != "word" and not (self.kind == "field" and not self.owner)


class Occurrence(NamedTuple):
    """A name, from `start` to `end`, that stands for an entity. `node` is where the tree has it: what the side tables know it by."""

    start: int
    end: int
    entity: Entity
    role: Role
    node: n.Node


class Visible(NamedTuple):
    """A local name and where it can be written: from `start` to `end`. `node` is the key of its type in `Tables.locals`."""

    name: str
    entity: Entity
    start: int
    end: int
    node: n.Node

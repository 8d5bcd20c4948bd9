"""A compiled program: specs with their code. What the run time gets; nothing above this is loaded to run one.

Calling convention of compiled code: what acts is `async def f(k, a, b)` with the frame `k` first; what does not is `def f(a, b)`. Arguments
are positional, in parameter order; an absent optional one is None. A frame is the only way to the world.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from ael.data import dataclass, field
from ael.types.definition import Definition
from ael.types.signature import Signature
from ael.types.spec import (
    ModelSpec,
    NodeSpec,
    OperationSpec,
    PermissionSpec,
    ProvideSpec,
    RoleSpec,
    ServerSpec,
    ServiceSpec,
    StoreSpec,
    TestSpec,
    ToolSpec,
)

Code = Callable[..., Any]


class Frame(Protocol):
    """What compiled code is given: its place in the run. `site` numbers the call sites of a callable from 0, stable for one program digest.

    The structural path of a call is the frame's path, the site, and how many times this frame came by that site, so that no counter
    runs over the whole run (runtime.md, section 5).
    """

    @property
    def key(self) -> str:
        """`call.key`: the idempotency key of the tool or operation whose body this is."""

    def enter(self, site: int) -> Frame:
        """The frame for calling an acting AEL function. Raises the fault `TooDeep` at the depth cap."""

    async def act(self, site: int, target: str, arguments: tuple[object, ...]) -> object:
        """A tool, node, operation, store operation or built-in effect, by qualified name."""

    async def parallel_for(
        self, site: int, items: Sequence[object], limit: int | None, body: Callable[[Frame, object], Awaitable[object]]
    ) -> list[object]:
        """Run `body` for each item, at most `limit` at once; the first failure cancels the rest and is raised."""

    async def parallel_record(
        self, site: int, branches: Sequence[tuple[str, Callable[[Frame], Awaitable[object]]]]
    ) -> dict[str, object]:
        """Run the branches beside each other."""

    def release(self, site: int, value: object, reason: str) -> object:
        """`release(x, "why")`: recorded in the trace, gives `x`."""

    async def script(self, site: int, name: str, turns: Sequence[object]) -> None:
        """`script model [ … ]` in a test."""

    async def test(self, site: int, what: str, target: str, given: Mapping[str, object]) -> object:
        """`calls(tool, id: "A-1")` in a test, and everything else that a test does with its run: `target` is the name it begins with."""


@dataclass(frozen=True, slots=True)
class CompiledTool:
    """`body` acts (`async def body(k, …)`), None for an `extern` and for what an MCP server does.

    `approval_when(…)` and `key(…)` are pure, over the arguments.
    """

    spec: ToolSpec
    body: Code | None
    approval_when: Code | None = None
    key: Code | None = None


@dataclass(frozen=True, slots=True)
class Requirement:
    """`require COND, "message"`: `check(output, *parameters) -> bool`; `text` is the condition as written, for the model."""

    check: Code
    text: str
    message: Code | None = None


@dataclass(frozen=True, slots=True)
class CompiledEdge:
    """The code of one edge, over the agent's parameters and then the latest output of each of its nodes (None where there is none).

    `when` gives a Bool. `arguments` gives a tuple, for `finish` of the result alone; None where what the source gave is handed on
    (`passes`), or nothing is.
    """

    when: Code | None = None
    arguments: Code | None = None
    passes: bool = False


@dataclass(frozen=True, slots=True)
class CompiledNode:
    """`body` is `async def body(k, …)` of a deterministic node, `edges` those of an agent, as in its spec.

    `input(*parameters)` gives a dict name -> value; where it is None, all parameters go in.
    """

    spec: NodeSpec
    body: Code | None = None
    input: Code | None = None
    requirements: tuple[Requirement, ...] = ()
    examples: tuple[tuple[object, object], ...] = ()
    edges: tuple[CompiledEdge, ...] = ()


@dataclass(frozen=True, slots=True)
class CompiledProvide:
    """`operations`: operation's own name -> `async def op(k, …)`."""

    spec: ProvideSpec
    operations: Mapping[str, Code]


@dataclass(frozen=True, slots=True)
class CompiledTest:
    spec: TestSpec
    body: Code


DEPTH_MAX = 1_000
"""Calls of recursive functions within each other."""


class Flag(list[BaseException | None]):
    """`flag[0]`: None while code may go on, else the exception to raise.

    `cells` is what compiled code looks at: the same, and how deep recursion may be, which is nothing while code is to stop. So a
    recursive function looks at one number for both.
    """

    def __init__(self) -> None:
        super().__init__([None])
        self.cells: list[Any] = [None, DEPTH_MAX]

    def __setitem__(self, at: Any, value: Any) -> None:
        super().__setitem__(at, value)
        if value is None:
            self.cells[:] = [None, DEPTH_MAX]
        else:
            self.cells[0] = value
            self.cells[1] = -1


@dataclass
class Halt:
    """What stops compiled code: it looks at loop back edges and in recursion."""

    flag: Flag = field(default_factory=Flag)


@dataclass(frozen=True)
class CompiledUnit:
    """An immutable program. `functions` has every AEL function by qualified name, for embedding and tests."""

    digest: str
    definitions: Mapping[str, Definition]
    signatures: Mapping[str, Signature]
    permissions: Mapping[str, PermissionSpec]
    roles: Mapping[str, RoleSpec]
    tools: Mapping[str, CompiledTool]
    nodes: Mapping[str, CompiledNode]
    services: Mapping[str, ServiceSpec]
    operations: Mapping[str, OperationSpec]
    provides: Mapping[str, CompiledProvide]
    stores: Mapping[str, StoreSpec]
    models: Mapping[str, ModelSpec]
    tests: tuple[CompiledTest, ...]
    functions: Mapping[str, Code]
    main: str
    halt: Halt = field(default_factory=Halt)
    servers: Mapping[str, ServerSpec] = field(default_factory=dict)

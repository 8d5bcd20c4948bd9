"""A program that checks, ready to be given Python functions and to be run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, Unpack, overload

from ael.diagnostics.diagnostic import Bag, Diagnostic
from ael.embed.approver import Approve
from ael.embed.error import BindError, LoadError, RequestError
from ael.embed.function import fitted
from ael.embed.nodes import Nodes
from ael.embed.options import Asked
from ael.embed.outcome import Outcome
from ael.embed.session import Input, Session, entry_of, short
from ael.embed.sync import SyncSession
from ael.project.program import Opened, open_program

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def load(path: str | PathLike[str], *, deploy: str | None = None) -> Program:
    """Load and check the program at `path`, a source file or a folder with a `main.ael`, under `deploy.ael` or `deploy.NAME.ael`.

    Nothing is run, and no model, server or store is looked for. Raises `LoadError` with all diagnostics where it does not check.
    """
    bag = Bag()
    opened = open_program(Path(path), bag, deploy=deploy)
    found = bag.sorted()
    if opened is None or bag.errors:
        raise LoadError(found)
    return Program(opened, tuple(found))


class Program:
    """A program that checks. `bind` and `provide` give it Python; `open` opens it for many runs, `run` for one."""

    def __init__(self, opened: Opened, warnings: tuple[Diagnostic, ...]) -> None:
        self._opened = opened
        self._functions: dict[str, Callable[..., object]] = {}
        self._operations: dict[str, Callable[..., object]] = {}
        self._provided: dict[str, str] = {}
        self.warnings = warnings
        """What the check warned of, as data."""

    # --- Python in it -------------------------------------------------------------------------------------------------

    @overload
    def bind(self, tool: str, function: F) -> F: ...
    @overload
    def bind(self, tool: str) -> Callable[[F], F]: ...
    def bind(self, tool: str, function: F | None = None) -> F | Callable[[F], F]:
        """Let a Python function be the body of an `extern` tool; without one, a decorator.

        It is called with the tool's parameters by name, converted to what its annotations say; a plain function in a thread of its own, an
        `async def` in the event loop of the session. A parameter `ctx` gets the context of the call (`ael.CallContext`): `ctx.key`,
        `ctx.headers`, `ctx.tenant`, `ctx.cancelled()`. It raises `ael.Failure` for an error that the tool declares; everything else
        that it raises is the fault `Crashed`.
        Raises `BindError` for a tool that is not there or not `extern`, and for a function that does not fit its signature.
        """
        if function is None:
            return lambda later: self.bind(tool, later)
        tools = self._opened.program.tools
        name = self._found("AEL0890", "tool", tool, tools)
        if tools[name].extern is None:
            note = 'such a tool is written `extern "module:function"` in place of its body'
            raise BindError("AEL0890", f"the tool `{tool}` has a body of its own, and takes no function", note)
        found = fitted(function, tools[name].signature, self._opened.program.definitions)
        if isinstance(found, list):
            raise BindError("AEL0890", f"{_called(function)} does not fit the tool `{tool}`", *found)
        self._functions[name] = found.adapter()
        return function

    def provide(self, service: str, provider: object) -> None:
        """Let a Python object provide a service: a method for each operation, called as `bind` says.

        It takes the place of a provider that the program has. Raises `BindError` for a service that is not there or that the deployment
        places elsewhere, and for an object that does not fit.
        """
        program = self._opened.program
        name = self._found("AEL0891", "service", service, program.services)
        if name in self._opened.deployment.placements:
            raise BindError("AEL0891", f"the deployment places `{service}` elsewhere, so nothing here provides it")
        if isinstance(provider, type):
            raise BindError("AEL0891", f"`{provider.__qualname__}` is a class: give an object of it")
        made: dict[str, Callable[..., object]] = {}
        problems: list[str] = []
        for operation in program.services[name].operations:
            own = operation.name.rpartition(".")[2]
            method = getattr(provider, own, None)
            if method is None:
                problems.append(f"it has no method `{own}`")
                continue
            found = fitted(method, operation.signature, program.definitions)
            if isinstance(found, list):
                problems += [f"`{own}`: {problem}" for problem in found]
            else:
                made[operation.name] = found.adapter()
        if problems:
            raise BindError("AEL0891", f"the {type(provider).__qualname__} does not fit the service `{service}`", *problems)
        self._operations |= made
        self._provided[f"service {name.rpartition('.')[2]}"] = f"Python {type(provider).__module__}.{type(provider).__qualname__}"

    def _found(self, code: str, kind: str, name: str, known: Mapping[str, object]) -> str:
        """A qualified name: of the main module, or of the only module that has one of this name."""
        main = f"{self._opened.program.main}.{name}"
        found = [one for one in known if one in (name, main)] or [one for one in known if one.rpartition(".")[2] == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise BindError(code, f"there are several of the name `{name}`", f"write it whole: {', '.join(sorted(found))}")
        near = get_close_matches(name, [one.rpartition(".")[2] for one in known], 1)
        raise BindError(code, f"the program has no {kind} `{name}`" + (f"; did you mean `{near[0]}`?" if near else ""))

    # --- running it -----------------------------------------------------------------------------------------------------

    def open(
        self, node: str | None = None, *, approve: Approve | None = None, durable: bool = True, otel: bool = False
    ) -> Session:
        """Open it for many runs: `async with program.open() as session: …`.

        `node`: only what this one needs is bound, so that a key which another node needs may be missing. `approve`: decides about
        calls that need a person's word. `durable=False` keeps runs in memory whatever the deployment says. `otel`: traces go where
        OpenTelemetry's variables say.
        """
        return Session(
            self._opened, dict(self._functions), dict(self._operations), dict(self._provided),
            entry=node, approve=approve, durable=durable, otel=otel,
        )  # fmt: skip

    def open_sync(
        self, node: str | None = None, *, approve: Approve | None = None, durable: bool = True, otel: bool = False
    ) -> SyncSession:
        """The same for programs without an event loop: `with program.open_sync() as session: …`."""
        return SyncSession(self.open(node, approve=approve, durable=durable, otel=otel))

    @property
    def nodes(self) -> Nodes:
        """Its nodes and agents by name, each call with a session of its own: `await program.nodes.answer(id="A-1")`."""
        return Nodes(self._opened, self.run)

    @overload
    async def run(
        self,
        node: str | None = None,
        input: Input = None,
        *,
        approve: Approve | None = None,
        result_type: type[T],
        **asked: Unpack[Asked],
    ) -> Outcome[T]: ...
    @overload
    async def run(
        self,
        node: str | None = None,
        input: Input = None,
        *,
        approve: Approve | None = None,
        result_type: object = None,
        **asked: Unpack[Asked],
    ) -> Outcome[Any]: ...
    async def run(
        self,
        node: str | None = None,
        input: Input = None,
        *,
        approve: Approve | None = None,
        result_type: object = None,
        **asked: Unpack[Asked],
    ) -> Outcome[Any]:
        """Open the program for one run, and wait for its end: `Session.run`, with what `open` takes."""
        chosen = self._entry(node)
        async with self.open(chosen, approve=approve) as session:
            return await session.run(chosen, input, result_type=result_type, **asked)

    @overload
    def run_sync(
        self,
        node: str | None = None,
        input: Input = None,
        *,
        approve: Approve | None = None,
        result_type: type[T],
        **asked: Unpack[Asked],
    ) -> Outcome[T]: ...
    @overload
    def run_sync(
        self,
        node: str | None = None,
        input: Input = None,
        *,
        approve: Approve | None = None,
        result_type: object = None,
        **asked: Unpack[Asked],
    ) -> Outcome[Any]: ...
    def run_sync(
        self,
        node: str | None = None,
        input: Input = None,
        *,
        approve: Approve | None = None,
        result_type: object = None,
        **asked: Unpack[Asked],
    ) -> Outcome[Any]:
        """`run`, for programs without an event loop. Raises `RequestError` where one runs already."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self.run(node, input, approve=approve, result_type=result_type, **asked))
        raise RequestError("AEL0893", "`run_sync` would stop the event loop that runs here", "write `await program.run(…)`")

    def _entry(self, node: str | None) -> str:
        """The short name of the node that is meant. Raises `RequestError`."""
        return short(entry_of(self._opened, node))


def _called(function: object) -> str:
    """How messages name a function."""
    return f"`{getattr(function, '__qualname__', type(function).__qualname__)}`"

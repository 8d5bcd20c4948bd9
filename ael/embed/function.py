"""Python functions behind AEL signatures: looked at when they are bound, and called with values as their annotations say."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, get_args, get_origin

from ael.data import dataclass, replace
from ael.embed.annotation import alternatives, bare, hints
from ael.embed.plain import value_of
from ael.embed.shape import Convert, ShapeError, fits, reader
from ael.run.extern import CONTEXT
from ael.run.preview import preview_behind, previewed
from ael.types.definition import Definitions
from ael.types.fault import Fault, FaultKind
from ael.types.signature import ParameterDef, Signature
from ael.types.text import show

NAMES = ("ctx", "call")
"""The parameter that gets the context of a call (`ael.CallContext`), where the signature has none of that name."""


@dataclass(frozen=True)
class Fitted:
    """A function that fits. `takes`: wire name -> its parameter and how a value becomes what that says; `context`: the one for `ctx`."""

    function: Callable[..., Any]
    asynchronous: bool
    takes: Mapping[str, tuple[str, Convert]]
    missing: tuple[str, ...]
    context: str | None
    gives: Convert

    def adapter(self) -> Callable[..., object]:
        """What the run time calls: by wire name, with the context beside them."""
        if self.asynchronous:

            async def awaited(**given: object) -> object:
                result = self.function(**self.arguments(given))
                return self.gives(await result if inspect.isawaitable(result) else result)

            return self._shown(marked(awaited))

        def called(**given: object) -> object:
            return self.gives(self.function(**self.arguments(given)))

        return self._shown(marked(called))

    def _shown(self, made: Callable[..., object]) -> Callable[..., object]:
        """The adapter, with what shows its calls to a person where the function has that: it gets the same values (`ael.previewed`)."""
        shows = preview_behind(self.function)
        if shows is None:
            return made
        context = next((name for name in NAMES if name in inspect.signature(shows).parameters), None)
        asynchronous = inspect.iscoroutinefunction(shows)
        return previewed(
            made, replace(self, function=shows, asynchronous=asynchronous, context=context, gives=_as_it_is).adapter()
        )

    def arguments(self, given: dict[str, object]) -> dict[str, object]:
        """The keywords of one call. An argument that is absent is left to the function's default, or is `None` where it has none."""
        context = given.pop(CONTEXT, None)
        made: dict[str, object] = dict.fromkeys(self.missing)
        for wire, value in given.items():
            name, convert = self.takes[wire]
            try:
                made[name] = convert(value)
            except Exception as error:  # a class of the user's was made: its own checks may say anything
                what = f"{type(error).__name__}: {error}"[:_SHOWN]
                raise Fault(FaultKind.BAD_ARGUMENTS, f"`{name}` is refused: {what}", final=True) from None
        if self.context is not None:
            made[self.context] = context
        return made


def _as_it_is(value: Any) -> object:
    return value


def marked(function: Callable[..., object]) -> Callable[..., object]:
    """A function that gets the context of each call under a name that no parameter has."""
    vars(function)["ael_context"] = CONTEXT
    return function


def fitted(function: Any, signature: Signature, definitions: Definitions) -> Fitted | list[str]:
    """A function looked at; or what is wrong with it, one sentence each."""
    if inspect.isclass(function) or not callable(function):
        return [f"it is {'a class' if inspect.isclass(function) else f'a {type(function).__name__}'}, and no function"]
    plain = _plain(function)
    if inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain):
        return ["it is a generator: a call gives one value"]
    # A wrapper of an `async def` may be one itself, or hand on what that gives; one around a plain function may be one as well.
    asynchronous = inspect.iscoroutinefunction(plain) or inspect.iscoroutinefunction(function)
    known = hints(plain)
    try:
        parameters = dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        # A built-in function that does not say what it takes: seen when it is called.
        return Fitted(function, asynchronous, {one.wire: (one.wire, _same) for one in signature.parameters}, (), None, _same)
    problems: list[str] = []
    context = next((name for name in NAMES if name in parameters and not _named(signature, name)), None)
    others = {name: one for name, one in parameters.items() if name != context}
    takes, missing = _takes(others, known, signature, definitions, problems)
    if context is not None and parameters[context].kind is inspect.Parameter.POSITIONAL_ONLY:
        problems.append(f"`{context}` is passed by name, and it takes it by position only")
    problems += _result(known.get("return", inspect.Parameter.empty), signature, definitions, asynchronous)
    if problems:
        return problems
    return Fitted(
        function, asynchronous, takes, missing, context, lambda value: value_of(value, signature.result, definitions)
    )  # fmt: skip


def _plain(function: Any) -> Any:
    """The function that has the annotations: behind `partial`, a method, or an object that is called."""
    while isinstance(function, partial):
        function = function.func
    if inspect.isfunction(function) or inspect.ismethod(function) or inspect.isbuiltin(function):
        return inspect.unwrap(function)
    return type(function).__call__


def _named(signature: Signature, name: str) -> bool:
    return any(name in (one.name, one.wire) for one in signature.parameters)


def _takes(
    parameters: Mapping[str, inspect.Parameter],
    known: Mapping[str, object],
    signature: Signature,
    definitions: Definitions,
    problems: list[str],
) -> tuple[dict[str, tuple[str, Convert]], tuple[str, ...]]:
    """What each argument becomes, and the parameters that are `None` where it is absent."""
    more = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    takes: dict[str, tuple[str, Convert]] = {}
    missing: list[str] = []
    for declared in signature.parameters:
        name = declared.name if declared.name in parameters else declared.wire
        own = parameters.get(name)
        if own is None or own.kind in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL):
            if not more:
                problems.append(f"it does not take `{declared.name}: {show(declared.type)}`")
            takes[declared.wire] = (declared.wire, _same)
        elif own.kind is inspect.Parameter.POSITIONAL_ONLY:
            problems.append(f"`{name}` is passed by name, and it takes it by position only")
        else:
            takes[declared.wire] = (name, _converted(declared, known.get(name, inspect.Parameter.empty), definitions, problems))
            if declared.optional and own.default is inspect.Parameter.empty:
                missing.append(name)
                _absent(name, known.get(name, inspect.Parameter.empty), problems)
    used = {name for name, _ in takes.values()}
    for name, own in parameters.items():
        plain = own.kind not in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        if plain and own.default is inspect.Parameter.empty and name not in used:
            problems.append(f"it needs `{name}`, which `{signature.name.rpartition('.')[2]}` does not have")
    return takes, tuple(missing)


def _converted(declared: ParameterDef, annotation: object, definitions: Definitions, problems: list[str]) -> Convert:
    try:
        return reader(annotation, declared.type, definitions)
    except ShapeError as error:
        problems.append(str(error.inside(declared.name)))
        return _same


def _absent(name: str, annotation: object, problems: list[str]) -> None:
    """A parameter without a default is `None` where its argument is absent, if its annotation says so or nothing."""
    found = alternatives(bare(annotation))
    if annotation is not inspect.Parameter.empty and type(None) not in found and object not in found and Any not in found:
        problems.append(f"`{name}` may be absent: give it a default, or `| None`")


def _result(annotation: object, signature: Signature, definitions: Definitions, asynchronous: bool) -> list[str]:
    """What is wrong with what it says that it gives."""
    if annotation is inspect.Parameter.empty:
        return []
    origin = get_origin(annotation) or annotation
    if not asynchronous and isinstance(origin, type) and issubclass(origin, Awaitable):
        return ["it gives something to be awaited: make it an `async def`"]
    if get_args(annotation) == () and getattr(annotation, "__name__", str(annotation)) in ("NoReturn", "Never"):
        return []
    try:
        fits(annotation, signature.result, definitions)
    except ShapeError as error:
        return [f"its result: {error}"]
    return []


_SHOWN = 300
"""Characters of what a class says against its values."""


def _same(value: object) -> object:
    return value

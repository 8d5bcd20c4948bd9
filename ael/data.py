"""Classes of annotated fields, as the standard library's `dataclass` makes them, whose methods are made when they are first used.

`ael check` loads some two hundred such classes and uses a part of each. The standard decorator generates five or six methods for a
class at import, 1 to 1.5 ms of CPU; that alone would cost more than the whole check of a small file may. Here a class costs some 20 µs at
import, and its constructor, `==`, hash and text are compiled once, at their first use. The meaning of `frozen`, `slots`, `eq`,
defaults and `field` is that of the standard library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast, dataclass_transform, overload

_T = TypeVar("_T")


class FrozenError(AttributeError):
    """Something that does not change was to be changed."""


class _Field:
    __slots__ = ("compare", "factory", "repr")

    def __init__(self, factory: Callable[[], Any], repr: bool, compare: bool) -> None:
        self.factory = factory
        self.repr = repr
        self.compare = compare


def field(*, default_factory: Callable[[], _T], repr: bool = True, compare: bool = True) -> _T:
    """A field whose default is made anew for each object; `repr` and `compare` leave it out of the text, and of `==` and hash."""
    return cast(_T, _Field(default_factory, repr, compare))


@overload
def dataclass(cls: type[_T], /) -> type[_T]: ...
@overload
def dataclass(*, frozen: bool = False, slots: bool = False, eq: bool = True) -> Callable[[type[_T]], type[_T]]: ...
@dataclass_transform(field_specifiers=(field,))
def dataclass(
    cls: type[_T] | None = None, /, *, frozen: bool = False, slots: bool = False, eq: bool = True
) -> type[_T] | Callable[[type[_T]], type[_T]]:
    """Make a class of its annotated fields, in order; a subclass adds its own behind those of its base."""

    def make(cls: type[_T]) -> type[_T]:
        return _made(cls, frozen, slots, eq)

    return make if cls is None else make(cls)


def replace(value: _T, /, **changes: Any) -> _T:
    """A copy of an object with some fields changed."""
    kind: Any = type(value)
    return cast(
        _T,
        kind(**{name: changes.pop(name) if name in changes else getattr(value, name) for name in kind.__match_args__}, **changes),
    )


def _made(cls: type[_T], frozen: bool, slots: bool, eq: bool) -> type[_T]:
    own = [name for name, kind in vars(cls).get("__annotations__", {}).items() if not kind.startswith("ClassVar")]
    base: dict[str, Any] = getattr(cls, "__field_defaults__", {})
    inherited: tuple[str, ...] = getattr(cls, "__match_args__", ())
    defaults = {**base, **{name: vars(cls)[name] for name in own if name in vars(cls)}}
    body = {k: v for k, v in vars(cls).items() if k not in ("__dict__", "__weakref__") and (k not in own)}
    body["__match_args__"] = (*inherited, *own)
    body["__field_defaults__"] = defaults
    if slots:
        body["__slots__"] = tuple(own)
    if frozen:
        body["__setattr__"] = body["__delattr__"] = _refuse
    for name, first in _METHODS.items():
        if name not in body and (eq or name in ("__init__", "__repr__")):
            body[name] = first
    if eq and not frozen and "__hash__" not in vars(cls):
        body["__hash__"] = None
    metaclass: Any = type(cls)
    made: type[_T] = metaclass(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    return made


def _refuse(self: object, name: str, value: object = None) -> None:
    raise FrozenError(f"`{type(self).__name__}.{name}` does not change")


def _owner(cls: type, name: str, first: object) -> type:
    """The class in whose body the first-use method stands: the method is made for that one."""
    return next(c for c in cls.__mro__ if vars(c).get(name) is first)


def _init(self: Any, *values: Any, **named: Any) -> None:
    owner = _owner(type(self), "__init__", _init)
    _define(owner, "__init__", _init_source(owner))
    type(self).__init__(self, *values, **named)


def _eq(self: Any, other: object) -> bool:
    owner = _owner(type(self), "__eq__", _eq)
    names = _compared(owner)
    left, right = _tuple("self", names), _tuple("other", names)
    _define(
        owner,
        "__eq__",
        f"def __eq__(self, other):\n return {left} == {right} if other.__class__ is self.__class__ else NotImplemented",
    )
    return bool(self == other)


def _hash(self: Any) -> int:
    owner = _owner(type(self), "__hash__", _hash)
    _define(owner, "__hash__", f"def __hash__(self):\n return hash({_tuple('self', _compared(owner))})")
    return hash(self)


def _repr(self: Any) -> str:
    cls = type(self)
    hidden = {n for n, d in cls.__field_defaults__.items() if isinstance(d, _Field) and not d.repr}
    return f"{cls.__qualname__}({', '.join(f'{n}={getattr(self, n)!r}' for n in cls.__match_args__ if n not in hidden)})"


_METHODS: dict[str, Any] = {"__init__": _init, "__eq__": _eq, "__hash__": _hash, "__repr__": _repr}


def _compared(owner: Any) -> list[str]:
    defaults = owner.__field_defaults__
    return [n for n in owner.__match_args__ if not (isinstance(defaults.get(n), _Field) and not defaults[n].compare)]


def _tuple(of: str, names: list[str]) -> str:
    return f"({''.join(f'{of}.{name},' for name in names)})"


def _init_source(owner: Any) -> str:
    parameters, lines = ["self"], []
    slotted = "__slots__" in vars(owner)
    for name in owner.__match_args__:
        default = owner.__field_defaults__.get(name, _MISSING)
        value = name
        if default is _MISSING:
            parameters.append(name)
        elif isinstance(default, _Field):
            parameters.append(f"{name}=_MISSING")
            value = f"_defaults['{name}'].factory() if {name} is _MISSING else {name}"
        else:
            parameters.append(f"{name}=_defaults['{name}']")
        lines.append(f" _set_{name}(self, {value})" if slotted else f" _set(self, '{name}', {value})")
    if hasattr(owner, "__post_init__"):
        lines.append(" self.__post_init__()")
    return f"def __init__({', '.join(parameters)}):\n" + ("\n".join(lines) or " pass")


_MISSING: Any = object()


def _define(owner: Any, name: str, source: str) -> None:
    """Compile a method and put it in the place of its first-use stand-in."""
    space: dict[str, Any] = {"_MISSING": _MISSING, "_defaults": owner.__field_defaults__, "_set": object.__setattr__}
    if "__slots__" in vars(owner):
        space.update((f"_set_{field}", getattr(owner, field).__set__) for field in owner.__match_args__)
    exec(compile(source, f"<{owner.__module__}.{owner.__qualname__}.{name}>", "exec"), space)  # source of our own making
    setattr(owner, name, space[name])

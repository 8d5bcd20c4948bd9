"""What a Python annotation says: its alternatives, and the fields of a dataclass, `TypedDict`, named tuple or pydantic model.

Pydantic is never imported: whoever has a model of it has imported it.
"""

from __future__ import annotations

import dataclasses
import sys
import types
from collections.abc import Callable, Mapping
from inspect import Parameter
from types import SimpleNamespace
from typing import Annotated, Any, NotRequired, Required, Union, get_args, get_origin, get_type_hints, is_typeddict

from ael.data import dataclass


@dataclass(frozen=True)
class Member:
    """A field of a Python class: what it may hold, and whether it may be left out."""

    annotation: object
    optional: bool


@dataclass(frozen=True)
class Form:
    """A Python class for records: its fields, and how one is made of them. `strict`: keys that are no field are refused."""

    members: Mapping[str, Member]
    make: Callable[[dict[str, object]], object]
    strict: bool = True


def bare(annotation: object) -> object:
    """An annotation without what says nothing of its values: `Annotated`, `NewType`, aliases, `Required`."""
    while True:
        if get_origin(annotation) in (Annotated, Required, NotRequired):
            annotation = get_args(annotation)[0]
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__  # type: ignore[attr-defined]  # of Python 3.12, which is not the oldest one here
        else:
            return type(None) if annotation is None else annotation


def anything(annotation: object) -> bool:
    """Whether it holds every value."""
    return annotation is Any or annotation is object or annotation is Parameter.empty


def alternatives(annotation: object) -> tuple[object, ...]:
    """The members of a union; itself where it is none."""
    if get_origin(annotation) in (Union, types.UnionType):
        return tuple(one for part in get_args(annotation) for one in alternatives(bare(part)))
    return (annotation,)


def shown(annotation: object) -> str:
    """An annotation as source writes it."""
    if get_args(annotation):
        return str(annotation).replace("typing.", "")
    return annotation.__qualname__ if isinstance(annotation, type) else str(annotation)


def hints(owner: Any) -> dict[str, object]:
    """The annotations of a function or a class. One that names what is not there at run time (`TYPE_CHECKING`) holds everything."""
    try:
        return dict(get_type_hints(owner, include_extras=True))
    except Exception:  # an annotation is the user's expression: it may fail in any way
        found: dict[str, object] = {}
        for one in reversed(getattr(owner, "__mro__", (owner,))):
            names = vars(sys.modules.get(getattr(one, "__module__", ""), SimpleNamespace()))
            found |= {name: _hint(name, written, names) for name, written in _written(one).items()}
        return found


def _written(owner: Any) -> dict[str, object]:
    """The annotations as they are written; from Python 3.14 on, asking for them may fail as well."""
    try:
        return dict(vars(owner).get("__annotations__", {}) if isinstance(owner, type) else owner.__annotations__)
    except Exception:  # as above
        return {}


def _hint(name: str, written: object, names: Mapping[str, object]) -> object:
    one: Any = SimpleNamespace(__annotations__={name: written})
    try:
        return get_type_hints(one, dict(names), include_extras=True)[name]
    except Exception:  # as above
        return Any


def form_of(annotation: object) -> Form | None:
    """How a class takes a record; None for what is no class of that kind."""
    if not isinstance(annotation, type):
        return None
    if is_typeddict(annotation):
        return Form({name: _key(annotation, name, hint) for name, hint in hints(annotation).items()}, dict)
    if is_model(annotation):
        return _model(annotation)
    known = hints(annotation)
    if dataclasses.is_dataclass(annotation):
        members = {
            one.name: Member(
                bare(known.get(one.name, Any)),
                one.default is not dataclasses.MISSING or one.default_factory is not dataclasses.MISSING,
            )
            for one in dataclasses.fields(annotation)
            if one.init
        }
        return Form(members, lambda values: annotation(**values))
    if issubclass(annotation, tuple) and hasattr(annotation, "_fields"):
        defaults: Mapping[str, object] = getattr(annotation, "_field_defaults", {})
        names: tuple[str, ...] = annotation._fields
        return Form({n: Member(bare(known.get(n, Any)), n in defaults) for n in names}, lambda values: annotation(**values))
    return None


def _key(owner: Any, name: str, hint: object) -> Member:
    """A key of a `TypedDict`. Where annotations are text, `__required_keys__` knows nothing of `NotRequired`."""
    optional = get_origin(hint) is NotRequired or (get_origin(hint) is not Required and name not in owner.__required_keys__)
    return Member(bare(hint), optional)


def is_model(annotation: type) -> bool:
    """Whether a class is a pydantic model."""
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and issubclass(annotation, pydantic.BaseModel)


def _model(annotation: Any) -> Form:
    """Its own validators look at the values: here, that each field it needs is there."""
    members = {
        (one.validation_alias if isinstance(one.validation_alias, str) else name): Member(Any, not one.is_required())
        for name, one in annotation.model_fields.items()
    }
    return Form(members, annotation.model_validate, strict=annotation.model_config.get("extra") == "forbid")

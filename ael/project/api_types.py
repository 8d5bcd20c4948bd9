"""What changed in the types of a pack: they go by name, and their values go both ways, so that little may change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ael.project.api_level import Change, added, broken
from ael.types.definition import AliasDef, Definition, EnumDef, FieldDef, RecordDef
from ael.types.text import show


def type_changes(old: Mapping[str, Definition], new: Mapping[str, Definition], name: str, shown: str) -> Iterator[Change]:
    """What changed in the type `name`, which both have."""
    match old[name], new[name]:
        case RecordDef() as was, RecordDef() as now if was.is_error == now.is_error:
            yield from _fields(shown, was.fields, now.fields)
            if was.open != now.open or was.extra != now.extra:
                yield broken(shown, "takes unknown keys now" if now.open else "takes no unknown keys any more")
        case EnumDef() as was, EnumDef() as now:
            yield from _variants(shown, was, now)
        case AliasDef() as was, AliasDef() as now:
            if was.type != now.type:
                yield broken(shown, f"is {show(now.type)}, before {show(was.type)}")
        case _:
            yield broken(shown, "is another kind of type")


def _variants(shown: str, was: EnumDef, now: EnumDef) -> Iterator[Change]:
    before, after = ({variant.name: variant for variant in one.variants} for one in (was, now))
    for name in before:
        if name not in after:
            yield broken(shown, f"has no variant `{name}` any more")
        else:
            yield from _fields(f"{shown}.{name}", before[name].fields, after[name].fields)
    for name in after.keys() - before.keys():
        yield broken(shown, f"has a variant `{name}`, and a `match` has to name every one")


def _fields(shown: str, was: tuple[FieldDef, ...], now: tuple[FieldDef, ...]) -> Iterator[Change]:
    before, after = ({field.name: field for field in fields} for fields in (was, now))
    for name, field in before.items():
        if name not in after:
            yield broken(shown, f"has no field `{name}` any more")
        else:
            yield from _field(shown, field, after[name])
    for name, field in after.items():
        if name not in before:
            text = f"has a field `{name}`"
            yield (
                broken(shown, f"{text}, which must be given")
                if field.required
                else added(shown, f"{text}, which may be left out")
            )
    if (moved := reordered(list(before), list(after))) is not None:
        yield broken(shown, f"has its fields in another order: `{moved}` moved")


def _field(shown: str, was: FieldDef, now: FieldDef) -> Iterator[Change]:
    name = f"`{now.name}`"
    if was.type != now.type:
        yield broken(shown, f"has {name} as {show(now.type)}, before {show(was.type)}")
    if was.wire != now.wire:
        yield broken(shown, f"has {name} under the key `{now.wire}`, before `{was.wire}`")
    if was.optional != now.optional:
        yield broken(shown, f"has {name} {'absent at times' if now.optional else 'always'}")
    elif now.required and not was.required:
        yield broken(shown, f"must be given {name}, which had a default")
    elif was.default != now.default:
        yield added(
            shown, f"has another default for {name}" if not now.required and not was.required else f"has a default for {name}"
        )


def reordered(before: list[str], after: list[str]) -> str | None:
    """The first of `before` that is not where it was among what is left of it, or that something new comes before; None: all are."""
    left = [name for name in before if name in after]
    return next((name for at, name in enumerate(left) if after[at] != name), None)

"""The code for lists, maps, records, enums and unions: a function for each, written once for both decoders and all directions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ael.types.decode_leaf import Direction, Frame, builtin_name, int_bounds, is_leaf, keeps, leaf_code
from ael.types.decode_support import Budget
from ael.types.decode_union import group_by_type, tag_of
from ael.types.definition import AliasDef, Definitions, EnumDef, FieldDef, NoDefault, RecordDef
from ael.types.predicate import predicate
from ael.types.reach import parts, reachable, resolve
from ael.types.text import show
from ael.types.type import (
    AnonymousRecord,
    CheckedType,
    IntType,
    ListType,
    LiteralType,
    MapType,
    Named,
    NullType,
    Type,
    UnionType,
)

_INDENT = " "
_TRIES = 200_000
_WORDS = 2_000
"""Tries of members of unions for one value: to decide about it, and to say what is wrong with it, which is a hundred times slower."""


class Emitter:
    """Writes functions into the globals of its frame; each type once."""

    def __init__(self, definitions: Definitions, frame: Frame) -> None:
        self._definitions = definitions
        self._frame = frame
        self._functions: dict[object, str] = {}
        self._pending: list[tuple[str, bool, Callable[[], list[str]]]] = []
        # where the members of a schema's union are tried, null is no absence: else it would be lost in a member that it does not fit
        self._strict = False
        self.budgeted = False
        self.budget = Budget(_WORDS if frame.full else _TRIES)
        frame.constants["B"] = self.budget

    def function(self, type: Type) -> Callable[..., object]:
        """The decoder of `type`: `f(x)`, or `f(x, path, collector)` in the full form."""
        name = self._ref(type)
        sources: list[str] = []
        while self._pending:
            function, self._strict, write = self._pending.pop()
            sources.append("\n".join([f"def {function}({'x, p, E' if self._frame.full else 'x'}):", *_deeper(write())]))
        self._strict = False
        if sources:
            exec(compile("\n".join(sources), "<decoder>", "exec"), self._frame.constants)
        made: Callable[..., object] = self._frame.constants[name]  # type: ignore[assignment]
        return made

    def _ref(self, type: Type) -> str:
        type = resolve(type, self._definitions)
        return self._queue(type, lambda: self._body(type))

    def _queue(self, key: object, write: Callable[[], list[str]]) -> str:
        name = self._functions.get((key, self._strict))
        if name is None:
            name = self._functions[key, self._strict] = f"f{len(self._functions)}"
            self._pending.append((name, self._strict, write))
        return name

    def _tried(self, union: UnionType, members: Sequence[Type]) -> list[str]:
        """The functions of members that are tried in order."""
        lenient = [self._ref(member) for member in members]
        if union.rule == "apart" or self._strict or self._frame.direction is Direction.DECODE:
            return lenient
        if self._frame.full and union.rule == "any":
            return lenient  # only the words for what no member took
        self._strict = True
        strict = [self._ref(member) for member in members]
        self._strict = False
        return strict if union.rule == "one" else [*strict, *lenient]

    def _body(self, type: Type) -> list[str]:
        match type:
            case ListType():
                return self._list(type)
            case MapType():
                return self._map(type)
            case UnionType():
                return self._union(type)
            case AnonymousRecord(fields):
                return self._record(tuple(FieldDef(n, n, t) for n, t in fields), show(type))
            case CheckedType():
                return self._checked(type)
            case Named(name):
                return self._named(name)
            case _ if is_leaf(type):
                return [*self._start("r"), *self._value(type, "x", "r", "p"), "return r"]
            case _:
                raise TypeError(f"{show(type)} is no data")

    def _named(self, name: str) -> list[str]:
        match self._definitions.get(name):
            case RecordDef() as record:
                return self._record(record.fields, show(Named(name)), record.other)
            case EnumDef() as enum:
                return self._enum(enum)
            case AliasDef():
                raise TypeError(f"the type {name} is only a name for itself")
            case None:
                raise TypeError(f"no type is named {name}")

    def _start(self, *variables: str) -> list[str]:
        # after a misfit the full decoder goes on, with nothing in hand
        return [" = ".join([*variables, "None"])] if self._frame.full else []

    def _value(self, type: Type, x: str, out: str, path: str) -> list[str]:
        """Lines that set `out` from `x`, in line for leaves and by a call for the rest."""
        type = resolve(type, self._definitions)
        if is_leaf(type):
            return leaf_code(type, self._frame, x, out, path)
        return [f"{out} = {self._call(type, x, path)}"]

    def _call(self, type: Type, x: str, path: str) -> str:
        return f"{self._ref(type)}({x}, {path}, E)" if self._frame.full else f"{self._ref(type)}({x})"

    def _kind(self, python: str, expected: str) -> list[str]:
        fail = self._frame.fail(f"kind(p, {expected!r}, x)")
        if self._frame.full:
            return [f"if type(x) is not {python}:", f" {fail}", " return None"]
        return [f"if type(x) is not {python}: {fail}"]

    def _count(self, low: int | None, high: int | None) -> list[str]:
        most = self._frame.limits.entries if high is None else high
        condition = f"len(x) <= {most}" if not low else f"{low} <= len(x) <= {most}"
        fail = self._frame.fail(f"size(p, len(x), {low!r}, {most}, 'entries')")
        return [f"if not {condition}: {fail}"]

    def _list(self, type: ListType) -> list[str]:
        lines = [*self._kind("list", show(type)), *self._count(type.min, type.max)]
        item = resolve(type.item, self._definitions)
        if self._frame.full:
            body = [*self._start("r"), *self._value(item, "v", "r", "(*p, i)"), "a(r)"]
            return [*lines, "l = []", "a = l.append", "for i, v in enumerate(x):", *_deeper(body), "return l"]
        if not is_leaf(item):
            return [*lines, f"return [{self._call(item, 'v', '')} for v in x]"]
        if isinstance(item, IntType):
            within, fail = int_bounds(item, self._frame, "v", "")
            # numbers that are whole but are not written so need a list of their own
            return [*lines, "for v in x:", f" if type(v) is not int: return [{self._call(item, 'v', '')} for v in x]",
                    f" elif not {within}: {fail}", "return x"]  # fmt: skip
        if keeps(item, self._frame):
            return [*lines, "for v in x:", *_deeper(self._value(item, "v", "v", "")), "return x"]
        return [*lines, "l = []", "a = l.append", "for v in x:", *_deeper([*self._value(item, "v", "r", ""), "a(r)"]), "return l"]

    def _map(self, type: MapType) -> list[str]:
        limit = self._frame.limits.string_bytes
        lines = [*self._kind("dict", show(type)), *self._count(type.min, type.max), "m = {}"]
        long = self._frame.fail(f"size(p, len(k.encode('utf-8', 'surrogatepass')), None, {limit}, 'bytes')")
        keys = [f"if len(k) > {limit // 4} and too_long(k, {limit}): {long}"]
        body = [*self._sound_key(), *keys, *self._start("r"), *self._value(type.value, "v", "r", "(*p, k)"), "m[k] = r"]
        return [*lines, "for k, v in x.items():", *_deeper(body), "return m"]

    def _checked(self, type: CheckedType) -> list[str]:
        """The type, then the kept validator over the JSON form: of what comes in as it came, of what goes out as it goes."""
        frame = self._frame
        inside = frame.direction is not Direction.DECODE
        judged = "r" if inside else "without_decimals(x)" if frame.decimals else "x"
        name = frame.constant(predicate(type.schema))
        lines = [*self._start("r"), *self._value(type.inner, "x", "r", "p")]
        if not frame.full:
            return [*lines, f"if not {name}.fits({judged}): raise M", "return r"]
        return ["n = len(E.problems)", *lines, f"if len(E.problems) == n: {name}.tell({judged}, p, E)", "return r"]

    def _record(self, fields: Sequence[FieldDef], expected: str, other: Type | None = None) -> list[str]:
        lines = self._kind("dict", f"an object {expected}" if expected.startswith("{") else f"an object ({expected})")
        frame, is_open = self._frame, other is not None
        if is_open:
            lines += self._count(None, None)
        known = tuple(field.wire for field in fields)
        gets = [f"a{at} = x.get({field.wire!r}, Z)" for at, field in enumerate(fields)]
        optional = [at for at, field in enumerate(fields) if not field.required]
        if frame.full:
            if not is_open:
                unknown = f"E.unknown(p, k, {frame.constant(known)})"
                lines += ["for k in x:", f" if k not in {frame.constant(frozenset(known))}: {unknown}"]
            lines += gets
        elif not optional and fields:
            if not is_open:
                lines.append(f"if len(x) != {len(fields)}: raise M")
            reads = "; ".join(f"a{at} = x[{field.wire!r}]" for at, field in enumerate(fields))
            lines += [f"try: {reads}", "except KeyError: raise M from None"]
        else:
            lines += [f"a{at} = x.get({field.wire!r}, Z)" for at, field in enumerate(fields) if not field.required]
            reads = "; ".join(f"a{at} = x[{field.wire!r}]" for at, field in enumerate(fields) if field.required)
            if reads:
                lines += [f"try: {reads}", "except KeyError: raise M from None"]
            if not is_open:
                present = "".join(f" + (a{at} is not Z)" for at in optional)
                lines.append(f"if len(x) != {len(fields) - len(optional)}{present}: raise M")
        for at, field in enumerate(fields):
            lines += self._field(at, field)
        lines += self._build(fields)
        if other is not None:
            names = frame.constant(frozenset(known))
            extra = self._value(other, "v", "r[k]", "(*p, k)")
            lines += ["for k, v in x.items():", f" if k not in {names}:", *_deeper(_deeper([*self._sound_key(), *extra]))]
        return [*lines, "return r"]

    def _sound_key(self) -> list[str]:
        """Lines that refuse the key `k` where it is no text that can be written."""
        if self._frame.from_text:
            return []
        bad = self._frame.fail("kind(p, 'text as a key', k)")
        return ["if type(k) is not str or not clean(k):", f" {bad}", *([" continue"] if self._frame.full else [])]

    def _field(self, at: int, field: FieldDef) -> list[str]:
        """Lines that set `v…` from `a…`; an optional field that is absent stays Z."""
        frame, x, out = self._frame, f"a{at}", f"v{at}"
        checked = self._value(field.type, x, out, f"(*p, {field.wire!r})")
        lines = self._start(out)
        if field.required:
            if not frame.full:
                return checked
            missing = f"E.missing(p, {field.wire!r}, {show(field.type)!r})"
            return [*lines, f"if {x} is Z: {missing}", "else:", *_deeper(checked)]
        if frame.direction is not Direction.DECODE and not self._strict and not self._nullable(field.type):
            lines.append(f"if {x} is None: {x} = Z")
        if isinstance(field.default, NoDefault):
            return [*lines, f"if {x} is Z: {out} = Z", "else:", *_deeper(checked)]
        default = frame.constant(field.default)
        if frame.direction is Direction.DECODE:
            return [*lines, f"if {x} is Z: {out} = {default}", "else:", *_deeper(checked)]
        return [*lines, f"if {x} is Z: {x} = {default}", *checked]

    def _build(self, fields: Sequence[FieldDef]) -> list[str]:
        """The dict in declared order; what may be absent comes after what may not, statement by statement."""
        cut = next((at for at, f in enumerate(fields) if f.optional and isinstance(f.default, NoDefault)), len(fields))
        lines = ["r = {" + ", ".join(f"{f.wire!r}: v{at}" for at, f in enumerate(fields[:cut])) + "}"]
        for at, field in enumerate(fields[cut:], cut):
            set_it = f"r[{field.wire!r}] = v{at}"
            absent = field.optional and isinstance(field.default, NoDefault)
            lines.append(f"if v{at} is not Z: {set_it}" if absent else set_it)
        return lines

    def _nullable(self, type: Type) -> bool:
        inner = resolve(type, self._definitions)
        return "NoneType" in group_by_type([inner], self._definitions, self._frame.direction)

    def _enum(self, enum: EnumDef) -> list[str]:
        plain = tuple(v.name for v in enum.variants if not v.fields)
        shown = " | ".join(f'"{v.name}"' if not v.fields else v.name for v in enum.variants)
        fail = self._frame.fail(f"kind(p, {shown!r}, x)")
        lines = [f"if type(x) is str and x in {self._frame.constant(frozenset(plain))}: return x"] if plain else []
        shaped = [v for v in enum.variants if v.fields]
        if shaped:
            lines += ["if type(x) is dict:", " k = x.get('kind')"]
            for variant in shaped:
                fields = (FieldDef("kind", "kind", LiteralType(variant.name)), *variant.fields)
                name = self._queue((enum.name, variant.name), self._writer(fields, variant.name))
                call = f"{name}(x, p, E)" if self._frame.full else f"{name}(x)"
                lines.append(f" if type(k) is str and k == {variant.name!r}: return {call}")
        return [*lines, fail]

    def _writer(self, fields: tuple[FieldDef, ...], name: str) -> Callable[[], list[str]]:
        return lambda: self._record(fields, name)

    def _union(self, union: UnionType) -> list[str]:
        expected = show(union)
        if union.rule == "one":
            functions = self._tuple(self._tried(union, union.members))
            call = f"return E.one(p, x, {functions}, {expected!r})" if self._frame.full else f"return only_one(x, {functions})"
            return [*self._spend(union.members), call]
        lines = ["t = type(x)"] * (len(union.members) > 0)
        groups = group_by_type(union.members, self._definitions, self._frame.direction)
        for python, members in groups.items():
            lines += [f"if t is {python}:", *_deeper(self._group(union, python, members, expected))]
        return [*lines, self._frame.fail(f"kind(p, {expected!r}, x)")]

    def _group(self, union: UnionType, python: str, members: list[Type], expected: str) -> list[str]:
        """Members of a union that one Python type can be a value of."""
        numbers = python in ("float", "Decimal")
        literals = [m.value for m in members if isinstance(m, LiteralType) and (numbers or builtin_name(m.value) == python)]
        rest = [m for m in members if not isinstance(m, LiteralType)]
        lines: list[str] = []
        if literals:
            lines += ["w = whole(x)"] * numbers
            given = "w" if numbers else "x"
            lines.append(f"if {given} in {self._frame.constant(frozenset(literals))}: return {given}")
        if not rest:
            return [*lines, *self._lost(expected)]
        if rest == [NullType()]:
            return ["return None"]
        if len(rest) == 1 and not literals:
            return [*lines, f"return {self._call(rest[0], 'x', 'p')}"]
        tag = tag_of(rest, self._definitions) if python == "dict" and len(rest) > 1 else None
        if tag is not None:
            key, values = tag
            lines.append(f"k = x.get({key!r})")
            for member, allowed in zip(rest, values, strict=True):
                for name in dict.fromkeys(builtin_name(value) for value in allowed):
                    chosen = frozenset(v for v in allowed if builtin_name(v) == name)
                    call = self._call(member, "x", "p")
                    given = "(k if type(k) is int else whole(k))" if name == "int" else "k"
                    of_type = "" if name == "int" else f"type(k) is {name} and "
                    lines.append(f"if {of_type}{given} in {self._frame.constant(chosen)}: return {call}")
            words = " | ".join(repr(v).replace("'", '"') for allowed in values for v in allowed)
            where = f"(*p, {key!r})"
            return [*lines, f"E.kind({where}, {words!r}, k); return None" if self._frame.full else "raise M"]
        names = self._tried(union, rest)
        lines += self._spend(rest)
        if self._frame.full:
            return [*lines, f"return E.choose(p, x, {self._tuple(names)}, {expected!r})"]
        for name in names[:-1]:
            lines += [f"try: return {name}(x)", "except M: pass"]
        return [*lines, f"return {names[-1]}(x)"]

    def _spend(self, members: Sequence[Type]) -> list[str]:
        """A step of the budget of tries, where trying members of a union nests and could so multiply with every level."""
        nests = any(
            isinstance(inner, UnionType) for member in members for part in parts(member, self._definitions)
            for inner in reachable(part, self._definitions)
        )  # fmt: skip
        self.budgeted = self.budgeted or nests
        return ["B.spend()"] if nests else []

    def _lost(self, expected: str) -> list[str]:
        return [f"E.kind(p, {expected!r}, x); return None" if self._frame.full else "raise M"]

    def _tuple(self, names: list[str]) -> str:
        return f"({', '.join(names)},)"


def _deeper(lines: list[str]) -> list[str]:
    return [_INDENT + line.replace("\n", "\n" + _INDENT) for line in lines]

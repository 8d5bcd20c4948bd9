"""What the arms of a `match` or `catch` can still test, one by one and all at once."""

from __future__ import annotations

from collections.abc import Iterator

from ael.check.declare import LANGUAGE as BROUGHT
from ael.editor.features import written
from ael.editor.features.complete_members import variants_in
from ael.editor.features.complete_names import symbols, types
from ael.editor.features.cursor import Cursor
from ael.editor.features.entity import Entity
from ael.editor.features.items import EXPECTED, FIRST, LANGUAGE, Item, K
from ael.editor.features.meaning import members
from ael.editor.word_help import FAULT_HELP, KNOWN
from ael.syntax import nodes as n
from ael.types.definition import EnumDef, VariantDef
from ael.types.fault import FAULT_NAMES
from ael.types.type import BoolType, LiteralType, Named, NullType, StringType, Type, Unknown


def patterns(cursor: Cursor) -> Iterator[Item]:
    """What can stand where a pattern begins."""
    arm, around = _arm(cursor.path)
    if around is None or arm is None:
        return
    covered = _covered(cursor, around, arm)
    if isinstance(around, n.Catch):
        yield from _failures(cursor, around, covered)
    else:
        yield from _cases(cursor, around, covered)
    yield Item("_", K.Keyword, LANGUAGE, "anything else", snippet="_ => $0")


def _arm(path: tuple[n.Node, ...]) -> tuple[n.Arm | None, n.Match | n.Catch | None]:
    arm: n.Arm | None = None
    for node in reversed(path):
        if isinstance(node, n.Arm) and arm is None:
            arm = node
        elif isinstance(node, n.Match | n.Catch):
            return arm, node
    return None, None


def _covered(cursor: Cursor, around: n.Match | n.Catch, own: n.Arm) -> frozenset[str]:
    """The names (and literals) that other arms test already, those after the cursor too."""
    found: set[str] = set()
    for arm in around.arms:
        if arm is not own and arm.guard is None:
            stack: list[n.Node] = [arm.pattern]
            while stack:
                one = stack.pop()
                match one:
                    case n.TypePattern(path=path) | n.VariantPattern(path=path):
                        found.add(path.parts[-1].text)
                    case n.LiteralPattern(value=value):
                        found.add(cursor.guess[1].source.text[value.span.start : value.span.end] if cursor.guess else "")
                    case n.OrPattern(alternatives=alternatives):
                        stack.extend(alternatives)
                    case n.BinderPattern(name=name):
                        found.add(name.text)
                    case _:
                        pass
    return frozenset(found | _behind(cursor))


def _behind(cursor: Cursor) -> set[str]:
    """What the arms behind the cursor test, by their tokens: what stands before each `=>` of these braces."""
    tokens = cursor.file.tokens
    found: set[str] = set()
    line: list[str] = []
    depth = 0
    for index, start in enumerate(tokens.starts):
        if start < cursor.end:
            continue
        text = tokens.texts[index]
        if text in ("{", "(", "["):
            depth += 1
        elif text in ("}", ")", "]"):
            depth -= 1
            if depth < 0:
                break
        elif depth == 0 and text == "=>":
            if "if" not in line:
                found.update(line)
            line = []
        elif depth == 0 and text in ("\n", ","):
            line = []
        elif depth == 0:
            line.append(text)
    return found


# --- match -----------------------------------------------------------------------------------------------------------------


def _cases(cursor: Cursor, node: n.Match, covered: frozenset[str]) -> Iterator[Item]:
    assert cursor.guess is not None
    _, file, _ = cursor.guess
    type = file.tables.types.get(node.subject)
    cases = [case for case in _of(cursor, type) if case[0] not in covered]
    missing = [label for _, label, _, _ in cases]
    if len(cases) > 1:
        arms = "\n".join(f"{label} => ${{{at}}}" for at, label in enumerate(missing, 1))
        plain = "\n".join(f"{label} => " for label in missing)
        yield Item("all missing cases", K.Snippet, FIRST, ", ".join(missing)[:120], insert=plain, snippet=arms + "$0")
    for rank, (_, label, detail, entity) in enumerate(cases):
        yield Item(label, K.EnumMember, EXPECTED, detail, snippet=f"{label} => $0", insert=label, entity=entity, rank=rank)
    if type is None or isinstance(type, Unknown):
        yield from types(cursor)


def _of(cursor: Cursor, type: Type | None) -> Iterator[tuple[str, str, str, Entity | None]]:
    """The cases of a type: what they test by name, the pattern, a detail, and what is meant."""
    assert cursor.guess is not None
    snapshot = cursor.guess[0]
    for one in members(snapshot.collected, type):
        match one:
            case BoolType():
                yield "true", "true", "", None
                yield "false", "false", "", None
            case NullType():
                yield "null", "null", "", None
            case LiteralType(value=value):
                yield written.value(value), written.value(value), "", None
            case Named(name=name):
                definition = snapshot.collected.definitions.get(name)
                if isinstance(definition, EnumDef):
                    for variant in definition.variants:
                        entity = Entity("variant", variant.name, name)
                        yield variant.name, _variant(variant), _short(name), entity
                else:
                    short = _short(name)
                    yield short, f"{short} {_binder(short)}", "", Entity("symbol", name)
            case StringType():
                yield "String", "String text", "", Entity("symbol", "String")
            case Unknown():
                return
            case _:
                pass


def _variant(variant: VariantDef) -> str:
    return f"{variant.name}({', '.join(f.name for f in variant.fields)})" if variant.fields else variant.name


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _binder(name: str) -> str:
    return name[:1].lower()


# --- tables ----------------------------------------------------------------------------------------------------------------


def cells(cursor: Cursor) -> Iterator[Item] | None:
    """What a cell of a decision table can be, by the parameter above it; None where the cursor is in no cell."""
    before = cursor.before
    table = next((one for one in cursor.path if isinstance(one, n.FunctionDecl)), None)
    if table is None or "table" not in before[:2]:
        return None
    if before[-1] == "policy":
        return iter([Item("unique", K.Value, EXPECTED, KNOWN["unique"][0]), Item("first", K.Value, EXPECTED, KNOWN["first"][0])])
    at, depth, column = len(before) - 1, 0, 0
    while at >= 0 and (depth or before[at] not in ("when", "=>", "{")):
        depth += before[at] in (")", "]")
        depth -= before[at] in ("(", "[")
        column += depth == 0 and before[at] == ","
        at -= 1
    if at < 0 or before[at] != "when" or column >= len(table.parameters):
        return None
    if before[-1] == ".":
        first = len(before) - 2
        while first >= 2 and before[first - 1] == ".":
            first -= 2
        return variants_in(cursor, before[first::2])
    return _cell(cursor, table.parameters[column])


def _cell(cursor: Cursor, parameter: n.Parameter) -> Iterator[Item]:
    assert cursor.guess is not None
    local = cursor.guess[1].tables.locals.get(parameter)
    name = parameter.name.text
    for rank, (_, label, detail, entity) in enumerate(_of(cursor, local.type if local is not None else None)):
        plain = label.partition("(")[0].partition(" ")[0]
        yield Item(plain, K.EnumMember, EXPECTED, detail or f"for `{name}`", entity=entity, rank=rank)
    yield Item("_", K.Keyword, LANGUAGE, f"whatever `{name}` is")
    yield from symbols(cursor, ("const", "enum"), call=False)


# --- catch -----------------------------------------------------------------------------------------------------------------


def _failures(cursor: Cursor, node: n.Catch, covered: frozenset[str]) -> Iterator[Item]:
    """The errors that can come, `Uncertain` where it can, and the faults."""
    assert cursor.guess is not None
    _, file, _ = cursor.guess
    fails = [name for name in sorted(file.tables.failures.get(node, ())) if _short(name) not in covered]
    patterns = [f"{_short(name)} {_binder(_short(name))}" for name in fails]
    if len(fails) > 1:
        arms = "\n".join(f"{pattern} => ${{{at}}}" for at, pattern in enumerate(patterns, 1))
        plain = "\n".join(f"{pattern} => " for pattern in patterns)
        yield Item("all missing errors", K.Snippet, FIRST, ", ".join(patterns)[:120], insert=plain, snippet=arms + "$0")
    for rank, (name, pattern) in enumerate(zip(fails, patterns, strict=True)):
        yield Item(
            pattern, K.Struct, EXPECTED, "can come here", snippet=f"{pattern} => $0", entity=Entity("symbol", name), rank=rank
        )
    for name in ("Fault", *sorted(FAULT_NAMES)):
        if name not in covered and name != "Cancelled":
            told = FAULT_HELP.get(name, "any fault")
            yield Item(
                f"{name} f",
                K.Struct,
                LANGUAGE,
                told,
                snippet=f"{name} f => $0",
                entity=Entity("symbol", name),
                rank=name != "Fault",
            )


def errors(cursor: Cursor, *, faults: bool) -> Iterator[Item]:
    """What can stand in `fails`, or after the `on` of an edge."""
    yield from symbols(cursor, ("error", "module"), call=False)
    yield Item(
        "Uncertain",
        K.Struct,
        LANGUAGE,
        "a call was sent, and nobody knows whether it took effect",
        entity=Entity("symbol", "Uncertain"),
    )
    for name in sorted(BROUGHT) if faults else ():
        if name in FAULT_NAMES or name == "Fault":
            yield Item(name, K.Struct, LANGUAGE, FAULT_HELP.get(name, "any fault"), entity=Entity("symbol", name))

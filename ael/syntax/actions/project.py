"""Actions of `pack.ael` and `deploy.ael`."""

from __future__ import annotations

from ael.data import dataclass
from ael.syntax import nodes as n
from ael.syntax.actions.context import Context, items
from ael.syntax.clause import Clause
from ael.syntax.make import (
    make_binding,
    make_binding_option,
    make_call,
    make_depends,
    make_grants,
    make_name,
    make_pack_decl,
    make_reference,
    make_tenant_decl,
)


@dataclass(frozen=True)
class Uses:
    """`uses std/process, server/mcp`."""

    packages: tuple[str, ...]


@dataclass(frozen=True)
class Externs:
    """`extern "module"`."""

    modules: tuple[n.StringLit, ...]


def package(c: Context, s: int, e: int, segments: list[n.Name]) -> str:
    return "/".join(part.text for part in segments)


def pack_version(c: Context, s: int, e: int, value: n.StringLit) -> n.StringLit:
    c.plain(value)
    return value


def pack_uses(c: Context, s: int, e: int, packages: list[str]) -> Uses:
    return Uses(tuple(packages))


def pack_externs(c: Context, s: int, e: int, modules: list[n.StringLit]) -> Externs:
    for module in modules:
        c.plain(module)
    return Externs(tuple(modules))


def depends(c: Context, s: int, e: int, name: n.Name, version: n.StringLit, origin: n.StringLit | None) -> n.Depends:
    c.plain(version)
    return make_depends(s, e, name, version, c.plain(origin))


def pack(
    c: Context, s: int, e: int, doc: n.Doc | None, name: n.Name, members: list[n.StringLit | Uses | Externs | n.Depends] | None
) -> n.PackDecl:
    found = members or []
    versions = [m for m in found if isinstance(m, n.StringLit)]
    if len(versions) > 1:
        c.problem("AEL0104", "a pack has one `version`", versions[1].span.start, versions[1].span.end)
    uses = tuple(name for m in found if isinstance(m, Uses) for name in m.packages)
    externs = tuple(module for m in found if isinstance(m, Externs) for module in m.modules)
    depends = tuple(m for m in found if isinstance(m, n.Depends))
    return make_pack_decl(s, e, doc, name, versions[0] if versions else None, uses, depends, externs)


def tenant(c: Context, s: int, e: int, doc: n.Doc | None, name: n.Name, clauses: list[n.Clause] | None) -> n.TenantDecl:
    return make_tenant_decl(s, e, doc, name, items(clauses))


def in_process(c: Context, s: int, e: int) -> n.Reference:
    return make_reference(s, e, make_name(s, e, "in_process"))


Option = n.Clause | n.BindingOption


def _binding(
    c: Context, s: int, e: int, doc: n.Doc | None, kind: n.Name, subject: n.Path | None, target: n.Path | None, value: n.Expr | None,
    options: list[Option] | None,
) -> n.Binding:  # fmt: skip
    found = options or []
    clauses = tuple(o for o in found if isinstance(o, Clause))
    return make_binding(
        s, e, doc, kind, subject, target, value, clauses, tuple(o for o in found if isinstance(o, n.BindingOption))
    )


def bind(
    c: Context, s: int, e: int, doc: n.Doc | None, kind: n.Name, subject: n.Path, target: n.Path | None, value: n.Expr,
    options: list[Option] | None,
) -> n.Binding:  # fmt: skip
    return _binding(c, s, e, doc, kind, subject, target, value, options)


def bind_kind(
    c: Context, s: int, e: int, doc: n.Doc | None, kind: n.Name, value: n.Expr, options: list[Option] | None
) -> n.Binding:
    return _binding(c, s, e, doc, kind, None, None, value, options)


def adjust(c: Context, s: int, e: int, doc: n.Doc | None, kind: n.Name, subject: n.Path, options: list[Option]) -> n.Binding:
    return _binding(c, s, e, doc, kind, subject, None, None, options)


def bind_text(
    c: Context, s: int, e: int, doc: n.Doc | None, kind: n.Name, text: n.StringLit, options: list[Option] | None
) -> n.Binding:
    c.plain(text)
    return _binding(c, s, e, doc, kind, None, None, text, options)


def defaults(c: Context, s: int, e: int, doc: n.Doc | None, amounts: list[n.Amount]) -> n.Binding:
    return _amounts(c, s, e, doc, "default", amounts)


def limits(c: Context, s: int, e: int, doc: n.Doc | None, amounts: list[n.Amount]) -> n.Binding:
    return _amounts(c, s, e, doc, "limit", amounts)


def run_budget(c: Context, s: int, e: int, doc: n.Doc | None, amounts: list[n.Amount]) -> n.Binding:
    return _amounts(c, s, e, doc, "budget", amounts)


def denials(c: Context, s: int, e: int, doc: n.Doc | None, paths: list[n.Path]) -> n.Binding:
    start = paths[0].span.start
    return make_binding(
        s, e, doc, make_name(s, s + 4, "deny"), None, None, None, (make_grants(start, e, tuple(paths), True),), ()
    )


def allowances(c: Context, s: int, e: int, doc: n.Doc | None, paths: list[n.Path]) -> n.Binding:
    start = paths[0].span.start
    return make_binding(
        s, e, doc, make_name(s, s + 5, "allow"), None, None, None, (make_grants(start, e, tuple(paths), False),), ()
    )


def _amounts(c: Context, s: int, e: int, doc: n.Doc | None, word: str, amounts: list[n.Amount]) -> n.Binding:
    for amount in amounts:
        if amount.per is not None:
            c.problem(
                "AEL0105",
                f"`{word}` takes no `per`",
                amount.per.span.start,
                amount.per.span.end,
                "a `tenant` has budgets per day",
            )
    options: list[Option] = [make_binding_option(a.span.start, a.span.end, a.name, (a.value,)) for a in amounts]
    return _binding(c, s, e, doc, make_name(s, s + len(word), word), None, None, None, options)


def option(c: Context, s: int, e: int, token: int) -> n.BindingOption:
    return make_binding_option(s, e, _name(c, s, token), ())


def option_with(c: Context, s: int, e: int, token: int, values: list[n.Expr]) -> n.BindingOption:
    return make_binding_option(s, e, _name(c, s, token), tuple(values))


def option_call(c: Context, s: int, e: int, token: int, arguments: list[n.Argument] | None) -> n.BindingOption:
    name = _name(c, s, token)
    callee = make_reference(name.span.start, name.span.end, name)
    return make_binding_option(s, e, name, (make_call(s, e, callee, items(arguments)),))


def _name(c: Context, s: int, token: int) -> n.Name:
    text = c.texts[token]
    return make_name(s, s + len(text), text)

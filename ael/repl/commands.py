"""The commands of a session, which begin with a colon. What they say goes to standard output, as values do."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path

from ael.check.program import CheckedProgram
from ael.check.suggest import nearest
from ael.data import dataclass, field
from ael.diagnostics.diagnostic import Bag, Place
from ael.documenting.comment import comment_of
from ael.documenting.facts import Facts
from ael.documenting.item import Fact, Ref
from ael.documenting.names import Names, Target, parts, right_name
from ael.documenting.signature import signature
from ael.project.entry import EntryError, choose
from ael.repl.form import LAST, form_of
from ael.repl.session import Looked, Result, Session
from ael.source import Source, Span
from ael.syntax import nodes as n
from ael.types.definition import Definitions
from ael.types.signature import Signature
from ael.types.text import show

HELP = {
    ":type EXPR": "the type of an expression, which is not run",
    ":doc NAME": "what a declaration is for, its signature and what it may do",
    ":effects NAME": "what calling something can do: permissions, repeat safety, errors, budget",
    ":names": "what was declared and kept in this session",
    ":run NODE [--field value …]": "run a node or an agent, as `ael run` does",
    ":grant PERMISSION … | all": "let this session use permissions; without any: which it may use",
    ":revoke PERMISSION … | all": "take them back",
    ":load FILE": "begin anew with a program",
    ":reload": "read the program again; what was typed stays",
    ":deploy [NAME]": "use `deploy.NAME.ael`; without a name: which is used",
    ":help": "this list",
    ":quit": "end (so does Ctrl-D)",
}
_WORDS = tuple(line.split()[0][1:] for line in HELP)

ValuesOf = Callable[[Sequence[str], Signature, Definitions], Mapping[str, object]]
"""The input of an entry from words of a command line. Raises `InputError` of whoever gives it, whose text is told."""


class Misuse(Exception):
    """A command that cannot be done as it was typed."""


@dataclass(eq=False)
class Answer:
    """What a command says: lines for standard output, or what became of what it did."""

    lines: list[str] = field(default_factory=list)
    result: Result | None = None
    ends: bool = False


class Commands:
    """The commands of one session. `values_of` reads the flags of `:run`; what it raises is one of `wrong`."""

    def __init__(self, session: Session, values_of: ValuesOf, wrong: tuple[type[Exception], ...] = ()) -> None:
        self.session = session
        self._values_of = values_of
        self._wrong = wrong

    async def take(self, text: str) -> Answer:
        """Do a command. Raises `Misuse`."""
        word, _, rest = text.strip()[1:].partition(" ")
        known: dict[str, Callable[[str], Answer | Awaitable[Answer]]] = {
            "type": self._type, "doc": self._doc, "effects": self._effects, "names": self._names, "run": self._run,
            "grant": self._grant, "revoke": self._revoke, "load": self._load, "reload": self._reload, "deploy": self._deploy,
            "help": self._help, "quit": self._quit,
        }  # fmt: skip
        command = {"q": "quit", "exit": "quit", "h": "help", "?": "help", "t": "type", "r": "reload"}.get(word, word)
        if command not in known:
            best = nearest(command, known)
            hint = f"; did you mean `:{best}`?" if best is not None else "; `:help` lists them"
            raise Misuse(f"there is no command `:{word[:40]}`{hint}")
        done = known[command](rest.strip())
        return done if isinstance(done, Answer) else await done

    # --- what there is ---------------------------------------------------------------------------------------------------

    def _type(self, rest: str) -> Answer:
        if not rest:
            raise Misuse("say of what: `:type EXPR`")
        place = Place(Source("input", rest), Span(0, len(rest)))
        first = self.session.look([place], place)
        statements = first.typed.body.statements if first.typed is not None else ()
        if len(statements) != 1 or not isinstance(statements[0], n.ExprStatement):
            if first.program is None and first.problems:
                return Answer(result=Result(problems=first.problems))
            raise Misuse("that is no expression")
        form = form_of(statements[0], set())
        looked = self.session.look(form.written(place), place, form.keeps)
        if looked.program is None or looked.typed is None:
            plain = self.session.look([place], place)
            return Answer(["Unit"]) if plain.program is not None else Answer(result=Result(problems=plain.problems))
        tables = looked.examined.collected.modules[looked.project.main].tables
        kept = next(one for one in reversed(looked.typed.body.statements) if isinstance(one, n.Let) and one.name.text == LAST)
        return Answer([show(tables.locals[kept].type)])

    def _found(self, name: str) -> tuple[Looked, CheckedProgram, Names, Target]:
        looked = self.session.look()
        if looked.program is None:
            raise Misuse("the session's program does not check; `:reload` says what is wrong")
        names = Names(looked.program)
        target = names.find(looked.project.main, name) if name else None
        if target is None:
            known = names.declared(looked.project.main)
            best = nearest(name, known)
            raise Misuse(f"there is no `{name[:80]}`" + (f"; did you mean `{best}`?" if best is not None else ""))
        return looked, looked.program, names, target

    def _doc(self, rest: str) -> Answer:
        if not rest:
            raise Misuse("say of what: `:doc NAME`")
        if rest in self.session.values:
            return Answer([f"{rest} : {show(self.session.values[rest].given.type)}"])
        _, program, names, target = self._found(rest)
        tree = names.tree(target.module)
        if not target.qualified:
            comment = comment_of(tree.source, tree.doc)
            return Answer([f"module {target.module}", *(["", comment.text] if comment is not None else [])])
        node = _node(names, target)
        doc = getattr(node, "doc", None)
        comment = comment_of(tree.source, doc if isinstance(doc, n.Doc) else None)
        lines = []
        if target.module in program.modules:
            lines.append("".join(piece.text for piece in signature(names, target.module, node)))
        if comment is not None:
            lines += ["", comment.text]
        told = list(self._told(names, target))
        return Answer([*lines, *(["", *told] if told else [])])

    def _effects(self, rest: str) -> Answer:
        if not rest:
            raise Misuse("say of what: `:effects NAME`")
        _, program, names, target = self._found(rest)
        if _qualified(target) not in program.signatures:
            raise Misuse(f"`{rest}` is nothing that can be called")
        return Answer(list(self._told(names, target)))

    def _told(self, names: Names, target: Target) -> Iterator[str]:
        facts, name = Facts(names), _qualified(target)
        found: list[Fact] = [*facts.summary(name), *facts.of(name)] if name in names.program.signatures else []
        if target.kind in ("permission", "role"):
            own = target.qualified.removeprefix(f"{target.module}.")
            found = list(facts.right_facts(right_name(names.program, target.module, own)))
        for fact in found:
            values = ", ".join("".join(part.text if isinstance(part, Ref) else part for part in value) for value in fact.values)
            yield f"{fact.label}: {values}"

    def _names(self, rest: str) -> Answer:
        lines = [
            f"{'var' if kept.changes else 'let'} {name} : {show(kept.given.type)}" for name, kept in self.session.values.items()
        ]
        lines += [chunk.text.strip().splitlines()[-1 if chunk.text.startswith("///") else 0] for chunk in self.session.declared]
        return Answer(lines)

    # --- what is done ----------------------------------------------------------------------------------------------------

    async def _run(self, rest: str) -> Answer:
        looked = self.session.look()
        if looked.program is None:
            return Answer(result=Result(problems=looked.problems))
        words = _split(rest)
        named = words and not words[0].startswith("-")
        try:
            name = choose(looked.program, words[0] if named else None)
            given = self._values_of(words[1:] if named else words, looked.program.signatures[name], looked.program.definitions)
        except EntryError as error:
            raise Misuse(str(error)) from None
        except self._wrong as error:
            raise Misuse(str(error)) from None
        return Answer(result=await self.session.run_entry(name, given))

    def _load(self, rest: str) -> Answer:
        words = _split(rest)
        if len(words) != 1:
            raise Misuse("say which: `:load FILE`")
        path = Path(words[0])
        return Answer(result=self.session.load(path / "main.ael" if path.is_dir() else path))

    def _reload(self, rest: str) -> Answer:
        if self.session.file is None:
            raise Misuse("no program was loaded: `:load FILE`")
        return Answer(result=self.session.reload())

    def _deploy(self, rest: str) -> Answer:
        if not rest:
            return Answer([self.session.deploy or "the default"])
        before, self.session.deploy = self.session.deploy, rest
        looked = self.session.look()
        bag = Bag()
        if looked.program is None or self.session.deployment_of(looked.project, looked.program, bag) is None or bag.errors:
            self.session.deploy = before
            return Answer(result=Result(problems=bag.sorted() or looked.problems))
        return Answer()

    def _grant(self, rest: str) -> Answer:
        session = self.session
        if rest == "all":
            session.all_granted = True
        elif rest:
            session.granted |= set(self._permissions(rest))
        return Answer(["all" if session.all_granted else ", ".join(sorted(session.granted)) or "none"])

    def _revoke(self, rest: str) -> Answer:
        if not rest:
            raise Misuse("say which: `:revoke PERMISSION`, or `:revoke all`")
        if rest == "all":
            self.session.all_granted = False
            self.session.granted.clear()
        elif self.session.all_granted:
            raise Misuse("all are granted: `:revoke all` takes them back, then grant those that you want")
        else:
            self.session.granted -= set(self._permissions(rest))
        return self._grant("")

    def _permissions(self, rest: str) -> list[str]:
        looked = self.session.look()
        known = looked.program.permissions if looked.program is not None else {}
        asked = [one for one in rest.replace(",", " ").split() if one]
        for one in asked:
            if one not in known:
                best = nearest(one, known)
                there = (
                    f"there {'is' if len(known) == 1 else 'are'} {', '.join(f'`{name}`' for name in known)}"
                    if known
                    else "there is none"
                )
                raise Misuse(
                    f"there is no permission `{one[:80]}`; " + (f"did you mean `{best}`?" if best is not None else there)
                )
        return asked

    def _help(self, rest: str) -> Answer:
        width = max(map(len, HELP)) + 2
        return Answer([
            "Expressions, statements and declarations are done as they are typed; the last value is `it`.",
            *(f"{word:<{width}}{text}" for word, text in HELP.items()),
        ])  # fmt: skip

    def _quit(self, rest: str) -> Answer:
        return Answer(ends=True)


def _qualified(target: Target) -> str:
    return f"{target.qualified}.{target.part}" if target.part else target.qualified


def _node(names: Names, target: Target) -> n.Node:
    if target.kind in ("permission", "role"):
        own = target.qualified.removeprefix(f"{target.module}.")
        tree = names.tree(target.module)
        return next(d for d in tree.declarations if isinstance(d, n.PermissionDecl | n.RoleDecl) and d.path.text == own)
    node = names.declared(target.module)[target.qualified.removeprefix(f"{target.module}.")]
    return dict(parts(node))[target.part] if target.part else node


def _split(rest: str) -> list[str]:
    try:
        return shlex.split(rest)
    except ValueError as error:
        raise Misuse(f"the words cannot be told apart: {str(error).lower()}") from None

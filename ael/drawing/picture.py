"""What there is to draw of an agent: its points and the arrows between them, labelled as source writes the edges."""

from __future__ import annotations

from typing import Literal

from ael.check.program import CheckedProgram
from ael.data import dataclass
from ael.source import Source
from ael.syntax import nodes as n
from ael.types.agent import FINISH, START, join_of
from ael.types.spec import NodeSpec
from ael.types.text import show

Kind = Literal["end", "code", "model", "agent", "join"]


@dataclass(frozen=True, slots=True)
class Point:
    """`name` is unique in a picture; `detail` says more (the model of a node, and its skills), "" where there is nothing to say."""

    name: str
    kind: Kind
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """`label` is what chooses the edge, as source writes it. `fails`: it is taken because of an error; `each`: for each item of a list."""

    source: str
    target: str
    label: str = ""
    fails: bool = False
    each: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """An agent as it is drawn. `title` is its name with its parameters and result."""

    name: str
    title: str
    points: tuple[Point, ...]
    arrows: tuple[Arrow, ...]


def picture(program: CheckedProgram, name: str) -> Picture:
    """The picture of an agent, by qualified name. It draws each agent that it visits as one point."""
    module, node = program.declarations[name]
    assert isinstance(node, n.AgentDecl)
    spec = program.nodes[name]
    assert spec.agent is not None
    source = program.modules[module].tree.source
    points: dict[str, Point] = {START: Point(START, "end")}
    for own, qualified in spec.agent.nodes.items():
        points[own] = _point(own, program.nodes[qualified])
    arrows: list[Arrow] = []
    for edge, one in zip(node.edges, spec.agent.edges, strict=True):
        sources = one.sources
        if one.joined:
            join = join_of(sources)
            if join not in points:
                points[join] = Point(join, "join")
                arrows += [Arrow(source, join) for source in sorted(sources)]
            sources = (join,)
        label, fails, each = _label(source, edge), bool(one.errors), one.each is not None
        arrows += [Arrow(source_name, one.target, label, fails, each) for source_name in sources]
    points[FINISH] = Point(FINISH, "end")
    return Picture(node.name.text, _title(node.name.text, spec), tuple(points.values()), tuple(arrows))


def _point(name: str, spec: NodeSpec) -> Point:
    if spec.agent is not None:
        return Point(name, "agent", "agent")
    if spec.model is not None:
        skills = ", ".join(skill.name.rpartition(".")[2] for skill in spec.skills)
        return Point(name, "model", spec.model.rpartition(".")[2] + (f", skills {skills}" if skills else ""))
    return Point(name, "code")


def _title(name: str, spec: NodeSpec) -> str:
    parameters = ", ".join(f"{p.name}{'?' if p.optional else ''}: {show(p.type)}" for p in spec.signature.parameters)
    return f"{name}({parameters}) -> {show(spec.signature.result)}"


def _label(source: Source, edge: n.Edge) -> str:
    words: list[str] = []
    if edge.condition is not None:
        words.append(f"when {_written(source, edge.condition)}")
    if edge.otherwise:
        words.append("otherwise")
    if edge.errors:
        words.append(f"on {', '.join(path.text for path in edge.errors)}")
    if edge.limit is not None:
        words.append(f"up to {_written(source, edge.limit)}")
    return " ".join(words)


def _written(source: Source, node: n.Node) -> str:
    """An expression as source has it, in one line."""
    return " ".join(source.text[node.span.start : node.span.end].split())

"""Show what a model-driven node would send, before anything is paid: prompt, tools, size, price, and the most a visit can cost.

    ael preview examples/support answer
    ael preview main.ael --message.sender ada --message.text "It crashes"

Nothing is sent and no key is needed. The flags are those of `ael run`; what is left out is shown as its type.
Exit code 0, or 2 for bad usage and a program that does not check.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from ael.check.program import CheckedProgram
from ael.cli.flags import InputError
from ael.cli.progress import clean
from ael.cli.report import told
from ael.cli.start import start
from ael.project.entry import EntryError, choose
from ael.project.program import Opened
from ael.project.reach import reachable
from ael.types.signature import Signature
from ael.types.text import show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael preview`."""
    parser.add_argument("path", type=Path, metavar="FILE", help="a source file, or a folder with a `main.ael`")
    parser.add_argument("entry", nargs="?", metavar="NODE", help="the node to show (default: the one that `ael run` reaches)")
    parser.add_argument("--input", metavar="FILE", help="the input as a JSON object, `-` for standard input")
    parser.add_argument("--deploy", metavar="NAME", help="use `deploy.NAME.ael`")
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    parser.add_argument("--help-entry", action="store_true", help="list the node's flags")
    parser.set_defaults(rest=[])


def run(args: argparse.Namespace) -> int:
    """Preview."""

    def go(opened: Opened, node: str, values: Mapping[str, object]) -> int:
        return asyncio.run(_show(opened, node, opened.program.signatures[node], values, whole=args.json))

    return start(args, _node, go)


def _node(program: CheckedProgram, name: str | None) -> str:
    """The model-driven node to show. Raises `EntryError`."""
    own = f"{program.main}."
    driven = {node.removeprefix(own): node for node, spec in program.nodes.items() if spec.model is not None}
    listed = ", ".join(f"`{node}`" for node in driven)
    if not driven:
        raise EntryError("no node of this program asks a model, so there is nothing to preview")
    if name is not None:
        if name in driven:
            return driven[name]
        if f"{own}{name}" in program.nodes:
            agent = program.nodes[f"{own}{name}"].agent is not None
            what = "an agent, and what is sent are the prompts of its nodes" if agent else "ordinary code and sends nothing"
            raise EntryError(f"`{name}` is {what}; these nodes ask a model: {listed}")
        close = get_close_matches(name, driven, 1)
        hint = f"did you mean `{close[0]}`?" if close else f"there is {listed}"
        raise EntryError(f"there is no node `{name}`; {hint}")
    entry = choose(program, None) if f"{own}main" in program.nodes else None
    within = reachable(program, entry) if entry is not None else frozenset(driven.values())
    found = [node for node in driven.values() if node == entry] or [node for node in driven.values() if node in within]
    if len(found) == 1:
        return found[0]
    raise EntryError(f"say which node to preview: {listed}")


async def _show(opened: Opened, node: str, signature: Signature, values: Mapping[str, object], *, whole: bool) -> int:
    # The run time is loaded only where there is something to show.
    from ael.cli.prompt import look, plain, text
    from ael.host import open_preview
    from ael.run.message import user_text
    from ael.types.fault import Fault
    from ael.types.problem import DecodeError

    async with open_preview(opened, reachable(opened.program, node)) as host:
        plan = host.engine.model_node(node)
        assert plan is not None, "only model-driven nodes are chosen"
        missing = tuple([p.wire for p in signature.parameters if p.required and p.wire not in values])
        try:
            if missing:
                shown = {
                    p.wire: values.get(p.wire, f"({show(p.type)})")
                    for p in signature.parameters
                    if p.required or p.wire in values
                }
                user, _ = user_text(shown)
            else:
                codec = host.engine.input(node)
                named = codec.value.decode(dict(values))
                assert isinstance(named, dict), "an input decodes to an object"
                user, _ = plan.first(codec.positional(named))
            prompt = look(host, plan, user, missing)
        except DecodeError as error:
            raise InputError(f"the input does not fit: {error.text}") from None
        except Fault as fault:
            print(clean(told("AEL0902", f"{fault.kind.value}: {fault.message}")), file=sys.stderr)
            return 1
    print(json.dumps(plain(prompt), ensure_ascii=False, indent=2) if whole else clean(text(prompt)))
    return 0

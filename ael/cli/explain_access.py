"""Say who may do what in a deployment: what a node reaches, who grants and who denies each of it, and who decides.

    ael explain-access answer
    ael explain-access answer examples/support --tenant acme --caller ann
    ael explain-access answer --deploy prod --json

The answer is that of the check before a call, asked with the rights that a run would have. Nothing is run, and no key is needed.
"""

from __future__ import annotations

import argparse
import json
from importlib import import_module
from pathlib import Path
from typing import Any

from ael.cli.opening import opened_or_told
from ael.cli.report import tell
from ael.project.entry import EntryError, choose


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael explain-access`."""
    parser.add_argument("node", metavar="NODE", help="a node or an agent of the program")
    parser.add_argument(
        "path", type=Path, nargs="?", default=Path(), metavar="FILE", help="a source file, or a folder with a `main.ael`"
    )
    parser.add_argument("--tenant", metavar="NAME", help="whose run it would be (default: that of the caller, else `local`)")
    parser.add_argument("--caller", metavar="NAME", help="on whose behalf: a caller of the deployment (default: you)")
    parser.add_argument("--deploy", metavar="NAME", help="use `deploy.NAME.ael`")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    """Explain."""
    opened = opened_or_told(args.path, args.deploy)
    if isinstance(opened, int):
        return opened
    host_error = import_module("ael.hosting.failure").HostError
    try:
        node = choose(opened.program, args.node)
        options = import_module("ael.cli.whom").whom(opened.deployment, args, begins=False)
        # The run time is loaded here: a program that does not check never gets so far.
        engine = import_module("ael.host").open_preview(opened, frozenset()).engine
    except EntryError as error:
        tell("AEL0840", str(error))
        return 2
    except host_error as error:
        tell(error.code, error.message, *error.notes)
        return 2
    found = import_module("ael.hosting.access").explain(engine, opened.program, opened.deployment, node, options)
    if args.json:
        whole = {"node": node, "tenant": options.tenant, "caller": options.caller, "reaches": [plain(one) for one in found]}
        print(json.dumps(whole, ensure_ascii=False, indent=2))
    else:
        print("\n".join(_text(node, options, found)))
    return 0


def plain(one: Any) -> dict[str, object]:
    """One thing that is reached, as JSON."""
    return {
        "name": one.name,
        "kind": one.kind,
        "via": list(one.via),
        "skill": one.skill or None,
        "permission": one.permission,
        "allowed": one.denial is None,
        "denied_by": None if one.denial is None else one.denial.who,
        "rule": None if one.denial is None else one.denial.rule,
        "why": one.why,
        "layers": [{"who": verdict.who, "grants": verdict.grants} for verdict in one.verdicts],
        "approval": one.approval,
        "role": one.role,
        "members": list(one.members),
        "places": [{"edge": edge or None, "where": where} for edge, where in one.places],
    }


def _text(node: str, options: Any, found: list[Any]) -> list[str]:
    told = [f"{_short(node)}, for the tenant `{options.tenant}` and the caller `{options.caller}`"]
    if not found:
        told.append("  reaches nothing that acts")
    for one in found:
        indent = "  " * len(one.via)
        needs = f" needs {one.permission}" if one.permission is not None else ""
        through = f" through the skill {_short(one.skill)}" if one.skill else ""
        told.append(f"{indent}{one.kind} {_short(one.name)}{through}{needs}: {_verdict(one)}")
        if one.denial is not None and one.denial.rule != "permission":
            continue
        for word, grants in (("granted", True), ("denied", False)):
            who = [verdict.who for verdict in one.verdicts if verdict.grants is grants]
            if who:
                told.append(f"{indent}    {word} by {', '.join(who)}")
    return told


def _verdict(one: Any) -> str:
    if one.kind == "node":
        places = [f"elsewhere{f' along {edge}' if edge else ''} ({where})" for edge, where in one.places]
        return "; ".join(["runs with its own grants, within these", *places])
    if one.denial is not None:
        return f"denied: {one.why}"
    if one.approval is None:
        return "may be called"
    when = "" if one.approval == "required" else ", where its condition holds"
    if one.role is None:
        return f"may be called after an approval{when}"
    who = ", ".join(one.members) or "nobody here: the deployment does not say who that is"
    return f"may be called after an approval by {one.role} ({who}){when}"


def _short(name: str) -> str:
    return name.partition(".")[2] or name

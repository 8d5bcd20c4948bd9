"""The tables of docs/mcp-schemas.md, made from the corpus: `python -m tests.external.mcp_tools --write`.

`--deep VALUES CHANGES` compares our verdict with the judge's on that many values of each schema, and changed ones of each value.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from multiprocessing import Pool
from pathlib import Path

from ael.types.definition import RecordDef
from ael.types.dialect import DIALECTS, Unsupported
from ael.types.schema import record_schema
from ael.types.tool_schema import SchemaRefused, ToolTypes
from tests.external.mcp_tools_compare import Counts, all_types, compare_tool, types_of
from tests.external.mcp_tools_corpus import CHECKOUT, Tool, corpus, servers, tools
from tests.external.mcp_tools_features import FEATURES, features

PAGE = CHECKOUT / "docs" / "mcp-schemas.md"
BEGIN, END = "<!-- made by `python -m tests.external.mcp_tools --write` -->", "<!-- end -->"


def tables(folder: Path) -> str:
    """What the code gives for the corpus, as Markdown."""
    listed = servers(folder)
    types = all_types(folder)
    refused = {tool.id: made for tool in tools(folder) if isinstance(made := types[tool.id], SchemaRefused)}
    outputs = sum("outputSchema" in tool.definition for tool in tools(folder))
    taken = len(types) - len(refused)
    lines = [
        f"{len(listed)} servers list {len(types):,} tools, {outputs:,} of them with an output schema. {taken:,} become types"
        f" ({taken / len(types):.2%}); refused: {len(refused)}.",
        "",
        "| Refused for | Tools | Which |",
        "| --- | --- | --- |",
        *_refusals(refused),
        "",
        "| What the schemas of the accepted tools have | Tools | Input | Output |",
        "| --- | --- | --- | --- |",
        *_features([tool for tool in tools(folder) if tool.id not in refused]),
        "",
        "| Told to a provider | Strictly | As JSON Schema, not strictly | Refused |",
        "| --- | --- | --- | --- |",
        *_dialects([made for made in types.values() if not isinstance(made, SchemaRefused)]),
        "",
        "| Server | Tools | Output schemas | Accepted | Refused |",
        "| --- | --- | --- | --- | --- |",
    ]
    for server, found in listed.items():
        out = sum("outputSchema" in tool.definition for tool in found)
        bad = sum(tool.id in refused for tool in found)
        lines.append(f"| `{server}` | {len(found)} | {out or ''} | {len(found) - bad} | {bad or ''} |")
    return "\n".join(lines)


def _refusals(refused: Mapping[str, SchemaRefused]) -> Iterator[str]:
    by_reason: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for tool, why in refused.items():
        by_reason.setdefault((why.keyword, why.reason), []).append((tool, why.path))
    for (keyword, reason), found in sorted(by_reason.items(), key=lambda entry: (-len(entry[1]), entry[0])):
        which = ", ".join(f"`{tool}`" + (f" at `{path}`" if path else "") for tool, path in found)
        yield f"| `{keyword}`: {reason} | {len(found)} | {which} |"


def _features(accepted: list[Tool]) -> Iterator[str]:
    counted: Counter[tuple[str, str]] = Counter()
    for tool in accepted:
        found = {kind: features(schema) for kind, schema in tool.schemas()}
        counted.update((kind, name) for kind, names in found.items() for name in names)
        counted.update(("either", name) for name in set().union(*found.values()))
    for name in FEATURES:
        either, given, returned = (counted[kind, name] for kind in ("either", "input", "output"))
        if either:
            yield f"| {name} | {either:,} | " + " | ".join(f"{count:,}" if count else "" for count in (given, returned)) + " |"


def _dialects(accepted: list[ToolTypes]) -> Iterator[str]:
    for dialect in DIALECTS.values():
        counted: Counter[str] = Counter()
        for types in accepted:
            record = RecordDef("main.server.Tool", tuple(one.as_field() for one in types.parameters))
            made = dialect.tool(record_schema(record, types.definitions))
            counted["refused" if isinstance(made, Unsupported) else "strict" if made.strict else "plain"] += 1
        yield f"| `{dialect.name}` | " + " | ".join(f"{counted[how]:,}" for how in ("strict", "plain", "refused")) + " |"


def page(text: str, made: str) -> str:
    """The page with `made` between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{after}"


def shards(folder: Path, count: int) -> list[list[Tool]]:
    """The tools in `count` parts of about the same weight."""
    return [tools(folder)[part::count] for part in range(count)]


def compared(part: list[Tool], values: int, changes: int) -> Counts:
    """Compare on each accepted tool of `part`."""
    counts = Counts()
    for tool in part:
        types = types_of(tool)
        if not isinstance(types, SchemaRefused):
            counts.add(compare_tool(tool, types, values, changes))
            counts.numbers["tools"] += 1
    return counts


def _deep(job: tuple[list[Tool], int, int]) -> Counts:
    return compared(*job)


def main(arguments: list[str]) -> int:
    """The command line: `--write`, or `--deep VALUES CHANGES`."""
    folder = corpus()
    if folder is None:
        print("not run: there is no corpus of tool definitions (set AEL_CORPUS to the folder with `mcp-tools`)", file=sys.stderr)
        return 2
    match arguments:
        case ["--write"]:
            PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), tables(folder)), encoding="utf-8")
            return 0
        case ["--deep", values, changes]:
            began = time.monotonic()
            total = Counts()
            jobs: list[tuple[list[Tool], int, int]] = [(part, int(values), int(changes)) for part in shards(folder, 64)]
            with Pool(2) as pool:
                for counts in pool.imap_unordered(_deep, jobs):
                    total.add(counts)
            for line in total.disagreements[:200]:
                print(line)
            print(dict(total.numbers), "uninhabited:", sorted(set(total.uninhabited)))
            print(f"{len(total.disagreements)} disagreements, {time.monotonic() - began:.0f} s")
            return 1 if total.disagreements else 0
        case _:
            print(__doc__, file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

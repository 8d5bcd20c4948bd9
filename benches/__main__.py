"""``python -m benches [NAME...] [--json | --markdown] [--quick]``: run the benchmarks and print a row for each figure.

Exit code 0 when no goal is missed, 1 when one is missed or could not be measured, 2 for bad usage.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator

from benches.harness import Row
from benches.suite import check, decode, durable, edges, http, lsp, mcp, memory, plain, serve, turns

BENCHMARKS: dict[str, Callable[[bool], Iterator[Row]]] = {
    "turns": turns.rows,
    "edges": edges.rows,
    "http": http.rows,
    "plain": plain.rows,
    "decode": decode.rows,
    "check": check.rows,
    "lsp": lsp.rows,
    "memory": memory.rows,
    "durable": durable.rows,
    "mcp": mcp.rows,
    "serve": serve.rows,
}

VERDICTS = {True: "ok", False: "MISSED", None: "?"}


def table_line(row: Row) -> str:
    """The row for people."""
    shown = ["-" if part is None else f"{part:,.4g}" for part in (row.value, row.against_value, row.ratio)]
    verdict = "" if row.target is None else f"{row.target:>10}  {'ok' if row.ok else 'MISSED' if row.ok is False else '?'}"
    return f"{row.name:<22} {shown[0]:>9} {row.unit:<20} {row.against:<28} {shown[1]:>9}  ratio {shown[2]:>9} {verdict}"


def figure_text(number: float | None) -> str:
    """Three significant digits are what a reader compares."""
    if number is None:
        return "–"
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def markdown_line(row: Row) -> str:
    """The row of the table in ``docs/performance.md``."""
    goal = "" if row.target is None else row.target.replace("<=", "≤").replace(">=", "≥")
    verdict = {True: ", met", False: ", **missed**", None: ""}[row.ok]
    figures = [figure_text(part) for part in (row.value, row.against_value, row.ratio)]
    return f"| `{row.name}` | {row.unit} | {figures[0]} | {row.against} | {figures[1]} | {figures[2]} | {goal}{verdict} |"


def main() -> int:
    """Run the benchmarks that are named, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m benches", description="Benchmarks of AEL beside its peers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}; all without a name")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_const", dest="line", const=Row.line, help="one JSON object a line")
    form.add_argument("--markdown", action="store_const", dest="line", const=markdown_line, help="rows of a table")
    parser.set_defaults(line=table_line)
    parser.add_argument("--quick", action="store_true", help="one round of each: to see that everything runs")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; the benchmarks are {', '.join(BENCHMARKS)}")
    met = True
    for name in options.names or BENCHMARKS:
        for row in BENCHMARKS[name](options.quick):
            met &= row.target is None or row.ok is True
            print(options.line(row), flush=True)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())

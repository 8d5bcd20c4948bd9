"""Describe what a program serves to others: as a typed client in Python or TypeScript, OpenAPI 3.1, a `.proto`, JSON Schema or MCP tools.

    ael export python > desk_client.py
    ael export typescript > desk.ts
    ael export openapi > openapi.json
    ael export mcp > tools.json
    ael export proto examples/served --only Orders
    ael export proto --wire grpc > desk.proto

What is described is what `ael serve` serves. A Python client stands on this package (`ael.connect`), one in TypeScript on nothing. A
`.proto` is for clients of the Connect protocol's JSON, or, with `--wire grpc`, of gRPC, whose messages are exact for every type. The same
program gives the same file, to the byte.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path

from ael.cli.opening import opened_or_told
from ael.cli.report import tell

FORMS = ("openapi", "proto", "json-schema", "mcp", "python", "typescript")
WIRES = ("connect", "grpc")
INTEGERS = ("number", "bigint")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael export`."""
    parser.add_argument("form", choices=FORMS, help="what to print")
    parser.add_argument(
        "path", type=Path, nargs="?", default=Path(), metavar="FILE", help="a source file, or a folder with a `main.ael`"
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="this service or node; may be said more than once"
    )
    parser.add_argument(
        "--wire", choices=WIRES, default="connect", help="whom a `.proto` is for: Connect's JSON, or gRPC (default: connect)"
    )
    parser.add_argument(
        "--integers",
        choices=INTEGERS,
        default="number",
        help="what an `Int` is in TypeScript whose bounds are not within 2^53 (default: number; what is beyond is refused, not rounded)",
    )
    parser.add_argument("--deploy", metavar="NAME", help="use `deploy.NAME.ael`")


def run(args: argparse.Namespace) -> int:
    """Print the file."""
    if args.wire != "connect" and args.form != "proto":
        print("ael export: `--wire` says whom a `.proto` is for: write `ael export proto --wire grpc`", file=sys.stderr)
        return 2
    if args.integers != "number" and args.form != "typescript":
        print(
            "ael export: `--integers` is of a client in TypeScript: write `ael export typescript --integers bigint`",
            file=sys.stderr,
        )
        return 2
    opened = opened_or_told(args.path, args.deploy)
    if isinstance(opened, int):
        return opened
    # Loaded here: no other command needs what describes a server.
    host_error = import_module("ael.host").HostError
    try:
        if args.form == "mcp":
            exposure = import_module("ael.server.exposure")
            print(json.dumps({"tools": exposure.listing(exposure.expose(opened, args.only))}, ensure_ascii=False, indent=2))
            return 0
        contract = import_module("ael.server.methods").contract(opened, args.only)
    except host_error as error:
        tell(error.code, error.message, *error.notes)
        return 2
    if args.form in ("python", "typescript"):
        print(_client(contract, args.form, args.integers), end="")
        return 0
    if args.form == "proto":
        try:
            print(_proto(contract, args.wire), end="")
        except ValueError as problem:
            print(f"ael export: {problem}", file=sys.stderr)
            return 2
        return 0
    made = import_module("ael.services.openapi")
    described = made.openapi(contract) if args.form == "openapi" else made.json_schema(contract)
    print(json.dumps(described, ensure_ascii=False, indent=2))
    return 0


def _client(contract: object, language: str, integers: str) -> str:
    """The source of a typed client."""
    if language == "python":
        return str(import_module("ael.clients.python").python(contract))
    return str(import_module("ael.clients.typescript").typescript(contract, bigint=integers == "bigint"))


def _proto(contract: object, wire: str) -> str:
    """The `.proto` for a wire. Raises `ValueError` where services are of several packages."""
    if wire == "grpc":
        return str(import_module("ael.services.messages").grpc_proto(contract))
    return str(import_module("ael.services.proto").proto(contract))
